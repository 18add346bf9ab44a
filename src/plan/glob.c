/*
 * How the walk works. A state is a pattern and the index of the component that the next name has
 * to match; the walk carries the set of states that a directory was reached with, so that each
 * directory is listed once for all patterns. "**" adds the state after it (it may stand for no
 * directory) and stays in the set for every directory below.
 */
#include "plan/glob.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/alias.h"
#include "plan/places.h"
#include "plan/resolve.h"
#include "plan/worktree.h"
#include "policy/value.h"

#include <assert.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct pattern {
	const struct rule *rule;
	struct strvec parts;  /* the components of its path */
	char *base;           /* the directory before its first component that is a pattern */
	struct target target; /* what base leads to */
	bool started, matched;
};

struct state {
	struct pattern *pattern;
	size_t part; /* that many components have been matched */
};

struct states {
	struct state *v;
	size_t n, alloc;
};

struct walker {
	const struct policy *policy;
	const struct tree *tree;
	struct rules *rules;
	size_t alloc; /* of rules->v */
	struct strvec *notes;
	struct err *err;
	struct pattern *patterns;
	size_t n_patterns;
	unsigned grants; /* the last layer with a pattern that does not deny, and one; 0 = none */
	struct strvec named; /* places that rules without a pattern speak of */
	size_t max_entries;
};

/* A directory of the walk, and what it is called. */
struct dir {
	const char *real;    /* without links */
	const char *written; /* as rules name it */
};

static bool is_any(const struct state *state)
{
	return state->part < state->pattern->parts.n &&
	       strcmp(state->pattern->parts.v[state->part], "**") == 0;
}

static bool is_complete(const struct state *state)
{
	return state->part == state->pattern->parts.n;
}

static void add_state(struct states *states, struct pattern *pattern, size_t part)
{
	struct state state = {pattern, part};

	for (size_t i = 0; i < states->n; i++)
		if (states->v[i].pattern == pattern && states->v[i].part == part)
			return;
	GROW(states->v, states->n, states->alloc);
	states->v[states->n++] = state;
	if (is_any(&state))
		add_state(states, pattern, part + 1);
}

/* Adds the states after one more name; only a directory can be one of those of "**". */
static void step(const struct states *from, const char *name, bool directory, struct states *to)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct state *state = &from->v[i];

		if (is_any(state)) {
			if (directory)
				add_state(to, state->pattern, state->part);
		} else if (!is_complete(state) &&
			   fnmatch(state->pattern->parts.v[state->part], name, 0) == 0) {
			add_state(to, state->pattern, state->part + 1);
		}
	}
}

/* Whether names below have to be looked at: `any` for "**" alone. */
static bool goes_on(const struct states *states, bool any)
{
	for (size_t i = 0; i < states->n; i++)
		if (any ? is_any(&states->v[i]) : !is_complete(&states->v[i]))
			return true;
	return false;
}

/* The places whose contents no pattern matches. */
static bool is_own(const char *path)
{
	return path_within(path, "/proc") || path_within(path, "/dev");
}

/* What a path leads to, when a rule there is for another type of object; NULL: it counts. */
static const char *other_type(const struct walker *w, const struct rule *rule, const char *path)
{
	enum tree_kind wanted = rule->type == TYPE_FILE ? TREE_FILE : TREE_DIR;
	const char *other = NULL;
	struct target target;

	if (rule->type == TYPE_ANY)
		return NULL;
	resolve(w->tree, path, &target);
	if (!target.error && !target.into_proc && target.st.kind != wanted)
		other = tree_kind_name(target.st.kind);
	target_clear(&target);
	return other;
}

/* Adds a rule for a path of the tree in place of one of the policy's. */
static struct rule *add_made(struct walker *w, const struct rule *from, const char *path)
{
	struct rules *rules = w->rules;
	struct rule *rule;

	strvec_push(&rules->paths, path);
	GROW(rules->v, rules->n, w->alloc);
	rule = &rules->v[rules->n++];
	*rule = *from;
	rule->path = rules->paths.v[rules->paths.n - 1];
	rule->pattern = true;
	rule->optional = true;
	return rule;
}

static int add_match(struct walker *w, struct pattern *pattern, const struct dir *at)
{
	pattern->matched = true;
	if (w->rules->paths.n == GLOB_MAX_MATCHES) {
		err_set(w->err, ERR_PLAN, "%s: the patterns match more than %d names, the last %s",
			pattern->rule->path, GLOB_MAX_MATCHES, at->written);
		err_hint(w->err,
			"let the pattern match directories as a whole, or give each list its own"
			" directory and name that");
		return err_rule(w->err, pattern->rule);
	}
	add_made(w, pattern->rule, at->written);
	return 0;
}

/* Makes rules of the patterns that match a name as a whole. *denied: the last layer of those that
 * deny it, and one. */
static int accept(
	struct walker *w, const struct states *states, const struct dir *at, unsigned *denied)
{
	if (strcmp(at->written, "/") == 0 || strcmp(at->written, "/tmp") == 0 ||
		is_own(at->written))
		return 0;
	for (size_t i = 0; i < states->n; i++) {
		struct pattern *pattern = states->v[i].pattern;
		const struct rule *rule = pattern->rule;

		if (!is_complete(&states->v[i]) || other_type(w, rule, at->real))
			continue;
		if (rule->access == ACCESS_DENY && rule->origin.layer >= *denied)
			*denied = rule->origin.layer + 1;
		if (add_match(w, pattern, at) < 0)
			return -1;
	}
	return 0;
}

/* Whether something at or below a directory that patterns deny may be shown all the same: by its own
 * name, or by another that the host's mount table gives it. Patterns of earlier layers show nothing
 * there (close_matches). */
static bool may_show_below(const struct walker *w, const struct dir *dir, unsigned denied)
{
	CLEANUP_STRVEC struct strvec aliases = {0};

	for (size_t i = 0; i < w->named.n; i++)
		if (path_within(w->named.v[i], dir->real) ||
			path_within(w->named.v[i], dir->written))
			return true;
	find_aliases(w->tree, dir->real, &aliases);
	return w->grants >= denied || aliases.n;
}

/* Says once of a directory that what is in it cannot be known. */
static void note_unseen(struct walker *w, const char *path, int error)
{
	CLEANUP_FREE char *note = xasprintf(
		"cannot list %s: %s: patterns may miss names in it", path, strerror(-error));

	if (!strvec_has(w->notes, note))
		strvec_push(w->notes, note);
}

/* Remembers that a pattern of those that lead below a directory may match names in it. */
static void add_unseen(struct walker *w, const struct states *states, const char *real)
{
	struct rules *rules = w->rules;

	for (size_t i = 0; i < states->n; i++) {
		const struct rule *rule = states->v[i].pattern->rule;

		if (is_complete(&states->v[i]) || rule->access == ACCESS_WRITE)
			continue;
		GROW(rules->unseen, rules->n_unseen, rules->alloc_unseen);
		rules->unseen[rules->n_unseen++] = (struct unseen){xstrdup(real), rule};
		return;
	}
}

static int walk(struct walker *w, const struct states *states, const struct dir *dir);

/* What a listing says of a name. */
enum known { KNOWN_NOTHING, KNOWN_THERE, KNOWN_DIRECTORY };

/* One name of a directory. */
static int visit(struct walker *w, const struct states *states, const struct dir *dir,
	const char *name, enum known known)
{
	CLEANUP_FREE char *real = path_join(dir->real, name);
	CLEANUP_FREE char *written = path_join(dir->written, name);
	struct dir at = {real, written};
	struct states next = {0};
	struct tree_stat st = {.kind = known == KNOWN_DIRECTORY ? TREE_DIR : TREE_FILE};
	bool there = known != KNOWN_NOTHING;
	unsigned denied = 0;
	int rc = 0, error = 0;

	step(states, name, false, &next);
	if (!there || (known == KNOWN_THERE && (goes_on(&next, false) || goes_on(states, true))))
		error = tree_lstat(w->tree, real, &st);
	if (there && error && error != -ENOENT)
		note_unseen(w, written, error);
	if (error == -EACCES)
		add_unseen(w, states, dir->real);
	there = there || !error;
	if (st.kind == TREE_DIR)
		step(states, name, true, &next);
	if (there)
		rc = accept(w, &next, &at, &denied);
	if (rc == 0 && st.kind == TREE_DIR && goes_on(&next, false) &&
		!(denied && !may_show_below(w, &at, denied)))
		rc = walk(w, &next, &at);
	free(next.v);
	return rc;
}

static int err_entries(struct walker *w, const struct states *states, const struct dir *dir)
{
	const struct rule *rule;

	assert(states->n); /* a pattern leads here */
	rule = states->v[0].pattern->rule;
	err_set(w->err, ERR_PLAN,
		"%s: more than %zu names would have to be looked at; the walk had reached %s",
		rule->path, w->max_entries, dir->written);
	err_hint(w->err, "begin the pattern in a deeper directory, or deny large directories as a "
			 "whole, as in"
			 " \"./**/node_modules\": they are not looked into");
	return err_rule(w->err, rule);
}

/* Which names of a directory have to be known: the one that is spelled out, those of directories
 * where the pattern goes on below, or all. */
enum need { NEED_NAME, NEED_DIRECTORIES, NEED_ALL };

static enum need need_of(const struct state *state)
{
	const struct strvec *parts = &state->pattern->parts;
	const char *part = is_complete(state) ? "" : parts->v[state->part];
	size_t n = parts->n;

	if (!value_is_pattern(part, strlen(part)))
		return NEED_NAME;
	while (n > state->part + 1 && strcmp(parts->v[n - 1], "**") == 0)
		n--; /* it may stand for nothing */
	return is_any(state) || state->part + 1 < n ? NEED_DIRECTORIES : NEED_ALL;
}

/* Appends the names that patterns spell out. */
static void spell(const struct states *states, struct strvec *names)
{
	for (size_t i = 0; i < states->n; i++) {
		const struct strvec *parts = &states->v[i].pattern->parts;
		const char *part = is_complete(&states->v[i]) ? "*" : parts->v[states->v[i].part];
		CLEANUP_FREE char *name = value_unescape(part, strlen(part));

		if (!value_is_pattern(part, strlen(part)) && !strvec_has(names, name))
			strvec_push(names, name);
	}
	strvec_sort(names);
}

static int walk(struct walker *w, const struct states *states, const struct dir *dir)
{
	CLEANUP_STRVEC struct strvec listed = {0}, spelled = {0};
	enum need need = NEED_NAME;
	int error = 0;

	if (is_own(dir->real))
		return 0;
	for (size_t i = 0; i < states->n; i++)
		if (need_of(&states->v[i]) > need)
			need = need_of(&states->v[i]);
	if (need == NEED_DIRECTORIES)
		error = tree_list_dirs(w->tree, dir->real, &listed);
	if (need == NEED_ALL)
		error = tree_list(w->tree, dir->real, &listed);
	if (need == NEED_DIRECTORIES && !error && !tree_may_search(w->tree, dir->real))
		error = -EACCES;
	if (error == -EACCES)
		add_unseen(w, states, dir->real);
	if (error) {
		note_unseen(w, dir->written, error);
		strvec_clear(&listed);
	}
	w->rules->n_entries += listed.n;
	if (w->rules->n_entries > w->max_entries)
		return err_entries(w, states, dir);
	if (error || need != NEED_ALL)
		spell(states, &spelled);
	for (size_t i = 0; i < listed.n; i++)
		if (!strvec_has(&spelled, listed.v[i]) &&
			visit(w, states, dir, listed.v[i],
				need == NEED_ALL ? KNOWN_THERE : KNOWN_DIRECTORY) < 0)
			return -1;
	for (size_t i = 0; i < spelled.n; i++)
		if (visit(w, states, dir, spelled.v[i], KNOWN_NOTHING) < 0)
			return -1;
	return 0;
}

/* Whether the walk from a pattern's base comes by that of another, with no link between. */
static bool comes_by(const struct pattern *from, const struct pattern *other)
{
	return path_within(other->base, from->base) &&
	       path_within(other->target.path, from->target.path) &&
	       strcmp(path_below(other->base, from->base),
		       path_below(other->target.path, from->target.path)) == 0;
}

/* Walks from the base of a pattern, for all patterns whose base lies there or below. */
static int start(struct walker *w, struct pattern *first)
{
	struct dir dir = {first->target.path, first->base};
	struct states states = {0};
	unsigned denied = 0;
	int rc = 0;

	for (size_t i = 0; i < w->n_patterns; i++) {
		struct pattern *pattern = &w->patterns[i];

		if (pattern->started || !comes_by(first, pattern))
			continue;
		pattern->started = true;
		add_state(&states, pattern, path_depth(first->base));
	}
	if (!first->target.error && !first->target.into_proc) {
		rc = accept(w, &states, &dir, &denied);
		if (rc == 0 && !(denied && !may_show_below(w, &dir, denied)))
			rc = walk(w, &states, &dir);
	}
	if (first->target.error == -EACCES) {
		CLEANUP_FREE char *closed = path_parent(first->target.blocked);

		add_unseen(w, &states, closed);
	}
	free(states.v);
	return rc;
}

/* From the highest directories down, so that no walk comes by where another has been. */
static int walk_all(struct walker *w)
{
	for (;;) {
		struct pattern *first = NULL;

		for (size_t i = 0; i < w->n_patterns; i++) {
			struct pattern *pattern = &w->patterns[i];

			if (!pattern->started &&
				(!first || path_depth(pattern->base) < path_depth(first->base)))
				first = pattern;
		}
		if (!first)
			return 0;
		if (start(w, first) < 0)
			return -1;
	}
}

/* What later layers deny */

/* How deep what a rule leads to lies, and one, if that is above a path without links; a grant through
 * a link shows nothing. 0: it is not. */
static unsigned covers(const struct walker *w, const struct rule *rule, const char *path)
{
	struct target target;
	unsigned depth = 0;

	resolve(w->tree, rule->path, &target);
	if (path_within(path, target.path) && strcmp(path, target.path) != 0 &&
		(rule->access == ACCESS_DENY || !target.n_hops))
		depth = path_depth(target.path) + 1;
	target_clear(&target);
	return depth;
}

/* Whether a match lies, by a name of its object, in what a later layer denies, and no deeper rule that
 * is written shows it. */
static bool is_denied_later(const struct walker *w, const struct rule *match, const char *path)
{
	const struct rules *rules = w->rules;
	unsigned denied = 0;
	bool shown = false;

	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->v[i];

		if (rule->kind == RULE_PATH && rule->access == ACCESS_DENY &&
			rule->origin.layer > match->origin.layer && covers(w, rule, path) > denied)
			denied = covers(w, rule, path);
	}
	for (size_t i = 0; denied && i < rules->n && !shown; i++) {
		const struct rule *rule = &rules->v[i];

		shown = rule->kind == RULE_PATH && rule->access != ACCESS_DENY && !rule->pattern &&
			covers(w, rule, path) > denied;
	}
	return denied && !shown;
}

/* A pattern speaks of places that its author has not seen, so it shows nothing in what a later layer
 * denies: what it matches there is denied, too. */
static void close_matches(struct walker *w)
{
	CLEANUP_FREE bool *closed = xcalloc(w->rules->n, sizeof(*closed));

	for (size_t i = 0; i < w->rules->n; i++) {
		const struct rule *rule = &w->rules->v[i];
		CLEANUP_STRVEC struct strvec names = {0};
		struct target target;

		if (!rule->pattern || rule->access == ACCESS_DENY)
			continue;
		resolve(w->tree, rule->path, &target);
		strvec_push(&names, target.path);
		find_aliases(w->tree, target.path, &names);
		for (size_t k = 0; k < names.n; k++)
			closed[i] |= is_denied_later(w, rule, names.v[k]);
		target_clear(&target);
	}
	for (size_t i = 0; i < w->rules->n; i++)
		if (closed[i])
			w->rules->v[i].access = ACCESS_DENY;
}

/* Linked worktrees */

static void add_worktree(struct walker *w, const struct rule *from, const struct worktree *worktree)
{
	const struct strvec *const lists[] = {
		[ACCESS_READ] = &worktree->read, [ACCESS_WRITE] = &worktree->write};

	for (enum access access = ACCESS_READ; access <= ACCESS_WRITE; access++)
		for (size_t i = 0; i < lists[access]->n; i++) {
			struct rule *rule = add_made(w, from, lists[access]->v[i]);

			rule->access = access;
			rule->worktree = rule->relative = false;
			if (strcmp(rule->path, from->path) != 0)
				rule->spelled = NULL;
		}
}

/* All are found before any is added: none makes the way for another. */
static void add_worktrees(struct walker *w)
{
	const struct policy *policy = w->policy;
	CLEANUP_FREE struct worktree *found = xcalloc(policy->n_rules, sizeof(*found));

	for (size_t i = 0; i < policy->n_rules; i++)
		if (policy->rules[i].worktree)
			worktree_find(
				&found[i], &policy->rules[i], w->rules, policy, w->tree, w->notes);
	for (size_t i = 0; i < policy->n_rules; i++) {
		add_worktree(w, &policy->rules[i], &found[i]);
		worktree_clear(&found[i]);
	}
}

/* What stands at one path */

static const char *place_of(const struct rule *rule)
{
	return rule->at ? rule->at : rule->path;
}

/* By path, layer, and where they stand in the list. */
static int compare_rules(const void *a, const void *b)
{
	const struct rule *x = *(struct rule *const *)a, *y = *(struct rule *const *)b;
	int order = strcmp(place_of(x), place_of(y));

	if (order)
		return order;
	if (x->origin.layer != y->origin.layer)
		return x->origin.layer < y->origin.layer ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Whether it takes the tree to know which of two rules stands at a path: what text tells has been
 * settled when the policy was read. */
static bool only_tree_tells(const struct rule *a, const struct rule *b)
{
	return a->pattern || b->pattern || a->type != b->type;
}

/* Whether a is there in place of b; both stand at one path. */
static bool replaces(const struct rule *a, const struct rule *b)
{
	if (a == b || !only_tree_tells(a, b) || policy_coexist(a, b))
		return false;
	if (a->origin.layer != b->origin.layer)
		return a->origin.layer > b->origin.layer;
	if (a->pattern != b->pattern)
		return b->pattern;
	if (a->access != b->access)
		return a->access < b->access;
	if (a->follow != b->follow)
		return b->follow;
	if (a->missing != b->missing)
		return a->missing > b->missing;
	if (a->lost_report != b->lost_report)
		return b->lost_report;
	return a->mask != b->mask ? a->mask < b->mask : a < b;
}

/* A rule of a later layer that lowers a final one is final too, as among written rules. */
static void inherit_final(struct rule *rule, const struct rule *earlier)
{
	if (earlier->final && !rule->final && rule->kind == RULE_PATH &&
		rule->origin.layer > earlier->origin.layer && rule->access <= earlier->access) {
		rule->final = true;
		rule->grants = earlier->grants;
	}
}

/* Finds out which rules another one stands in place of: lost[i]. */
static void compare_all(struct rules *rules, bool *lost)
{
	CLEANUP_FREE struct rule **sorted = xcalloc(rules->n, sizeof(*sorted));
	size_t first = 0;

	for (size_t i = 0; i < rules->n; i++)
		sorted[i] = &rules->v[i];
	qsort(sorted, rules->n, sizeof(*sorted), compare_rules);
	for (size_t i = 0; i < rules->n; i++) {
		if (strcmp(place_of(sorted[i]), place_of(sorted[first])) != 0)
			first = i;
		for (size_t k = first; k < i; k++) {
			inherit_final(sorted[i], sorted[k]);
			lost[sorted[i] - rules->v] |= replaces(sorted[k], sorted[i]);
			lost[sorted[k] - rules->v] |= replaces(sorted[i], sorted[k]);
		}
	}
}

/* Leaves one rule at each path, and after them the final ones that lost. */
static void settle(struct rules *rules, const bool *lost)
{
	struct rule *kept = xcalloc(rules->n, sizeof(*kept));
	size_t n = 0;

	for (size_t i = 0; i < rules->n; i++)
		if (!lost[i])
			kept[n++] = rules->v[i];
	rules->n_all = n;
	for (size_t i = 0; i < rules->n; i++)
		if (lost[i] && rules->v[i].final)
			kept[rules->n_all++] = rules->v[i];
	rules->n = n;
	free(rules->v);
	rules->v = kept;
}

/* What matches, and rules for one type, may not do */

static int check_finals(const struct walker *w)
{
	for (size_t f = 0; f < w->rules->n; f++) {
		const struct rule *final = &w->rules->v[f];

		for (size_t i = 0; final->final && i < w->rules->n; i++) {
			const struct rule *rule = &w->rules->v[i];

			if (only_tree_tells(final, rule) &&
				rule->origin.layer > final->origin.layer &&
				policy_check_final(rule, final, w->err) < 0)
				return -1;
		}
	}
	return 0;
}

/* "./" may not open by accident what an earlier layer denies. */
static int check_relative(const struct walker *w, const struct rule *match)
{
	const struct rule *deepest = NULL;
	CLEANUP_FREE char *where = NULL;

	for (size_t i = 0; i < w->rules->n; i++) {
		const struct rule *rule = &w->rules->v[i];

		if (rule->kind == RULE_PATH && rule->origin.layer < match->origin.layer &&
			path_within(match->path, rule->path) &&
			(!deepest || path_depth(rule->path) > path_depth(deepest->path) ||
				(path_depth(rule->path) == path_depth(deepest->path) &&
					!replaces(deepest, rule))))
			deepest = rule;
	}
	if (!deepest || deepest->access != ACCESS_DENY)
		return 0;
	where = origin_text(&deepest->origin);
	err_set(w->err, ERR_POLICY,
		"%s would be writable by a pattern with \"./\", and an earlier layer denies it "
		"(%s)",
		match->path, where);
	err_hint(w->err, "write the path out in place of \"./\"");
	return err_rule(w->err, match);
}

/* A writable match must not hold sbx's own files, unless a rule keeps them as they are. */
static int check_own(const struct walker *w, const struct rule *match)
{
	for (size_t i = 0; i < w->policy->own.n; i++) {
		const char *own = w->policy->own.v[i];
		bool kept = false;

		for (size_t k = 0; k < w->rules->n; k++)
			kept |= w->rules->v[k].kind == RULE_PATH &&
				w->rules->v[k].access != ACCESS_WRITE &&
				strcmp(w->rules->v[k].path, own) == 0;
		if (!path_within(match->path, own) && (kept || !path_within(own, match->path)))
			continue;
		err_set(w->err, ERR_POLICY,
			"%s would be writable: sbx keeps its own policies and state in %s",
			match->path, own);
		err_hint(w->err, "add \"read\": [\"%s\"], or narrow the pattern", own);
		return err_rule(w->err, match);
	}
	return 0;
}

/* Rules that others stand in place of still count here. */
static int check_matches(const struct walker *w)
{
	if (check_finals(w) < 0)
		return -1;
	for (size_t i = 0; i < w->rules->n; i++) {
		const struct rule *rule = &w->rules->v[i];

		if (!rule->pattern || rule->access != ACCESS_WRITE)
			continue;
		if (check_own(w, rule) < 0 || (rule->relative && check_relative(w, rule) < 0))
			return -1;
	}
	return 0;
}

static int settle_all(struct walker *w)
{
	CLEANUP_FREE bool *lost = xcalloc(w->rules->n, sizeof(*lost));
	int rc;

	compare_all(w->rules, lost);
	rc = check_matches(w);
	settle(w->rules, lost);
	return rc;
}

/* Notes */

/* Whether a pattern could match something below a directory that its base holds. */
static bool leads_below(struct pattern *pattern, const char *dir)
{
	struct states states = {0};
	bool leads;

	add_state(&states, pattern, path_depth(pattern->base));
	for (const char *p = path_below(dir, pattern->target.path); *p; p += strspn(p, "/")) {
		CLEANUP_FREE char *name = xstrndup(p, strcspn(p, "/"));
		struct states next = {0};

		step(&states, name, true, &next);
		free(states.v);
		states = next;
		p += strlen(name);
	}
	leads = goes_on(&states, false);
	free(states.v);
	return leads;
}

/* Whether the command can make names that a pattern would match: where its base can be written,
 * or a writable place lies where it leads. */
static bool can_make(struct pattern *pattern, const struct rules *rules, char *const *targets)
{
	const char *base = pattern->target.path;
	enum access access = ACCESS_DENY;
	size_t deepest = 0;

	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->v[i];

		if (!targets[i])
			continue;
		if (rule->access == ACCESS_WRITE && path_within(targets[i], base) &&
			leads_below(pattern, targets[i]))
			return true;
		if (!path_within(base, targets[i]))
			continue;
		if (rule->kind == RULE_MOUNT && rule->access == ACCESS_WRITE)
			return true;
		if (rule->kind == RULE_PATH && strlen(targets[i]) >= deepest) {
			deepest = strlen(targets[i]);
			access = rule->access;
		}
	}
	return access == ACCESS_WRITE;
}

/* Who writes [id] may mean the name: it is there, and the pattern does not match it. */
static void note_literal(const struct walker *w, const struct rule *rule, const char *where)
{
	CLEANUP_FREE char *literal = value_unescape(rule->path, strlen(rule->path));
	struct target target;

	resolve(w->tree, literal, &target);
	if (!target.error && !strvec_has(&w->rules->paths, literal))
		strvec_pushf(w->notes,
			"%s exists, and the pattern does not match it: its name has to be written"
			" with backslashes (%s)",
			literal, where);
	target_clear(&target);
}

/* Says of which patterns the command could make further names: where a policy has many, in one. */
static void note_later(const struct walker *w, const bool *later)
{
	enum { MANY = 5 };

	for (size_t i = 0; i < w->n_patterns; i++) {
		const struct rule *rule = w->patterns[i].rule;
		CLEANUP_FREE char *where = origin_text(&rule->origin);
		size_t before = 0, all = 0;

		for (size_t k = 0; k < w->n_patterns; k++) {
			bool same = later[k] && strcmp(w->patterns[k].rule->origin.file,
							rule->origin.file) == 0;

			before += same && k < i;
			all += same;
		}
		if (!later[i] || (all >= MANY && before))
			continue;
		if (all < MANY)
			strvec_pushf(w->notes,
				"not enforced: names made later that %s would match, and the"
				" command could make some (%s)",
				rule->path, where);
		else
			strvec_pushf(w->notes,
				"not enforced: names made later that %s and %zu more patterns"
				" would match, and the command could make some (%s)",
				rule->path, all - 1, rule->origin.file);
	}
}

/* Says of each pattern what it does not do. */
static void note_patterns(const struct walker *w)
{
	const struct rules *rules = w->rules;
	CLEANUP_FREE bool *later = xcalloc(w->n_patterns, sizeof(*later));
	CLEANUP_STRVEC struct strvec paths = {0};
	CLEANUP_FREE char **targets = xcalloc(rules->n, sizeof(*targets));

	for (size_t i = 0; i < rules->n; i++) {
		const struct rule *rule = &rules->v[i];
		struct target target;

		if (rule->kind != RULE_PATH && rule->kind != RULE_MOUNT)
			continue;
		resolve(w->tree, rule->path, &target);
		strvec_push(&paths, target.path);
		targets[i] = paths.v[paths.n - 1];
		target_clear(&target);
	}
	for (size_t i = 0; i < w->n_patterns; i++) {
		struct pattern *pattern = &w->patterns[i];
		CLEANUP_FREE char *where = origin_text(&pattern->rule->origin);

		if (!pattern->matched && !pattern->rule->optional)
			strvec_pushf(
				w->notes, "%s matches nothing (%s)", pattern->rule->path, where);
		note_literal(w, pattern->rule, where);
		later[i] =
			pattern->rule->access != ACCESS_WRITE && can_make(pattern, rules, targets);
	}
	note_later(w, later);
}

/* The whole */

static void add_pattern(struct walker *w, const struct rule *rule)
{
	struct pattern *pattern = &w->patterns[w->n_patterns++];

	if (rule->access != ACCESS_DENY && rule->origin.layer >= w->grants)
		w->grants = rule->origin.layer + 1;
	pattern->rule = rule;
	pattern->base = value_pattern_base(rule->path);
	resolve(w->tree, pattern->base, &pattern->target);
	for (const char *p = rule->path + 1; *p; p += strspn(p, "/")) {
		strvec_take(&pattern->parts, xstrndup(p, strcspn(p, "/")));
		p += strcspn(p, "/");
	}
}

/* The walk heeds the places that rules without a pattern speak of. */
static void add_named(struct walker *w, const struct rule *rule)
{
	const char *const paths[] = {rule->path, rule->at};

	for (size_t i = 0; i < 2; i++) {
		struct target target;

		if (!paths[i])
			continue;
		resolve(w->tree, paths[i], &target);
		strvec_push(&w->named, paths[i]);
		strvec_push(&w->named, target.path);
		target_clear(&target);
	}
}

/* A rule without a pattern counts as it is, if what it leads to is of its type. */
static void add_written(struct walker *w, const struct rule *rule)
{
	const char *other = other_type(w, rule, rule->path);

	if (other) {
		CLEANUP_FREE char *where = origin_text(&rule->origin);

		strvec_pushf(w->notes, "skipped: %s is %s, and the rule is for %s (%s)", rule->path,
			other, rule->type == TYPE_FILE ? "a file" : "a directory", where);
		return;
	}
	GROW(w->rules->v, w->rules->n, w->alloc);
	w->rules->v[w->rules->n++] = *rule;
}

int rules_make(struct rules *rules, const struct policy *policy, const struct tree *tree,
	size_t max_entries, struct strvec *notes, struct err *err)
{
	struct walker w = {.policy = policy,
		.tree = tree,
		.rules = rules,
		.notes = notes,
		.err = err,
		.max_entries = max_entries};
	int rc = 0;

	*rules = (struct rules){.own = &policy->own};
	w.patterns = xcalloc(policy->n_rules, sizeof(*w.patterns));
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (rule->pattern) {
			add_pattern(&w, rule);
			continue;
		}
		add_named(&w, rule);
		if (!rule->worktree)
			add_written(&w, rule);
	}
	rules->n_all = rules->n;
	if (w.n_patterns)
		rc = walk_all(&w);
	if (rc == 0) {
		close_matches(&w);
		add_worktrees(&w);
		rc = settle_all(&w);
	}
	if (rc == 0)
		note_patterns(&w);
	for (size_t i = 0; i < w.n_patterns; i++) {
		strvec_clear(&w.patterns[i].parts);
		free(w.patterns[i].base);
		target_clear(&w.patterns[i].target);
	}
	free(w.patterns);
	strvec_clear(&w.named);
	return rc;
}

void rules_clear(struct rules *rules)
{
	for (size_t i = 0; i < rules->n_unseen; i++)
		free(rules->unseen[i].dir);
	free(rules->unseen);
	free(rules->v);
	strvec_clear(&rules->paths);
	*rules = (struct rules){0};
}
