/* The files of a linked worktree, which whoever wrote the workspace wrote: .git, and the repository's
 * gitdir and commondir. Whatever they say, the plan proves, and nothing outside of the workspace
 * becomes writable unless the way back is there. */
#include "fuzz/fuzz.h"
#include "lib/faketree.h"
#include "plan/proof.h"
#include "plan/view.h"

#define DIR "/srv/main/.git/worktrees/w"

/* A file of a tree with these bytes, as far as the tree's text can say them. */
static void add_file(FILE *out, const char *path, const char *text)
{
	fprintf(out, "f %s =", path);
	for (; *text; text++)
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\')
			fputs("\\134", out);
		else
			putc(*text, out);
	putc('\n', out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char document[] =
		"{\"sbx\": 1, \"filesystem\": {\"root\": \"read\", \"write\": [\"./\","
		" {\"path\": \"./.git\", \"worktree\": true}]}}";
	struct policy_context context = {.home = "/home/u", .cwd = "/srv/w"};
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/srv/w"};
	size_t len, n;
	CLEANUP_FREE char *git = next_part(&data, &size, &len);
	CLEANUP_FREE char *gitdir = next_part(&data, &size, &len);
	CLEANUP_FREE char *commondir = next_part(&data, &size, &len);
	CLEANUP_FREE char *text = NULL;
	FILE *out = open_memstream(&text, &n);
	struct view_object seen = {0};
	struct policy policy = {0};
	struct plan plan = {0};
	struct err err = {0};
	struct tree *tree;

	fputs("c /dev/null 1:3\nd /proc/sys\nd /tmp 1777\nd /srv/w/a\nd /home/u\n", out);
	fputs("f /srv/main/.git/HEAD\nd /srv/main/.git/objects\nd /srv/main/.git/refs\n"
	      "d /srv/main/.git/hooks\nf /srv/main/.git/config\n",
		out);
	add_file(out, "/srv/w/.git", git);
	add_file(out, DIR "/gitdir", gitdir);
	add_file(out, DIR "/commondir", commondir);
	fclose(out);
	tree = faketree_parse(text);
	PROMISE(tree, "%s", text);
	PROMISE(policy_load_text(&policy, document, strlen(document), "p", NULL, &context, &err) ==
			0,
		"%s", err.message);
	if (plan_make(&plan, &policy, tree, &request, &err) == 0) {
		bool back = strncmp(gitdir, "/srv/w/.git", strlen("/srv/w/.git")) == 0 ||
			    strstr(gitdir, "../");

		PROMISE(proof_check(&plan, &policy, tree, &err) == 0, "%s (%s)\n%s", err.message,
			err.at, text);
		PROMISE(view_lookup(&plan, tree, "/srv/main/.git/objects", &seen) == 0, "gone");
		PROMISE(seen.access != ACCESS_WRITE || back, "opened:\n%s", text);
		view_object_clear(&seen);
		seen = (struct view_object){0};
		PROMISE(view_lookup(&plan, tree, "/srv/main/.git/hooks", &seen) == 0 &&
				seen.access == ACCESS_READ,
			"hooks:\n%s", text);
		view_object_clear(&seen);
	} else {
		PROMISE(*err.message, "refused without a word\n%s", text);
	}
	plan_clear(&plan);
	policy_clear(&policy);
	faketree_free(tree);
	return 0;
}
