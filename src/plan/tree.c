#include "plan/tree.h"

#include "base/mem.h"
#include "base/open.h"
#include "base/path.h"
#include "base/placeholder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <search.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* What lstat said of a path: asked once, so that planner, proof and command all see one state of
 * the host. */
struct answer {
	char *path;
	int error;
	struct tree_stat st;
};

struct live {
	struct tree tree;
	void *answers; /* of tsearch(3) */
	struct tree_mount *mounts;
	size_t n_mounts, alloc_mounts;
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

static int look_at(const char *path, struct tree_stat *out)
{
	CLEANUP_CLOSE int fd = open_exact(AT_FDCWD, path, O_PATH);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	*out = (struct tree_stat){
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
	if (!tsearch(answer, &live->answers, compare_answers)) /* no memory to keep it */
		abort();
	return answer;
}

static struct answer *find_answer(struct live *live, const char *path)
{
	struct answer key = {.path = (char *)path};
	struct answer **known = tfind(&key, &live->answers, compare_answers);

	return known ? *known : NULL;
}

static int live_lstat(const struct tree *tree, const char *path, struct tree_stat *out)
{
	struct live *live = (struct live *)tree;
	struct answer *answer = find_answer(live, path);

	if (!answer) {
		answer = add_answer(live, path);
		answer->error = look_at(path, &answer->st);
	}
	if (!answer->error)
		*out = answer->st;
	return answer->error;
}

void tree_live_pretend(struct tree *tree, const char *path)
{
	struct live *live = (struct live *)tree;

	if (!find_answer(live, path))
		add_answer(live, path)->st = (struct tree_stat){.kind = TREE_FILE,
			.mode = PLACEHOLDER_MODE,
			.uid = geteuid(),
			.gid = getegid(),
			.nlink = 1};
}

static int live_access(const struct tree *tree, const char *path, int mode)
{
	CLEANUP_CLOSE int fd = open_exact(AT_FDCWD, path, O_PATH);

	(void)tree;
	if (fd < 0)
		return fd;
	return faccessat(fd, "", mode, AT_EACCESS | AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

static int live_readlink(const struct tree *tree, const char *path, char **target)
{
	CLEANUP_CLOSE int fd = open_exact(AT_FDCWD, path, O_PATH);
	char buf[PATH_MAX];
	ssize_t n;

	(void)tree;
	if (fd < 0)
		return fd;
	n = readlinkat(fd, "", buf, sizeof(buf));
	if (n < 0)
		return errno == ENOENT ? -EINVAL : -errno;
	if (n == sizeof(buf))
		return -ENAMETOOLONG;
	*target = xstrndup(buf, (size_t)n);
	return 0;
}

static int live_list(const struct tree *tree, const char *path, struct strvec *names)
{
	int fd = open_exact(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	struct dirent *entry;
	DIR *dir;

	(void)tree;
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -errno;
	}
	while (errno = 0, entry = readdir(dir))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			strvec_push(names, entry->d_name);
	fd = errno;
	closedir(dir);
	strvec_sort(names);
	return -fd;
}

static ssize_t live_head(const struct tree *tree, const char *path, void *buf, size_t size)
{
	/* O_NONBLOCK: the name may have become a FIFO since it was looked at. */
	CLEANUP_CLOSE int fd = open_exact(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	ssize_t n;

	(void)tree;
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	n = pread(fd, buf, size, 0);
	return n < 0 ? -errno : n;
}

/* Undoes the kernel's \ooo for blanks and backslashes, in place. */
static char *unescape(char *s)
{
	char *out = s;

	for (const char *in = s; *in; in++) {
		if (in[0] == '\\' && in[1] && in[2] && in[3]) {
			*out++ = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
			in += 3;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return s;
}

/* proc(5): "ID PARENT MAJOR:MINOR ROOT MOUNTPOINT ...". Without a table there are no aliases to
 * know. */
static void read_mounts(struct live *live)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	while (file && getline(&line, &size, file) > 0) {
		char *state = NULL, *field[5] = {NULL}, *minor_text;
		struct tree_mount *m;

		for (int i = 0; i < 5; i++)
			field[i] = strtok_r(i ? NULL : line, " \n", &state);
		minor_text = field[2] ? strchr(field[2], ':') : NULL;
		if (!field[4] || !minor_text || *field[3] != '/' || *field[4] != '/')
			continue;
		GROW(live->mounts, live->n_mounts, live->alloc_mounts);
		m = &live->mounts[live->n_mounts++];
		m->dev = makedev((unsigned)strtoul(field[2], NULL, 10),
			(unsigned)strtoul(minor_text + 1, NULL, 10));
		m->root = path_normalize(unescape(field[3]));
		m->at = path_normalize(unescape(field[4]));
	}
	if (file)
		fclose(file);
}

static const struct tree_mount *live_mounts(const struct tree *tree, size_t *n)
{
	const struct live *live = (const struct live *)tree;

	*n = live->n_mounts;
	return live->mounts;
}

static void set_aside_dac_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	if (syscall(SYS_capget, &header, data) < 0)
		return;
	data[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
	/* Lowering the effective set never fails. */
	syscall(SYS_capset, &header, data);
}

struct tree *tree_live(void)
{
	static const struct tree_ops ops = {.lstat = live_lstat,
		.readlink = live_readlink,
		.list = live_list,
		.head = live_head,
		.access = live_access,
		.mounts = live_mounts};
	struct live *live = xcalloc(1, sizeof(*live));

	set_aside_dac_capabilities();
	read_mounts(live);
	live->tree.ops = &ops;
	live->tree.uid = geteuid();
	return &live->tree;
}

int tree_live_open(const struct tree *tree, const char *path)
{
	struct tree_stat planned;
	struct stat now;
	int error = tree_lstat(tree, path, &planned);
	int fd = error ? error : open_exact(AT_FDCWD, path, O_PATH);

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
	free(live);
}
