#include "base/mem.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/command.h"
#include "policy/policy.h"

#include <stdlib.h>
#include <string.h>

static const char tree_text[] = "c /dev/null 1:3\nd /tmp 1777\nd /srv/p\n"
				"f /usr/bin/sh 0755 =binary\n"
				"f /usr/bin/script 0755 =#!/usr/bin/sh -e\\n\n"
				"f /usr/bin/badinterp 0755 =#!/no/such\\n\n"
				"f /usr/bin/denied 0755 =x\n"
				"f /usr/bin/both 0644 =x\n"
				"f /opt/bin/both 0755 =x\n"
				"f /srv/p/noexec 0644 =x\n"
				"f /srv/p/run 0755 =#! ./noexec\n"
				"d /srv/p/dir\n"
				"l /bin -> usr/bin\n"
				"l /srv/p/link -> /usr/bin/sh\n";

static const char policy_text[] =
	"{\"sbx\": 1, \"filesystem\": {\"root\": \"read\", \"deny\": [\"/usr/bin/denied\"]},"
	" \"process\": {\"cwd\": \"/srv/p\"}}";

static struct plan plan;
static struct tree *tree;

static void find(const char *name, const char *path_var)
{
	char *env[] = {(char *)path_var, NULL};
	struct err err = {0};

	if (!is_int(command_check(&plan, tree, name, env, &err), 0, "%s is found", name))
		diag("%s", err.message);
}

static void refuse(const char *name, const char *path_var, enum err_kind kind, const char *message,
	const char *hint)
{
	char *env[] = {(char *)path_var, NULL};
	struct err err = {0};

	is_int(command_check(&plan, tree, name, env, &err), -1, "%s is refused", name);
	is_int(err.kind, kind, "%s: the kind", name);
	is_str(err.message, message, "%s: the message", name);
	if (!ok(strstr(err.hint, hint) != NULL, "%s: the hint", name))
		diag("%s", err.hint);
}

int main(void)
{
	struct policy_context context = {.home = "/", .cwd = "/srv/p"};
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/srv/p"};
	struct policy policy = {0};
	struct err err = {0};

	tree = faketree_parse(tree_text);
	if (policy_load_text(&policy, policy_text, strlen(policy_text), "test.json", NULL, &context,
		    &err) < 0 ||
		plan_make(&plan, &policy, tree, &request, &err) < 0) {
		diag("%s", err.message);
		return 1;
	}
	find("sh", "PATH=/opt/bin:/usr/bin");
	find("sh", "X=y");
	find("/bin/sh", "PATH=");
	find("./link", "PATH=");
	find("script", "PATH=/bin");
	find("both", "PATH=/usr/bin:/opt/bin");
	refuse("nosuch", "PATH=/usr/bin", ERR_NOT_FOUND,
		"nosuch is not found in the sandbox (PATH=/usr/bin)", "--inherit PATH");
	refuse("", "PATH=/usr/bin", ERR_NOT_FOUND, " is not found in the sandbox (PATH=/usr/bin)",
		"PATH");
	refuse("/no/such", "PATH=", ERR_NOT_FOUND, "/no/such is not in the sandbox", "sbx-plan");
	refuse("./noexec", "PATH=", ERR_NOT_EXECUTABLE,
		"/srv/p/./noexec cannot be executed: it has no execute permission", "chmod +x");
	refuse("both", "PATH=/usr/bin", ERR_NOT_EXECUTABLE,
		"/usr/bin/both cannot be executed: it has no execute permission", "chmod +x");
	refuse("./dir", "PATH=", ERR_NOT_EXECUTABLE,
		"/srv/p/./dir cannot be executed: it is a directory", "program");
	refuse("badinterp", "PATH=/usr/bin", ERR_NOT_EXECUTABLE,
		"/usr/bin/badinterp cannot be executed: what runs it, /no/such, is not in the "
		"sandbox or not"
		" executable",
		"");
	refuse("./run", "PATH=", ERR_NOT_EXECUTABLE,
		"/srv/p/./run cannot be executed: what runs it, ./noexec, is not in the sandbox or "
		"not"
		" executable",
		"");
	refuse("denied", "PATH=/usr/bin", ERR_NOT_EXECUTABLE,
		"/usr/bin/denied cannot be executed: Permission denied",
		"/usr/bin/denied (test.json: /filesystem/deny/0) hides it");
	plan_clear(&plan);
	policy_clear(&policy);
	faketree_free(tree);
	return done_testing();
}
