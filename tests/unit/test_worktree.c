/*
 * Linked worktrees on a fake tree: what a rule with "worktree" stands for, and that anything wrong
 * with either way between the checkout and its repository opens nothing. Planner and proof are both
 * asked in each case: what is planned proves, and where nothing is opened, a plan that opens does
 * not. A rule's name is the number of the layer that it is to come from.
 */
#include "base/mem.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/plan.h"
#include "plan/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct policy_context context = {.home = "/home/u", .cwd = "/srv/wt"};

#define DIR "/srv/main/.git/worktrees/wt"
#define GIT_FILE "f /srv/wt/.git =gitdir: " DIR "\\n\n"
#define BACK "f " DIR "/gitdir =/srv/wt/.git\\n\n"
#define COMMON "f " DIR "/commondir =../..\\n\n"

static const char tree_text[] =
	"c /dev/null 1:3\nd /proc/sys\nd /tmp 1777\nd /home/u/.config/sbx\nl /main -> srv/main\n"
	"d /srv/wt/sub\nd /srv/other\nl /srv/wt/way -> /srv/main\nl /srv/over -> other\n" GIT_FILE
	"f /srv/main/.git/HEAD\nf /srv/main/.git/config\nd /srv/main/.git/hooks\n"
	"d /srv/main/.git/objects\nd /srv/main/.git/refs\nd /srv/main/.git/logs\n" BACK COMMON
	"f " DIR "/HEAD\nf " DIR "/config.worktree\nd " DIR "/modules\n";

#define WORKTREE "{\"path\": \"./.git\", \"worktree\": true, \"name\": \"5\"}"
#define RULES "\"root\": \"read\", \"write\": [" WORKTREE ", \"./\"]"

#define HELD "read /srv/wt/.git\n"
#define KEPT                                                                                       \
	"read " DIR "/commondir\nread " DIR "/config.worktree\nread " DIR "/gitdir\nread " DIR     \
	"/modules\n"
#define OPENED                                                                                     \
	KEPT "write /srv/main/.git/logs\nwrite /srv/main/.git/objects\n"                           \
	     "write /srv/main/.git/refs\nwrite " DIR "\n"
#define NOT "note: the repository of /srv/wt/.git is not opened: "

struct row {
	const char *what;
	const char *from, *to;  /* what is replaced in the text of the tree; NULL: nothing, to is
				   added */
	const char *filesystem; /* in place of RULES */
	const char *want;       /* the rules that stand for the one with "worktree", and notes */
};

static const struct row rows[] = {
	{"a linked worktree", NULL, "", NULL, HELD OPENED},
	{"no .git", GIT_FILE, "", NULL, ""},
	{"a .git that is a directory", GIT_FILE, "d /srv/wt/.git\n", NULL, ""},
	{"a .git that is a FIFO", GIT_FILE, "p /srv/wt/.git\n", NULL, ""},
	{"a .git that leads nowhere", GIT_FILE, "l /srv/wt/.git -> nowhere\n", NULL, ""},
	{"a relative path", DIR "\\n\n", "../main/.git/worktrees/wt\\n\n", NULL, HELD OPENED},
	{"no newline", DIR "\\n\n", DIR "\n", NULL, HELD OPENED},
	{"a submodule", DIR "\\n\n", "../.git/modules/x\\n\n", NULL, HELD},
	{"a repository elsewhere", DIR "\\n\n", "/srv/main/.git\\n\n", NULL, HELD},
	{"a worktree of /", DIR "\\n\n", "/worktrees/wt\\n\n", NULL, HELD},
	{"nothing of git's", "gitdir: ", "gitfile: ", NULL, HELD},
	{"two lines", DIR "\\n\n", DIR "\\nx\\n\n", NULL, HELD},
	{"two newlines", DIR "\\n\n", DIR "\\n\\n\n", NULL, HELD},
	{"an odd byte", DIR "\\n\n", DIR "\\033[2J\\n\n", NULL, HELD},
	{"an empty file", "=gitdir: " DIR "\\n\n", "\n", NULL, HELD},
	{"no logs yet", "d /srv/main/.git/logs\n", "", NULL,
		HELD KEPT "write /srv/main/.git/objects\n"
			  "write /srv/main/.git/refs\nwrite " DIR "\n"},
	{"what may come later is noted", "f " DIR "/config.worktree\n", "", NULL,
		HELD OPENED "note: not enforced: " DIR
			    "/config.worktree does not exist and the command"
			    " could make it: a run watches the name (p: /filesystem/write/0)\n"},
	{"objects elsewhere", "d /srv/main/.git/objects\n",
		"l /srv/main/.git/objects -> ../../other\n", NULL,
		HELD KEPT "write /srv/main/.git/logs\n"
			  "write /srv/main/.git/refs\nwrite " DIR "\n"},
	/* The way there. */
	{"a .git that is a link", GIT_FILE,
		"l /srv/wt/.git -> file\nf /srv/wt/file =gitdir: " DIR "\\n\n", NULL,
		HELD NOT "the symbolic link /srv/wt/.git leads to it\n"
			 "note: not enforced: on the way of /srv/wt/.git is a link that the command"
			 " could replace: a run watches it (p: /filesystem/write/0)\n"},
	{"no such repository", DIR "\\n\n", "/srv/none/worktrees/x\\n\n", NULL,
		HELD NOT "/srv/none/worktrees/x: No such file or directory\n"},
	{"a file in place of its directory", DIR "\\n\n",
		"/srv/odd/worktrees/x\\n\nf /srv/odd/worktrees/x\n", NULL,
		HELD NOT "/srv/odd/worktrees/x is a file\n"},
	{"a link on the way", DIR "\\n\n", "/main/.git/worktrees/wt\\n\n", NULL,
		HELD NOT "the symbolic link /main leads to /main/.git/worktrees/wt\n"},
	{"a link of the workspace on the way", DIR "\\n\n", "way/.git/worktrees/wt\\n\n", NULL,
		HELD NOT "the symbolic link /srv/wt/way leads to /srv/wt/way/.git/worktrees/wt\n"},
	{"a directory that is a link", DIR "\\n\n",
		"/srv/main/.git/worktrees/l\\n\nl /srv/main/.git/worktrees/l -> wt\n", NULL,
		HELD NOT "the symbolic link /srv/main/.git/worktrees/l leads to"
			 " /srv/main/.git/worktrees/l\n"},
	{"two dots behind a link", DIR "\\n\n", "way/../main/.git/worktrees/wt\\n\n", NULL,
		HELD NOT "the symbolic link /srv/wt/way leads to /srv/wt/main/.git/worktrees/wt\n"},
	/* The way back. */
	{"no way back", BACK, "", NULL, HELD NOT DIR "/gitdir: No such file or directory\n"},
	{"a way back to another checkout", BACK, "f " DIR "/gitdir =/srv/wt2/.git\\n\n", NULL,
		HELD NOT DIR "/gitdir does not name it\n"},
	{"one that is spelled otherwise", BACK, "f " DIR "/gitdir =/srv/./wt/.git\\n\n", NULL,
		HELD NOT DIR "/gitdir does not name it\n"},
	{"to what is in it", BACK, "f " DIR "/gitdir =/srv/wt/.git/x\\n\n", NULL,
		HELD NOT DIR "/gitdir does not name it\n"},
	{"one of two lines", BACK, "f " DIR "/gitdir =/srv/wt/.git\\n/srv/wt2/.git\\n\n", NULL,
		HELD NOT DIR "/gitdir is no file with one line of text\n"},
	{"a relative one", BACK, "f " DIR "/gitdir =../../../../wt/.git\\n\n", NULL, HELD OPENED},
	{"a relative one elsewhere", BACK, "f " DIR "/gitdir =../../../../wt2/.git\\n\n", NULL,
		HELD NOT DIR "/gitdir does not name it\n"},
	{"a relative one through a link", BACK,
		"f " DIR "/gitdir =../../../../over/../wt/.git\\n\n", NULL,
		HELD NOT DIR "/gitdir does not name it\n"},
	{"one that is a link", BACK, "l " DIR "/gitdir -> HEAD\n", NULL,
		HELD NOT DIR "/gitdir is no file with one line of text\n"},
	{"one with another name", BACK, "f " DIR "/gitdir 0644 0 0 2 =/srv/wt/.git\\n\n", NULL,
		HELD NOT DIR "/gitdir has other names (hard links)\n"},
	{"a common directory written out", COMMON, "f " DIR "/commondir =/srv/main/.git\\n\n", NULL,
		HELD OPENED},
	{"another common directory", COMMON, "f " DIR "/commondir =/srv/other\\n\n", NULL,
		HELD NOT DIR "/commondir does not name /srv/main/.git\n"},
	{"none", COMMON, "", NULL, HELD NOT DIR "/commondir: No such file or directory\n"},
	{"no repository", "f /srv/main/.git/HEAD\n", "", NULL,
		HELD NOT "/srv/main/.git is no repository: it has no file HEAD\n"},
	/* Who may have written the way back. */
	{"a repository in the workspace", DIR "\\n\n",
		"/srv/wt/m/worktrees/x\\n\nf /srv/wt/m/HEAD\nd /srv/wt/m/objects\n"
		"f /srv/wt/m/worktrees/x/gitdir =/srv/wt/.git\\n\n"
		"f /srv/wt/m/worktrees/x/commondir =../..\\n\n",
		NULL,
		HELD NOT "/srv/wt/m/worktrees/x/gitdir can be written by the command"
			 " (p: /filesystem/write/1)\n"},
	{"one that a bind mount shows there", NULL, "a /srv/wt/sub -> /srv/main\n", NULL,
		HELD NOT "/srv/wt/sub/.git/worktrees/wt/gitdir can be written by the command"
			 " (p: /filesystem/write/1)\n"},
	{"one that a rule makes writable", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE ", \"/srv/main\"]",
		"write /srv/main\n" HELD NOT DIR "/gitdir can be written by the command"
		" (p: /filesystem/write/1)\n"},
	{"even if another takes it back", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE ", \"/srv\"], \"read\": [\"" DIR "\"]",
		"read " DIR "\n" HELD "write /srv\n" NOT DIR "/gitdir can be written by the command"
		" (p: /filesystem/write/1)\n"},
	{"through a link", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE ", {\"path\": \"/main/.git\"}]",
		HELD "write /main/.git\n" NOT DIR "/gitdir can be written by the command"
		     " (p: /filesystem/write/1)\n"},
	{"by a pattern", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE ", \"/srv/main/.git/w*\"]",
		"write /srv/main/.git/worktrees\n" HELD NOT DIR
		"/gitdir can be written by the command (p: /filesystem/write/1)\n"},
	{"or what else must stay as it is", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE ", \"" DIR "/modules\"]",
		HELD "write " DIR "/modules\n" NOT DIR "/modules can be written by the command"
		     " (p: /filesystem/write/1)\n"},
	{"by a mount", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE
		"], \"mounts\": [{\"at\": \"/srv/other\","
		" \"from\": \"/srv/main\", \"access\": \"write\"}]",
		HELD "write /srv/other\n" NOT DIR "/gitdir can be written by the command"
		     " (p: /filesystem/mounts/0)\n"},
	/* What other rules say. */
	{"a denied repository", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE "], \"deny\": [\"/srv/main\"]",
		"deny /srv/main\n" HELD NOT DIR " is denied (p: /filesystem/deny/0)\n"},
	{"denied by an earlier layer at the place itself", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE "], \"deny\": [{\"path\":"
		" \"/srv/main/.git/logs\", \"name\": \"1\"}]",
		"deny /srv/main/.git/logs\n" HELD NOT "/srv/main/.git/logs is denied"
		" (p: /filesystem/deny/0)\n"},
	{"denied through a link", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE "], \"deny\": [\"/main\"]",
		"deny /main\n" HELD NOT DIR " is denied (p: /filesystem/deny/0)\n"},
	{"denied by another name of the host's", NULL, "a /srv/other -> /srv/main\n",
		"\"root\": \"read\", \"write\": [" WORKTREE "], \"deny\": [\"/srv/other\"]",
		"deny /srv/other\n" HELD NOT "/srv/other/.git/worktrees/wt is denied"
		" (p: /filesystem/deny/0)\n"},
	{"a deny that a deeper rule takes back", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE "], \"deny\": [\"/srv/main\"],"
		" \"read\": [\"/srv/main/.git\"]",
		"deny /srv/main\nread /srv/main/.git\n" HELD OPENED
		"note: /srv/main is denied, but for what deeper rules show in it\n"},
	{"but not a link that somebody made", NULL, "l /srv/wt/l -> /srv/main/.git\n",
		"\"root\": \"read\", \"write\": [" WORKTREE ", \"./\"], \"deny\": [\"/srv/main\"],"
		" \"read\": [\"./l\"]",
		"deny /srv/main\n" HELD "read /srv/wt/l\n" NOT DIR
		" is denied (p: /filesystem/deny/0)\n"
		"note: not enforced: on the way of /srv/wt/l is a link that the command could "
		"replace: a run watches it"
		" (p: /filesystem/read/0)\n"},
	{"a .git that is denied", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE "], \"deny\": [\"./.git\"]",
		"deny /srv/wt/.git\n" NOT "/srv/wt/.git is denied (p: /filesystem/deny/0)\n"},
	{"a .git that another rule makes writable", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE ", {\"path\": \"./.git\", \"name\":"
		" \"6\"}]",
		OPENED "write /srv/wt/.git\n"},
	{"a later rule for what it opens", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE "], \"read\": [{\"path\":"
		" \"/srv/main/.git/refs\", \"name\": \"6\"}]",
		"read /srv/main/.git/refs\n" HELD KEPT "write /srv/main/.git/logs\n"
		"write /srv/main/.git/objects\nwrite " DIR "\n"},
	{"a final rule of an earlier layer", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE
		"], \"read\": [{\"path\": \"/srv/main\","
		" \"final\": true, \"name\": \"1\"}]",
		"read /srv/main\n" HELD NOT DIR
		" is closed by a final rule (p: /filesystem/read/0)\n"},
	{"and one through a link", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE
		"], \"read\": [{\"path\": \"/main/.git/refs\","
		" \"final\": true, \"name\": \"1\"}]",
		"read /main/.git/refs\n" HELD NOT "/srv/main/.git/refs is closed by a final rule"
		" (p: /filesystem/read/0)\n"},
	{"one that leaves it", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE "], \"read\": [{\"path\": \"/srv\","
		" \"final\": true, \"grants\": [\"/srv/main/.git\"], \"name\": \"1\"}]",
		"read /srv\n" HELD OPENED},
	{"one of a later layer", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE
		"], \"read\": [{\"path\": \"/srv/main\","
		" \"final\": true, \"name\": \"6\"}]",
		"read /srv/main\n" HELD OPENED},
	{"another thing in its place", NULL, "",
		"\"root\": \"read\", \"write\": [" WORKTREE
		"], \"tmpfs\": [{\"at\": \"/srv/main\"}]",
		HELD "write /srv/main\n" NOT DIR " is not the host's in the sandbox"
		     " (p: /filesystem/tmpfs/0)\n"},
	{"the sandbox's own /tmp", DIR "\\n\n",
		"/tmp/m/worktrees/x\\n\nf /tmp/m/HEAD\nf /tmp/m/worktrees/x/gitdir "
		"=/srv/wt/.git\\n\n"
		"f /tmp/m/worktrees/x/commondir =../..\\n\n",
		NULL, HELD NOT "/tmp/m/worktrees/x is not the host's in the sandbox (default)\n"},
	{"unless a rule shows the host's there", DIR "\\n\n",
		"/tmp/m/worktrees/x\\n\nf /tmp/m/HEAD\nf /tmp/m/worktrees/x/gitdir "
		"=/srv/wt/.git\\n\n"
		"f /tmp/m/worktrees/x/commondir =../..\\n\nd /tmp/m/refs\nd "
		"/tmp/m/worktrees/x/modules\n"
		"f /tmp/m/worktrees/x/config.worktree\n",
		"\"root\": \"read\", \"write\": [" WORKTREE "], \"read\": [\"/tmp/m\"]",
		HELD "read /tmp/m\nread /tmp/m/worktrees/x/commondir\nread "
		     "/tmp/m/worktrees/x/config.worktree\n"
		     "read /tmp/m/worktrees/x/gitdir\nread /tmp/m/worktrees/x/modules\nwrite "
		     "/tmp/m/refs\n"
		     "write /tmp/m/worktrees/x\n"},
	{"a checkout in /tmp that a rule shows", BACK,
		"f " DIR "/gitdir =/tmp/wt/.git\\n\nf /tmp/wt/.git =gitdir: " DIR "\\n\n",
		"\"root\": \"read\", \"write\": [\"/tmp/wt\", {\"path\": \"/tmp/wt/.git\", "
		"\"worktree\": true}]",
		"read /tmp/wt/.git\nwrite /tmp/wt\n" OPENED},
	{"and one that none shows", BACK,
		"f " DIR "/gitdir =/tmp/wt/.git\\n\nf /tmp/wt/.git =gitdir: " DIR "\\n\n",
		"\"root\": \"read\", \"write\": [{\"path\": \"/tmp/wt/.git\", \"worktree\": true}]",
		"note: the repository of /tmp/wt/.git is not opened: /tmp/wt/.git is not the "
		"host's in the"
		" sandbox (default)\n"},
	{"the host's /dev", DIR "\\n\n",
		"/dev/m/worktrees/x\\n\nf /dev/m/HEAD\nf /dev/m/worktrees/x/gitdir "
		"=/srv/wt/.git\\n\n"
		"f /dev/m/worktrees/x/commondir =../..\\n\n",
		NULL, HELD NOT "/dev/m/worktrees/x is the sandbox's own\n"},
	{"sbx's own files", DIR "\\n\n",
		"/home/u/.config/sbx/worktrees/x\\n\nf /home/u/.config/sbx/HEAD\n"
		"f /home/u/.config/sbx/worktrees/x/gitdir =/srv/wt/.git\\n\n"
		"f /home/u/.config/sbx/worktrees/x/commondir =../..\\n\n",
		NULL, HELD NOT "sbx keeps its own files in /home/u/.config/sbx\n"},
};

/* A row's plan, the way there as well. */
struct world {
	struct tree *tree;
	struct policy policy;
	struct plan plan;
	struct err err;
};

static void make(struct world *w, const struct row *row)
{
	const char *at = row->from ? strstr(tree_text, row->from) : strchr(tree_text, '\0');
	CLEANUP_FREE char *tree = xasprintf("%.*s%s%s", (int)(at - tree_text), tree_text, row->to,
		at + (row->from ? strlen(row->from) : 0));
	CLEANUP_FREE char *text = xasprintf(
		"{\"sbx\": 1, \"filesystem\": {%s}}", row->filesystem ? row->filesystem : RULES);
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/"};

	*w = (struct world){.tree = faketree_parse(tree)};
	if (policy_load_text(&w->policy, text, strlen(text), "p", NULL, &context, &w->err) < 0)
		return;
	for (size_t i = 0; i < w->policy.n_rules; i++)
		if (w->policy.rules[i].name)
			w->policy.rules[i].origin.layer = (unsigned)atoi(w->policy.rules[i].name);
	plan_make(&w->plan, &w->policy, w->tree, &request, &w->err);
}

static void drop(struct world *w)
{
	plan_clear(&w->plan);
	policy_clear(&w->policy);
	faketree_free(w->tree);
}

/* The rules of a plan but the language's own and "./", a line each, and its notes; or the error. */
static char *outcome(const struct world *w)
{
	CLEANUP_STRVEC struct strvec lines = {0};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < w->plan.rules.n; i++) {
		const struct rule *rule = &w->plan.rules.v[i];
		const char *place = rule->at ? rule->at : rule->path;

		if (rule->origin.layer && rule->kind != RULE_ROOT && strcmp(place, "/srv/wt") != 0)
			strvec_pushf(&lines, "%s %s", access_name(rule->access), place);
	}
	strvec_sort(&lines);
	for (size_t i = 0; i < lines.n; i++)
		fprintf(out, "%s\n", lines.v[i]);
	for (size_t i = 0; i < w->plan.notes.n; i++)
		fprintf(out, "note: %s\n", w->plan.notes.v[i]);
	if (w->err.message[0])
		fprintf(out, "%s (%s)\n", w->err.message, w->err.at);
	fclose(out);
	return text;
}

/* The same lines in any order. */
static char *sorted(const char *text)
{
	CLEANUP_STRVEC struct strvec lines = {0};
	CLEANUP_FREE char *copy = xstrdup(text);
	char *state, *out = xstrdup("");

	for (char *l = strtok_r(copy, "\n", &state); l; l = strtok_r(NULL, "\n", &state))
		strvec_push(&lines, l);
	strvec_sort(&lines);
	for (size_t i = 0; i < lines.n; i++) {
		char *longer = xasprintf("%s%s\n", out, lines.v[i]);

		free(out);
		out = longer;
	}
	return out;
}

static void test_rows(void)
{
	struct world good;

	make(&good, &rows[0]);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct world w;
		CLEANUP_FREE char *want = sorted(rows[i].want);
		CLEANUP_FREE char *got = NULL;
		CLEANUP_FREE char *lines = NULL;

		make(&w, &rows[i]);
		got = outcome(&w);
		lines = sorted(got);
		is_str(lines, want, "%s", rows[i].what);
		if (!ok(proof_check(&w.plan, &w.policy, w.tree, &w.err) == 0, "which proves"))
			diag("%s", w.err.message);
		if (!strstr(rows[i].want, OPENED))
			ok(proof_check(&good.plan, &w.policy, w.tree, &w.err) < 0,
				"and a plan that opens it does not");
		drop(&w);
	}
	drop(&good);
}

/* A rule that was made keeps what it was made from. */
static void test_origin(void)
{
	struct world w;
	const struct rule *why = NULL;

	make(&w, &rows[0]);
	for (size_t i = 0; i < w.plan.n; i++)
		if (strcmp(w.plan.ops[i].dest, "/srv/main/.git/objects") == 0)
			why = w.plan.ops[i].why;
	is_str(why ? why->origin.pointer : NULL, "/filesystem/write/0",
		"what is opened says where that was written");
	is_str(why ? why->name : NULL, "5", "and under what name");
	drop(&w);
}

int main(void)
{
	test_rows();
	test_origin();
	return done_testing();
}
