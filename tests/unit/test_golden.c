/*
 * Golden cases: tests/golden/NAME.case holds a policy, a tree and the plan (or the error) they lead
 * to. Sections begin with "== NAME": policy, tree, context (lines "home /x", "cwd /x", "proc bind",
 * "view": the plan section is what sbx-plan --format tree prints; optional), plan. What a plan holds
 * is put into the tree before it is made anew. SBX_GOLDEN_WRITE=1 writes what came out as the new plan
 * section, to be read before it is committed. Every plan is proven as well.
 */
#include "base/mem.h"
#include "cmd/outline.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/plan.h"
#include "plan/proof.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct golden {
	char *text;
	char *policy, *tree, *context, *plan; /* inside text; each ends at the next section */
};

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;

	if (!file || getdelim(&text, &size, '\0', file) < 0) {
		perror(path);
		exit(1);
	}
	fclose(file);
	return text;
}

static void split(struct golden *g)
{
	char *p = g->text;

	g->policy = g->tree = g->context = g->plan = strchr(g->text, '\0');
	while ((p = strstr(p, "== "))) {
		char *body = strchr(p, '\n') + 1;

		if (p != g->text)
			p[-1] = '\0';
		if (strncmp(p, "== policy", 9) == 0)
			g->policy = body;
		else if (strncmp(p, "== tree", 7) == 0)
			g->tree = body;
		else if (strncmp(p, "== context", 10) == 0)
			g->context = body;
		else if (strncmp(p, "== plan", 7) == 0)
			g->plan = body;
		p = body;
	}
}

static void print_op(FILE *out, const struct op *op)
{
	fputs(op_kind_name(op->kind), out);
	if (op->kind == OP_TMPFS || op->kind == OP_DIR || op->kind == OP_DENY_DIR)
		fprintf(out, " %04o", op->mode);
	if (op->kind == OP_DENY_DIR && op->scaffold)
		fputs(" scaffold", out);
	if (op->size)
		fprintf(out, " size=%lluM", (unsigned long long)op->size >> 20);
	fprintf(out, " %s", op->dest);
	if (op->source && strcmp(op->source, op->dest) != 0)
		fprintf(out, "%s%s", op->kind == OP_SYMLINK ? " -> " : " from ", op->source);
	if (op->kind == OP_FILE)
		fprintf(out, " %zu bytes", op->data_len);
	putc('\n', out);
}

/* Makes the plan, again as long as it wants missing names to be held. */
static int make_held(struct plan *plan, const struct policy *policy, struct tree **tree,
	char **tree_text, const struct plan_request *request, struct err *err)
{
	char *held;

	while (plan_make(plan, policy, *tree, request, err) == 0) {
		held = faketree_hold(*tree_text, &plan->hold);
		if (!held)
			return 0;
		plan_clear(plan);
		faketree_free(*tree);
		free(*tree_text);
		*tree_text = held;
		*tree = faketree_parse(held);
	}
	return -1;
}

static void print_view(FILE *out, const struct plan *plan, const struct tree *tree)
{
	struct explain_user user = {tree->uid, tree->uid, NULL, 0};
	struct explainer e;

	explainer_init(&e, plan, tree, &user, false);
	outline_print(out, &e, false);
	explainer_clear(&e);
}

/* What policy and tree lead to, as the plan section has it. */
static char *outcome(const struct golden *g, const char *name)
{
	char home[256] = "/home/me", cwd[256] = "/home/me/proj", proc[16] = "fresh";
	struct policy_context context = {.home = home, .cwd = cwd};
	struct plan_request request = {.cwd = cwd};
	CLEANUP_FREE char *tree_text = xstrdup(g->tree);
	struct tree *tree = faketree_parse(tree_text);
	struct policy policy = {0};
	struct plan plan = {0};
	struct err err = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool view = false;

	for (const char *line = g->context; line && *line; line = strchr(line, '\n')) {
		line += strspn(line, "\n");
		sscanf(line, "home %255s", home);
		sscanf(line, "cwd %255s", cwd);
		sscanf(line, "proc %15s", proc);
		view |= strncmp(line, "view", 4) == 0;
	}
	request.proc = strcmp(proc, "bind") == 0 ? PROC_BIND : PROC_FRESH;
	if (policy_load_text(
		    &policy, g->policy, strlen(g->policy), "test.json", NULL, &context, &err) < 0 ||
		make_held(&plan, &policy, &tree, &tree_text, &request, &err) < 0) {
		fprintf(out, "error: %s\nat: %s\nhint: %s\n", err.message, err.at, err.hint);
	} else {
		for (size_t i = 0; i < plan.n && !view; i++)
			print_op(out, &plan.ops[i]);
		if (view)
			print_view(out, &plan, tree);
		for (size_t i = 0; i < plan.hold.n; i++)
			fprintf(out, "hold: %s\n", plan.hold.v[i]);
		for (size_t i = 0; i < plan.notes.n && !view; i++)
			fprintf(out, "note: %s\n", plan.notes.v[i]);
		if (!ok(proof_check(&plan, &policy, tree, &err) == 0, "%s: proven", name))
			diag("%s (%s)", err.message, err.at);
	}
	fclose(out);
	plan_clear(&plan);
	policy_clear(&policy);
	faketree_free(tree);
	return text;
}

static void rewrite(const char *path, const char *plan)
{
	CLEANUP_FREE char *old = read_file(path);
	char *section = strstr(old, "== plan\n");
	FILE *file = fopen(path, "we");

	fprintf(file, "%.*s== plan\n%s", section ? (int)(section - old) : (int)strlen(old), old,
		plan);
	fclose(file);
}

int main(int argc, char **argv)
{
	glob_t found;

	if (argc > 1)
		glob(argv[1], 0, NULL, &found);
	else
		glob("tests/golden/*.case", 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = strrchr(found.gl_pathv[i], '/') + 1;
		struct golden g = {.text = read_file(found.gl_pathv[i])};
		CLEANUP_FREE char *plan = NULL;

		split(&g);
		plan = outcome(&g, name);
		if (getenv("SBX_GOLDEN_WRITE"))
			rewrite(found.gl_pathv[i], plan);
		else
			is_str(plan, g.plan, "%s", name);
		free(g.text);
	}
	ok(found.gl_pathc >= 1, "%zu cases", found.gl_pathc);
	globfree(&found);
	return done_testing();
}
