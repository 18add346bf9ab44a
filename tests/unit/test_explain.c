/* Answers about plans on fake trees: what is at a path, where it is on the host, what became of
 * rules. */
#include "base/mem.h"
#include "lib/faketree.h"
#include "lib/tap.h"
#include "plan/bwrap.h"
#include "plan/explain.h"
#include "plan/proof.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char tree_text[] =
	"uid 1000\n"
	"c /dev/null 1:3\nd /tmp 1777\nd /dev\nd /proc\nf /proc/cpuinfo 0444\nd /proc/sys\n"
	"f /proc/sys/x\nf /proc/loud 0666\nl /proc/self -> 4242\nf /proc/4242/environ\n"
	"f /usr/bin/sh 0755\nl /bin -> usr/bin\nl /usr/dangling -> gone\nl /loop -> loop\n"
	"l /mtab -> proc/self/mounts\n"
	"f /etc/passwd\nf /etc/shadow 0640 0 42\nf /etc/mail 0640 0 50\ns /etc/sock 0666\n"
	"p /etc/quiet 0600 0 0\nc /etc/node 1:5 0666\nd /etc/locked 0700 0 0\nf /etc/locked/x\n! "
	"/etc/dead\n"
	"d /home/u 0755 1000 1000\nf /home/u/secret/key 0600 1000 1000\n"
	"f /home/u/secret/shown/x 0600 1000 1000\nf /home/u/masked 0644 1000 1000\n"
	"d /home/u/w 0755 1000 1000\nf /home/u/w/mine 0644 1000 1000\nf /home/u/w/foreign 0644 0 "
	"0\n"
	"f /home/u/w/writeonly 0200 1000 1000\nd /home/u/w/closed 0555 1000 1000\n"
	"d /home/u/w/noway 0600 1000 1000\n"
	"d /home/u/w/a 0755 1000 1000\nf /home/u/w/a/b/held/x 0644 1000 1000\n"
	"l /home/u/w/envrc -> ../secret/key\n"
	"f /srv/data/x\nf /srv/data/secret/x\nd /srv/mnt\nd /srv/write 0755 1000 1000\nd "
	"/home/u/w/mnt\n"
	"s /srv/dead 0666\np /srv/quiet 0600 0 0\ns /srv/talk 0666\nu /srv/talk\n"
	"s /srv/live/s 0666\nu /srv/live/s\na /usr/live -> /srv/live\n"
	"s /srv/data/secret/s 0666\nu /srv/data/secret/s\ns /tmp/x11 0666\nu /tmp/x11\n"
	"s /srv/data/db 0666\nu /srv/data/db\np /usr/sub/fifo 0666\nd /home/u/open\n"
	"s /home/u/open/s 0666\n";

static const char policy_text[] =
	"{\"sbx\": 1, \"filesystem\": {\"root\": \"read\","
	" \"write\": [\"/home/u/w\"],"
	" \"read\": [\"/usr/bin\", \"/home/u/w/a/b/held\", \"/home/u/secret/shown\","
	"  {\"path\": \"/home/u/w/missing\", \"optional\": true},"
	"  {\"path\": \"/home/u/w/envrc\", \"optional\": true},"
	"  {\"path\": \"/opt\", \"optional\": true}],"
	" \"deny\": [\"/etc/shadow\", \"/home/u/secret\", \"/srv/data/secret\", \"/srv/not\","
	"  \"/home/u/w/gone\", \"/home/u/gone\", \"/run/x\", \"/etc/hosts\","
	"  {\"path\": \"/home/u/masked\", \"mask\": \"empty\"}],"
	" \"connect\": [\"/srv/talk\"],"
	" \"mounts\": [{\"at\": \"/srv/mnt\", \"from\": \"/srv/data\", \"access\": \"read\"},"
	"  {\"at\": \"/new/mnt\", \"from\": \"/srv/write\", \"access\": \"write\"},"
	"  {\"at\": \"/home/u/w/mnt\", \"from\": \"/srv/write\", \"access\": \"write\"},"
	"  {\"at\": \"/new/open\", \"from\": \"/home/u/open\"},"
	"  {\"at\": \"/new/open/more\", \"from\": \"/usr/sub\"}],"
	" \"tmpfs\": [{\"at\": \"/run\", \"access\": \"read\"}],"
	" \"files\": [{\"at\": \"/etc/hosts\", \"text\": \"x\"}]},"
	" \"process\": {\"cwd\": \"/\", \"nested_userns\": NESTED}}";

/* 256 bytes */
#define NAME_32 "0123456789abcdef0123456789abcdef"
#define LONG_NAME NAME_32 NAME_32 NAME_32 NAME_32 NAME_32 NAME_32 NAME_32 NAME_32

struct world {
	struct policy policy;
	struct plan plan;
	struct tree *tree;
	struct explainer e;
};

static bool world_make(struct world *w, const char *nested, enum proc_mode proc)
{
	struct policy_context context = {.home = "/home/u", .cwd = "/home/u/w"};
	struct plan_request request = {.proc = proc, .cwd = "/"};
	static const gid_t groups[] = {50};
	struct explain_user user = {1000, 1000, groups, 1};
	const char *at = strstr(policy_text, "NESTED");
	CLEANUP_FREE char *text =
		xasprintf("%.*s%s%s", (int)(at - policy_text), policy_text, nested, at + 6);
	struct err err = {0};

	*w = (struct world){.tree = faketree_parse(tree_text)};
	if (!w->tree ||
		policy_load_text(&w->policy, text, strlen(text), "t.json", NULL, &context, &err) <
			0 ||
		plan_make(&w->plan, &w->policy, w->tree, &request, &err) < 0 ||
		proof_check(&w->plan, &w->policy, w->tree, &err) < 0)
		return ok(false, "the world: %s: %s", err.at, err.message);
	explainer_init(&w->e, &w->plan, w->tree, &user, w->policy.nested_userns);
	return true;
}

static void world_clear(struct world *w)
{
	explainer_clear(&w->e);
	plan_clear(&w->plan);
	policy_clear(&w->policy);
	faketree_free(w->tree);
}

struct row {
	const char *path, *found, *host, *pointer, *op, *strength, *because;
};

static const struct row rows[] = {
	{"/", "read", "/", "/filesystem/root", NULL, "scaffold", "opened directory"},
	{"/usr/bin/sh", "read", "/usr/bin/sh", "/filesystem/read/0", "--ro-bind /usr /usr",
		"scaffold", "EROFS"},
	{"/bin/sh", "read", "/usr/bin/sh", "/filesystem/read/0", "--ro-bind /usr /usr", "scaffold",
		"EROFS"},
	{"/bin/../lib", "absent", NULL, "/filesystem/root", "--ro-bind /usr /usr", "scaffold",
		"/usr is read-only (EROFS)"},
	{"/usr/dangling", "absent", NULL, "/filesystem/root", "--ro-bind /usr /usr", "scaffold",
		"/usr/dangling, leads nowhere"},
	{"/loop", "absent", NULL, "/filesystem/root", "--symlink loop /loop", "scaffold",
		"40 symbolic links"},
	{"/mtab", "unknown", NULL, "", "--proc /proc", "scaffold", "belongs to a process"},
	{"/proc/self/x", "unknown", NULL, "", "--proc /proc", "scaffold", "belongs to a process"},
	{"/proc/selfish", "absent", NULL, "", "--proc /proc", "scaffold", "ENOENT"},
	{"/proc/cpuinfo", "read", NULL, "", "--proc /proc", "scaffold", "sandbox's own"},
	{"/proc/loud", "write", NULL, "", "--proc /proc", "scaffold", "sandbox's own"},
	{"/proc/sys/x", "read", "/proc/sys/x", "", "--ro-bind /proc/sys /proc/sys", "scaffold",
		"EROFS"},
	{"/dev/null", "write", NULL, "", "--dev /dev", "scaffold", "sandbox's own"},
	{"/dev/x", "absent", NULL, "", "--dev /dev", "scaffold", "EROFS"},
	{"/dev/shm/x", "absent", NULL, "", "--perms 1777 --size 536870912 --tmpfs /dev/shm",
		"scaffold", "could make it"},
	{"/etc/passwd", "read", "/etc/passwd", "/filesystem/root",
		"--ro-bind /etc/passwd /etc/passwd", "scaffold", "EROFS"},
	{"/etc/passwd/x", "absent", NULL, "/filesystem/root", "--ro-bind /etc/passwd /etc/passwd",
		"scaffold", "/etc/passwd is a file"},
	{"/etc/shadow", "deny", NULL, "/filesystem/deny/0", "--ro-bind /dev/null /etc/shadow",
		"scaffold", "EACCES"},
	{"/etc/mail", "read", "/etc/mail", "/filesystem/root", "--ro-bind /etc/mail /etc/mail",
		"scaffold", "EROFS"},
	{"/etc/sock", "deny", NULL, "/filesystem/root", "--ro-bind /dev/null /etc/sock", "scaffold",
		"a socket in an opened directory"},
	{"/etc/sock", "deny", NULL, "/filesystem/root", "--ro-bind /dev/null /etc/sock", "scaffold",
		"--connect /etc/sock shows it"},
	{"/etc/quiet", "deny", NULL, "/filesystem/root", "--ro-bind /dev/null /etc/quiet",
		"scaffold", "--read /etc/quiet shows it"},
	{"/new/open/s", "deny", NULL, "/filesystem/mounts/3", "--ro-bind /dev/null /new/open/s",
		"scaffold", "--bind /home/u/open/s:/new/open/s shows it"},
	{"/srv/dead", "write", "/srv/dead", "/filesystem/root", "--ro-bind /srv /srv", "scaffold",
		"read-only mount does not stop"},
	{"/srv/quiet", "deny", "/srv/quiet", "/filesystem/root", "--ro-bind /srv /srv", "scaffold",
		"0600 of 0:0"},
	{"/srv/talk", "write", "/srv/talk", "/filesystem/connect/0", "--ro-bind /srv /srv",
		"scaffold", "lets the command connect to it"},
	{"/srv/live/s", "deny", NULL, "", "--ro-bind /dev/null /srv/live/s", "cover",
		"--connect /srv/live/s lets the command connect"},
	{"/usr/live/s", "deny", NULL, "", "--ro-bind /dev/null /usr/live/s", "cover",
		"--connect /srv/live/s lets the command connect"},
	{"/srv/mnt/db", "deny", NULL, "", "--ro-bind /dev/null /srv/mnt/db", "cover",
		"--connect /srv/data/db lets"},
	{"/srv/data/secret/s", "deny", NULL, "/filesystem/deny/2",
		"--perms 0000 --tmpfs /srv/data/secret", "cover", "below /srv/data/secret"},
	{"/tmp/x11", "absent", NULL, "", "--perms 1777 --size 536870912 --tmpfs /tmp", "scaffold",
		"could make it"},
	{"/etc/node", "deny", "/etc/node", "/filesystem/root", "--ro-bind /etc/node /etc/node",
		"scaffold", "device node"},
	{"/etc/locked/x", "deny", NULL, "/filesystem/root", "--ro-bind /etc/locked /etc/locked",
		"scaffold", "may not be searched by user 1000"},
	{"/etc/locked/../passwd", "deny", NULL, "/filesystem/root",
		"--ro-bind /etc/passwd /etc/passwd", "scaffold",
		"may not be searched by user 1000"},
	{"/home/u/w/" LONG_NAME, "absent", NULL, "/filesystem/write/0",
		"--bind /home/u/w /home/u/w", "cover", "too long for a file"},
	{"/etc/dead", "absent", NULL, "/filesystem/root", "--perms 0755 --dir /etc", "scaffold",
		"left out: Permission denied."},
	{"/etc/new", "absent", NULL, "/filesystem/root", "--perms 0755 --dir /etc", "scaffold",
		"/etc is an opened directory"},
	{"/etc/hosts", "read", NULL, "/filesystem/files/0",
		"--perms 0444 --ro-bind-data 10 /etc/hosts", "scaffold", "sandbox's own"},
	{"/home/u/secret", "read", NULL, "/filesystem/deny/1",
		"--perms 0555 --tmpfs /home/u/secret", "cover", "lists only what other rules show"},
	{"/home/u/secret/key", "absent", NULL, "/filesystem/deny/1",
		"--perms 0555 --tmpfs /home/u/secret", "cover", "no rule shows it"},
	{"/home/u/secret/shown/x", "read", "/home/u/secret/shown/x", "/filesystem/read/2",
		"--ro-bind /home/u/secret/shown /home/u/secret/shown", "cover", "EROFS"},
	{"/home/u/masked", "read", NULL, "/filesystem/deny/8",
		"--perms 0444 --ro-bind-data 10 /home/u/masked", "cover", "it is empty"},
	{"/home/u/gone", "absent", NULL, "/filesystem/deny/5", "--ro-bind /home /home", "watched",
		"EROFS"},
	{"/home/u/w/gone", "absent", NULL, "/filesystem/deny/4", "--bind /home/u/w /home/u/w",
		"watched", "not enforced"},
	{"/home/u/w/mine", "write", "/home/u/w/mine", "/filesystem/write/0",
		"--bind /home/u/w /home/u/w", "cover", "writable"},
	{"/home/u/w/new", "absent", NULL, "/filesystem/write/0", "--bind /home/u/w /home/u/w",
		"cover", "could make it"},
	{"/home/u/w/foreign", "read", "/home/u/w/foreign", "/filesystem/write/0",
		"--bind /home/u/w /home/u/w", "cover", "does not let user 1000 write"},
	{"/home/u/w/writeonly", "write", "/home/u/w/writeonly", "/filesystem/write/0",
		"--bind /home/u/w /home/u/w", "cover", "does not let user 1000 read"},
	{"/home/u/w/noway", "read", "/home/u/w/noway", "/filesystem/write/0",
		"--bind /home/u/w /home/u/w", "cover", "does not let user 1000 write"},
	{"/home/u/w/closed/x", "absent", NULL, "/filesystem/write/0", "--bind /home/u/w /home/u/w",
		"cover", "takes no new names from it (EACCES)"},
	{"/home/u/w/a/b/held/x", "read", "/home/u/w/a/b/held/x", "/filesystem/read/1",
		"--ro-bind /home/u/w/a/b/held /home/u/w/a/b/held", "cover", "EXDEV"},
	{"/home/u/w/a/x", "absent", NULL, "/filesystem/write/0", "--bind /home/u/w/a /home/u/w/a",
		"cover", "/home/u/w give EXDEV"},
	{"/srv/mnt/x", "read", "/srv/data/x", "/filesystem/mounts/0",
		"--ro-bind /srv/data /srv/mnt", "cover", "EROFS"},
	{"/srv/mnt/secret/x", "deny", NULL, "/filesystem/deny/2",
		"--perms 0000 --tmpfs /srv/mnt/secret", "cover", "below /srv/mnt/secret"},
	{"/srv/mnt/secret", "deny", NULL, "/filesystem/deny/2",
		"--perms 0000 --tmpfs /srv/mnt/secret", "cover", "EACCES"},
	{"/new/mnt/x", "absent", NULL, "/filesystem/mounts/1", "--bind /srv/write /new/mnt",
		"scaffold", "could make it"},
	{"/new/x", "absent", NULL, "/filesystem/root", "--perms 0755 --dir /new", "scaffold",
		"/new is read-only"},
	{"/run/x", "absent", NULL, "/filesystem/deny/6", "--perms 0755 --dir /run", "scaffold",
		"/run is read-only"},
};

static void test_rows(const struct world *w)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct row *r = &rows[i];
		struct explanation x;
		CLEANUP_FREE char *op = NULL;
		bool said = false;

		explain_path(&w->e, r->path, &x);
		op = x.op ? bwrap_op_text(x.op) : NULL;
		is_str(found_name(x.found), r->found, "%s: access", r->path);
		is_str(x.host, r->host, "%s: host", r->path);
		is_str(x.rule->origin.pointer, r->pointer, "%s: rule", r->path);
		is_str(op, r->op, "%s: op", r->path);
		is_str(strength_name(x.strength), r->strength, "%s: strength", r->path);
		for (size_t k = 0; k < x.because.n; k++)
			said |= strstr(x.because.v[k], r->because) != NULL;
		if (!ok(said, "%s: the reasons say \"%s\"", r->path, r->because))
			for (size_t k = 0; k < x.because.n; k++)
				diag("%s", x.because.v[k]);
		explanation_clear(&x);
	}
}

static void test_details(const struct world *w)
{
	struct explanation x;

	explain_path(&w->e, "/bin/sh", &x);
	is_int((long long)x.links.n, 2, "a link on the way is told");
	is_str(x.links.n ? x.links.v[1] : NULL, "usr/bin", "with its text");
	is_str(x.real, "/usr/bin/sh", "and where it leads");
	is_int(x.kind, TREE_FILE, "the kind");
	explanation_clear(&x);
	explain_path(&w->e, "/home/u/w/a/b/held/x", &x);
	is_str(x.pin, "/home/u/w/a/b", "the pin that holds a protected name");
	explanation_clear(&x);
	explain_path(&w->e, "/home/u/w/mine", &x);
	is_str(x.pin, NULL, "no pin beside it");
	ok(!x.opened, "no opened directory");
	explanation_clear(&x);
	explain_path(&w->e, "/home/u/w/mnt", &x);
	is_str(x.pin, NULL, "a mount from elsewhere is no pin");
	explanation_clear(&x);
	explain_path(&w->e, "/etc", &x);
	ok(x.opened, "an opened directory");
	is_str(x.host, "/etc", "stands for the host's");
	explanation_clear(&x);
	explain_path(&w->e, "/new", &x);
	ok(!x.opened, "a directory that the host lacks is not opened");
	explanation_clear(&x);
	explain_path(&w->e, "/mtab", &x);
	is_str(x.real, "/proc/self/mounts", "what belongs to a process is named");
	is_int((long long)x.links.n, 2, "with the links that lead to it");
	explanation_clear(&x);
	explain_path(&w->e, "/usr/x", &x);
	is_int(x.create, -EROFS, "what making a missing name gives");
	explanation_clear(&x);
}

struct fate_row {
	const char *pointer, *fate, *strength;
	bool open;
};

static const struct fate_row fates[] = {
	{"/filesystem/root", "applied", "scaffold", false},
	{"/filesystem/write/0", "applied", "cover", false},
	{"/filesystem/read/0", "redundant", "scaffold", false},
	{"/filesystem/read/1", "applied", "cover", false},
	{"/filesystem/read/2", "applied", "cover", false},
	{"/filesystem/read/3", "missing", "watched", true},
	{"/filesystem/read/4", "impossible", "watched", false},
	{"/filesystem/read/5", "missing", "none", false},
	{"/filesystem/deny/0", "applied", "scaffold", false},
	{"/filesystem/deny/1", "applied", "cover", false},
	{"/filesystem/deny/2", "applied", "cover", false},
	{"/filesystem/deny/3", "missing", "watched", false},
	{"/filesystem/deny/4", "missing", "watched", true},
	{"/filesystem/deny/5", "missing", "watched", false},
	{"/filesystem/deny/6", "missing", "scaffold", false},
	{"/filesystem/deny/7", "missing", "scaffold", false},
	{"/filesystem/deny/8", "applied", "cover", false},
	{"/filesystem/connect/0", "redundant", "scaffold", false},
	{"/filesystem/mounts/0", "applied", "cover", false},
	{"/filesystem/mounts/1", "applied", "scaffold", false},
	{"/filesystem/tmpfs/0", "applied", "scaffold", false},
	{"/filesystem/files/0", "applied", "scaffold", false},
};

static const struct rule_fate *fate_at(const struct explainer *e, const char *pointer)
{
	for (size_t i = 0; i < e->plan->rules.n; i++)
		if (strcmp(e->rules[i].rule->origin.pointer, pointer) == 0)
			return &e->rules[i];
	return NULL;
}

static void test_fates(const struct world *w)
{
	for (size_t i = 0; i < sizeof(fates) / sizeof(*fates); i++) {
		const struct fate_row *r = &fates[i];
		const struct rule_fate *f = fate_at(&w->e, r->pointer);

		if (!ok(f != NULL, "%s is there", r->pointer))
			continue;
		is_str(fate_name(f->fate), r->fate, "%s: fate", r->pointer);
		is_str(strength_name(f->strength), r->strength, "%s: strength", r->pointer);
		is_int(f->open, r->open, "%s: whether the command could make it", r->pointer);
	}
}

/* The rules for live sockets say why, and those that cover nothing are told apart. */
static void test_socket_rules(const struct world *w)
{
	static const char *const want[] = {"/srv/data/db applied", "/srv/data/secret/s redundant",
		"/srv/live/s applied", "/tmp/x11 redundant"};
	CLEANUP_STRVEC struct strvec got = {0};

	for (size_t i = 0; i < w->plan.rules.n; i++) {
		const struct rule_fate *f = &w->e.rules[i];

		if (!f->rule->socket)
			continue;
		strvec_pushf(&got, "%s %s", f->rule->path, fate_name(f->fate));
		ok(strcmp(f->rule->origin.file, "default") == 0 && f->rule->origin.layer == 0 &&
				strcmp(f->rule->name, "sockets") == 0 && f->rule->optional &&
				strstr(f->rule->why, "could talk to"),
			"a rule of the language's own");
	}
	is_int((long long)got.n, 4, "one for each live socket that no rule names");
	for (size_t i = 0; i < 4 && i < got.n; i++)
		is_str(got.v[i], want[i], "what became of it: %zu", i);
}

/* What is denied at a place where a file of the sandbox's own stands. */
static void test_shadowed(void)
{
	static const char text[] =
		"{\"sbx\": 1, \"filesystem\": {\"root\": \"read\", \"deny\": [\"/etc/passwd\"],"
		" \"files\": [{\"at\": \"/etc/passwd\", \"text\": \"x\"}]}}";
	struct policy_context context = {.home = "/home/u", .cwd = "/"};
	struct plan_request request = {.proc = PROC_FRESH, .cwd = "/"};
	struct explain_user user = {1000, 1000, NULL, 0};
	struct world w = {.tree = faketree_parse(tree_text)};
	struct err err = {0};
	const struct rule_fate *f;

	if (!ok(policy_load_text(
			&w.policy, text, sizeof(text) - 1, "t.json", NULL, &context, &err) == 0 &&
			    plan_make(&w.plan, &w.policy, w.tree, &request, &err) == 0,
		    "two rules at one place")) {
		diag("%s", err.message);
		return;
	}
	explainer_init(&w.e, &w.plan, w.tree, &user, w.policy.nested_userns);
	f = fate_at(&w.e, "/filesystem/deny/0");
	is_str(fate_name(f->fate), "shadowed", "the denial is shadowed");
	is_str(f->by ? f->by->origin.pointer : NULL, "/filesystem/files/0", "by the file");
	world_clear(&w);
}

static void test_nested(void)
{
	struct world w;
	struct explanation x;

	if (!world_make(&w, "true", PROC_FRESH))
		return;
	is_str(strength_name(fate_at(&w.e, "/filesystem/read/1")->strength), "watched",
		"with nested user namespaces, covers below what is writable hold nothing");
	is_str(strength_name(fate_at(&w.e, "/filesystem/deny/1")->strength), "cover", "others do");
	explain_path(&w.e, "/home/u/w/a/b/held/x", &x);
	ok(x.because.n && strstr(x.because.v[x.because.n - 1], "Nested"), "and the reasons say so");
	explanation_clear(&x);
	world_clear(&w);
}

/* why: what the error says when there is none. */
static void maps(const struct world *w, const char *path, const char *want, const char *why)
{
	struct err err = {0};
	char *host = NULL;

	explain_to_host(&w->e, path, &host, &err);
	is_str(host, want, "%s on the host", path);
	if (!want)
		ok(err.kind == ERR_PLAN && strstr(err.message, path) && strstr(err.message, why),
			"and the error names it: %s", why);
	free(host);
}

static void shows(const struct world *w, const char *host, const char *want)
{
	CLEANUP_STRVEC struct strvec paths = {0};
	CLEANUP_FREE char *all = xstrdup("");
	struct err err = {0};
	int rc = explain_to_view(&w->e, host, &paths, &err);

	for (size_t i = 0; i < paths.n; i++) {
		char *longer = xasprintf("%s%s%s", all, i ? " " : "", paths.v[i]);

		free(all);
		all = longer;
	}
	is_str(rc < 0 ? NULL : all, want, "%s in the view", host);
	if (!want)
		ok(err.kind == ERR_PLAN && strstr(err.message, host), "and the error names it");
}

static void test_map(const struct world *w)
{
	maps(w, "/bin/sh", "/usr/bin/sh", NULL);
	maps(w, "/srv/mnt/x", "/srv/data/x", NULL);
	maps(w, "/", "/", NULL);
	maps(w, "/etc", "/etc", NULL);
	maps(w, "/nosuch", NULL, "not in the sandbox");
	maps(w, "/etc/shadow", NULL, "denied");
	maps(w, "/srv/mnt/secret", NULL, "denied");
	maps(w, "/srv/mnt/secret/x", NULL, "denied");
	maps(w, "/home/u/masked", NULL, "sandbox's own");
	maps(w, "/run", NULL, "sandbox's own");
	maps(w, "/new", NULL, "sandbox's own");
	maps(w, "/proc/self", NULL, "belongs to a process");
	shows(w, "/srv/data/x", "/srv/data/x /srv/mnt/x");
	shows(w, "/srv/write", "/home/u/w/mnt /new/mnt /srv/write");
	shows(w, "/bin/sh", "/usr/bin/sh");
	shows(w, "/etc", "/etc");
	shows(w, "/", "/");
	shows(w, "/srv/data/secret/x", NULL);
	shows(w, "/home/u/secret/key", NULL);
	shows(w, "/home/u/w/envrc", NULL);
	shows(w, "/srv/mnt", NULL);
	shows(w, "/nosuch", NULL);
	shows(w, "/proc/self/x", NULL);
}

/* The host's /proc, read-only: its processes are the host's, and not the command's. */
static void test_bound_proc(void)
{
	struct world w;
	struct explanation x;

	if (!world_make(&w, "false", PROC_BIND))
		return;
	explain_path(&w.e, "/proc/self/environ", &x);
	is_int(x.found, FOUND_UNKNOWN, "a process of a bound /proc is not known");
	is_str(x.real, "/proc/self", "and no link of it followed");
	explanation_clear(&x);
	maps(&w, "/proc/cpuinfo", "/proc/cpuinfo", NULL);
	maps(&w, "/proc/self/environ", NULL, "belongs to a process");
	maps(&w, "/proc/4242/environ", NULL, "belongs to a process");
	shows(&w, "/proc/4242/environ", NULL);
	world_clear(&w);
}

int main(void)
{
	struct world w;

	if (world_make(&w, "false", PROC_FRESH)) {
		test_rows(&w);
		test_details(&w);
		test_fates(&w);
		test_socket_rules(&w);
		test_map(&w);
	}
	world_clear(&w);
	test_shadowed();
	test_nested();
	test_bound_proc();
	return done_testing();
}
