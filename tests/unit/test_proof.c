/*
 * The proof: small good plans prove, and each kind of bad plan is rejected for the right reason.
 * Policies and plans are written as text here: neither the policy's reader nor the planner is
 * needed.
 */
#include "plan/proof.h"
#include "plan/view.h"

#include "base/mem.h"
#include "lib/faketree.h"
#include "lib/tap.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world {
	const char *policy, *tree, *plan;
};

/* Splits a line into words; returns their number. */
static size_t words(char *line, char **word, size_t max)
{
	size_t n = 0;
	char *save = NULL;

	for (char *w = strtok_r(line, " ", &save); w && n < max; w = strtok_r(NULL, " ", &save))
		word[n++] = w;
	return n;
}

/* Rules, one a line: "root read|deny", "read|write|deny|connect PATH [WORD]" (WORD: optional, empty,
 * enforce, follow, file, directory or worktree), "mount read|write FROM AT [follow]", "tmpfs
 * read|write AT", "file AT TEXT", "device PATH", "spelled PATH" (of the rule before), "own PATH" (of
 * sbx's own files), "proc fresh|bind|none", "no-dev", "no-tmp". PROC, DEV and a writable /tmp are
 * there unless turned off. */
static void policy_rule(struct policy *policy, char **w, size_t n)
{
	struct rule *rule = &policy->rules[policy->n_rules];
	const char *access = strcmp(w[0], "mount") == 0 || strcmp(w[0], "tmpfs") == 0 ? w[1] : w[0];
	const char *last = w[n - 1];

	rule->connect = strcmp(access, "connect") == 0;
	rule->access = strcmp(access, "read") == 0 || rule->connect ? ACCESS_READ
		       : strcmp(access, "write") == 0               ? ACCESS_WRITE
								    : ACCESS_DENY;
	rule->optional = strcmp(last, "optional") == 0;
	rule->follow = strcmp(last, "follow") == 0;
	rule->worktree = strcmp(last, "worktree") == 0;
	rule->mask = strcmp(last, "empty") == 0 ? MASK_EMPTY : MASK_EACCES;
	rule->missing = strcmp(last, "enforce") == 0 ? MISSING_ENFORCE : MISSING_WATCH;
	rule->type = strcmp(last, "file") == 0        ? TYPE_FILE
		     : strcmp(last, "directory") == 0 ? TYPE_DIRECTORY
						      : TYPE_ANY;
	rule->origin.file = (char *)"test";
	rule->origin.pointer = xstrdup(w[0]);
	if (strcmp(w[0], "root") == 0) {
		rule->kind = RULE_ROOT;
		rule->access = strcmp(w[1], "read") == 0 ? ACCESS_READ : ACCESS_DENY;
		rule->path = xstrdup("/");
	} else if (strcmp(w[0], "mount") == 0) {
		rule->kind = RULE_MOUNT;
		rule->path = xstrdup(w[2]);
		rule->at = xstrdup(w[3]);
	} else if (strcmp(w[0], "scratch") == 0) {
		rule->kind = RULE_TMPFS;
		rule->access = ACCESS_WRITE;
		rule->scratch = true;
		rule->at = xstrdup(w[1]);
	} else if (strcmp(w[0], "tmpfs") == 0) {
		rule->kind = RULE_TMPFS;
		rule->at = xstrdup(w[2]);
	} else if (strcmp(w[0], "file") == 0) {
		rule->kind = RULE_FILE;
		rule->at = xstrdup(w[1]);
		rule->text = xstrdup(w[2]);
		rule->text_len = strlen(w[2]);
	} else {
		rule->kind = strcmp(w[0], "device") == 0 ? RULE_DEVICE : RULE_PATH;
		rule->path = xstrdup(w[1]);
	}
	policy->n_rules++;
}

static void policy_own(struct policy *policy, enum rule_kind kind, const char *at)
{
	policy->rules[policy->n_rules++] = (struct rule){.kind = kind,
		.access = ACCESS_WRITE,
		.at = xstrdup(at),
		.origin = {.file = (char *)"default", .pointer = xstrdup(at)}};
}

static void policy_parse(struct policy *policy, const char *text)
{
	CLEANUP_FREE char *copy = xstrdup(text);
	char *save = NULL;
	bool tmp = true;

	*policy = (struct policy){.rules = xcalloc(64, sizeof(struct rule))};
	for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *w[5] = {0};
		size_t n = words(l, w, 5);

		if (strcmp(w[0], "proc") == 0)
			policy->proc = strcmp(w[1], "fresh") == 0  ? PROC_FRESH
				       : strcmp(w[1], "bind") == 0 ? PROC_BIND
								   : PROC_NONE;
		else if (strcmp(w[0], "no-dev") == 0)
			policy->dev = DEV_NONE;
		else if (strcmp(w[0], "no-tmp") == 0)
			tmp = false;
		else if (strcmp(w[0], "own") == 0)
			strvec_push(&policy->own, w[1]);
		else if (strcmp(w[0], "spelled") == 0)
			policy->rules[policy->n_rules - 1].spelled = xstrdup(w[1]);
		else
			policy_rule(policy, w, n);
	}
	if (policy->proc != PROC_NONE)
		policy_own(policy, RULE_PROC, "/proc");
	if (policy->dev != DEV_NONE)
		policy_own(policy, RULE_DEV, "/dev");
	if (tmp)
		policy_own(policy, RULE_TMPFS, "/tmp");
}

static void policy_free(struct policy *policy)
{
	for (size_t i = 0; i < policy->n_rules; i++) {
		struct rule *rule = &policy->rules[i];

		free(rule->path);
		free(rule->at);
		free(rule->text);
		free(rule->spelled);
		free(rule->origin.pointer);
	}
	free(policy->rules);
	strvec_clear(&policy->own);
}

static void plan_op(struct plan *plan, char **w, size_t n, const struct rule *why)
{
	static const char *const kinds[] = {
		[OP_BIND_READ] = "ro",
		[OP_BIND_WRITE] = "rw",
		[OP_DEV_BIND] = "device",
		[OP_TMPFS] = "tmpfs",
		[OP_DIR] = "dir",
		[OP_SYMLINK] = "link",
		[OP_FILE] = "file",
		[OP_DENY_DIR] = "mask",
		[OP_DENY_FILE] = "maskfile",
		[OP_PROC] = "proc",
		[OP_DEV] = "dev",
		[OP_MQUEUE] = "mqueue",
		[OP_SEAL] = "seal",
	};
	struct op *op;

	GROW(plan->ops, plan->n, plan->alloc);
	op = &plan->ops[plan->n++];
	*op = (struct op){.dest = xstrdup(w[1]), .why = why};
	op->scaffold = strcmp(w[0], "maskdir") == 0;
	op->kind = op->scaffold ? OP_DENY_DIR : OP_BIND_READ;
	while (!op->scaffold && strcmp(kinds[op->kind], w[0]) != 0)
		op->kind++;
	if (op->kind <= OP_DEV_BIND || op->kind == OP_SYMLINK)
		op->source = xstrdup(n > 2 ? w[2] : w[1]);
	else if (op->kind == OP_FILE)
		op->data = n > 2 ? xstrdup(w[2]) : xstrdup("");
	else if (n > 2)
		sscanf(w[2], "%o,%" SCNu64, &op->mode, &op->size);
	op->data_len = op->data ? strlen(op->data) : 0;
}

/* Ops, one a line: KIND DEST [SOURCE, TEXT or MODE[,SIZE]]; "maskdir" is a mask made as a directory. Lines
 * "cwd PATH", "bound" (/proc is bound) and "note TEXT" are not ops. */
static void plan_parse(struct plan *plan, const char *text, const struct policy *policy)
{
	CLEANUP_FREE char *copy = xstrdup(text);
	char *save = NULL;

	*plan = (struct plan){.proc = PROC_FRESH, .cwd = xstrdup("/")};
	for (char *l = strtok_r(copy, "\n", &save); l; l = strtok_r(NULL, "\n", &save)) {
		char *w[3] = {0};

		if (strncmp(l, "note ", 5) == 0) {
			strvec_push(&plan->notes, l + 5);
			continue;
		}
		size_t n = words(l, w, 3);

		if (strcmp(w[0], "cwd") == 0) {
			free(plan->cwd);
			plan->cwd = xstrdup(w[1]);
		} else if (strcmp(w[0], "bound") == 0) {
			plan->proc = PROC_BIND;
		} else {
			plan_op(plan, w, n, &policy->rules[0]);
		}
	}
}

static void plan_free(struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		free(plan->ops[i].source);
		free(plan->ops[i].dest);
		free((char *)plan->ops[i].data);
	}
	free(plan->ops);
	free(plan->cwd);
	strvec_clear(&plan->notes);
}

/* Proves a plan; "" or the message. */
static const char *verdict(const char *policy_text, const char *tree_text, const char *plan_text)
{
	static struct err err;
	struct policy policy;
	struct plan plan;
	struct tree *tree = faketree_parse(tree_text);

	err = (struct err){0};
	policy_parse(&policy, policy_text);
	plan_parse(&plan, plan_text, &policy);
	if (proof_check(&plan, &policy, tree, &err) == 0 && err.message[0])
		err_set(&err, ERR_PLAN, "a message without an error");
	plan_free(&plan);
	policy_free(&policy);
	faketree_free(tree);
	return err.message;
}

static void proves(const struct world *world, const char *name)
{
	is_str(verdict(world->policy, world->tree, world->plan), "", "proves: %s", name);
}

/* The world's plan with its line "from" replaced by the lines "to" ("" = dropped) does not
 * prove, and the message holds want. */
static void rejects(const struct world *world, const char *from, const char *to, const char *want,
	const char *name)
{
	CLEANUP_FREE char *line = xasprintf("\n%s\n", from), *old = xasprintf("\n%s", world->plan);
	CLEANUP_FREE char *plan = NULL;
	const char *at = strstr(old, line), *got;

	if (!ok(at != NULL, "the plan has a line \"%s\"", from))
		return;
	plan = xasprintf(
		"%.*s%s%s%s", (int)(at + 1 - old), old, to, *to ? "\n" : "", at + strlen(line));
	got = verdict(world->policy, world->tree, plan);
	if (!ok(strncmp(got, "not proven: ", 12) == 0 && strstr(got, want), "rejects: %s", name))
		diag("got: \"%s\", wanted: \"%s\"", got, want);
}

/* What most trees and plans have. */
#define HOST                                                                                       \
	"d /\nc /dev/null 1:3\nd /tmp 1777\nd /proc\nd /proc/sys\nf /proc/sysrq-trigger\n"         \
	"d /proc/self-made\nf /usr/bin/sh\nf /usr/lib/libc.so\nl /bin -> usr/bin\nf /etc/passwd\n"
#define OWN                                                                                        \
	"proc /proc\nro /proc/sys\nro /proc/sysrq-trigger\ndev /dev\ntmpfs /dev/shm 1777\n"        \
	"mqueue /dev/mqueue\ntmpfs /tmp 1777\n"
#define SEALS "seal /dev\nseal /\n"
#define ENTRIES "link /bin usr/bin\nro /etc\nro /usr\n"

static void test_root(void)
{
	static const struct world w = {"root read", HOST, ENTRIES OWN SEALS};
	static const struct world bound = {"root read", HOST,
		"bound\n" ENTRIES "ro /proc\ndev /dev\ntmpfs /dev/shm 1777\n"
		"mqueue /dev/mqueue\ntmpfs /tmp 1777\n" SEALS};
	static const struct world none = {
		"root read\nproc none\nno-dev\nno-tmp", HOST, ENTRIES "seal /\n"};

	proves(&w, "the host, readable");
	proves(&bound, "the host's own /proc, read-only");
	proves(&none, "no /proc, /dev and /tmp");
	rejects(&none, "seal /", "ro /tmp\nseal /", "op bind-read at /tmp is not justified",
		"the host's /tmp");
	rejects(&none, "seal /", "ro /proc\nseal /", "/proc/sys can be reached",
		"the host's /proc");
	rejects(&bound, "ro /proc", "rw /proc", "/proc is writable", "a writable bound /proc");
	rejects(&bound, "bound", "", "/proc is not what the rule says",
		"a bound /proc said to be fresh");
	rejects(&w, "ro /etc", "", "/etc was left out", "an entry of / left out");
	rejects(&w, "ro /etc", "note left out: /et: gone", "/etc was left out",
		"a note on another name");
	rejects(&w, "link /bin usr/bin", "", "/bin was left out", "a link of / left out");
	rejects(&w, "link /bin usr/bin", "link /bin etc", "/bin shows something else",
		"another link");
	rejects(&w, "ro /etc", "rw /etc", "/etc is writable", "writable where only read");
	rejects(&w, "ro /etc", "ro /etc /usr", "/etc shows something else", "another object");
	rejects(&w, "ro /etc", "ro /etc\nro /new /etc", "op bind-read at /new is not justified",
		"an extra bind");
	rejects(&w, "ro /etc", "ro /etc\ndir /new 0755", "op dir at /new is not justified",
		"an extra directory");
	rejects(&w, "seal /", "", "/ is not sealed", "the root not sealed");
	rejects(&w, "seal /dev", "", "/dev is not sealed", "/dev not sealed");
	rejects(&w, "tmpfs /tmp 1777", "", "/tmp is not there", "no /tmp");
	rejects(&w, "seal /dev", "seal /dev\nseal /tmp", "/tmp is not writable", "/tmp sealed");
	rejects(&w, "seal /dev", "seal /dev\nseal /etc", "nothing of the sandbox's own is mounted",
		"a seal on a bind");
	rejects(&w, "seal /dev", "seal /dev\nseal /dev", "sealed already", "sealed twice");
	rejects(&w, "ro /proc/sys", "", "/proc/sys shows something else", "/proc/sys not covered");
	rejects(&w, "ro /proc/sys", "rw /proc/sys", "/proc/sys is writable", "/proc/sys writable");
	rejects(&w, "ro /proc/sys", "ro /proc/sys\nro /proc/self-made", "/proc/self-made",
		"more of the host's /proc");
	rejects(&w, "mqueue /dev/mqueue", "", "/dev/mqueue is not there", "no mqueue");
	rejects(&w, "tmpfs /dev/shm 1777", "", "/dev/shm", "no /dev/shm");
	rejects(&w, "ro /etc", "cwd /nowhere\nro /etc", "the working directory /nowhere", "no cwd");
}

static void test_feasible(void)
{
	static const struct world w = {"root read\nread /srv/a",
		HOST "f /srv/a/x\nl /srv/l -> a\nd /srv/ab\n", ENTRIES "ro /srv\n" OWN SEALS};

	proves(&w, "a read rule that changes nothing");
	rejects(&w, "ro /srv", "ro /srv\nro /srv/l /srv/a", "the destination is a link",
		"a destination that is a link");
	rejects(&w, "ro /srv", "ro /srv\nro /srv/l/x /srv/a/x", "/srv/l is a link",
		"a link in a destination");
	rejects(&w, "ro /srv", "ro /srv\nro /bin/sh /usr/bin/sh", "/bin is a link",
		"a link of the scaffold in a destination");
	rejects(&w, "ro /srv", "ro /srv\nro /srv/ab /srv/l", "/srv/l is a link",
		"a source that is a link");
	rejects(&w, "ro /srv", "ro /srv\nro /usr/bin/sh /srv/l/x", "is not there",
		"a link in a source");
	rejects(&w, "ro /srv", "ro /srv /none", "/none is not there", "a source that is missing");
	rejects(&w, "ro /srv", "ro /srv /srv/../srv", "no normal path",
		"a source that is not normal");
	rejects(&w, "ro /srv", "ro /srv\nro /srv/new /srv/a", "there is no mount point",
		"a mount point missing on the host");
	rejects(&w, "ro /srv", "ro /srv\nro /new/a /srv/a", "/new is not there",
		"a parent missing");
	rejects(&w, "ro /srv", "ro /srv\nro /srv/a /usr/bin/sh", "wrong type",
		"a file over a directory");
	rejects(&w, "ro /srv", "ro /srv\ntmpfs /srv/a/x 0755", "wrong type",
		"a directory over a file");
	rejects(&w, "ro /srv", "ro /srv\ndir /srv/a 0755", "the name is there already",
		"a directory made on a host directory");
	rejects(&w, "ro /srv", "ro /srv\ndir /srv/a/x/y 0755", "/srv/a/x is not a directory",
		"a file as a parent");
	rejects(&w, "ro /srv", "ro /srv\nro /srv", "would be hidden", "the same op twice");
	rejects(&w, "seal /", "seal /\nro /late /etc", "/ is sealed already",
		"an op after the seal");
	rejects(&w, "ro /srv", "ro /srv\nlink / x", "the root cannot be replaced",
		"an op on the root");
	rejects(&w, "ro /srv", "ro /srv\ndevice /srv/a/x /srv/a/x", "is not a device",
		"a device bind of a file");
	rejects(&w, "ro /srv", "ro /srv\nro /srv/a/../ab", "normal destination",
		"a destination that is not normal");
}

static void test_deny(void)
{
	static const struct world w = {
		"root read\ndeny /home/u/.ssh\ndeny /home/u/key\nread /home/u/.ssh/pub\n"
		"deny /home/u/fifo empty\ndeny /home/u/gone",
		HOST "d /home/u 0750\nf /home/u/.ssh/id\nf /home/u/.ssh/pub\nf /home/u/key\np "
		     "/home/u/fifo\n"
		     "f /home/u/keys\n",
		ENTRIES "ro /home\nmask /home/u/.ssh 0555\nro /home/u/.ssh/pub\nfile /home/u/fifo\n"
			"maskfile /home/u/key\n" OWN "seal /home/u/.ssh\n" SEALS};
	static const struct world plain = {"root read\ndeny /home/u/.ssh",
		HOST "f /home/u/.ssh/id\n",
		ENTRIES "ro /home\nmask /home/u/.ssh 0000\n" OWN "seal /home/u/.ssh\n" SEALS};
	static const struct world link = {"root read\ndeny /home/u/l",
		HOST "l /home/u/l -> /srv/s\nf /srv/s\n",
		ENTRIES "ro /home\nro /srv\nmaskfile /srv/s\n" OWN SEALS};
	static const struct world bad_null = {"root read\ndeny /etc/passwd",
		"d /\nd /tmp\nc /dev/null 1:5\nd /proc\nf /etc/passwd\n",
		"ro /etc\nmaskfile /etc/passwd\n" OWN SEALS};

	proves(&w, "denied names");
	proves(&plain, "a denied directory");
	proves(&link, "a denial through a link follows the object");
	rejects(&w, "maskfile /home/u/key", "", "/home/u/key can be reached", "a cover dropped");
	rejects(&w, "maskfile /home/u/key", "maskfile /home/u/keys", "/home/u/key can be reached",
		"a prefix as a string");
	rejects(&w, "maskfile /home/u/key", "maskfile /home/u/key\nmaskfile /home/u/keys",
		"/home/u/keys was left out", "a cover too many");
	rejects(&w, "maskfile /home/u/key", "file /home/u/key", "/home/u/key is not denied",
		"an empty file without the rule's word");
	rejects(&w, "file /home/u/fifo", "file /home/u/fifo text", "/home/u/fifo is not denied",
		"a file with bytes over what is denied");
	rejects(&w, "maskfile /home/u/key", "ro /home/u/key", "/home/u/key is not denied",
		"a denied file bound");
	rejects(&w, "ro /home/u/.ssh/pub", "", "/home/u/.ssh/pub was left out",
		"a grant inside left out");
	rejects(&w, "ro /home/u/.ssh/pub", "ro /home/u/.ssh/pub\nro /home/u/.ssh/id",
		"/home/u/.ssh/id is not denied", "a bind inside what is denied");
	rejects(&w, "mask /home/u/.ssh 0555", "mask /home/u/.ssh 0000", "has not mode 0555",
		"something visible below mode 0000");
	rejects(&w, "seal /home/u/.ssh", "", "/home/u/.ssh is not sealed", "a mask not sealed");
	rejects(&plain, "seal /home/u/.ssh", "", "/home/u/.ssh is not sealed",
		"an empty mask not sealed");
	rejects(&plain, "mask /home/u/.ssh 0000", "mask /home/u/.ssh 0555",
		"/home/u/.ssh is not denied", "a mask with nothing visible that can be listed");
	rejects(&plain, "ro /home", "mask /home/u/.ssh 0000\nro /home", "/home is not there",
		"a cover before its bind");
	rejects(&link, "maskfile /srv/s", "", "/srv/s can be reached", "a link's target open");
	ok(strstr(verdict(bad_null.policy, bad_null.tree, bad_null.plan), "not the null device") !=
			NULL,
		"rejects: a /dev/null that is something else");
}

/* Rules for one type of object: those for another are as if they were not written. */
static void test_types(void)
{
	static const struct world w = {
		"root read\nwrite /w\nread /w/f file\nread /w/d file\ndeny /w/f directory\n"
		"deny /w/link file\ndeny /w/k directory\nread /w/p file\nread /w/gone file",
		HOST "f /w/f\nd /w/d\nl /w/link -> ../u/x\nf /u/x\nf /w/k\np /w/p\n",
		ENTRIES
		"ro /u\nmaskfile /u/x\nrw /w\nro /w/f\nnote not enforced: /w/gone\n" OWN SEALS};

	proves(&w, "rules of the right type, and of the wrong one");
	rejects(&w, "ro /w/f", "", "/w/f is writable", "one of the right type without effect");
	rejects(&w, "ro /w/f", "maskfile /w/f", "/w/f was left out",
		"one of the wrong type in effect");
	rejects(&w, "ro /w/f", "ro /w/f\nro /w/d", "/w/d is not writable",
		"a directory taken for a file");
	rejects(&w, "ro /w/f", "ro /w/f\nmaskfile /w/k", "/w/k was left out",
		"a file taken for a directory");
	rejects(&w, "ro /w/f", "ro /w/f\nro /w/p", "/w/p is not writable",
		"a FIFO taken for a file");
	rejects(&w, "maskfile /u/x", "", "/u/x can be reached", "a link taken for the object");
	rejects(&w, "note not enforced: /w/gone", "", "/w/gone can be made inside",
		"a name that is missing taken for the wrong type");
}

/* A linked worktree: nothing but what its commits need, and none of it left open to lies. */
static void test_worktree(void)
{
	static const struct world w = {"root read\nwrite /w\nwrite /w/.git worktree",
		HOST "f /w/.git =gitdir: /g/worktrees/w\\n\nf /g/HEAD\nf /g/config\nd /g/hooks\n"
		     "d /g/objects\nd /g/refs\nf /g/worktrees/w/gitdir =/w/.git\\n\n"
		     "f /g/worktrees/w/commondir =../..\\n\nf /g/worktrees/w/config.worktree\n"
		     "d /g/worktrees/w/modules\nd /g/worktrees/x\n",
		ENTRIES
		"ro /g\nrw /g/objects\nrw /g/refs\nrw /g/worktrees/w\n"
		"ro /g/worktrees/w/commondir\nro /g/worktrees/w/config.worktree\n"
		"ro /g/worktrees/w/gitdir\nro /g/worktrees/w/modules\nrw /w\nro /w/.git\n" OWN
			SEALS};

	proves(&w, "a linked worktree");
	rejects(&w, "ro /g", "rw /g", "/g is writable", "the whole repository opened");
	rejects(&w, "rw /g/refs", "rw /g/refs\nrw /g/hooks", "/g/hooks is writable",
		"the hooks opened");
	rejects(&w, "rw /g/refs", "rw /g/refs\nrw /g/config", "/g/config is writable",
		"the configuration opened");
	rejects(&w, "rw /g/refs", "rw /g/refs\nrw /g/worktrees/x", "/g/worktrees/x is writable",
		"another worktree opened");
	rejects(&w, "ro /g/worktrees/w/gitdir", "", "gitdir is writable", "the way back left open");
	rejects(&w, "ro /g/worktrees/w/commondir", "", "commondir is writable",
		"the common directory left open");
	rejects(&w, "ro /g/worktrees/w/config.worktree", "", "config.worktree is writable",
		"the configuration of the worktree left open");
	rejects(&w, "ro /g/worktrees/w/modules", "", "modules is writable",
		"the hooks of its submodules left open");
	rejects(&w, "ro /w/.git", "", "/w/.git is writable", "the file itself left open");
	rejects(&w, "rw /g/objects", "", "/g/objects is not writable", "the objects closed");
}

static void test_order(void)
{
	static const struct world w = {"root read\nmount read /a /m\ndeny /a/s",
		HOST "d /m\nf /a/s\n",
		ENTRIES "ro /a\nmaskfile /a/s\ndir /m 0755\nro /m /a\nmaskfile /m/s\n" OWN SEALS};

	proves(&w, "a directory as a mount point, covered");
	rejects(&w, "ro /m /a", "maskfile /m/s\nro /m /a", "/m/s would be hidden",
		"a cover before the bind at its place");
}

static void test_mounts(void)
{
	static const struct world w = {
		"root read\nmount write /data /ws\ndeny /data/s\nwrite /data\n"
		"read /data/p/q\ndeny /ws/mine",
		HOST "d /data\nf /data/s/x\nf /data/mine\nd /data/p/q\nf /data/p/r\n",
		ENTRIES "rw /data\nrw /data/p\nro /data/p/q\nmask /data/s 0000\n"
			"rw /ws /data\nmaskfile /ws/mine\nrw /ws/p /data/p\nro /ws/p/q /data/p/q\n"
			"mask /ws/s 0000\n" OWN "seal /data/s\nseal /ws/s\n" SEALS};
	static const struct world grant = {"root read\ndeny /state\nmount write /state/one /s",
		HOST "f /state/one/x\nf /state/two\n",
		ENTRIES "dir /s 0755\nrw /s /state/one\nmaskdir /state 0000\n" OWN SEALS};

	proves(&w, "a mount whose source holds protected objects");
	proves(&grant, "a mount from inside a denied place");
	rejects(&w, "mask /ws/s 0000", "mask /ws/s 0000\nro /ws/s/x /data/s/x", "is not denied",
		"a denied object bound at another place");
	rejects(&w, "ro /ws/p/q /data/p/q", "", "/ws/p/q is writable",
		"a read inside write, by alias");
	rejects(&w, "rw /ws/p /data/p", "", "/ws/p is not pinned", "a pin missing at the alias");
	rejects(&w, "rw /data/p", "", "/data/p is not pinned", "a pin missing");
	rejects(&w, "ro /data/p/q", "", "/data/p/q is writable", "a read inside write not covered");
	rejects(&w, "maskfile /ws/mine", "", "/ws/mine can be reached",
		"a denied name inside a mount");
	rejects(&w, "rw /ws /data", "ro /ws /data", "/ws is not writable", "a mount not writable");
	rejects(&grant, "rw /s /state/one", "rw /s /state", "/s shows something else",
		"more than the granted source");
	rejects(&grant, "maskdir /state 0000", "ro /state", "/state is not denied",
		"what is denied, bound");
	rejects(&grant, "maskdir /state 0000", "maskdir /state 0000\nro /state2 /state",
		"op bind-read at /state2 is not justified", "what is denied, bound elsewhere");
	rejects(&grant, "maskdir /state 0000", "", "/state does not look denied",
		"a denied name left out of its directory");
	rejects(&grant, "maskdir /state 0000", "maskfile /state", "/state does not look denied",
		"a file in the place of a denied directory");
}

/* The alias of a cover is dropped from a plan whose seal would then be a fault of its own. */
static void test_alias(void)
{
	static const struct world w = {"root read\nmount read /data /ws\ndeny /data/s",
		HOST "f /data/s\n",
		ENTRIES "ro /data\nmaskfile /data/s\nro /ws /data\nmaskfile /ws/s\n" OWN SEALS};

	proves(&w, "a denied file shows at no place");
	rejects(&w, "maskfile /ws/s", "", "/ws/s can be reached", "an alias through a mount");
	rejects(&w, "maskfile /data/s", "", "/data/s can be reached", "the object's own place");
}

static void test_opened(void)
{
	static const struct world w = {
		"root read\nmount read /data /opt/new\nmount read /data /usr/x/y",
		HOST "f /data/x\nd /opt 0711\nf /opt/a\nl /opt/l -> a\n! /opt/dead\n",
		"link /bin usr/bin\nro /data\nro /etc\ndir /opt 0711\nro /opt/a\nlink /opt/l a\n"
		"ro /opt/new /data\ntmpfs /usr 0755\nro /usr/bin\nro /usr/lib\n"
		"dir /usr/x 0755\nro /usr/x/y /data\n"
		"note left out: /opt/dead: Permission denied\n" OWN "seal /usr\n" SEALS};

	proves(&w, "opened directories");
	rejects(&w, "ro /opt/a", "", "/opt/a was left out",
		"an entry of an opened directory left out");
	rejects(&w, "link /opt/l a", "", "/opt/l was left out",
		"a link of an opened directory left out");
	rejects(&w, "link /opt/l a", "link /opt/l new", "/opt/l shows something else",
		"a link changed");
	rejects(&w, "ro /opt/a", "file /opt/a x", "/opt/a shows something else", "a file made up");
	rejects(&w, "note left out: /opt/dead: Permission denied", "", "/opt/dead was left out",
		"an entry left out without a note");
	rejects(&w, "dir /opt 0711", "dir /opt 0755", "another mode", "an opened directory's mode");
	rejects(&w, "seal /usr", "", "/usr is not sealed", "an opened directory not sealed");
	rejects(&w, "ro /opt/new /data", "note left out: /opt/new: x", "/opt/new",
		"a mount left out");
	rejects(&w, "ro /usr/x/y /data", "", "/usr/x", "a directory that leads nowhere");
}

/* Sockets and FIFOs among the entries of an opened directory: named, or covered. */
static void test_loose_ends(void)
{
	static const struct world w = {"root read\nmount read /data /opt/new\nread /opt/asked\n"
				       "connect /opt/named\ndeny /opt/sock/x\ndeny /opt/hidden",
		HOST "f /data/x\ns /opt/sock 0600 7 7\ns /opt/named\np /opt/fifo\np /opt/asked\n"
		     "p /opt/hidden\np /data/fifo\n",
		"link /bin usr/bin\nro /data\nro /etc\ndir /opt 0755\nro /opt/asked\n"
		"maskfile /opt/fifo\nmaskfile /opt/hidden\nro /opt/named\nro /opt/new /data\n"
		"maskfile /opt/sock\nro /usr\n" OWN SEALS};

	proves(&w, "loose ends of an opened directory");
	rejects(&w, "maskfile /opt/sock", "ro /opt/sock", "/opt/sock is a socket or FIFO that no",
		"a socket shown");
	rejects(&w, "maskfile /opt/sock", "", "/opt/sock is a socket or FIFO that no",
		"a socket left out");
	rejects(&w, "maskfile /opt/fifo", "ro /opt/fifo", "/opt/fifo is a socket or FIFO that no",
		"a FIFO shown");
	rejects(&w, "maskfile /opt/fifo", "file /opt/fifo x", "/opt/fifo is a socket or FIFO",
		"a file in its place");
	rejects(&w, "ro /opt/named", "maskfile /opt/named", "/opt/named was left out",
		"a grant covered");
	rejects(&w, "ro /opt/asked", "maskfile /opt/asked", "/opt/asked was left out",
		"a FIFO that a rule names, covered");
}

/* Live sockets: no bind shows one, by any name, unless a rule has it for its own object. */
static void test_sockets(void)
{
	static const char tree[] = HOST
		"uid 7\nd /home/u 0755 7 7\ns /home/u/s 0600 7 7\nu /home/u/s\n"
		"s /home/u/d/t 0600 7 7\nu /home/u/d/t\ns /srv/x 0622\nu /srv/l/x\nl /srv/l -> .\n"
		"d /b\na /b -> /srv\ns /srv/c 0622\nu /srv/c\ns /srv/no 0600\nu /srv/no\n"
		"s /srv/dead 0666\nf /srv/f\nu /srv/f\nl /srv/k -> c\n";
	static const struct world w = {
		"root read\nwrite /home/u\nmount read /srv /m\nconnect /srv/k", tree,
		ENTRIES "ro /b\nmaskfile /b/x\nro /home\nrw /home/u\nrw /home/u/d\n"
			"maskfile /home/u/d/t\nmaskfile /home/u/s\nro /m /srv\nmaskfile /m/x\n"
			"ro /srv\nmaskfile /srv/x\n" OWN SEALS};
	static const struct world unasked = {"root deny\nmount read /b /m", tree,
		"ro /m /b\nmaskfile /m/c\nmaskfile /m/x\n" OWN SEALS};
	static const struct world link = {"root read\nwrite /home/u\nread /home/u/k",
		HOST "uid 7\nd /home/u 0755 7 7\nl /home/u/k -> /srv/x\ns /srv/x 0666\nu /srv/x\n",
		ENTRIES "ro /home\nrw /home/u\nro /srv\nmaskfile /srv/x\n" OWN SEALS};
	static const struct world followed = {"root read\nread /home/u/k follow",
		HOST "uid 7\nd /home/u 0755 7 7\nl /home/u/k -> /srv/x\ns /srv/x 0666\nu /srv/x\n",
		ENTRIES "ro /home\nro /srv\n" OWN SEALS};
	static const struct world denied = {"root read\ndeny /srv/x empty\nmount read /srv/y /m",
		HOST "s /srv/x\nu /srv/x\ns /srv/y\nu /srv/y\n",
		ENTRIES "ro /m /srv/y\nro /srv\nfile /srv/x\n" OWN SEALS};
	static const struct world moved = {"root read\nmount read /data /srv",
		HOST "d /data\nf /data/x\ns /srv/x\nu /srv/x\n",
		ENTRIES "ro /data\nro /srv /data\n" OWN SEALS};

	proves(&w, "live sockets covered by all names");
	proves(&unasked, "those behind a mount of another name");
	proves(&link, "one that a link of the command's leads to");
	proves(&followed, "one that a trusted link names");
	proves(&denied, "one that is denied its own way, and one that is mounted");
	proves(&moved, "a file at the name of one");
	rejects(&w, "maskfile /srv/x", "", "/srv/x can be reached (deny every live socket)",
		"the own name");
	rejects(&w, "maskfile /b/x", "", "/b/x can be reached", "a name by the mount table");
	rejects(&w, "maskfile /m/x", "", "/m/x can be reached", "an image");
	rejects(&w, "maskfile /m/x", "ro /m/x /srv/x", "/m/x is not denied", "a bind of it");
	rejects(&w, "maskfile /home/u/s", "", "/home/u/s can be reached", "a writable place");
	rejects(&w, "rw /home/u/d", "", "/home/u/d is not pinned", "a name that can be moved");
	rejects(&w, "ro /srv", "ro /srv\nmaskfile /srv/c", "/srv/c was left out",
		"a grant covered");
	rejects(&w, "ro /srv", "ro /srv\nmaskfile /srv/no", "/srv/no was left out",
		"one covered that the caller cannot use");
	rejects(&w, "ro /srv", "ro /srv\nmaskfile /srv/dead", "/srv/dead was left out",
		"one covered that nobody holds");
	rejects(&w, "ro /srv", "ro /srv\nmaskfile /srv/f", "/srv/f was left out",
		"a file covered that a made-up name leads to");
	rejects(&unasked, "maskfile /m/c", "", "/m/c can be reached", "an image of another name");
	rejects(&link, "maskfile /srv/x", "", "/srv/x can be reached",
		"a grant through a link that grants nothing");
	rejects(&followed, "ro /srv", "ro /srv\nmaskfile /srv/x", "/srv/x was left out",
		"a grant through a link that is trusted, covered");
	rejects(&moved, "ro /srv /data", "ro /srv /data\nmaskfile /srv/x", "/srv/x was left out",
		"a file covered for its name");
	ok(strstr(verdict("root read\nconnect /etc/passwd", HOST, ENTRIES OWN SEALS),
		   "it is no socket"),
		"rejects: a file to connect to");
	ok(strstr(verdict("root read", HOST "u\n", ENTRIES OWN SEALS), "it is not known which"),
		"rejects: sockets that cannot be known");
}

static void test_write(void)
{
	static const struct world w = {
		"root read\nwrite /w\nread /w/a/b/c\nwrite /w/a/b/c/d\ndeny /w/.env\ndeny /w/ab/x\n"
		"read /w/hooks",
		HOST "d /w/a/b/c/d\nf /w/ab\n",
		"note not enforced: /w/.env, /w/hooks\nnote not enforced: /w/ab/x\n" ENTRIES
		"rw /w\nrw /w/a\nrw /w/a/b\nro /w/a/b/c\n"
		"rw /w/a/b/c/d\n" OWN SEALS};

	proves(&w, "read inside write");
	rejects(&w, "rw /w/a", "", "/w/a is not pinned", "an upper pin missing");
	rejects(&w, "rw /w/a/b", "", "/w/a/b is not pinned", "a lower pin missing");
	rejects(&w, "ro /w/a/b/c", "", "/w/a/b/c is writable", "the cover missing");
	rejects(&w, "rw /w/a/b/c/d", "", "/w/a/b/c/d is not writable", "write inside read missing");
	rejects(&w, "rw /w", "ro /w", "/w is not writable", "a write bind made read-only");
	rejects(&w, "rw /w", "dir /w 0755", "/w", "a writable directory opened");
	rejects(&w, "rw /w/a/b/c/d", "rw /w/a/b/c/d\nrw /etc/passwd", "/etc/passwd is writable",
		"a write bind without a rule");
	rejects(&w, "note not enforced: /w/.env, /w/hooks", "note not enforced: /w/hooks",
		"/w/.env can be made inside", "a missing name without a note");
	rejects(&w, "note not enforced: /w/.env, /w/hooks", "note not enforced: /w/.env",
		"/w/hooks can be made inside", "a missing read inside write without a note");
	rejects(&w, "note not enforced: /w/ab/x", "", "/w/ab/x can be made inside",
		"a missing name below a file that can be replaced, without a note");
}

/* What is enforced cannot appear, and what is denied keeps its name. */
static void test_enforced(void)
{
	static const struct world held = {
		"root read\nwrite /w\ndeny /w/a/env enforce\nread /w/hooks enforce\n"
		"deny /w/b/c enforce\nmount write /data /m\ndeny /data/x enforce",
		HOST "d /w/a\nf /w/a/env 01444\nf /w/hooks 01444\nf /w/b 01444\nf /data/x 01444\n"
		     "d /m\n",
		ENTRIES "ro /data\nmaskfile /data/x\nrw /m /data\nmaskfile /m/x\nrw /w\nrw /w/a\n"
			"maskfile /w/a/env\nro /w/b\nro /w/hooks\n" OWN SEALS};
	static const struct world opened = {"root read\ndeny /data/no/x enforce",
		HOST "f /data/f\n", ENTRIES "dir /data 0755\nro /data/f\n" OWN SEALS};
	static const struct world missing = {"root read\nwrite /w\ndeny /w/env enforce",
		HOST "d /w\n", "note /w/env\n" ENTRIES "rw /w\n" OWN SEALS};
	static const struct world not_ours = {"root read\nwrite /w\ndeny /w/b/c enforce",
		HOST "f /w/b\n", "note /w/b/c\n" ENTRIES "rw /w\n" OWN SEALS};
	static const struct world denied = {"root read\nwrite /w\ndeny /w/a/secret",
		HOST "f /w/a/secret\n", ENTRIES "rw /w\nrw /w/a\nmaskfile /w/a/secret\n" OWN SEALS};
	static const struct world others = {"root read\nwrite /w\ndeny /w/o/env enforce",
		HOST "d /w/o 0755 7 7\n", ENTRIES "rw /w\nrw /w/o\n" OWN SEALS};

	proves(&held, "placeholders");
	rejects(&held, "rw /w/a", "", "/w/a is not pinned", "an enforced deny without a pin");
	rejects(&held, "maskfile /w/a/env", "", "/w/a/env", "an enforced deny without a cover");
	rejects(&held, "ro /w/hooks", "", "/w/hooks is writable", "a placeholder left writable");
	rejects(&held, "ro /w/b", "", "/w/b is writable",
		"a placeholder of a directory left writable");
	rejects(&held, "maskfile /m/x", "", "/m/x", "an enforced name in a mount");
	proves(&denied, "a denied name that is there");
	rejects(&denied, "rw /w/a", "", "/w/a is not pinned", "which could be moved away");
	proves(&opened, "an opened directory");
	rejects(&opened, "dir /data 0755\nro /data/f", "ro /data", "/data/no/x could appear",
		"a directory left as it is on the host");
	rejects(&missing, "rw /w", "rw /w", "/w/env could appear", "a name that nothing holds");
	proves(&not_ours, "a file in the way that is no placeholder is noted");
	rejects(&not_ours, "note /w/b/c", "", "/w/b/c can be made", "or else it is a fault");
	proves(&others, "a directory that the caller may not write");
	rejects(&others, "rw /w/o", "", "/w/o is not pinned", "which it could replace");
}

static void test_scratch(void)
{
	static const struct world w = {"root read\nscratch /s", HOST,
		ENTRIES OWN "tmpfs /s 0700,4096\ndir /s/home 0700\ndir /s/tmp 0700\n" SEALS};
	static const struct world filled = {
		"root deny\nscratch /s\nmount write /etc /s/home\nmount read /usr /s/tmp/a/b", HOST,
		OWN "tmpfs /s 0700,4096\nrw /s/home /etc\ndir /s/tmp 0700\ndir /s/tmp/a 0755\n"
		    "ro /s/tmp/a/b /usr\n" SEALS};

	proves(&w, "scratch");
	proves(&filled, "scratch with mounts in it");
	rejects(&w, "dir /s/home 0700", "", "/s/home is not there", "no home in scratch");
	rejects(&w, "dir /s/tmp 0700", "", "/s/tmp is not there",
		"no directory for temporary files");
	rejects(&w, "dir /s/tmp 0700", "dir /s/tmp 0755", "/s/tmp is not what the rule says",
		"a directory in scratch that others may search");
	rejects(&w, "dir /s/home 0700", "ro /s/home /usr", "/s/home is not what the rule says",
		"the host's files as home in scratch");
	rejects(&w, "dir /s/tmp 0700", "dir /s/tmp 0700\ndir /s/more 0700",
		"op dir at /s/more is not justified",
		"a directory in scratch that nobody asked for");
	rejects(&w, "tmpfs /s 0700,4096", "tmpfs /s 1777,4096", "/s is not what the rule says",
		"scratch for everybody");
	rejects(&w, "tmpfs /s 0700,4096", "tmpfs /s 0700", "/s is not what the rule says",
		"scratch without a bound");
	rejects(&w, "seal /dev", "seal /dev\nseal /s", "/s is not writable",
		"scratch that is sealed");
	rejects(&filled, "dir /s/tmp 0700", "dir /s/tmp 0755", "/s/tmp is not what the rule says",
		"a mode of its own on the way to a mount");
}

static void test_root_deny(void)
{
	static const struct world w = {
		"root deny\nread /bin/sh\nread /usr/lib\nfile /etc/hosts "
		"127.0.0.1\ntmpfs read /empty\n"
		"read /none optional\ndevice /dev/kvm\ndevice /dev/dri/card0",
		HOST "c /dev/kvm 10:232\nc /dev/dri/card0 226:0\nc /dev/sda 8:0\n",
		"link /bin usr/bin\ndir /usr 0555\ndir /usr/bin 0555\nro /usr/bin/sh\nro "
		"/usr/lib\ndir /etc 0555\n"
		"file /etc/hosts 127.0.0.1\ntmpfs /empty 0555\n" OWN
		"device /dev/kvm\ndir /dev/dri 0755\ndevice /dev/dri/card0\nseal /empty\n" SEALS};

	proves(&w, "only what rules name");
	rejects(&w, "link /bin usr/bin", "", "read /bin/sh leads nowhere", "a link not re-created");
	rejects(&w, "link /bin usr/bin", "link /bin usr/lib", "op symlink at /bin is not justified",
		"a link re-created with another text");
	rejects(&w, "ro /usr/bin/sh", "", "/usr/bin/sh was left out", "what is read left out");
	rejects(&w, "dir /usr/bin 0555", "dir /usr/bin 0755", "has not mode 0555",
		"a mode of the scaffold");
	rejects(&w, "ro /usr/lib", "ro /usr/lib\nro /opt /etc",
		"op bind-read at /opt is not justified", "a bind that no rule wants");
	rejects(&w, "dir /usr/bin 0555", "ro /usr/bin", "op bind-read at /usr/bin is not justified",
		"more than the rule names");
	rejects(&w, "file /etc/hosts 127.0.0.1", "file /etc/hosts 127.0.0.2",
		"is not what the rule says", "a file with other bytes");
	rejects(&w, "seal /empty", "", "/empty is not sealed", "a read-only tmpfs not sealed");
	rejects(&w, "device /dev/kvm", "ro /dev/kvm", "not usable as a device",
		"a device bound plainly");
	rejects(&w, "device /dev/dri/card0", "ro /dev/dri/card0 /etc/passwd",
		"/dev/dri/card0 shows something else", "a file as a device");
	rejects(&w, "device /dev/kvm", "", "/dev/kvm was left out", "a device left out");
	rejects(&w, "device /dev/kvm", "device /dev/kvm\ndevice /dev/sda", "/dev/sda",
		"a device without a rule");
}

static void test_dev_covers(void)
{
	static const struct world w = {
		"root read\ndeny /proc/kcore\ndeny /dev/tty\ndeny /proc/sys/kernel",
		HOST "f /proc/kcore\nf /proc/sys/kernel/core_pattern\nc /dev/tty 5:0\n",
		ENTRIES OWN "maskfile /proc/kcore\nmaskfile /dev/tty\nmask /proc/sys/kernel 0000\n"
			    "seal /proc/sys/kernel\n" SEALS};

	proves(&w, "covers over the sandbox's own /proc and /dev");
	rejects(&w, "maskfile /proc/kcore", "", "/proc/kcore can be reached",
		"a cover in /proc missing");
	rejects(&w, "maskfile /dev/tty", "", "/dev/tty can be reached", "a cover in /dev missing");
	rejects(&w, "seal /proc/sys/kernel", "", "/proc/sys/kernel is not sealed",
		"its seal missing");
}

/* Links that the workspace's owner made may lower access and never raise it. */
static void test_raising(void)
{
	static const char tree[] = HOST "d /home/u 0755 7 7\nd /home/u/w 0755 7 7\nf /home/u/w/x\n"
					"l /home/u/w/env -> ../priv/cred\nf /home/u/priv/cred\n"
					"l /home/u/w/hooks -> x\nl /home/u/w/m -> /proc/mounts\n";
	static const struct world w = {"root read\nwrite /home/u/w\nread /home/u/w/env\n"
				       "deny /home/u/priv\nread /home/u/w/hooks\nread /home/u/w/m",
		tree,
		ENTRIES "ro /home\nmask /home/u/priv 0000\nrw /home/u/w\nro /home/u/w/x\n" OWN
			"seal /home/u/priv\n" SEALS};
	static const struct world root = {"root read\nwrite /r\ndeny /s\nread /r/l",
		HOST "l /r/l -> /s/x\nf /s/x\n", ENTRIES "rw /r\nmaskdir /s 0000\n" OWN SEALS};
	static const struct world shared = {"root read\ndeny /s\nread /r/l",
		HOST "d /r 0775\nl /r/l -> /s/x\nf /s/x\n",
		ENTRIES "ro /r\nmaskdir /s 0000\n" OWN SEALS};
	static const struct world safe = {"root read\ndeny /s\nread /r/l",
		HOST "l /r/l -> /s/x\nf /s/x\n",
		ENTRIES "ro /r\nmaskdir /s 0555\nro /s/x\n" OWN SEALS};
	static const struct world elsewhere = {"root read\nwrite /w\ndeny /s\nread /r/l",
		HOST "d /w\nl /r/l -> /s/x\nf /s/x\na /w -> /r\n",
		ENTRIES "ro /r\nmaskdir /s 0000\nrw /w\n" OWN SEALS};
	static const struct world moved = {"root read\ndeny /s\nread /o/r/l",
		HOST "d /o 0755 7 7\nl /o/r/l -> /s/x\nf /s/x\n",
		ENTRIES "ro /o\nmaskdir /s 0000\n" OWN SEALS};
	static const struct world sticky = {"root read\ndeny /s\nread /o/r/l",
		HOST "d /o 1777\nl /o/r/l -> /s/x\nf /s/x\n",
		ENTRIES "ro /o\nmaskdir /s 0555\nro /s/x\n" OWN SEALS};
	static const struct world both = {"root read\nwrite /s\ndeny /r/l",
		HOST "l /r/l -> /s\nf /s\n", ENTRIES "ro /r\nmaskfile /s\n" OWN SEALS};
	static const struct world mount = {
		"root read\ndeny /home/u/priv/cred\nmount read /home/u/w/env /m", tree,
		ENTRIES
		"ro /home\nmaskfile /home/u/priv/cred\nro /m /home/u/priv/cred\n" OWN SEALS};

	static const struct world at = {"root read\nmount read /usr /home/u/w/d/x",
		HOST "d /home/u/w 0755 7 7\nl /home/u/w/d -> /etc\nd /etc/x\n",
		ENTRIES "ro /etc/x /usr\nro /home\n" OWN SEALS};

	ok(strstr(verdict(at.policy, at.tree, at.plan), "a link that others can change") != NULL,
		"rejects: a place reached through a link that others can change");
	proves(&w, "a protection through a link");
	proves(&root, "a link in a writable place of root's");
	proves(&shared, "a link in a place that root shares");
	proves(&safe, "a link that only root can change");
	proves(&elsewhere, "a link in a place that can be written where it is mounted too");
	proves(&moved, "a link in a directory that others can move");
	proves(&sticky, "a link in root's directory in a sticky one");
	proves(&both, "two rules that lead to one object");
	rejects(&w, "mask /home/u/priv 0000", "mask /home/u/priv 0555\nro /home/u/priv/cred",
		"/home/u/priv/cred is not denied", "a link that raises access");
	rejects(&w, "ro /home/u/w/x", "", "/home/u/w/x is writable", "a link that lowers access");
	rejects(&root, "maskdir /s 0000", "maskdir /s 0555\nro /s/x", "/s/x is not denied",
		"a link that the command could make");
	rejects(&shared, "maskdir /s 0000", "maskdir /s 0555\nro /s/x", "/s/x is not denied",
		"a link that a group could make");
	rejects(&elsewhere, "maskdir /s 0000", "maskdir /s 0555\nro /s/x", "/s/x is not denied",
		"a link that the command could make by another name");
	rejects(&moved, "maskdir /s 0000", "maskdir /s 0555\nro /s/x", "/s/x is not denied",
		"a link whose directory another could put there");
	rejects(&both, "maskfile /s", "rw /s", "op bind-write at /s is not justified",
		"a denial through a link");
	ok(strstr(verdict(mount.policy, mount.tree, mount.plan), "may not raise access") != NULL,
		"rejects: a mount through a link that others can change");
}

/* What a hostile command may have left in a place that it could write. */
static void test_left_behind(void)
{
	static const char tree[] =
		HOST "uid 7\nd /w 0755 7 7\nf /w/shut/x/key\nd /w/shut 0600 7 7\nd /w/shut/x\n"
		     "f /w/dir/key\nd /w/dir 0300 7 7\nf /w/bob/key\nd /w/bob 0700 8 8\n"
		     "l /w/shm -> /dev/shm\nl /w/a -> .\nl /w/b -> c\nf /w/c\nl /w/way -> shut/x\n"
		     "f /r/shut/key\nd /r/shut 0600 7 7\n";
	static const char plan[] = ENTRIES "ro /r\nrw /w\n" OWN SEALS;
	static const char at_m[] = ENTRIES "ro /r\nro /w\nrw /m /w\n" OWN SEALS;
	static const struct {
		const char *rules, *plan, *want, *name;
	} rows[] = {
		{"write /w\ndeny /w/shut/x/key", plan, "/w/shut could be opened from inside",
			"a denied name that the command could open the way to"},
		{"mount write /w /m\ndeny /w/shut/x/key", at_m,
			"/w/shut could be opened from inside", "also where a mount shows it"},
		{"write /w\ndeny /w/bob/key", plan, "",
			"a way that its owner has, and nobody else"},
		{"write /w\ndeny /r/shut/key", plan, "", "a closed directory that stays closed"},
		{"write /w\ndeny /w/way/key", plan, "", "a link to a closed directory"},
		{"write /w\ndeny /w/shm", plan, "", "a denied link to what is the sandbox's own"},
		{"mount write /w /m\nwrite /w\nread /w/a\nread /w/b",
			ENTRIES "ro /r\nro /w\nrw /m /w\nro /m/c /w/c\n" OWN SEALS, "",
			"protections whose links lead to the directory and to what is in it"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP_FREE char *policy = xasprintf("root read\n%s", rows[i].rules);
		const char *got = verdict(policy, tree, rows[i].plan);

		if (!ok(*rows[i].want ? strstr(got, rows[i].want) != NULL : !*got, "%s",
			    rows[i].name))
			diag("got: \"%s\"", got);
	}
}

/* Links of the caller's own raise access where the rule follows and nobody else, nor the command,
 * can change them; then they have to. */
static void test_following(void)
{
#define OWN_DIR HOST "uid 7\nf /s/x\nd /home/u 0755 7 7\n"
#define OWN_LINK OWN_DIR "l /home/u/l -> /s/x\n"
	static const struct {
		const char *what, *rules, *tree, *ops;
		bool raises;
	} rows[] = {
		{"the caller's own", "read /home/u/l follow", OWN_LINK, "ro /home\n", true},
		{"two of them", "read /home/u/l follow",
			OWN_DIR "l /home/u/l -> k\nl /home/u/k -> /s/x\n", "ro /home\n", true},
		{"below a sticky directory", "read /home/u/l follow", OWN_LINK "d /home 1777\n",
			"ro /home\n", true},
		{"no word", "read /home/u/l", OWN_LINK, "ro /home\n", false},
		{"another's", "read /home/u/l follow", OWN_LINK "uid 8\n", "ro /home\n", false},
		{"another's, for root", "read /home/u/l follow", OWN_LINK "uid 0\n", "ro /home\n",
			false},
		{"a group", "read /home/u/l follow", OWN_LINK "d /home/u 0775 7 7\n", "ro /home\n",
			false},
		{"a sticky directory", "read /home/u/l follow", OWN_LINK "d /home/u 1777 7 7\n",
			"ro /home\n", false},
		{"another's above", "read /home/u/l follow", OWN_LINK "d /home 0755 8 8\n",
			"ro /home\n", false},
		{"a group above", "read /home/u/l follow", OWN_LINK "d /home 0775\n", "ro /home\n",
			false},
		{"another's second", "read /home/u/b follow",
			OWN_LINK "d /home/o 0755 8 8\nl /home/o/l -> /s/x\nl /home/u/b -> "
				 "../o/l\n",
			"ro /home\n", false},
		{"a writable directory", "read /home/u/l follow\nwrite /home/u", OWN_LINK,
			"ro /home\nrw /home/u\n", false},
		{"one taken back", "read /home/u/l follow\nwrite /home\nread /home/u", OWN_LINK,
			"rw /home\nro /home/u\n", false},
		{"a writable mount", "read /home/u/l follow\nmount write /home /m",
			OWN_LINK "d /m\n", "ro /home\nrw /m /home\n", false},
		{"another name", "read /home/u/l follow\nwrite /w",
			OWN_LINK "d /w 0755 7 7\na /w -> /home/u\n", "ro /home\nrw /w\n", false},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP_FREE char *rules = xasprintf("root read\ndeny /s\n%s", rows[i].rules);
		CLEANUP_FREE char *open =
			xasprintf(ENTRIES "%smaskdir /s 0555\nro /s/x\n" OWN SEALS, rows[i].ops);
		CLEANUP_FREE char *shut =
			xasprintf(ENTRIES "%smaskdir /s 0000\n" OWN SEALS, rows[i].ops);

		is_str(verdict(rules, rows[i].tree, open),
			rows[i].raises ? "" : "not proven: /s/x is not denied (deny /s)",
			"follow, %s: raised", rows[i].what);
		is_str(verdict(rules, rows[i].tree, shut),
			rows[i].raises ? "not proven: /s/x was left out (read /home/u/l)" : "",
			"follow, %s: not raised", rows[i].what);
	}
#undef OWN_LINK
#undef OWN_DIR
}

/* The same of a mount's source; of a place there is no word to give. */
static void test_following_mounts(void)
{
	static const char tree[] = HOST "uid 7\nd /home/u 0755 7 7\nl /home/u/l -> /s\nf /s/x\n"
					"d /m\nd /s/m\n";
	static const char from[] = ENTRIES "ro /home\nmaskdir /s 0000\nro /m /s\n" OWN SEALS;
	static const char at[] = ENTRIES "ro /home\nro /m\nro /s\nro /s/m /usr\n" OWN SEALS;

	is_str(verdict("root read\ndeny /s\nmount read /home/u/l /m follow", tree, from), "",
		"follow, a mount");
	is_str(verdict("root read\ndeny /s\nmount read /home/u/l /m", tree, from),
		"not proven: mount /home/u/l: a link that others can change may not raise access",
		"follow, a mount without the word");
	is_str(verdict("root read\nmount read /usr /home/u/l/m follow", tree, at),
		"not proven: /home/u/l/m is reached through /home/u/l, a link that others can "
		"change",
		"follow, the place of a mount");
}

/* Links do not lead to sbx's own files. */
static void test_own_files(void)
{
	static const char tree[] =
		HOST "f /home/u/.c/sbx/p\nl /home/u/l -> .c\nl /home/u/in -> l/sbx/p\n";
	static const char refused[] =
		"not proven: write /home/u/l: sbx's own files would be writable";
	static const char dir[] = ENTRIES "ro /home\nrw /home/u/.c\n" OWN SEALS;
	static const char file[] = ENTRIES "ro /home\nrw /home/u/.c/sbx/p\n" OWN SEALS;
	static const char mount[] = ENTRIES "ro /home\nrw /m /home/u/.c\n" OWN SEALS;
	static const char kept[] = ENTRIES "ro /home\nrw /home/u/.c\nro /home/u/.c/sbx\n" OWN SEALS;

	is_str(verdict("root read\nwrite /home/u/l\nown /home/u/.c/sbx", tree, dir), refused,
		"own files, a directory that holds them");
	is_str(verdict("root read\nwrite /home/u/l\nown /home/u/l/sbx", tree, dir), refused,
		"own files, by a name with a link");
	is_str(verdict("root read\nwrite /home/u/l\nown /home/u/.c/other", tree, dir), refused,
		"own files, where they would be made");
	is_str(verdict("root read\nwrite /home/u/in\nown /home/u/.c/sbx", tree, file),
		"not proven: write /home/u/in: sbx's own files would be writable",
		"own files, one of them");
	ok(strstr(verdict("root read\nmount write /home/u/l /m\nown /home/u/.c/sbx", tree, mount),
		   "sbx's own files would be writable") != NULL,
		"own files, a mount");
	is_str(verdict("root read\nwrite /home/u/l\nread /home/u/.c/sbx\nown /home/u/.c/sbx", tree,
		       kept),
		"", "own files that another rule keeps");
	is_str(verdict("root read\nwrite /home/u/l\nown /home/u/.config", tree, dir), "",
		"own files elsewhere");
}

/* Rules whose names lead elsewhere in the view than on the host. */
static void test_walks(void)
{
	static const struct world proc = {"root deny\nread /etc/mtab",
		HOST "l /etc/mtab -> /proc/mounts\nf /proc/mounts\n",
		"dir /etc 0555\nlink /etc/mtab /proc/mounts\n" OWN SEALS};
	static const struct world moved = {"root read\nmount read /x /a\ndeny /a/b/c\nread /data",
		HOST "f /a/b/c\nl /x/b -> /data\nf /data/c\n",
		ENTRIES "ro /a /x\nro /data\nro /x\n" OWN SEALS};
	static const struct world bare = {"root deny\nread /usr", HOST, "ro /usr\n" OWN SEALS};
	static const struct world device = {
		"root read\nwrite /w", HOST "c /w/kvm 10:232\n", ENTRIES "rw /w\n" OWN SEALS};

	proves(&proc, "a link into /proc");
	proves(&bare, "one directory");
	proves(&device, "a device node in a writable directory");
	rejects(&proc, "link /etc/mtab /proc/mounts", "ro /etc/passwd", "/etc/passwd",
		"another name");
	rejects(&proc, "dir /etc 0555\nlink /etc/mtab /proc/mounts", "",
		"the link /etc/mtab is not there", "a link into /proc left out");
	rejects(&bare, "seal /", "", "/ is not sealed", "a root with nothing in it but mounts");
	rejects(&device, "rw /w", "rw /w\ndevice /w/kvm", "/w/kvm is not justified",
		"a device node made usable");
	ok(strstr(verdict(moved.policy, moved.tree, moved.plan), "deny /a/b/c leads to /data/c") !=
			NULL,
		"rejects: a denied name that leads elsewhere");
}

static void test_policies(void)
{
	static const struct {
		const char *rules, *want;
	} rows[] = {
		{"read /none", "read /none is not there"},
		{"read /proc/self-made", "nothing of the host's /proc"},
		{"write /dev/null", "nothing of the host's /proc or /dev"},
		{"read /tmp", "/tmp is the sandbox's own"},
		{"mount read / /host", "would show the host's /proc"},
		{"mount read /proc /p", "would show the host's /proc"},
		{"mount read /etc /m\nmount read /usr /m", "two rules stand at /m"},
		{"read /etc\nspelled /bin/../etc", "are not the same"},
		{"mount read /none /m", "mount /none is not there"},
		{"deny /etc/none", ""},
		{"read /none optional", ""},
		{"deny /bin/none", ""},
		{"read /usr\nspelled /etc/../usr", ""},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP_FREE char *policy = xasprintf("root read\n%s", rows[i].rules);
		const char *got = verdict(policy, HOST, ENTRIES OWN SEALS);

		if (!ok(*rows[i].want ? strstr(got, rows[i].want) != NULL : !*got, "rules: %s",
			    rows[i].rules))
			diag("got: \"%s\"", got);
	}
	ok(strstr(verdict("root read\nproc fresh", HOST, "bound\n" ENTRIES "ro /proc\n" SEALS),
		   "fresh"),
		"rejects: a bound /proc where the policy wants a fresh one");
}

static void test_lookup(void)
{
	static const struct {
		const char *path, *end, *host;
		int error;
		enum tree_kind kind;
		enum access access;
	} rows[] = {
		{"/", "/", NULL, 0, TREE_DIR, ACCESS_READ},
		{"/bin/sh", "/usr/bin/sh", "/usr/bin/sh", 0, TREE_FILE, ACCESS_READ},
		{"/bin/../lib/libc.so", "/usr/lib/libc.so", "/usr/lib/libc.so", 0, TREE_FILE,
			ACCESS_READ},
		{"/../usr/./lib/", "/usr/lib", "/usr/lib", 0, TREE_DIR, ACCESS_READ},
		{"/usr/bin/sh/", NULL, NULL, -ENOTDIR, 0, 0},
		{"/usr/bin/sh/..", NULL, NULL, -ENOTDIR, 0, 0},
		{"/usr/none", NULL, NULL, -ENOENT, 0, 0},
		{"/none/..", NULL, NULL, -ENOENT, 0, 0},
		{"/home/l40", "/home/end", "/home/end", 0, TREE_FILE, ACCESS_READ},
		{"/home/l41", NULL, NULL, -ELOOP, 0, 0},
		{"/home/loop", NULL, NULL, -ELOOP, 0, 0},
		{"/home/closed/x", NULL, NULL, -EACCES, 0, 0},
		{"/home/secret", "/home/secret", NULL, 0, TREE_DIR, ACCESS_DENY},
		{"/home/secret/x", NULL, NULL, -EACCES, 0, 0},
		{"/home/ws/f", "/ws/f", "/data/f", 0, TREE_FILE, ACCESS_WRITE},
		{"/tmp", "/tmp", NULL, 0, TREE_DIR, ACCESS_WRITE},
		{"/tmp/x", NULL, NULL, -ENOENT, 0, 0},
		{"/dev/null", "/dev/null", NULL, 0, TREE_CHAR, ACCESS_WRITE},
		{"/dev/ptmx", "/dev/pts/ptmx", NULL, 0, TREE_CHAR, ACCESS_WRITE},
		{"/dev/null/x", NULL, NULL, -ENOTDIR, 0, 0},
		{"/dev/kvm", NULL, NULL, -ENOENT, 0, 0},
		{"/proc/1", NULL, NULL, -ENOENT, 0, 0},
		{"/proc/self-made", "/proc/self-made", NULL, 0, TREE_DIR, ACCESS_READ},
		{"/proc/sys", "/proc/sys", "/proc/sys", 0, TREE_DIR, ACCESS_READ},
		{"/home/closed/..", NULL, NULL, -EACCES, TREE_DIR, ACCESS_DENY},
		{"/home/up", NULL, NULL, -EACCES, TREE_DIR, ACCESS_DENY},
		{"/home/closed/../..", NULL, NULL, -EACCES, TREE_DIR, ACCESS_DENY},
		{"/home/secret/..", NULL, NULL, -EACCES, TREE_DIR, ACCESS_DENY},
		{"/home/../home/end", "/home/end", "/home/end", 0, TREE_FILE, ACCESS_READ},
	};
	CLEANUP_FREE char *text =
		xasprintf("uid 7\n" HOST "f /home/end\nl /home/loop -> loop\nd /proc/1\n"
			  "f /home/closed/x\nd /home/closed 0700 0 0\nf /home/secret/x\n"
			  "f /data/f\nl /home/ws -> /ws\nl /home/l1 -> end\n"
			  "l /home/up -> closed/.\n");
	struct policy policy;
	struct plan plan;
	struct tree *tree;

	for (int i = 2; i <= 41; i++) {
		char *more = xasprintf("%sl /home/l%d -> l%d\n", text, i, i - 1);

		free(text);
		text = more;
	}
	tree = faketree_parse(text);
	policy_parse(&policy, "root read");
	plan_parse(&plan,
		ENTRIES "ro /home\nmask /home/secret 0000\nrw /ws /data\n" OWN
			"seal /home/secret\n" SEALS,
		&policy);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct view_object got;

		is_int(view_lookup(&plan, tree, rows[i].path, &got), rows[i].error, "%s: result",
			rows[i].path);
		is_str(got.path, rows[i].end, "%s: path", rows[i].path);
		is_str(got.host, rows[i].host, "%s: host object", rows[i].path);
		ok(got.kind == rows[i].kind && got.access == rows[i].access, "%s: kind and access",
			rows[i].path);
		view_object_clear(&got);
	}
	plan_free(&plan);
	policy_free(&policy);
	faketree_free(tree);
}

int main(void)
{
	test_root();
	test_feasible();
	test_deny();
	test_types();
	test_worktree();
	test_order();
	test_mounts();
	test_alias();
	test_opened();
	test_loose_ends();
	test_sockets();
	test_write();
	test_enforced();
	test_scratch();
	test_root_deny();
	test_dev_covers();
	test_raising();
	test_left_behind();
	test_following();
	test_following_mounts();
	test_own_files();
	test_walks();
	test_policies();
	test_lookup();
	return done_testing();
}
