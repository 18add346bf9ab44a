/* One pattern (the first line) on a tree: it matches what a search of the tests' own finds, and
 * nothing else. The tree is of the bytes that follow. */
#include "fuzz/fuzz.h"
#include "lib/faketree.h"
#include "lib/world.h"
#include "plan/glob.h"
#include "policy/value.h"

#include <fnmatch.h>

/* Patterns of which POSIX, or the walk's own rules, say more than the search knows. */
static bool is_beyond(const char *pattern)
{
	return strstr(pattern, "[[") || strstr(pattern, "[:") || strstr(pattern, "[.") ||
	       strstr(pattern, "[=");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_context context = {.home = "/home/u", .cwd = "/srv"};
	const uint8_t *newline = size ? memchr(data, '\n', size) : NULL;
	size_t len = newline ? (size_t)(newline - data) : size;
	CLEANUP_FREE char *line = xstrndup((const char *)data, len), *document = NULL;
	struct bytes bytes = {data + len, size - len};
	CLEANUP_STRVEC struct strvec notes = {0};
	CLEANUP_JSON json *root = json_new_object();
	struct policy policy = {0};
	struct rules rules = {0};
	struct world world;
	struct err err = {0};
	struct tree *tree;

	world_make(&world, &bytes, true);
	tree = faketree_parse(world.tree);
	json_add_number(root, "sbx", 1);
	json_add_string(
		json_add(json_add(root, "filesystem", json_new_object()), "read", json_new_array()),
		NULL, line);
	document = json_print(root, false);
	if (policy_load_text(&policy, document, strlen(document), "p", NULL, &context, &err) == 0 &&
		rules_make(&rules, &policy, tree, GLOB_MAX_ENTRIES, &notes, &err) == 0) {
		const char *pattern = NULL;

		for (size_t i = 0; i < policy.n_rules; i++)
			if (policy.rules[i].pattern)
				pattern = policy.rules[i].path;
		for (size_t i = 0; pattern && !is_beyond(pattern) && i < world.paths.n; i++) {
			const char *path = world.paths.v[i];
			bool matched = false, want;
			struct tree_stat st;

			tree_lstat(tree, path, &st);
			want = pattern_matches(pattern, path, st.kind == TREE_DIR);
			for (size_t k = 0; k < rules.n; k++)
				matched |= rules.v[k].pattern && strcmp(rules.v[k].path, path) == 0;
			PROMISE(matched == want, "%s %s %s:\n%s", pattern,
				matched ? "matches" : "does not match", path, world.tree);
		}
	}
	rules_clear(&rules);
	policy_clear(&policy);
	faketree_free(tree);
	world_clear(&world);
	return 0;
}
