#include "base/newfile.h"

#include "base/mem.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMP_PREFIX ".sbx-new."
/* How many entries of a directory are looked at. */
#define SWEEP_MAX 10000
#define ATTEMPTS 10

/* Walks to the directory of place, through no link. */
static int open_parent(struct newfile *file, const char *place, const char *what, struct err *err)
{
	CLEANUP_FREE char *copy = xstrdup(place);
	char *slash = strrchr(copy, '/');
	char *next = copy;

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
	return 0;
}

/* Removes the temporary files that killed processes of ours have left: those that nobody has locked.
 * Over NFS a shared lock needs no more than reading, as an exclusive one needs writing. */
static void sweep(int at)
{
	int dir_fd = openat(at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
	struct dirent *entry;

	for (int i = 0; dir && i < SWEEP_MAX && (entry = readdir(dir)); i++) {
		CLEANUP_CLOSE int fd = -1;
		struct stat st;

		if (!path_is_random(entry->d_name, TEMP_PREFIX))
			continue;
		fd = openat(at, entry->d_name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
			st.st_uid == geteuid() && flock(fd, LOCK_SH | LOCK_NB) == 0)
			unlinkat(at, entry->d_name, 0);
	}
	if (dir)
		closedir(dir);
	else if (dir_fd >= 0)
		close(dir_fd);
}

/* Locks the file against a sweep for as long as it is open. false: one has come first, and removes it.
 * Where files cannot be locked nothing is swept either. */
static bool lock(const struct newfile *file)
{
	struct stat st;

	return (flock(file->fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) &&
	       (!file->named || (fstat(file->fd, &st) == 0 && st.st_nlink > 0));
}

/* Forgets the file, and removes the name that it has on the way. */
static void discard(struct newfile *file)
{
	if (file->named)
		unlinkat(file->dir, file->temp, 0);
	file->named = false;
	cleanup_close(&file->fd);
	file->fd = -1;
	free(file->temp);
	file->temp = NULL;
}

/* Makes the file in its directory. */
static int make(struct newfile *file, const char *what, struct err *err)
{
	CLEANUP_FREE char *link = xasprintf("/proc/self/fd/%d", file->dir);

	file->path = realpath(link, NULL);
	if (!file->path)
		return err_set(err, ERR_USAGE, "%s: %s", what, strerror(errno));
	sweep(file->dir);
	for (int i = 0; i < ATTEMPTS; i++) {
		uint64_t random;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return err_set(
				err, ERR_SYSTEM, "cannot get random bytes: %s", strerror(errno));
		file->temp = xasprintf(TEMP_PREFIX "%016" PRIx64, random);
		/* Not every file system can make a file without a name. */
		file->fd = openat(file->dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
		if (file->fd < 0) {
			file->fd = openat(file->dir, file->temp,
				O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
			file->named = file->fd >= 0;
		}
		if (file->fd < 0)
			return err_set(err, ERR_USAGE, "%s: cannot make a file there: %s", what,
				strerror(errno));
		if (lock(file))
			return 0;
		discard(file);
	}
	return err_set(err, ERR_USAGE, "%s: somebody else locks every file made there", what);
}

int newfile_open(struct newfile *file, const char *place, const char *what, struct err *err)
{
	struct stat st;

	if (open_parent(file, place, what, err) < 0)
		return -1;
	if (!*file->name || strcmp(file->name, ".") == 0 || strcmp(file->name, "..") == 0)
		return err_set(err, ERR_USAGE, "%s: not the name of a file", what);
	if (fstatat(file->dir, file->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(st.st_mode)) {
		err_set(err, ERR_USAGE, "%s: %s is there and no regular file", what, file->name);
		return err_hint(err, "choose a name that is free, or a regular file's");
	}
	return make(file, what, err);
}

int newfile_at(struct newfile *file, int dir, const char *name, const char *what, struct err *err)
{
	file->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	file->name = xstrdup(name);
	return make(file, what, err);
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
	discard(file);
	cleanup_close(&file->dir);
	free(file->path);
	free(file->name);
	*file = (struct newfile)NEWFILE_INIT;
}
