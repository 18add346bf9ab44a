/* Linked worktrees: own reading of git's files. The file .git of a checkout is believed only as far
 * as the repository that it names, where no rule writes, says the same of it. */
#include "plan/proof_parts.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

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

	if (view_walk(&pr->host, path, &links, &object) == 0 && !links.n)
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

	view_cut_last(parent);
	if (!line || strncmp(line, "gitdir: ", 8) != 0)
		return NULL;
	dir = object_named(pr, parent, line + 8);
	above = xstrdup(dir ? dir : "/");
	view_cut_last(above);
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
	CLEANUP_FREE char *back = view_graft(dir, "/gitdir");
	CLEANUP_FREE char *commondir = view_graft(dir, "/commondir");
	CLEANUP_FREE char *head = view_graft(common, "/HEAD");
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
			rule->access == ACCESS_WRITE && view_tail(path, co->leads[i].object))
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
			!view_tail(path, co->leads[i].place))
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
			     rule->access < access && view_tail(path, co->leads[i].object);

		for (size_t j = 0; binds && j < rule->grants.n; j++)
			binds = !view_tail(path, rule->grants.v[j]);
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
	proof_other_names(pr, path, &names);
	for (size_t i = 0; i < names.n; i++) {
		const char *name = names.v[i];

		kept |= view_tail(name, "/proc") || view_tail(name, "/dev") ||
			is_hidden(pr, co, name, i > 0) || is_final(pr, co, name, access);
		for (size_t j = 0; j < pr->policy->own.n; j++)
			kept |= view_tail(name, pr->policy->own.v[j]) ||
				view_tail(pr->policy->own.v[j], name);
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
	proof_add_rule(pr, &rule, path);
}

/* The paths of a repository that a commit writes, and those that stay as they are. */
static void repository_paths(const struct proof *pr, const char *dir, const char *common,
	struct strvec *write, struct strvec *read)
{
	static const char *const shared[] = {"/objects", "/refs", "/logs"};
	static const char *const kept[] = {"/gitdir", "/commondir", "/config.worktree", "/modules"};

	strvec_push(write, dir);
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		CLEANUP_FREE char *path = view_graft(common, shared[i]);

		if (is_kind(pr, path, TREE_DIR))
			strvec_push(write, path);
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		strvec_take(read, view_graft(dir, kept[i]));
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
		proof_other_names(pr, read.v[i], &kept);
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

	if (view_walk(&pr->host, co->rule->path, &links, &git_file) != 0 ||
		!is_kind(pr, git_file, TREE_FILE) || is_kept(pr, co, git_file, ACCESS_READ))
		return;
	add_derived(pr, co->rule, co->rule->path, ACCESS_READ);
	if (!links.n)
		open_repository(pr, co, git_file);
}

void proof_add_worktrees(struct proof *pr)
{
	struct checkout co = {.n = pr->n_rules};
	struct lead *leads = xcalloc(co.n, sizeof(*leads));

	co.leads = leads;
	for (size_t i = 0; i < co.n; i++) {
		const struct rule *rule = pr->rules[i];
		CLEANUP_STRVEC struct strvec links = {0}, to_object = {0};

		view_walk(&pr->host, proof_rule_place(rule), &links, &leads[i].place);
		view_walk(&pr->host, rule->path ? rule->path : rule->at, &to_object,
			&leads[i].object);
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
