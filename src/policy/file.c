#include "policy/file.h"

#include "base/mem.h"
#include "base/open.h"
#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int file_read(int fd, size_t max, char **text, size_t *len)
{
	CLEANUP_FREE char *read_so_far = NULL;
	struct stat st;
	size_t n = 0;
	ssize_t got = 1;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? -EISDIR : -ENODEV;
	if (st.st_size > (off_t)max)
		return -EFBIG;
	/* It may grow meanwhile: a byte more than max tells. */
	read_so_far = xcalloc(max + 2, 1);
	while (n <= max && got > 0) {
		got = read(fd, read_so_far + n, max + 1 - n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (got < 0)
		return -errno;
	if (n > max)
		return -EFBIG;
	*text = read_so_far;
	*len = n;
	read_so_far = NULL;
	return 0;
}

static int err_file(const char *path, int error, struct err *err)
{
	err_set(err, ERR_POLICY, "cannot read %s: %s", path,
		error == ENODEV    ? "it is no regular file"
		: error == EFBIG   ? "it is larger than 1 MiB"
		: error == ENOTDIR ? "a symbolic link, or what is no directory, is in the path"
				   : strerror(error));
	return err_hint(err, "%s",
		error == ENOTDIR ? "name the file itself, by a path without links"
				 : "it has to be a file that you can read");
}

/* Whether nobody but root and the caller can change what is at a path, or put something else
 * there. */
static int check_trusted(const char *path, struct err *err)
{
	CLEANUP_FREE char *at = xstrdup(path);

	for (;;) {
		struct stat st;
		char *parent;

		if (lstat(at, &st) < 0)
			return err_file(at, errno, err);
		if (st.st_uid != 0 && st.st_uid != geteuid()) {
			err_set(err, ERR_POLICY,
				"%s is not trusted: %s belongs to uid %u, neither root nor you",
				path, at, st.st_uid);
			return err_hint(err, "use a copy of your own, in a directory of your own");
		}
		if (st.st_mode & (S_IWGRP | S_IWOTH) &&
			!(S_ISDIR(st.st_mode) && st.st_mode & S_ISVTX)) {
			err_set(err, ERR_POLICY,
				"%s is not trusted: %s is writable for others than its owner", path,
				at);
			return err_hint(err, "chmod go-w %s", at);
		}
		if (strcmp(at, "/") == 0)
			return 0;
		parent = path_parent(at);
		memcpy(at, parent, strlen(parent) + 1);
		free(parent);
	}
}

/* Adds the file to the place of an error inside it. */
static void locate(const char *path, struct err *err)
{
	CLEANUP_FREE char *at = xstrdup(err->at);

	err_at(err, "%s%s%s", path, *at ? ": " : "", at);
}

static int check_strings(const json *object, struct err *err)
{
	if (json_type(object) != JSON_OBJECT)
		return err_set(err, ERR_POLICY, "must be an object of strings, not %s",
			json_type_name(json_type(object)));
	for (const json *v = json_first(object); v; v = json_next(v))
		if (json_type(v) != JSON_STRING) {
			CLEANUP_FREE char *pointer =
				json_pointer(&(struct json_place){NULL, json_key(v), 0});

			err_set(err, ERR_POLICY, "must be a string, not %s",
				json_type_name(json_type(v)));
			return err_at(err, "%s", pointer);
		}
	return 0;
}

json *file_read_trusted(const char *path, struct err *err)
{
	int fd = open_exact(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	CLEANUP_FREE char *text = NULL;
	json *document;
	size_t len = 0;
	int error = fd < 0 ? fd : file_read(fd, FILE_MAX_TRUSTED, &text, &len);

	cleanup_close(&fd);
	if (error < 0) {
		err_file(path, -error, err);
		return NULL;
	}
	if (check_trusted(path, err) < 0)
		return NULL;
	document = json_read(text, len, err);
	if (document && check_strings(document, err) == 0)
		return document;
	json_free(document);
	locate(path, err);
	return NULL;
}
