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
	const char *start = *path == '/' ? "/" : ".";
	const char *rest = path + strspn(path, "/");
	int at = openat(dir, start, O_CLOEXEC | (*rest ? O_PATH | O_DIRECTORY : flags));

	while (at >= 0 && *rest) {
		size_t len = strcspn(rest, "/");
		CLEANUP_FREE char *name = xstrndup(rest, len);
		CLEANUP_CLOSE int above = at;

		rest += len + strspn(rest + len, "/");
		at = openat(above, name,
			O_NOFOLLOW | O_CLOEXEC | (*rest ? O_PATH | O_DIRECTORY : flags));
	}
	if (at >= 0)
		return at;
	return errno == ELOOP ? -ENOTDIR : -errno;
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
