/* The image that a policy is for, and the one that it is used in. */
#include "base/mem.h"
#include "lib/tap.h"
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/sbx-test-image-XXXXXX";
static char *file;

/* With text NULL there is no file. */
static void check(const char *name, const char *image, char *const *caller, const char *text,
	const char *want)
{
	CLEANUP_FREE char *policy_text = xasprintf("{\"sbx\": 1, \"image\": %s}", image);
	struct policy_context context = {.home = "/h", .cwd = "/w"};
	CLEANUP_FREE char *got = NULL;
	struct policy policy;
	struct err err = {0};
	int rc;

	unlink(file);
	if (text) {
		FILE *out = fopen(file, "we");

		fputs(text, out);
		fclose(out);
	}
	policy_load_text(&policy, policy_text, strlen(policy_text), "p", NULL, &context, &err);
	rc = policy_check_image(&policy, caller, file, &err);
	got = rc < 0 ? xasprintf("%s: %s", err.at, err.message) : xstrdup("good");
	if (!ok(strstr(got, want) != NULL && (rc == 0) == (strcmp(want, "good") == 0), "%s", name))
		diag("%s", got);
	policy_clear(&policy);
}

#define BOTH "{\"build\": \"1\", \"base\": \"b\"}"

int main(void)
{
	char *none[] = {NULL};
	char *env[] = {(char[]){"SBX_IMAGE_BUILD=1"}, (char[]){"SBX_IMAGE_BASE=b"}, NULL};
	char *other[] = {(char[]){"SBX_IMAGE_BUILD=2"}, (char[]){"SBX_IMAGE_BASE=b"}, NULL};
	char *empty[] = {(char[]){"SBX_IMAGE_BASE="}, (char[]){"SBX_IMAGE_BUILD=1"}, NULL};

	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	file = xasprintf("%s/image.json", folder);
	check("an image that nothing says anything of", BOTH, none, NULL, "good");
	check("any image", "{}", other, "no JSON", "good");
	check("the right one, by variables", BOTH, env, "no JSON", "good");
	check("another build, by a variable", BOTH, other, NULL,
		"p: /image/build: the image's build is \"2\" (SBX_IMAGE_BUILD), and the policy "
		"wants "
		"\"1\"");
	check("only the base is asked for", "{\"base\": \"b\"}", other, NULL, "good");
	check("the right one, by its file", BOTH, none, BOTH, "good");
	check("another base, by its file", BOTH, none, "{\"base\": \"c\"}",
		"p: /image/base: the image's base is \"c\" (");
	check("a variable before the file", BOTH, env, "{\"build\": \"2\", \"base\": \"c\"}",
		"good");
	check("an empty variable is none", BOTH, empty, "{\"base\": \"c\"}",
		"the image's base is \"c\"");
	check("a file that is silent", BOTH, none, "{\"base\": \"\"}", "good");
	check("a prefix is another", "{\"build\": \"10\"}", env, NULL, "wants \"10\"");
	check("a misspelled name", BOTH, none, "{\"bulid\": \"2\"}",
		"image.json: unknown key \"bulid\"");
	check("no object", BOTH, none, "\"1\"", "image.json: must be an object of strings");
	check("no string", BOTH, none, "{\"build\": 1}", "image.json: /build: must be a string");
	chmod(folder, 0777);
	check("a file that others could have written", BOTH, none, BOTH,
		"writable for others than its owner");
	unlink(file);
	rmdir(folder);
	free(file);
	return done_testing();
}
