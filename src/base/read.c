#include "base/read.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

ssize_t read_text(int dir, const char *path, char *text, size_t size)
{
	CLEANUP_CLOSE int fd = openat(dir, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	size_t len = 0;

	if (fd < 0)
		return -errno;
	while (len < size) {
		ssize_t n = read(fd, text + len, size - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0) {
			text[len] = '\0';
			return (ssize_t)len;
		}
		len += (size_t)n;
	}
	return -EFBIG;
}

void read_lines(const char *path, struct strvec *lines)
{
	FILE *file = fopen(path, "re");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		strvec_push(lines, line);
	}
	if (file)
		fclose(file);
}
