#include "base/newfile.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* Walks to the directory of place, through no link. */
static int open_parent(struct newfile *file, const char *place, const char *what, struct err *err)
{
	CLEANUP_FREE char *copy = xstrdup(place);
	char *slash = strrchr(copy, '/');
	char *next = copy;
	char link[64];

	file->name = xstrdup(slash ? slash + 1 : copy);
	file->dir = open(*copy == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (slash)
		*slash = '\0';
	while (slash && file->dir >= 0 && next) {
		char *name = strsep(&next, "/");
		int dir;

		if (!*name)
			continue;
		dir = openat(file->dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir < 0 && errno == ENOTDIR) {
			err_set(err, ERR_USAGE, "%s: %s is a link or no directory", what, name);
			return err_hint(err, "name the directory by its real path");
		}
		if (dir < 0)
			return err_set(err, ERR_USAGE, "%s: %s: %s", what, name, strerror(errno));
		close(file->dir);
		file->dir = dir;
	}
	snprintf(link, sizeof(link), "/proc/self/fd/%d", file->dir);
	file->path = realpath(link, NULL);
	if (!file->path)
		return err_set(err, ERR_USAGE, "%s: %s", what, strerror(errno));
	return 0;
}

int newfile_open(struct newfile *file, const char *place, const char *what, struct err *err)
{
	uint64_t random;
	struct stat st;

	if (open_parent(file, place, what, err) < 0)
		return -1;
	if (!*file->name || strcmp(file->name, ".") == 0 || strcmp(file->name, "..") == 0)
		return err_set(err, ERR_USAGE, "%s: not the name of a file", what);
	if (fstatat(file->dir, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode)) {
		err_set(err, ERR_USAGE, "%s: %s is there and no regular file", what, file->name);
		return err_hint(err, "choose a name that is free, or a regular file's");
	}
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_set(err, ERR_SYSTEM, "cannot get random bytes: %s", strerror(errno));
	file->temp = xasprintf(".sbx-new.%016" PRIx64, random);
	/* Not every file system can make a file without a name. */
	file->fd = openat(file->dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
	if (file->fd < 0) {
		file->fd = openat(file->dir, file->temp,
			O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		file->named = file->fd >= 0;
	}
	if (file->fd < 0)
		return err_set(
			err, ERR_USAGE, "%s: cannot make a file there: %s", what, strerror(errno));
	return 0;
}

int newfile_name(struct newfile *file, struct err *err)
{
	if (!file->named) {
		CLEANUP_FREE char *self = xasprintf("/proc/self/fd/%d", file->fd);

		file->named = linkat(AT_FDCWD, self, file->dir, file->temp, AT_SYMLINK_FOLLOW) == 0;
	}
	if (!file->named || renameat(file->dir, file->temp, file->dir, file->name) < 0)
		return err_set(err, ERR_SYSTEM, "cannot name the file %s/%s: %s", file->path,
			file->name, strerror(errno));
	file->named = false;
	return 0;
}

void newfile_close(struct newfile *file)
{
	if (file->named)
		unlinkat(file->dir, file->temp, 0);
	if (file->fd >= 0)
		close(file->fd);
	if (file->dir >= 0)
		close(file->dir);
	free(file->path);
	free(file->name);
	free(file->temp);
	*file = (struct newfile)NEWFILE_INIT;
}
