/* The reader's half of the documents that it and docs/sbx-policy.schema.json have to agree on; the
 * schema's is tests/integration/policy-schema.t. */
#include "base/mem.h"
#include "lib/tap.h"
#include "policy/policy.h"

#include <stdio.h>
#include <string.h>

int main(void)
{
	static const struct policy_context context = {.home = "/home/u", .cwd = "/home/u/src"};
	FILE *in = fopen("tests/schema/documents", "r");
	CLEANUP_FREE char *line = NULL;
	size_t size = 0;

	if (!ok(in != NULL, "the documents can be read"))
		return done_testing();
	while (getline(&line, &size, in) > 0) {
		char *text = strchr(line, '\t'), *end;
		struct policy policy;
		struct err err = {0};
		bool accepted;

		if (*line == '#')
			continue;
		*text++ = '\0';
		end = text + strcspn(text, "\t\n");
		accepted = policy_load_text(&policy, text, (size_t)(end - text), "test.json", "/p",
				   &context, &err) == 0;
		ok(accepted == (strcmp(line, "both accept") == 0), "the reader on what %s: %.*s",
			line, (int)(end - text), text);
		if (!accepted && strcmp(line, "both accept") == 0)
			diag("%s: %s", err.at, err.message);
		policy_clear(&policy);
	}
	fclose(in);
	return done_testing();
}
