/*
 * Patterns on fake trees: what they match, what stands at one path, what is refused and what is
 * said. A rule's name is the number of the layer that it is to come from.
 */
#include "base/mem.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/glob.h"
#include "plan/plan.h"
#include "plan/proof.h"
#include "policy/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct policy_context context = {.home = "/home/u", .cwd = "/srv/[p]"};

/* The policy with this "filesystem", its rules in the layers that their names say. */
static bool load(struct policy *policy, const char *filesystem, struct err *err)
{
	CLEANUP_FREE char *text = xasprintf("{\"sbx\": 1, \"filesystem\": {%s}}", filesystem);

	if (policy_load_text(policy, text, strlen(text), "p", NULL, &context, err) < 0)
		return false;
	for (size_t i = 0; i < policy->n_rules; i++)
		if (policy->rules[i].name)
			policy->rules[i].origin.layer = (unsigned)atoi(policy->rules[i].name);
	return true;
}

/* What patterns made of a tree: a line for each rule but the language's own, then the notes; or
 * the error. */
static char *outcome(const char *filesystem, const struct tree *tree)
{
	struct policy policy = {0};
	struct rules rules = {0};
	CLEANUP_STRVEC struct strvec notes = {0};
	CLEANUP_STRVEC struct strvec lines = {0};
	struct err err = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!load(&policy, filesystem, &err) ||
		rules_make(&rules, &policy, tree, GLOB_MAX_ENTRIES, &notes, &err) < 0) {
		fprintf(out, "%s (%s)\n", err.message, err.at);
	} else {
		for (size_t i = 0; i < rules.n_all; i++)
			if (rules.v[i].origin.layer)
				strvec_pushf(&lines, "%s%s %s%s%s", i < rules.n ? "" : "lost ",
					access_name(rules.v[i].access),
					rules.v[i].at ? rules.v[i].at : rules.v[i].path,
					rules.v[i].final ? " final" : "",
					rules.v[i].lost_report ? " report" : "");
		strvec_sort(&lines);
		for (size_t i = 0; i < lines.n; i++)
			fprintf(out, "%s\n", lines.v[i]);
		for (size_t i = 0; i < notes.n; i++)
			fprintf(out, "note: %s\n", notes.v[i]);
	}
	fclose(out);
	rules_clear(&rules);
	policy_clear(&policy);
	return text;
}

struct row {
	const char *what, *filesystem, *want;
};

static const char tree_text[] =
	"d /srv/[p]/a/b/c\nd /srv/[p]/.hidden\nf /srv/[p]/.env\nf /srv/[p]/a/.env\n"
	"f /srv/[p]/a/b/.env\nf /srv/[p]/a/b/c/.env.local\nf /srv/[p]/x.key\nf /srv/[p]/*star\n"
	"f /srv/[p]/back\\134slash\nf /srv/[p]/bad\\377\nf /srv/[p]/new\\012line\n"
	"a /mnt/a -> /srv/[p]/a\nl /srv/[p]/link -> a\nf /srv/p/x.key\nf /srv/p/.env\nl /ws -> "
	"/srv/[p]/a\n"
	"d /var/shut 0111 1 1\nf /var/shut/state\nf /var/shut/other\nf /var/open/state\n! "
	"/opt/dead\n"
	"d /proc/1\nf /proc/1/environ\nd /dev\nd /tmp\nd /home/u/.config/sbx\n"
	"f /srv/mod/m/.env\nd /srv/mod/m/pub\nf /srv/mod/m/pub/.env\nl /srv/mod/in -> m/pub\n";

#define LATER(name) "{\"path\": \"./a/" name "*\", \"optional\": true}"

static const struct row rows[] = {
	{"a star, within the working directory alone, whose name has brackets",
		"\"deny\": [\"./*.key\"]", "deny /srv/[p]/x.key\n"},
	{"a star matches a leading dot and no slash", "\"deny\": [\"./*env\"]",
		"deny /srv/[p]/.env\n"},
	{"a question mark matches a leading dot", "\"deny\": [\"./?env\"]", "deny /srv/[p]/.env\n"},
	{"a question mark matches a byte that no text has", "\"deny\": [\"./bad?\"]",
		"deny /srv/[p]/bad\377\n"},
	{"brackets", "\"deny\": [\"./[!.*an-z][!.]\\\\.[k]ey\", \"./[x].key\"]",
		"deny /srv/[p]/x.key\nnote: /srv/\\[p\\]/[!.*an-z][!.]\\.[k]ey matches nothing"
		" (p: /filesystem/deny/0)\n"},
	{"two stars, no directory included", "\"deny\": [\"./**/.env\"]",
		"deny /srv/[p]/.env\ndeny /srv/[p]/a/.env\ndeny /srv/[p]/a/b/.env\n"},
	{"two stars in the middle", "\"deny\": [\"./a/**/c/*\", \"/srv/**/b/**/.env*\"]",
		"deny /srv/[p]/a/b/.env\ndeny /srv/[p]/a/b/c/.env.local\n"},
	{"two stars twice are as once", "\"deny\": [\"./**/./**/.env\"]",
		"deny /srv/[p]/.env\ndeny /srv/[p]/a/.env\ndeny /srv/[p]/a/b/.env\n"},
	{"two stars at the end: the directory and those below",
		"\"write\": [\"/srv/\\\\[p]/a/**\"]",
		"write /srv/[p]/a\nwrite /srv/[p]/a/b\nwrite /srv/[p]/a/b/c\n"},
	{"two stars and more text are one name", "\"deny\": [\"./**.key\"]",
		"deny /srv/[p]/x.key\n"},
	{"escaped", "\"deny\": [\"./\\\\**\", \"./back\\\\\\\\s*\"]",
		"deny /srv/[p]/*star\ndeny /srv/[p]/back\\slash\n"},
	{"escaped alone is a path", "\"deny\": [\"./\\\\*star\", \"./a\\\\b\"]",
		"deny /srv/[p]/*star\ndeny /srv/[p]/ab\n"},
	{"a name that a pattern is spelled like",
		"\"deny\": [\"/srv/[p]\", \"/srv/\\\\[p]/?star\"]",
		"deny /srv/[p]/*star\ndeny /srv/p\nnote: /srv/[p] exists, and the pattern does not"
		" match it: its name has to be written with backslashes (p: /filesystem/deny/0)\n"},
	{"a newline", "\"deny\": [\"./new\\n*\"]", "deny /srv/[p]/new\nline\n"},
	{"a link's name matches, and is not followed", "\"deny\": [\"./l*\", \"./l*/**/.env\"]",
		"deny /srv/[p]/link\nnote: /srv/\\[p\\]/l*/**/.env matches nothing"
		" (p: /filesystem/deny/1)\n"},
	{"links before the pattern are followed", "\"deny\": [\"/ws/**/.env\"]",
		"deny /ws/.env\ndeny /ws/b/.env\n"},
	{"several patterns in one place, from different depths",
		"\"deny\": [\"/srv/*/*.key\", \"/srv/p/*\", \"/srv/p/.e*\"]",
		"deny /srv/[p]/x.key\ndeny /srv/p/.env\ndeny /srv/p/x.key\n"},
	{"a denied directory is not looked into", "\"deny\": [\"/srv/m?d\", \"/srv/**/.env\"]",
		"deny /srv/[p]/.env\ndeny /srv/[p]/a/.env\ndeny /srv/[p]/a/b/.env\n"
		"deny /srv/mod\ndeny /srv/p/.env\n"},
	{"but where a rule shows something in it",
		"\"deny\": [\"/srv/m?d\", \"/srv/**/pub/.env\"], \"read\": [\"/srv/mod/m/pub\"]",
		"deny /srv/mod\ndeny /srv/mod/m/pub/.env\nread /srv/mod/m/pub\n"},
	{"or a mount does",
		"\"deny\": [\"/srv/m?d\", \"/srv/**/pub/.env\"],"
		"\"mounts\": [{\"at\": \"/x\", \"from\": \"/srv/mod/in\"}]",
		"deny /srv/mod\ndeny /srv/mod/m/pub/.env\nread /x\n"},
	{"or a pattern may",
		"\"deny\": [\"/srv/m?d\", \"/srv/**/pub/.env\"], \"read\": [\"/srv/mod/*/pub\"]",
		"deny /srv/mod\ndeny /srv/mod/m/pub/.env\nread /srv/mod/m/pub\n"},
	{"what cannot be listed is said, and names that are spelled out found",
		"\"deny\": [\"/var/s*/state\", \"/var/s*/o*\", \"/var/o*/state\"]",
		"deny /var/open/state\ndeny /var/shut/state\nnote: cannot list /var/shut: "
		"Permission"
		" denied: patterns may miss names in it\nnote: /var/s*/o* matches nothing"
		" (p: /filesystem/deny/1)\n"},
	{"and what cannot be looked at", "\"deny\": [\"/opt/d*\", \"/opt/**/x\"]",
		"deny /opt/dead\nnote: cannot list /opt/dead: Permission denied: patterns may miss"
		" names in it\nnote: /opt/**/x matches nothing (p: /filesystem/deny/1)\n"},
	{"the sandbox's own places are not matched",
		"\"deny\": [\"/[ptd]*\", \"/**/environ\", \"/**/shut\"]",
		"deny /var/shut\nnote: cannot list /opt/dead: Permission denied: patterns may miss "
		"names"
		" in it\nnote: /[ptd]* matches nothing (p: /filesystem/deny/0)\n"
		"note: /**/environ matches nothing (p: /filesystem/deny/1)\n"},
	{"a pattern that begins nowhere", "\"read\": [\"/nowhere/*\"]",
		"note: /nowhere/* matches nothing (p: /filesystem/read/0)\n"},
	/* Types. */
	{"matches of one type", "\"deny\": [{\"path\": \"./*\", \"type\": \"directory\"}]",
		"deny /srv/[p]/.hidden\ndeny /srv/[p]/a\ndeny /srv/[p]/link\n"},
	{"of the other, a link to none being neither",
		"\"deny\": [{\"path\": \"./?*[kyt]\", \"type\": \"file\"}, {\"path\": \"/*\", "
		"\"type\": \"file\"}]",
		"deny /srv/[p]/x.key\nnote: /* matches nothing (p: /filesystem/deny/1)\n"},
	{"a directory that a rule for files denies is looked into",
		"\"deny\": [{\"path\": \"/srv/**\", \"type\": \"file\"}, \"/srv/m?d/m/.e*\"]",
		"deny /srv/mod/m/.env\nnote: /srv/** matches nothing (p: /filesystem/deny/0)\n"},
	{"a rule without a pattern",
		"\"read\": [{\"path\": \"./a\", \"type\": \"directory\"}, {\"path\": \"./link\", "
		"\"type\": \"file\"},"
		"{\"path\": \"./none\", \"type\": \"file\"}], \"deny\": [{\"path\": \"./a\", "
		"\"type\": \"file\"}]",
		"read /srv/[p]/a\nread /srv/[p]/none\n"
		"note: skipped: /srv/[p]/link is a directory, and the rule is for a file (p: "
		"/filesystem/read/1)\n"
		"note: skipped: /srv/[p]/a is a directory, and the rule is for a file (p: "
		"/filesystem/deny/0)\n"},
	/* One path, several rules. */
	{"of two patterns the one whose loss ends the run",
		"\"deny\": [{\"path\": \"./x.*\", \"lost\": \"report\"}, \"./*.key\"]",
		"deny /srv/[p]/x.key\n"},
	{"whichever comes first",
		"\"deny\": [\"./*.key\", {\"path\": \"./x.*\", \"lost\": \"report\"}]",
		"deny /srv/[p]/x.key\n"},
	{"of two patterns the lower access",
		"\"read\": [\"./x*\"], \"deny\": [\"./*.key\"],"
		"\"write\": [\"./?.key\"]",
		"deny /srv/[p]/x.key\n"},
	{"a written rule over a pattern", "\"read\": [\"./x.key\"], \"deny\": [\"./*.key\"]",
		"read /srv/[p]/x.key\n"},
	{"a later layer over both",
		"\"read\": [{\"path\": \"./x.key\", \"name\": \"1\"}],"
		"\"deny\": [{\"path\": \"./*.key\", \"name\": \"2\"}]",
		"deny /srv/[p]/x.key\n"},
	{"be it a pattern or not",
		"\"write\": [{\"path\": \"/srv/p/x.key\", \"name\": \"3\"}],"
		"\"deny\": [{\"path\": \"/srv/p/*.key\", \"name\": \"2\"}],"
		"\"read\": [{\"path\": \"/srv/p/x*\", \"name\": \"1\"}]",
		"write /srv/p/x.key\n"},
	{"something shown at a denied place stays",
		"\"deny\": [\"/srv/*\"], \"tmpfs\": [{\"at\": \"/srv/p\"}]",
		"deny /srv/[p]\ndeny /srv/mod\ndeny /srv/p\nwrite /srv/p\n"},
	{"and takes the place of a readable one",
		"\"read\": [\"/srv/[pm]*\"], \"tmpfs\": [{\"at\": \"/srv/p\"}]",
		"read /srv/mod\nwrite /srv/p\n"},
	/* What a later layer denies. */
	{"a pattern shows nothing in what a later layer denies",
		"\"read\": [{\"path\": \"./*/.env\", \"name\": \"1\"}], \"write\": [{\"path\": "
		"\"/srv/m?d/m\", \"name\": \"1\"}],"
		"\"deny\": [{\"path\": \"./a\", \"name\": \"2\"}, {\"path\": \"/srv/mo?\", "
		"\"name\": \"2\"}]",
		"deny /srv/[p]/a\ndeny /srv/[p]/a/.env\ndeny /srv/mod\n"
		"note: /srv/m?d/m matches nothing (p: /filesystem/write/0)\n"},
	{"be it by another name",
		"\"read\": [{\"path\": \"./*/.env\", \"name\": \"1\"}],"
		"\"deny\": [{\"path\": \"/ws\", \"name\": \"2\"}]",
		"deny /srv/[p]/a/.env\ndeny /ws\n"},
	{"or by another that the host gives it",
		"\"read\": [{\"path\": \"./*/.env\", \"name\": \"1\"}],"
		"\"deny\": [{\"path\": \"/mnt/a\", \"name\": \"2\"}]",
		"deny /mnt/a\ndeny /srv/[p]/a/.env\n"},
	{"but in what its own denies",
		"\"read\": [{\"path\": \"./*/.env\", \"name\": \"1\"}],"
		"\"deny\": [{\"path\": \"./a\", \"name\": \"1\"}]",
		"deny /srv/[p]/a\nread /srv/[p]/a/.env\n"},
	{"and in what a written rule shows there",
		"\"read\": [{\"path\": \"./**/.env\", \"name\": \"1\"}, {\"path\": \"./a/b\", "
		"\"name\": \"2\"}],"
		"\"deny\": [{\"path\": \"./a\", \"name\": \"2\"}]",
		"deny /srv/[p]/a\ndeny /srv/[p]/a/.env\nread /srv/[p]/.env\nread /srv/[p]/a/b\n"
		"read /srv/[p]/a/b/.env\n"},
	{"not through a link",
		"\"read\": [{\"path\": \"./**/.env\", \"name\": \"1\"}, {\"path\": \"/ws/b\", "
		"\"name\": \"2\"}],"
		"\"deny\": [{\"path\": \"./a\", \"name\": \"2\"}]",
		"deny /srv/[p]/a\ndeny /srv/[p]/a/.env\ndeny /srv/[p]/a/b/.env\nread "
		"/srv/[p]/.env\n"
		"read /ws/b\n"},
	{"and keeps no directory open that it denies",
		"\"read\": [{\"path\": \"/srv/*/x.key\", \"name\": \"1\"}],"
		"\"deny\": [{\"path\": \"/srv/m?d\", \"name\": \"2\"}, {\"path\": "
		"\"/srv/**/pub/.env\", \"name\": \"2\"}]",
		"deny /srv/mod\nread /srv/[p]/x.key\nread /srv/p/x.key\n"
		"note: /srv/**/pub/.env matches nothing (p: /filesystem/deny/1)\n"},
	/* Final rules. */
	{"a later layer may lower a final match, which stays final",
		"\"read\": [{\"path\": \"./x*\", \"final\": true, \"name\": \"1\"}],"
		"\"deny\": [{\"path\": \"./x.key\", \"name\": \"2\"}]",
		"deny /srv/[p]/x.key final\nlost read /srv/[p]/x.key final\n"},
	{"but not raise it",
		"\"deny\": [{\"path\": \"./x*\", \"final\": true, \"name\": \"1\"}],"
		"\"read\": [{\"path\": \"./x.key\", \"name\": \"2\"}]",
		"/srv/[p]/x.key lies at or below a final rule, which later layers may not loosen"
		" (p: /filesystem/deny/0) (p: /filesystem/read/0)\n"},
	{"nor raise what a layer between has lowered",
		"\"write\": [{\"path\": \"./x*\", \"final\": true, \"name\": \"1\"},"
		"{\"path\": \"./*.key\", \"name\": \"3\"}],"
		"\"read\": [{\"path\": \"./x.key\", \"name\": \"2\"}]",
		"/srv/[p]/x.key lies at or below a final rule, which later layers may not loosen"
		" (p: /filesystem/read/0) (p: /filesystem/write/1)\n"},
	{"nor can a pattern raise a written one",
		"\"deny\": [{\"path\": \"/srv/[p]/a\", \"name\": \"1\"},"
		"{\"path\": \"/srv/p\", \"final\": true, \"name\": \"1\"}],"
		"\"read\": [{\"path\": \"/srv/**/.env\", \"name\": \"2\"}]",
		"/srv/p/.env lies at or below a final rule, which later layers may not loosen"
		" (p: /filesystem/deny/1) (p: /filesystem/read/0)\n"},
	{"nor a mount come from one",
		"\"deny\": [{\"path\": \"/srv/?\", \"final\": true, \"name\": \"1\"}],"
		"\"mounts\": [{\"at\": \"/x\", \"from\": \"/srv/p/x.key\", \"name\": \"2\"}]",
		"/x is mounted from a place at or below a final rule (p: /filesystem/deny/0)"
		" (p: /filesystem/mounts/0)\n"},
	/* What must not become writable. */
	{"a pattern cannot open sbx's own files", "\"write\": [\"~/.config/*\"]",
		"/home/u/.config/sbx would be writable: sbx keeps its own policies and state in"
		" /home/u/.config/sbx (p: /filesystem/write/0)\n"},
	{"nor what holds them", "\"write\": [\"~/.[c]*\"]",
		"/home/u/.config would be writable: sbx keeps its own policies and state in"
		" /home/u/.config/sbx (p: /filesystem/write/0)\n"},
	{"unless they are kept", "\"write\": [\"~/.[c]*\"], \"read\": [\"~/.config/sbx\"]",
		"read /home/u/.config/sbx\nwrite /home/u/.config\n"},
	{"./ opens nothing that an earlier layer denies",
		"\"deny\": [{\"path\": \"/srv/\\\\[p]/a/b\", \"name\": \"1\"}],"
		"\"write\": [{\"path\": \"./a/*/c\", \"name\": \"2\"}]",
		"/srv/[p]/a/b/c would be writable by a pattern with \"./\", and an earlier layer"
		" denies it (p: /filesystem/deny/0) (p: /filesystem/write/0)\n"},
	/* Names made later. */
	{"names made later in a writable place",
		"\"deny\": [\"./**/.env\", \"/srv/p/*\"], \"write\": [\"./a\"]",
		"deny /srv/[p]/.env\ndeny /srv/[p]/a/.env\ndeny /srv/[p]/a/b/.env\n"
		"deny /srv/p/.env\ndeny /srv/p/x.key\nwrite /srv/[p]/a\n"
		"note: not enforced: names made later that /srv/\\[p\\]/**/.env would match, and"
		" the command could make some (p: /filesystem/deny/0)\n"},
	{"where the pattern begins in one", "\"read\": [\"/srv/p/.e*\"], \"write\": [\"/srv/p\"]",
		"read /srv/p/.env\nwrite /srv/p\n"
		"note: not enforced: names made later that /srv/p/.e* would match, and the"
		" command could make some (p: /filesystem/read/0)\n"},
	{"many patterns are said in one note, and nothing of optional ones that match nothing",
		"\"deny\": [\"./b/*\", " LATER("a") ", " LATER("b") ", " LATER("c") ", " LATER(
			"d") ", " LATER("e") "], \"write\": [\"./a\"]",
		"deny /srv/[p]/a/b\nwrite /srv/[p]/a\nnote: /srv/\\[p\\]/b/* matches nothing (p: "
		"/filesystem/deny/0)\n"
		"note: not enforced: names made later that /srv/\\[p\\]/a/a* and 4 more patterns "
		"would match,"
		" and the command could make some (p)\n"},
	{"and not where it cannot lead",
		"\"deny\": [\"/srv/p/.e*\", \"/srv/*/a/?env\"],"
		"\"write\": [\"/srv/p/sub\", \"/srv/\\\\[p]/a/b\"]",
		"deny /srv/[p]/a/.env\ndeny /srv/p/.env\nwrite /srv/[p]/a/b\nwrite /srv/p/sub\n"},
};

static void test_rows(void)
{
	struct tree *tree = faketree_parse(tree_text);

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP_FREE char *got = outcome(rows[i].filesystem, tree);

		is_str(got, rows[i].want, "%s", rows[i].what);
	}
	faketree_free(tree);
}

/* A tree without an end: every directory has the directories 000 to 199 and a file. */
static int endless_lstat(const struct tree *tree, const char *path, struct tree_stat *out)
{
	(void)tree;
	*out = (struct tree_stat){
		.kind = strstr(path, "file") ? TREE_FILE : TREE_DIR, .mode = 0755};
	return 0;
}

static int endless_list(
	const struct tree *tree, const char *path, bool directories, struct strvec *names)
{
	(void)tree;
	(void)path;
	for (unsigned i = 0; i < 200; i++)
		strvec_pushf(names, "%03u", i);
	if (!directories)
		strvec_push(names, "file");
	return 0;
}

static const struct tree_mount *no_mounts(const struct tree *tree, size_t *n)
{
	(void)tree;
	*n = 0;
	return NULL;
}

/* A tree whose directories hold one directory and more files than can be looked at. */
static int crowded_list(
	const struct tree *tree, const char *path, bool directories, struct strvec *names)
{
	(void)tree;
	(void)path;
	strvec_push(names, "d");
	for (unsigned i = 0; !directories && i < GLOB_MAX_ENTRIES; i++)
		strvec_pushf(names, "file%u", i);
	return 0;
}

static void test_limits(void)
{
	static const struct tree_ops ops = {
		.lstat = endless_lstat, .list = endless_list, .mounts = no_mounts};
	static const struct tree_ops crowded_ops = {
		.lstat = endless_lstat, .list = crowded_list, .mounts = no_mounts};
	const struct tree crowded = {.ops = &crowded_ops};
	const struct tree tree = {.ops = &ops};
	CLEANUP_FREE char *entries = outcome("\"deny\": [\"/srv/**/nothing\"]", &tree);
	CLEANUP_FREE char *matches = outcome("\"deny\": [\"/srv/*/*/*\"]", &tree);
	CLEANUP_FREE char *bounded =
		outcome("\"deny\": [\"/srv/007/*/file\", \"/srv/*/n\"]", &tree);
	CLEANUP_FREE char *below = outcome(
		"\"deny\": [\"/srv/*/*/.git/file\", \"/srv/*/.git/file\", \"/srv/*/*/file/**\"]",
		&crowded);
	CLEANUP_FREE char *here = outcome("\"deny\": [\"/srv/*/*/*\"]", &crowded);

	ok(strstr(entries, "/srv/**/nothing: more than 200000 names would have to be looked at; the"
			   " walk had reached /srv/000/000") != NULL &&
			strstr(entries, "(p: /filesystem/deny/0)") != NULL,
		"the walk has an end, which names the pattern and the directory");
	diag("%.200s", entries);
	ok(strstr(matches, "/srv/*/*/*: the patterns match more than 10000 names, the last"
			   " /srv/000/049/") != NULL,
		"so have the matches");
	diag("%.200s", matches);
	ok(strstr(bounded, "deny /srv/007/199/file\n") != NULL &&
			strstr(bounded, "deny /srv/199/n\n") != NULL,
		"names that are spelled out cost nothing");
	ok(strstr(below, "deny /srv/d/d/.git/file\n") && strstr(below, "deny /srv/d/d/file\n"),
		"nor do files where a pattern goes on below");
	ok(strstr(here, "more than 200000 names"), "but where it ends");
}

static void test_base(void)
{
	static const char *const bases[][2] = {{"/*", "/"}, {"/a/b*", "/a"},
		{"/a/\\*/[x]/c", "/a/*"}, {"/a/b/**", "/a/b"}, {"/a\\\\/?", "/a\\"}};

	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++) {
		CLEANUP_FREE char *base = value_pattern_base(bases[i][0]);

		is_str(base, bases[i][1], "the base of %s", bases[i][0]);
	}
}

/* The rule behind an op lives as long as the plan. */
static void test_ownership(void)
{
	struct tree *tree = faketree_parse("c /dev/null 1:3\nd /srv/[p]\nf /srv/[p]/a.env\n");
	struct policy policy = {0};
	struct plan plan = {0};
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/"};
	struct err err = {0};
	const struct rule *why = NULL;

	if (!load(&policy, "\"root\": \"read\", \"deny\": [\"./*.env\"]", &err) ||
		plan_make(&plan, &policy, tree, &request, &err) < 0)
		diag("%s", err.message);
	for (size_t i = 0; i < plan.n; i++)
		if (plan.ops[i].kind == OP_DENY_FILE)
			why = plan.ops[i].why;
	is_str(why ? why->path : NULL, "/srv/[p]/a.env", "the rule behind an op names the match");
	is_str(why ? why->origin.pointer : NULL, "/filesystem/deny/0", "and where it was written");
	ok(proof_check(&plan, &policy, tree, &err) == 0, "and the plan proves");
	plan_clear(&plan);
	policy_clear(&policy);
	faketree_free(tree);
}

int main(void)
{
	test_rows();
	test_limits();
	test_base();
	test_ownership();
	return done_testing();
}
