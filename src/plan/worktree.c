#include "plan/worktree.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/alias.h"
#include "plan/resolve.h"

#include <stdlib.h>
#include <string.h>

/* Room for "gitdir: " and a path; what is longer is not looked at. */
enum { LINE_SIZE = 4096 };

struct finder {
	const struct rule *rule; /* the one with `worktree` */
	const struct rules *rules;
	const struct policy *policy;
	const struct tree *tree;
	struct target *paths, *ats; /* what path and at of each rule lead to; empty without one */
};

/* Where a worktree's repository is. */
struct repository {
	char *dir;    /* COMMON/worktrees/NAME */
	char *common; /* COMMON */
};

/* Reading */

/* The line that a small regular file consists of, or NULL with what is wrong with it. */
static char *read_line(const struct tree *tree, const char *path, char **wrong)
{
	char text[LINE_SIZE];
	struct tree_stat st;
	int error = tree_lstat(tree, path, &st);
	ssize_t n = 0;

	if (!error && st.kind == TREE_FILE)
		n = tree_head(tree, path, text, sizeof(text));
	if (error || n < 0) {
		*wrong = xasprintf("%s: %s", path, strerror(error ? -error : (int)-n));
		return NULL;
	}
	if (n == sizeof(text))
		n = 0;
	n -= n && text[n - 1] == '\n';
	for (ssize_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == '\177')
			n = 0;
	if (n == 0) {
		*wrong = xasprintf("%s is no file with one line of text", path);
		return NULL;
	}
	return xstrndup(text, (size_t)n);
}

/* The path that a text means in a directory; it may still hold "..". */
static char *path_in(const char *dir, const char *text)
{
	return *text == '/' ? xstrdup(text) : path_join(dir, text);
}

/* Where the file .git says the repository is, as written; NULL: it is no linked worktree's. */
static char *read_git_file(const struct tree *tree, const char *path, struct repository *repository)
{
	static const char key[] = "gitdir: ";
	CLEANUP_FREE char *wrong = NULL;
	CLEANUP_FREE char *line = read_line(tree, path, &wrong);
	CLEANUP_FREE char *parent = path_parent(path);
	CLEANUP_FREE char *worktrees = NULL;
	char *written;

	if (!line || strncmp(line, key, strlen(key)) != 0)
		return NULL;
	written = path_in(parent, line + strlen(key));
	repository->dir = path_normalize(written);
	worktrees = path_parent(repository->dir);
	repository->common = path_parent(worktrees);
	if (strcmp(path_base(worktrees), "worktrees") == 0 && strcmp(repository->common, "/") != 0)
		return written;
	free(written);
	return NULL;
}

/* What speaks against opening: each gives a reason, or NULL */

/* Whether a path as written leads, through no link, to one that is normal. */
static bool leads_straight(const struct tree *tree, const char *written, const char *path)
{
	struct target t;
	bool straight;

	resolve(tree, written, &t);
	straight = !t.error && !t.n_hops && strcmp(t.path, path) == 0;
	target_clear(&t);
	return straight;
}

static char *wrong_directory(const struct tree *tree, const char *written, const char *dir)
{
	struct target t;
	char *wrong = NULL;

	resolve(tree, written, &t);
	if (t.n_hops)
		wrong = xasprintf("the symbolic link %s leads to %s", t.hops[0].path, dir);
	else if (t.error)
		wrong = xasprintf("%s: %s", dir, strerror(-t.error));
	else if (t.st.kind != TREE_DIR)
		wrong = xasprintf("%s is %s", dir, tree_kind_name(t.st.kind));
	target_clear(&t);
	return wrong;
}

/* The way back: gitdir names the file .git and has no other name by which it could be written. */
static char *wrong_way_back(const struct tree *tree, const char *dir, const char *git_file)
{
	CLEANUP_FREE char *path = path_join(dir, "gitdir");
	CLEANUP_FREE char *back = NULL;
	char *wrong = NULL;
	CLEANUP_FREE char *line = read_line(tree, path, &wrong);
	struct tree_stat st;

	if (!line)
		return wrong;
	if (tree_lstat(tree, path, &st) < 0 || st.nlink != 1)
		return xasprintf("%s has other names (hard links)", path);
	back = path_in(dir, line);
	if (*line == '/' ? strcmp(line, git_file) != 0 : !leads_straight(tree, back, git_file))
		return xasprintf("%s does not name it", path);
	return NULL;
}

static char *wrong_common(const struct tree *tree, const struct repository *repository)
{
	CLEANUP_FREE char *path = path_join(repository->dir, "commondir");
	CLEANUP_FREE char *head = path_join(repository->common, "HEAD");
	char *wrong = NULL;
	CLEANUP_FREE char *line = read_line(tree, path, &wrong);
	struct tree_stat st;

	if (!line)
		return wrong;
	if (strcmp(line, "../..") != 0 && strcmp(line, repository->common) != 0)
		return xasprintf("%s does not name %s", path, repository->common);
	if (tree_lstat(tree, head, &st) < 0 || st.kind != TREE_FILE)
		return xasprintf("%s is no repository: it has no file HEAD", repository->common);
	return NULL;
}

static char *by_rule(const char *path, const char *what, const struct rule *rule)
{
	CLEANUP_FREE char *where = origin_text(&rule->origin);

	return xasprintf("%s %s (%s)", path, what, where);
}

/* A rule may let a command write what is at a path, or move it. */
static char *writable(const struct finder *f, const char *path)
{
	for (size_t i = 0; i < f->rules->n; i++) {
		const struct rule *rule = &f->rules->v[i];

		if ((rule->kind == RULE_PATH || rule->kind == RULE_MOUNT) &&
			rule->access == ACCESS_WRITE && path_within(path, f->paths[i].path))
			return by_rule(path, "can be written by the command", rule);
	}
	return NULL;
}

/* The deepest rule at or above a path does not show the host's object: it denies, or has an `at`,
 * which means nothing for an alias. A link raises nothing, so what came through one takes no deny
 * back. */
static char *hidden(const struct finder *f, const char *path, bool alias)
{
	const struct rule *hiding = NULL;
	unsigned deepest = 0;

	for (size_t i = 0; i < f->rules->n; i++) {
		const struct rule *rule = &f->rules->v[i];
		const struct target *t = rule->at ? &f->ats[i] : &f->paths[i];
		bool shows = !rule->at && rule->access != ACCESS_DENY;

		if ((rule->kind != RULE_PATH && !rule->at) || (alias && rule->at) ||
			(shows && t->n_hops) || !path_within(path, t->path) ||
			path_depth(t->path) < deepest)
			continue;
		if (path_depth(t->path) > deepest)
			hiding = NULL;
		deepest = path_depth(t->path);
		if (!shows)
			hiding = rule;
	}
	return hiding ? by_rule(path, hiding->at ? "is not the host's in the sandbox" : "is denied",
				hiding)
		      : NULL;
}

/* A final rule of an earlier layer keeps what is at a path from this access. */
static char *closed(const struct finder *f, const char *path, enum access access)
{
	for (size_t i = 0; i < f->rules->n; i++) {
		const struct rule *final = &f->rules->v[i];
		bool granted = false;

		if (!final->final || final->origin.layer >= f->rule->origin.layer ||
			access <= final->access || !path_within(path, f->paths[i].path))
			continue;
		for (size_t k = 0; k < final->grants.n; k++)
			granted |= path_within(path, final->grants.v[k]);
		if (!granted)
			return by_rule(path, "is closed by a final rule", final);
	}
	return NULL;
}

static char *own(const struct finder *f, const char *path)
{
	if (path_within(path, "/proc") || path_within(path, "/dev"))
		return xasprintf("%s is the sandbox's own", path);
	for (size_t i = 0; i < f->policy->own.n; i++)
		if (path_within(path, f->policy->own.v[i]) ||
			path_within(f->policy->own.v[i], path))
			return xasprintf("sbx keeps its own files in %s", f->policy->own.v[i]);
	return NULL;
}

/* Why a path, by any name that the host's mount table gives it, may not get an access. */
static char *forbidden(const struct finder *f, const char *path, enum access access)
{
	CLEANUP_STRVEC struct strvec names = {0};
	char *why = NULL;

	strvec_push(&names, path);
	find_aliases(f->tree, path, &names);
	for (size_t i = 0; !why && i < names.n; i++) {
		why = own(f, names.v[i]);
		if (!why)
			why = hidden(f, names.v[i], i > 0);
		if (!why)
			why = closed(f, names.v[i], access);
	}
	return why;
}

/* Why what has to stay as it is, by any of its names, may be what a command has written. */
static char *forgeable(const struct finder *f, const char *path)
{
	CLEANUP_STRVEC struct strvec names = {0};
	char *why = NULL;

	strvec_push(&names, path);
	find_aliases(f->tree, path, &names);
	for (size_t i = 0; !why && i < names.n; i++)
		why = writable(f, names.v[i]);
	return why;
}

/* What a commit writes, if it is there, and what must stay as it is all the same. */
static void list_paths(
	const struct tree *tree, const struct repository *repository, struct worktree *out)
{
	static const char *const shared[] = {"objects", "refs", "logs"};
	static const char *const kept[] = {"gitdir", "commondir", "config.worktree", "modules"};

	strvec_push(&out->write, repository->dir);
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
		CLEANUP_FREE char *path = path_join(repository->common, shared[i]);
		struct tree_stat st;

		if (tree_lstat(tree, path, &st) == 0 && st.kind == TREE_DIR)
			strvec_push(&out->write, path);
	}
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		strvec_take(&out->read, path_join(repository->dir, kept[i]));
}

/* What other rules have against what is to be opened. */
static char *contradicted(const struct finder *f, const struct worktree *worktree)
{
	char *why = NULL;

	for (size_t i = 0; !why && i < worktree->read.n; i++)
		why = forgeable(f, worktree->read.v[i]);
	for (size_t i = 0; !why && i < worktree->write.n; i++)
		why = forbidden(f, worktree->write.v[i], ACCESS_WRITE);
	for (size_t i = 0; !why && i < worktree->read.n; i++)
		why = forbidden(f, worktree->read.v[i], ACCESS_READ);
	return why;
}

/* The whole */

/* Fills out with what the repository of a linked worktree needs, or says why that is not opened. */
static char *open_repository(const struct finder *f, const struct target *git_file,
	const char *written, const struct repository *repository, struct worktree *out)
{
	char *why = NULL;

	if (git_file->n_hops)
		return xasprintf("the symbolic link %s leads to it", git_file->hops[0].path);
	why = wrong_directory(f->tree, written, repository->dir);
	if (!why)
		why = wrong_way_back(f->tree, repository->dir, git_file->path);
	if (!why)
		why = wrong_common(f->tree, repository);
	if (!why) {
		list_paths(f->tree, repository, out);
		why = contradicted(f, out);
	}
	return why;
}

static void find(const struct finder *f, const struct target *git_file, struct worktree *out,
	struct strvec *notes)
{
	struct repository repository = {0};
	CLEANUP_FREE char *written = read_git_file(f->tree, git_file->path, &repository);
	CLEANUP_FREE char *why = forbidden(f, git_file->path, ACCESS_READ);
	bool held = !why;

	if (written && !why)
		why = open_repository(f, git_file, written, &repository, out);
	if (why)
		worktree_clear(out);
	if (written && why)
		strvec_pushf(notes, "the repository of %s is not opened: %s", f->rule->path, why);
	if (held)
		strvec_push(&out->read, f->rule->path);
	free(repository.dir);
	free(repository.common);
}

/* What path, or at, of each rule leads to. */
static struct target *find_targets(const struct finder *f, bool at)
{
	struct target *targets = xcalloc(f->rules->n, sizeof(*targets));

	for (size_t i = 0; i < f->rules->n; i++) {
		const char *path = at ? f->rules->v[i].at : f->rules->v[i].path;

		if (path)
			resolve(f->tree, path, &targets[i]);
	}
	return targets;
}

void worktree_find(struct worktree *out, const struct rule *rule, const struct rules *rules,
	const struct policy *policy, const struct tree *tree, struct strvec *notes)
{
	struct finder f = {.rule = rule, .rules = rules, .policy = policy, .tree = tree};
	struct target git_file;

	*out = (struct worktree){0};
	resolve(tree, rule->path, &git_file);
	if (!git_file.error && !git_file.into_proc && git_file.st.kind == TREE_FILE) {
		f.paths = find_targets(&f, false);
		f.ats = find_targets(&f, true);
		find(&f, &git_file, out, notes);
		for (size_t i = 0; i < rules->n; i++) {
			target_clear(&f.paths[i]);
			target_clear(&f.ats[i]);
		}
		free(f.paths);
		free(f.ats);
	}
	target_clear(&git_file);
}

void worktree_clear(struct worktree *worktree)
{
	strvec_clear(&worktree->read);
	strvec_clear(&worktree->write);
}
