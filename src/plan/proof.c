/*
 * How the proof works.
 *
 * One tree of sandbox names ("places") carries two things that were made apart from each other:
 * what the ops have put there (replay: place->op), and which rules stand there (claims:
 * place->path_claim, place->at_claim). For a place, look() says what a process inside finds and
 * want() what the policy wants it to find. They are compared at every place of the tree: every
 * destination, every place a rule stands at, every place where a mount shows an object that a rule
 * protects, every entry of a directory that was opened.
 *
 * That is enough for all other places. Let q be one that is not in the tree and p the deepest one
 * above it that is. Between p and q there is neither an op nor a rule, so both look() and want() at
 * q are what they are at p, with the same names appended to the host object. Where p is a directory
 * of the sandbox's own there is nothing at q; p stands for a host directory only when it was
 * opened, and then its entries are in the tree.
 *
 * Live sockets that must not be reached are no rules here. The host paths of each are found by
 * name and by the mount table, every bind is asked whether it would show one, and such places are
 * put into the tree; wherever a host object is wanted that is one of them, nothing is.
 *
 * Links need no care of their own: places are names without links, and a process that follows a
 * link inside ends at some place. The rules' own paths are walked as well, to see that they lead
 * where they should.
 */
#include "plan/proof.h"

#include "base/mem.h"
#include "base/placeholder.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MAX_LINKS = 40 };

/* walk() on the host: a link led into /proc. */
enum { INTO_PROC = 1 };

/* The parts of a fresh /proc that reach the whole machine. */
static const char *const machine_parts[] = {
	"/proc/acpi",
	"/proc/bus",
	"/proc/driver",
	"/proc/fs",
	"/proc/irq",
	"/proc/mtrr",
	"/proc/scsi",
	"/proc/sys",
	"/proc/sysrq-trigger",
};

/* The directories that the command finds in its scratch. */
static const char *const scratch_dirs[] = {"/home", "/tmp"};

/* What a rule comes to on this host. */
struct claim {
	const struct rule *rule;
	enum access access;
	char *object; /* ROOT, PATH, MOUNT, DEVICE: the host object, without links; else NULL */
	struct strvec links; /* the links on the way to it */
	int error;           /* why the object is not there, -errno; INTO_PROC; else 0 */
	bool trusted; /* nobody but root, or who the rule trusts, changes where the links lead */
	bool off;     /* stands nowhere: missing, led into /proc, or would raise through a link */
	const struct place *stands; /* where a rule with a place of its own does */
};

/* A name of the sandbox. */
struct place {
	char *path;
	struct place *parent;
	struct place **kids; /* sorted by path */
	size_t n_kids, alloc;
	const struct op *op; /* the op that made what is here; NULL: what is above shows through */
	bool sealed;
	const struct claim *path_claim; /* a PATH rule (or ROOT) stands here */
	const struct claim *at_claim;   /* a rule with a place of its own stands here */
	bool link;                      /* a rule leads through the host's link of this name */
	bool opened; /* a directory of the host's that was made anew, entry by entry */
};

struct view {
	const struct tree *tree;
	struct op root; /* what is at "/" before the first op */
	struct place *top;
	bool host; /* this is the host itself: one bind of "/" */
};

/* What a process inside finds. */
struct seen {
	int error;              /* -errno; the rest is then only by, exact and host */
	const struct place *by; /* the place whose op shows it */
	bool exact;             /* by is the place itself */
	enum tree_kind kind;
	enum access access;
	char *host; /* the host object, or NULL */
	char *text; /* a link's */
};

/* What the policy wants to be found. */
struct want {
	enum {
		WANT_NOTHING,
		WANT_HOST, /* the host object */
		WANT_LINK, /* the link of that name on the host, or nothing */
		WANT_TMPFS,
		WANT_DIR, /* a directory in scratch for the command's user alone */
		WANT_DATA,
		WANT_PROC,
		WANT_DEV,
		WANT_MQUEUE,
	} shows;
	enum access access;
	const struct rule *rule; /* the rule that decides */
	char *host;              /* HOST, LINK */
	bool named;              /* NOTHING: a PATH deny says so */
	bool usable;             /* HOST: a device node that works */
	bool guarded;            /* HOST: a PATH read that must hold inside a writable directory */
	bool optional;           /* may as well be hidden */
};

struct proof {
	const struct plan *plan;
	const struct policy *policy;
	const struct tree *tree;
	struct view view, host;
	struct rule **rules; /* the policy's, copied, with each pattern's matches in its place */
	size_t n_rules, alloc_rules;
	struct claim *claims;
	size_t n_claims;
	struct { /* a pattern that protects may match names that may not be seen */
		char *dir;
		const struct rule *rule;
	} * unseen;
	size_t n_unseen, alloc_unseen;
	struct claim **aliases; /* what claims come to at other names of their objects */
	size_t n_aliases, alloc_aliases;
	struct strvec sockets; /* host paths, sorted, of live sockets that must not be reached */
	struct rule no_socket; /* who says so */
	struct claim
		unowned; /* stands at /proc, /dev and /tmp when no rule does: never the host's */
	struct err *err;
};

/* Errors and text */

static int fault(struct err *err, const struct rule *rule, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static int fault(struct err *err, const struct rule *rule, const char *fmt, ...)
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

static const char *rule_words(const struct rule *rule)
{
	switch (rule->kind) {
	case RULE_ROOT:
		return rule->access == ACCESS_DENY ? "root deny" : "root read";
	case RULE_PATH:
		return rule->connect ? "connect" : access_name(rule->access);
	case RULE_MOUNT:
		return "mount";
	case RULE_TMPFS:
		return "tmpfs";
	case RULE_FILE:
		return "file";
	case RULE_DEVICE:
		return "device";
	case RULE_PROC:
		return "proc";
	case RULE_DEV:
		return "dev";
	}
	return "";
}

static const char *rule_place(const struct rule *rule)
{
	return rule->at ? rule->at : rule->path ? rule->path : "";
}

/* What of path comes after dir, "" or "/..."; NULL when path is neither dir nor below it. */
static const char *tail(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (strcmp(dir, "/") == 0)
		return path[1] ? path : "";
	if (strncmp(path, dir, n) != 0 || (path[n] != '\0' && path[n] != '/'))
		return NULL;
	return path + n;
}

static bool strictly_below(const char *path, const char *dir)
{
	const char *rest = tail(path, dir);

	return rest && *rest;
}

/* dir and what tail() gave. */
static char *graft(const char *dir, const char *rest)
{
	if (*rest && strcmp(dir, "/") == 0)
		return xstrdup(rest);
	return xasprintf("%s%s", dir, rest);
}

/* The entry of dir with the first n bytes of name. */
static char *entry(const char *dir, const char *name, size_t n)
{
	return xasprintf("%s/%.*s", strcmp(dir, "/") == 0 ? "" : dir, (int)n, name);
}

static void cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	slash[slash == path ? 1 : 0] = '\0';
}

static unsigned depth(const char *path)
{
	unsigned n = 0;

	for (const char *p = path; *p; p++)
		n += *p == '/' && p[1] != '\0';
	return n;
}

static bool is_normal(const char *path)
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
static size_t kid_index(const struct place *place, const char *path, size_t n, bool *found)
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

static struct place *kid_add(struct place *place, size_t i, const char *path, size_t n)
{
	struct place *kid = xcalloc(1, sizeof(*kid));

	kid->path = xstrndup(path, n);
	kid->parent = place;
	GROW(place->kids, place->n_kids, place->alloc);
	memmove(place->kids + i + 1, place->kids + i, (place->n_kids - i) * sizeof(*place->kids));
	place->kids[i] = kid;
	place->n_kids++;
	return kid;
}

/* The deepest place of the tree at or above path. */
static struct place *place_above(const struct view *view, const char *path)
{
	struct place *at = view->top;
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

/* The place of that path, put into the tree when it is not there. */
static struct place *place_get(const struct view *view, const char *path)
{
	struct place *at = place_above(view, path);
	size_t n = at == view->top ? 0 : strlen(at->path);

	while (path[1] && path[n]) {
		bool found;

		n += 1 + strcspn(path + n + 1, "/");
		at = kid_add(at, kid_index(at, path, n, &found), path, n);
	}
	return at;
}

static void place_free(struct place *place)
{
	if (!place)
		return;
	for (size_t i = 0; i < place->n_kids; i++)
		place_free(place->kids[i]);
	free(place->kids);
	free(place->path);
	free(place);
}

static void view_init(struct view *view, const struct tree *tree, bool host)
{
	*view = (struct view){.tree = tree, .host = host};
	view->root.kind = host ? OP_BIND_READ : OP_TMPFS;
	view->root.source = view->root.dest = (char *)"/";
	view->root.mode = 0755;
	view->top = xcalloc(1, sizeof(*view->top));
	view->top->path = xstrdup("/");
	view->top->op = &view->root;
}

static void view_clear(struct view *view)
{
	place_free(view->top);
	view->top = NULL;
}

#define CLEANUP_VIEW __attribute__((cleanup(view_clear)))

/* The nearest place at or above this one that an op has made. */
static const struct place *maker(const struct place *place)
{
	while (!place->op)
		place = place->parent;
	return place;
}

/* Looking */

static bool is_bind(const struct op *op)
{
	return op->kind == OP_BIND_READ || op->kind == OP_BIND_WRITE || op->kind == OP_DEV_BIND;
}

static bool is_mount(const struct op *op)
{
	return op->kind != OP_DIR && op->kind != OP_SYMLINK &&
	       !(op->kind == OP_DENY_DIR && op->scaffold);
}

/* A directory of the sandbox's own in which names can be made. */
static bool is_own_dir(const struct op *op)
{
	return op->kind == OP_TMPFS || op->kind == OP_DIR || op->kind == OP_DENY_DIR ||
	       op->kind == OP_DEV;
}

/* Whether the mount that holds an own directory has been sealed. */
static bool is_sealed(const struct place *place)
{
	while (!place->op || !is_mount(place->op))
		place = place->parent;
	return place->sealed;
}

static enum access made_access(const struct place *place)
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
		if (!is_sealed(place))
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
	bool process = n && (strspn(rest + 1, "0123456789") == n || tail(rest, "/self") ||
				    tail(rest, "/thread-self"));

	s->kind = TREE_DIR;
	if (process)
		s->error = -ENOENT;
	else if (*rest)
		look_host(view, s, path);
}

/* What bwrap puts into its /dev. */
static void look_dev(struct seen *s, const char *rest)
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
		const char *more = tail(rest, nodes[i].name);

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

/* What is at a path none of whose parents is a link. End with seen_clear. */
static void look(const struct view *view, const char *path, struct seen *s)
{
	const struct place *by = maker(place_above(view, path));
	const struct op *op = by->op;
	const char *rest = tail(path, by->path);

	assert(rest); /* by stands at or above path */
	*s = (struct seen){.by = by, .exact = !*rest, .access = made_access(by)};
	switch (op->kind) {
	case OP_BIND_READ:
	case OP_BIND_WRITE:
	case OP_DEV_BIND:
		s->host = graft(op->source, rest);
		look_host(view, s, s->host);
		break;
	case OP_PROC:
		look_proc(view, s, rest);
		break;
	case OP_DEV:
		look_dev(s, rest);
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

static void seen_clear(struct seen *s)
{
	free(s->host);
	free(s->text);
}

#define CLEANUP_SEEN __attribute__((cleanup(seen_clear)))

/* One step of a walk: the name of n bytes at *rest below *at. A link's text takes its place in
 * *rest. / */
static int walk_step(
	const struct view *view, char **at, char **rest, size_t n, struct strvec *links)
{
	char *next = entry(*at, *rest, n);
	CLEANUP_SEEN struct seen s;
	bool into_proc = view->host && links->n && strcmp(next, "/proc") == 0;

	look(view, next, &s);
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
	CLEANUP_FREE char *self = entry(dir, ".", 1);
	CLEANUP_SEEN struct seen s;

	look(view, self, &s);
	return s.error != -EACCES;
}

/* Walks a path as the kernel does. 0, -errno or INTO_PROC. *out (always set) is where it ends;
 * when a name on the way is missing, the names after it are taken as text. The links that were
 * followed are appended to links. */
static int walk(const struct view *view, const char *path, struct strvec *links, char **out)
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
				cut_last(*out);
			memmove(rest, rest + n, strlen(rest + n) + 1);
		} else if (!error) {
			error = walk_step(view, out, &rest, n, links);
		} else {
			char *next = entry(*out, rest, n);

			free(*out);
			*out = next;
			memmove(rest, rest + n, strlen(rest + n) + 1);
		}
	}
}

/* Replaying */

static int op_fault(struct err *err, const struct op *op, const char *what, const char *name)
{
	return fault(err, op->why, "op %s at %s: %s%s%s", op_kind_name(op->kind), op->dest, name,
		*name ? " " : "", what);
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
	if (!is_bind(op))
		return 0;
	if (!is_normal(op->source))
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

		look(view, parent, &s);
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

	cut_last(parent);
	look(view, parent, &above);
	look(view, op->dest, &s);
	if (!s.error) {
		if (!is_mount(op))
			return op_fault(err, op, "the name is there already", "");
		if (s.kind == TREE_LINK)
			return op_fault(err, op, "the destination is a link", "");
		if ((s.kind == TREE_DIR) != dir)
			return op_fault(err, op, "the mount point has the wrong type", "");
		return 0;
	}
	if ((s.error != -ENOENT && s.error != -EACCES) || !above.exact || !is_own_dir(above.by->op))
		return op_fault(err, op, "there is no mount point", "");
	if (is_sealed(above.by))
		return op_fault(err, op, "is sealed already", parent);
	return 0;
}

static const struct op *op_below(const struct place *place)
{
	for (size_t i = 0; i < place->n_kids; i++) {
		const struct place *kid = place->kids[i];
		const struct op *op = kid->op ? kid->op : op_below(kid);

		if (op)
			return op;
	}
	return NULL;
}

static int replay_seal(struct view *view, const struct op *op, struct err *err)
{
	struct place *place = place_above(view, op->dest);

	if (strcmp(place->path, op->dest) != 0 || !place->op || !is_mount(place->op) ||
		!is_own_dir(place->op))
		return op_fault(err, op, "nothing of the sandbox's own is mounted there", "");
	if (place->sealed)
		return op_fault(err, op, "is sealed already", op->dest);
	place->sealed = true;
	return 0;
}

static int replay_op(struct view *view, const struct op *op, struct err *err)
{
	struct place *place;
	const struct op *lost;
	bool dir;

	if (!is_normal(op->dest) || !op->why)
		return fault(err, op->why, "an op without a normal destination and a rule");
	if (op->kind == OP_SEAL)
		return replay_seal(view, op, err);
	if (!op->dest[1])
		return op_fault(err, op, "the root cannot be replaced", "");
	if (check_source(view, op, &dir, err) < 0 || check_parents(view, op, err) < 0 ||
		check_dest(view, op, dir, err) < 0)
		return -1;
	place = place_get(view, op->dest);
	lost = place->op && place->op->kind != OP_DIR ? place->op : op_below(place);
	if (lost)
		return op_fault(err, op, "would be hidden by it", lost->dest);
	place->op = op;
	return 0;
}

static int replay(struct view *view, const struct plan *plan, struct err *err)
{
	for (size_t i = 0; i < plan->n; i++)
		if (replay_op(view, &plan->ops[i], err) < 0)
			return -1;
	return 0;
}

/* Patterns: own walk, own matching; what the planner has found is not looked at */

/* The length of the first component of a path or pattern that begins with a slash. */
static size_t part_length(const char *path)
{
	return 1 + strcspn(path + 1, "/");
}

static bool is_any(const char *pattern)
{
	return strncmp(pattern, "/**", part_length(pattern)) == 0 && part_length(pattern) == 3;
}

/* Whether a pattern's first component matches names of their own choice. */
static bool is_wild(const char *pattern)
{
	for (size_t i = 1; i < part_length(pattern); i++) {
		if (strchr("*?[", pattern[i]))
			return true;
		i += pattern[i] == '\\';
	}
	return false;
}

/* The first component of a pattern without its backslashes, with a slash before it. */
static char *plain_part(const char *pattern)
{
	char *plain = xcalloc(part_length(pattern) + 1, 1), *out = plain;

	for (size_t i = 0; i < part_length(pattern); i++) {
		i += pattern[i] == '\\' && i + 1 < part_length(pattern);
		*out++ = pattern[i];
	}
	return plain;
}

static bool part_matches(const char *pattern, const char *path)
{
	size_t n = part_length(pattern), length = part_length(path);
	char *part, *name;
	bool same;

	/* Nearly all are plain or a star, and there are many. */
	if (!memchr(pattern, '\\', n) && !is_wild(pattern))
		return n == length && memcmp(pattern, path, n) == 0;
	if (n == 2 && pattern[1] == '*')
		return true;
	part = xstrndup(pattern + 1, n - 1);
	name = xstrndup(path + 1, length - 1);
	same = fnmatch(part, name, 0) == 0;
	free(part);
	free(name);
	return same;
}

/* Whether a path matches a pattern, both from here on; `begins`: whether something below it could.
 * "**" stands for the path's last name only if that is a directory. */
static bool matches(const char *pattern, const char *path, bool directory, bool begins)
{
	if (!*path && begins)
		return *pattern != '\0';
	if (!*pattern)
		return !*path;
	if (is_any(pattern)) {
		const char *next = *path ? path + part_length(path) : "";

		return matches(pattern + 3, path, directory, begins) ||
		       (*path && (*next || directory) && matches(pattern, next, directory, begins));
	}
	return *path && part_matches(pattern, path) &&
	       matches(pattern + part_length(pattern), path + part_length(path), directory, begins);
}

/* Whether an object is there, and of another type than a rule is for. */
static bool wrong_type(const struct proof *pr, const struct rule *rule, const char *path)
{
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *object = NULL;
	struct tree_stat st;

	if (rule->type == TYPE_ANY || walk(&pr->host, path, &links, &object) != 0 ||
		tree_lstat(pr->tree, object, &st) < 0)
		return false;
	return st.kind != (rule->type == TYPE_DIRECTORY ? TREE_DIR : TREE_FILE);
}

/* Adds a copy of a rule that stands at a path, unless that is of another type. */
static void add_rule(struct proof *pr, const struct rule *rule, const char *path)
{
	struct rule *copy;

	if (wrong_type(pr, rule, path))
		return;
	copy = xmemdup(rule, sizeof(*rule));
	if (rule->path)
		copy->path = xstrdup(path);
	copy->optional |= rule->pattern;
	GROW(pr->rules, pr->n_rules, pr->alloc_rules);
	pr->rules[pr->n_rules++] = copy;
}

/* The directory that a pattern names before it becomes one. */
static char *plain_start(const char *pattern)
{
	char *start = xstrdup("");

	for (; *pattern && !is_wild(pattern); pattern += part_length(pattern)) {
		CLEANUP_FREE char *part = plain_part(pattern);
		char *longer = xasprintf("%s%s", start, part);

		free(start);
		start = longer;
	}
	if (*start)
		return start;
	free(start);
	return xstrdup("/");
}

/* A pattern, and the part of it that comes after the directory where the search has begun. */
struct sought {
	const struct rule *rule;
	const char *rest;
};

/* A host directory on the search, its name in rules, the part of that after the directory where the
 * search has begun, and the patterns that lead below it. */
struct search {
	const char *host, *name, *rest;
	const struct sought *patterns;
	size_t n;
};

/* Which names of a directory have to be seen: none, those of directories, all. */
enum listing { LIST_NONE, LIST_DIRECTORIES, LIST_ALL };

/* The part of a pattern that comes after n components. */
static const char *pattern_after(const char *pattern, unsigned n)
{
	while (n-- && *pattern)
		pattern += part_length(pattern);
	return pattern;
}

/* Whether any of a pattern's components is "**": each of them may then be that of any name. */
static bool has_any(const char *pattern)
{
	while (*pattern && !is_any(pattern))
		pattern += part_length(pattern);
	return *pattern;
}

static enum listing needed(const struct search *at)
{
	enum listing most = LIST_NONE;

	for (size_t i = 0; i < at->n; i++) {
		const char *pattern = at->patterns[i].rest;
		const char *next = pattern_after(pattern, depth(at->rest));

		if (has_any(pattern) || (*next && is_wild(next) && !*pattern_after(next, 1)))
			return LIST_ALL;
		if (*next && is_wild(next))
			most = LIST_DIRECTORIES;
	}
	return most;
}

/* Names that patterns spell out. */
static void plain_names(const struct search *at, struct strvec *names)
{
	for (size_t i = 0; i < at->n; i++) {
		const char *pattern = at->patterns[i].rest;
		bool any = has_any(pattern);
		const char *p = any ? pattern : pattern_after(pattern, depth(at->rest));

		for (; *p; p = any ? p + part_length(p) : "") {
			CLEANUP_FREE char *plain = plain_part(p);

			if (!is_wild(p) && !strvec_has(names, plain + 1))
				strvec_push(names, plain + 1);
		}
	}
}

/* The mount of the host's table that a path lies in, and where in its file system. NULL: none. */
static const struct tree_mount *mount_of(const struct proof *pr, const char *path, char **in_fs)
{
	size_t n;
	const struct tree_mount *mounts = tree_mounts(pr->tree, &n), *own = NULL;

	for (size_t i = 0; i < n; i++)
		if (tail(path, mounts[i].at) && (!own || strlen(mounts[i].at) >= strlen(own->at)))
			own = &mounts[i];
	if (own)
		*in_fs = graft(own->root, tail(path, own->at));
	return own;
}

static bool same_host_object(const struct proof *pr, const char *a, const char *b)
{
	struct tree_stat x, y;

	return tree_lstat(pr->tree, a, &x) == 0 && tree_lstat(pr->tree, b, &y) == 0 &&
	       x.dev == y.dev && x.ino == y.ino;
}

/* The other names that the host's mount table gives an object, or a part of it. */
static void other_names(const struct proof *pr, const char *path, struct strvec *names)
{
	size_t n;
	const struct tree_mount *mounts = tree_mounts(pr->tree, &n);
	CLEANUP_FREE char *in_fs = NULL;
	const struct tree_mount *own = mount_of(pr, path, &in_fs);

	for (size_t i = 0; own && i < n; i++) {
		const struct tree_mount *m = &mounts[i];
		const char *above = tail(in_fs, m->root), *below = tail(m->root, in_fs);

		if (m == own || m->dev != own->dev || (!above && !below))
			continue;
		CLEANUP_FREE char *name = graft(m->at, above ? above : "");
		CLEANUP_FREE char *part = graft(path, above ? "" : below);

		if (strcmp(name, path) != 0 && same_host_object(pr, part, name))
			strvec_push(names, name);
	}
}

/* Whether another mount of the host's table shows an object, or a part of it. */
static bool has_other_name(const struct proof *pr, const char *path)
{
	size_t n;
	const struct tree_mount *mounts = tree_mounts(pr->tree, &n);
	CLEANUP_FREE char *in_fs = NULL;
	const struct tree_mount *own = mount_of(pr, path, &in_fs);

	for (size_t i = 0; own && i < n; i++)
		if (&mounts[i] != own && mounts[i].dev == own->dev &&
			(tail(in_fs, mounts[i].root) || tail(mounts[i].root, in_fs)))
			return true;
	return false;
}

/* Places that no pattern matches. */
static bool is_own_place(const char *name)
{
	return tail(name, "/proc") || tail(name, "/dev") || strcmp(name, "/tmp") == 0 || !name[1];
}

/* Whether a directory need not be searched: a pattern denies it, and nothing below can be shown.
 * Patterns of earlier layers show nothing there. */
static bool is_closed(const struct proof *pr, const char *host, const char *name)
{
	unsigned layer = 0;
	bool denied = false;

	if (is_own_place(name))
		return false;
	for (size_t i = 0; i < pr->policy->n_rules; i++) {
		const struct rule *rule = &pr->policy->rules[i];

		if (!rule->pattern || rule->access != ACCESS_DENY || rule->type == TYPE_FILE ||
			!matches(rule->path, name, true, false))
			continue;
		denied = true;
		layer = rule->origin.layer > layer ? rule->origin.layer : layer;
	}
	for (size_t i = 0; denied && i < pr->policy->n_rules; i++) {
		const struct rule *rule = &pr->policy->rules[i];
		const char *const paths[] = {rule->path, rule->at};

		if (rule->pattern && rule->access != ACCESS_DENY && rule->origin.layer >= layer)
			return false;
		for (size_t k = 0; !rule->pattern && k < 2; k++) {
			CLEANUP_STRVEC struct strvec links = {0};
			CLEANUP_FREE char *end = NULL;

			if (!paths[k])
				continue;
			walk(&pr->host, paths[k], &links, &end);
			if (tail(paths[k], name) || tail(end, name) || tail(end, host))
				return false;
		}
	}
	return denied && !has_other_name(pr, host);
}

/* Cuts a path that is out of reach down to the directory that keeps it so. */
static void cut_to_closed(const struct proof *pr, char *path)
{
	struct tree_stat st;

	while (tree_lstat(pr->tree, path, &st) < 0)
		cut_last(path);
}

/* Keeps in mind that patterns which protect may match names in a directory that are not seen. */
static void keep_unseen(struct proof *pr, const struct search *at)
{
	for (size_t i = 0; i < at->n; i++)
		if (at->patterns[i].rule->access != ACCESS_WRITE) {
			GROW(pr->unseen, pr->n_unseen, pr->alloc_unseen);
			pr->unseen[pr->n_unseen].dir = xstrdup(at->host);
			pr->unseen[pr->n_unseen++].rule = at->patterns[i].rule;
			return;
		}
}

static void search(struct proof *pr, const struct search *at);

/* listing: that which has shown the name. */
static void search_name(
	struct proof *pr, const struct search *at, const char *entry_name, enum listing listing)
{
	CLEANUP_FREE char *host = entry(at->host, entry_name, strlen(entry_name));
	CLEANUP_FREE char *name = entry(at->name, entry_name, strlen(entry_name));
	CLEANUP_FREE char *rest = xasprintf("%s/%s", at->rest, entry_name);
	CLEANUP_FREE struct sought *leading = xcalloc(at->n, sizeof(*leading));
	struct search below = {host, name, rest, leading, 0};
	bool there = true, directory = true, leads = false;
	struct tree_stat st;
	int error = 0;

	for (size_t i = 0; i < at->n && !leads; i++)
		leads = matches(at->patterns[i].rest, rest, true, true) ||
			matches(at->patterns[i].rest, rest, true, false);
	if (!leads)
		return;
	if (listing != LIST_DIRECTORIES) {
		error = tree_lstat(pr->tree, host, &st);
		there = !error;
		directory = there && st.kind == TREE_DIR;
	}
	if (error == -EACCES)
		keep_unseen(pr, at);
	if (!there && listing == LIST_NONE)
		return;
	for (size_t i = 0; i < at->n; i++) {
		const struct sought *pattern = &at->patterns[i];

		if (matches(pattern->rest, rest, directory, false) && !is_own_place(name))
			add_rule(pr, pattern->rule, name);
		if (directory && matches(pattern->rest, rest, true, true))
			leading[below.n++] = *pattern;
	}
	if (below.n && !is_closed(pr, host, name))
		search(pr, &below);
}

static void search(struct proof *pr, const struct search *at)
{
	CLEANUP_STRVEC struct strvec names = {0}, plain = {0};
	enum listing listing = needed(at);
	int error = 0;

	if (tail(at->host, "/proc") || tail(at->host, "/dev"))
		return;
	if (listing == LIST_DIRECTORIES)
		error = tree_list_dirs(pr->tree, at->host, &names);
	if (listing == LIST_ALL)
		error = tree_list(pr->tree, at->host, &names);
	if (listing == LIST_DIRECTORIES && !error && !tree_may_search(pr->tree, at->host))
		error = -EACCES;
	if (error == -EACCES)
		keep_unseen(pr, at);
	if (error)
		strvec_clear(&names);
	if (error || listing != LIST_ALL)
		plain_names(at, &plain);
	for (size_t i = 0; i < names.n; i++)
		if (!strvec_has(&plain, names.v[i]))
			search_name(pr, at, names.v[i], listing);
	for (size_t i = 0; i < plain.n; i++)
		search_name(pr, at, plain.v[i], LIST_NONE);
}

/* Whether a search comes to a directory from those above it; with a link on the way it begins
 * anew. */
static bool comes_to(const struct proof *pr, const char *host, const char *name)
{
	for (size_t n = part_length(name); name[n]; n += part_length(name + n)) {
		CLEANUP_FREE char *above = xstrndup(name, n);
		CLEANUP_FREE char *end = NULL;
		CLEANUP_FREE char *straight = NULL;
		CLEANUP_STRVEC struct strvec links = {0};

		walk(&pr->host, above, &links, &end);
		straight = graft(end, name + n);
		if (strcmp(straight, host) == 0 && is_closed(pr, end, above))
			return false;
	}
	return true;
}

/* Searches for all patterns that begin in the same directory as the first. */
static void search_from(struct proof *pr, const char *start)
{
	CLEANUP_FREE struct sought *patterns = xcalloc(pr->policy->n_rules, sizeof(*patterns));
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *host = NULL;
	struct search at = {NULL, start, "", patterns, 0};
	int error = walk(&pr->host, start, &links, &host);

	if (!comes_to(pr, host, start))
		return;
	at.host = host;
	for (size_t i = 0; i < pr->policy->n_rules; i++) {
		const struct rule *rule = &pr->policy->rules[i];
		CLEANUP_FREE char *own = rule->pattern ? plain_start(rule->path) : NULL;

		if (!own || strcmp(own, start) != 0)
			continue;
		patterns[at.n++] = (struct sought){rule, pattern_after(rule->path, depth(start))};
		if (!error && !is_own_place(start) && matches(rule->path, start, true, false))
			add_rule(pr, rule, start);
	}
	if (error == -EACCES) {
		cut_to_closed(pr, host);
		keep_unseen(pr, &at);
	}
	if (!error && !is_closed(pr, host, start))
		search(pr, &at);
}

/* How many names there are in the path of what a rule leads to, and one, if that is above an object
 * and counts there: not a grant through links. */
static unsigned stands_over(const struct proof *pr, const struct rule *rule, const char *object)
{
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *end = NULL;
	bool counts;

	walk(&pr->host, rule->path, &links, &end);
	counts = strictly_below(object, end) && (rule->access == ACCESS_DENY || !links.n);
	return counts ? depth(end) + 1 : 0;
}

/* The greatest stands_over() of rules over an object: of those that deny in later layers than a match,
 * or of written ones that show it. */
static unsigned deepest_over(
	const struct proof *pr, const struct rule *match, const char *object, bool deny)
{
	unsigned deepest = 0;

	for (size_t i = 0; i < pr->n_rules; i++) {
		const struct rule *rule = pr->rules[i];
		unsigned own = 0;

		if (rule->kind == RULE_PATH && (rule->access == ACCESS_DENY) == deny &&
			(deny ? rule->origin.layer > match->origin.layer : !rule->pattern))
			own = stands_over(pr, rule, object);
		deepest = own > deepest ? own : deepest;
	}
	return deepest;
}

/* Whether a later layer denies what a match lies in, by one name of its object, and no written rule
 * below that shows it. */
static bool denied_later(const struct proof *pr, const struct rule *match, const char *name)
{
	unsigned denied = deepest_over(pr, match, name, true);

	return denied && denied >= deepest_over(pr, match, name, false);
}

/* Patterns show nothing in what a later layer denies: what they match there is denied. */
static void deny_later(struct proof *pr)
{
	CLEANUP_FREE bool *denied = xcalloc(pr->n_rules, sizeof(*denied));

	for (size_t i = 0; i < pr->n_rules; i++) {
		CLEANUP_STRVEC struct strvec links = {0}, names = {0};
		CLEANUP_FREE char *object = NULL;

		if (!pr->rules[i]->pattern || pr->rules[i]->access == ACCESS_DENY)
			continue;
		walk(&pr->host, pr->rules[i]->path, &links, &object);
		strvec_push(&names, object);
		other_names(pr, object, &names);
		for (size_t k = 0; k < names.n; k++)
			denied[i] |= denied_later(pr, pr->rules[i], names.v[k]);
	}
	for (size_t i = 0; i < pr->n_rules; i++)
		if (denied[i])
			pr->rules[i]->access = ACCESS_DENY;
}

/* Linked worktrees: own reading of git's files. The file .git of a checkout is believed only as far
 * as the repository that it names, where no rule writes, says the same of it. */

/* Where a rule stands, and what it names, both on the host. */
struct lead {
	char *place, *object; /* the same without an object, or without an at */
	bool linked;          /* place lies behind a link */
};

/* A rule with `worktree`, and all rules that are none. */
struct checkout {
	const struct rule *rule;
	const struct lead *leads; /* of the proof's first n rules */
	size_t n;
};

/* What a file says that is one line of text; NULL: it is not. */
static char *one_line(const struct proof *pr, const char *path)
{
	enum { MOST = 4096 };
	char *line = xcalloc(MOST + 1, 1);
	struct tree_stat st;
	bool file = tree_lstat(pr->tree, path, &st) == 0 && st.kind == TREE_FILE;
	ssize_t n = file ? tree_head(pr->tree, path, line, MOST) : 0;
	bool text = n > 0 && n < MOST;

	if (text && line[n - 1] == '\n')
		line[--n] = '\0';
	for (ssize_t i = 0; text && i < n; i++)
		text = (unsigned char)line[i] >= 0x20 && line[i] != 0x7f;
	if (text && n)
		return line;
	free(line);
	return NULL;
}

/* The object that a text names in a directory when no link is on the way; NULL: none. */
static char *object_named(const struct proof *pr, const char *dir, const char *text)
{
	CLEANUP_FREE char *path = xasprintf("%s/%s", *text == '/' ? "" : dir, text);
	CLEANUP_STRVEC struct strvec links = {0};
	char *object = NULL;

	if (walk(&pr->host, path, &links, &object) == 0 && !links.n)
		return object;
	free(object);
	return NULL;
}

static bool is_kind(const struct proof *pr, const char *path, enum tree_kind kind)
{
	struct tree_stat st;

	return tree_lstat(pr->tree, path, &st) == 0 && st.kind == kind;
}

/* The directory COMMON/worktrees/NAME that a file .git names; *common is the length of COMMON. */
static char *git_directory(const struct proof *pr, const char *git_file, size_t *common)
{
	CLEANUP_FREE char *line = one_line(pr, git_file);
	CLEANUP_FREE char *parent = xstrdup(git_file);
	CLEANUP_FREE char *above = NULL;
	char *dir;

	cut_last(parent);
	if (!line || strncmp(line, "gitdir: ", 8) != 0)
		return NULL;
	dir = object_named(pr, parent, line + 8);
	above = xstrdup(dir ? dir : "/");
	cut_last(above);
	*common = strlen(above) > 10 ? strlen(above) - 10 : 0;
	if (*common && strcmp(above + *common, "/worktrees") == 0 && is_kind(pr, dir, TREE_DIR))
		return dir;
	free(dir);
	return NULL;
}

/* Whether the repository says that the file .git is that of its worktree. */
static bool is_confirmed(
	const struct proof *pr, const char *dir, const char *common, const char *git_file)
{
	CLEANUP_FREE char *back = graft(dir, "/gitdir");
	CLEANUP_FREE char *commondir = graft(dir, "/commondir");
	CLEANUP_FREE char *head = graft(common, "/HEAD");
	CLEANUP_FREE char *back_line = one_line(pr, back);
	CLEANUP_FREE char *common_line = one_line(pr, commondir);
	CLEANUP_FREE char *named = NULL;
	struct tree_stat st;

	if (!back_line || !common_line || !is_kind(pr, head, TREE_FILE) ||
		tree_lstat(pr->tree, back, &st) < 0 || st.nlink > 1)
		return false;
	named = *back_line == '/' ? xstrdup(back_line) : object_named(pr, dir, back_line);
	return named && strcmp(named, git_file) == 0 &&
	       (strcmp(common_line, "../..") == 0 || strcmp(common_line, common) == 0);
}

static bool may_change(const struct proof *pr, const struct checkout *co, const char *path)
{
	for (size_t i = 0; i < co->n; i++) {
		const struct rule *rule = pr->rules[i];

		if ((rule->kind == RULE_PATH || rule->kind == RULE_MOUNT) &&
			rule->access == ACCESS_WRITE && tail(path, co->leads[i].object))
			return true;
	}
	return false;
}

/* Whether one of the deepest rules at or above a host path keeps the host's object from being shown
 * there. What came through a link shows nothing; another name has no place of its own inside. */
static bool is_hidden(
	const struct proof *pr, const struct checkout *co, const char *path, bool other_name)
{
	size_t deepest = 0;
	bool hidden = false;

	for (size_t i = 0; i < co->n; i++) {
		const struct rule *rule = pr->rules[i];
		size_t length = strlen(co->leads[i].place);
		bool hides = rule->at || rule->access == ACCESS_DENY;

		if (rule->kind == RULE_ROOT || rule->kind == RULE_DEVICE || length < deepest ||
			(rule->at && other_name) || (co->leads[i].linked && !hides) ||
			!tail(path, co->leads[i].place))
			continue;
		hidden = hides || (hidden && length == deepest);
		deepest = length;
	}
	return hidden;
}

static bool is_final(
	const struct proof *pr, const struct checkout *co, const char *path, enum access access)
{
	for (size_t i = 0; i < co->n; i++) {
		const struct rule *rule = pr->rules[i];
		bool binds = rule->final && rule->origin.layer < co->rule->origin.layer &&
			     rule->access < access && tail(path, co->leads[i].object);

		for (size_t j = 0; binds && j < rule->grants.n; j++)
			binds = !tail(path, rule->grants.v[j]);
		if (binds)
			return true;
	}
	return false;
}

/* Whether a rule or the sandbox itself keeps a path from the access. */
static bool is_kept(
	const struct proof *pr, const struct checkout *co, const char *path, enum access access)
{
	CLEANUP_STRVEC struct strvec names = {0};
	bool kept = false;

	strvec_push(&names, path);
	other_names(pr, path, &names);
	for (size_t i = 0; i < names.n; i++) {
		const char *name = names.v[i];

		kept |= tail(name, "/proc") || tail(name, "/dev") ||
			is_hidden(pr, co, name, i > 0) || is_final(pr, co, name, access);
		for (size_t j = 0; j < pr->policy->own.n; j++)
			kept |= tail(name, pr->policy->own.v[j]) ||
				tail(pr->policy->own.v[j], name);
	}
	return kept;
}

/* Adds a rule that one with `worktree` stands for. */
static void add_derived(
	struct proof *pr, const struct rule *from, const char *path, enum access access)
{
	struct rule rule = *from;

	rule.access = access;
	rule.pattern = true; /* a written rule for the path holds over it */
	rule.worktree = false;
	if (strcmp(path, from->path) != 0)
		rule.spelled = NULL;
	add_rule(pr, &rule, path);
}

/* The paths of a repository that a commit writes, and those that stay as they are. */
static void repository_paths(const struct proof *pr, const char *dir, const char *common,
	struct strvec *write, struct strvec *read)
{
	static const char *const shared[] = {"/objects", "/refs", "/logs"};
	static const char *const kept[] = {"/gitdir", "/commondir", "/config.worktree", "/modules"};

	strvec_push(write, dir);
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		CLEANUP_FREE char *path = graft(common, shared[i]);

		if (is_kind(pr, path, TREE_DIR))
			strvec_push(write, path);
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		strvec_take(read, graft(dir, kept[i]));
}

/* Adds what the repository of a linked worktree needs, where everything speaks for it. */
static void open_repository(struct proof *pr, const struct checkout *co, const char *git_file)
{
	CLEANUP_STRVEC struct strvec write = {0}, read = {0}, kept = {0};
	size_t n = 0;
	CLEANUP_FREE char *dir = git_directory(pr, git_file, &n);
	CLEANUP_FREE char *common = dir ? xstrndup(dir, n) : NULL;

	if (!dir || !is_confirmed(pr, dir, common, git_file))
		return;
	repository_paths(pr, dir, common, &write, &read);
	for (size_t i = 0; i < read.n; i++) {
		strvec_push(&kept, read.v[i]);
		other_names(pr, read.v[i], &kept);
	}
	for (size_t i = 0; i < kept.n; i++)
		if (may_change(pr, co, kept.v[i]))
			return;
	for (size_t i = 0; i < write.n; i++)
		if (is_kept(pr, co, write.v[i], ACCESS_WRITE))
			return;
	for (size_t i = 0; i < read.n; i++)
		if (is_kept(pr, co, read.v[i], ACCESS_READ))
			return;
	for (size_t i = 0; i < write.n; i++)
		add_derived(pr, co->rule, write.v[i], ACCESS_WRITE);
	for (size_t i = 0; i < read.n; i++)
		add_derived(pr, co->rule, read.v[i], ACCESS_READ);
}

static void add_worktree(struct proof *pr, const struct checkout *co)
{
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *git_file = NULL;

	if (walk(&pr->host, co->rule->path, &links, &git_file) != 0 ||
		!is_kind(pr, git_file, TREE_FILE) || is_kept(pr, co, git_file, ACCESS_READ))
		return;
	add_derived(pr, co->rule, co->rule->path, ACCESS_READ);
	if (!links.n)
		open_repository(pr, co, git_file);
}

static void add_worktrees(struct proof *pr)
{
	struct checkout co = {.n = pr->n_rules};
	struct lead *leads = xcalloc(co.n, sizeof(*leads));

	co.leads = leads;
	for (size_t i = 0; i < co.n; i++) {
		const struct rule *rule = pr->rules[i];
		CLEANUP_STRVEC struct strvec links = {0}, to_object = {0};

		walk(&pr->host, rule_place(rule), &links, &leads[i].place);
		walk(&pr->host, rule->path ? rule->path : rule->at, &to_object, &leads[i].object);
		leads[i].linked = links.n;
	}
	for (size_t i = 0; i < pr->policy->n_rules; i++) {
		co.rule = &pr->policy->rules[i];
		if (co.rule->worktree)
			add_worktree(pr, &co);
	}
	for (size_t i = 0; i < co.n; i++) {
		free(leads[i].place);
		free(leads[i].object);
	}
	free(leads);
}

/* By path; of one path the rule that holds first: of the latest layer, then one without a pattern,
 * then the lowest access. */
static int rule_order(const void *a, const void *b)
{
	const struct rule *x = *(struct rule *const *)a, *y = *(struct rule *const *)b;
	int order = strcmp(rule_place(x), rule_place(y));

	if (order)
		return order;
	if (x->origin.layer != y->origin.layer)
		return x->origin.layer > y->origin.layer ? -1 : 1;
	if (x->pattern != y->pattern)
		return x->pattern ? 1 : -1;
	if (x->access != y->access)
		return x->access < y->access ? -1 : 1;
	if (x->follow != y->follow)
		return x->follow ? 1 : -1;
	if (x->missing != y->missing)
		return x->missing > y->missing ? -1 : 1;
	if (x->lost_report != y->lost_report)
		return x->lost_report ? 1 : -1;
	return (int)x->mask - (int)y->mask;
}

/* A denied object, and what is shown at its place. */
static bool stand_together(const struct rule *a, const struct rule *b)
{
	return (a->at && !b->at && b->access == ACCESS_DENY) ||
	       (b->at && !a->at && a->access == ACCESS_DENY);
}

/* Whether only the host tells that two rules stand at one path. */
static bool from_tree(const struct rule *a, const struct rule *b)
{
	return a->pattern || b->pattern || a->type != b->type;
}

/* Takes out the rules that others stand in place of. */
static void drop_replaced(struct proof *pr)
{
	CLEANUP_FREE bool *replaced = xcalloc(pr->n_rules, sizeof(*replaced));
	size_t kept = 0;

	if (pr->n_rules)
		qsort(pr->rules, pr->n_rules, sizeof(*pr->rules), rule_order);
	for (size_t i = 0; i < pr->n_rules; i++)
		for (size_t j = i;
			j-- > 0 && strcmp(rule_place(pr->rules[j]), rule_place(pr->rules[i])) == 0;)
			replaced[i] |= from_tree(pr->rules[i], pr->rules[j]) &&
				       !stand_together(pr->rules[i], pr->rules[j]);
	for (size_t i = 0; i < pr->n_rules; i++) {
		if (replaced[i]) {
			free(pr->rules[i]->path);
			free(pr->rules[i]);
		} else {
			pr->rules[kept++] = pr->rules[i];
		}
	}
	pr->n_rules = kept;
}

static void make_rules(struct proof *pr)
{
	CLEANUP_STRVEC struct strvec starts = {0};

	for (size_t i = 0; i < pr->policy->n_rules; i++) {
		const struct rule *rule = &pr->policy->rules[i];
		CLEANUP_FREE char *start = rule->pattern ? plain_start(rule->path) : NULL;

		if (!start && !rule->worktree)
			add_rule(pr, rule, rule->path);
		else if (start && !strvec_has(&starts, start))
			strvec_push(&starts, start);
	}
	for (size_t i = 0; i < starts.n; i++)
		search_from(pr, starts.v[i]);
	deny_later(pr);
	add_worktrees(pr);
	drop_replaced(pr);
}

/* Claims: which rule stands where */

/* Whether some rule makes a host path of this name writable, even if another takes that back: a
 * link there must not raise anything. */
static bool name_may_be_written(const struct proof *pr, const char *path)
{
	for (size_t i = 0; i < pr->n_claims; i++) {
		const struct claim *c = &pr->claims[i];

		if ((c->rule->kind == RULE_PATH || c->rule->kind == RULE_MOUNT) &&
			c->rule->access == ACCESS_WRITE && tail(path, c->object))
			return true;
	}
	return false;
}

/* The same by any name that the host's mount table gives it. */
static bool may_be_written(const struct proof *pr, const char *path)
{
	size_t n;
	const struct tree_mount *mounts = tree_mounts(pr->tree, &n);
	CLEANUP_FREE char *in_fs = NULL;
	const struct tree_mount *own = mount_of(pr, path, &in_fs);

	for (size_t i = 0; own && i < n; i++) {
		const char *rest = mounts[i].dev == own->dev ? tail(in_fs, mounts[i].root) : NULL;
		CLEANUP_FREE char *name = rest ? graft(mounts[i].at, rest) : NULL;

		if (name && name_may_be_written(pr, name) && same_host_object(pr, path, name))
			return true;
	}
	return name_may_be_written(pr, path);
}

/* Whether nobody but root and, if it follows, the caller, and nothing inside, can put another link
 * in a link's place: all directories above it are theirs, and nobody else may write in its own;
 * above that, in a sticky one, others cannot move what is theirs. */
static bool link_trusted(const struct proof *pr, const char *link, bool follow)
{
	CLEANUP_FREE char *dir = xstrdup(link);
	struct tree_stat st;

	cut_last(dir);
	if (may_be_written(pr, dir))
		return false;
	for (bool above = false;; above = true, cut_last(dir)) {
		if (tree_lstat(pr->tree, dir, &st) < 0)
			return false;
		if (st.uid != 0 && (!follow || st.uid != pr->tree->uid))
			return false;
		if ((st.mode & 022) && !(above && (st.mode & S_ISVTX)))
			return false;
		if (!dir[1])
			return true;
	}
}

static bool links_trusted(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < c->links.n; i++)
		if (!link_trusted(pr, c->links.v[i], c->rule->follow))
			return false;
	return true;
}

static int claim_resolve(struct proof *pr, struct claim *c)
{
	const struct rule *rule = c->rule;
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *other = NULL;

	if (!rule->path)
		return 0;
	c->error = walk(&pr->host, rule->path, &c->links, &c->object);
	if (rule->spelled) {
		walk(&pr->host, rule->spelled, &links, &other);
		if (strcmp(other, c->object) != 0)
			return fault(pr->err, rule, "%s and %s are not the same", rule->spelled,
				rule->path);
	}
	c->off = c->error == INTO_PROC || c->error == -ELOOP ||
		 (c->error && (rule->kind != RULE_PATH || rule->access != ACCESS_DENY));
	return 0;
}

static const struct claim *host_claim(const struct proof *pr, const char *path)
{
	const struct place *place = place_above(&pr->view, path);

	while (!place->path_claim)
		place = place->parent;
	return place->path_claim;
}

static int grant_fault(struct proof *pr, const struct claim *c, const char *what)
{
	return fault(pr->err, c->rule, "%s %s: %s", rule_words(c->rule), c->rule->path, what);
}

/* Whether a rule keeps an object of the host's from being written. */
static bool is_never_written(const struct proof *pr, const char *path)
{
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].rule->kind == RULE_PATH && pr->claims[i].access != ACCESS_WRITE &&
			strcmp(pr->claims[i].object, path) == 0)
			return true;
	return false;
}

/* Whether what a link leads to holds sbx's own files, or lies among them. Where no link is on the
 * way, the policy sees to them. */
static bool opens_own(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < pr->policy->own.n; i++) {
		CLEANUP_STRVEC struct strvec links = {0};
		CLEANUP_FREE char *own = NULL;

		walk(&pr->host, pr->policy->own.v[i], &links, &own);
		if (tail(c->object, own) || (tail(own, c->object) && !is_never_written(pr, own)))
			return true;
	}
	return false;
}

/* A grant that cannot be one. */
static int check_grant(struct proof *pr, const struct claim *c)
{
	const struct rule *rule = c->rule;
	bool path = rule->kind == RULE_PATH && rule->access != ACCESS_DENY && c->error != INTO_PROC;

	if (path && (tail(c->object, "/proc") || tail(c->object, "/dev")))
		return grant_fault(pr, c, "nothing of the host's /proc or /dev can be shown");
	/* A denied one may lead there through a link: what shows is the sandbox's own. */
	if (rule->kind == RULE_PATH && rule->access != ACCESS_DENY &&
		strcmp(c->object, "/tmp") == 0)
		return grant_fault(pr, c, "/tmp is the sandbox's own");
	if (rule->kind == RULE_MOUNT && pr->plan->proc == PROC_FRESH &&
		(tail(c->object, "/proc") || !c->object[1]))
		return grant_fault(pr, c, "it would show the host's /proc");
	if (rule->kind == RULE_MOUNT && !c->trusted &&
		host_claim(pr, c->object)->access < rule->access)
		return grant_fault(pr, c, "a link that others can change may not raise access");
	if ((rule->kind == RULE_PATH || rule->kind == RULE_MOUNT) && rule->access == ACCESS_WRITE &&
		c->links.n && opens_own(pr, c))
		return grant_fault(pr, c, "sbx's own files would be writable");
	if (rule->kind == RULE_DEVICE && !c->trusted)
		return grant_fault(pr, c, "a link that others can change leads to it");
	return 0;
}

/* Lets a PATH rule stand at its object; of two rules at one object the lower holds. */
static void stand_path(struct proof *pr, struct claim *c)
{
	struct place *place = place_get(&pr->view, c->object);
	const struct claim *old = place->path_claim;

	if (!old || old->rule->kind == RULE_ROOT || c->access < old->access)
		place->path_claim = c;
}

/* Lets the PATH rules of one access stand, those whose links can be trusted or the others. Through
 * a link that others can change a rule only lowers access; which is seen before any of its kind
 * stands, so that none depends on another. */
static void stand_paths(struct proof *pr, enum access access, bool trusted)
{
	struct claim *const end = pr->claims + pr->n_claims;

	for (struct claim *c = pr->claims; c < end; c++)
		if (c->rule->kind == RULE_PATH && c->access == access && !c->trusted && !trusted)
			c->off |= access != ACCESS_DENY &&
				  access >= host_claim(pr, c->object)->access;
	for (struct claim *c = pr->claims; c < end; c++)
		if (c->rule->kind == RULE_PATH && c->access == access && c->trusted == trusted &&
			!c->off)
			stand_path(pr, c);
}

/* Lets a rule with a place of its own stand there. */
static int stand_at(struct proof *pr, struct claim *c)
{
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *where = NULL;
	struct place *place;

	if (c->rule->at)
		walk(&pr->view, c->rule->at, &links, &where);
	for (size_t i = 0; i < links.n; i++) {
		CLEANUP_SEEN struct seen s;

		look(&pr->view, links.v[i], &s);
		if (!link_trusted(pr, s.host ? s.host : links.v[i], false))
			return fault(pr->err, c->rule,
				"%s is reached through %s, a link that others can change",
				c->rule->at, links.v[i]);
	}
	assert(where || c->object); /* a rule without an at names an object */
	place = place_get(&pr->view, where ? where : c->object);
	if (place->at_claim)
		return fault(pr->err, c->rule, "two rules stand at %s", place->path);
	place->at_claim = c;
	c->stands = place;
	return 0;
}

static int make_claims(struct proof *pr)
{
	make_rules(pr);
	pr->claims = xcalloc(pr->n_rules, sizeof(*pr->claims));
	for (; pr->n_claims < pr->n_rules; pr->n_claims++) {
		struct claim *c = &pr->claims[pr->n_claims];

		c->rule = pr->rules[pr->n_claims];
		c->access = c->rule->access;
		if (claim_resolve(pr, c) < 0) {
			pr->n_claims++;
			return -1;
		}
	}
	for (size_t i = 0; i < pr->n_claims; i++)
		pr->claims[i].trusted = links_trusted(pr, &pr->claims[i]);
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].rule->kind == RULE_ROOT)
			pr->view.top->path_claim = &pr->claims[i];
	if (!pr->view.top->path_claim)
		return fault(pr->err, NULL, "the policy says nothing of the root");
	pr->unowned = (struct claim){.rule = pr->view.top->path_claim->rule, .access = ACCESS_DENY};
	return 0;
}

/* Whether a mount gives more than access to a host path. */
static bool mount_shows_more(const struct proof *pr, const char *path, enum access access)
{
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].rule->kind == RULE_MOUNT && !pr->claims[i].error &&
			pr->claims[i].access > access && tail(path, pr->claims[i].object))
			return true;
	return false;
}

/* Whether a rule makes the directory of a host path writable: at its own place, or in a mount. */
static bool below_write(const struct proof *pr, const char *path)
{
	for (const struct place *p = place_get(&pr->view, path)->parent; p; p = p->parent)
		if (p->path_claim && p->path_claim->access == ACCESS_WRITE)
			return true;
	return mount_shows_more(pr, path, ACCESS_READ);
}

/* Whether a rule protects what it names: it denies it, or keeps it from being written. */
static bool protects(const struct proof *pr, const struct claim *c)
{
	return c->rule->kind == RULE_PATH &&
	       (c->access == ACCESS_DENY ||
		       (c->access == ACCESS_READ && below_write(pr, c->object)));
}

/* Lets a claim stand at another name too, with access at most, unless there is no more there, and
 * no mount that would show more. */
static void add_alias(struct proof *pr, const struct claim *c, const char *name, enum access access)
{
	enum access now = host_claim(pr, name)->access;
	struct place *place = place_get(&pr->view, name);
	struct claim *alias;

	if (now <= access && (place->path_claim || !mount_shows_more(pr, name, access)))
		return;
	access = now < access ? now : access;
	alias = xcalloc(1, sizeof(*alias));
	*alias = (struct claim){
		.rule = c->rule, .access = access, .object = xstrdup(name), .trusted = true};
	GROW(pr->aliases, pr->n_aliases, pr->alloc_aliases);
	pr->aliases[pr->n_aliases++] = alias;
	place->path_claim = alias;
}

/* What is enforced may be held by a placeholder above its own name, which has to stay. */
static void stand_placeholder(struct proof *pr, const struct claim *c)
{
	CLEANUP_FREE char *name = xstrdup(c->object);
	struct tree_stat st;

	if (c->rule->missing != MISSING_ENFORCE || c->error != -ENOTDIR)
		return;
	while (tree_lstat(pr->tree, name, &st) < 0)
		cut_last(name);
	if (st.kind == TREE_FILE && st.size == 0 && st.mode == PLACEHOLDER_MODE)
		add_alias(pr, c, name, ACCESS_READ);
}

/* The host's mount table may show a denied or protected object at more than one place. */
static void stand_aliases(struct proof *pr, const struct claim *c)
{
	CLEANUP_STRVEC struct strvec names = {0};
	struct tree_stat st;

	/* The null device masks names of a container's /proc: whatever else is it is no secret. */
	if (tree_lstat(pr->tree, c->object, &st) == 0 && st.kind == TREE_CHAR &&
		st.rdev == makedev(1, 3))
		return;
	other_names(pr, c->object, &names);
	for (size_t i = 0; i < names.n; i++)
		add_alias(pr, c, names.v[i], c->access);
}

/* Whether a link on a rule's way lies where the policy lets the command write: then it is nobody's
 * word that can be relied on. */
static bool is_planted(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < c->links.n; i++) {
		CLEANUP_FREE char *dir = xstrdup(c->links.v[i]);

		cut_last(dir);
		if (may_be_written(pr, dir))
			return true;
	}
	return false;
}

static int place_claims(struct proof *pr)
{
	static const char *const own[] = {"/proc", "/dev", "/tmp"};
	CLEANUP_FREE bool *follows = xcalloc(pr->n_claims, sizeof(*follows));

	/* The sandbox's own /dev is not what such a link could take away. */
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].access == ACCESS_DENY && pr->claims[i].links.n &&
			tail(pr->claims[i].object, "/dev"))
			pr->claims[i].off |= is_planted(pr, &pr->claims[i]);
	/* Direct rules, and those through links that can be trusted, then the others. */
	for (int i = 0; i < 6; i++)
		stand_paths(pr, (enum access)(i % 3), i < 3);
	for (size_t i = 0; i < pr->n_claims; i++)
		if (pr->claims[i].rule->kind == RULE_PATH && protects(pr, &pr->claims[i]))
			stand_placeholder(pr, &pr->claims[i]);
	/* Each by what stood there before, so that no alias keeps another claim from having its own. */
	for (size_t i = 0; i < pr->n_claims; i++) {
		const struct claim *c = &pr->claims[i];

		follows[i] = c->rule->kind == RULE_PATH && !c->off && !c->error &&
			     c->access != ACCESS_WRITE &&
			     place_get(&pr->view, c->object)->path_claim == c;
	}
	for (size_t i = 0; i < pr->n_claims; i++)
		if (follows[i])
			stand_aliases(pr, &pr->claims[i]);
	for (size_t i = 0; i < pr->n_claims; i++) {
		struct claim *c = &pr->claims[i];
		bool at = c->rule->kind != RULE_ROOT && c->rule->kind != RULE_PATH;

		if (c->off)
			continue;
		if ((c->object && check_grant(pr, c) < 0) || (at && stand_at(pr, c) < 0))
			return -1;
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
		struct place *place = place_get(&pr->view, own[i]);

		if (!place->at_claim)
			place->at_claim = &pr->unowned;
	}
	return 0;
}

/* Live sockets that nobody has asked for */

/* Whether a rule speaks of the very socket. A denial holds for its own object, a grant for the
 * socket under any name; one through a link that others can change grants nothing. */
static bool speaks_of(const struct proof *pr, const struct claim *c, const char *socket)
{
	if ((c->rule->kind != RULE_PATH && c->rule->kind != RULE_MOUNT) || c->error)
		return false;
	if (c->access == ACCESS_DENY)
		return strcmp(c->object, socket) == 0;
	return c->trusted && same_host_object(pr, c->object, socket);
}

static int find_sockets(struct proof *pr)
{
	CLEANUP_STRVEC struct strvec names = {0};

	if (tree_sockets(pr->tree, &names) < 0)
		return fault(pr->err, NULL, "it is not known which sockets the host has");
	for (size_t i = 0; i < names.n; i++) {
		CLEANUP_STRVEC struct strvec links = {0};
		CLEANUP_STRVEC struct strvec others = {0};
		CLEANUP_FREE char *object = NULL;
		struct tree_stat st;
		bool asked = false;

		if (walk(&pr->host, names.v[i], &links, &object) != 0 ||
			tree_lstat(pr->tree, object, &st) < 0 || st.kind != TREE_SOCKET ||
			!tree_usable(pr->tree, object))
			continue;
		for (size_t k = 0; k < pr->n_claims; k++)
			asked |= speaks_of(pr, &pr->claims[k], object);
		if (asked)
			continue;
		other_names(pr, object, &others);
		strvec_push(&pr->sockets, object);
		for (size_t k = 0; k < others.n; k++)
			strvec_push(&pr->sockets, others.v[k]);
	}
	strvec_sort(&pr->sockets);
	return 0;
}

static bool is_barred(const struct proof *pr, const char *host)
{
	return strvec_has_sorted(&pr->sockets, host);
}

/* Puts every place that a bind would show such a socket at into the tree. */
static void add_sockets(const struct proof *pr)
{
	for (size_t i = 0; i < pr->plan->n; i++) {
		const struct op *op = &pr->plan->ops[i];

		for (size_t k = 0; is_bind(op) && k < pr->sockets.n; k++) {
			const char *rest = tail(pr->sockets.v[k], op->source);
			CLEANUP_FREE char *place = rest ? graft(op->dest, rest) : NULL;

			if (place)
				place_get(&pr->view, place);
		}
	}
}

/* Puts the places where a mount shows what PATH rules stand at into the tree. */
static void add_images(const struct proof *pr, const struct claim *mount)
{
	for (size_t i = 0; i < pr->n_claims + pr->n_aliases; i++) {
		const struct claim *c =
			i < pr->n_claims ? &pr->claims[i] : pr->aliases[i - pr->n_claims];

		if (c->rule->kind != RULE_PATH || c->off ||
			!strictly_below(c->object, mount->object))
			continue;
		CLEANUP_FREE char *image =
			graft(mount->stands->path, tail(c->object, mount->object));

		place_get(&pr->view, image);
	}
}

/* Puts the other places that need a look into the tree. */
static void add_places(const struct proof *pr)
{
	for (size_t i = 0; i < pr->n_claims; i++) {
		const struct claim *c = &pr->claims[i];
		bool grant = c->rule->kind == RULE_DEVICE ||
			     (c->rule->kind == RULE_PATH && c->rule->access != ACCESS_DENY);

		for (size_t j = 0; grant && j < c->links.n; j++)
			place_get(&pr->view, c->links.v[j])->link = true;
		if (c->rule->kind == RULE_MOUNT && !c->off)
			add_images(pr, c);
		for (size_t j = 0; c->rule->scratch && j < 2; j++) {
			CLEANUP_FREE char *dir = graft(c->stands->path, scratch_dirs[j]);

			place_get(&pr->view, dir);
		}
	}
	for (size_t i = 0; i < sizeof(machine_parts) / sizeof(*machine_parts); i++)
		place_get(&pr->view, machine_parts[i]);
	place_get(&pr->view, "/dev/shm");
	place_get(&pr->view, "/dev/mqueue");
}

/* What the policy wants */

/* What a mount shows at rest below its place: PATH rules strictly below the source follow the
 * object. / */
static void want_mount(
	const struct proof *pr, const struct claim *m, const char *rest, struct want *w)
{
	const struct place *place;
	bool deepest = true;

	w->shows = WANT_HOST;
	w->host = graft(m->object, rest);
	for (place = place_above(&pr->view, w->host);
		place && strictly_below(place->path, m->object); place = place->parent) {
		const struct claim *c = place->path_claim;

		if (!c)
			continue;
		if (deepest && c->access == ACCESS_DENY) {
			*w = (struct want){.rule = c->rule, .host = w->host, .named = true};
			return;
		}
		if (c->access == ACCESS_READ && w->access == ACCESS_WRITE) {
			w->rule = c->rule;
			w->access = ACCESS_READ;
			w->guarded = deepest;
		}
		/* A grant inside what is denied does not follow; it may be shown. */
		w->optional |= c->access == ACCESS_DENY;
		deepest = false;
	}
}

static void want_proc(
	const struct proof *pr, const struct place *place, const char *rest, struct want *w)
{
	bool machine = false;

	for (size_t i = 0; i < sizeof(machine_parts) / sizeof(*machine_parts); i++)
		machine |= tail(place->path, machine_parts[i]) != NULL;
	w->access = ACCESS_READ;
	w->shows = WANT_PROC;
	if (pr->plan->proc == PROC_BIND || machine) {
		w->shows = WANT_HOST;
		w->host = graft("/proc", rest);
	}
}

static void want_dev(const char *rest, struct want *w)
{
	const char *shm = tail(rest, "/shm"), *mqueue = tail(rest, "/mqueue");
	CLEANUP_SEEN struct seen made = {0};

	look_dev(&made, rest);
	w->shows = shm ? WANT_TMPFS : mqueue ? WANT_MQUEUE : made.error ? WANT_NOTHING : WANT_DEV;
	w->access = shm || mqueue ? ACCESS_WRITE : ACCESS_READ;
	if ((shm && *shm) || (mqueue && *mqueue))
		w->shows = WANT_NOTHING;
}

/* The place at or above this one where the deepest rule stands. */
static const struct place *decider(const struct place *place)
{
	while (!place->at_claim && !place->path_claim)
		place = place->parent;
	return place;
}

static bool is_scratch_dir(const struct rule *rule, const char *rest)
{
	return rule->scratch &&
	       (strcmp(rest, scratch_dirs[0]) == 0 || strcmp(rest, scratch_dirs[1]) == 0);
}

/* By the deepest rule; of two at one place the one with a place of its own shows. */
static void want_by_rule(const struct proof *pr, const struct place *place, struct want *w)
{
	const struct place *q = decider(place);
	const struct claim *c = q->at_claim ? q->at_claim : q->path_claim;
	const char *rest = tail(place->path, q->path);

	*w = (struct want){.rule = c->rule, .access = c->access};
	switch (c->rule->kind) {
	case RULE_ROOT:
	case RULE_PATH:
		w->named = c->rule->kind == RULE_PATH;
		w->guarded = w->named && c->access == ACCESS_READ;
		w->shows = c->access == ACCESS_DENY ? WANT_NOTHING : WANT_HOST;
		w->host = c->access == ACCESS_DENY ? NULL : xstrdup(place->path);
		return;
	case RULE_MOUNT:
		want_mount(pr, c, rest, w);
		return;
	case RULE_TMPFS:
		w->shows = !*rest                          ? WANT_TMPFS
			   : is_scratch_dir(c->rule, rest) ? WANT_DIR
							   : WANT_NOTHING;
		return;
	case RULE_FILE:
		w->access = ACCESS_READ;
		w->shows = *rest ? WANT_NOTHING : WANT_DATA;
		return;
	case RULE_DEVICE:
		w->access = ACCESS_WRITE;
		w->shows = *rest ? WANT_NOTHING : WANT_HOST;
		w->host = graft(c->object, rest);
		w->usable = true;
		return;
	case RULE_PROC:
		want_proc(pr, place, rest, w);
		return;
	case RULE_DEV:
		want_dev(rest, w);
		return;
	}
}

static void want(const struct proof *pr, const struct place *place, struct want *w)
{
	struct tree_stat st;
	int error;

	want_by_rule(pr, place, w);
	if (w->shows == WANT_HOST && is_barred(pr, w->host)) {
		w->shows = WANT_NOTHING;
		w->access = ACCESS_DENY;
		w->rule = &pr->no_socket;
		w->named = true;
	} else if (w->shows == WANT_HOST) {
		error = tree_lstat(pr->tree, w->host, &st);
		if (error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG) {
			w->shows = WANT_NOTHING;
			w->named = false;
		}
	} else if (w->shows == WANT_NOTHING && place->link) {
		w->shows = WANT_LINK;
		free(w->host);
		w->host = xstrdup(place->path);
	}
}

static void want_clear(struct want *w)
{
	free(w->host);
}

#define CLEANUP_WANT __attribute__((cleanup(want_clear)))

/* Comparing */

static int place_fault(
	const struct proof *pr, const struct place *place, const struct want *w, const char *what)
{
	return fault(pr->err, w->rule, "%s %s (%s %s)", place->path, what, rule_words(w->rule),
		rule_place(w->rule));
}

static int unjustified(const struct proof *pr, const struct op *op)
{
	return fault(pr->err, op->why, "op %s at %s is not justified by any rule",
		op_kind_name(op->kind), op->dest);
}

/* Whether a note says that the entry could not be shown. What a rule names cannot be left out. */
static bool left_out(const struct proof *pr, const struct place *place)
{
	CLEANUP_FREE char *prefix = xasprintf("left out: %s:", place->path);

	if (place->at_claim || place->path_claim)
		return false;
	for (size_t i = 0; i < pr->plan->notes.n; i++)
		if (strncmp(pr->plan->notes.v[i], prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

static bool same_link(const struct proof *pr, const char *host, const struct seen *s)
{
	CLEANUP_FREE char *text = NULL;

	return tree_readlink(pr->tree, host, &text) == 0 && s->text && strcmp(s->text, text) == 0;
}

/* A name that cannot be renamed away: below a writable bind, each directory down to a protected
 * name is a mount point. */
static int check_pins(const struct proof *pr, const struct place *place, const struct want *w)
{
	for (const struct place *q = place->parent; q; q = q->parent)
		if (!q->op && maker(q)->op->kind == OP_BIND_WRITE)
			return fault(pr->err, w->rule, "%s is not pinned: %s could be replaced",
				q->path, place->path);
	return 0;
}

/* A directory of the host's that was made anew: all its entries become places. */
static int check_opened(const struct proof *pr, struct place *place, const struct want *w)
{
	CLEANUP_STRVEC struct strvec names = {0};
	struct tree_stat st;

	if (w->access != ACCESS_READ)
		return place_fault(
			pr, place, w, "is a directory that may be written and was opened");
	if (tree_lstat(pr->tree, w->host, &st) < 0 || st.kind != TREE_DIR)
		return place_fault(pr, place, w, "is no directory on the host and was opened");
	if (place->parent && (st.mode & 0777) != (place->op->mode & 0777))
		return place_fault(pr, place, w, "was opened with another mode");
	if (tree_list(pr->tree, w->host, &names) < 0)
		return place_fault(pr, place, w, "was opened, and cannot be listed");
	for (size_t i = 0; i < names.n; i++) {
		CLEANUP_FREE char *path = entry(place->path, names.v[i], strlen(names.v[i]));

		place_get(&pr->view, path);
	}
	place->opened = true;
	return 0;
}

/* Whether a place is an entry of an opened directory that no rule names, and a socket or FIFO on
 * the host: whoever sees it could use its other end. */
static bool is_loose_end(const struct proof *pr, const struct place *place, const struct want *w)
{
	struct tree_stat st;

	return place->parent && place->parent->opened && !place->path_claim && !place->at_claim &&
	       tree_lstat(pr->tree, w->host, &st) == 0 &&
	       (st.kind == TREE_SOCKET || st.kind == TREE_FIFO);
}

static int check_host(
	const struct proof *pr, struct place *place, const struct want *w, const struct seen *s)
{
	const struct op *op = s->by->op;

	if (is_loose_end(pr, place, w))
		return s->exact && op->kind == OP_DENY_FILE
			       ? 0
			       : place_fault(pr, place, w,
					 "is a socket or FIFO that no rule names, and not covered");
	if (s->host && strcmp(s->host, w->host) == 0) {
		if (w->usable && op->kind != OP_DEV_BIND)
			return place_fault(pr, place, w, "is not usable as a device");
		if (!w->usable && op->kind == OP_DEV_BIND)
			return unjustified(pr, op);
		if (s->access < w->access)
			return place_fault(pr, place, w, "is not writable");
		if (s->access > w->access)
			return place_fault(pr, place, w, "is writable");
		return w->guarded ? check_pins(pr, place, w) : 0;
	}
	if (s->error || (s->access == ACCESS_DENY && op->kind != OP_DENY_DIR)) {
		if (w->optional || left_out(pr, place))
			return 0;
		return place_fault(pr, place, w, "was left out");
	}
	if (s->exact && op->kind == OP_SYMLINK && same_link(pr, w->host, s))
		return 0;
	if (w->optional && s->exact && op->kind == OP_DENY_DIR)
		return 0;
	if (s->exact && (op->kind == OP_DIR || op->kind == OP_TMPFS)) {
		if (s->access == ACCESS_WRITE)
			return place_fault(pr, place, w, "is not sealed");
		return check_opened(pr, place, w);
	}
	return place_fault(pr, place, w, "shows something else");
}

/* A file system of the rule's own, or the sandbox's /dev/shm. */
static bool is_tmpfs_of(const struct op *op, const struct rule *rule)
{
	if (op->kind == OP_DIR)
		return rule->kind == RULE_TMPFS && rule->access == ACCESS_READ;
	if (op->kind != OP_TMPFS)
		return false;
	if (rule->kind == RULE_DEV)
		return op->mode == 01777;
	if (rule->scratch && (op->mode != 0700 || op->size == 0))
		return false;
	return rule->size == 0 || op->size == rule->size;
}

static int check_own(const struct proof *pr, const struct place *place, const struct want *w,
	const struct seen *s)
{
	const struct op *op = s->by->op;
	bool held = false;

	switch (w->shows) {
	case WANT_TMPFS:
		held = s->exact && is_tmpfs_of(op, w->rule);
		break;
	case WANT_DIR:
		held = s->exact && op->kind == OP_DIR && op->mode == 0700;
		break;
	case WANT_DATA:
		held = s->exact && op->kind == OP_FILE && op->data_len == w->rule->text_len &&
		       (op->data_len == 0 || memcmp(op->data, w->rule->text, op->data_len) == 0);
		break;
	case WANT_PROC:
		held = op->kind == OP_PROC;
		break;
	case WANT_DEV:
		held = op->kind == OP_DEV;
		break;
	case WANT_MQUEUE:
		held = s->exact && op->kind == OP_MQUEUE;
		break;
	case WANT_NOTHING:
	case WANT_HOST:
	case WANT_LINK:
		return 0;
	}
	if (!held)
		return place_fault(
			pr, place, w, s->error ? "is not there" : "is not what the rule says");
	if (s->exact && s->access < w->access)
		return place_fault(pr, place, w, "is not writable");
	if (s->exact && s->access > w->access)
		return place_fault(pr, place, w, "is not sealed");
	return 0;
}

/* The entry that the place would show if the rule that denies it were not there: its kind, or
 * false. A directory that shows the host's lists what is denied in it, too. */
static bool denied_entry(const struct proof *pr, const struct place *place, const struct want *w,
	enum tree_kind *kind)
{
	CLEANUP_WANT struct want above = {0};
	CLEANUP_FREE char *path = NULL;
	struct tree_stat st;

	if (!w->named || !place->parent)
		return false;
	want(pr, place->parent, &above);
	if (above.shows != WANT_HOST || above.optional)
		return false;
	path = graft(above.host, strrchr(place->path, '/'));
	if (tree_lstat(pr->tree, path, &st) < 0)
		return false;
	*kind = st.kind;
	return true;
}

/* Nothing is shown here, or a directory that leads to what is shown below. */
static int check_nothing(const struct proof *pr, const struct place *place, const struct want *w,
	const struct seen *s, bool shown_below)
{
	const struct op *op = s->by->op;
	enum tree_kind kind;

	if (denied_entry(pr, place, w, &kind) &&
		(s->error || (kind == TREE_DIR) != (s->kind == TREE_DIR)))
		return place_fault(pr, place, w, "does not look denied");
	if (s->error || !place->parent)
		return 0;
	if (!s->exact)
		return place_fault(pr, place, w, "can be reached");
	if (s->access == ACCESS_WRITE && w->access != ACCESS_WRITE)
		return is_own_dir(op) ? place_fault(pr, place, w, "is not sealed")
				      : unjustified(pr, op);
	if (w->named && !shown_below &&
		(op->kind == OP_DENY_FILE || (op->kind == OP_DENY_DIR && (op->mode & 0777) == 0) ||
			(op->kind == OP_FILE && op->data_len == 0 && w->rule->mask == MASK_EMPTY)))
		return check_pins(pr, place, w);
	if (!shown_below || !is_own_dir(op) || op->kind == OP_DEV)
		return w->named ? place_fault(pr, place, w, "is not denied") : unjustified(pr, op);
	if (w->access == ACCESS_DENY && (op->mode & 0777) != 0555)
		return place_fault(
			pr, place, w, "leads to what is shown below and has not mode 0555");
	return w->named ? check_pins(pr, place, w) : 0;
}

/* Under a root deny, a link in "/" may be shown as it is on the host. */
static bool is_root_link(const struct proof *pr, const struct place *place, const struct want *w,
	const struct seen *s)
{
	return w->rule->kind == RULE_ROOT && place->parent == pr->view.top && s->exact &&
	       s->by->op->kind == OP_SYMLINK && same_link(pr, place->path, s);
}

/* Compares a place and all below it. *shown: something of what rules show is there. */
static int check_place(const struct proof *pr, struct place *place, bool *shown)
{
	CLEANUP_WANT struct want w;
	CLEANUP_SEEN struct seen s;
	bool below = false, kid_shown;

	want(pr, place, &w);
	look(&pr->view, place->path, &s);
	if (w.shows == WANT_LINK && !(s.exact && same_link(pr, w.host, &s)))
		w.shows = WANT_NOTHING;
	if (w.shows == WANT_HOST && check_host(pr, place, &w, &s) < 0)
		return -1;
	if (w.shows != WANT_HOST && check_own(pr, place, &w, &s) < 0)
		return -1;
	for (size_t i = 0; i < place->n_kids; i++) {
		if (check_place(pr, place->kids[i], &kid_shown) < 0)
			return -1;
		below |= kid_shown;
	}
	*shown = !s.error && s.access != ACCESS_DENY;
	if (w.shows != WANT_NOTHING || is_root_link(pr, place, &w, &s))
		return 0;
	*shown = *shown && below;
	return check_nothing(pr, place, &w, &s, below);
}

/* Rules' own paths, walked inside */

static int check_denied_walk(const struct proof *pr, const struct claim *c)
{
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *end = NULL;
	CLEANUP_WANT struct want w = {0};
	struct place *place;

	if (c->off || walk(&pr->view, c->rule->path, &links, &end) < 0)
		return 0;
	place = place_get(&pr->view, end);
	want(pr, place, &w);
	if (w.shows == WANT_NOTHING || place->at_claim)
		return 0;
	return fault(pr->err, c->rule, "deny %s leads to %s, which is shown", c->rule->path, end);
}

/* Whether the view shows the rule's links: not where a mount has put something else above them. */
static bool shows_links(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < c->links.n; i++) {
		const struct place *q = decider(place_above(&pr->view, c->links.v[i]));

		if (q->at_claim && q->at_claim->rule->kind != RULE_TMPFS)
			return false;
	}
	return true;
}

static int check_granted_walk(const struct proof *pr, const struct claim *c)
{
	CLEANUP_STRVEC struct strvec links = {0};
	CLEANUP_FREE char *end = NULL;
	CLEANUP_WANT struct want w = {0};
	CLEANUP_SEEN struct seen s = {0};
	int error;

	if (!shows_links(pr, c) || (c->off && c->error != INTO_PROC) || c->error < 0)
		return 0;
	error = walk(&pr->view, c->rule->path, &links, &end);
	if (c->error == INTO_PROC) {
		if (links.n && strcmp(links.v[0], c->links.v[0]) == 0)
			return 0;
		return fault(pr->err, c->rule, "the link %s is not there", c->links.v[0]);
	}
	want(pr, place_get(&pr->view, c->object), &w);
	if (w.shows != WANT_HOST || strcmp(w.host, c->object) != 0)
		return 0;
	if (error)
		return fault(pr->err, c->rule, "%s %s leads nowhere", rule_words(c->rule),
			c->rule->path);
	look(&pr->view, end, &s);
	if (strcmp(end, c->object) != 0 || s.access != w.access)
		return fault(pr->err, c->rule, "%s %s leads to %s", rule_words(c->rule),
			c->rule->path, end);
	return 0;
}

static bool is_noted(const struct proof *pr, const struct claim *c)
{
	for (size_t i = 0; i < pr->plan->notes.n; i++)
		if (strstr(pr->plan->notes.v[i], c->rule->path) ||
			strstr(pr->plan->notes.v[i], c->object))
			return true;
	return false;
}

/* A protected name that the host does not have, at one of its places: what is enforced cannot
 * appear there, and of others that the command could make a note has to speak. */
static int check_absence(const struct proof *pr, const struct claim *c, const char *path)
{
	CLEANUP_FREE char *place = xstrdup(path);
	CLEANUP_FREE char *first = NULL; /* the first name that is missing */
	CLEANUP_SEEN struct seen s;
	bool enforced = c->rule->missing == MISSING_ENFORCE;
	int error;

	look(&pr->view, place, &s);
	if (!s.error)
		return 0; /* something else stands there */
	while (s.error && place[1]) {
		seen_clear(&s);
		free(first);
		first = xstrdup(place);
		cut_last(place);
		look(&pr->view, place, &s);
	}
	if (!is_bind(s.by->op) || (s.access != ACCESS_WRITE && (!enforced || s.kind != TREE_DIR)))
		return 0;
	error = s.access == ACCESS_WRITE && s.kind == TREE_DIR
			? tree_access(pr->tree, s.host, W_OK | X_OK)
			: 0;
	if (error == -EACCES || error == -EROFS)
		return enforced ? check_pins(pr, place_get(&pr->view, first),
					  &(struct want){.rule = c->rule})
				: 0; /* nor can the caller make it */
	if (enforced && s.kind == TREE_DIR)
		return fault(pr->err, c->rule, "%s could appear at %s", c->object, path);
	return is_noted(pr, c) ? 0
			       : fault(pr->err, c->rule,
					 "%s can be made inside, and no note says so", path);
}

/* What is missing on the host: a grant has to say that it may be. */
static int check_missing(const struct proof *pr, const struct claim *c)
{
	if (!protects(pr, c))
		return c->rule->optional ? 0
					 : fault(pr->err, c->rule, "%s %s is not there",
						   rule_words(c->rule), c->rule->path);
	if (c->error != -ENOENT && c->error != -ENOTDIR)
		return 0;
	if (check_absence(pr, c, c->object) < 0)
		return -1;
	for (size_t i = 0; i < pr->n_claims; i++) {
		const struct claim *m = &pr->claims[i];

		if (m->rule->kind != RULE_MOUNT || m->off || !strictly_below(c->object, m->object))
			continue;
		CLEANUP_FREE char *image = graft(m->stands->path, tail(c->object, m->object));

		if (check_absence(pr, c, image) < 0)
			return -1;
	}
	return 0;
}

/* What is hidden by a directory's mode stays so: the command may not change that. It could where the
 * directory lies in a writable place and its owner, who may be the caller, has taken rights from
 * themselves. */
static int check_closed(
	const struct proof *pr, const struct rule *rule, const char *dir, mode_t rights)
{
	struct tree_stat st;

	if (tree_lstat(pr->tree, dir, &st) < 0 || (st.mode & rights) == rights ||
		!may_be_written(pr, dir))
		return 0;
	return fault(pr->err, rule, "%s is out of reach, and %s could be opened from inside",
		rule->path, dir);
}

static int check_out_of_reach(const struct proof *pr, const struct claim *c)
{
	CLEANUP_FREE char *dir = xstrdup(c->object);

	cut_to_closed(pr, dir);
	return is_planted(pr, c) ? 0 : check_closed(pr, c->rule, dir, 0100);
}

static bool is_socket(const struct proof *pr, const struct claim *c)
{
	struct tree_stat st;

	return c->error != INTO_PROC && tree_lstat(pr->tree, c->object, &st) == 0 &&
	       st.kind == TREE_SOCKET;
}

static int check_rule(const struct proof *pr, const struct claim *c)
{
	if (!c->object)
		return 0;
	if (c->error == -EACCES && c->access == ACCESS_DENY && check_out_of_reach(pr, c) < 0)
		return -1;
	if (c->error < 0 && check_missing(pr, c) < 0)
		return -1;
	if (c->rule->connect && c->error >= 0 && !is_socket(pr, c))
		return fault(pr->err, c->rule, "connect %s: it is no socket", c->rule->path);
	if (c->rule->kind == RULE_PATH && c->rule->access == ACCESS_DENY)
		return check_denied_walk(pr, c);
	if (c->rule->kind == RULE_PATH || c->rule->kind == RULE_DEVICE)
		return check_granted_walk(pr, c);
	return 0;
}

static int check_cwd(const struct proof *pr)
{
	struct view_object object = {0};
	const char *cwd = pr->plan->cwd;
	bool fine = is_normal(cwd) && view_lookup(pr->plan, pr->tree, cwd, &object) == 0 &&
		    object.kind == TREE_DIR && object.access != ACCESS_DENY;

	view_object_clear(&object);
	return fine ? 0
		    : fault(pr->err, NULL, "the working directory %s is not there", cwd ? cwd : "");
}

static int prove(struct proof *pr)
{
	bool shown;

	if (pr->policy->proc != PROC_NONE && pr->plan->proc != PROC_BIND &&
		pr->plan->proc != PROC_FRESH)
		return fault(pr->err, NULL, "the plan does not say which /proc it has");
	if (pr->policy->proc == PROC_FRESH && pr->plan->proc != PROC_FRESH)
		return fault(pr->err, NULL, "the policy wants a fresh /proc");
	if (replay(&pr->view, pr->plan, pr->err) < 0 || make_claims(pr) < 0 ||
		place_claims(pr) < 0 || find_sockets(pr) < 0)
		return -1;
	add_places(pr);
	add_sockets(pr);
	if (!is_sealed(pr->view.top))
		return fault(pr->err, pr->unowned.rule, "/ is not sealed");
	if (check_place(pr, pr->view.top, &shown) < 0)
		return -1;
	for (size_t i = 0; i < pr->n_claims; i++)
		if (check_rule(pr, &pr->claims[i]) < 0)
			return -1;
	for (size_t i = 0; i < pr->n_unseen; i++)
		if (check_closed(pr, pr->unseen[i].rule, pr->unseen[i].dir, 0500) < 0)
			return -1;
	return check_cwd(pr);
}

int proof_check(const struct plan *plan, const struct policy *policy, const struct tree *tree,
	struct err *err)
{
	struct proof pr = {.plan = plan,
		.policy = policy,
		.tree = tree,
		.no_socket = {.kind = RULE_PATH,
			.access = ACCESS_DENY,
			.path = (char *)"every live socket",
			.origin = {(char *)"default", (char *)"", 0}},
		.err = err};
	int result;

	view_init(&pr.view, tree, false);
	view_init(&pr.host, tree, true);
	result = prove(&pr);
	for (size_t i = 0; i < pr.n_claims; i++) {
		free(pr.claims[i].object);
		strvec_clear(&pr.claims[i].links);
	}
	free(pr.claims);
	for (size_t i = 0; i < pr.n_unseen; i++)
		free(pr.unseen[i].dir);
	free(pr.unseen);
	for (size_t i = 0; i < pr.n_aliases; i++) {
		free(pr.aliases[i]->object);
		free(pr.aliases[i]);
	}
	free(pr.aliases);
	for (size_t i = 0; i < pr.n_rules; i++) {
		free(pr.rules[i]->path);
		free(pr.rules[i]);
	}
	free(pr.rules);
	strvec_clear(&pr.sockets);
	view_clear(&pr.view);
	view_clear(&pr.host);
	return result;
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
	if (replay(&view, plan, &err) < 0)
		return -EINVAL;
	error = walk(&view, path, &links, &end);
	for (size_t i = 0; i < links.n; i++) {
		CLEANUP_SEEN struct seen link;

		look(&view, links.v[i], &link);
		strvec_pushl(&out->links, links.v[i], link.text, NULL);
	}
	if (error) {
		out->missing = end;
		end = NULL;
		return error;
	}
	look(&view, end, &s);
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
