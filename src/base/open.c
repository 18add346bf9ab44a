#include "base/open.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For kernels before 5.6 and filters that do not know openat2(2): component by component. */
static int open_stepwise(int dir, const char *path, int flags)
{
	CLEANUP_CLOSE int at =
		openat(dir, *path == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0)
		return -errno;
	path += strspn(path, "/");
	while (*path) {
		size_t len = strcspn(path, "/");
		CLEANUP_FREE char *name = xstrndup(path, len);
		const char *rest = path + len + strspn(path + len, "/");
		int next = openat(
			at, name, O_NOFOLLOW | O_CLOEXEC | (*rest ? O_PATH | O_DIRECTORY : flags));

		if (next < 0)
			return errno == ELOOP ? -ENOTDIR : -errno;
		close(at);
		at = next;
		path = rest;
	}
	return fcntl(at, F_DUPFD_CLOEXEC, 0);
}

int open_exact(int dir, const char *path, int flags)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC | O_NOFOLLOW),
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));

	if (fd >= 0)
		return fd;
	if (errno == ENOSYS || errno == EPERM)
		return open_stepwise(dir, path, flags);
	/* ELOOP is a link among the parents: a parent that is no directory. */
	return errno == ELOOP ? -ENOTDIR : -errno;
}
