/* Variables that name paths, against the view. */
#include "base/mem.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/variables.h"

#include <stdlib.h>
#include <string.h>

static const char tree_text[] = "uid 1000\nc /dev/null 1:3\nd /proc/sys\nd /tmp 1777\n"
				"d /home/me 0755 1000 1000\nd /home/me/w 0755 1000 1000\n"
				"d /home/me/w/roots 0755 0 0\nd /home/me/.ssh 0700 1000 1000\n"
				"f /home/me/ca.pem\ns /home/me/agent\nd /srv/closed 0700 0 0\n";

#define POLICY(more)                                                                               \
	"{\"sbx\": 1, \"process\": {\"cwd\": \"/\"}, \"filesystem\": {\"root\": \"read\", "        \
	"\"write\": "                                                                              \
	"[\"/home/me/w\"], \"deny\": [\"/home/me/.ssh\"], \"tmpfs\": [{\"at\": \"/run\", "         \
	"\"access\": \"read\"}]" more

/* Checks one variable: what it becomes, and the note (NULL: none). */
static void check_with(const char *text, const char *variable, const char *want, const char *note)
{
	struct policy_context context = {.home = "/home/me", .cwd = "/"};
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/"};
	CLEANUP_STRVEC struct strvec env = {0}, notes = {0};
	struct tree *tree = faketree_parse(tree_text);
	struct policy policy;
	struct plan plan;
	struct err err = {0};

	strvec_push(&env, variable);
	if (policy_load_text(&policy, text, strlen(text), "p", NULL, &context, &err) < 0 ||
		plan_make(&plan, &policy, tree, &request, &err) < 0) {
		diag("%s: %s", err.at, err.message);
		exit(1);
	}
	variables_check(&plan, tree, &policy, &env, &notes);
	is_str(env.v[0], want, "%s", variable);
	is_str(notes.n ? notes.v[0] : "no note", note ? note : "no note", "%s: the note", variable);
	plan_clear(&plan);
	policy_clear(&policy);
	faketree_free(tree);
}

static void same(const char *variable, const char *note)
{
	check_with(POLICY("}}"), variable, variable, note);
}

int main(void)
{
	CLEANUP_FREE char *longest = xcalloc(5001, 1);
	CLEANUP_FREE char *variable = NULL;

	same("HOME=/home/me", NULL);
	same("HOME=/home/you", "environment: HOME is /home/you, not in the sandbox");
	same("HOME=/home/me/.ssh", "environment: HOME is /home/me/.ssh, denied in the sandbox");
	same("HOME=/home/me/.ssh/x", "environment: HOME is /home/me/.ssh/x, denied in the sandbox");
	same("HOME=/home/me/ca.pem", "environment: HOME is /home/me/ca.pem, no directory");
	same("HOME=/srv/closed",
		"environment: HOME is /srv/closed, a directory that the command may not search");
	same("HOME=.", "environment: HOME is ., no absolute path");
	same("HOME=", NULL);
	same("TMPDIR=/tmp", NULL);
	same("TMPDIR=/home/me/w", NULL);
	same("TMPDIR=", NULL);
	check_with(POLICY("}}"), "TMPDIR=/home/me", "TMPDIR=/tmp",
		"environment: TMPDIR is /home/me, a directory that the command cannot write: it is "
		"set to /tmp");
	check_with(POLICY("}}"), "TMPDIR=/home/me/w/roots", "TMPDIR=/tmp",
		"environment: TMPDIR is /home/me/w/roots, a directory that the command cannot "
		"write: "
		"it is set to /tmp");
	check_with(POLICY("}}"), "TMP=/run/user/1000", "TMP=/tmp",
		"environment: TMP is /run/user/1000, not in the sandbox: it is set to /tmp");
	check_with(POLICY("}}"), "TEMP=t", "TEMP=/tmp",
		"environment: TEMP is t, no absolute path: it is set to /tmp");
	check_with(POLICY("}, \"environment\": {\"set\": {\"TMPDIR\": \"/x\"}}}"), "TMPDIR=/x",
		"TMPDIR=/x", "environment: TMPDIR is /x, not in the sandbox");
	check_with(POLICY(", \"mounts\": [{\"at\": \"/tmp\", \"from\": \"/home/me/w\"}]}}"),
		"TMPDIR=/x", "TMPDIR=/x", "environment: TMPDIR is /x, not in the sandbox");
	same("SSH_AUTH_SOCK=/home/me/agent", NULL);
	same("SSH_AUTH_SOCK=/run/agent",
		"environment: SSH_AUTH_SOCK is /run/agent, not in the sandbox");
	check_with(POLICY("}, \"environment\": {\"secrets\": [\"SSH_AUTH_SOCK\"]}}"),
		"SSH_AUTH_SOCK=/run/agent", "SSH_AUTH_SOCK=/run/agent", NULL);
	same("SSL_CERT_FILE=/home/me/ca.pem", NULL);
	same("SSL_CERT_FILE=/no", "environment: SSL_CERT_FILE is /no, not in the sandbox");
	same("GIT_DIR=.git", NULL);
	same("LOCPATH=/home:/home/me", NULL);
	same("LOCPATH=/home:/no", "environment: LOCPATH is /home:/no, not in the sandbox");
	same("XDG_RUNTIME_DIR=/run/user/1",
		"environment: XDG_RUNTIME_DIR is /run/user/1, not in the sandbox");
	same("XDG_CACHE_HOME=/no", "environment: XDG_CACHE_HOME is /no, not in the sandbox");
	same("XDG_X=/no", NULL);
	same("OTHER=/no", NULL);
	memset(longest, 'a', 5000);
	longest[0] = '/';
	variable = xasprintf("TZDIR=%s", longest);
	longest[256] = '\0';
	{
		CLEANUP_FREE char *note =
			xasprintf("environment: TZDIR is %s, longer than a path can be", longest);

		same(variable, note);
	}
	return done_testing();
}
