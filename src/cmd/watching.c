#include "cmd/watching.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/glob.h"
#include "plan/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Notes about new repositories; more are counted. */
#define MAX_REPOSITORIES 20
/* Names that the command has made and the search for them looks at: half a second or so. */
#define MAX_NEW_ENTRIES 20000

/* Mounts */

/* What has to stand at a mount's place when all is mounted; false for what is no mount. */
static bool expect(const struct op *op, const struct tree *tree, struct expected_mount *m)
{
	const char *source = op->kind == OP_DENY_FILE ? "/dev/null" : op->source;
	struct tree_stat st;

	*m = (struct expected_mount){.dest = op->dest};
	switch (op->kind) {
	case OP_DIR:
	case OP_SYMLINK:
	case OP_SEAL:
		return false;
	case OP_DENY_DIR:
		m->read_only = true;
		return !op->scaffold;
	case OP_TMPFS:
	case OP_PROC:
	case OP_DEV:
	case OP_MQUEUE:
		return true;
	case OP_FILE:
		m->read_only = true;
		return true;
	case OP_BIND_READ:
	case OP_DENY_FILE:
		m->read_only = true;
		break;
	case OP_BIND_WRITE:
	case OP_DEV_BIND:
		break;
	}
	/* The /proc around bwrap is another than the one that was planned on. */
	m->object = !path_within(source, "/proc") && tree_lstat(tree, source, &st) == 0;
	if (m->object) {
		m->dev = st.dev;
		m->ino = st.ino;
	}
	return true;
}

/* Whether the host could take a mount away: it stands on a name of a bind. */
static void find_over(const struct plan *plan, const struct op *op, const struct tree *tree,
	struct expected_mount *m)
{
	const struct op *over = plan_op_at(plan, op->dest, true);
	struct tree_stat st;

	if (!over || !op_is_bind(over))
		return;
	m->over = over->dest;
	m->name = path_join(over->source, path_below(op->dest, over->dest));
	m->rule = origin_text(&op->why->origin);
	/* Programs end, take their sockets away, and make them anew. */
	m->passing = op->why->socket;
	m->lost_report = op->why->socket || op->why->lost_report;
	/* What is replaced by those that may is gone, and what takes its place is covered. */
	m->named = !m->lost_report && tree_lstat(tree, m->name, &st) == 0;
	if (m->named) {
		m->name_dev = st.dev;
		m->name_ino = st.ino;
	}
}

static void expect_mounts(struct watch_spec *out, const struct plan *plan, const struct tree *tree)
{
	out->mounts = xcalloc(plan->n, sizeof(*out->mounts));
	for (size_t i = 0; i < plan->n; i++) {
		const struct op *op = &plan->ops[i];

		if (op->kind == OP_SEAL) {
			for (size_t k = 0; k < out->n_mounts; k++)
				if (strcmp(out->mounts[k].dest, op->dest) == 0)
					out->mounts[k].read_only = true;
		} else if (expect(op, tree, &out->mounts[out->n_mounts])) {
			find_over(plan, op, tree, &out->mounts[out->n_mounts++]);
		}
	}
}

/* Names */

/* The bind that shows a host path, by whatever name; one that can be written rather than another.
 * NULL: none does. */
static const struct op *shown_by(const struct plan *plan, const char *path)
{
	const struct op *found = NULL;

	for (size_t i = 0; i < plan->n; i++) {
		const struct op *op = &plan->ops[i];

		if (!op_is_bind(op) || strcmp(path, op->source) == 0 ||
			!path_within(path, op->source))
			continue;
		CLEANUP_FREE char *at = path_join(op->dest, path_below(path, op->source));

		if (plan_op_at(plan, at, false) == op && (!found || op->kind == OP_BIND_WRITE))
			found = op;
	}
	return found;
}

static void add_name(struct watch_spec *out, size_t *alloc, const struct op *op,
	const struct tree *tree, const struct rule *rule, const char *path, const char *link)
{
	bool writable = op->kind == OP_BIND_WRITE;
	CLEANUP_FREE char *dir = path_parent(path);
	struct tree_stat st;

	GROW(out->names, out->n_names, *alloc);
	out->names[out->n_names++] = (struct watch_name){
		.at = path_join(op->dest, path_below(path, op->source)),
		.in = op->dest,
		.path = xstrdup(path),
		.rule = origin_text(&rule->origin),
		.link = link ? xstrdup(link) : NULL,
		/* Elsewhere the command cannot have made it. */
		.quarantine = writable && rule->missing == MISSING_QUARANTINE,
		.late = tree_lstat(tree, dir, &st) < 0,
	};
}

/* A protection whose name does not exist, or which goes through a link that can be replaced. */
static void find_names(struct watch_spec *out, size_t *alloc, const struct plan *plan,
	const struct tree *tree, const struct rule *rule)
{
	struct target t;
	const struct op *op;

	if (rule->kind != RULE_PATH || rule->access == ACCESS_WRITE || rule->socket ||
		rule->connect)
		return;
	resolve(tree, rule->path, &t);
	for (size_t i = 0; i < t.n_hops; i++) {
		op = shown_by(plan, t.hops[i].path);
		if (op && op->kind == OP_BIND_WRITE)
			add_name(out, alloc, op, tree, rule, t.hops[i].path, t.hops[i].text);
	}
	/* What is denied would show, what is to be read only could be written. */
	op = t.error == -ENOENT || t.error == -ENOTDIR ? shown_by(plan, t.path) : NULL;
	if (op && (rule->access == ACCESS_DENY || op->kind == OP_BIND_WRITE))
		add_name(out, alloc, op, tree, rule, t.path, NULL);
	target_clear(&t);
}

void watching_make(struct watch_spec *out, const struct prepared *p)
{
	size_t alloc = 0;

	out->user = p->identity.user;
	expect_mounts(out, &p->plan, p->tree);
	for (size_t i = 0; i < p->plan.rules.n; i++)
		find_names(out, &alloc, &p->plan, p->tree, &p->plan.rules.v[i]);
}

void watching_clear(struct watch_spec *watch)
{
	for (size_t i = 0; i < watch->n_mounts; i++) {
		free(watch->mounts[i].name);
		free(watch->mounts[i].rule);
	}
	for (size_t i = 0; i < watch->n_names; i++) {
		free(watch->names[i].at);
		free(watch->names[i].path);
		free(watch->names[i].rule);
		free(watch->names[i].link);
	}
	free(watch->mounts);
	free(watch->names);
	*watch = (struct watch_spec){0};
}

/* Repositories */

/* What has to be in a directory that is a repository. */
static bool is_bare(const struct tree *tree, const char *dir)
{
	static const char *const parts[] = {"objects", "refs"};
	bool bare = strcmp(path_base(dir), ".git") != 0;

	for (size_t i = 0; bare && i < sizeof(parts) / sizeof(*parts); i++) {
		CLEANUP_FREE char *part = path_join(dir, parts[i]);
		struct tree_stat st;

		bare = tree_lstat(tree, part, &st) == 0 && st.kind == TREE_DIR;
	}
	return bare;
}

/* Rules for what shows a repository in each directory, or pattern of such, in whose .git a rule
 * protects something. paths owns theirs. */
static void repository_rules(const struct policy *policy, struct policy *out, struct strvec *paths)
{
	static const char *const marks[] = {"/.git", "/HEAD"};

	*out = (struct policy){.rules = xcalloc(policy->n_rules * 2, sizeof(*out->rules))};
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		const char *end = rule->kind == RULE_PATH && rule->access == ACCESS_READ
					  ? strstr(rule->path, "/.git/")
					  : NULL;

		for (size_t k = 0; end && k < sizeof(marks) / sizeof(*marks); k++) {
			CLEANUP_FREE char *path =
				xasprintf("%.*s%s", (int)(end - rule->path), rule->path, marks[k]);

			if (strvec_has(paths, path))
				continue;
			strvec_push(paths, path);
			out->rules[out->n_rules++] = (struct rule){.kind = RULE_PATH,
				.access = ACCESS_READ,
				.path = paths->v[paths->n - 1],
				.pattern = rule->pattern,
				.optional = true,
				.origin = rule->origin};
		}
	}
}

static int search(const struct prepared *p, const struct tree *tree, size_t max_entries,
	struct strvec *found, size_t *n_entries, struct err *err)
{
	CLEANUP_STRVEC struct strvec paths = {0}, ignored = {0};
	struct policy policy;
	struct rules rules;
	int rc;

	repository_rules(&p->policy, &policy, &paths);
	rc = rules_make(&rules, &policy, tree, max_entries, &ignored, err);
	*n_entries = rules.n_entries;
	for (size_t i = 0; rc == 0 && i < rules.n; i++) {
		const char *path = rules.v[i].path;
		CLEANUP_FREE char *dir = path_parent(path);
		bool bare = strcmp(path_base(path), "HEAD") == 0;
		const struct op *op = shown_by(&p->plan, path);
		struct tree_stat st;

		if (op && op->kind == OP_BIND_WRITE && tree_lstat(tree, path, &st) == 0 &&
			(!bare || is_bare(tree, dir)))
			strvec_push(found, dir);
	}
	rules_clear(&rules);
	free(policy.rules);
	return rc;
}

int find_repositories(
	const struct prepared *p, struct strvec *found, size_t *n_entries, struct err *err)
{
	return search(p, p->tree, GLOB_MAX_ENTRIES, found, n_entries, err);
}

void note_repositories(const struct prepared *p, const struct strvec *before, size_t n_entries,
	struct strvec *notes)
{
	CLEANUP_STRVEC struct strvec now = {0};
	struct tree *tree = tree_live(p->identity.user);
	struct err err;
	size_t n = 0;

	if (search(p, tree, n_entries + MAX_NEW_ENTRIES, &now, &n_entries, &err) < 0)
		strvec_pushf(notes, "new repositories were not looked for: %s", err.message);
	for (size_t i = 0; i < now.n; i++)
		if (!strvec_has(before, now.v[i]) && ++n <= MAX_REPOSITORIES)
			strvec_pushf(notes,
				"the repository %s was made while the command ran: its hooks and "
				"configuration are not protected, and git on the host runs what "
				"they name; look at them first",
				now.v[i]);
	if (n > MAX_REPOSITORIES)
		strvec_pushf(notes, "and %zu more repositories", n - MAX_REPOSITORIES);
	tree_live_free(tree);
}
