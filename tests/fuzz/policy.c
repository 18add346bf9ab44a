/* Policy texts, one layer or two (a line "==" between): what is refused is refused with a message,
 * and what is accepted is a policy as policy/policy.h describes it, the same each time. */
#include "fuzz/fuzz.h"
#include "base/path.h"
#include "policy/merge.h"

static const struct policy_context context = {
	.home = "/home/u", .cwd = "/srv/project", .config_home = "/home/u/.config"};

static void check_rules(const struct policy *p)
{
	unsigned roots = 0;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *r = &p->rules[i];
		const char *paths[] = {r->path, r->at};
		CLEANUP_FREE char *said = rule_text(r);

		roots += r->kind == RULE_ROOT;
		for (size_t k = 0; k < 2; k++) {
			CLEANUP_FREE char *normal = paths[k] ? path_normalize(paths[k]) : NULL;

			PROMISE(!normal || strcmp(normal, paths[k]) == 0, "%s: %s", said, paths[k]);
		}
		PROMISE(r->origin.file, "%s comes from nowhere", said);
	}
	PROMISE(roots == 1, "%u", roots);
	PROMISE(p->n_rules <= MERGE_MAX_RULES + 8, "%zu", p->n_rules);
}

static void make_environment(const struct policy *p)
{
	static const char *const texts[] = {
		"HOME=/root", "LC_ALL=C", "PATH=/bin", "A=1", "no", "=x"};
	CLEANUP_STRVEC struct strvec caller = {0};
	CLEANUP_STRVEC struct strvec env = {0}, notes = {0};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		strvec_push(&caller, texts[i]);
	policy_environment(p, strvec_argv(&caller), &context, false, &env, &notes);
	for (size_t i = 0; i < env.n; i++) {
		size_t len = strcspn(env.v[i], "=");

		PROMISE(env.v[i][len] == '=' && len, "%s", env.v[i]);
		for (size_t k = 0; k < i; k++)
			PROMISE(strncmp(env.v[i], env.v[k], len + 1) != 0, "%s twice", env.v[i]);
	}
}

/* Both parts as layers of one policy, as a policy and the command line are. */
static int merge_two(struct policy *p, char *const *parts, const size_t *lens, struct err *err)
{
	struct merge merge = {.policy = p};
	int rc = 0;

	for (unsigned i = 0; i < 2 && rc == 0; i++) {
		struct layer_source source = {.file = i ? "two" : "one", .dir = "/etc/sbx"};
		CLEANUP_JSON json *document = json_read(parts[i], lens[i], err);
		struct layer layer = {0};

		rc = document ? layer_read(&layer, document, &source, &context, err) : -1;
		for (size_t k = 0; rc == 0 && k < layer.policy.n_rules; k++)
			layer.policy.rules[k].origin.layer = i + 1;
		if (rc == 0)
			rc = merge_layer(&merge, &layer, &context, err);
		layer_clear(&layer);
	}
	if (rc == 0)
		rc = merge_finish(&merge, &context, err);
	merge_clear(&merge);
	return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t lens[2], first = 0;
	char *parts[2] = {next_part(&data, &size, &lens[0]), next_part(&data, &size, &lens[1])};

	for (int round = 0; round < 2; round++) {
		struct policy policy = {0};
		struct err err = {0};
		int rc = lens[1] ? merge_two(&policy, parts, lens, &err)
				 : policy_load_text(&policy, parts[0], lens[0], "file", "/etc/sbx",
					   &context, &err);

		if (rc == 0) {
			check_rules(&policy);
			make_environment(&policy);
		} else {
			PROMISE(*err.message && err.kind == ERR_POLICY, "'%s', kind %d",
				err.message, err.kind);
			PROMISE(lens[1] || !policy.n_rules, "a refused policy has rules");
		}
		PROMISE(!round || first == policy.n_rules, "%zu rules, then %zu", first,
			policy.n_rules);
		first = policy.n_rules;
		policy_clear(&policy);
	}
	free(parts[0]);
	free(parts[1]);
	return 0;
}
