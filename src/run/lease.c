#include "run/lease.h"

#include "base/mem.h"
#include "base/open.h"
#include "base/path.h"
#include "base/placeholder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often a name is tried that others make and remove, or keep an exclusive lock on: that takes
 * them microseconds. */
#define ATTEMPTS 1000

struct lease {
	char *path;
	int dir, fd;
};

/* Whether what fd is stands at the name. */
static bool is_at_name(const struct lease *lease)
{
	struct stat own, there;

	return fstat(lease->fd, &own) == 0 &&
	       fstatat(lease->dir, path_base(lease->path), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       own.st_dev == there.st_dev && own.st_ino == there.st_ino;
}

/* -1 with errno: it cannot be known. */
static int is_placeholder(const struct lease *lease)
{
	struct stat st;

	if (fstat(lease->fd, &st) < 0)
		return -1;
	return S_ISREG(st.st_mode) && st.st_size == 0 && (st.st_mode & 07777) == PLACEHOLDER_MODE;
}

/* Makes the placeholder, with its mode and so its mark from the first moment on. */
static int make(const struct lease *lease)
{
	mode_t mask = umask(0);
	int fd = openat(lease->dir, path_base(lease->path),
		O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, PLACEHOLDER_MODE);

	umask(mask);
	return fd;
}

static void lease_close(struct lease *lease)
{
	if (lease->fd >= 0)
		close(lease->fd);
	if (lease->dir >= 0)
		close(lease->dir);
	free(lease->path);
}

/* One attempt: 1 = held, 0 = something else stands there, -1 with errno (EAGAIN: try again). */
static int try_take(struct lease *lease)
{
	const char *name = path_base(lease->path);
	bool made = false, locked;
	int result = -1, placeholder, error;

	lease->fd =
		openat(lease->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* A placeholder can be opened by all, but for a shortage. */
	if (lease->fd < 0 && (errno == EACCES || errno == EPERM || errno == ELOOP ||
				     errno == ENXIO || errno == ENODEV))
		return 0;
	if (lease->fd < 0 && errno != ENOENT)
		return -1;
	if (lease->fd < 0) {
		lease->fd = make(lease);
		made = lease->fd >= 0;
	}
	if (lease->fd < 0) {
		errno = errno == EEXIST ? EAGAIN : errno;
		return -1;
	}
	placeholder = is_placeholder(lease);
	locked = placeholder > 0 && flock(lease->fd, LOCK_SH | LOCK_NB) == 0;
	error = placeholder && !locked ? errno : EAGAIN;
	if (locked && is_at_name(lease))
		return 1;
	if (!placeholder && made)
		error = ENOTSUP; /* a file system without such modes */
	else if (!placeholder)
		result = is_at_name(lease) ? 0 : -1;
	if (made && error != EAGAIN)
		unlinkat(lease->dir, name, 0);
	close(lease->fd);
	lease->fd = -1;
	errno = error;
	return result;
}

int lease_take(struct leases *leases, const char *path, struct err *err)
{
	CLEANUP_FREE char *parent = path_parent(path);
	struct lease lease = {
		xstrdup(path), open_exact(AT_FDCWD, parent, O_PATH | O_DIRECTORY), -1};
	int held = -1, error = -lease.dir;

	for (int i = 0; lease.dir >= 0 && held < 0 && i < ATTEMPTS; i++) {
		held = try_take(&lease);
		error = errno;
		if (held < 0 && error != EAGAIN)
			break;
		if (held < 0)
			nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	if (held > 0) {
		GROW(leases->v, leases->n, leases->alloc);
		leases->v[leases->n++] = lease;
		return 0;
	}
	lease_close(&lease);
	if (held == 0)
		return 0;
	err_set(err, ERR_SETUP, "cannot hold %s with a placeholder: %s", path, strerror(error));
	return err_hint(err,
		"make its directory writable for the caller, or use \"missing\": \"watch\" for the "
		"rule");
}

/* Removes the placeholder, if it is ours: 0 or an errno. Whoever else holds it removes it. */
static int remove_placeholder(const struct lease *lease)
{
	errno = 0;
	if (flock(lease->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK ? 0 : errno;
	if (is_placeholder(lease) > 0 && is_at_name(lease) &&
		unlinkat(lease->dir, path_base(lease->path), 0) == 0)
		return 0;
	return errno == ENOENT ? 0 : errno;
}

void leases_end(struct leases *leases, struct strvec *notes)
{
	for (size_t i = 0; i < leases->n; i++) {
		struct lease *lease = &leases->v[i];
		int error = remove_placeholder(lease);

		if (error)
			error = remove_placeholder(lease); /* a shortage may have passed */
		if (error)
			strvec_pushf(notes, "the placeholder %s could not be removed: %s",
				lease->path, strerror(error));
		lease_close(lease);
	}
	free(leases->v);
	*leases = (struct leases){0};
}
