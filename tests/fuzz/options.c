/* Command lines: the first line says whose, the others are a word each. */
#include "fuzz/fuzz.h"
#include "cmd/options.h"
#include "policy/policy.h"

#define MAX_WORDS 64

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy_context context = {.home = "/home/u", .cwd = "/srv/project"};
	CLEANUP_FREE char *text = xcalloc(size + 1, 1), *answer = NULL, *null = NULL;
	char name[] = "sbx", *argv[MAX_WORDS + 1] = {name}, *next = text, *word;
	struct options options = {0};
	struct policy policy = {0};
	struct strvec no_policies = {0};
	FILE *out = stdout;
	int argc = 1, rc;
	size_t n;
	struct err err = {0};
	enum tool tool;

	if (size)
		memcpy(text, data, size);
	tool = (enum tool)(1 << (unsigned char)*text % 9);
	strsep(&next, "\n");
	while (next && argc < MAX_WORDS && (word = strsep(&next, "\n")))
		argv[argc++] = word;
	/* --help goes nowhere. */
	stdout = open_memstream(&null, &n);
	rc = options_parse(&options, tool, argc, argv, &err);
	fclose(stdout);
	stdout = out;
	if (rc == 0) {
		if (options.flags) {
			CLEANUP_FREE char *flags = json_print(options.flags, false);
			CLEANUP_JSON json *again = json_read(flags, strlen(flags), &err);

			PROMISE(again, "%s: %s", err.message, flags);
			if (policy_load(&policy, &no_policies, options.flags, &options.flag_names,
				    &context, &err) < 0)
				PROMISE(*err.message, "refused without a word: %s", flags);
			policy_clear(&policy);
		}
		PROMISE(!options.n_command || !options.command[options.n_command], "no end");
	} else if (rc < 0) {
		PROMISE(*err.message && err.kind == ERR_USAGE, "'%s', kind %d", err.message,
			err.kind);
	}
	options_clear(&options);
	return 0;
}
