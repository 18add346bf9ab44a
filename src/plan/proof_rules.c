#include "plan/proof_parts.h"

#include "base/mem.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

const char *proof_rule_words(const struct rule *rule)
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

const char *proof_rule_place(const struct rule *rule)
{
	return rule->at ? rule->at : rule->path ? rule->path : "";
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

	if (rule->type == TYPE_ANY || view_walk(&pr->host, path, &links, &object) != 0 ||
		tree_lstat(pr->tree, object, &st) < 0)
		return false;
	return st.kind != (rule->type == TYPE_DIRECTORY ? TREE_DIR : TREE_FILE);
}

void proof_add_rule(struct proof *pr, const struct rule *rule, const char *path)
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
		const char *next = pattern_after(pattern, view_depth(at->rest));

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
		const char *p = any ? pattern : pattern_after(pattern, view_depth(at->rest));

		for (; *p; p = any ? p + part_length(p) : "") {
			CLEANUP_FREE char *plain = plain_part(p);

			if (!is_wild(p) && !strvec_has(names, plain + 1))
				strvec_push(names, plain + 1);
		}
	}
}

const struct tree_mount *proof_mount_of(const struct proof *pr, const char *path, char **in_fs)
{
	size_t n;
	const struct tree_mount *mounts = tree_mounts(pr->tree, &n), *own = NULL;

	for (size_t i = 0; i < n; i++)
		if (view_tail(path, mounts[i].at) &&
			(!own || strlen(mounts[i].at) >= strlen(own->at)))
			own = &mounts[i];
	if (own)
		*in_fs = view_graft(own->root, view_tail(path, own->at));
	return own;
}

bool proof_same_object(const struct proof *pr, const char *a, const char *b)
{
	struct tree_stat x, y;

	return tree_lstat(pr->tree, a, &x) == 0 && tree_lstat(pr->tree, b, &y) == 0 &&
	       x.dev == y.dev && x.ino == y.ino;
}

void proof_other_names(const struct proof *pr, const char *path, struct strvec *names)
{
	size_t n;
	const struct tree_mount *mounts = tree_mounts(pr->tree, &n);
	CLEANUP_FREE char *in_fs = NULL;
	const struct tree_mount *own = proof_mount_of(pr, path, &in_fs);

	for (size_t i = 0; own && i < n; i++) {
		const struct tree_mount *m = &mounts[i];
		const char *above = view_tail(in_fs, m->root), *below = view_tail(m->root, in_fs);

		if (m == own || m->dev != own->dev || (!above && !below))
			continue;
		CLEANUP_FREE char *name = view_graft(m->at, above ? above : "");
		CLEANUP_FREE char *part = view_graft(path, above ? "" : below);

		if (strcmp(name, path) != 0 && proof_same_object(pr, part, name))
			strvec_push(names, name);
	}
}

/* Whether another mount of the host's table shows an object, or a part of it. */
static bool has_other_name(const struct proof *pr, const char *path)
{
	size_t n;
	const struct tree_mount *mounts = tree_mounts(pr->tree, &n);
	CLEANUP_FREE char *in_fs = NULL;
	const struct tree_mount *own = proof_mount_of(pr, path, &in_fs);

	for (size_t i = 0; own && i < n; i++)
		if (&mounts[i] != own && mounts[i].dev == own->dev &&
			(view_tail(in_fs, mounts[i].root) || view_tail(mounts[i].root, in_fs)))
			return true;
	return false;
}

/* Places that no pattern matches. */
static bool is_own_place(const char *name)
{
	return view_tail(name, "/proc") || view_tail(name, "/dev") || strcmp(name, "/tmp") == 0 ||
	       !name[1];
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
			view_walk(&pr->host, paths[k], &links, &end);
			if (view_tail(paths[k], name) || view_tail(end, name) ||
				view_tail(end, host))
				return false;
		}
	}
	return denied && !has_other_name(pr, host);
}

void proof_cut_to_closed(const struct proof *pr, char *path)
{
	struct tree_stat st;

	while (tree_lstat(pr->tree, path, &st) < 0)
		view_cut_last(path);
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
	CLEANUP_FREE char *host = view_entry(at->host, entry_name, strlen(entry_name));
	CLEANUP_FREE char *name = view_entry(at->name, entry_name, strlen(entry_name));
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
			proof_add_rule(pr, pattern->rule, name);
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

	if (view_tail(at->host, "/proc") || view_tail(at->host, "/dev"))
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

		view_walk(&pr->host, above, &links, &end);
		straight = view_graft(end, name + n);
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
	int error = view_walk(&pr->host, start, &links, &host);

	if (!comes_to(pr, host, start))
		return;
	at.host = host;
	for (size_t i = 0; i < pr->policy->n_rules; i++) {
		const struct rule *rule = &pr->policy->rules[i];
		CLEANUP_FREE char *own = rule->pattern ? plain_start(rule->path) : NULL;

		if (!own || strcmp(own, start) != 0)
			continue;
		patterns[at.n++] =
			(struct sought){rule, pattern_after(rule->path, view_depth(start))};
		if (!error && !is_own_place(start) && matches(rule->path, start, true, false))
			proof_add_rule(pr, rule, start);
	}
	if (error == -EACCES) {
		proof_cut_to_closed(pr, host);
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

	view_walk(&pr->host, rule->path, &links, &end);
	counts = view_strictly_below(object, end) && (rule->access == ACCESS_DENY || !links.n);
	return counts ? view_depth(end) + 1 : 0;
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
		view_walk(&pr->host, pr->rules[i]->path, &links, &object);
		strvec_push(&names, object);
		proof_other_names(pr, object, &names);
		for (size_t k = 0; k < names.n; k++)
			denied[i] |= denied_later(pr, pr->rules[i], names.v[k]);
	}
	for (size_t i = 0; i < pr->n_rules; i++)
		if (denied[i])
			pr->rules[i]->access = ACCESS_DENY;
}

/* All of them */

/* By path; of one path the rule that holds first: of the latest layer, then one without a pattern,
 * then the lowest access. */
static int rule_order(const void *a, const void *b)
{
	const struct rule *x = *(struct rule *const *)a, *y = *(struct rule *const *)b;
	int order = strcmp(proof_rule_place(x), proof_rule_place(y));

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
		for (size_t j = i; j-- > 0 && strcmp(proof_rule_place(pr->rules[j]),
						      proof_rule_place(pr->rules[i])) == 0;)
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

void proof_make_rules(struct proof *pr)
{
	CLEANUP_STRVEC struct strvec starts = {0};

	for (size_t i = 0; i < pr->policy->n_rules; i++) {
		const struct rule *rule = &pr->policy->rules[i];
		CLEANUP_FREE char *start = rule->pattern ? plain_start(rule->path) : NULL;

		if (!start && !rule->worktree)
			proof_add_rule(pr, rule, rule->path);
		else if (start && !strvec_has(&starts, start))
			strvec_push(&starts, start);
	}
	for (size_t i = 0; i < starts.n; i++)
		search_from(pr, starts.v[i]);
	deny_later(pr);
	proof_add_worktrees(pr);
	drop_replaced(pr);
}
