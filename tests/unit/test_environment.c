/* The command's environment: nothing in it that was not given. */
#include "base/mem.h"
#include "lib/tap.h"
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_ENTRY "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

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
	policy_environment(&policy, caller, &context, &env, &notes);
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
	return done_testing();
}
