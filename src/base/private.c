#include "base/private.h"

#include "base/mem.h"
#include "base/open.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int private_parent(const char *place)
{
	CLEANUP_FREE char *above = path_parent(place);
	int dir = open_exact(AT_FDCWD, above, O_PATH | O_DIRECTORY);
	struct stat st;

	if (dir < 0)
		return -1;
	if (fstat(dir, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
		(st.st_mode & S_ISVTX || !(st.st_mode & (S_IWGRP | S_IWOTH))))
		return dir;
	close(dir);
	return -1;
}

int private_open(int parent, const char *name, bool make)
{
	struct stat st;
	int dir;

	if (make && mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* One of the caller's, and of that mode, could be opened. */
	if (dir < 0)
		return errno == EACCES ? -EPERM : -errno;
	if (fstat(dir, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 07777) == 0700)
		return dir;
	close(dir);
	return -EPERM;
}
