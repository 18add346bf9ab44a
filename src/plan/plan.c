/*
 * From places to ops: one walk over the places, depth first and in the order of names, so that
 * whatever covers something comes after what it covers.
 *
 * Invariants, and why they hold:
 *  - Each place is looked at knowing what shows there without it (struct under). An op is emitted
 *    only where
 *    the place differs from that, so a path whose label is inherited costs nothing.
 *  - A mount point is always there when its op runs: in scaffold bwrap makes it; in a bind it is
 *    looked up
 *    on the tree first, and where it is missing the readable directory above has been opened
 *    (needs_open), or, since a writable one is never opened, the rule is an error.
 *  - Scaffold is never left writable: whoever makes a mount of scaffold (a TMPFS that no rule asked
 *    for,
 *    /dev, /) adds it to the seals, which come when everything is in place.
 *  - Sources and destinations hold no link: sources are resolved (places.c), destinations are
 *    places, and
 *    a name of the host that turns out to be a link is only ever re-created as one.
 */
#include "plan/plan.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

/* Own tmpfs directories are never unsized: half of limits.memory, or else of this, for /tmp, and half
 * for /dev/shm. */
#define TMPFS_TOGETHER (1ULL << 30)

/* bwrap reads the whole mount table for each: with n in place the next takes some 40 us + n * 1.55 us
 * (0.8.0, measured). */
#define MANY_MOUNTS 500
#define MOUNT_US 40
#define MOUNT_LINE_US 1.55

struct planner {
	struct plan *plan;
	const struct tree *tree;
	const struct place *root; /* borrowed, of places_make */
	struct strvec seals;
	uint64_t memory; /* limits.memory: 0 = no limit */
	struct err *err;
};

static uint64_t default_size(const struct planner *p)
{
	return (p->memory ? p->memory : TMPFS_TOGETHER) / 2;
}

/* What a process would find at a path if no rule spoke of it. */
struct under {
	bool scaffold;    /* its directory is scaffold: what shall be at the path has to be made */
	const char *host; /* the host object (or missing name) that belongs there; NULL = none, in
			     scaffold only */
	enum access access;
	const struct rule *why;
};

const char *op_kind_name(enum op_kind kind)
{
	static const char *const names[] = {
		[OP_BIND_READ] = "bind-read",
		[OP_BIND_WRITE] = "bind-write",
		[OP_DEV_BIND] = "dev-bind",
		[OP_TMPFS] = "tmpfs",
		[OP_DIR] = "dir",
		[OP_SYMLINK] = "symlink",
		[OP_FILE] = "file",
		[OP_DENY_DIR] = "deny-dir",
		[OP_DENY_FILE] = "deny-file",
		[OP_PROC] = "proc",
		[OP_DEV] = "dev",
		[OP_MQUEUE] = "mqueue",
		[OP_SEAL] = "seal",
	};

	return names[kind];
}

static struct op *add_op(struct planner *p, enum op_kind kind, const char *source, const char *dest,
	const struct rule *why)
{
	struct plan *plan = p->plan;

	GROW(plan->ops, plan->n, plan->alloc);
	plan->ops[plan->n] = (struct op){.kind = kind,
		.source = source ? xstrdup(source) : NULL,
		.dest = xstrdup(dest),
		.why = why};
	return &plan->ops[plan->n++];
}

/* Whether a sealed directory at a place needs a mount of its own: over a bind, and in a tmpfs
 * that the command may write, where a plain directory would be writable too. */
static bool needs_mount(const struct under *under)
{
	return !under->scaffold || under->access == ACCESS_WRITE;
}

/* A directory that is sealed: made in the scaffold above, which will be, or as a tmpfs. */
static void add_scaffold_dir(struct planner *p, const char *dest, unsigned mode,
	const struct under *under, const struct rule *why)
{
	add_op(p, needs_mount(under) ? OP_TMPFS : OP_DIR, NULL, dest, why)->mode = mode;
	if (needs_mount(under))
		strvec_push(&p->seals, dest);
}

static int emit(struct planner *p, const struct place *place, const struct under *under);

/* All kids of a place in one kind of directory; host is the one whose entries belong to them, or
 * NULL. */
static int emit_kids(struct planner *p, const struct place *place, bool scaffold, const char *host,
	enum access access, const struct rule *why)
{
	for (size_t i = 0; i < place->n_kids; i++) {
		const struct place *kid = place->kids[i];
		CLEANUP_FREE char *kid_host = host ? path_join(host, path_base(kid->path)) : NULL;

		if (emit(p, kid, &(struct under){scaffold, kid_host, access, why}) < 0)
			return -1;
	}
	return 0;
}

static int err_mount_point(
	struct planner *p, const struct place *place, const struct rule *why, const char *what)
{
	err_set(p->err, ERR_PLAN, "cannot put anything at %s: %s", place->path, what);
	err_hint(p->err, "choose another place, or create the mount point on the host yourself");
	return err_rule(p->err, why);
}

/* Whether something of the given kind can go to a place: what is there has to be of its type. */
static int check_mount_point(struct planner *p, const struct place *place,
	const struct under *under, bool directory, const struct rule *why)
{
	struct tree_stat st;

	if (!under->host)
		return 0;
	if (tree_lstat(p->tree, under->host, &st) < 0) {
		if (under->scaffold)
			return 0;
		return err_mount_point(p, place, why,
			"it does not exist, and nothing is made in a writable host directory");
	}
	if (st.kind == TREE_LINK)
		return err_mount_point(p, place, why, "it is a symbolic link");
	if ((st.kind == TREE_DIR) == directory)
		return 0;
	return err_mount_point(p, place, why,
		directory ? "type mismatch: a directory on what is no directory"
			  : "type mismatch: what is no directory on a directory");
}

/* Whether a readable directory has to be opened: a kid needs a name that it lacks, or lacks one that
 * must not appear. */
static bool needs_open(const struct planner *p, const struct place *place, const char *host)
{
	for (size_t i = 0; i < place->n_kids; i++) {
		const struct place *kid = place->kids[i];
		CLEANUP_FREE char *path = path_join(host, path_base(kid->path));
		struct tree_stat st;

		if (!kid->visible && !kid->enforced)
			continue;
		if (tree_lstat(p->tree, path, &st) < 0 ||
			(kid->visible && (st.kind == TREE_LINK) != (kid->show == SHOW_LINK)))
			return true;
	}
	return false;
}

/* Covers what is no directory. */
static int add_deny_file(struct planner *p, const char *dest, const struct rule *why)
{
	struct tree_stat st;

	if (tree_lstat(p->tree, "/dev/null", &st) < 0 || st.kind != TREE_CHAR ||
		st.rdev != makedev(1, 3)) {
		err_set(p->err, ERR_PLAN,
			"/dev/null is not the null device, so %s cannot be covered with it", dest);
		err_hint(p->err, "use {\"path\": ..., \"mask\": \"empty\"}");
		return err_rule(p->err, why);
	}
	add_op(p, OP_DENY_FILE, NULL, dest, why);
	return 0;
}

/* Whether it has another end, for which a read-only mount is no matter. */
static bool has_other_end(const struct tree_stat *st)
{
	return st->kind == TREE_SOCKET || st->kind == TREE_FIFO;
}

/* An entry of an opened directory that no rule speaks of. */
static int emit_entry(struct planner *p, const char *dest, const char *host, const struct rule *why)
{
	CLEANUP_FREE char *text = NULL;
	struct tree_stat st;
	int error = tree_lstat(p->tree, host, &st);

	if (!error && has_other_end(&st))
		return add_deny_file(p, dest, why);
	if (!error && st.kind == TREE_LINK)
		error = tree_readlink(p->tree, host, &text);
	if (error)
		strvec_pushf(&p->plan->notes, "left out: %s: %s", dest, strerror(-error));
	else
		add_op(p, text ? OP_SYMLINK : OP_BIND_READ, text ? text : host, dest, why);
	return 0;
}

/* A readable directory, entry by entry. */
static int emit_opened(
	struct planner *p, const struct place *place, const char *host, const struct rule *why)
{
	CLEANUP_STRVEC struct strvec names = {0};
	int error = tree_list(p->tree, host, &names);
	size_t n = 0, k = 0;

	if (error) {
		err_set(p->err, ERR_PLAN, "cannot list %s: %s", host, strerror(-error));
		err_hint(p->err,
			"a rule needs a name below %s that is not there, so the directory has to be"
			" rebuilt entry by entry: create the name on the host, or drop the rule",
			place->path);
		return err_rule(p->err, why);
	}
	while (n < names.n || k < place->n_kids) {
		const struct place *kid = k < place->n_kids ? place->kids[k] : NULL;
		const char *kid_name = kid ? path_base(kid->path) : NULL;
		int order = !kid_name ? -1 : n == names.n ? 1 : strcmp(names.v[n], kid_name);
		const char *name = order > 0 ? kid_name : names.v[n];
		CLEANUP_FREE char *source = path_join(host, name);
		CLEANUP_FREE char *dest = path_join(place->path, name);
		/* The host's own are shown by no rule, whatever rules speak of what is in them. */
		bool never = strcmp(source, "/proc") == 0 || strcmp(source, "/dev") == 0;
		struct under under = {true, order || never ? NULL : source, ACCESS_READ, why};

		if (order < 0 && !never && emit_entry(p, dest, source, why) < 0)
			return -1;
		if (order >= 0 && emit(p, kid, &under) < 0)
			return -1;
		n += order <= 0;
		k += order >= 0;
	}
	return 0;
}

/* A place that shows a host object. */
static int emit_host(struct planner *p, const struct place *place, const struct under *under,
	const char *source, enum access access, const struct rule *why)
{
	bool shows = !under->scaffold && under->host && strcmp(under->host, source) == 0 &&
		     under->access == access;
	struct tree_stat st;
	int error = tree_lstat(p->tree, source, &st);

	if (error) {
		err_set(p->err, ERR_PLAN, "cannot look at %s: %s", source, strerror(-error));
		return err_rule(p->err, why);
	}
	if (st.kind == TREE_LINK)
		return err_mount_point(p, place, why, "a symbolic link is on the way");
	if (!shows && check_mount_point(p, place, under, st.kind == TREE_DIR, why) < 0)
		return -1;
	if (st.kind == TREE_DIR && access == ACCESS_READ && needs_open(p, place, source)) {
		add_scaffold_dir(p, place->path, st.mode, under, why);
		return emit_opened(p, place, source, why);
	}
	/* Below a writable directory everything above what keeps its name is pinned: a mount point
	 * cannot be renamed away. */
	if (!shows || (access == ACCESS_WRITE && place->held_below && st.kind == TREE_DIR))
		add_op(p, access == ACCESS_WRITE ? OP_BIND_WRITE : OP_BIND_READ, source,
			place->path, why);
	return emit_kids(p, place, false, source, access, why);
}

/* A place on the way to others. */
static int emit_way(struct planner *p, const struct place *place, const struct under *under)
{
	struct tree_stat st;
	bool there = under->host && tree_lstat(p->tree, under->host, &st) == 0;

	if (there && (st.kind == TREE_LINK || has_other_end(&st)) && under->scaffold &&
		!place->visible)
		return emit_entry(p, place->path, under->host, under->why);
	if (there)
		return emit_host(p, place, under, under->host, under->access, under->why);
	if (!place->visible && (under->scaffold || under->access != ACCESS_WRITE))
		return 0;
	if (!under->scaffold)
		return emit_kids(p, place, false, under->host, under->access, under->why);
	add_op(p, OP_DIR, NULL, place->path, under->why)->mode = place->made ? 0700
								 : under->access == ACCESS_DENY
									 ? 0555
									 : 0755;
	return emit_kids(p, place, true, NULL, under->access, under->why);
}

static int emit_deny_file(struct planner *p, const struct place *place)
{
	if (place->why->mask != MASK_EMPTY)
		return add_deny_file(p, place->path, place->why);
	add_op(p, OP_FILE, NULL, place->path, place->why)->data = "";
	return 0;
}

static void add_deny_dir(
	struct planner *p, const struct place *place, unsigned mode, const struct under *under)
{
	struct op *op = add_op(p, OP_DENY_DIR, NULL, place->path, place->why);

	op->mode = mode;
	op->scaffold = !needs_mount(under);
	if (!op->scaffold)
		strvec_push(&p->seals, place->path);
}

/* A denied place. */
static int emit_nothing(struct planner *p, const struct place *place, const struct under *under)
{
	/* Under a `deny` root nothing shows by itself, but a named deny is EACCES all the same. */
	bool under_root = under->access == ACCESS_DENY && under->why->kind == RULE_ROOT;
	const char *object = under->host ? under->host : under_root ? place->source : NULL;
	struct tree_stat st;
	int error = object ? tree_lstat(p->tree, object, &st) : -ENOENT;
	bool there = !error;

	if ((error == -ENOENT || error == -ENOTDIR) && !under->scaffold &&
		under->access == ACCESS_WRITE)
		hold_missing(p->plan, p->tree, under->host, place->why);
	if (place->visible) {
		if (!there && !under->scaffold)
			return emit_way(p, place, under);
		if (there && st.kind != TREE_DIR)
			return err_mount_point(
				p, place, place->why, "rules below it, but it is no directory");
		add_deny_dir(p, place, 0555, under);
		strvec_pushf(&p->plan->notes, "%s is denied, but for what deeper rules show in it",
			place->path);
		return emit_kids(p, place, true, NULL, ACCESS_DENY, place->why);
	}
	if (!there)
		return (error != -ENOENT && error != -ENOTDIR) || under->scaffold
			       ? 0
			       : emit_kids(p, place, false, under->host, under->access, under->why);
	if (st.kind == TREE_LINK) {
		if (under->scaffold)
			return 0;
		return err_mount_point(p, place, place->why, "a symbolic link cannot be covered");
	}
	if (st.kind != TREE_DIR)
		return emit_deny_file(p, place);
	add_deny_dir(p, place, 0000, under);
	return 0;
}

static int emit_tmpfs(struct planner *p, const struct place *place, const struct under *under)
{
	const struct rule *rule = place->why;

	if (check_mount_point(p, place, under, true, rule) < 0)
		return -1;
	if (rule->access == ACCESS_READ) {
		add_scaffold_dir(p, place->path, 0755, under, rule);
	} else {
		struct op *op = add_op(p, OP_TMPFS, NULL, place->path, rule);

		op->mode = rule->scratch ? 0700 : 01777;
		op->size = rule->size ? rule->size : default_size(p);
		if (p->memory && op->size > p->memory)
			strvec_pushf(&p->plan->notes,
				"%s has a size of %" PRIu64
				" bytes, more than limits.memory, which is %" PRIu64
				": what it holds counts as memory",
				place->path, op->size, p->memory);
	}
	return emit_kids(p, place, true, NULL, rule->access, rule);
}

static int emit_file(struct planner *p, const struct place *place, const struct under *under)
{
	struct op *op;

	if (check_mount_point(p, place, under, false, place->why) < 0)
		return -1;
	op = add_op(p, OP_FILE, NULL, place->path, place->why);
	op->data = place->why->text;
	op->data_len = place->why->text_len;
	return 0;
}

static int emit_device(struct planner *p, const struct place *place, const struct under *under)
{
	if (check_mount_point(p, place, under, false, place->why) < 0)
		return -1;
	add_op(p, OP_DEV_BIND, place->source, place->path, place->why);
	return 0;
}

/* Whether a rule denies what a place has under a name. */
static bool denies_kid(const struct place *place, const char *name)
{
	for (size_t i = 0; i < place->n_kids; i++)
		if (strcmp(path_base(place->kids[i]->path), name) == 0)
			return place->kids[i]->show == SHOW_NOTHING;
	return false;
}

/* A rule that stands at a place or below it: there is a place for no other reason. */
static const struct rule *rule_at(const struct place *place)
{
	while (!place->why)
		place = place->kids[0];
	return place->why;
}

/* A new /proc has processes of its own at the names of the host's. */
static int refuse_processes(struct planner *p, const struct place *proc)
{
	for (size_t i = 0; i < proc->n_kids; i++) {
		const struct place *kid = proc->kids[i];
		const char *name = path_base(kid->path);

		if (name[strspn(name, "0123456789")])
			continue;
		err_set(p->err, ERR_PLAN, "%s is another process in the sandbox's own /proc",
			kid->path);
		err_hint(p->err, "drop the rule: processes of the host are not shown there");
		return err_rule(p->err, rule_at(kid));
	}
	return 0;
}

/* A new /proc with its machine-wide parts read-only: bwrap leaves them as writable as the
 * caller's uid may write them. Bound, it is read-only as a whole. */
static int emit_proc(struct planner *p, const struct place *place)
{
	static const char *const machine_wide[] = {
		"acpi", "bus", "driver", "fs", "irq", "mtrr", "scsi", "sys", "sysrq-trigger"};
	const struct rule *why = place->why;

	if (p->plan->proc == PROC_BIND) {
		add_op(p, OP_BIND_READ, "/proc", place->path, why);
	} else {
		if (refuse_processes(p, place) < 0)
			return -1;
		add_op(p, OP_PROC, NULL, place->path, why);
		for (size_t i = 0; i < sizeof(machine_wide) / sizeof(*machine_wide); i++) {
			CLEANUP_FREE char *part = path_join("/proc", machine_wide[i]);
			struct tree_stat st;

			if (!denies_kid(place, machine_wide[i]) &&
				tree_lstat(p->tree, part, &st) == 0)
				add_op(p, OP_BIND_READ, part, part, why);
		}
	}
	return emit_kids(p, place, false, "/proc", ACCESS_READ, why);
}

/* Whether bwrap's minimal /dev has a name (bwrap's setup of --dev). */
static bool in_minimal_dev(const char *name)
{
	static const char *const names[] = {
		"null", "zero", "full", "random", "urandom", "tty", "pts", "shm"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool is_link_in_dev(const char *name)
{
	static const char *const links[] = {"core", "fd", "ptmx", "stderr", "stdin", "stdout"};

	for (size_t i = 0; i < sizeof(links) / sizeof(*links); i++)
		if (strcmp(name, links[i]) == 0)
			return true;
	return false;
}

/* One name of the sandbox's /dev. In its file systems nothing is the host's; only pts/ptmx is
 * there from the start. */
static int emit_in_dev(struct planner *p, const struct place *dev, const struct place *kid)
{
	const char *name = path_base(kid->path);
	bool there = in_minimal_dev(name);

	if (is_link_in_dev(name)) {
		err_set(p->err, ERR_PLAN, "%s is a link in the sandbox's own /dev", kid->path);
		err_hint(p->err, "name what it leads to: for /dev/ptmx /dev/pts/ptmx");
		return err_rule(p->err, rule_at(kid));
	}
	if (kid->show == SHOW_WAY && (strcmp(name, "shm") == 0 || strcmp(name, "pts") == 0)) {
		for (size_t i = 0; i < kid->n_kids; i++) {
			const struct place *below = kid->kids[i];
			bool ptmx = strcmp(below->path, "/dev/pts/ptmx") == 0;

			if (emit(p, below,
				    &(struct under){!ptmx, ptmx ? below->path : NULL, ACCESS_READ,
					    dev->why}) < 0)
				return -1;
		}
		return 0;
	}
	return emit(
		p, kid, &(struct under){!there, there ? kid->path : NULL, ACCESS_READ, dev->why});
}

static int emit_dev(struct planner *p, const struct place *place)
{
	add_op(p, OP_DEV, NULL, "/dev", place->why);
	strvec_push(&p->seals, "/dev");
	if (!denies_kid(place, "shm")) {
		struct op *shm = add_op(p, OP_TMPFS, NULL, "/dev/shm", place->why);

		shm->mode = 01777;
		shm->size = default_size(p);
	}
	if (!denies_kid(place, "mqueue"))
		add_op(p, OP_MQUEUE, NULL, "/dev/mqueue", place->why);
	for (size_t i = 0; i < place->n_kids; i++)
		if (emit_in_dev(p, place, place->kids[i]) < 0)
			return -1;
	return 0;
}

static int emit(struct planner *p, const struct place *place, const struct under *under)
{
	switch (place->show) {
	case SHOW_WAY:
		return emit_way(p, place, under);
	case SHOW_HOST:
		return emit_host(p, place, under, place->source, place->access, place->why);
	case SHOW_NOTHING:
		return emit_nothing(p, place, under);
	case SHOW_LINK:
		for (size_t i = 0; i < place->n_kids; i++)
			if (place->kids[i]->visible)
				return err_mount_point(p, place->kids[i], place->why,
					"a symbolic link is on the way");
		if (under->scaffold)
			add_op(p, OP_SYMLINK, place->source, place->path, place->why);
		return 0;
	case SHOW_DEVICE:
		return emit_device(p, place, under);
	case SHOW_TMPFS:
		return emit_tmpfs(p, place, under);
	case SHOW_FILE:
		return emit_file(p, place, under);
	case SHOW_PROC:
		return emit_proc(p, place);
	case SHOW_DEV:
		return emit_dev(p, place);
	}
	return 0;
}

/* The root is bwrap's own tmpfs: opened, or under `deny` filled with what the rules need. */
static int emit_root(struct planner *p, const struct place *root)
{
	if (root->show == SHOW_HOST)
		return emit_opened(p, root, "/", root->why);
	return emit_kids(p, root, true, NULL, ACCESS_DENY, root->why);
}

const struct op *plan_op_at(const struct plan *plan, const char *path, bool above_only)
{
	const struct op *deepest = NULL;

	for (size_t i = 0; i < plan->n; i++) {
		const struct op *op = &plan->ops[i];

		if (op->kind != OP_SEAL && path_within(path, op->dest) &&
			!(above_only && strcmp(path, op->dest) == 0) &&
			(!deepest || strlen(op->dest) >= strlen(deepest->dest)))
			deepest = op;
	}
	return deepest;
}

const struct rule *plan_hiding_rule(const struct plan *plan, const char *path)
{
	const struct rule *rule = NULL;

	for (size_t i = 0; i < plan->n; i++) {
		const struct op *op = &plan->ops[i];

		if ((op->kind == OP_DENY_DIR || op->kind == OP_DENY_FILE) &&
			path_within(path, op->dest))
			rule = op->why;
	}
	return rule;
}

char *plan_dearest_directory(const struct plan *plan, size_t *most)
{
	CLEANUP_STRVEC struct strvec parents = {0};
	size_t dearest = 0, start = 0;

	for (size_t i = 0; i < plan->n; i++)
		strvec_take(&parents, path_parent(plan->ops[i].dest));
	strvec_sort(&parents);
	*most = 0;
	for (size_t i = 0; i < parents.n; i++) {
		if (strcmp(parents.v[i], parents.v[start]) != 0)
			start = i;
		if (i - start + 1 > *most) {
			*most = i - start + 1;
			dearest = start;
		}
	}
	return xstrdup(parents.v[dearest]);
}

static void note_many_mounts(struct plan *plan)
{
	double n = (double)plan->n;
	double seconds = n * (MOUNT_US + n / 2 * MOUNT_LINE_US) / 1e6;
	CLEANUP_FREE char *dir = NULL;
	size_t most;

	if (plan->n < MANY_MOUNTS)
		return;
	dir = plan_dearest_directory(plan, &most);
	strvec_pushf(&plan->notes,
		"%zu mounts, %zu of them in %s: every start takes bwrap some %.1f s, growing"
		" with their square; a whole directory that is denied takes one",
		plan->n, most, dir, seconds);
}

int plan_make(struct plan *plan, const struct policy *policy, const struct tree *tree,
	const struct plan_request *request, struct err *err)
{
	struct planner p = {
		.plan = plan, .tree = tree, .memory = policy->limits.memory, .err = err};
	struct place *root;
	const char *cwd = policy->cwd ? policy->cwd : request->cwd;
	int rc;

	*plan = (struct plan){.proc = request->proc};
	if (!cwd) {
		err_set(err, ERR_PLAN, "the working directory no longer exists");
		return err_hint(err, "change to another one, or say --chdir DIR");
	}
	plan->cwd = xstrdup(cwd);
	if (rules_make(&plan->rules, policy, tree, GLOB_MAX_ENTRIES, &plan->notes, err) < 0)
		return -1;
	root = places_make(plan, tree, err);
	if (!root)
		return -1;
	rc = emit_root(&p, root);
	for (size_t i = 0; rc == 0 && i < p.seals.n; i++)
		add_op(&p, OP_SEAL, NULL, p.seals.v[i], root->why);
	if (rc == 0)
		add_op(&p, OP_SEAL, NULL, "/", root->why);
	if (rc == 0)
		note_many_mounts(plan);
	strvec_clear(&p.seals);
	place_free(root);
	return rc;
}

void plan_clear(struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		free(plan->ops[i].source);
		free(plan->ops[i].dest);
	}
	free(plan->ops);
	rules_clear(&plan->rules);
	free(plan->cwd);
	strvec_clear(&plan->hold);
	strvec_clear(&plan->notes);
	*plan = (struct plan){0};
}
