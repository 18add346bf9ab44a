/* The command's environment: nothing in it that was not given. */
#include "base/mem.h"
#include "lib/tap.h"
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_ENTRY "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static bool with_secrets = true;

/* The environment, or the notes, that a policy's "environment" makes, as lines. */
static char *lines(const char *environment, const char *home, char *const *caller, bool want_notes)
{
	CLEANUP_FREE char *text = xasprintf("{\"sbx\": 1, \"environment\": %s}", environment);
	struct policy_context context = {.home = home, .cwd = "/w"};
	CLEANUP_STRVEC struct strvec env = {0}, notes = {0};
	const struct strvec *shown = want_notes ? &notes : &env;
	struct policy policy;
	struct err err = {0};
	char *out = NULL;
	size_t size;
	FILE *stream = open_memstream(&out, &size);

	if (policy_load_text(&policy, text, strlen(text), "p", NULL, &context, &err) < 0)
		fprintf(stream, "%s: %s\n", err.at, err.message);
	policy_environment(&policy, caller, &context, with_secrets, &env, &notes);
	policy_clear(&policy);
	for (size_t i = 0; i < shown->n; i++)
		fprintf(stream, "%s\n", shown->v[i]);
	fclose(stream);
	return out;
}

#define CALLER(...)                                                                                \
	(char *const[])                                                                            \
	{                                                                                          \
		__VA_ARGS__, (char *)0                                                             \
	}
#define S(text)                                                                                    \
	(char[])                                                                                   \
	{                                                                                          \
		text                                                                               \
	}

static void check(const char *what, const char *environment, char *const *caller, const char *want)
{
	CLEANUP_FREE char *got = lines(environment, "/home/u", caller, false);

	is_str(got, want, "%s", what);
}

/* The variables under a policy of that text. */
static void check_policy(const char *what, const char *text, char *const *caller, const char *want)
{
	struct policy_context context = {.home = "/h", .cwd = "/w"};
	CLEANUP_STRVEC struct strvec env = {0}, notes = {0};
	CLEANUP_FREE char *got = xstrdup("");
	struct policy policy;
	struct err err = {0};

	policy_load_text(&policy, text, strlen(text), "p", NULL, &context, &err);
	policy_environment(&policy, caller, &context, true, &env, &notes);
	policy_clear(&policy);
	for (size_t i = 0; i < env.n; i++) {
		char *longer = xasprintf("%s%s\n", got, env.v[i]);

		free(got);
		got = longer;
	}
	is_str(got, want, "%s", what);
}

static void test_scratch(void)
{
#define SCRATCH "{\"sbx\": 1, \"scratch\": {\"at\": \"/s\"}, \"environment\": {\"base\": \"none\", "
	check_policy("scratch", SCRATCH "\"inherit\": [\"HOME\", \"T*\"]}}",
		CALLER(S("TMPDIR=/t"), S("HOME=/x"), S("TZ=z")),
		"TMPDIR=/s/tmp\nHOME=/s/home\nTZ=z\n");
	check_policy("what is set is not scratch's", SCRATCH "\"set\": {\"HOME\": \"/x\"}}}",
		CALLER(S("A=")), "HOME=/x\nTMPDIR=/s/tmp\n");
}

static void test_secrets(void)
{
	static const char policy_text[] =
		"{\"sbx\": 1, \"environment\": {\"secrets\": [\"A\", \"TOKEN\"]}}";
	struct policy_context context = {.home = "/h", .cwd = "/w"};
	struct policy policy;
	struct err err = {0};

	check("a secret", "{\"base\": \"none\", \"inherit\": [\"T*\"], \"secrets\": [\"TOKEN\"]}",
		CALLER(S("TOKEN=\xff v"), S("TOKEN=2"), S("T=1")), "TOKEN=\xff v\nT=1\n");
	with_secrets = false;
	check("a secret that is not to be known",
		"{\"base\": \"none\", \"inherit\": [\"T*\"], \"secrets\": [\"TOKEN\"]}",
		CALLER(S("TOKEN=v"), S("T=1")), "TOKEN=\nT=1\n");
	with_secrets = true;
	policy_load_text(&policy, policy_text, strlen(policy_text), "p", NULL, &context, &err);
	is_int(policy_check_secrets(&policy, CALLER(S("TOKEN="), S("A=x")), &err), 0,
		"secrets that are there, one empty");
	is_int(policy_check_secrets(
		       &policy, CALLER(S("TOKENS=v4lue"), S("A=v4lue"), S("TOKEN")), &err),
		-1, "a missing secret");
	is_str(err.message, "the secret TOKEN is not in the environment", "the message names it");
	is_str(err.at, "p: /environment/secrets/1", "and its place");
	is_int(err.kind, ERR_POLICY, "it is a fault of the policy's");
	policy_clear(&policy);
}

static char folder[] = "/tmp/sbx-test-environment-XXXXXX";

/* Writes the file that "base": "file" takes. */
static void write_base(const char *text, size_t len, mode_t mode)
{
	CLEANUP_FREE char *path = xasprintf("%s/env.json", folder);
	FILE *file;

	unlink(path);
	file = fopen(path, "we");
	fwrite(text, 1, len, file);
	fclose(file);
	chmod(path, mode);
}

static void check_file(const char *what, const char *text, const char *want)
{
	CLEANUP_FREE char *environment =
		xasprintf("{\"base\": \"file\", \"file\": \"%s/env.json\"}", folder);

	write_base(text, strlen(text), 0644);
	check(what, environment, (char *const[]){NULL}, want);
}

/* The file with `name` for env.json is refused with a message that begins so. */
static void refuse_file(const char *what, const char *name, const char *want)
{
	CLEANUP_FREE char *environment =
		xasprintf("{\"base\": \"file\", \"file\": \"%s/%s\"}", folder, name);
	CLEANUP_FREE char *got = lines(environment, "/h", (char *const[]){NULL}, true);

	if (!ok(strstr(got, want) != NULL && !strstr(got, "v4lue"), "%s is refused", what))
		diag("%s", got);
}

static void refuse_text(const char *what, const char *text, const char *want)
{
	write_base(text, strlen(text), 0644);
	refuse_file(what, "env.json", want);
}

static void test_file(void)
{
	CLEANUP_FREE char *link = xasprintf("%s/link.json", folder);
	CLEANUP_FREE char *dir_link = xasprintf("%s/link", folder);
	CLEANUP_FREE char *fifo = xasprintf("%s/fifo", folder);
	CLEANUP_FREE char *large = xcalloc((1 << 20) + 1, 1);
	CLEANUP_FREE char *environment =
		xasprintf("{\"base\": \"file\", \"file\": \"%s/env.json\"}", folder);
	CLEANUP_FREE char *notes = NULL;
	CLEANUP_FREE char *named = NULL;

	check_file("a file", "{\"PATH\": \"/i\", \"A\": \"1=\\n2\"}", "PATH=/i\nA=1=\n2\n");
	check_file("a file without a PATH", "{\"A\": \"\"}", "A=\n" PATH_ENTRY "\n");
	check_file("names that are none",
		"{\"A-B\": \"v4lue\", \"PATH\": \"/i\", \"\": \"v4lue\", \"1\": \"v4lue\"}",
		"PATH=/i\n");
	notes = lines(environment, "/h", (char *const[]){NULL}, true);
	named = xasprintf(
		"environment: \"A-B\" of %s/env.json is left out: no plain name of a variable\n",
		folder);
	ok(strncmp(notes, named, strlen(named)) == 0 && !strstr(notes, "v4lue"),
		"a note says so, without the value");
	refuse_text("a number", "{\"A\": \"v4lue\", \"B\": 1}", "env.json: /B: must be a string");
	refuse_text(
		"a list", "[\"v4lue\"]", "env.json: must be an object of strings, not an array");
	refuse_text("a name that is there twice", "{\"A\": \"v4lue\", \"A\": \"v4lue\"}",
		"env.json: /A: the key \"A\" is there twice");
	refuse_text("what is no JSON", "{\"A\": \"v4lue\",}", "env.json: line 1, column ");
	refuse_file("a missing file", "none.json", "p: /environment/file: cannot read ");
	mkfifo(fifo, 0644);
	refuse_file("a FIFO", "fifo", "it is no regular file");
	refuse_file("a directory", "", "Is a directory");
	write_base("{}", 2, 0644);
	if (symlink("env.json", link) < 0 || symlink(folder, dir_link) < 0)
		perror(link);
	refuse_file(
		"a link", "link.json", "a symbolic link, or what is no directory, is in the path");
	refuse_file("a link to its directory", "link/env.json", "a symbolic link");
	memset(large, ' ', (1 << 20) + 1);
	memcpy(large, "{}", 2);
	write_base(large, 1 << 20, 0644);
	check("a file of 1 MiB", environment, (char *const[]){NULL}, PATH_ENTRY "\n");
	write_base(large, (1 << 20) + 1, 0644);
	refuse_file("a file of more", "env.json", "it is larger than 1 MiB");
	write_base("{}", 2, 0664);
	refuse_file("a file that the group can write", "env.json",
		"env.json is writable for others than its owner");
	write_base("{}", 2, 0644);
	chmod(folder, 0757);
	refuse_file("one in a directory that all can write", "env.json",
		"is writable for others than its owner");
	chmod(folder, 01757);
	check("unless they cannot replace it there", environment, (char *const[]){NULL},
		PATH_ENTRY "\n");
	if (geteuid() == 0) {
		CLEANUP_FREE char *path = xasprintf("%s/env.json", folder);

		if (chown(path, 4711, 0) < 0)
			perror(path);
		refuse_file("another user's file", "env.json", "env.json belongs to uid 4711");
	}
}

int main(void)
{
	char *const *none = (char *const[]){NULL};
	CLEANUP_FREE char *homeless = lines("{}", NULL, none, false);
	CLEANUP_FREE char *notes = lines("{\"inherit\": [\"f%%\", \"G*\", \"PLAIN\", \"ABSENT\"]}",
		"/h", CALLER(S("f%%=() { :; }"), S("G%%=() { :; }"), S("PLAIN")), true);

	check("base minimal", "{}", none, PATH_ENTRY "\nHOME=/home/u\nLANG=C.UTF-8\nTERM=dumb\n");
	is_str(homeless, PATH_ENTRY "\nHOME=/\nLANG=C.UTF-8\nTERM=dumb\n", "no home known");
	check("the caller's TERM", "{}", CALLER(S("TERM=xterm-256color"), S("TERM=other")),
		PATH_ENTRY "\nHOME=/home/u\nLANG=C.UTF-8\nTERM=xterm-256color\n");
	check("a TERM that is a path", "{}", CALLER(S("TERM=../x")),
		PATH_ENTRY "\nHOME=/home/u\nLANG=C.UTF-8\nTERM=dumb\n");
	check("a TERM with an escape", "{}", CALLER(S("TERM=x\033[2J")),
		PATH_ENTRY "\nHOME=/home/u\nLANG=C.UTF-8\nTERM=dumb\n");
	check("an empty TERM", "{}", CALLER(S("TERM=")),
		PATH_ENTRY "\nHOME=/home/u\nLANG=C.UTF-8\nTERM=dumb\n");
	check("base none", "{\"base\": \"none\"}", CALLER(S("TERM=xterm"), S("SECRET=x")), "");
	check("nothing is inherited unasked", "{\"base\": \"none\", \"inherit\": [\"A\"]}",
		CALLER(S("AB=1"), S("B=2"), S("a=3")), "");
	check("a name", "{\"base\": \"none\", \"inherit\": [\"A\"]}", CALLER(S("B=2"), S("A=1")),
		"A=1\n");
	check("a pattern", "{\"base\": \"none\", \"inherit\": [\"LC_*\"]}",
		CALLER(S("LC_ALL=x"), S("LC=no"), S("LC_=y"), S("XLC_A=no")), "LC_ALL=x\nLC_=y\n");
	check("the first of duplicates", "{\"base\": \"none\", \"inherit\": [\"A\", \"B*\"]}",
		CALLER(S("A=1"), S("B=1"), S("A=2"), S("B=2")), "A=1\nB=1\n");
	check("inherit replaces base", "{\"inherit\": [\"PATH\", \"LANG\"]}",
		CALLER(S("LANG=de"), S("PATH=/x")), "PATH=/x\nHOME=/home/u\nLANG=de\nTERM=dumb\n");
	check("set replaces inherit",
		"{\"base\": \"none\", \"inherit\": [\"A\"], \"set\": {\"A\": \"2\"}}",
		CALLER(S("A=1")), "A=2\n");
	check("values are not touched", "{\"base\": \"none\", \"inherit\": [\"A\", \"B\"]}",
		CALLER(S("A= \xff=\n$x"), S("B=")), "A= \xff=\n$x\nB=\n");
	check("names with odd characters", "{\"base\": \"none\", \"inherit\": [\"B*\", \"1*\"]}",
		CALLER(S("BASH_FUNC_x%%=() { :; }"), S("B-A=1"), S("1A=1"), S("B"), S("BA=1"),
			S("=x")),
		"BA=1\n");
	check("an empty value is set", "{\"base\": \"none\", \"set\": {\"A\": \"\"}}", none,
		"A=\n");
	is_str(notes,
		"environment: \"f%%\" is not inherited: no plain name of a variable\n"
		"environment: \"PLAIN\" is not inherited: it has no value\n",
		"what was asked for by name and skipped is noted");
	check("prepend",
		"{\"base\": \"none\", \"set\": {\"A\": \"/x\"}, \"prepend\": "
		"{\"A\": [\"/a\", \"/b\"]}}",
		none, "A=/a:/b:/x\n");
	check("prepend to what is not there, or empty",
		"{\"base\": \"none\", \"inherit\": [\"B\"], \"prepend\": {\"A\": [\"/a\"], \"B\": "
		"[\"/b\"], \"C\": []}}",
		CALLER(S("B=")), "B=/b\nA=/a\n");
	check("prepend to the default PATH", "{\"prepend\": {\"PATH\": [\"/a\"]}}", none,
		"PATH=/a:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
		"HOME=/home/u\nLANG=C.UTF-8\nTERM=dumb\n");
	test_scratch();
	test_secrets();
	if (!mkdtemp(folder)) {
		perror(folder);
		return 1;
	}
	test_file();
	{
		CLEANUP_FREE char *remove = xasprintf("rm -r %s", folder);

		if (system(remove) != 0)
			diag("%s stays", folder);
	}
	return done_testing();
}
