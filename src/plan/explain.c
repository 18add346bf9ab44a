/*
 * The view is asked through view_lookup, the proof's walker. Which op shows a place is the deepest
 * one at or above it. Which rule decides is found by the rules' places: the deepest at or above the
 * path, and below a mount the rules that follow its objects; rules without effect (fates) are left
 * out, so fates come first.
 */
#include "plan/explain.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/view.h"
#include "plan/resolve.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *found_name(enum found found)
{
	static const char *const names[] = {"absent", "deny", "read", "write", "unknown"};

	return names[found];
}

const char *strength_name(enum strength strength)
{
	static const char *const names[] = {"none", "scaffold", "cover", "watched"};

	return names[strength];
}

const char *fate_name(enum fate fate)
{
	static const char *const names[] = {
		"applied", "redundant", "shadowed", "missing", "impossible"};

	return names[fate];
}

/* Places */

static bool is_exact(const struct op *op, const char *path)
{
	return op && strcmp(op->dest, path) == 0;
}

/* The weakest of the mounts that stand at or above a place. */
static enum strength strength_at(const struct explainer *e, const char *path)
{
	enum strength strength = STRENGTH_SCAFFOLD;
	const struct op *over;

	for (const struct op *op = plan_op_at(e->plan, path, false); op; op = over) {
		over = plan_op_at(e->plan, op->dest, true);
		if (over && op_is_bind(over))
			strength = STRENGTH_COVER;
		/* Whoever can make a user namespace inside can take covers off there. */
		if (over && over->kind == OP_BIND_WRITE && e->nested_userns)
			return STRENGTH_WATCHED;
	}
	return strength;
}

static bool in_group(const struct explain_user *user, gid_t gid)
{
	bool in = user->gid == gid;

	for (size_t i = 0; i < user->n_groups; i++)
		in |= user->groups[i] == gid;
	return in;
}

/* Whether an object's mode gives the user all of want (4 read, 2 write, 1 search). */
static bool mode_allows(const struct explainer *e, const struct tree_stat *st, unsigned want)
{
	unsigned shift = st->uid == e->user.uid ? 6 : in_group(&e->user, st->gid) ? 3 : 0;

	return (st->mode >> shift & want) == want;
}

/* What the user can do with an object of the view. */
static enum found usable(
	const struct explainer *e, const struct view_object *o, const struct op *op)
{
	bool read = o->access != ACCESS_DENY, write = o->access == ACCESS_WRITE;
	bool proc = op && op->kind == OP_PROC;
	const char *host = proc ? o->path : o->host;
	struct tree_stat st;

	assert(o->path); /* something is there */
	if (host && tree_lstat(e->tree, host, &st) == 0) {
		/* A read-only mount keeps nobody from a socket's or a FIFO's other end, and some
		 * files of a new /proc can be written to. */
		write |= (proc && st.kind == TREE_FILE) || st.kind == TREE_SOCKET ||
			 st.kind == TREE_FIFO;
		read = read && mode_allows(e, &st, 4);
		write = write && mode_allows(e, &st, st.kind == TREE_DIR ? 3 : 2);
		if ((st.kind == TREE_CHAR || st.kind == TREE_BLOCK) && op &&
			op->kind != OP_DEV_BIND)
			read = write = false; /* nodev */
	}
	return write ? FOUND_WRITE : read ? FOUND_READ : FOUND_DENY;
}

/* The host directory that a directory of the sandbox's own stands for, or NULL: one that was
 * opened. rule is the one that decides there. */
static char *opened_host(
	const struct explainer *e, const char *path, const struct op *op, const struct rule *rule)
{
	struct tree_stat st;
	char *host = NULL;

	if (op && !(is_exact(op, path) && (op->kind == OP_DIR || op->kind == OP_TMPFS)))
		return NULL;
	if (rule->access != ACCESS_READ)
		return NULL;
	if (rule->kind == RULE_ROOT || rule->kind == RULE_PATH)
		host = xstrdup(path);
	for (size_t i = 0; rule->kind == RULE_MOUNT && i < e->plan->rules.n; i++)
		if (e->rules[i].rule == rule && path_within(path, e->rules[i].place))
			host = path_join(e->rules[i].object, path_below(path, e->rules[i].place));
	if (host && (tree_lstat(e->tree, host, &st) < 0 || st.kind != TREE_DIR)) {
		free(host);
		host = NULL;
	}
	return host;
}

/* Whether a path of the view is one of a process's own, or was reached through one. */
static bool is_process_path(const char *path)
{
	const char *name = path_within(path, "/proc") ? path_below(path, "/proc") : "";
	size_t len = strcspn(name, "/");

	return len &&
	       (strspn(name, "0123456789") == len || (len == 4 && memcmp(name, "self", 4) == 0) ||
		       (len == 11 && memcmp(name, "thread-self", 11) == 0));
}

/* Where a walk ended, whether something is there or not. */
static const char *end_of(const struct view_object *o)
{
	return o->path ? o->path : o->missing ? o->missing : "/";
}

/* The first path of a walk that is a process's own, or NULL. */
static const char *process_on_way(const struct explainer *e, const struct view_object *o)
{
	const struct op *op = plan_op_at(e->plan, "/proc", false);

	if (!is_exact(op, "/proc") || !(op->kind == OP_PROC || op_is_bind(op)))
		return NULL;
	for (size_t i = 0; i < o->links.n; i += 2)
		if (is_process_path(o->links.v[i]))
			return o->links.v[i];
	return is_process_path(end_of(o)) ? end_of(o) : NULL;
}

/* The deepest directory or other object above a missing path that is there; o is filled. */
static void above_missing(const struct explainer *e, const char *path, struct view_object *o)
{
	CLEANUP_FREE char *p = path_parent(path);

	while (view_lookup(e->plan, e->tree, p, o) < 0 && p[1]) {
		char *parent = path_parent(p);

		view_object_clear(o);
		free(p);
		p = parent;
	}
}

/* Whether the command could make a name below what is there: 0 or the -errno it gets. */
static int may_make(const struct explainer *e, const struct view_object *above)
{
	const struct op *op = plan_op_at(e->plan, above->path, false);

	if (above->kind != TREE_DIR)
		return -ENOTDIR;
	if (usable(e, above, op) == FOUND_WRITE)
		return 0;
	if ((op && op->kind == OP_PROC) || (above->host && path_within(above->host, "/proc")))
		return -ENOENT; /* procfs looks a name up before it sees that it shall be made */
	if (path_within(above->path, "/dev/pts"))
		return -EACCES;
	return above->access == ACCESS_WRITE ? -EACCES : -EROFS;
}

/* Fates */

static bool has_op(const struct explainer *e, const struct rule *rule, const char *place)
{
	for (size_t i = 0; i < e->plan->n; i++) {
		const struct op *op = &e->plan->ops[i];

		if (op->why == rule && op->kind != OP_SEAL &&
			(!place || strcmp(op->dest, place) == 0))
			return true;
	}
	return false;
}

/* Whether the view is at a rule's place as the rule says. */
static bool is_as_said(
	const struct rule *rule, const char *object, int error, const struct view_object *o)
{
	if (rule->kind == RULE_PATH && rule->access == ACCESS_DENY)
		return error || o->access == ACCESS_DENY;
	return (rule->kind == RULE_PATH || rule->kind == RULE_MOUNT) && !error && o->host &&
	       strcmp(o->host, object) == 0 && o->access == rule->access;
}

/* Where the one ROOT rule is among the rules. */
static size_t root_index(const struct explainer *e)
{
	size_t i = 0;

	while (e->plan->rules.v[i].kind != RULE_ROOT)
		i++;
	return i;
}

/* The rule whose op shows what is at a path. */
static const struct rule *shown_by(const struct explainer *e, const char *path)
{
	const struct op *op = plan_op_at(e->plan, path, false);

	return op ? op->why : &e->plan->rules.v[root_index(e)];
}

bool rule_is_open(const struct rule_fate *fate)
{
	return fate->rule->kind == RULE_PATH && fate->rule->access != ACCESS_WRITE &&
	       fate->strength == STRENGTH_WATCHED && (fate->fate != FATE_MISSING || fate->open);
}

/* Whether the command could replace a link that a protection came through. */
static bool is_replaceable(
	const struct explainer *e, const struct rule *rule, const struct target *t)
{
	for (size_t i = 0; i < t->n_hops && rule->kind == RULE_PATH && rule->access != ACCESS_WRITE;
		i++) {
		CLEANUP_VIEW_OBJECT struct view_object o = {0};
		CLEANUP_FREE char *dir = path_parent(t->hops[i].path);

		if (view_lookup(e->plan, e->tree, dir, &o) == 0 && o.access == ACCESS_WRITE)
			return true;
	}
	return false;
}

/* A rule whose object the host does not have. */
static void judge_missing(const struct explainer *e, struct rule_fate *f)
{
	const struct rule *rule = f->rule;
	CLEANUP_VIEW_OBJECT struct view_object above = {0};
	bool of_host;

	f->fate = FATE_MISSING;
	above_missing(e, f->place, &above);
	of_host = above.host && above.kind == TREE_DIR;
	if (rule->kind != RULE_PATH ||
		(rule->access != ACCESS_DENY && above.access != ACCESS_WRITE &&
			(rule->missing != MISSING_ENFORCE || above.kind == TREE_DIR))) {
		f->strength = STRENGTH_NONE;
		return;
	}
	f->strength = of_host ? STRENGTH_WATCHED : strength_at(e, f->place);
	f->open = of_host && may_make(e, &above) == 0;
}

static void judge_rule(const struct explainer *e, struct rule_fate *f, const struct target *t)
{
	const struct rule *rule = f->rule;
	CLEANUP_VIEW_OBJECT struct view_object o = {0};
	int error;

	f->fate = FATE_APPLIED;
	f->strength = is_replaceable(e, rule, t) ? STRENGTH_WATCHED : strength_at(e, f->place);
	if (t->error == -ENOENT || t->error == -ENOTDIR) {
		judge_missing(e, f);
		return;
	}
	if (rule->socket) {
		if (!has_op(e, rule, NULL))
			f->fate = FATE_REDUNDANT;
		return;
	}
	if (rule->kind == RULE_ROOT || has_op(e, rule, f->place))
		return;
	error = view_lookup(e->plan, e->tree, f->place, &o);
	if (t->into_proc || is_as_said(rule, f->object, error, &o)) {
		f->fate = has_op(e, rule, NULL) ? FATE_APPLIED : FATE_REDUNDANT;
	} else if (t->n_hops && rule->access > o.access) {
		f->fate = FATE_IMPOSSIBLE;
		f->strength = STRENGTH_WATCHED;
	} else {
		f->fate = FATE_SHADOWED;
		f->by = shown_by(e, f->place);
	}
}

static void find_place(const struct explainer *e, struct rule_fate *f, struct target *t)
{
	const struct rule *rule = f->rule;
	CLEANUP_VIEW_OBJECT struct view_object o = {0};

	if (rule->path) {
		resolve(e->tree, rule->path, t);
		f->object = xstrdup(t->path);
	}
	if (rule->at)
		view_lookup(e->plan, e->tree, rule->at, &o);
	f->place = xstrdup(rule->at ? end_of(&o) : f->object);
}

void explainer_init(struct explainer *e, const struct plan *plan, const struct tree *tree,
	const struct explain_user *user, bool nested_userns)
{
	*e = (struct explainer){
		.plan = plan, .tree = tree, .user = *user, .nested_userns = nested_userns};
	e->rules = xcalloc(plan->rules.n, sizeof(*e->rules));
	for (size_t i = 0; i < plan->rules.n; i++) {
		struct target t = {0};

		e->rules[i].rule = &plan->rules.v[i];
		find_place(e, &e->rules[i], &t);
		judge_rule(e, &e->rules[i], &t);
		e->rules[i].watched = e->rules[i].strength == STRENGTH_WATCHED &&
				      (!nested_userns || e->rules[i].fate == FATE_MISSING);
		target_clear(&t);
	}
}

void explainer_clear(struct explainer *e)
{
	for (size_t i = 0; e->rules && i < e->plan->rules.n; i++) {
		free(e->rules[i].place);
		free(e->rules[i].object);
	}
	free(e->rules);
	*e = (struct explainer){0};
}

/* The deciding rule */

static bool stands_by_path(const struct rule *rule)
{
	return rule->kind == RULE_ROOT || rule->kind == RULE_PATH;
}

/* Whether a rule decides rather than another, both at or above one path: the deeper one, then one
 * with a place of its own, then the lower access. */
static bool decides(const struct rule_fate *f, const struct rule_fate *other)
{
	size_t len = strlen(f->place), other_len = strlen(other->place);

	if (len != other_len)
		return len > other_len;
	if (stands_by_path(f->rule) != stands_by_path(other->rule))
		return !stands_by_path(f->rule);
	return f->rule->access < other->rule->access;
}

/* Below a mount: the rule that holds for the object it shows at a path, or the mount's own. */
static const struct rule *decide_in_mount(
	const struct explainer *e, const struct rule_fate *mount, const char *path)
{
	CLEANUP_FREE char *host = path_join(mount->object, path_below(path, mount->place));
	const struct rule_fate *deepest = NULL, *read = NULL;

	for (size_t i = 0; i < e->plan->rules.n; i++) {
		const struct rule_fate *f = &e->rules[i];

		if (f->rule->kind != RULE_PATH || f->fate == FATE_IMPOSSIBLE ||
			!path_within(host, f->object) || strcmp(f->object, mount->object) == 0 ||
			!path_within(f->object, mount->object))
			continue;
		if (!deepest || decides(f, deepest))
			deepest = f;
		if (f->rule->access == ACCESS_READ && (!read || decides(f, read)))
			read = f;
	}
	if (deepest && deepest->rule->access == ACCESS_DENY)
		return deepest->rule;
	return read && mount->rule->access == ACCESS_WRITE ? read->rule : mount->rule;
}

const struct rule *explain_rule(const struct explainer *e, const char *path)
{
	const struct rule_fate *best = &e->rules[root_index(e)];

	for (size_t i = 0; i < e->plan->rules.n; i++) {
		const struct rule_fate *f = &e->rules[i];
		bool off = f->fate == FATE_SHADOWED || f->fate == FATE_IMPOSSIBLE ||
			   (f->fate == FATE_MISSING && f->strength == STRENGTH_NONE);

		if (off || !path_within(path, f->place) || !decides(f, best))
			continue;
		if (!f->rule->socket || has_op(e, f->rule, f->place))
			best = f;
	}
	return best->rule->kind == RULE_MOUNT ? decide_in_mount(e, best, path) : best->rule;
}

/* Reasons */

static void because(struct explanation *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void because(struct explanation *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strvec_take(&x->because, xvasprintf(fmt, ap));
	va_end(ap);
}

/* The host's mode gives less than the plan. */
static void because_of_mode(
	const struct explainer *e, struct explanation *x, const struct view_object *o)
{
	struct tree_stat st;

	if (!x->host || tree_lstat(e->tree, x->host, &st) < 0)
		return;
	if ((st.kind == TREE_CHAR || st.kind == TREE_BLOCK) && x->found == FOUND_DENY) {
		because(x, "It is a device node, and only \"devices\" make one usable.");
		return;
	}
	if (o->access != ACCESS_DENY && !mode_allows(e, &st, 4))
		because(x, "Its mode on the host, %04o of %u:%u, does not let user %u read it.",
			st.mode, st.uid, st.gid, e->user.uid);
	if (o->access == ACCESS_WRITE && x->found != FOUND_WRITE)
		because(x, "Its mode on the host, %04o of %u:%u, does not let user %u write to it.",
			st.mode, st.uid, st.gid, e->user.uid);
	if (o->access == ACCESS_READ && x->found == FOUND_WRITE)
		because(x, "It is %s: a read-only mount does not stop whoever its mode lets in.",
			tree_kind_name(st.kind));
}

/* A socket or FIFO of an opened directory that no rule names. */
static void because_loose_end(const struct explainer *e, struct explanation *x)
{
	CLEANUP_FREE char *parent = path_parent(x->real);
	CLEANUP_FREE char *dir =
		opened_host(e, parent, plan_op_at(e->plan, parent, false), explain_rule(e, parent));
	CLEANUP_FREE char *host = dir ? path_join(dir, path_base(x->real)) : xstrdup(x->real);
	bool moved = strcmp(host, x->real) != 0;
	struct tree_stat st = {.kind = TREE_SOCKET};

	tree_lstat(e->tree, host, &st);
	because(x,
		"It is %s in an opened directory, and no rule names it: opening it gives EACCES."
		" %s %s%s%s shows it.",
		tree_kind_name(st.kind),
		moved                    ? "--bind"
		: st.kind == TREE_SOCKET ? "--connect"
					 : "--read",
		host, moved ? ":" : "", moved ? x->real : "");
}

static void because_found(
	const struct explainer *e, struct explanation *x, const struct view_object *o)
{
	const struct rule *rule = x->rule;
	const char *place = rule->at ? rule->at : rule->path;

	if (rule->socket)
		because(x,
			"It is a socket of the host, in use, and no rule names it: connecting to it"
			" fails. --connect %s lets the command connect.",
			rule->path);
	else if (rule->access != ACCESS_DENY && o->access == ACCESS_DENY &&
		 is_exact(x->op, x->real))
		because_loose_end(e, x);
	else if (o->access == ACCESS_DENY)
		because(x, "The rule denies it: opening it gives EACCES.");
	else if (is_exact(x->op, x->real) && x->op->kind == OP_DENY_DIR)
		because(x, "The rule denies it: it lists only what other rules show below it.");
	else if (rule->access == ACCESS_DENY && is_exact(x->op, x->real) && x->op->kind == OP_FILE)
		because(x, "The rule denies it: it is empty, and writing gives EROFS.");
	else if (rule->connect)
		because(x, "The rule lets the command connect to it.");
	else if (!x->host)
		because(x, "It is the sandbox's own and not the host's%s.",
			o->access == ACCESS_WRITE ? "; the command may change it" : "");
	else if (o->access == ACCESS_WRITE)
		because(x, "The rule makes %s and what is below it writable.", place);
	else
		because(x, "The rule makes %s and what is below it readable: writing gives EROFS.",
			place);
	because_of_mode(e, x, o);
	if (x->opened)
		because(x, "It is an opened directory: it shows the entries that the host had at"
			   " the start; what is made or replaced there later does not appear.");
}

/* -EACCES, and nothing is known of what is there. */
static void because_hidden(const struct explainer *e, struct explanation *x)
{
	if (x->op &&
		(x->op->kind == OP_DENY_DIR || x->op->kind == OP_DIR || x->op->kind == OP_TMPFS))
		because(x,
			"It lies below %s, which cannot be entered: nothing below it is"
			" visible.",
			x->op->dest);
	else
		because(x, "A directory on the way may not be searched by user %u.", e->user.uid);
}

/* What the plan's notes say of an entry that could not be shown. */
static void because_left_out(const struct explainer *e, struct explanation *x)
{
	CLEANUP_FREE char *prefix = xasprintf("left out: %s: ", x->real);

	for (size_t i = 0; i < e->plan->notes.n; i++)
		if (strncmp(e->plan->notes.v[i], prefix, strlen(prefix)) == 0)
			because(x, "It could not be shown, and was left out: %s.",
				e->plan->notes.v[i] + strlen(prefix));
}

static void because_absent(const struct explainer *e, struct explanation *x, int error)
{
	CLEANUP_VIEW_OBJECT struct view_object above = {0};
	CLEANUP_FREE char *opened = NULL;
	struct tree_stat st;
	const struct op *op;

	above_missing(e, x->real, &above);
	op = plan_op_at(e->plan, above.path, false);
	opened = opened_host(e, above.path, op, explain_rule(e, above.path));
	if (error == -ELOOP || error == -ENAMETOOLONG)
		x->create = error;
	else
		x->create =
			strlen(path_base(x->real)) > NAME_MAX ? -ENAMETOOLONG : may_make(e, &above);
	if (x->create == -ENAMETOOLONG)
		because(x, "Its name, or the whole path, is too long for a file.");
	else if (error == -ELOOP)
		because(x, "It leads through more than 40 symbolic links.");
	else if (above.kind != TREE_DIR)
		because(x, "%s is %s, so nothing can be below it.", above.path,
			tree_kind_name(above.kind));
	else if (tree_lstat(e->tree, x->real, &st) == 0)
		because(x, "The host has %s of this path, and no rule shows it.",
			tree_kind_name(st.kind));
	else
		because(x, "Nothing of this name is there.");
	because_left_out(e, x);
	if (x->links.n)
		because(x, "The last link on the way, %s, leads nowhere.",
			x->links.v[x->links.n - 2]);
	if (x->create == 0)
		because(x, "The command could make it: %s is writable.", above.path);
	else
		because(x, "The command cannot make it: %s %s (%s).", above.path,
			x->create == -EROFS ? "is read-only" : "takes no new names from it",
			strerrorname_np(-x->create));
	if (opened)
		because(x,
			"%s is an opened directory: it shows the entries that the host had at"
			" the start.",
			above.path);
	for (size_t i = 0; i < e->plan->rules.n; i++)
		if (e->rules[i].rule == x->rule && e->rules[i].fate == FATE_MISSING) {
			x->strength = e->rules[i].strength;
			x->watched = e->rules[i].watched;
			if (e->rules[i].open)
				because(x, "So the rule is not enforced; a run watches the"
					   " name.");
		}
}

/* A directory bound onto itself, so that it cannot be renamed away. */
static void find_pin(const struct explainer *e, struct explanation *x)
{
	const struct op *op = x->op, *over = op ? plan_op_at(e->plan, op->dest, true) : NULL;
	CLEANUP_FREE char *same = NULL;

	/* What is protected below a pin stands in the pin. */
	if (over && over->kind == OP_BIND_WRITE && op->kind != OP_BIND_WRITE) {
		op = over;
		over = plan_op_at(e->plan, op->dest, true);
	}
	if (!over || over->kind != OP_BIND_WRITE || op->kind != OP_BIND_WRITE)
		return;
	same = path_join(over->source, path_below(op->dest, over->dest));
	if (strcmp(same, op->source) != 0)
		return;
	x->pin = xstrdup(op->dest);
	because(x,
		"It lies in %s, a mount point that keeps a protected name in its place: rename"
		" and link between it and the rest of %s give EXDEV.",
		op->dest, over->dest);
}

void explain_path(const struct explainer *e, const char *path, struct explanation *out)
{
	CLEANUP_VIEW_OBJECT struct view_object o = {0};
	int error = view_lookup(e->plan, e->tree, path, &o);
	const char *process = process_on_way(e, &o);

	*out = (struct explanation){.real = xstrdup(process ? process : end_of(&o))};
	for (size_t i = 0; i < o.links.n && o.links.v[i] != process; i += 2)
		strvec_pushl(&out->links, o.links.v[i], o.links.v[i + 1], NULL);
	out->op = plan_op_at(e->plan, out->real, false);
	/* A socket's rule holds at every name of it, of which it says one. */
	out->rule = is_exact(out->op, out->real) && out->op->why->socket
			    ? out->op->why
			    : explain_rule(e, out->real);
	out->strength = strength_at(e, out->real);
	out->watched = out->strength == STRENGTH_WATCHED && !e->nested_userns;
	if (process) {
		out->found = FOUND_UNKNOWN;
		because(out, "It belongs to a process: what is there depends on what runs inside.");
		return;
	}
	if (error == -EACCES) {
		out->found = FOUND_DENY;
		because_hidden(e, out);
	} else if (error) {
		because_absent(e, out, error);
	} else {
		out->found = usable(e, &o, out->op);
		out->has_kind = true;
		out->kind = o.kind;
		out->host =
			o.host ? xstrdup(o.host) : opened_host(e, out->real, out->op, out->rule);
		out->opened = out->host && !o.host;
		because_found(e, out, &o);
	}
	find_pin(e, out);
	if (out->strength == STRENGTH_WATCHED && e->nested_userns)
		because(out, "Nested user namespaces are allowed, in which covers can be taken"
			     " off.");
}

void explanation_clear(struct explanation *x)
{
	free(x->real);
	free(x->host);
	free(x->pin);
	strvec_clear(&x->links);
	strvec_clear(&x->because);
	*x = (struct explanation){0};
}

/* Mapping */

static int err_map(struct err *err, const char *path, const char *what)
{
	err_set(err, ERR_PLAN, "%s %s", path, what);
	return err_hint(err, "sbx-plan --explain %s says why", path);
}

int explain_to_host(const struct explainer *e, const char *path, char **host, struct err *err)
{
	CLEANUP_VIEW_OBJECT struct view_object o = {0};
	int error = view_lookup(e->plan, e->tree, path, &o);

	if (process_on_way(e, &o))
		return err_map(err, path, "belongs to a process: no host path is known for it");
	if (error == -EACCES || (!error && o.access == ACCESS_DENY))
		return err_map(err, path, "is denied in the sandbox");
	if (error)
		return err_map(err, path, "is not in the sandbox");
	*host = o.host ? xstrdup(o.host)
		       : opened_host(e, o.path, plan_op_at(e->plan, o.path, false),
				 explain_rule(e, o.path));
	return *host ? 0
		     : err_map(err, path, "is the sandbox's own: nothing of the host is behind it");
}

/* Appends a place if it shows the host object. */
static void add_if_shown(
	const struct explainer *e, const char *place, const char *host, struct strvec *paths)
{
	CLEANUP_VIEW_OBJECT struct view_object o = {0};
	CLEANUP_FREE char *shown = NULL;
	struct err ignored;

	if (view_lookup(e->plan, e->tree, place, &o) == 0 && strcmp(o.path, place) == 0 &&
		explain_to_host(e, place, &shown, &ignored) == 0 && shown &&
		strcmp(shown, host) == 0 && !strvec_has(paths, place))
		strvec_push(paths, place);
}

int explain_to_view(
	const struct explainer *e, const char *host, struct strvec *paths, struct err *err)
{
	size_t before = paths->n;
	struct target t;

	resolve(e->tree, host, &t);
	for (size_t i = 0; !t.error && !t.into_proc && i < e->plan->n; i++) {
		const struct op *op = &e->plan->ops[i];

		if (op_is_bind(op) && path_within(t.path, op->source)) {
			CLEANUP_FREE char *place =
				path_join(op->dest, path_below(t.path, op->source));

			add_if_shown(e, place, t.path, paths);
		} else if (op->kind == OP_DIR || op->kind == OP_TMPFS) {
			add_if_shown(e, op->dest, t.path, paths);
		}
	}
	if (!t.error && strcmp(t.path, "/") == 0)
		add_if_shown(e, "/", t.path, paths);
	target_clear(&t);
	if (paths->n > before)
		return 0;
	err_set(err, ERR_PLAN, "the sandbox shows the host's %s nowhere", host);
	return err_hint(err, "a rule can show it: --read %s", host);
}
