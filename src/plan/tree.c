#include "plan/tree.h"

#include "base/mem.h"
#include "base/open.h"
#include "base/path.h"
#include "base/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the host said of a path: asked once, so that planner, proof and command all see one state of
 * the host. */
struct answer {
	char *path;
	int error;
	struct tree_stat st;
	char *link; /* the text of a link, or NULL: */
	int link_error;
	enum { UNASKED, USABLE, NOT_USABLE } use;
	bool listed;
	int list_error;
	struct strvec names;       /* its entries, once it was listed */
	struct strvec directories; /* those of them that are */
};

struct live {
	struct tree tree;
	const struct user *user;
	void *answers; /* of tsearch(3) */
	struct mount_table table;
	struct tree_mount *mounts; /* what it says */
	size_t n_mounts, alloc_mounts;
	struct strvec sockets; /* names; not yet known while sockets_error is 1 */
	int sockets_error;
	int fault; /* the first question that the kernel could not answer: -errno, and about what */
	char *fault_path;
};

const char *tree_kind_name(enum tree_kind kind)
{
	static const char *const names[] = {
		[TREE_DIR] = "a directory",
		[TREE_FILE] = "a file",
		[TREE_LINK] = "a symbolic link",
		[TREE_SOCKET] = "a socket",
		[TREE_FIFO] = "a FIFO",
		[TREE_CHAR] = "a character device",
		[TREE_BLOCK] = "a block device",
	};

	return names[kind];
}

bool tree_may_search(const struct tree *tree, const char *dir)
{
	CLEANUP_FREE char *self = path_join(dir, ".");
	struct tree_stat st;

	return tree_lstat(tree, self, &st) != -EACCES;
}

static enum tree_kind kind_of(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return TREE_DIR;
	case S_IFLNK:
		return TREE_LINK;
	case S_IFSOCK:
		return TREE_SOCKET;
	case S_IFIFO:
		return TREE_FIFO;
	case S_IFCHR:
		return TREE_CHAR;
	case S_IFBLK:
		return TREE_BLOCK;
	default:
		return TREE_FILE;
	}
}

/* For the scope that follows the kernel is asked as the tree's user. */
#define AS_USER(tree)                                                                              \
	CLEANUP_USER const struct user *as = user_enter(((const struct live *)(tree))->user)

/* Remembers the first error that says nothing about the path; gives the error. */
static int fault(const struct tree *tree, const char *path, int error)
{
	struct live *live = (struct live *)tree;

	if (error && !live->fault) {
		live->fault = error;
		live->fault_path = xstrdup(path);
	}
	return error;
}

/* The same where most errors are answers. */
static int doubt(const struct tree *tree, const char *path, int error)
{
	static const int shortages[] = {
		EINTR, EIO, EAGAIN, EMFILE, ENFILE, ENOMEM, ENOSPC, ENOBUFS};

	for (size_t i = 0; i < sizeof(shortages) / sizeof(*shortages); i++)
		if (error == -shortages[i])
			return fault(tree, path, error);
	return error;
}

/* A descriptor or -errno. What is refused is asked for twice: a refusal closes a path for the sandbox,
 * too, so that nothing need be done about it. */
static int open_path(const struct tree *tree, const char *path, int flags)
{
	int fd = open_exact(AT_FDCWD, path, flags);

	if (fd == -EACCES || fd == -EPERM)
		fd = open_exact(AT_FDCWD, path, flags);
	return fd < 0 ? doubt(tree, path, fd) : fd;
}

/* The text of an open link. 0 or -errno. */
static int read_link(int fd, char **link)
{
	char buf[PATH_MAX];
	ssize_t n = readlinkat(fd, "", buf, sizeof(buf));

	if (n < 0)
		return errno == ENOENT ? -EINVAL : -errno;
	if (n == sizeof(buf))
		return -ENAMETOOLONG;
	*link = xstrndup(buf, (size_t)n);
	return 0;
}

static int look_at(const struct tree *tree, const char *path, struct answer *out)
{
	AS_USER(tree);
	CLEANUP_CLOSE int fd = open_path(tree, path, O_PATH);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return fault(tree, path, -errno);
	out->link_error =
		S_ISLNK(st.st_mode) ? doubt(tree, path, read_link(fd, &out->link)) : -EINVAL;
	out->st = (struct tree_stat){
		.kind = kind_of(st.st_mode),
		.mode = st.st_mode & 07777,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.nlink = st.st_nlink,
		.size = st.st_size,
		.dev = st.st_dev,
		.rdev = st.st_rdev,
		.ino = st.st_ino,
	};
	return 0;
}

static int compare_answers(const void *a, const void *b)
{
	return strcmp(((const struct answer *)a)->path, ((const struct answer *)b)->path);
}

static struct answer *add_answer(struct live *live, const char *path)
{
	struct answer *answer = xcalloc(1, sizeof(*answer));

	answer->path = xstrdup(path);
	if (!tsearch(answer, &live->answers, compare_answers))
		out_of_memory();
	return answer;
}

static struct answer *find_answer(struct live *live, const char *path)
{
	struct answer key = {.path = (char *)path};
	struct answer **known = tfind(&key, &live->answers, compare_answers);

	return known ? *known : NULL;
}

static struct answer *answer_of(const struct tree *tree, const char *path)
{
	struct live *live = (struct live *)tree;
	struct answer *answer = find_answer(live, path);

	if (!answer) {
		answer = add_answer(live, path);
		answer->error = look_at(tree, path, answer);
	}
	return answer;
}

static int live_lstat(const struct tree *tree, const char *path, struct tree_stat *out)
{
	const struct answer *answer = answer_of(tree, path);

	if (!answer->error)
		*out = answer->st;
	return answer->error;
}

void tree_live_pretend(struct tree *tree, const char *path)
{
	struct live *live = (struct live *)tree;
	struct answer *answer;

	if (find_answer(live, path))
		return;
	answer = add_answer(live, path);
	answer->link_error = -EINVAL;
	answer->st = (struct tree_stat){.kind = TREE_FILE,
		.mode = PLACEHOLDER_MODE,
		.uid = user_uid(live->user),
		.gid = user_gid(live->user),
		.nlink = 1};
}

static int live_access(const struct tree *tree, const char *path, int mode)
{
	AS_USER(tree);
	CLEANUP_CLOSE int fd = open_path(tree, path, O_PATH);

	if (fd < 0)
		return fd;
	return faccessat(fd, "", mode, AT_EACCESS | AT_EMPTY_PATH) == 0 ? 0
									: doubt(tree, path, -errno);
}

static int live_readlink(const struct tree *tree, const char *path, char **target)
{
	const struct answer *answer = answer_of(tree, path);

	if (answer->error || answer->link_error)
		return answer->error ? answer->error : answer->link_error;
	*target = xstrdup(answer->link);
	return 0;
}

/* 0, or -errno when the entry cannot be looked at. */
typedef int entry_fn(void *data, int dir, const struct dirent *entry);

static int each_entry(const struct tree *tree, const char *path, entry_fn *handle, void *data)
{
	AS_USER(tree);
	int fd = open_path(tree, path, O_RDONLY | O_DIRECTORY);
	struct dirent *entry;
	int error = 0;
	DIR *dir;

	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		error = doubt(tree, path, -errno);
		close(fd);
		return error;
	}
	while (errno = 0, entry = readdir(dir))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			doubt(tree, path, handle(data, fd, entry));
	error = doubt(tree, path, -errno);
	closedir(dir);
	return error;
}

static int stat_entry(int dir, const struct dirent *entry, struct stat *st)
{
	for (int i = 0; i < 2; i++) /* a refusal, twice: see open_path */
		if (fstatat(dir, entry->d_name, st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) == 0)
			return 0;
	return -errno;
}

/* What is mounted on a directory is one, too, but not every file system says it of its entries. */
static int keep_entry(void *data, int dir, const struct dirent *entry)
{
	struct answer *answer = data;
	bool directory = entry->d_type == DT_DIR;
	struct stat st;
	int error = 0;

	if (entry->d_type == DT_UNKNOWN) {
		error = stat_entry(dir, entry, &st);
		directory = !error && S_ISDIR(st.st_mode);
	}
	strvec_push(&answer->names, entry->d_name);
	if (directory)
		strvec_push(&answer->directories, entry->d_name);
	return error;
}

static int live_list(
	const struct tree *tree, const char *path, bool directories, struct strvec *names)
{
	struct answer *answer = answer_of(tree, path);
	const struct strvec *known = directories ? &answer->directories : &answer->names;

	if (!answer->listed) {
		answer->listed = true;
		answer->list_error = each_entry(tree, path, keep_entry, answer);
		strvec_sort(&answer->names);
		strvec_sort(&answer->directories);
	}
	for (size_t i = 0; i < known->n; i++)
		strvec_push(names, known->v[i]);
	return answer->list_error;
}

struct entry_kind {
	char *name;
	enum tree_kind kind;
};

struct scan {
	struct entry_kind *entries;
	size_t n, alloc;
};

/* readdir's own word is not taken for the kind: it does not know of mounts. */
static int scan_entry(void *data, int dir, const struct dirent *entry)
{
	struct scan *scan = data;
	struct stat st;
	int error = stat_entry(dir, entry, &st);

	if (error)
		return error;
	GROW(scan->entries, scan->n, scan->alloc);
	scan->entries[scan->n++] = (struct entry_kind){xstrdup(entry->d_name), kind_of(st.st_mode)};
	return 0;
}

/* What is told may ask the tree again, so it is told once the directory is done with. */
static int live_scan(const struct tree *tree, const char *path, tree_found *found, void *data)
{
	struct scan scan = {0};
	int error = each_entry(tree, path, scan_entry, &scan);

	for (size_t i = 0; i < scan.n; i++) {
		found(data, scan.entries[i].name, scan.entries[i].kind);
		free(scan.entries[i].name);
	}
	free(scan.entries);
	return error;
}

static ssize_t live_head(const struct tree *tree, const char *path, void *buf, size_t size)
{
	AS_USER(tree);
	/* O_NONBLOCK: the name may have become a FIFO since it was looked at. */
	CLEANUP_CLOSE int fd = open_path(tree, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return fault(tree, path, -errno);
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	n = pread(fd, buf, size, 0);
	return n < 0 ? doubt(tree, path, -errno) : n;
}

/* Without a table, where there is no /proc, there are no aliases to know. */
static void read_mounts(struct live *live)
{
	static const char path[] = "/proc/self/mountinfo";
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 ? -errno : mount_table_read(&live->table, fd);

	if (error && error != -ENOENT)
		fault(&live->tree, path, error);
	if (error)
		return;
	for (size_t i = 0; i < live->table.n; i++) {
		const struct mount_line *line = &live->table.v[i];

		if (*line->root != '/')
			continue;
		GROW(live->mounts, live->n_mounts, live->alloc_mounts);
		live->mounts[live->n_mounts++] = (struct tree_mount){
			.dev = line->dev,
			.root = path_normalize(line->root),
			.at = path_normalize(line->at),
		};
	}
}

const struct mount_table *tree_live_table(const struct tree *tree)
{
	return &((const struct live *)tree)->table;
}

bool tree_live_mounts_stay(const struct tree *tree)
{
	const struct mount_table *then = tree_live_table(tree);
	CLEANUP_MOUNT_TABLE struct mount_table now = {0};
	CLEANUP_CLOSE int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || mount_table_read(&now, fd) < 0 || now.n != then->n)
		return false;
	for (size_t i = 0; i < now.n; i++)
		if (now.v[i].id != then->v[i].id || strcmp(now.v[i].at, then->v[i].at) != 0)
			return false;
	return true;
}

static const struct tree_mount *live_mounts(const struct tree *tree, size_t *n)
{
	const struct live *live = (const struct live *)tree;

	*n = live->n_mounts;
	return live->mounts;
}

/* What sun_path can hold. */
#define SOCKET_NAME_MAX 108

/* The name in a line of /proc/net/unix: an absolute path after seven fields; NULL = there is
 * none. */
static const char *bound_name(const char *line)
{
	for (int field = 0; field < 7; field++) {
		line += strspn(line, " ");
		line += strcspn(line, " ");
	}
	return strncmp(line, " /", 2) == 0 ? line + 1 : NULL;
}

/* Whether a line begins as the kernel begins one for each socket:
 * "00000000a0b1c2d3: 00000002 00000000 00010000 0001 01 ". */
static bool begins_entry(const char *line)
{
	static const char digits[] = "0123456789abcdefABCDEF";
	static const size_t widths[] = {8, 8, 8, 4, 2};
	size_t n = strspn(line, digits);

	if ((n != 8 && n != 16) || line[n] != ':')
		return false;
	line += n + 1;
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		if (*line != ' ' || strspn(line + 1, digits) != widths[i])
			return false;
		line += 1 + widths[i];
	}
	return *line == ' ';
}

/* The kernel writes names as they are: one with newlines looks like several lines. So whatever
 * can follow a name may be a part of it, and each such continuation counts as a name too. Only one
 * that imitates whole lines is not put together; it hides no other by that. */
static int read_sockets(struct strvec *names)
{
	CLEANUP_STRVEC struct strvec lines = {0};
	CLEANUP_FREE char *line = NULL;
	FILE *file = fopen("/proc/self/net/unix", "re");
	size_t size = 0;
	int error;

	if (!file)
		return -errno;
	while (errno = 0, getline(&line, &size, file) > 0) {
		line[strcspn(line, "\n")] = '\0';
		strvec_push(&lines, line);
	}
	error = errno;
	fclose(file);
	for (size_t i = 0; i < lines.n; i++) {
		const char *name = bound_name(lines.v[i]);
		char *whole = name ? xstrdup(name) : NULL;

		for (size_t next = i + 1; whole && strlen(whole) <= SOCKET_NAME_MAX; next++) {
			bool goes_on = next < lines.n && !begins_entry(lines.v[next]);

			strvec_take(names, whole);
			whole = goes_on ? xasprintf("%s\n%s", whole, lines.v[next]) : NULL;
		}
		free(whole);
	}
	return -error;
}

/* A socket of another network namespace, say one that was mounted into a container, is known by
 * the mount alone. A file's mount never shows the root of its file system. */
static void find_mounted_sockets(const struct tree *tree, struct strvec *names)
{
	const struct live *live = (const struct live *)tree;
	struct tree_stat st = {0};

	for (size_t i = 0; i < live->n_mounts; i++)
		if (strcmp(live->mounts[i].root, "/") != 0 &&
			live_lstat(tree, live->mounts[i].at, &st) == 0 && st.kind == TREE_SOCKET)
			strvec_push(names, live->mounts[i].at);
}

static int live_sockets(const struct tree *tree, struct strvec *names)
{
	struct live *live = (struct live *)tree;

	if (live->sockets_error > 0) {
		live->sockets_error =
			doubt(tree, "/proc/self/net/unix", read_sockets(&live->sockets));
		find_mounted_sockets(tree, &live->sockets);
		strvec_sort(&live->sockets);
	}
	/* Every connection to a socket goes by its name too. */
	for (size_t i = 0; i < live->sockets.n; i++)
		if (i == 0 || strcmp(live->sockets.v[i - 1], live->sockets.v[i]) != 0)
			strvec_push(names, live->sockets.v[i]);
	return live->sockets_error;
}

/* What the kernel does not clearly deny, twice, counts as allowed, but for what is gone. */
static bool allows(int dir, const char *name, int mode)
{
	for (int i = 0; i < 2; i++)
		if (faccessat(dir, name, mode, AT_EACCESS | AT_SYMLINK_NOFOLLOW) == 0 ||
			(errno != EACCES && errno != ENOENT))
			return true;
	return false;
}

static bool ask_usable(const struct tree *tree, const char *path, const struct tree_stat *st)
{
	AS_USER(tree);
	CLEANUP_FREE char *parent = path_parent(path);
	CLEANUP_CLOSE int dir = open_path(tree, parent, O_PATH | O_DIRECTORY);

	if (st->uid == tree->uid || dir < 0)
		return true;
	return allows(dir, path_base(path), W_OK) ||
	       (st->kind == TREE_FIFO && allows(dir, path_base(path), R_OK));
}

static bool live_usable(const struct tree *tree, const char *path)
{
	struct answer *answer = answer_of(tree, path);

	if (answer->use == UNASKED)
		answer->use =
			!answer->error && ask_usable(tree, path, &answer->st) ? USABLE : NOT_USABLE;
	return answer->use == USABLE;
}

struct tree *tree_live(const struct user *user)
{
	static const struct tree_ops ops = {.lstat = live_lstat,
		.readlink = live_readlink,
		.list = live_list,
		.head = live_head,
		.access = live_access,
		.mounts = live_mounts,
		.sockets = live_sockets,
		.usable = live_usable,
		.scan = live_scan};
	struct live *live = xcalloc(1, sizeof(*live));

	live->user = user;
	read_mounts(live);
	live->tree.ops = &ops;
	live->tree.uid = user_uid(user);
	live->sockets_error = 1;
	return &live->tree;
}

int tree_live_check(const struct tree *tree, struct err *err)
{
	const struct live *live = (const struct live *)tree;

	if (!live->fault)
		return 0;
	err_set(err, ERR_SYSTEM, "%s cannot be looked at: %s", live->fault_path,
		strerror(-live->fault));
	return err_hint(
		err, "nothing is planned on a guess: try again when what is short is there");
}

int tree_live_open(const struct tree *tree, const char *path)
{
	struct tree_stat planned;
	struct stat now;
	int error = tree_lstat(tree, path, &planned);
	int fd;

	if (error)
		return error;
	AS_USER(tree);
	fd = open_exact(AT_FDCWD, path, O_PATH);
	if (fd < 0)
		return fd;
	if (fstat(fd, &now) == 0 && now.st_dev == planned.dev && now.st_ino == planned.ino &&
		kind_of(now.st_mode) == planned.kind)
		return fd;
	close(fd);
	return -ESTALE;
}

static void free_answer(void *answer)
{
	free(((struct answer *)answer)->path);
	free(((struct answer *)answer)->link);
	strvec_clear(&((struct answer *)answer)->names);
	strvec_clear(&((struct answer *)answer)->directories);
	free(answer);
}

void tree_live_free(struct tree *tree)
{
	struct live *live = (struct live *)tree;

	if (!live)
		return;
	tdestroy(live->answers, free_answer);
	for (size_t i = 0; i < live->n_mounts; i++) {
		free(live->mounts[i].at);
		free(live->mounts[i].root);
	}
	free(live->mounts);
	mount_table_clear(&live->table);
	strvec_clear(&live->sockets);
	free(live->fault_path);
	free(live);
}
