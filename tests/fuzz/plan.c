/* A random world: what the planner makes of it, the proof has to prove; then every question about
 * it has an answer, and it can be spelled. */
#include "fuzz/fuzz.h"
#include "lib/faketree.h"
#include "lib/world.h"
#include "plan/bwrap.h"
#include "plan/explain.h"
#include "plan/proof.h"

static void ask(const struct plan *plan, const struct tree *tree, const struct strvec *paths)
{
	struct explain_user user = {tree->uid, tree->uid, NULL, 0};
	struct explainer e;

	explainer_init(&e, plan, tree, &user, false);
	for (size_t i = 0; i < paths->n; i++) {
		struct explanation x = {0};

		explain_path(&e, paths->v[i], &x);
		PROMISE(x.rule, "%s", paths->v[i]);
		explanation_clear(&x);
	}
	explainer_clear(&e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_context context = {.home = "/home/a", .cwd = "/srv"};
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/"};
	struct bwrap_options options = {0};
	struct strvec no_env = {0};
	struct bytes bytes = {data, size};
	struct policy policy = {0};
	struct plan plan = {0};
	struct bwrap_words words = {0};
	struct tree *tree = NULL;
	struct world world;
	struct err err = {0};
	bool made;

	world_make(&world, &bytes, false);
	made = policy_load_text(
		       &policy, world.policy, strlen(world.policy), "p", NULL, &context, &err) == 0;
	/* Some rules are of a second layer: always the same ones. */
	for (size_t i = 0; i < policy.n_rules; i++)
		if (policy.rules[i].kind == RULE_PATH && policy.rules[i].origin.layer)
			policy.rules[i].origin.layer = 1 + strlen(policy.rules[i].path) % 3 / 2;
	for (char *held = made ? xstrdup(world.tree) : NULL; held;) {
		free(world.tree);
		world.tree = held;
		plan_clear(&plan);
		if (tree)
			faketree_free(tree);
		tree = faketree_parse(world.tree);
		PROMISE(tree, "the tree is none:\n%s", world.tree);
		made = plan_make(&plan, &policy, tree, &request, &err) == 0;
		held = made ? faketree_hold(world.tree, &plan.hold) : NULL;
	}
	if (made) {
		PROMISE(proof_check(&plan, &policy, tree, &err) == 0 ||
				world_known_fault(err.message),
			"%s (%s)\n%s\n%s", err.message, err.at, world.tree, world.policy);
		ask(&plan, tree, &world.paths);
		options.env = &no_env;
		if (bwrap_spell(&words, &plan, &policy, &options, 1, &err) == 0)
			bwrap_words_clear(&words);
	} else {
		PROMISE(*err.message, "refused without a word\n%s\n%s", world.tree, world.policy);
	}
	plan_clear(&plan);
	policy_clear(&policy);
	if (tree)
		faketree_free(tree);
	world_clear(&world);
	return 0;
}
