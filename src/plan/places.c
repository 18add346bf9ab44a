/*
 * From rules to places, in three steps:
 *  1. every host path of a rule is resolved on the tree; live sockets that no rule names get one;
 *  2. labels: the access of host objects, by canonical path. Rules that came through a link are
 *     added
 *     after the others, since they may lower but not raise what the object's own path gives;
 *  3. places: rules with an `at` first (they show at their place whatever else stands there), then
 *     labels
 *     at their own path, then labels again wherever a mount shows their object (deny follows the
 *     object),
 *     then the links on the way of granting rules.
 */
#include "plan/places.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/placeholder.h"
#include "plan/alias.h"
#include "plan/resolve.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The access of a host object and all below it. */
struct label {
	char *path;
	enum access access;
	const struct rule *why;
};

struct maker {
	struct plan *plan;
	struct rules *rules; /* the plan's */
	const struct tree *tree;
	struct err *err;
	struct target *targets; /* one for each rule */
	char **ats; /* one for each rule: where its `at` really stands; NULL without one */
	struct label *labels; /* sorted by path */
	size_t n_labels, alloc_labels;
	struct place *root;
};

int err_rule(struct err *err, const struct rule *rule)
{
	CLEANUP_FREE char *where = origin_text(&rule->origin);

	return err_at(err, "%s", where);
}

static struct label *find_label(const struct maker *m, const char *path)
{
	size_t low = 0, high = m->n_labels;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = strcmp(path, m->labels[mid].path);

		if (order == 0)
			return &m->labels[mid];
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

static bool is_placeholder(const struct tree *tree, const char *path)
{
	struct tree_stat st;

	return tree_lstat(tree, path, &st) == 0 && st.kind == TREE_FILE && st.size == 0 &&
	       st.mode == PLACEHOLDER_MODE;
}

static void add_hold(struct plan *plan, const char *path)
{
	if (!strvec_has(&plan->hold, path))
		strvec_push(&plan->hold, path);
}

void hold_missing(
	struct plan *plan, const struct tree *tree, const char *path, const struct rule *rule)
{
	CLEANUP_FREE char *where = origin_text(&rule->origin);
	CLEANUP_FREE char *name = strcmp(path, rule->path) == 0
					  ? xstrdup(path)
					  : xasprintf("%s (here %s)", rule->path, path);
	CLEANUP_FREE char *first = xstrdup(path);
	CLEANUP_FREE char *dir = path_parent(path);
	struct tree_stat st;
	int error;

	/* What counts is the first name that is missing. */
	while (tree_lstat(tree, dir, &st) < 0) {
		free(first);
		first = dir;
		dir = path_parent(dir);
	}
	error = tree_access(tree, dir, W_OK | X_OK);
	if (st.kind != TREE_DIR)
		strvec_pushf(&plan->notes,
			"not enforced: %s does not exist, and the command could replace %s, which "
			"is %s (%s)",
			name, dir, tree_kind_name(st.kind), where);
	else if (rule->missing == MISSING_ENFORCE && (error == -EACCES || error == -EROFS))
		strvec_pushf(&plan->notes, "%s does not exist, and the caller cannot make it (%s)",
			name, where);
	else if (rule->missing == MISSING_ENFORCE)
		add_hold(plan, first);
	else if (error != -EACCES && error != -EROFS)
		strvec_pushf(&plan->notes,
			"not enforced: %s does not exist and the command could make it: a run %s "
			"(%s)",
			name,
			rule->missing == MISSING_QUARANTINE ? "moves it aside" : "watches the name",
			where);
}

/* The label that decides a path: the deepest at it (unless above_only) or above; never NULL,
 * since the root has one. */
static const struct label *deciding_label(const struct maker *m, const char *path, bool above_only)
{
	CLEANUP_FREE char *p = above_only ? path_parent(path) : xstrdup(path);

	for (;;) {
		const struct label *label = find_label(m, p);
		char *parent;

		if (label)
			return label;
		parent = path_parent(p);
		free(p);
		p = parent;
	}
}

static void add_label(struct maker *m, const char *path, enum access access, const struct rule *why)
{
	size_t i = m->n_labels;

	GROW(m->labels, m->n_labels, m->alloc_labels);
	for (; i > 0 && strcmp(m->labels[i - 1].path, path) > 0; i--)
		m->labels[i] = m->labels[i - 1];
	m->labels[i] = (struct label){xstrdup(path), access, why};
	m->n_labels++;
}

/* The names of a host directory: its own, and those that the host's mount table gives it. */
static void dir_names(const struct tree *tree, const char *dir, struct strvec *names)
{
	CLEANUP_STRVEC struct strvec aliases = {0};

	strvec_push(names, dir);
	find_aliases(tree, dir, &aliases);
	for (size_t i = 0; i < aliases.n; i++) /* without those of a part of it */
		if (same_object(tree, dir, aliases.v[i]))
			strvec_push(names, aliases.v[i]);
}

/* A rule, other than self (NULL: any), that lets the command write a host directory, even if another
 * takes that back; NULL = none. */
static const struct rule *writer(const struct maker *m, const char *dir, const struct rule *self)
{
	CLEANUP_STRVEC struct strvec names = {0};

	dir_names(m->tree, dir, &names);
	for (size_t i = 0; i < m->rules->n; i++) {
		const struct rule *rule = &m->rules->v[i];

		/* cppcheck-suppress nullPointerRedundantCheck ; self may be NULL, rule never is */
		if ((rule->kind != RULE_PATH && rule->kind != RULE_MOUNT) ||
			rule->access != ACCESS_WRITE || rule == self)
			continue;
		for (size_t k = 0; k < names.n; k++)
			if (path_within(names.v[k], m->targets[i].path))
				return rule;
	}
	return NULL;
}

/* The same of the directory of a link on a rule's way. */
static const struct rule *hop_writer(
	const struct maker *m, const struct hop *hop, const struct rule *self)
{
	CLEANUP_FREE char *dir = path_parent(hop->path);

	return writer(m, dir, self);
}

/* The first link on the way that may raise nothing: others than root (and the caller, where
 * with_caller says so), or the command, can change it. NULL = none. */
static const struct hop *weak_hop(const struct maker *m, const struct target *t, bool with_caller)
{
	for (size_t i = 0; i < t->n_hops; i++) {
		CLEANUP_FREE char *dir = hop_changed_in(m->tree, &t->hops[i], with_caller);

		if (dir || hop_writer(m, &t->hops[i], NULL))
			return &t->hops[i];
	}
	return NULL;
}

/* Whether the links on a rule's way may raise access. */
static bool may_raise(const struct maker *m, const struct rule *rule, const struct target *t)
{
	return !weak_hop(m, t, rule->follow);
}

/* done: what the caller may not do with the directory. */
static int err_out_of_reach(
	const struct maker *m, const struct rule *rule, const char *dir, const char *done)
{
	err_set(m->err, ERR_PLAN, "%s is out of reach: the directory %s may not be %s", rule->path,
		dir, done);
	err_hint(m->err,
		"inside, the rights of the command's user decide, root's too: run it as one who may"
		" pass %s (--user, identity.user), or change its mode",
		dir);
	return err_rule(m->err, rule);
}

static int err_missing(const struct maker *m, const struct rule *rule, const struct target *t)
{
	err_set(m->err, ERR_PLAN, "%s does not exist%s%s", rule->path,
		t->n_hops ? ": it leads to " : "", t->n_hops ? t->path : "");
	err_hint(m->err, strcmp(rule->origin.file, "command line") == 0
				 ? "create it, or leave the option out"
				 : "create it, drop the rule, or mark it {\"path\": ..., "
				   "\"optional\": true}");
	return err_rule(m->err, rule);
}

static int err_loop(const struct maker *m, const struct rule *rule, const struct target *t)
{
	err_set(m->err, ERR_PLAN,
		t->into_proc ? "%s names a process: links of /proc mean whoever asks"
			     : "%s leads through more than 40 links",
		rule->path);
	err_hint(m->err, "name another path");
	return err_rule(m->err, rule);
}

/* Whether a protection leads through a link that the command of an earlier run could have made.
 * It then protects what it can and raises nothing, and nobody is kept from running by it. */
static bool is_planted(const struct maker *m, const struct rule *rule, const struct target *t)
{
	if (rule->kind != RULE_PATH || rule->access == ACCESS_WRITE || rule->connect)
		return false;
	for (size_t i = 0; i < t->n_hops; i++)
		if (hop_writer(m, &t->hops[i], rule))
			return true;
	return false;
}

static void note_planted(const struct maker *m, const struct rule *rule)
{
	CLEANUP_FREE char *where = origin_text(&rule->origin);

	strvec_pushf(&m->plan->notes,
		"not enforced: on the way of %s is a link that the command could replace: a run "
		"watches it (%s)",
		rule->path, where);
}

/* Whether a mount shows a host path with more than access. */
static bool mount_gives_more(const struct maker *m, const char *path, enum access access)
{
	for (size_t i = 0; i < m->rules->n; i++)
		if (m->rules->v[i].kind == RULE_MOUNT && m->rules->v[i].access > access &&
			!m->targets[i].error && path_within(path, m->targets[i].path))
			return true;
	return false;
}

/* Whether a rule protects: it denies, or makes read-only what stands in a writable place. */
static bool protects(const struct maker *m, const struct rule *rule, const struct target *t)
{
	return rule->kind == RULE_PATH &&
	       (rule->access == ACCESS_DENY ||
		       (rule->access == ACCESS_READ &&
			       (deciding_label(m, t->path, true)->access == ACCESS_WRITE ||
				       mount_gives_more(m, t->path, ACCESS_READ))));
}

/* Whether the command could give itself rights to a directory that the caller has not: it lies in a
 * writable place, and its owner, who may be the caller, lacks them. An earlier run may have taken
 * them away. */
static bool can_open(const struct maker *m, const char *dir, mode_t rights)
{
	struct tree_stat st;

	return writer(m, dir, NULL) && tree_lstat(m->tree, dir, &st) == 0 &&
	       (st.mode & rights) != rights;
}

/* What a pattern protects or denies may be hidden from it only where it is from the command. */
static int check_unseen(const struct maker *m)
{
	for (size_t i = 0; i < m->rules->n_unseen; i++) {
		const struct unseen *unseen = &m->rules->unseen[i];

		if (can_open(m, unseen->dir, 0500))
			return err_out_of_reach(m, unseen->rule, unseen->dir, "looked into");
	}
	return 0;
}

/* What becomes of a rule whose host path is not there: 0 = it is done with, 1 = it still counts. */
static int missing_rule(const struct maker *m, const struct rule *rule, const struct target *t)
{
	CLEANUP_FREE char *dir = path_parent(t->blocked);

	if (t->error != -ENOENT && t->error != -ENOTDIR && is_planted(m, rule, t))
		return 0;
	/* Nor can anyone inside reach it, unless they open the way first. */
	if (t->error == -EACCES && rule->kind == RULE_PATH && rule->access == ACCESS_DENY &&
		!can_open(m, dir, 0100))
		return 0;
	if (t->error == -ELOOP)
		return err_loop(m, rule, t);
	if ((t->error == -ENOENT || t->error == -ENOTDIR) && t->protects) {
		/* Where a denied name could be made it is held: plan.c knows all its places. */
		if (rule->access == ACCESS_READ && rule->missing != MISSING_ENFORCE)
			hold_missing(m->plan, m->tree, t->path, rule);
		return rule->access == ACCESS_DENY;
	}
	if (rule->optional && (t->error == -ENOENT || t->error == -ENOTDIR)) {
		/* There would be neither it nor the sandbox's own /tmp, but the host's. */
		if (rule->at && strcmp(rule->at, "/tmp") == 0) {
			err_set(m->err, ERR_PLAN,
				"%s, which is to stand at /tmp in place of the sandbox's own, does "
				"not exist",
				rule->path);
			err_hint(m->err, "create it, or drop the rule: the sandbox then has a /tmp "
					 "of its own");
			return err_rule(m->err, rule);
		}
		strvec_pushf(&m->plan->notes, "skipped: optional %s does not exist", rule->path);
		return 0;
	}
	return t->error == -EACCES ? err_out_of_reach(m, rule, dir, "searched")
				   : err_missing(m, rule, t);
}

static int resolve_rule(struct maker *m, const struct rule *rule, struct target *t)
{
	resolve(m->tree, rule->path, t);
	if (rule->spelled) {
		struct target as_spelled;
		bool same;

		resolve(m->tree, rule->spelled, &as_spelled);
		same = strcmp(as_spelled.path, t->path) == 0;
		target_clear(&as_spelled);
		if (!same) {
			err_set(m->err, ERR_PLAN,
				"%s has \"..\" after a symbolic link, which leads elsewhere"
				" than the text says",
				rule->spelled);
			err_hint(m->err, "write the path without \"..\"");
			return err_rule(m->err, rule);
		}
	}
	return 0;
}

/* Why a link may raise nothing: who can change it, and in which directory. */
static char *weakness(const struct maker *m, const struct hop *hop, bool with_caller)
{
	CLEANUP_FREE char *dir = hop_changed_in(m->tree, hop, with_caller);
	const struct rule *writer = dir ? NULL : hop_writer(m, hop, NULL);
	struct tree_stat st = {0};

	if (writer) {
		CLEANUP_FREE char *where = origin_text(&writer->origin);

		dir = path_parent(hop->path);
		return xasprintf("%s is made writable by %s", dir, where);
	}
	tree_lstat(m->tree, dir, &st);
	if (st.uid != 0 && !(with_caller && st.uid == m->tree->uid))
		return xasprintf("%s is owned by uid %u", dir, st.uid);
	return xasprintf(
		"%s is writable by %s", dir, st.mode & S_IWOTH ? "others" : "others of its group");
}

/* Blames a link that would need no more than "follow" only where there is no worse one. */
static int err_raise(const struct maker *m, const struct rule *rule, const struct target *t)
{
	const struct hop *worst = weak_hop(m, t, true);
	const struct hop *hop = worst ? worst : weak_hop(m, t, false);
	CLEANUP_FREE char *why = weakness(m, hop, worst != NULL);

	err_set(m->err, ERR_PLAN,
		"%s leads through the symbolic link %s to %s, which no rule makes %s; the link"
		" cannot: the directory %s",
		rule->path, hop->path, t->path,
		rule->access == ACCESS_WRITE ? "writable" : "readable", why);
	if (worst || rule->kind == RULE_DEVICE || rule->connect)
		err_hint(m->err,
			"a link that others, or the command, could change grants nothing: name %s"
			" itself",
			t->path);
	else if (strcmp(rule->origin.file, "command line") == 0)
		err_hint(m->err,
			"name %s itself; in a policy, a rule with \"follow\": true may pass the"
			" caller's own links",
			t->path);
	else
		err_hint(m->err,
			"name %s itself; or, where all links in that directory are your own, add"
			" \"follow\": true to the rule",
			t->path);
	return err_rule(m->err, rule);
}

/* Whether a path without links lies at or below what dir leads to. */
static bool leads_within(const struct maker *m, const char *path, const char *dir)
{
	struct target t;
	bool within;

	resolve(m->tree, dir, &t);
	within = path_within(path, t.path);
	target_clear(&t);
	return within;
}

/* Whether a rule would give more of an object than a final rule for it, or a place above it, does.
 * A socket inside is covered, so that naming it gives more whatever the access. */
static bool loosens(const struct maker *m, const struct rule *rule, const struct target *t,
	const struct rule *final)
{
	bool opens = !t->error && t->st.kind == TREE_SOCKET && rule->access != ACCESS_DENY;
	struct target held;
	bool within, same;

	if (rule->access <= final->access && !opens)
		return false;
	resolve(m->tree, final->path, &held);
	within = path_within(t->path, held.path);
	same = strcmp(t->path, held.path) == 0;
	target_clear(&held);
	return within && (rule->access > final->access || !same);
}

/* Final rules hold for objects: no link of a later layer leads around them. */
static int check_final(const struct maker *m, const struct rule *rule, const struct target *t)
{
	for (size_t i = 0; i < m->rules->n_all; i++) {
		const struct rule *final = &m->rules->v[i];
		CLEANUP_FREE char *where = NULL;
		bool granted = false;

		if (!final->final || final->origin.layer >= rule->origin.layer ||
			!loosens(m, rule, t, final))
			continue;
		for (size_t k = 0; k < final->grants.n; k++)
			granted |= leads_within(m, t->path, final->grants.v[k]);
		if (granted)
			continue;
		where = origin_text(&final->origin);
		err_set(m->err, ERR_PLAN, "%s leads to %s, which the final rule %s (%s) closes",
			rule->path, t->path, final->path, where);
		err_hint(m->err,
			"take the rule out: a final rule cannot be opened by a later layer");
		return err_rule(m->err, rule);
	}
	return 0;
}

/* Whether a rule keeps a host object from being written. */
static bool is_kept(const struct maker *m, const char *path)
{
	for (size_t i = 0; i < m->rules->n; i++)
		if (m->rules->v[i].kind == RULE_PATH && m->rules->v[i].access != ACCESS_WRITE &&
			strcmp(m->targets[i].path, path) == 0)
			return true;
	return false;
}

/* By name sbx's own files are kept from being written (policy/merge.c, plan/glob.c): here where a
 * link leads to them. */
static int check_own(const struct maker *m, const struct rule *rule, const struct target *t)
{
	for (size_t i = 0; i < m->rules->own->n; i++) {
		const char *own = m->rules->own->v[i];
		struct target kept;
		bool inside, open;

		resolve(m->tree, own, &kept);
		inside = path_within(t->path, kept.path);
		open = inside || (path_within(kept.path, t->path) && !is_kept(m, kept.path));
		target_clear(&kept);
		if (!open)
			continue;
		err_set(m->err, ERR_PLAN,
			"%s leads to %s, and %s would be writable: sbx keeps its own policies and"
			" state there",
			rule->path, t->path, own);
		if (inside)
			err_hint(m->err, "give it \"read\", or leave it out");
		else
			err_hint(m->err, "add \"read\": [\"%s\"], or name a directory below %s",
				own, t->path);
		return err_rule(m->err, rule);
	}
	return 0;
}

/* What a process inside may do with a host object at its own path, as far as labels are known:
 * nothing where a place of another kind hides it. */
static enum access access_of(const struct maker *m, const char *path)
{
	const struct label *label = deciding_label(m, path, false);

	for (size_t i = 0; i < m->rules->n; i++)
		if (m->ats[i] && path_within(path, m->ats[i]) &&
			path_within(m->ats[i], label->path))
			return ACCESS_DENY;
	return label->access;
}

static int err_taken(
	const struct maker *m, const struct rule *rule, const char *path, const struct rule *other)
{
	CLEANUP_FREE char *where = origin_text(&other->origin);

	err_set(m->err, ERR_PLAN, "%s leads to %s, for which another rule says something else (%s)",
		rule->path, path, where);
	err_hint(m->err, "drop the rule, or name the object that is meant");
	return err_rule(m->err, rule);
}

static int err_into_proc(const struct maker *m, const struct rule *rule, const struct target *t)
{
	err_set(m->err, ERR_PLAN,
		"%s leads into /proc, whose links mean whoever asks: it cannot be held at %s",
		rule->path, access_name(rule->access));
	err_hint(m->err, "name what is meant by its path in /proc; %s is a link to %s", t->path,
		t->hops[t->n_hops - 1].text);
	return err_rule(m->err, rule);
}

/* Whether a rule that came through links gets a label: 1, 0, or -1 with an error. */
static int judge_linked(const struct maker *m, const struct rule *rule, const struct target *t)
{
	enum access base = access_of(m, t->path);
	bool planted = is_planted(m, rule, t);
	bool trusted = may_raise(m, rule, t);

	/* A link that leads to a place of the sandbox's own, or that a mount replaces, denies
	 * nothing. */
	if (planted && path_within(t->path, "/dev"))
		return 0;
	for (size_t i = 0; rule->access == ACCESS_DENY && !planted && i < m->rules->n; i++)
		if (m->ats[i] &&
			(strcmp(m->ats[i], t->path) == 0 || path_within(rule->path, m->ats[i])))
			return err_taken(m, rule, t->path, &m->rules->v[i]);
	if (rule->access < base || rule->access == ACCESS_DENY)
		return 1;
	if (rule->access == base)
		return trusted;
	if (planted && !rule->follow)
		return 0;
	if (strcmp(t->path, "/") == 0) /* of which ROOT alone speaks */
		return err_taken(m, rule, t->path, deciding_label(m, t->path, false)->why);
	for (size_t i = 0; i < m->rules->n; i++) {
		const struct rule *other = &m->rules->v[i];

		if (other->kind == RULE_PATH && !other->socket && other->access < rule->access &&
			!m->targets[i].error && strcmp(m->targets[i].path, t->path) == 0)
			return err_taken(m, rule, t->path, other);
	}
	return trusted ? 1 : err_raise(m, rule, t);
}

/* Labels of rules of one access that came through links. All are judged by the labels before any
 * is added, so that their order does not matter; of several for one object the lowest access
 * holds. */
static int label_linked(struct maker *m, enum access access)
{
	size_t n = m->rules->n;
	CLEANUP_FREE int *verdicts = xcalloc(n, sizeof(*verdicts));

	for (size_t i = 0; i < n; i++) {
		const struct rule *rule = &m->rules->v[i];
		const struct target *t = &m->targets[i];

		if (rule->kind != RULE_PATH || rule->access != access || !t->n_hops)
			continue;
		if (!t->into_proc && (!t->error || (access == ACCESS_DENY && t->error != -ELOOP)))
			verdicts[i] = judge_linked(m, rule, t);
		if (t->into_proc && t->error != -ELOOP && access != ACCESS_READ &&
			!is_planted(m, rule, t))
			verdicts[i] = err_into_proc(m, rule, t);
		if (verdicts[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < n; i++) {
		const struct rule *rule = &m->rules->v[i];
		struct label *label = verdicts[i] ? find_label(m, m->targets[i].path) : NULL;

		if (verdicts[i] && !label)
			add_label(m, m->targets[i].path, rule->access, rule);
		else if (label && (label->access > rule->access ||
					  (label->access == rule->access &&
						  rule->missing == MISSING_ENFORCE))) {
			label->access = rule->access;
			label->why = rule;
		}
	}
	return 0;
}

static int check_kind(const struct maker *m, const struct rule *rule, const struct target *t)
{
	bool device = t->st.kind == TREE_CHAR || t->st.kind == TREE_BLOCK;

	if (rule->kind == RULE_DEVICE) {
		if (!may_raise(m, rule, t))
			return err_raise(m, rule, t);
		if (device)
			return 0;
		err_set(m->err, ERR_PLAN, "%s is %s, no device node", rule->path,
			tree_kind_name(t->st.kind));
		err_hint(m->err, t->st.kind == TREE_DIR
					 ? "name the devices in it, one by one"
					 : "use read or write for what is no device");
		return err_rule(m->err, rule);
	}
	if (rule->connect && (t->into_proc || t->st.kind != TREE_SOCKET)) {
		err_set(m->err, ERR_PLAN, "%s is %s: only a socket can be connected to", rule->path,
			tree_kind_name(t->into_proc ? TREE_LINK : t->st.kind));
		err_hint(m->err, "name the socket itself; --read and --write are for what is none");
		return err_rule(m->err, rule);
	}
	if (rule->access == ACCESS_DENY || (!device && !path_within(t->path, "/dev")))
		return 0;
	err_set(m->err, ERR_PLAN, "%s is %s%s: read and write rules do not show devices",
		rule->path, tree_kind_name(t->st.kind), device ? "" : " below /dev");
	err_hint(m->err, "use \"devices\" (--device %s)", rule->path);
	return err_rule(m->err, rule);
}

static int check_mount_source(
	const struct maker *m, const struct rule *rule, const struct target *t)
{
	enum access base = access_of(m, t->path);

	/* Policies do not name /proc themselves (policy/layer.c); a link may still lead there. */
	if (strcmp(t->path, "/") == 0 || t->into_proc) {
		err_set(m->err, ERR_PLAN, "a mount from %s would show the host's own /proc or /dev",
			rule->path);
		err_hint(m->err, "mount the directories below / that are needed, one by one");
		return err_rule(m->err, rule);
	}
	if (rule->access > base && !may_raise(m, rule, t))
		return err_raise(m, rule, t);
	return 0;
}

static struct place *new_place(const char *path)
{
	struct place *place = xcalloc(1, sizeof(*place));

	place->path = xstrdup(path);
	return place;
}

void place_free(struct place *place)
{
	if (!place)
		return;
	for (size_t i = 0; i < place->n_kids; i++)
		place_free(place->kids[i]);
	free(place->kids);
	free(place->path);
	free(place->source);
	free(place);
}

/* The kid of a place by name (len bytes), made when missing. */
static struct place *kid(struct place *place, const char *name, size_t len)
{
	CLEANUP_FREE char *key = xstrndup(name, len);
	CLEANUP_FREE char *path = path_join(place->path, key);
	size_t low = 0, high = place->n_kids;

	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = strcmp(key, path_base(place->kids[mid]->path));

		if (order == 0)
			return place->kids[mid];
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	GROW(place->kids, place->n_kids, place->alloc_kids);
	memmove(place->kids + low + 1, place->kids + low,
		(place->n_kids - low) * sizeof(*place->kids));
	place->n_kids++;
	return place->kids[low] = new_place(path);
}

/* The place at a path, made with those above it when missing. */
static struct place *place_at(struct place *root, const char *path)
{
	struct place *place = root;

	for (path += strspn(path, "/"); *path; path += strspn(path, "/")) {
		size_t len = strcspn(path, "/");

		place = kid(place, path, len);
		path += len;
	}
	return place;
}

/* Says what a place shows unless something said it before. */
static bool set_place(struct place *place, enum show show, enum access access, const char *source,
	const struct rule *why)
{
	if (place->why)
		return false;
	place->show = show;
	place->access = access;
	place->source = source ? xstrdup(source) : NULL;
	place->why = why;
	return true;
}

/* Whether a mount shows something else than the host's own at a path. */
static bool in_mount(const struct maker *m, const char *path)
{
	for (size_t i = 0; i < m->rules->n; i++)
		if (m->rules->v[i].kind == RULE_MOUNT && !m->targets[i].unused &&
			path_within(path, m->ats[i]))
			return true;
	return false;
}

/* Shows the links on a rule's way: under a `deny` root, what makes /bin lead to /usr/bin. Those in /dev
 * are the sandbox's own. */
static void show_hops(struct maker *m, const struct target *t, const struct rule *why)
{
	for (size_t i = 0; i < t->n_hops; i++)
		if (!in_mount(m, t->hops[i].path) && !path_within(t->hops[i].path, "/dev"))
			set_place(place_at(m->root, t->hops[i].path), SHOW_LINK, ACCESS_READ,
				t->hops[i].text, why);
}

/* The rule with an `at`, other than self, that stands deepest above a sandbox path. */
static const struct rule *rule_above(const struct maker *m, const struct rule *self)
{
	const struct rule *deepest = NULL;

	for (size_t i = 0; i < m->rules->n; i++) {
		const struct rule *rule = &m->rules->v[i];

		if (rule->at && rule != self && strcmp(rule->at, self->at) != 0 &&
			path_within(self->at, rule->at) &&
			(!deepest || strlen(rule->at) > strlen(deepest->at)))
			deepest = rule;
	}
	return deepest;
}

/* Whether the view has a link of the host: a label shows its directory and nothing else stands
 * there, or a granting rule leads through it. */
static bool shows_link(const struct maker *m, const char *path, const struct rule *self)
{
	bool shows = deciding_label(m, path, true)->access != ACCESS_DENY;

	for (size_t i = 0; i < m->rules->n; i++) {
		const struct rule *rule = &m->rules->v[i];
		const struct target *t = &m->targets[i];

		shows = shows && !(rule->at && rule != self && path_within(path, rule->at));

		for (size_t k = 0; k < t->n_hops; k++)
			if (rule->kind == RULE_PATH && rule->access != ACCESS_DENY && !t->error &&
				strcmp(t->hops[k].path, path) == 0)
				return true;
	}
	return shows;
}

/* Where an `at` really stands, or NULL with an error: links of the host on its way are followed
 * as a process inside would follow them, where the view has them. */
static char *real_at(struct maker *m, const struct rule *rule)
{
	const struct rule *above = rule_above(m, rule);
	struct target t = {0};
	bool shown = true;
	char *path;

	if (above) {
		CLEANUP_FREE char *dir = real_at(m, above);

		return dir ? path_join(dir, path_below(rule->at, above->at)) : NULL;
	}
	resolve(m->tree, rule->at, &t);
	if (t.n_hops && !shows_link(m, t.hops[0].path, rule)) {
		target_clear(&t);
		return xstrdup(rule->at);
	}
	for (size_t i = 1; i < t.n_hops; i++)
		shown = shown && shows_link(m, t.hops[i].path, rule);
	if (t.error == -ELOOP || t.into_proc || !shown ||
		(t.n_hops && (weak_hop(m, &t, false) || path_within(t.hops[0].path, t.path)))) {
		err_set(m->err, ERR_PLAN, "the place %s passes through the symbolic link %s",
			rule->at, t.n_hops ? t.hops[0].path : rule->at);
		err_hint(m->err, "name a place without links: only root's own are followed here");
		err_rule(m->err, rule);
		target_clear(&t);
		return NULL;
	}
	path = xstrdup(t.path);
	target_clear(&t);
	return path;
}

static bool names_host(const struct rule *rule)
{
	return rule->kind == RULE_PATH || rule->kind == RULE_MOUNT || rule->kind == RULE_DEVICE;
}

/* Whether a rule's own object is a socket, so that it says what becomes of that. A grant does so
 * under whatever name, but not through a link that the command or another user could lead
 * elsewhere. */
static bool names_socket(const struct maker *m, size_t i, const struct target *socket)
{
	const struct rule *rule = &m->rules->v[i];
	const struct target *t = &m->targets[i];

	if ((rule->kind != RULE_PATH && rule->kind != RULE_MOUNT) || t->error || t->into_proc)
		return false;
	if (rule->access == ACCESS_DENY)
		return strcmp(t->path, socket->path) == 0;
	return t->st.dev == socket->st.dev && t->st.ino == socket->st.ino && may_raise(m, rule, t);
}

/* Appends to paths, each once, the live sockets that the command could use and no rule names. */
static int find_sockets(const struct maker *m, struct strvec *paths)
{
	CLEANUP_STRVEC struct strvec names = {0};
	CLEANUP_STRVEC struct strvec found = {0};
	int error = tree_sockets(m->tree, &names);

	if (error) {
		err_set(m->err, ERR_PLAN, "cannot find out which sockets the host has: %s",
			strerror(-error));
		err_hint(m->err,
			"what is visible can be connected to, so they have to be known: let the"
			" caller read the file");
		return err_at(m->err, "/proc/net/unix");
	}
	for (size_t k = 0; k < names.n; k++) {
		struct target t;
		bool counts;

		resolve(m->tree, names.v[k], &t);
		counts = !t.error && !t.into_proc && t.st.kind == TREE_SOCKET;
		for (size_t i = 0; counts && i < m->rules->n; i++)
			counts = !names_socket(m, i, &t);
		if (counts && tree_usable(m->tree, t.path))
			strvec_push(&found, t.path);
		target_clear(&t);
	}
	strvec_sort(&found);
	for (size_t k = 0; k < found.n; k++)
		if (k == 0 || strcmp(found.v[k - 1], found.v[k]) != 0)
			strvec_push(paths, found.v[k]);
	return 0;
}

/* Adds a rule for each such socket, after those that count. */
static int deny_sockets(struct maker *m)
{
	struct rules *rules = m->rules;
	size_t first = rules->paths.n, n = rules->n, added;

	if (find_sockets(m, &rules->paths) < 0)
		return -1;
	added = rules->paths.n - first;
	rules->v = xreallocarray(rules->v, rules->n_all + added, sizeof(*rules->v));
	memmove(rules->v + n + added, rules->v + n, (rules->n_all - n) * sizeof(*rules->v));
	rules->n += added;
	rules->n_all += added;
	m->targets = xreallocarray(m->targets, rules->n, sizeof(*m->targets));
	m->ats = xreallocarray(m->ats, rules->n, sizeof(*m->ats));
	for (size_t i = n; i < rules->n; i++) {
		rules->v[i] = (struct rule){.kind = RULE_PATH,
			.access = ACCESS_DENY,
			.path = rules->paths.v[first + i - n],
			.name = (char *)"sockets",
			.why = (char *)"a socket of the host that the command could talk to",
			.optional = true,
			.socket = true,
			.origin = {(char *)"default", (char *)"", 0}};
		m->ats[i] = NULL;
		resolve(m->tree, rules->v[i].path, &m->targets[i]);
	}
	return 0;
}

/* Step 1 and the labels of rules without links. */
static int resolve_rules(struct maker *m)
{
	const struct rule *rules = m->rules->v;
	size_t n = m->rules->n;

	m->root = new_place("/");
	m->targets = xcalloc(n, sizeof(*m->targets));
	m->ats = xcalloc(n, sizeof(*m->ats));
	for (size_t i = 0; i < n; i++)
		if (names_host(&rules[i]) && resolve_rule(m, &rules[i], &m->targets[i]) < 0)
			return -1;
	if (check_unseen(m) < 0 || deny_sockets(m) < 0)
		return -1;
	rules = m->rules->v;
	n = m->rules->n;
	for (size_t i = 0; i < n; i++) {
		const struct rule *rule = &rules[i];
		const struct target *t = &m->targets[i];

		if (rule->kind == RULE_ROOT)
			add_label(m, "/", rule->access, rule);
		if (rule->kind == RULE_PATH && !t->n_hops &&
			(!t->error || rule->access == ACCESS_DENY))
			add_label(m, t->path, rule->access, rule);
	}
	for (size_t i = 0; i < n; i++)
		if (rules[i].at && !(m->ats[i] = real_at(m, &rules[i])))
			return -1;
	return 0;
}

/* Lowers a path to an access; also where what is above it has no more, for a mount may show it
 * without that. */
static void lower_label(
	struct maker *m, const char *path, enum access access, const struct rule *why)
{
	struct label *label = find_label(m, path);
	enum access above = deciding_label(m, path, false)->access;

	if (above <= access && !mount_gives_more(m, path, access))
		return;
	if (!label) {
		add_label(m, path, above < access ? above : access, why);
	} else if (label->access > access) {
		label->access = access;
		label->why = why;
	}
}

/* What is enforced is denied as long as it is missing, and kept as it is where a placeholder above it
 * stands for it. */
static void label_enforced(struct maker *m)
{
	for (size_t i = 0; i < m->rules->n; i++) {
		const struct rule *rule = &m->rules->v[i];
		const struct target *t = &m->targets[i];
		const char *name = t->error == -ENOTDIR ? t->blocked : t->path;

		if (rule->missing != MISSING_ENFORCE || !t->protects)
			continue;
		if (t->error == -ENOENT || t->error == -ENOTDIR)
			lower_label(m, t->path, ACCESS_DENY, rule);
		if (!is_placeholder(m->tree, name))
			continue;
		add_hold(m->plan, name);
		if (t->error)
			lower_label(m, name, ACCESS_READ, rule);
	}
}

/* What is denied, or kept from being written, is so under its other names in the host's mount
 * table. */
static void label_aliases(struct maker *m)
{
	size_t n = m->n_labels;
	struct label *before = xmemdup(m->labels, n * sizeof(*before));

	for (size_t i = 0; i < n; i++) {
		CLEANUP_STRVEC struct strvec aliases = {0};
		const struct rule *why = before[i].why;
		enum access access = before[i].access;

		if (why->kind == RULE_PATH && access != ACCESS_WRITE)
			find_aliases(m->tree, before[i].path, &aliases);
		for (size_t k = 0; k < aliases.n; k++)
			lower_label(m, aliases.v[k], access, why);
	}
	free(before);
}

/* Links on the way of an `at` count only while the view has them; by now it may not. */
static int check_ats(struct maker *m)
{
	for (size_t i = 0; i < m->rules->n; i++) {
		const struct rule *rule = &m->rules->v[i];
		CLEANUP_FREE char *again = rule->at ? real_at(m, rule) : NULL;

		if (!rule->at || (again && m->ats[i] && strcmp(again, m->ats[i]) == 0))
			continue;
		err_set(m->err, ERR_PLAN,
			"the place %s passes through a link that another rule hides", rule->at);
		err_hint(m->err, "name the place without links: %s", m->ats[i]);
		return err_rule(m->err, rule);
	}
	return 0;
}

/* A protected file may have other names on its file system, which nobody can find without a
 * search. */
static void note_hard_links(const struct maker *m, const struct target *t)
{
	if (!t->error && !t->into_proc && t->st.kind == TREE_FILE && t->st.nlink > 1 && t->protects)
		strvec_pushf(&m->plan->notes,
			"%s has %ju names (hard links): the others are not looked for", t->path,
			(uintmax_t)t->st.nlink);
}

/* Whoever makes a socket readable may not know what that means. */
static void note_socket(const struct maker *m, const struct rule *rule, const struct target *t)
{
	if (t->st.kind == TREE_SOCKET && rule->access != ACCESS_DENY && !rule->connect &&
		tree_usable(m->tree, t->path))
		strvec_pushf(&m->plan->notes, "%s is a socket: the command can connect to it",
			rule->path);
}

/* Step 2: what is missing, what came through links, and what may not be shown. */
static int label_rules(struct maker *m)
{
	/* Lower ones first: what they close, no link that comes after them opens. */
	if (label_linked(m, ACCESS_DENY) < 0 || label_linked(m, ACCESS_READ) < 0 ||
		label_linked(m, ACCESS_WRITE) < 0)
		return -1;
	for (size_t i = 0; i < m->rules->n; i++)
		m->targets[i].protects = protects(m, &m->rules->v[i], &m->targets[i]);
	label_enforced(m);
	label_aliases(m);
	if (check_ats(m) < 0)
		return -1;
	for (size_t i = 0; i < m->rules->n; i++) {
		const struct rule *rule = &m->rules->v[i];
		struct target *t = &m->targets[i];
		int counts = 1;
		bool planted;

		if (!names_host(rule))
			continue;
		planted = is_planted(m, rule, t);
		if (planted)
			note_planted(m, rule);
		note_hard_links(m, t);
		if (t->error)
			counts = missing_rule(m, rule, t);
		else if ((!t->into_proc || rule->connect) && !planted)
			counts = check_kind(m, rule, t) < 0 ? -1 : 1;
		if (counts > 0 && rule->kind != RULE_DEVICE)
			counts = check_final(m, rule, t) < 0 ? -1 : 1;
		if (counts > 0 && rule->kind != RULE_DEVICE && rule->access == ACCESS_WRITE &&
			t->n_hops)
			counts = check_own(m, rule, t) < 0 ? -1 : 1;
		if (counts > 0 && rule->kind == RULE_MOUNT)
			counts = check_mount_source(m, rule, t) < 0 ? -1 : 1;
		if (counts < 0)
			return -1;
		t->unused = counts == 0;
		if (counts && !t->error && !t->into_proc && !planted)
			note_socket(m, rule, t);
	}
	return 0;
}

static int place_rule(
	struct maker *m, const struct rule *rule, const struct target *t, const char *at)
{
	static const enum show shows[] = {
		[RULE_MOUNT] = SHOW_HOST,
		[RULE_TMPFS] = SHOW_TMPFS,
		[RULE_FILE] = SHOW_FILE,
		[RULE_PROC] = SHOW_PROC,
		[RULE_DEV] = SHOW_DEV,
	};
	struct place *place = place_at(m->root, at);
	CLEANUP_FREE char *where = NULL;

	if (set_place(place, shows[rule->kind], rule->access, t->path, rule)) {
		if (rule->scratch) {
			kid(place, SCRATCH_HOME, strlen(SCRATCH_HOME))->made = true;
			kid(place, SCRATCH_TMP, strlen(SCRATCH_TMP))->made = true;
		}
		return 0;
	}
	where = origin_text(&place->why->origin);
	err_set(m->err, ERR_PLAN, "%s: two rules stand at one place (the other: %s)", at, where);
	err_hint(m->err, "drop one of them, or put it elsewhere");
	return err_rule(m->err, rule);
}

/* The lowest access that labels strictly between a mount's source and a path below it give. */
static enum access lowest_between(
	const struct maker *m, const char *path, const char *source, enum access access)
{
	CLEANUP_FREE char *p = path_parent(path);

	while (strcmp(p, source) != 0) {
		const struct label *label = find_label(m, p);
		char *parent = path_parent(p);

		if (label && label->access < access)
			access = label->access;
		free(p);
		p = parent;
	}
	return access;
}

/* The host object that would show at a place if nothing stood there: by the deepest rule with an
 * `at`, at or above it, or label above it. NULL: none. */
static char *object_at(const struct maker *m, const char *path)
{
	const struct label *label = deciding_label(m, path, true);
	size_t deepest = m->rules->n;

	for (size_t i = 0; i < m->rules->n; i++)
		if (m->ats[i] && !m->targets[i].unused && path_within(path, m->ats[i]) &&
			path_within(
				m->ats[i], deepest < m->rules->n ? m->ats[deepest] : label->path))
			deepest = i;
	if (deepest < m->rules->n)
		return m->rules->v[deepest].kind == RULE_MOUNT
			       ? path_join(m->targets[deepest].path,
					 path_below(path, m->ats[deepest]))
			       : NULL;
	return label->access == ACCESS_DENY ? NULL : xstrdup(path);
}

/* Whether a label holds at a place. A live socket is no name to protect: it is covered where it
 * would show and nowhere else, or what happens to be called like it would be hidden. */
static bool holds_at(const struct maker *m, const struct label *label, const char *path)
{
	CLEANUP_FREE char *object = label->why->socket ? object_at(m, path) : NULL;

	return !label->why->socket || (object && strcmp(object, label->path) == 0);
}

/* Whether a rule below the mount at `at` shows something else at a place in it. */
static bool is_shadowed(const struct maker *m, const char *at, const char *path)
{
	for (size_t i = 0; i < m->rules->n; i++)
		if (m->ats[i] && !m->targets[i].unused && strcmp(m->ats[i], at) != 0 &&
			path_within(m->ats[i], at) && path_within(path, m->ats[i]))
			return true;
	for (size_t i = 0; i < m->n_labels; i++) {
		const struct label *label = &m->labels[i];

		if (label->access != ACCESS_DENY && strcmp(label->path, at) != 0 &&
			path_within(label->path, at) && path_within(path, label->path))
			return true;
	}
	return false;
}

/* Labels that are lower than the mount which shows their object hold there too. */
static void place_aliases(
	struct maker *m, const struct rule *mount, const char *source, const char *at)
{
	for (size_t i = 0; i < m->n_labels; i++) {
		const struct label *label = &m->labels[i];
		CLEANUP_FREE char *path = NULL;
		struct tree_stat st;
		bool missing;

		if (strcmp(label->path, source) == 0 || !path_within(label->path, source))
			continue;
		/* A denied name that is missing needs no op, but a note wherever it could be made. */
		missing = label->access == ACCESS_DENY && tree_lstat(m->tree, label->path, &st) < 0;
		if (!missing &&
			label->access >= lowest_between(m, label->path, source, mount->access))
			continue;
		path = path_join(at, path_below(label->path, source));
		if (!holds_at(m, label, path) || (!missing && is_shadowed(m, at, path)))
			continue;
		set_place(place_at(m->root, path),
			label->access == ACCESS_DENY ? SHOW_NOTHING : SHOW_HOST, label->access,
			label->path, label->why);
	}
}

/* Step 3. */
static int place_rules(struct maker *m)
{
	const struct rule *rules = m->rules->v;
	size_t n = m->rules->n;

	for (size_t i = 0; i < n; i++)
		if (m->ats[i] && (rules[i].kind != RULE_MOUNT || !m->targets[i].unused) &&
			place_rule(m, &rules[i], &m->targets[i], m->ats[i]) < 0)
			return -1;
	for (size_t i = 0; i < m->n_labels; i++) {
		const struct label *label = &m->labels[i];
		struct place *place;

		if (!holds_at(m, label, label->path))
			continue;
		place = place_at(m->root, label->path);
		if (!set_place(place, label->access == ACCESS_DENY ? SHOW_NOTHING : SHOW_HOST,
			    label->access, label->path, label->why) &&
			label->access != ACCESS_DENY)
			return err_taken(m, label->why, label->path, place->why);
	}
	for (size_t i = 0; i < n; i++)
		if (rules[i].kind == RULE_MOUNT && !m->targets[i].unused)
			place_aliases(m, &rules[i], m->targets[i].path, m->ats[i]);
	for (size_t i = 0; i < n; i++) {
		if (!names_host(&rules[i]) || m->targets[i].unused)
			continue;
		if (rules[i].kind == RULE_DEVICE)
			set_place(place_at(m->root, m->targets[i].path), SHOW_DEVICE, ACCESS_WRITE,
				m->targets[i].path, &rules[i]);
		if (rules[i].kind == RULE_DEVICE ||
			(rules[i].kind == RULE_PATH && rules[i].access != ACCESS_DENY))
			show_hops(m, &m->targets[i], &rules[i]);
	}
	return 0;
}

/* Whether a place has a name to keep: one that is read-only or denied, so that no command moves it
 * to where the next run's rules do not speak of it. */
static bool keeps_name(const struct tree *tree, const struct place *place)
{
	struct tree_stat st;

	if (place->show == SHOW_HOST)
		return place->access == ACCESS_READ;
	return place->show == SHOW_NOTHING && place->source &&
	       tree_lstat(tree, place->source, &st) == 0;
}

static void look_below(const struct tree *tree, struct place *place)
{
	place->visible = place->show == SHOW_WAY ? place->made : place->show != SHOW_NOTHING;
	place->enforced = place->show == SHOW_NOTHING && place->why->missing == MISSING_ENFORCE;
	for (size_t i = 0; i < place->n_kids; i++) {
		const struct place *below = place->kids[i];

		look_below(tree, place->kids[i]);
		place->visible |= below->visible;
		place->enforced |= below->enforced;
		place->held_below |=
			below->held_below || below->enforced || keeps_name(tree, below);
	}
}

struct place *places_make(struct plan *plan, const struct tree *tree, struct err *err)
{
	struct rules *rules = &plan->rules;
	struct maker m = {.plan = plan, .rules = rules, .tree = tree, .err = err};
	int rc = resolve_rules(&m);

	if (rc == 0)
		rc = label_rules(&m);
	if (rc == 0)
		rc = place_rules(&m);
	if (rc == 0)
		look_below(tree, m.root);
	for (size_t i = 0; i < rules->n; i++) {
		target_clear(&m.targets[i]);
		free(m.ats[i]);
	}
	free(m.targets);
	free(m.ats);
	for (size_t i = 0; i < m.n_labels; i++)
		free(m.labels[i].path);
	free(m.labels);
	if (rc < 0) {
		place_free(m.root);
		return NULL;
	}
	return m.root;
}
