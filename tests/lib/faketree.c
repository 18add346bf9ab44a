#include "lib/faketree.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/placeholder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

struct entry {
	char *path;
	char *text; /* link target or file content */
	struct tree_stat st;
	bool dead;
};

struct fake {
	struct tree tree;
	struct tree_mount *mounts; /* the first is "/", the others are bind mounts of it */
	size_t n_mounts, alloc_mounts;
	struct strvec sockets;
	bool sockets_unknown;
	struct entry *entries;
	size_t n, alloc;
};

static struct entry *find(const struct fake *fake, const char *path)
{
	for (size_t i = 0; i < fake->n; i++)
		if (strcmp(fake->entries[i].path, path) == 0)
			return &fake->entries[i];
	return NULL;
}

static struct entry *add(struct fake *fake, const char *path, enum tree_kind kind)
{
	struct entry *e = find(fake, path);

	if (!e) {
		if (strcmp(path, "/") != 0) {
			CLEANUP_FREE char *parent = path_parent(path);

			if (!find(fake, parent))
				add(fake, parent, TREE_DIR);
		}
		GROW(fake->entries, fake->n, fake->alloc);
		e = &fake->entries[fake->n++];
		*e = (struct entry){.path = xstrdup(path)};
		e->st.ino = fake->n;
		e->st.dev = 1;
		e->st.nlink = 1;
	}
	e->st.kind = kind;
	e->st.mode = kind == TREE_DIR ? 0755 : kind == TREE_LINK ? 0777 : 0644;
	return e;
}

/* Whether the tree's user has the permission bit (4 read, 1 search) on a directory. The right to
 * pass modes holds for root's own objects only, as in a user namespace that maps root alone. */
static bool permitted(const struct fake *fake, const struct entry *e, unsigned bit)
{
	uid_t uid = fake->tree.uid;
	unsigned shift = e->st.uid == uid ? 6 : e->st.gid == uid ? 3 : 0;

	if (uid == 0 && e->st.uid == 0)
		return true;
	return e->st.mode >> shift & bit;
}

/* What a path is without the bind mounts; free with free(). */
static char *real_path(const struct fake *fake, const char *path)
{
	for (size_t i = fake->n_mounts; i > 1; i--) {
		const struct tree_mount *m = &fake->mounts[i - 1];

		if (path_within(path, m->at))
			return path_join(m->root, path_below(path, m->at));
	}
	return xstrdup(path);
}

/* The object at a path, its parents checked; NULL with *error set. */
static struct entry *walk(const struct fake *fake, const char *shown, int *error)
{
	CLEANUP_FREE char *path = real_path(fake, shown);
	struct entry *e = find(fake, "/");

	for (size_t len = 1; path[len];) {
		CLEANUP_FREE char *prefix = NULL;

		len += strcspn(path + len, "/");
		prefix = xstrndup(path, len);
		if (e->st.kind != TREE_DIR) {
			*error = -ENOTDIR;
			return NULL;
		}
		if (!permitted(fake, e, 1)) {
			*error = -EACCES;
			return NULL;
		}
		e = find(fake, prefix);
		if (!e || e->dead) {
			*error = e ? -EACCES : -ENOENT;
			return NULL;
		}
		len += path[len] == '/';
	}
	return e;
}

static int fake_lstat(const struct tree *tree, const char *path, struct tree_stat *out)
{
	int error = 0;
	struct entry *e = walk((const struct fake *)tree, path, &error);

	if (e)
		*out = e->st;
	return error;
}

static int fake_readlink(const struct tree *tree, const char *path, char **target)
{
	int error = 0;
	struct entry *e = walk((const struct fake *)tree, path, &error);

	if (!e)
		return error;
	if (e->st.kind != TREE_LINK)
		return -EINVAL;
	*target = xstrdup(e->text);
	return 0;
}

static int fake_list(
	const struct tree *tree, const char *path, bool directories, struct strvec *names)
{
	const struct fake *fake = (const struct fake *)tree;
	int error = 0;
	struct entry *e = walk(fake, path, &error);

	if (!e)
		return error;
	if (e->st.kind != TREE_DIR)
		return -ENOTDIR;
	if (!permitted(fake, e, 4))
		return -EACCES;
	for (size_t i = 0; i < fake->n; i++) {
		CLEANUP_FREE char *parent = path_parent(fake->entries[i].path);

		if (strcmp(parent, e->path) == 0 && strcmp(fake->entries[i].path, "/") != 0 &&
			(!directories || fake->entries[i].st.kind == TREE_DIR))
			strvec_push(names, path_base(fake->entries[i].path));
	}
	strvec_sort(names);
	return 0;
}

static ssize_t fake_head(const struct tree *tree, const char *path, void *buf, size_t size)
{
	int error = 0;
	struct entry *e = walk((const struct fake *)tree, path, &error);
	size_t n;

	if (!e)
		return error;
	if (e->st.kind != TREE_FILE)
		return -EINVAL;
	n = e->text ? strlen(e->text) : 0;
	n = n < size ? n : size;
	if (n)
		memcpy(buf, e->text, n);
	return (ssize_t)n;
}

/* Modes alone decide. */
static int fake_access(const struct tree *tree, const char *path, int mode)
{
	int error = 0;
	struct entry *e = walk((const struct fake *)tree, path, &error);

	for (int bit = 1; e && bit <= 4; bit <<= 1)
		if (mode & bit && !permitted((const struct fake *)tree, e, (unsigned)bit))
			return -EACCES;
	return error;
}

static const struct tree_mount *fake_mounts(const struct tree *tree, size_t *n)
{
	const struct fake *fake = (const struct fake *)tree;

	*n = fake->n_mounts;
	return fake->mounts;
}

static int fake_sockets(const struct tree *tree, struct strvec *names)
{
	const struct fake *fake = (const struct fake *)tree;
	struct tree_stat st;

	for (size_t i = 0; i < fake->sockets.n; i++)
		strvec_push(names, fake->sockets.v[i]);
	for (size_t i = 1; i < fake->n_mounts; i++)
		if (fake_lstat(tree, fake->mounts[i].at, &st) == 0 && st.kind == TREE_SOCKET)
			strvec_push(names, fake->mounts[i].at);
	return fake->sockets_unknown ? -EACCES : 0;
}

static bool fake_usable(const struct tree *tree, const char *path)
{
	const struct fake *fake = (const struct fake *)tree;
	int error = 0;
	struct entry *e = walk(fake, path, &error);

	return e && (e->st.uid == fake->tree.uid || permitted(fake, e, 2) ||
			    (e->st.kind == TREE_FIFO && permitted(fake, e, 4)));
}

static int fake_scan(const struct tree *tree, const char *path, tree_found *found, void *data)
{
	CLEANUP_STRVEC struct strvec names = {0};
	int error = fake_list(tree, path, false, &names);

	for (size_t i = 0; i < names.n; i++) {
		CLEANUP_FREE char *entry = path_join(path, names.v[i]);
		struct tree_stat st;

		if (fake_lstat(tree, entry, &st) == 0)
			found(data, names.v[i], st.kind);
	}
	return error;
}

static void add_mount(struct fake *fake, const char *at, const char *root)
{
	GROW(fake->mounts, fake->n_mounts, fake->alloc_mounts);
	fake->mounts[fake->n_mounts++] =
		(struct tree_mount){.at = xstrdup(at), .root = xstrdup(root), .dev = 1};
}

static const struct tree_ops fake_ops = {.lstat = fake_lstat,
	.readlink = fake_readlink,
	.list = fake_list,
	.head = fake_head,
	.access = fake_access,
	.mounts = fake_mounts,
	.sockets = fake_sockets,
	.usable = fake_usable,
	.scan = fake_scan};

/* Undoes \ooo and \n, in place. */
static char *unescape(char *s)
{
	char *out = s;

	for (char *in = s; *in; in++) {
		unsigned c;

		if (in[0] == '\\' && sscanf(in + 1, "%3o", &c) == 1 &&
			strspn(in + 1, "01234567") >= 3) {
			*out++ = (char)c;
			in += 3;
		} else if (in[0] == '\\' && in[1] == 'n') {
			*out++ = '\n';
			in++;
		} else {
			*out++ = *in;
		}
	}
	*out = '\0';
	return s;
}

static bool parse_line(struct fake *fake, char *line)
{
	static const struct {
		char letter;
		enum tree_kind kind;
	} letters[] = {{'d', TREE_DIR}, {'f', TREE_FILE}, {'l', TREE_LINK}, {'s', TREE_SOCKET},
		{'p', TREE_FIFO}, {'c', TREE_CHAR}, {'b', TREE_BLOCK}, {'!', TREE_DIR},
		{'a', TREE_DIR}};
	char path[4096], rest[4096] = "";
	unsigned mode, uid, gid, nlink, major_no, minor_no;
	struct entry *e = NULL;
	char *content;

	if (sscanf(line, "uid %u", &fake->tree.uid) == 1)
		return true;
	if (strcmp(line, "u") == 0)
		return fake->sockets_unknown = true;
	if (sscanf(line + 1, " %4095s %4095[^\n]", path, rest) < 1)
		return false;
	unescape(path);
	if (line[0] == 'u') {
		strvec_push(&fake->sockets, path);
		return true;
	}
	for (size_t i = 0; i < sizeof(letters) / sizeof(*letters); i++)
		if (line[0] == letters[i].letter)
			e = add(fake, path, letters[i].kind);
	if (!e)
		return false;
	e->dead = line[0] == '!';
	if (line[0] == 'a') {
		if (strncmp(rest, "-> ", 3) != 0)
			return false;
		add_mount(fake, path, unescape(rest + 3));
		return true;
	}
	content = strchr(rest, '=');
	if (content && e->st.kind == TREE_FILE) {
		*content++ = '\0';
		e->text = xstrdup(unescape(content));
		e->st.size = (off_t)strlen(e->text);
	}
	if (e->st.kind == TREE_LINK) {
		if (strncmp(rest, "-> ", 3) != 0)
			return false;
		e->text = xstrdup(unescape(rest + 3));
	} else if (sscanf(rest, "%u:%u", &major_no, &minor_no) == 2) {
		e->st.rdev = makedev(major_no, minor_no);
	} else {
		int n = sscanf(rest, "%o %u %u %u", &mode, &uid, &gid, &nlink);

		if (n >= 1)
			e->st.mode = mode;
		if (n == 4)
			e->st.nlink = nlink;
		if (n >= 3) {
			e->st.uid = uid;
			e->st.gid = gid;
		}
	}
	return true;
}

struct tree *faketree_parse(const char *text)
{
	struct fake *fake = xcalloc(1, sizeof(*fake));
	CLEANUP_FREE char *copy = xstrdup(text);
	char *state;

	fake->tree.ops = &fake_ops;
	add(fake, "/", TREE_DIR);
	add_mount(fake, "/", "/");
	for (char *line = strtok_r(copy, "\n", &state); line; line = strtok_r(NULL, "\n", &state)) {
		line += strspn(line, " \t");
		if (*line == '#' || *line == '\0')
			continue;
		if (!parse_line(fake, line)) {
			fprintf(stderr, "faketree: cannot read: %s\n", line);
			faketree_free(&fake->tree);
			return NULL;
		}
	}
	return &fake->tree;
}

void faketree_free(struct tree *tree)
{
	struct fake *fake = (struct fake *)tree;

	for (size_t i = 0; i < fake->n; i++) {
		free(fake->entries[i].path);
		free(fake->entries[i].text);
	}
	for (size_t i = 0; i < fake->n_mounts; i++) {
		free(fake->mounts[i].at);
		free(fake->mounts[i].root);
	}
	free(fake->mounts);
	strvec_clear(&fake->sockets);
	free(fake->entries);
	free(fake);
}

char *faketree_hold(const char *text, const struct strvec *names)
{
	struct tree *tree = faketree_parse(text);
	char *held = NULL;
	struct tree_stat st;

	for (size_t i = 0; i < names->n; i++)
		if (tree_lstat(tree, names->v[i], &st) < 0) {
			CLEANUP_FREE char *path = real_path((const struct fake *)tree, names->v[i]);
			char *more = xasprintf(
				"%s\nf %s %o\n", held ? held : text, path, PLACEHOLDER_MODE);

			free(held);
			held = more;
		}
	faketree_free(tree);
	return held;
}
