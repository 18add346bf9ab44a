/*
 * The host's files as the planner and the proof see them: one small seam, with the live file system
 * behind it or, in tests, a tree made from text. Answers are what bwrap will see: by the ids that it
 * runs with, without the right to pass other users' modes, which its user namespace does not give.
 *
 * Paths are normal (base/path.h); the last name may be ".", as in lstat(2). A path whose parent is reached through a symlink is not followed:
 * the answer is -ENOTDIR. So whoever wants links followed walks component by component.
 */
#ifndef SBX_PLAN_TREE_H
#define SBX_PLAN_TREE_H

#include "base/err.h"
#include "base/mounts.h"
#include "base/strvec.h"
#include "base/user.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum tree_kind {
	TREE_DIR,
	TREE_FILE,
	TREE_LINK,
	TREE_SOCKET,
	TREE_FIFO,
	TREE_CHAR,
	TREE_BLOCK,
};

struct tree_stat {
	enum tree_kind kind;
	mode_t mode; /* permission bits, 07777 */
	uid_t uid;
	gid_t gid;
	nlink_t nlink;
	off_t size;
	dev_t dev, rdev; /* rdev: of a device node */
	ino_t ino;
};

/* One line of the mount table. */
struct tree_mount {
	char *at;   /* where it is mounted, normal */
	char *root; /* the directory of its file system that shows there, normal */
	dev_t dev;  /* the file system */
};

struct tree;

/* An entry of a directory, for whoever scans one. */
typedef void tree_found(void *data, const char *name, enum tree_kind kind);

struct tree_ops {
	/* Fills out for the object itself (a link is not followed). 0 or -errno: -ENOENT,
	 * -ENOTDIR (a parent is a file or a link), -EACCES (a parent may not be searched),
	 * -ENAMETOOLONG ... */
	int (*lstat)(const struct tree *tree, const char *path, struct tree_stat *out);
	/* The text of a link, to be freed by the caller. 0 or -errno (-EINVAL: not a link). */
	int (*readlink)(const struct tree *tree, const char *path, char **target);
	/* Appends the entries of a directory, sorted by byte value, without "." and "..", or those
	 * that are directories (no links) alone. 0 or -errno. */
	int (*list)(const struct tree *tree, const char *path, bool directories,
		struct strvec *names);
	/* Reads up to size bytes from the start of a regular file. The count or -errno. */
	ssize_t (*head)(const struct tree *tree, const char *path, void *buf, size_t size);
	/* Whether the caller may do what mode says with the object itself, W_OK and X_OK of
	 * access(2), by the ids and capabilities that bwrap will have: 0 or -errno. */
	int (*access)(const struct tree *tree, const char *path, int mode);
	/* The mount table, later mounts covering earlier ones at one place; owned by the tree. */
	const struct tree_mount *(*mounts)(const struct tree *tree, size_t *n);
	/* Appends the names by which the host's live Unix sockets are bound, or mounted. Anybody
	 * may have made one up: it is absolute, may hold any byte, and may lead nowhere. 0, or
	 * -errno when the host does not say. */
	int (*sockets)(const struct tree *tree, struct strvec *names);
	/* Whether the caller could use the other end of a socket or FIFO: its mode, or an access
	 * control list, lets it, or it may change the mode as the owner. */
	bool (*usable)(const struct tree *tree, const char *path);
	/* Tells found of each entry of a directory, in no order. What it tells is not remembered:
	 * for walks through a whole host. 0 or -errno. */
	int (*scan)(const struct tree *tree, const char *path, tree_found *found, void *data);
};

struct tree {
	const struct tree_ops *ops;
	uid_t uid; /* whose answers these are: the uid that bwrap has in its user namespace */
};

static inline int tree_lstat(const struct tree *t, const char *path, struct tree_stat *out)
{
	return t->ops->lstat(t, path, out);
}

static inline int tree_readlink(const struct tree *t, const char *path, char **target)
{
	return t->ops->readlink(t, path, target);
}

static inline int tree_list(const struct tree *t, const char *path, struct strvec *names)
{
	return t->ops->list(t, path, false, names);
}

static inline int tree_list_dirs(const struct tree *t, const char *path, struct strvec *names)
{
	return t->ops->list(t, path, true, names);
}

static inline ssize_t tree_head(const struct tree *t, const char *path, void *buf, size_t size)
{
	return t->ops->head(t, path, buf, size);
}

static inline int tree_access(const struct tree *t, const char *path, int mode)
{
	return t->ops->access(t, path, mode);
}

static inline const struct tree_mount *tree_mounts(const struct tree *t, size_t *n)
{
	return t->ops->mounts(t, n);
}

/* Whether names in a directory may be looked up, "." and ".." among them. */
bool tree_may_search(const struct tree *tree, const char *dir);
static inline int tree_sockets(const struct tree *t, struct strvec *names)
{
	return t->ops->sockets(t, names);
}

static inline bool tree_usable(const struct tree *t, const char *path)
{
	return t->ops->usable(t, path);
}

static inline int tree_scan(const struct tree *t, const char *path, tree_found *found, void *data)
{
	return t->ops->scan(t, path, found, data);
}

/* "a directory", "a socket" ...: for messages. */
const char *tree_kind_name(enum tree_kind kind);

/* The live file system, each path looked at once (later questions get the first answer). The kernel
 * is asked as user (base/user.h; borrowed), who is to run bwrap: so it gives bwrap's answers. Ended
 * with tree_live_free (NULL is allowed). */
struct tree *tree_live(const struct user *user);
/* Whether the kernel has answered all that the live tree was asked: 0, or -1 when for want of memory or
 * descriptors, or by a fault of a disk, it could not. Some answer was then a guess. */
int tree_live_check(const struct tree *tree, struct err *err);
/* Opens what a path of the live tree was when it was asked for (O_PATH, close-on-exec, through
 * no link): the descriptor, -ESTALE when something else is there now, or another -errno. */
int tree_live_open(const struct tree *tree, const char *path);
/* Has the live tree answer for a missing path as if a placeholder (base/placeholder.h) were there;
 * a path that was asked for before keeps its answer. */
void tree_live_pretend(struct tree *tree, const char *path);
/* The mount table that the live tree has read when it was made; borrowed. */
const struct mount_table *tree_live_table(const struct tree *tree);
/* Whether what is mounted on the host is what was when the tree was made. */
bool tree_live_mounts_stay(const struct tree *tree);
void tree_live_free(struct tree *tree);

#endif
