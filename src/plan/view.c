#include "plan/view.h"

#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { MAX_LINKS = 40 };

int proof_fault(struct err *err, const struct rule *rule, const char *fmt, ...)
{
	CLEANUP_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	err_set(err, ERR_PLAN, "not proven: %s", text);
	if (rule && rule->origin.file)
		err_at(err, "%s: %s", rule->origin.file,
			rule->origin.pointer ? rule->origin.pointer : "");
	return -1;
}

const char *view_tail(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return path[1] ? path : "";
	if (strncmp(path, dir, n) != 0 || (path[n] != '\0' && path[n] != '/'))
		return NULL;
	return path + n;
}

bool view_strictly_below(const char *path, const char *dir)
{
	const char *rest = view_tail(path, dir);

	return rest && *rest;
}

char *view_graft(const char *dir, const char *rest)
{
	if (*rest && strcmp(dir, "/") == 0)
		return xstrdup(rest);
	return xasprintf("%s%s", dir, rest);
}

char *view_entry(const char *dir, const char *name, size_t n)
{
	return xasprintf("%s/%.*s", strcmp(dir, "/") == 0 ? "" : dir, (int)n, name);
}

void view_cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	slash[slash == path ? 1 : 0] = '\0';
}

unsigned view_depth(const char *path)
{
	unsigned n = 0;

	for (const char *p = path; *p; p++)
		n += *p == '/' && p[1] != '\0';
	return n;
}

bool view_is_normal(const char *path)
{
	if (!path || path[0] != '/')
		return false;
	for (const char *p = path; *p && path[1]; p += 1 + strcspn(p + 1, "/")) {
		size_t n = strcspn(p + 1, "/");

		if (n == 0 || (n == 1 && p[1] == '.') || (n == 2 && p[1] == '.' && p[2] == '.'))
			return false;
	}
	return true;
}

/* Places */

/* Where name is, or would be put, among the kids; *found says which. */
static size_t kid_index(const struct view_place *place, const char *path, size_t n, bool *found)
{
	size_t low = 0, high = place->n_kids;

	*found = false;
	while (low < high && !*found) {
		size_t mid = (low + high) / 2;
		int order = strncmp(path, place->kids[mid]->path, n);

		if (order == 0 && place->kids[mid]->path[n] != '\0')
			order = -1;
		*found = order == 0;
		if (order > 0)
			low = mid + 1;
		else
			high = mid;
	}
	return high;
}

static struct view_place *kid_add(struct view_place *place, size_t i, const char *path, size_t n)
{
	struct view_place *kid = xcalloc(1, sizeof(*kid));

	kid->path = xstrndup(path, n);
	kid->parent = place;
	GROW(place->kids, place->n_kids, place->alloc);
	memmove(place->kids + i + 1, place->kids + i, (place->n_kids - i) * sizeof(*place->kids));
	place->kids[i] = kid;
	place->n_kids++;
	return kid;
}

struct view_place *view_place_above(const struct view *view, const char *path)
{
	struct view_place *at = view->top;
	size_t n = 0;
	bool found = true;

	while (path[1] && path[n] && found) {
		n += 1 + strcspn(path + n + 1, "/");
		size_t i = kid_index(at, path, n, &found);

		if (found)
			at = at->kids[i];
	}
	return at;
}

struct view_place *view_place_get(const struct view *view, const char *path)
{
	struct view_place *at = view_place_above(view, path);
	size_t n = at == view->top ? 0 : strlen(at->path);

	while (path[1] && path[n]) {
		bool found;

		n += 1 + strcspn(path + n + 1, "/");
		at = kid_add(at, kid_index(at, path, n, &found), path, n);
	}
	return at;
}

static void place_free(struct view_place *place)
{
	if (!place)
		return;
	for (size_t i = 0; i < place->n_kids; i++)
		place_free(place->kids[i]);
	free(place->kids);
	free(place->path);
	free(place);
}

void view_init(struct view *view, const struct tree *tree, bool host)
{
	*view = (struct view){.tree = tree, .host = host};
	view->root.kind = host ? OP_BIND_READ : OP_TMPFS;
	view->root.source = view->root.dest = (char *)"/";
	view->root.mode = 0755;
	view->top = xcalloc(1, sizeof(*view->top));
	view->top->path = xstrdup("/");
	view->top->op = &view->root;
}

void view_clear(struct view *view)
{
	place_free(view->top);
	view->top = NULL;
}

const struct view_place *view_place_maker(const struct view_place *place)
{
	while (!place->op)
		place = place->parent;
	return place;
}

/* Looking */

bool view_is_bind(const struct op *op)
{
	return op->kind == OP_BIND_READ || op->kind == OP_BIND_WRITE || op->kind == OP_DEV_BIND;
}

static bool is_mount(const struct op *op)
{
	return op->kind != OP_DIR && op->kind != OP_SYMLINK &&
	       !(op->kind == OP_DENY_DIR && op->scaffold);
}

bool view_is_own_dir(const struct op *op)
{
	return op->kind == OP_TMPFS || op->kind == OP_DIR || op->kind == OP_DENY_DIR ||
	       op->kind == OP_DEV;
}

bool view_place_is_sealed(const struct view_place *place)
{
	while (!place->op || !is_mount(place->op))
		place = place->parent;
	return place->sealed;
}

static enum access made_access(const struct view_place *place)
{
	switch (place->op->kind) {
	case OP_BIND_WRITE:
	case OP_DEV_BIND:
	case OP_MQUEUE:
		return ACCESS_WRITE;
	case OP_BIND_READ:
	case OP_SYMLINK:
	case OP_FILE:
	case OP_PROC:
		return ACCESS_READ;
	case OP_DENY_FILE:
		return ACCESS_DENY;
	case OP_TMPFS:
	case OP_DIR:
	case OP_DENY_DIR:
	case OP_DEV:
		if (!view_place_is_sealed(place))
			return ACCESS_WRITE;
		return place->op->kind == OP_DENY_DIR && place->op->mode == 0 ? ACCESS_DENY
									      : ACCESS_READ;
	case OP_SEAL:
		break;
	}
	return ACCESS_DENY;
}

static void look_host(const struct view *view, struct seen *s, const char *path)
{
	struct tree_stat st;

	s->error = tree_lstat(view->tree, path, &st);
	if (s->error)
		return;
	s->kind = st.kind;
	if (st.kind == TREE_LINK)
		s->error = tree_readlink(view->tree, path, &s->text);
}

/* A new procfs has what the host's has, but for processes. */
static void look_proc(const struct view *view, struct seen *s, const char *rest)
{
	CLEANUP_FREE char *path = xasprintf("/proc%s", rest);
	size_t n = *rest ? strcspn(rest + 1, "/") : 0;
	bool process = n && (strspn(rest + 1, "0123456789") == n || view_tail(rest, "/self") ||
				    view_tail(rest, "/thread-self"));

	s->kind = TREE_DIR;
	if (process)
		s->error = -ENOENT;
	else if (*rest)
		look_host(view, s, path);
}

void view_look_dev(struct seen *s, const char *rest)
{
	static const struct {
		const char *name;
		enum tree_kind kind;
		const char *text;
	} nodes[] = {
		{"/null", TREE_CHAR, NULL},
		{"/zero", TREE_CHAR, NULL},
		{"/full", TREE_CHAR, NULL},
		{"/random", TREE_CHAR, NULL},
		{"/urandom", TREE_CHAR, NULL},
		{"/tty", TREE_CHAR, NULL},
		{"/shm", TREE_DIR, NULL},
		{"/pts", TREE_DIR, NULL},
		{"/pts/ptmx", TREE_CHAR, NULL},
		{"/ptmx", TREE_LINK, "pts/ptmx"},
		{"/fd", TREE_LINK, "/proc/self/fd"},
		{"/stdin", TREE_LINK, "/proc/self/fd/0"},
		{"/stdout", TREE_LINK, "/proc/self/fd/1"},
		{"/stderr", TREE_LINK, "/proc/self/fd/2"},
		{"/core", TREE_LINK, "/proc/kcore"},
	};

	s->kind = TREE_DIR;
	if (!*rest)
		return;
	s->error = -ENOENT;
	for (size_t i = 0; i < sizeof(nodes) / sizeof(*nodes); i++) {
		const char *more = view_tail(rest, nodes[i].name);

		if (more && !*more) {
			s->error = 0;
			s->kind = nodes[i].kind;
			s->text = nodes[i].text ? xstrdup(nodes[i].text) : NULL;
			if (s->kind == TREE_CHAR)
				s->access = ACCESS_WRITE;
		} else if (more && nodes[i].kind != TREE_DIR) {
			s->error = -ENOTDIR;
		}
	}
}

void view_look(const struct view *view, const char *path, struct seen *s)
{
	const struct view_place *by = view_place_maker(view_place_above(view, path));
	const struct op *op = by->op;
	const char *rest = view_tail(path, by->path);

	assert(rest); /* by stands at or above path */
	*s = (struct seen){.by = by, .exact = !*rest, .access = made_access(by)};
	switch (op->kind) {
	case OP_BIND_READ:
	case OP_BIND_WRITE:
	case OP_DEV_BIND:
		s->host = view_graft(op->source, rest);
		look_host(view, s, s->host);
		break;
	case OP_PROC:
		look_proc(view, s, rest);
		break;
	case OP_DEV:
		view_look_dev(s, rest);
		break;
	case OP_TMPFS:
	case OP_DIR:
	case OP_DENY_DIR:
		s->kind = TREE_DIR;
		if (*rest)
			s->error = op->mode & 0100 ? -ENOENT : -EACCES;
		break;
	case OP_MQUEUE:
		s->kind = TREE_DIR;
		s->error = *rest ? -ENOENT : 0;
		break;
	case OP_SYMLINK:
	case OP_FILE:
	case OP_DENY_FILE:
	case OP_SEAL:
		s->kind = op->kind == OP_SYMLINK ? TREE_LINK
			  : op->kind == OP_FILE  ? TREE_FILE
						 : TREE_CHAR;
		s->text = op->kind == OP_SYMLINK ? xstrdup(op->source) : NULL;
		s->error = *rest ? -ENOTDIR : 0;
		break;
	}
}

void seen_clear(struct seen *s)
{
	free(s->host);
	free(s->text);
}

/* One step of a walk: the name of n bytes at *rest below *at. A link's text takes its place in
 * *rest. / */
static int walk_step(
	const struct view *view, char **at, char **rest, size_t n, struct strvec *links)
{
	char *next = view_entry(*at, *rest, n);
	CLEANUP_SEEN struct seen s;
	bool into_proc = view->host && links->n && strcmp(next, "/proc") == 0;

	view_look(view, next, &s);
	if (!s.error && s.kind == TREE_LINK) {
		char *more = xasprintf("%s%s", s.text, *rest + n);
		int error = links->n == MAX_LINKS ? -ELOOP : 0;

		strvec_take(links, next);
		if (*more == '/')
			(*at)[1] = '\0';
		free(*rest);
		*rest = more;
		return error;
	}
	free(*at);
	*at = next;
	if (!s.error && s.kind != TREE_DIR && (*rest)[n] == '/')
		s.error = -ENOTDIR;
	memmove(*rest, *rest + n, strlen(*rest + n) + 1);
	return into_proc ? INTO_PROC : s.error;
}

/* Whether a process may look for names in a directory; "." and ".." are such, too. */
static bool may_enter(const struct view *view, const char *dir)
{
	CLEANUP_FREE char *self = view_entry(dir, ".", 1);
	CLEANUP_SEEN struct seen s;

	view_look(view, self, &s);
	return s.error != -EACCES;
}

int view_walk(const struct view *view, const char *path, struct strvec *links, char **out)
{
	CLEANUP_FREE char *rest = xstrdup(path);
	int error = 0;

	*out = xstrdup("/");
	for (;;) {
		size_t n, skip = strspn(rest, "/");

		memmove(rest, rest + skip, strlen(rest + skip) + 1);
		n = strcspn(rest, "/");
		if (n == 0)
			return error;
		if (n <= 2 && strncmp(rest, "..", n) == 0) {
			if (!error && !may_enter(view, *out))
				error = -EACCES;
			if (n == 2)
				view_cut_last(*out);
			memmove(rest, rest + n, strlen(rest + n) + 1);
		} else if (!error) {
			error = walk_step(view, out, &rest, n, links);
		} else {
			char *next = view_entry(*out, rest, n);

			free(*out);
			*out = next;
			memmove(rest, rest + n, strlen(rest + n) + 1);
		}
	}
}

/* Replaying */

static int op_fault(struct err *err, const struct op *op, const char *what, const char *name)
{
	return proof_fault(err, op->why, "op %s at %s: %s%s%s", op_kind_name(op->kind), op->dest,
		name, *name ? " " : "", what);
}

/* Whether the op's source can be used; *dir says whether it makes a directory. */
static int check_source(const struct view *view, const struct op *op, bool *dir, struct err *err)
{
	struct tree_stat st;

	*dir = op->kind != OP_FILE && op->kind != OP_DENY_FILE && op->kind != OP_SYMLINK;
	if (op->kind == OP_SYMLINK && (!op->source || !*op->source))
		return op_fault(err, op, "the link has no text", "");
	if (op->kind == OP_DENY_FILE && (tree_lstat(view->tree, "/dev/null", &st) < 0 ||
						st.kind != TREE_CHAR || st.rdev != makedev(1, 3)))
		return op_fault(err, op, "is not the null device", "/dev/null");
	if (!view_is_bind(op))
		return 0;
	if (!view_is_normal(op->source))
		return op_fault(err, op, "the source is no normal path", "");
	if (tree_lstat(view->tree, op->source, &st) < 0)
		return op_fault(err, op, "is not there (or reached through a link)", op->source);
	if (st.kind == TREE_LINK)
		return op_fault(err, op, "is a link", op->source);
	if (op->kind == OP_DEV_BIND && st.kind != TREE_CHAR && st.kind != TREE_BLOCK)
		return op_fault(err, op, "is not a device", op->source);
	*dir = st.kind == TREE_DIR;
	return 0;
}

/* Every name above the destination is a directory, and none a link. */
static int check_parents(const struct view *view, const struct op *op, struct err *err)
{
	for (const char *p = strchr(op->dest + 1, '/'); p; p = strchr(p + 1, '/')) {
		CLEANUP_FREE char *parent = xstrndup(op->dest, (size_t)(p - op->dest));
		CLEANUP_SEEN struct seen s;

		view_look(view, parent, &s);
		if (s.error)
			return op_fault(err, op, "is not there", parent);
		if (s.kind == TREE_LINK)
			return op_fault(err, op, "is a link", parent);
		if (s.kind != TREE_DIR)
			return op_fault(err, op, "is not a directory", parent);
	}
	return 0;
}

/* The destination can take the op: a mount point of the right type, or a name that can be made. */
static int check_dest(const struct view *view, const struct op *op, bool dir, struct err *err)
{
	CLEANUP_FREE char *parent = xstrdup(op->dest);
	CLEANUP_SEEN struct seen s, above;

	view_cut_last(parent);
	view_look(view, parent, &above);
	view_look(view, op->dest, &s);
	if (!s.error) {
		if (!is_mount(op))
			return op_fault(err, op, "the name is there already", "");
		if (s.kind == TREE_LINK)
			return op_fault(err, op, "the destination is a link", "");
		if ((s.kind == TREE_DIR) != dir)
			return op_fault(err, op, "the mount point has the wrong type", "");
		return 0;
	}
	if ((s.error != -ENOENT && s.error != -EACCES) || !above.exact ||
		!view_is_own_dir(above.by->op))
		return op_fault(err, op, "there is no mount point", "");
	if (view_place_is_sealed(above.by))
		return op_fault(err, op, "is sealed already", parent);
	return 0;
}

static const struct op *op_below(const struct view_place *place)
{
	for (size_t i = 0; i < place->n_kids; i++) {
		const struct view_place *kid = place->kids[i];
		const struct op *op = kid->op ? kid->op : op_below(kid);

		if (op)
			return op;
	}
	return NULL;
}

static int replay_seal(struct view *view, const struct op *op, struct err *err)
{
	struct view_place *place = view_place_above(view, op->dest);

	if (strcmp(place->path, op->dest) != 0 || !place->op || !is_mount(place->op) ||
		!view_is_own_dir(place->op))
		return op_fault(err, op, "nothing of the sandbox's own is mounted there", "");
	if (place->sealed)
		return op_fault(err, op, "is sealed already", op->dest);
	place->sealed = true;
	return 0;
}

static int replay_op(struct view *view, const struct op *op, struct err *err)
{
	struct view_place *place;
	const struct op *lost;
	bool dir;

	if (!view_is_normal(op->dest) || !op->why)
		return proof_fault(err, op->why, "an op without a normal destination and a rule");
	if (op->kind == OP_SEAL)
		return replay_seal(view, op, err);
	if (!op->dest[1])
		return op_fault(err, op, "the root cannot be replaced", "");
	if (check_source(view, op, &dir, err) < 0 || check_parents(view, op, err) < 0 ||
		check_dest(view, op, dir, err) < 0)
		return -1;
	place = view_place_get(view, op->dest);
	lost = place->op && place->op->kind != OP_DIR ? place->op : op_below(place);
	if (lost)
		return op_fault(err, op, "would be hidden by it", lost->dest);
	place->op = op;
	return 0;
}

int view_replay(struct view *view, const struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < plan->n; i++)
		if (replay_op(view, &plan->ops[i], err) < 0)
			return -1;
	return 0;
}

int view_lookup(
	const struct plan *plan, const struct tree *tree, const char *path, struct view_object *out)
{
	CLEANUP_VIEW struct view view;
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_SEEN struct seen s = {0};
	CLEANUP_FREE char *end = NULL;
	struct err err;
	int error;

	*out = (struct view_object){0};
	view_init(&view, tree, false);
	if (view_replay(&view, plan, &err) < 0)
		return -EINVAL;
	error = view_walk(&view, path, &links, &end);
	for (size_t i = 0; i < links.n; i++) {
		CLEANUP_SEEN struct seen link;

		view_look(&view, links.v[i], &link);
		strvec_pushl(&out->links, links.v[i], link.text, NULL);
	}
	if (error) {
		out->missing = end;
		end = NULL;
		return error;
	}
	view_look(&view, end, &s);
	out->kind = s.kind;
	out->access = s.access;
	out->path = end;
	out->host = s.host;
	end = s.host = NULL;
	return 0;
}

void view_object_clear(struct view_object *object)
{
	free(object->path);
	free(object->host);
	free(object->missing);
	strvec_clear(&object->links);
	*object = (struct view_object){0};
}
