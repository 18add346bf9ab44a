/* The policy language: every key, every wrong value, and how layers are merged. */
#include "base/json.h"
#include "base/mem.h"
#include "base/strvec.h"
#include "lib/tap.h"
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 256 bytes */
#define NAME_32 "0123456789abcdef0123456789abcdef"
#define LONG_NAME NAME_32 NAME_32 NAME_32 NAME_32 NAME_32 NAME_32 NAME_32 NAME_32

static const struct policy_context context = {.home = "/home/u", .cwd = "/home/u/src/p"};

/* One line for each rule but the language's own, and for each setting that is not the default. */
static void print_rule(FILE *out, const struct rule *r)
{
	static const char *const kinds[] = {[RULE_ROOT] = "root",
		[RULE_PATH] = "path",
		[RULE_MOUNT] = "mount",
		[RULE_TMPFS] = "tmpfs",
		[RULE_FILE] = "file",
		[RULE_DEVICE] = "device",
		[RULE_PROC] = "proc",
		[RULE_DEV] = "dev"};

	fprintf(out, "%s %s", kinds[r->kind], access_name(r->access));
	if (r->at)
		fprintf(out, " at=%s", r->at);
	if (r->path)
		fprintf(out, " path=%s", r->path);
	if (r->spelled)
		fprintf(out, " spelled=%s", r->spelled);
	if (r->name)
		fprintf(out, " name=%s", r->name);
	if (r->why)
		fprintf(out, " why=%s", r->why);
	if (r->text)
		fprintf(out, " text=%s/%zu", r->text, r->text_len);
	if (r->size)
		fprintf(out, " size=%llu", (unsigned long long)r->size);
	fputs(r->scratch ? " scratch" : "", out);
	fputs(r->mask == MASK_EMPTY ? " empty" : "", out);
	fputs(r->type == TYPE_FILE ? " file" : r->type == TYPE_DIRECTORY ? " directory" : "", out);
	fputs(r->lost_report ? " report" : "", out);
	fputs(r->optional ? " optional" : "", out);
	fputs(r->follow ? " follow" : "", out);
	fputs(r->final ? " final" : "", out);
	fputs(r->relative ? " relative" : "", out);
	fputs(r->worktree ? " worktree" : "", out);
	fputs(r->pattern ? " pattern" : "", out);
	fputs(r->connect ? " connect" : "", out);
	for (size_t i = 0; i < r->grants.n; i++)
		fprintf(out, " grant=%s", r->grants.v[i]);
	putc('\n', out);
}

static void print_list(FILE *out, const char *what, const struct strvec *list)
{
	for (size_t i = 0; i < list->n; i++)
		fprintf(out, "%s %s\n", what, list->v[i]);
}

static void print_limits(FILE *out, const struct policy_limits *l)
{
	const struct {
		const char *name;
		uint64_t value;
	} limits[] = {{"wall", l->wall_ms}, {"cpu", l->cpu_ms}, {"memory", l->memory},
		{"processes", l->processes}, {"output", l->output}, {"file_size", l->file_size},
		{"open_files", l->open_files}, {"core", l->core}};

	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (limits[i].value)
			fprintf(out, "%s %llu\n", limits[i].name,
				(unsigned long long)limits[i].value);
	fputs(l->output_kill ? "then kill\n" : "", out);
}

static char *dump(const struct policy *p, bool defaults)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < p->n_rules; i++)
		if (defaults || p->rules[i].origin.layer || p->rules[i].final)
			print_rule(out, &p->rules[i]);
	if (p->network == NETWORK_HOST)
		fputs("network host\n", out);
	fputs(p->verify ? "verify\n" : "", out);
	fputs(p->propagation == PROPAGATION_SLAVE ? "slave\n" : "", out);
	if (p->user.kind == USER_OWNER)
		fputs("user owner\n", out);
	if (p->user.kind == USER_NUMBER && p->user.has_gid)
		fprintf(out, "user %u:%u\n", p->user.uid, p->user.gid);
	else if (p->user.kind == USER_NUMBER)
		fprintf(out, "user %u\n", p->user.uid);
	if (p->hostname)
		fprintf(out, "hostname %s\n", p->hostname);
	if (p->env_base == ENV_NONE)
		fputs("env none\n", out);
	print_list(out, "inherit", &p->env_inherit);
	for (size_t i = 0; i < p->n_env_set; i++)
		fprintf(out, "set %s=%s\n", p->env_set[i].name, p->env_set[i].value);
	for (size_t i = 0; i < p->n_env_secrets; i++)
		fprintf(out, "secret %s\n", p->env_secrets[i].name);
	for (size_t i = 0; i < p->n_env_prepend; i++)
		print_list(out, p->env_prepend[i].name, &p->env_prepend[i].dirs);
	if (p->cwd)
		fprintf(out, "cwd %s\n", p->cwd);
	if (p->nested_userns)
		fputs("nested\n", out);
	print_list(out, "cap", &p->capabilities);
	if (p->stdio == STDIO_DIRECT)
		fputs("direct\n", out);
	if (p->seccomp.profile != PROFILE_DEFAULT)
		fprintf(out, "seccomp %s\n",
			p->seccomp.profile == PROFILE_NONE ? "none" : "strict");
	for (size_t i = 0; i < p->seccomp.allow.n; i += 2)
		fprintf(out, "allow %s\n", p->seccomp.allow.v[i]);
	for (size_t i = 0; i < p->seccomp.deny.n; i += 2)
		fprintf(out, "deny %s (%s)\n", p->seccomp.deny.v[i], p->seccomp.deny.v[i + 1]);
	fputs(p->seccomp.kill ? "violation kill\n" : "", out);
	for (size_t i = 0; i < p->require.n; i += 2)
		fprintf(out, "require %s (%s)\n", p->require.v[i], p->require.v[i + 1]);
	if (p->image_build.wanted)
		fprintf(out, "build %s\n", p->image_build.wanted);
	if (p->image_base.wanted)
		fprintf(out, "base %s\n", p->image_base.wanted);
	print_limits(out, &p->limits);
	fputs(p->cgroup_manage ? "cgroup manage\n" : "", out);
	fclose(out);
	return text;
}

/* The dump of a document whose other members are body, or "AT: MESSAGE". */
static char *load_body(const char *body, const char *dir, bool defaults)
{
	CLEANUP_FREE char *text = xasprintf("{\"sbx\": 1%s%s}", *body ? ", " : "", body);
	struct policy policy;
	struct err err = {0};
	char *out;

	if (policy_load_text(&policy, text, strlen(text), "p", dir, &context, &err) < 0)
		return xasprintf("%s: %s", err.at, err.message);
	out = dump(&policy, defaults);
	policy_clear(&policy);
	return out;
}

struct good {
	const char *what, *body, *want;
};

#define FS(x) "\"filesystem\": {" x "}"
#define LIMITS(x) "\"limits\": {" x "}"
#define USER(x) "\"identity\": {\"user\": \"" x "\"}"

static const struct good good[] = {
	{"nothing", "", ""},
	{"description and schema", "\"description\": \"x\", \"$schema\": \"y\"", ""},
	{"root read", FS("\"root\": \"read\""), "root read path=/\n"},
	{"root deny", FS("\"root\": \"deny\""), "root deny path=/\n"},
	{"read, write, deny", FS("\"read\": [\"/a\"], \"write\": [\"/b\"], \"deny\": [\"/c\"]"),
		"path read path=/a\npath write path=/b\npath deny path=/c\n"},
	{"every form of a path", FS("\"read\": [\"/a/\", \"~\", \"~/x\", \"./y\", \"@policy/z\"]"),
		"path read path=/a\npath read path=/home/u\npath read path=/home/u/x\n"
		"path read path=/home/u/src/p/y relative\npath read path=/policies/z\n"},
	{"the dot", FS("\"write\": [\".\"]"), "path write path=/home/u/src/p relative\n"},
	{"paths are made normal", FS("\"read\": [\"//a/./b//c/\"]"), "path read path=/a/b/c\n"},
	{"two dots", FS("\"read\": [\"/a/../b\", \"./../q\", \"/...\", \"/..a\"]"),
		"path read path=/b spelled=/a/../b\n"
		"path read path=/home/u/src/q spelled=/home/u/src/p/../q relative\n"
		"path read path=/...\npath read path=/..a\n"},
	{"patterns", FS("\"deny\": [\"./*.key\", \"~/?a\", \"@policy/[ab]\", \"/a/**/b\"]"),
		"path deny path=/home/u/src/p/*.key relative pattern\npath deny path=/home/u/?a "
		"pattern\n"
		"path deny path=/policies/[ab] pattern\npath deny path=/a/**/b pattern\n"},
	{"patterns are made normal",
		FS("\"read\": [\"//a/./\\\\b/*/\\\\./c\\\\*d/]/\", \"/a/**/./**/b\"]"),
		"path read path=/a/b/*/c\\*d/\\] pattern\npath read path=/a/**/b pattern\n"},
	{"escaped names",
		FS("\"read\": [\"/\\\\*a\\\\?\\\\[b]\\\\\\\\c\\\\d\", \"/]\"], \"tmpfs\":"
		   "[{\"at\": \"/\\\\[x]\"}]"),
		"path read path=/*a?[b]\\cd\npath read path=/]\ntmpfs write at=/[x]\n"},
	{"a pattern and a path of the same text",
		FS("\"read\": [\"/a*\"], \"deny\": [\"/a\\\\*\"]"),
		"path read path=/a* pattern\npath deny path=/a*\n"},
	{"a pattern said twice", FS("\"deny\": [\"/a*\", \"/a*/\", \"//\\\\a*\"]"),
		"path deny path=/a* pattern\npath deny path=/\\a* pattern\n"},
	{"a rule with everything",
		FS("\"deny\": [{\"path\": \"/a\", \"why\": \"w\", \"name\": \"n\", \"optional\": "
		   "true,"
		   "\"final\": true, \"grants\": [\"/a/b\", \"/a/c/\"], \"mask\": \"empty\"}]"),
		"path deny path=/a name=n why=w empty optional final grant=/a/b grant=/a/c\n"},
	{"grants that follow",
		FS("\"read\": [{\"path\": \"/a\", \"follow\": true}, {\"path\": \"/b\", "
		   "\"follow\": false}], \"write\": [{\"path\": \"/c/*\", \"follow\": true}], "
		   "\"mounts\": [{\"at\": \"/d\", \"from\": \"/e\", \"follow\": true}]"),
		"path read path=/a follow\npath read path=/b\npath write path=/c/* follow pattern\n"
		"mount read at=/d path=/e follow\n"},
	{"sockets to connect to",
		FS("\"connect\": [\"~/a.sock\", {\"path\": \"./b-*\", \"optional\": true, \"why\": "
		   "\"w\", \"name\": \"n\"}]"),
		"path read path=/home/u/a.sock connect\n"
		"path read path=/home/u/src/p/b-* name=n why=w optional relative pattern "
		"connect\n"},
	{"mask eacces",
		FS("\"deny\": [{\"path\": \"/a\", \"mask\": \"eacces\", \"final\": false}]"),
		"path deny path=/a\n"},
	{"types",
		FS("\"read\": [{\"path\": \"/a\", \"type\": \"file\"}, {\"path\": \"/b*\", "
		   "\"type\": "
		   "\"directory\"}], \"write\": [{\"path\": \"/a\", \"type\": \"directory\"}, "
		   "{\"path\": \"/b*\", \"type\": \"file\"}]"),
		"path read path=/a file\npath read path=/b* directory pattern\n"
		"path write path=/a directory\npath write path=/b* file pattern\n"},
	{"a worktree, next to another rule for its path",
		FS("\"write\": [{\"path\": \"./.git\", \"worktree\": true}, {\"path\": \"~/.git\", "
		   "\"worktree\": false}, {\"path\": \"~/.config/sbx/.git\", \"worktree\": true}], "
		   "\"read\": [\"./.git\"]"),
		"path write path=/home/u/src/p/.git relative worktree\npath write "
		"path=/home/u/.git\n"
		"path write path=/home/u/.config/sbx/.git worktree\n"
		"path read path=/home/u/src/p/.git relative\n"},
	{"mounts",
		FS("\"mounts\": [{\"at\": \"/w\", \"from\": \"~/p\"},"
		   "{\"at\": \"/x\", \"from\": \"/\", \"access\": \"read\", \"optional\": true, "
		   "\"name\": \"n\"},"
		   "{\"at\": \"/tmp/y\", \"from\": \"./\", \"access\": \"write\", \"why\": "
		   "\"w\"}]"),
		"mount read at=/w path=/home/u/p\nmount read at=/x path=/ name=n optional\n"
		"mount write at=/tmp/y path=/home/u/src/p why=w relative\n"},
	{"tmpfs",
		FS("\"tmpfs\": [{\"at\": \"/a\"}, {\"at\": \"/b\", \"size\": \"64M\", \"access\": "
		   "\"read\"},"
		   "{\"at\": \"/c\", \"size\": 4096, \"access\": \"write\"}, {\"at\": \"~/d\", "
		   "\"size\": \"2G\"},"
		   "{\"at\": \"/e\", \"size\": \"512K\"}, {\"at\": \"/f\", \"size\": \"77\"}]"),
		"tmpfs write at=/a\ntmpfs read at=/b size=67108864\ntmpfs write at=/c size=4096\n"
		"tmpfs write at=/home/u/d size=2147483648\ntmpfs write at=/e size=524288\n"
		"tmpfs write at=/f size=77\n"},
	{"files",
		FS("\"files\": [{\"at\": \"/etc/hosts\", \"text\": \"a\\n\", \"why\": \"w\"},"
		   "{\"at\": \"/e\", \"text\": \"\"}]"),
		"file read at=/etc/hosts why=w text=a\n/2\nfile read at=/e text=/0\n"},
	{"devices",
		FS("\"devices\": [\"/dev/kvm\", {\"path\": \"/dev/dri\", \"optional\": true, "
		   "\"why\": \"w\"}]"),
		"device write path=/dev/kvm\ndevice write path=/dev/dri why=w optional\n"},
	{"proc and dev", FS("\"proc\": \"bind\", \"dev\": \"minimal\""),
		"proc write at=/proc\ndev write at=/dev\n"},
	{"no proc, no dev", FS("\"proc\": \"none\", \"dev\": \"none\""), ""},
	{"denies below the sandbox's own",
		FS("\"deny\": [\"/proc/kcore\", \"/dev/shm\", \"/tmp/x\"]"),
		"path deny path=/proc/kcore\npath deny path=/dev/shm\npath deny path=/tmp/x\n"},
	{"rules below /tmp",
		FS("\"read\": [\"/tmp/a\"], \"mounts\": [{\"at\": \"/tmp\", \"from\": "
		   "\"/var/t\"}]"),
		"path read path=/tmp/a\nmount read at=/tmp path=/var/t\n"},
	{"network", "\"network\": \"host\"", "network host\n"},
	{"the caller", USER("caller"), ""},
	{"a user", USER("0"), "user 0\n"},
	{"a user and a group", USER("4294967294:4294967294"), "user 4294967294:4294967294\n"},
	{"a user and root's group", USER("10:0"), "user 10:0\n"},
	{"the owner", USER("owner"), "user owner\n"},
	{"host name", "\"identity\": {\"hostname\": \"a-1.b\"}", "hostname a-1.b\n"},
	{"environment",
		"\"environment\": {\"base\": \"none\", \"inherit\": [\"A\", \"LC_*\", \"A\"],"
		"\"set\": {\"B\": \"x=y\", \"C\": \"\"}}",
		"env none\ninherit A\ninherit LC_*\nset B=x=y\nset C=\n"},
	{"scratch",
		"\"scratch\": {\"at\": \"/s/\", \"size\": \"1G\", \"why\": \"w\", \"name\": \"n\"}",
		"tmpfs write at=/s name=n why=w size=1073741824 scratch\n"},
	{"image", "\"image\": {\"build\": \"1.2\", \"base\": \"debian:13\"}",
		"build 1.2\nbase debian:13\n"},
	{"require", "\"require\": [\"fresh-proc\", \"protect\", \"fresh-proc\"]",
		"require fresh-proc (p: /require/0)\nrequire protect (p: /require/1)\n"
		"require fresh-proc (p: /require/2)\n"},
	{"secrets", "\"environment\": {\"secrets\": [\"T\", \"_k1\", \"T\"]}",
		"secret T\nsecret _k1\n"},
	{"prepend", "\"environment\": {\"prepend\": {\"PATH\": [\"/a/\", \"~/b\"], \"L\": []}}",
		"PATH /a\nPATH /home/u/b\n"},
	{"process",
		"\"process\": {\"cwd\": \"./\", \"nested_userns\": true, \"stdio\": \"direct\"}",
		"cwd /home/u/src/p\nnested\ndirect\n"},
	{"capabilities",
		"\"process\": {\"capabilities\": [\"CAP_NET_RAW\", \"CAP_CHECKPOINT_RESTORE\","
		"\"CAP_NET_RAW\"], \"nested_userns\": false}",
		"cap CAP_NET_RAW\ncap CAP_CHECKPOINT_RESTORE\n"},
	{"no capabilities", "\"process\": {\"capabilities\": [], \"nested_userns\": true}",
		"nested\n"},
	{"wall in seconds", "\"limits\": {\"wall\": \"120s\"}", "wall 120000\n"},
	{"wall in minutes", "\"limits\": {\"wall\": \"2m\"}", "wall 120000\n"},
	{"wall in hours", "\"limits\": {\"wall\": \"1h\"}", "wall 3600000\n"},
	{"wall in milliseconds", "\"limits\": {\"wall\": \"500ms\"}", "wall 500\n"},
	{"wall without a unit", "\"limits\": {\"wall\": \"7\"}", "wall 7000\n"},
	{"wall as a number", "\"limits\": {\"wall\": 1.5}", "wall 1500\n"},
	{"every limit",
		LIMITS("\"wall\": \"1m\", \"cpu\": \"1500ms\", \"memory\": \"512M\", "
		       "\"processes\": 64, \"output\": \"1M\", \"file_size\": \"2G\", "
		       "\"open_files\": 100, \"core\": \"1K\""),
		"wall 60000\ncpu 1500\nmemory 536870912\nprocesses 64\noutput 1048576\n"
		"file_size 2147483648\nopen_files 100\ncore 1024\n"},
	{"the least of every limit",
		LIMITS("\"cpu\": 0.001, \"memory\": \"1M\", \"processes\": 4, \"output\": 1, "
		       "\"file_size\": 1, \"open_files\": 4, \"core\": 1"),
		"cpu 1\nmemory 1048576\nprocesses 4\noutput 1\nfile_size 1\nopen_files 4\n"
		"core 1\n"},
	{"the most of every limit",
		LIMITS("\"cpu\": 2147483647, \"memory\": \"1024T\", \"processes\": 4194304, "
		       "\"output\": \"1024T\", \"file_size\": 1125899906842624, "
		       "\"open_files\": 1073741824, \"core\": \"1024T\""),
		"cpu 2147483647000\nmemory 1125899906842624\nprocesses 4194304\n"
		"output 1125899906842624\nfile_size 1125899906842624\nopen_files 1073741824\n"
		"core 1125899906842624\n"},
	{"limits as strings",
		LIMITS("\"memory\": \"1048577\", \"processes\": \"12\", \"open_files\": \"64\""),
		"memory 1048577\nprocesses 12\nopen_files 64\n"},
	{"no core", LIMITS("\"core\": 0"), ""},
	{"output that is dropped", LIMITS("\"output\": {\"bytes\": \"1M\", \"then\": \"drop\"}"),
		"output 1048576\n"},
	{"output that kills", LIMITS("\"output\": {\"then\": \"kill\", \"bytes\": 7}"),
		"output 7\nthen kill\n"},
	{"output that says no more", LIMITS("\"output\": {\"bytes\": \"2K\"}"), "output 2048\n"},
	{"cgroups managed", "\"cgroup\": {\"manage\": true}", "cgroup manage\n"},
	{"cgroups left alone", "\"cgroup\": {\"manage\": false}", ""},
	{"a mount table that is verified", FS("\"verify\": true"), "verify\n"},
	{"one that need not be", FS("\"verify\": false, \"propagation\": \"private\""), ""},
	{"mounts that follow the host's", FS("\"propagation\": \"slave\""), "slave\n"},
	{"all that can be required",
		"\"require\": [\"protect\", \"fresh-proc\", \"network\", \"wall\", \"cpu\", "
		"\"memory\", \"processes\", \"output\", \"file_size\", \"open_files\", "
		"\"nested_userns\", \"user\"], " USER("1") ", " LIMITS(
			"\"wall\": 1, \"cpu\": 1, \"memory\": \"1M\", \"processes\": 4, "
			"\"output\": 1, \"file_size\": 1, \"open_files\": 4"),
		"user 1\nrequire protect (p: /require/0)\nrequire fresh-proc (p: /require/1)\n"
		"require network (p: /require/2)\nrequire wall (p: /require/3)\n"
		"require cpu (p: /require/4)\nrequire memory (p: /require/5)\n"
		"require processes (p: /require/6)\nrequire output (p: /require/7)\n"
		"require file_size (p: /require/8)\nrequire open_files (p: /require/9)\n"
		"require nested_userns (p: /require/10)\nrequire user (p: /require/11)\n"
		"wall 1000\ncpu 1000\nmemory 1048576\nprocesses 4\noutput 1\nfile_size 1\n"
		"open_files 4\n"},
	{"covers whose loss is reported",
		FS("\"deny\": [{\"path\": \"/a\", \"lost\": \"report\"}], \"read\": [{\"path\": "
		   "\"/b\", \"lost\": \"report\"}, {\"path\": \"/c\", \"lost\": \"end\"}]"),
		"path deny path=/a report\npath read path=/b report\npath read path=/c\n"},
	{"finals of nothing",
		"\"final\": [\"network\", \"limits\", \"limits\", \"user\", \"verify\", "
		"\"propagation\"]",
		""},
	{"a final user", "\"final\": [\"user\"], " USER("1"), "user 1\n"},
	{"a rule said twice",
		FS("\"read\": [\"/a\", \"/a/\", {\"path\": \"/a\", \"why\": \"again\"}]"),
		"path read path=/a\n"},
	{"a denied path and what is shown there",
		FS("\"deny\": [\"/a\", \"/b\"], \"mounts\":"
		   "[{\"at\": \"/a\", \"from\": \"/x\"}], \"tmpfs\": [{\"at\": \"/b\"}]"),
		"path deny path=/a\npath deny path=/b\nmount read at=/a path=/x\ntmpfs write "
		"at=/b\n"},
	{"final and looser in one layer",
		FS("\"deny\": [{\"path\": \"/a\", \"final\": true}], \"read\": [\"/a/b\"]"),
		"path deny path=/a final\npath read path=/a/b\n"},
};

static void test_good(void)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		CLEANUP_FREE char *got = load_body(good[i].body, "/policies", false);

		is_str(got, good[i].want, "%s", good[i].what);
	}
}

static void test_defaults(void)
{
	CLEANUP_FREE char *got = load_body("", NULL, true);
	CLEANUP_FREE char *tmp =
		load_body(FS("\"tmpfs\": [{\"at\": \"/tmp\", \"size\": \"1M\"}]"), NULL, true);
	CLEANUP_FREE char *none =
		load_body(FS("\"proc\": \"none\", \"dev\": \"none\""), NULL, true);

	is_str(got,
		"root deny path=/\nproc write at=/proc\ndev write at=/dev\n"
		"tmpfs write at=/tmp\n",
		"the language's own rules");
	is_str(tmp,
		"tmpfs write at=/tmp size=1048576\nroot deny path=/\nproc write at=/proc\n"
		"dev write at=/dev\n",
		"/tmp given another size");
	is_str(none, "root deny path=/\ntmpfs write at=/tmp\n", "neither /proc nor /dev");
}

struct bad {
	const char *what, *body, *at, *message, *hint; /* hint: "" = any */
};

static const struct bad bad[] = {
	/* Unknown keys, also those of other case and of the design's later work. */
	{"an unknown key", "\"foo\": 1", "p: /foo", "unknown key \"foo\"", "\"filesystem\""},
	{"a mistyped key", "\"filesytem\": {}", "p: /filesytem", "unknown key",
		"did you mean \"filesystem\""},
	{"a key in other case", "\"Network\": \"none\"", "p: /Network", "unknown key",
		"\"network\""},
	{"memory 0", LIMITS("\"memory\": 0"), "p: /limits/memory", "no size", "64M"},
	{"memory below 0", LIMITS("\"memory\": -1"), "p: /limits/memory", "no size", ""},
	{"memory too little for bwrap", LIMITS("\"memory\": 1048575"), "p: /limits/memory",
		"too little memory for bwrap", "\"1M\" at least"},
	{"memory that limits nothing", LIMITS("\"memory\": 1125899906842625"), "p: /limits/memory",
		"limits nothing", "leave it out"},
	{"memory beyond 64 bits", LIMITS("\"memory\": \"16777216T\""), "p: /limits/memory",
		"no size", ""},
	{"memory as a list", LIMITS("\"memory\": []"), "p: /limits/memory",
		"must be a string, not an array", ""},
	{"cpu 0", LIMITS("\"cpu\": 0"), "p: /limits/cpu", "no duration", "120s"},
	{"cpu below 0", LIMITS("\"cpu\": \"-1s\""), "p: /limits/cpu", "no duration", ""},
	{"cpu of a century", LIMITS("\"cpu\": 3000000000"), "p: /limits/cpu", "no duration", ""},
	{"cpu as a size", LIMITS("\"cpu\": \"1M\""), "p: /limits/cpu", "no duration", ""},
	{"three processes", LIMITS("\"processes\": 3"), "p: /limits/processes",
		"must be a whole number from 4 to 4194304", "the three around"},
	{"no processes", LIMITS("\"processes\": 0"), "p: /limits/processes", "from 4", ""},
	{"processes below 0", LIMITS("\"processes\": -5"), "p: /limits/processes", "from 4", ""},
	{"half a process", LIMITS("\"processes\": 64.5"), "p: /limits/processes", "from 4", ""},
	{"more processes than ids", LIMITS("\"processes\": 4194305"), "p: /limits/processes",
		"to 4194304", ""},
	{"processes with a unit", LIMITS("\"processes\": \"1K\""), "p: /limits/processes", "from 4",
		""},
	{"processes true", LIMITS("\"processes\": true"), "p: /limits/processes",
		"must be a string, not true or false", ""},
	{"three open files", LIMITS("\"open_files\": 3"), "p: /limits/open_files",
		"must be a whole number from 4 to 1073741824", "one to load"},
	{"too many open files", LIMITS("\"open_files\": 1073741825"), "p: /limits/open_files",
		"to 1073741824", ""},
	{"file_size 0", LIMITS("\"file_size\": \"0\""), "p: /limits/file_size", "no size", ""},
	{"file_size that limits nothing", LIMITS("\"file_size\": \"1025T\""),
		"p: /limits/file_size", "limits nothing", ""},
	{"core below 0", LIMITS("\"core\": -1"), "p: /limits/core", "no size", ""},
	{"core that limits nothing", LIMITS("\"core\": \"1025T\""), "p: /limits/core",
		"limits nothing", ""},
	{"output 0", LIMITS("\"output\": 0"), "p: /limits/output", "no size", ""},
	{"output that limits nothing", LIMITS("\"output\": {\"bytes\": \"1025T\"}"),
		"p: /limits/output/bytes", "limits nothing", ""},
	{"output without bytes", LIMITS("\"output\": {\"then\": \"kill\"}"), "p: /limits/output",
		"\"bytes\" is missing", ""},
	{"output and then nothing known", LIMITS("\"output\": {\"bytes\": 1, \"then\": \"stop\"}"),
		"p: /limits/output/then", "must be \"drop\" or \"kill\", not \"stop\"", ""},
	{"output with another key", LIMITS("\"output\": {\"bytes\": 1, \"lines\": 2}"),
		"p: /limits/output/lines", "unknown key", "\"then\""},
	{"output as a list", LIMITS("\"output\": [1]"), "p: /limits/output", "must be a string",
		""},
	{"an unknown limit", LIMITS("\"mem\": 1"), "p: /limits/mem", "unknown key", "\"memory\""},
	{"cgroup", "\"cgroup\": true", "p: /cgroup", "must be an object", ""},
	{"cgroup manage", "\"cgroup\": {\"manage\": \"yes\"}", "p: /cgroup/manage",
		"must be true or false", ""},
	{"an unknown key of cgroup", "\"cgroup\": {\"move\": true}", "p: /cgroup/move",
		"unknown key", "\"manage\""},
	{"a network that is required and not isolated",
		"\"require\": [\"protect\", \"network\"], \"network\": \"host\"", "p: /require/1",
		"\"network\" is required, and the policy does not ask for it", "--net"},
	{"a wall that is required", "\"require\": [\"wall\"]", "p: /require/0",
		"\"wall\" is required", "limits.wall (--timeout)"},
	{"cpu that is required", "\"require\": [\"cpu\"]", "p: /require/0", "\"cpu\" is required",
		"limits.cpu (--cpu)"},
	{"memory that is required", "\"require\": [\"memory\"]", "p: /require/0",
		"\"memory\" is required", "limits.memory (--memory)"},
	{"processes that are required", "\"require\": [\"processes\"]", "p: /require/0",
		"\"processes\" is required", "limits.processes (--processes)"},
	{"output that is required", "\"require\": [\"output\"]", "p: /require/0",
		"\"output\" is required", "limits.output (--output-limit)"},
	{"file_size that is required", "\"require\": [\"file_size\"]", "p: /require/0",
		"\"file_size\" is required", "limits.file_size"},
	{"open_files that are required", "\"require\": [\"open_files\"]", "p: /require/0",
		"\"open_files\" is required", "limits.open_files"},
	{"no nested_userns required and given",
		"\"require\": [\"nested_userns\"], \"process\": {\"nested_userns\": true}",
		"p: /require/0", "\"nested_userns\" is required", "is true"},
	{"a user that is required", "\"require\": [\"user\"]", "p: /require/0",
		"\"user\" is required", "identity.user (--user)"},
	{"core that is required", "\"require\": [\"core\"]", "p: /require/0", "must be", ""},
	{"lost of a grant", FS("\"write\": [{\"path\": \"/a\", \"lost\": \"end\"}]"),
		"p: /filesystem/write/0/lost", "unknown key", ""},
	{"lost of a mount",
		FS("\"mounts\": [{\"at\": \"/a\", \"from\": \"/b\", \"lost\": \"end\"}]"),
		"p: /filesystem/mounts/0/lost", "unknown key", ""},
	{"lost and then nothing known", FS("\"deny\": [{\"path\": \"/a\", \"lost\": \"kill\"}]"),
		"p: /filesystem/deny/0/lost", "must be \"end\" or \"report\", not \"kill\"", ""},
	{"one path, lost in two ways",
		FS("\"deny\": [\"/a\", {\"path\": \"/a\", \"lost\": \"report\"}]"),
		"p: /filesystem/deny/1", "/a", ""},
	{"a profile that is none", "\"seccomp\": \"docker\"", "p: /seccomp",
		"must be \"none\", \"default\" or \"strict\", not \"docker\"", ""},
	{"no profile", "\"seccomp\": true", "p: /seccomp", "must be a string, not", ""},
	{"seccomp with a key too many", "\"seccomp\": {\"alow\": []}", "p: /seccomp/alow",
		"unknown key", "\"allow\""},
	{"an allowed call that is no name", "\"seccomp\": {\"allow\": [101]}",
		"p: /seccomp/allow/0", "must be a string", ""},
	{"a denied call without a name", "\"seccomp\": {\"deny\": [\"ptrace\", \"\"]}",
		"p: /seccomp/deny/1", "empty", ""},
	{"a violation that is none", "\"seccomp\": {\"violation\": \"trap\"}",
		"p: /seccomp/violation", "must be \"errno\" or \"kill\", not \"trap\"", ""},
	{"seccomp that is required and off", "\"seccomp\": \"none\", \"require\": [\"seccomp\"]",
		"p: /require/0", "\"seccomp\" is required", "--seccomp"},
	{"a requirement that is none", "\"require\": [\"protect\", \"x\"]", "p: /require/1",
		"\"user\" or \"seccomp\", not \"x\"", ""},
	{"missing of a grant", FS("\"write\": [{\"path\": \"/a\", \"missing\": \"watch\"}]"),
		"p: /filesystem/write/0/missing", "unknown key", ""},
	{"a treatment that is none", FS("\"deny\": [{\"path\": \"/a\", \"missing\": \"stub\"}]"),
		"p: /filesystem/deny/0/missing",
		"must be \"watch\", \"quarantine\" or \"enforce\", not \"stub\"", ""},
	{"a directory that is enforced",
		FS("\"deny\": [{\"path\": \"/a\", \"type\": \"directory\", \"missing\": "
		   "\"enforce\"}]"),
		"p: /filesystem/deny/0", "cannot be enforced", "leave \"type\" out"},
	{"one path with two treatments",
		FS("\"deny\": [\"/a\", {\"path\": \"/a\", \"missing\": \"enforce\"}]"),
		"p: /filesystem/deny/1", "/a", ""},
	{"a denial that follows", FS("\"deny\": [{\"path\": \"/a\", \"follow\": false}]"),
		"p: /filesystem/deny/0/follow", "only grants can have \"follow\"", "leave it out"},
	{"a device that follows", FS("\"devices\": [{\"path\": \"/dev/a\", \"follow\": true}]"),
		"p: /filesystem/devices/0/follow", "unknown key", ""},
	{"an unknown key of process", "\"process\": {\"x\": 1}", "p: /process/x", "unknown key",
		""},
	{"a mask outside of deny", FS("\"read\": [{\"path\": \"/a\", \"mask\": \"empty\"}]"),
		"p: /filesystem/read/0/mask", "unknown key", ""},
	{"a final connect", FS("\"connect\": [{\"path\": \"/a\", \"final\": true}]"),
		"p: /filesystem/connect/0/final", "unknown key", "\"optional\""},
	{"connect", FS("\"connect\": \"/a\""), "p: /filesystem/connect", "must be an array", ""},
	{"a connect without path", FS("\"connect\": [{\"name\": \"x\"}]"),
		"p: /filesystem/connect/0", "\"path\" is missing", ""},
	{"connect below /dev", FS("\"connect\": [\"/dev/log\"]"), "p: /filesystem/connect/0",
		"/dev is always", ""},
	{"connect and read", FS("\"read\": [\"/a\"], \"connect\": [\"/a\"]"),
		"p: /filesystem/connect/0", "(p: /filesystem/read/0)", "keep one"},
	{"a final mount", FS("\"mounts\": [{\"at\": \"/a\", \"from\": \"/b\", \"final\": true}]"),
		"p: /filesystem/mounts/0/final", "unknown key", ""},
	{"an optional tmpfs", FS("\"tmpfs\": [{\"at\": \"/a\", \"optional\": true}]"),
		"p: /filesystem/tmpfs/0/optional", "unknown key", ""},
	{"a file with a source", FS("\"files\": [{\"at\": \"/a\", \"from\": \"/b\"}]"),
		"p: /filesystem/files/0/from", "unknown key", "\"text\""},
	{"a key with / and ~", "\"a/b~c\": 1", "p: /a~1b~0c", "unknown key \"a/b~c\"", ""},
	/* Wrong types. */
	{"description", "\"description\": 1", "p: /description", "must be a string, not a number",
		""},
	{"$schema", "\"$schema\": null", "p: /$schema", "must be a string, not null", ""},
	{"extends a string", "\"extends\": \"default\"", "p: /extends",
		"must be an array, not a string", ""},
	{"extends numbers", "\"extends\": [1]", "p: /extends/0", "must be a string, not a number",
		""},
	{"off", "\"off\": {}", "p: /off", "must be an array, not an object", ""},
	{"off numbers", "\"off\": [true]", "p: /off/0", "must be a string, not true or false", ""},
	{"final", "\"final\": true", "p: /final", "must be an array", ""},
	{"final numbers", "\"final\": [0]", "p: /final/0", "must be a string", ""},
	{"filesystem", "\"filesystem\": []", "p: /filesystem", "must be an object, not an array",
		""},
	{"root", FS("\"root\": true"), "p: /filesystem/root", "must be a string", ""},
	{"read", FS("\"read\": \"/a\""), "p: /filesystem/read", "must be an array, not a string",
		""},
	{"write", FS("\"write\": {}"), "p: /filesystem/write", "must be an array, not an object",
		""},
	{"deny", FS("\"deny\": null"), "p: /filesystem/deny", "must be an array, not null", ""},
	{"a rule that is a number", FS("\"read\": [\"/a\", 1]"), "p: /filesystem/read/1",
		"must be a string", ""},
	{"a rule that is a list", FS("\"deny\": [[\"/a\"]]"), "p: /filesystem/deny/0",
		"must be a string", ""},
	{"path", FS("\"read\": [{\"path\": 1}]"), "p: /filesystem/read/0/path", "must be a string",
		""},
	{"why", FS("\"read\": [{\"path\": \"/a\", \"why\": 1}]"), "p: /filesystem/read/0/why",
		"must be a string", ""},
	{"name", FS("\"read\": [{\"path\": \"/a\", \"name\": []}]"), "p: /filesystem/read/0/name",
		"must be a string", ""},
	{"optional", FS("\"read\": [{\"path\": \"/a\", \"optional\": 1}]"),
		"p: /filesystem/read/0/optional", "must be true or false, not a number", ""},
	{"a rule's final", FS("\"read\": [{\"path\": \"/a\", \"final\": \"yes\"}]"),
		"p: /filesystem/read/0/final", "must be true or false, not a string", ""},
	{"follow", FS("\"write\": [{\"path\": \"/a\", \"follow\": \"yes\"}]"),
		"p: /filesystem/write/0/follow", "must be true or false, not a string", ""},
	{"grants", FS("\"deny\": [{\"path\": \"/a\", \"final\": true, \"grants\": \"/a/b\"}]"),
		"p: /filesystem/deny/0/grants", "must be an array", ""},
	{"mask", FS("\"deny\": [{\"path\": \"/a\", \"mask\": true}]"), "p: /filesystem/deny/0/mask",
		"must be a string", ""},
	{"mounts", FS("\"mounts\": {}"), "p: /filesystem/mounts", "must be an array", ""},
	{"a mount that is a string", FS("\"mounts\": [\"/a\"]"), "p: /filesystem/mounts/0",
		"must be an object", ""},
	{"tmpfs", FS("\"tmpfs\": [\"/a\"]"), "p: /filesystem/tmpfs/0", "must be an object", ""},
	{"files", FS("\"files\": [\"/a\"]"), "p: /filesystem/files/0", "must be an object", ""},
	{"text", FS("\"files\": [{\"at\": \"/a\", \"text\": 1}]"), "p: /filesystem/files/0/text",
		"must be a string", ""},
	{"devices", FS("\"devices\": [1]"), "p: /filesystem/devices/0", "must be a string", ""},
	{"proc", FS("\"proc\": false"), "p: /filesystem/proc", "must be a string", ""},
	{"verify", FS("\"verify\": \"always\""), "p: /filesystem/verify", "must be", ""},
	{"verify in another section", "\"process\": {\"verify\": true}", "p: /process/verify",
		"unknown key", ""},
	{"propagation", FS("\"propagation\": true"), "p: /filesystem/propagation",
		"must be a string", ""},
	{"a propagation that is none", FS("\"propagation\": \"shared\""),
		"p: /filesystem/propagation", "must be \"private\" or \"slave\", not \"shared\"",
		""},
	{"dev", FS("\"dev\": 1"), "p: /filesystem/dev", "must be a string", ""},
	{"network", "\"network\": {}", "p: /network", "must be a string", ""},
	{"identity", "\"identity\": \"x\"", "p: /identity", "must be an object", ""},
	{"user", "\"identity\": {\"user\": 1000}", "p: /identity/user",
		"must be a string, not a number", ""},
	{"hostname", "\"identity\": {\"hostname\": 1}", "p: /identity/hostname", "must be a string",
		""},
	{"environment", "\"environment\": []", "p: /environment", "must be an object", ""},
	{"base", "\"environment\": {\"base\": null}", "p: /environment/base", "must be a string",
		""},
	{"inherit", "\"environment\": {\"inherit\": \"A\"}", "p: /environment/inherit",
		"must be an array", ""},
	{"set", "\"environment\": {\"set\": [\"A=1\"]}", "p: /environment/set", "must be an object",
		""},
	{"a variable's value", "\"environment\": {\"set\": {\"A\": 1}}", "p: /environment/set/A",
		"must be a string, not a number", ""},
	{"process", "\"process\": 1", "p: /process", "must be an object", ""},
	{"cwd", "\"process\": {\"cwd\": null}", "p: /process/cwd", "must be a string", ""},
	{"nested_userns", "\"process\": {\"nested_userns\": 1}", "p: /process/nested_userns",
		"must be true or false", ""},
	{"capabilities", "\"process\": {\"capabilities\": \"CAP_KILL\"}",
		"p: /process/capabilities", "must be an array", ""},
	{"stdio", "\"process\": {\"stdio\": true}", "p: /process/stdio", "must be a string", ""},
	{"limits", "\"limits\": []", "p: /limits", "must be an object", ""},
	{"wall", "\"limits\": {\"wall\": null}", "p: /limits/wall", "must be a string, not null",
		""},
	/* Words and ranges. */
	{"root write", FS("\"root\": \"write\""), "p: /filesystem/root",
		"\"deny\" or \"read\", not \"write\"", ""},
	{"an unknown type", FS("\"read\": [{\"path\": \"/a\", \"type\": \"link\"}]"),
		"p: /filesystem/read/0/type", "\"file\" or \"directory\"", ""},
	{"a type of a mount",
		FS("\"mounts\": [{\"at\": \"/a\", \"from\": \"/b\", \"type\": \"file\"}]"),
		"p: /filesystem/mounts/0/type", "unknown key", ""},
	{"a type and another rule for all",
		FS("\"read\": [{\"path\": \"/a\", \"type\": \"file\"}], \"deny\": [\"/a\"]"),
		"p: /filesystem/deny/0", "another rule", "keep one"},
	{"one type twice",
		FS("\"read\": [{\"path\": \"/a\", \"type\": \"file\"}], "
		   "\"deny\": [{\"path\": \"/a\", \"type\": \"file\"}]"),
		"p: /filesystem/deny/0", "another rule", ""},
	{"a worktree to be read", FS("\"read\": [{\"path\": \"./.git\", \"worktree\": true}]"),
		"p: /filesystem/read/0/worktree", "unknown key", ""},
	{"a worktree that is no .git", FS("\"write\": [{\"path\": \"./\", \"worktree\": true}]"),
		"p: /filesystem/write/0", "the .git of one checkout", "./.git"},
	{"worktrees by a pattern", FS("\"write\": [{\"path\": \"./*/.git\", \"worktree\": true}]"),
		"p: /filesystem/write/0", "the .git of one checkout", ""},
	{"a final worktree",
		FS("\"write\": [{\"path\": \"./.git\", \"worktree\": true, \"final\": true}]"),
		"p: /filesystem/write/0", "cannot have \"final\"", ""},
	{"a worktree with a type",
		FS("\"write\": [{\"path\": \"./.git\", \"worktree\": true, \"type\": \"file\"}]"),
		"p: /filesystem/write/0", "cannot have \"type\"", ""},
	{"a worktree that is a word",
		FS("\"write\": [{\"path\": \"./.git\", \"worktree\": \"yes\"}]"),
		"p: /filesystem/write/0/worktree", "must be", ""},
	{"an unknown mask", FS("\"deny\": [{\"path\": \"/a\", \"mask\": \"x\"}]"),
		"p: /filesystem/deny/0/mask", "\"eacces\" or \"empty\"", ""},
	{"a mount's access deny",
		FS("\"mounts\": [{\"at\": \"/a\", \"from\": \"/b\", \"access\": \"deny\"}]"),
		"p: /filesystem/mounts/0/access", "\"read\" or \"write\"", ""},
	{"an unknown proc", FS("\"proc\": \"host\""), "p: /filesystem/proc",
		"\"auto\", \"fresh\", \"bind\" or \"none\"", ""},
	{"an unknown dev", FS("\"dev\": \"host\""), "p: /filesystem/dev", "\"minimal\" or \"none\"",
		""},
	{"an unknown network", "\"network\": \"doors\"", "p: /network", "\"none\" or \"host\"", ""},
	{"an unknown base", "\"environment\": {\"base\": \"all\"}", "p: /environment/base",
		"\"minimal\", \"none\" or \"file\"", ""},
	{"an unknown stdio", "\"process\": {\"stdio\": \"tty\"}", "p: /process/stdio",
		"\"pipe\" or \"direct\"", ""},
	{"an unknown final", "\"final\": [\"network\", \"x\"]", "p: /final/1",
		"\"network\", \"limits\", \"user\", \"verify\", \"propagation\" or \"seccomp\"",
		""},
	{"a user by name", USER("app"), "p: /identity/user", "in numbers, not \"app\"",
		"names are not looked up"},
	{"a group by name", USER("1:app"), "p: /identity/user", "in numbers", ""},
	{"no user", USER(""), "p: /identity/user", "in numbers", ""},
	{"no group", USER("1:"), "p: /identity/user", "in numbers", ""},
	{"a group alone", USER(":1"), "p: /identity/user", "in numbers", ""},
	{"three ids", USER("1:2:3"), "p: /identity/user", "in numbers", ""},
	{"a user below 0", USER("-1"), "p: /identity/user", "in numbers", ""},
	{"a user with a sign", USER("+1"), "p: /identity/user", "in numbers", ""},
	{"a user with a blank", USER(" 1"), "p: /identity/user", "in numbers", ""},
	{"a user that could be octal", USER("010"), "p: /identity/user", "in numbers", ""},
	{"a user that means none", USER("4294967295"), "p: /identity/user", "in numbers",
		"4294967294"},
	{"a group that means none", USER("1:4294967295"), "p: /identity/user", "in numbers", ""},
	{"a user beyond 32 bits", USER("4294967296"), "p: /identity/user", "in numbers", ""},
	{"a user beyond 64 bits", USER("18446744073709551617"), "p: /identity/user", "in numbers",
		""},
	{"a user in other case", USER("Owner"), "p: /identity/user", "in numbers", ""},
	{"an empty name", FS("\"read\": [{\"path\": \"/a\", \"name\": \"\"}]"),
		"p: /filesystem/read/0/name", "empty", ""},
	{"an empty extends", "\"extends\": [\"\"]", "p: /extends/0", "empty", ""},
	{"a size of nothing", FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": \"\"}]"),
		"p: /filesystem/tmpfs/0/size", "no size", "64M"},
	{"size 0", FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": 0}]"), "p: /filesystem/tmpfs/0/size",
		"no size", ""},
	{"size 0M", FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": \"0M\"}]"),
		"p: /filesystem/tmpfs/0/size", "no size", ""},
	{"size -1", FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": -1}]"),
		"p: /filesystem/tmpfs/0/size", "no size", ""},
	{"size 1.5", FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": 1.5}]"),
		"p: /filesystem/tmpfs/0/size", "no size", ""},
	{"size 1e300", FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": 1e300}]"),
		"p: /filesystem/tmpfs/0/size", "no size", ""},
	{"size 1X", FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": \"1X\"}]"),
		"p: /filesystem/tmpfs/0/size", "no size", ""},
	{"size with a blank", FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": \" 1M\"}]"),
		"p: /filesystem/tmpfs/0/size", "no size", ""},
	{"size -1M", FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": \"-1M\"}]"),
		"p: /filesystem/tmpfs/0/size", "no size", ""},
	{"a size of 64 bits and more",
		FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": \"99999999999999999999\"}]"),
		"p: /filesystem/tmpfs/0/size", "no size", ""},
	{"a size that overflows by its unit",
		FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": \"18014398509481985K\"}]"),
		"p: /filesystem/tmpfs/0/size", "no size", ""},
	{"wall 0", "\"limits\": {\"wall\": 0}", "p: /limits/wall", "no duration", "120s"},
	{"wall 0s", "\"limits\": {\"wall\": \"0s\"}", "p: /limits/wall", "no duration", ""},
	{"wall negative", "\"limits\": {\"wall\": -1}", "p: /limits/wall", "no duration", ""},
	{"wall below a millisecond", "\"limits\": {\"wall\": 0.0001}", "p: /limits/wall",
		"no duration", ""},
	{"wall too long", "\"limits\": {\"wall\": \"2147483648s\"}", "p: /limits/wall",
		"no duration", ""},
	{"wall too large a number", "\"limits\": {\"wall\": 1e10}", "p: /limits/wall",
		"no duration", ""},
	{"wall in days", "\"limits\": {\"wall\": \"1d\"}", "p: /limits/wall", "no duration", ""},
	{"wall 1.5s", "\"limits\": {\"wall\": \"1.5s\"}", "p: /limits/wall", "no duration", ""},
	{"an empty host name", "\"identity\": {\"hostname\": \"\"}", "p: /identity/hostname",
		"no host name", ""},
	{"a host name with _", "\"identity\": {\"hostname\": \"a_b\"}", "p: /identity/hostname",
		"no host name", ""},
	{"a host name that begins with -", "\"identity\": {\"hostname\": \"-a\"}",
		"p: /identity/hostname", "no host name", ""},
	{"a host name that ends with a dot", "\"identity\": {\"hostname\": \"a.\"}",
		"p: /identity/hostname", "no host name", ""},
	{"a host name that is too long",
		"\"identity\": {\"hostname\": \"a12345678901234567890123456789012."
		"12345678901234567890123456789012\"}",
		"p: /identity/hostname", "no host name", "64"},
	{"an empty pattern", "\"environment\": {\"inherit\": [\"\"]}", "p: /environment/inherit/0",
		"empty", ""},
	{"a pattern of all", "\"environment\": {\"inherit\": [\"*\"]}", "p: /environment/inherit/0",
		"names no variable", "LC_*"},
	{"a star inside", "\"environment\": {\"inherit\": [\"A*B\"]}", "p: /environment/inherit/0",
		"names no variable", ""},
	{"two stars", "\"environment\": {\"inherit\": [\"A**\"]}", "p: /environment/inherit/0",
		"names no variable", ""},
	{"inherit with a value", "\"environment\": {\"inherit\": [\"A=1\"]}",
		"p: /environment/inherit/0", "names no variable", ""},
	{"a variable with =", "\"environment\": {\"set\": {\"A=B\": \"\"}}",
		"p: /environment/set/A=B", "no name of a variable", ""},
	{"a variable with a digit first", "\"environment\": {\"set\": {\"1A\": \"\"}}",
		"p: /environment/set/1A", "no name of a variable", ""},
	{"scratch that is a path", "\"scratch\": \"/s\"", "p: /scratch", "must be an object", ""},
	{"scratch without a place", "\"scratch\": {\"size\": \"1G\"}", "p: /scratch",
		"\"at\" is missing", ""},
	{"scratch without a limit", "\"scratch\": {\"at\": \"/s\", \"size\": 0}",
		"p: /scratch/size", "no size", ""},
	{"scratch at the root", "\"scratch\": {\"at\": \"/\"}", "p: /scratch", "no rule can stand",
		""},
	{"scratch that is shared", "\"scratch\": {\"at\": \"/s\", \"access\": \"read\"}",
		"p: /scratch/access", "unknown key", ""},
	{"scratch and a tmpfs",
		"\"scratch\": {\"at\": \"/s\"}, " FS("\"tmpfs\": [{\"at\": \"/s\"}]"),
		"p: /filesystem/tmpfs/0", "(p: /scratch)", ""},
	{"image that is a name", "\"image\": \"x\"", "p: /image", "must be an object", ""},
	{"an image's build that is a number", "\"image\": {\"build\": 1}", "p: /image/build",
		"must be a string", ""},
	{"an empty base", "\"image\": {\"base\": \"\"}", "p: /image/base", "is empty", ""},
	{"an unknown name of an image", "\"image\": {\"bulid\": \"x\"}", "p: /image/bulid",
		"unknown key", "\"build\""},
	{"secrets that are no list", "\"environment\": {\"secrets\": \"T\"}",
		"p: /environment/secrets", "must be an array", ""},
	{"a secret that is a pattern", "\"environment\": {\"secrets\": [\"T*\"]}",
		"p: /environment/secrets/0", "no name of a variable", ""},
	{"PATH as a secret", "\"environment\": {\"secrets\": [\"A\", \"PATH\"]}",
		"p: /environment/secrets/1", "PATH cannot be a secret", "inherit"},
	{"a secret that is set",
		"\"environment\": {\"secrets\": [\"A\", \"T\"], \"set\": {\"T\": \"v4lue\"}}",
		"p: /environment/secrets/1", "T is a secret, and \"set\" (--env) changes it", ""},
	{"a secret that is prepended to",
		"\"environment\": {\"secrets\": [\"T\"], \"prepend\": {\"T\": [\"/a\"]}}",
		"p: /environment/secrets/0", "T is a secret, and \"prepend\" changes it", ""},
	{"prepend that is no object", "\"environment\": {\"prepend\": [\"/a\"]}",
		"p: /environment/prepend", "must be an object", ""},
	{"prepend to no variable", "\"environment\": {\"prepend\": {\"A-B\": [\"/a\"]}}",
		"p: /environment/prepend/A-B", "no name of a variable", ""},
	{"a colon in prepend", "\"environment\": {\"prepend\": {\"A\": [\"/a\", \"/b:/c\"]}}",
		"p: /environment/prepend/A/1", "has a colon", ""},
	{"a relative path in prepend", "\"environment\": {\"prepend\": {\"A\": [\"a\"]}}",
		"p: /environment/prepend/A/0", "no path", ""},
	{"a base file without a name", "\"environment\": {\"base\": \"file\"}", "p: /environment",
		"\"file\" names none", "\"base\": \"file\""},
	{"a file without the base", "\"environment\": {\"file\": \"/e\"}", "p: /environment",
		"without \"base\"", "\"base\": \"file\""},
	{"a file with another base", "\"environment\": {\"base\": \"none\", \"file\": \"/e\"}",
		"p: /environment", "without \"base\"", ""},
	{"a file in the working directory",
		"\"environment\": {\"base\": \"file\", \"file\": \"./e\"}", "p: /environment/file",
		"where the command is started", "@policy"},
	{"a file that is not there",
		"\"environment\": {\"base\": \"file\", \"file\": \"/nonexistent/e\"}",
		"p: /environment/file", "cannot read /nonexistent/e: No such file", ""},
	{"an empty variable", "\"environment\": {\"set\": {\"\": \"\"}}", "p: /environment/set/",
		"no name of a variable", ""},
	{"a capability in small letters", "\"process\": {\"capabilities\": [\"cap_kill\"]}",
		"p: /process/capabilities/0", "no capability", ""},
	{"a mistyped capability", "\"process\": {\"capabilities\": [\"CAP_KILL\", \"CAP_NETRAW\"]}",
		"p: /process/capabilities/1", "\"CAP_NETRAW\" is no capability", "CAP_NET_RAW"},
	{"capabilities and nested_userns",
		"\"process\": {\"capabilities\": [\"CAP_KILL\"], \"nested_userns\": true}",
		"p: /process/nested_userns", "p: /process/capabilities", ""},
	/* Paths. */
	{"an empty path", FS("\"read\": [\"\"]"), "p: /filesystem/read/0", "empty", ""},
	{"a pattern as at", FS("\"tmpfs\": [{\"at\": \"/a*\"}]"), "p: /filesystem/tmpfs/0/at",
		"\"/a*\" is a pattern", "backslash before each: /a\\* (in JSON"},
	{"a pattern as from", FS("\"mounts\": [{\"at\": \"/a\", \"from\": \"./?\"}]"),
		"p: /filesystem/mounts/0/from", "is a pattern", "./\\?"},
	{"a pattern as a device", FS("\"devices\": [\"/dev/dri/*\"]"), "p: /filesystem/devices/0",
		"is a pattern", ""},
	{"a pattern as a file", FS("\"files\": [{\"at\": \"/[a]\", \"text\": \"\"}]"),
		"p: /filesystem/files/0/at", "is a pattern", "/\\[a\\]"},
	{"a pattern as cwd", "\"process\": {\"cwd\": \"/a*\"}", "p: /process/cwd", "is a pattern",
		""},
	{"a pattern in grants",
		FS("\"deny\": [{\"path\": \"/a\", \"final\": true, \"grants\": [\"/a/*\"]}]"),
		"p: /filesystem/deny/0/grants/0", "is a pattern", ""},
	{"a pattern with grants",
		FS("\"deny\": [{\"path\": \"/a/*\", \"final\": true, \"grants\": [\"/a/b\"]}]"),
		"p: /filesystem/deny/0/grants", "a pattern cannot have \"grants\"", "one by one"},
	{"a pattern in extends", "\"extends\": [\"/a/*.json\"]", "p: /extends/0", "is a pattern",
		""},
	{"a pattern with two dots", FS("\"deny\": [\"/a/../*\"]"), "p: /filesystem/deny/0",
		"pattern with \"..\"", "without"},
	{"two dots with a backslash", FS("\"deny\": [\"/a/\\\\../*\"]"), "p: /filesystem/deny/0",
		"pattern with \"..\"", ""},
	{"a backslash at the end", FS("\"deny\": [\"/a\\\\\"]"), "p: /filesystem/deny/0",
		"ends in a backslash", "write two"},
	{"a backslash before a slash", FS("\"read\": [\"/a\\\\/b*\"]"), "p: /filesystem/read/0",
		"ends in a backslash", ""},
	{"a pattern in /proc", FS("\"deny\": [\"/proc/*/environ\"]"), "p: /filesystem/deny/0",
		"/proc is always the sandbox's own", ""},
	{"a pattern in /dev", FS("\"deny\": [\"/dev/s*\"]"), "p: /filesystem/deny/0",
		"/dev is always the sandbox's own", ""},
	{"one pattern, two kinds of access", FS("\"read\": [\"/a*\"], \"deny\": [\"/a*\"]"),
		"p: /filesystem/deny/0", "/a* has another rule in the same policy", ""},
	{"a relative path", FS("\"read\": [\"foo\"]"), "p: /filesystem/read/0",
		"\"foo\" is no path", "\"./foo\""},
	{"..", FS("\"read\": [\"../x\"]"), "p: /filesystem/read/0", "no path", "\"./../x\""},
	{"a hidden file", FS("\"read\": [\".ssh\"]"), "p: /filesystem/read/0", "no path",
		"\"./.ssh\""},
	{"another user's home", FS("\"read\": [\"~joe/x\"]"), "p: /filesystem/read/0", "no path",
		"/home/joe/x"},
	{"@ and something else", FS("\"read\": [\"@home/x\"]"), "p: /filesystem/read/0", "no path",
		"@policy/"},
	{"@policy alone", FS("\"read\": [\"@policy\"]"), "p: /filesystem/read/0", "no path", ""},
	{"$HOME", FS("\"read\": [\"$HOME/x\"]"), "p: /filesystem/read/0", "no path", ""},
	{"a relative at", FS("\"tmpfs\": [{\"at\": \"x\"}]"), "p: /filesystem/tmpfs/0/at",
		"no path", "./x"},
	{"a relative from", FS("\"mounts\": [{\"at\": \"/a\", \"from\": \"x\"}]"),
		"p: /filesystem/mounts/0/from", "no path", "./x"},
	{"a relative cwd", "\"process\": {\"cwd\": \"x\"}", "p: /process/cwd", "no path", "./x"},
	{"a relative grant",
		FS("\"deny\": [{\"path\": \"/a\", \"final\": true, \"grants\": [\"b\"]}]"),
		"p: /filesystem/deny/0/grants/0", "no path", "./b"},
	{"\"/\" readable", FS("\"read\": [\"/\"]"), "p: /filesystem/read/0",
		"no rule can stand at \"/\"", "root"},
	{"\"/\" denied by ..", FS("\"deny\": [\"/a/..\"]"), "p: /filesystem/deny/0",
		"no rule can stand", ""},
	{"a mount at /", FS("\"mounts\": [{\"at\": \"/\", \"from\": \"/a\"}]"),
		"p: /filesystem/mounts/0", "no rule can stand", ""},
	{"a tmpfs at /", FS("\"tmpfs\": [{\"at\": \"/\"}]"), "p: /filesystem/tmpfs/0",
		"no rule can stand", ""},
	{"a rule without path", FS("\"read\": [{\"optional\": true}]"), "p: /filesystem/read/0",
		"\"path\" is missing", ""},
	{"a mount without at", FS("\"mounts\": [{\"from\": \"/a\"}]"), "p: /filesystem/mounts/0",
		"\"at\" is missing", ""},
	{"a mount without from", FS("\"mounts\": [{\"at\": \"/a\"}]"), "p: /filesystem/mounts/0",
		"\"from\" is missing", ""},
	{"a tmpfs without at", FS("\"tmpfs\": [{}]"), "p: /filesystem/tmpfs/0", "\"at\" is missing",
		""},
	{"a file without text", FS("\"files\": [{\"at\": \"/a\"}]"), "p: /filesystem/files/0",
		"\"text\" is missing", ""},
	{"a file without at", FS("\"files\": [{\"text\": \"\"}]"), "p: /filesystem/files/0",
		"\"at\" is missing", ""},
	{"a device without path", FS("\"devices\": [{}]"), "p: /filesystem/devices/0",
		"\"path\" is missing", ""},
	/* The sandbox's own places. */
	{"/tmp readable", FS("\"read\": [\"/tmp\"]"), "p: /filesystem/read/0", "/tmp is always",
		"mounts"},
	{"/tmp denied", FS("\"deny\": [\"/tmp/\"]"), "p: /filesystem/deny/0", "/tmp is always", ""},
	{"/proc readable", FS("\"read\": [\"/proc\"]"), "p: /filesystem/read/0", "/proc is always",
		"proc"},
	{"below /proc writable", FS("\"write\": [\"/proc/sys\"]"), "p: /filesystem/write/0",
		"/proc is always", ""},
	{"/proc denied", FS("\"deny\": [\"/proc\"]"), "p: /filesystem/deny/0", "/proc is always",
		"proc"},
	{"/dev denied", FS("\"deny\": [\"/dev\"]"), "p: /filesystem/deny/0", "/dev is always",
		"none"},
	{"below /dev readable", FS("\"read\": [\"/dev/kvm\"]"), "p: /filesystem/read/0",
		"/dev is always", "devices"},
	{"a mount at /proc", FS("\"mounts\": [{\"at\": \"/proc\", \"from\": \"/a\"}]"),
		"p: /filesystem/mounts/0", "/proc is always", ""},
	{"a tmpfs at /dev", FS("\"tmpfs\": [{\"at\": \"/dev\"}]"), "p: /filesystem/tmpfs/0",
		"/dev is always", ""},
	{"a file at /dev", FS("\"files\": [{\"at\": \"/dev\", \"text\": \"\"}]"),
		"p: /filesystem/files/0", "/dev is always", ""},
	{"a device in /proc", FS("\"devices\": [\"/proc/x\"]"), "p: /filesystem/devices/0",
		"/proc is always", ""},
	{"the device /dev", FS("\"devices\": [\"/dev\"]"), "p: /filesystem/devices/0",
		"/dev is always", ""},
	{"the host's /proc at another place",
		FS("\"mounts\": [{\"at\": \"/p\", \"from\": \"/proc\"}]"),
		"p: /filesystem/mounts/0", "host's /proc", ""},
	/* Grants. */
	{"grants without final", FS("\"deny\": [{\"path\": \"/a\", \"grants\": [\"/a/b\"]}]"),
		"p: /filesystem/deny/0/grants", "without \"final\"", ""},
	{"a grant elsewhere",
		FS("\"deny\": [{\"path\": \"/a\", \"final\": true, \"grants\": [\"/a/b\", "
		   "\"/ab\"]}]"),
		"p: /filesystem/deny/0/grants/1", "/ab is not below the rule's own /a", ""},
	/* Contradictions in one layer name both places. */
	{"readable and writable", FS("\"read\": [\"/a\"], \"write\": [\"/b\", \"/a\"]"),
		"p: /filesystem/write/1",
		"/a has another rule in the same policy (p: /filesystem/read/0)", ""},
	{"by two spellings", FS("\"deny\": [\"~/x\"], \"read\": [\"/home/u/./x\"]"),
		"p: /filesystem/read/0", "(p: /filesystem/deny/0)", ""},
	{"two masks", FS("\"deny\": [\"/a\", {\"path\": \"/a\", \"mask\": \"empty\"}]"),
		"p: /filesystem/deny/1", "(p: /filesystem/deny/0)", ""},
	{"optional and not", FS("\"read\": [\"/a\", {\"path\": \"/a\", \"optional\": true}]"),
		"p: /filesystem/read/1", "(p: /filesystem/read/0)", ""},
	{"follow and not",
		FS("\"mounts\": [{\"at\": \"/a\", \"from\": \"/b\", \"follow\": true}, "
		   "{\"at\": \"/a\", \"from\": \"/b\"}]"),
		"p: /filesystem/mounts/1", "(p: /filesystem/mounts/0)", ""},
	{"two names",
		FS("\"deny\": [{\"path\": \"/a\", \"name\": \"x\"}, {\"path\": \"/a\", \"name\": "
		   "\"y\"}]"),
		"p: /filesystem/deny/1", "(p: /filesystem/deny/0)", ""},
	{"two grants",
		FS("\"deny\": [{\"path\": \"/a\", \"final\": true, \"grants\": [\"/a/b\"]},"
		   "{\"path\": \"/a\", \"final\": true, \"grants\": [\"/a/c\"]}]"),
		"p: /filesystem/deny/1", "(p: /filesystem/deny/0)", ""},
	{"two mounts",
		FS("\"mounts\": [{\"at\": \"/a\", \"from\": \"/x\"}, {\"at\": \"/a\", \"from\": "
		   "\"/y\"}]"),
		"p: /filesystem/mounts/1", "(p: /filesystem/mounts/0)", ""},
	{"a mount and a tmpfs",
		FS("\"mounts\": [{\"at\": \"/a\", \"from\": \"/x\"}], \"tmpfs\": [{\"at\": "
		   "\"/a\"}]"),
		"p: /filesystem/tmpfs/0", "(p: /filesystem/mounts/0)", ""},
	{"a mount and a path",
		FS("\"read\": [\"/a\"], \"mounts\": [{\"at\": \"/a\", \"from\": \"/x\"}]"),
		"p: /filesystem/mounts/0", "(p: /filesystem/read/0)", ""},
	{"two texts",
		FS("\"files\": [{\"at\": \"/a\", \"text\": \"x\"}, {\"at\": \"/a\", \"text\": "
		   "\"y\"}]"),
		"p: /filesystem/files/1", "(p: /filesystem/files/0)", ""},
	{"two sizes",
		FS("\"tmpfs\": [{\"at\": \"/a\", \"size\": 1}, {\"at\": \"/a\", \"size\": 2}]"),
		"p: /filesystem/tmpfs/1", "(p: /filesystem/tmpfs/0)", ""},
	{"a device and a path", FS("\"deny\": [\"/dev/kvm\"], \"devices\": [\"/dev/kvm\"]"),
		"p: /filesystem/devices/0", "(p: /filesystem/deny/0)", ""},
	/* References. */
	{"an unknown policy", "\"extends\": [\"defualt\"]", "p: /extends/0",
		"no policy named \"defualt\"", "did you mean \"default\""},
	{"a policy unlike any", "\"extends\": [\"xyzzy\"]", "p: /extends/0", "no policy named",
		"agent-container, default, query-script, strict, workspace"},
	{"a policy with a bad name", "\"extends\": [\"..\"]", "p: /extends/0", "no policy named",
		""},
	{"./ in extends", "\"extends\": [\"./x.json\"]", "p: /extends/0",
		"where the command is started", "\"@policy/x.json\""},
	{"a relative file in extends", "\"extends\": [\"a/x.json\"]", "p: /extends/0", "no path",
		""},
	{"a missing file", "\"extends\": [\"/nonexistent/x.json\"]", "p: /extends/0",
		"cannot read the policy /nonexistent/x.json: No such file", ""},
	{"@policy where there is none", "\"extends\": [\"@policy/x.json\"]", "p: /extends/0",
		"means nothing", ""},
	{"off of a name that nobody has", "\"extends\": [\"default\"], \"off\": [\"sssh\"]",
		"p: /off/0", "no earlier layer has a rule named \"sssh\"", "did you mean \"ssh\""},
	{"off of one's own rule",
		"\"off\": [\"x\"], " FS("\"read\": [{\"path\": \"/a\", \"name\": \"x\"}]"),
		"p: /off/0", "no earlier layer", ""},
	{"off of a final rule", "\"extends\": [\"@D/final.json\"], \"off\": [\"f\"]", "p: /off/0",
		"final.json: /filesystem/deny/0", ""},
	{"a name that no file can have", FS("\"deny\": [\"/a\", \"/b/" LONG_NAME "/c\"]"),
		"p: /filesystem/deny/1", "longer than 255 bytes", ""},
	{"a place that no file can have",
		FS("\"tmpfs\": [{\"at\": \"/m/" LONG_NAME "/../" LONG_NAME "\"}]"),
		"p: /filesystem/tmpfs/0/at", "longer than 255 bytes", ""},
	/* sbx's own files. */
	{"own configuration", FS("\"write\": [\"~/.config/sbx/policies\"]"),
		"p: /filesystem/write/0", "/home/u/.config/sbx", "read"},
	{"own configuration of the machine",
		FS("\"mounts\": [{\"at\": \"/x\", \"from\": \"/etc/sbx\","
		   "\"access\": \"write\"}]"),
		"p: /filesystem/mounts/0", "/etc/sbx", ""},
	{"own state", FS("\"write\": [\"~/.local/state/sbx\"]"), "p: /filesystem/write/0", "state",
		""},
	{"own cache", FS("\"write\": [\"~/.cache/sbx\"]"), "p: /filesystem/write/0",
		"/home/u/.cache/sbx", ""},
};

/* A folder with the policies that later layers are tested against. */
static char folder[] = "/tmp/sbx-test-policy-XXXXXX";

static char *write_file(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", folder, name);
	FILE *f = fopen(path, "w");

	if (!f) {
		perror(path);
		exit(1);
	}
	fputs(text, f);
	fclose(f);
	return path;
}

static void write_policy(const char *name, const char *body)
{
	CLEANUP_FREE char *text = xasprintf("{\"sbx\": 1, %s}", body);

	free(write_file(name, text));
}

/* body with each "@D" replaced by the folder. */
static char *in_folder(const char *body)
{
	const char *mark = strstr(body, "@D");

	if (!mark)
		return xstrdup(body);
	return xasprintf("%.*s%s%s", (int)(mark - body), body, folder, mark + 2);
}

static void check_bad(const char *what, const char *body, const char *dir, const char *at,
	const char *message, const char *hint)
{
	CLEANUP_FREE char *full = in_folder(body);
	CLEANUP_FREE char *text = xasprintf("{\"sbx\": 1, %s}", full);
	struct policy policy;
	struct err err = {0};

	if (!ok(policy_load_text(&policy, text, strlen(text), "p", dir, &context, &err) < 0,
		    "%s: refused", what)) {
		policy_clear(&policy);
		return;
	}
	is_int(err.kind, ERR_POLICY, "%s: kind", what);
	is_str(err.at, at, "%s: place", what);
	if (!ok(strstr(err.message, message) && strstr(err.hint, hint), "%s: message", what))
		diag("%s (%s)", err.message, err.hint);
	ok(policy.n_rules == 0, "%s: nothing is left of it", what);
}

static void test_bad(void)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		check_bad(bad[i].what, bad[i].body, NULL, bad[i].at, bad[i].message, bad[i].hint);
}

static void test_version(void)
{
	static const struct {
		const char *text, *at, *message;
	} rows[] = {
		{"{}", "p", "\"sbx\" is missing"},
		{"[]", "p", "must be an object, not an array"},
		{"\"x\"", "p", "must be an object, not a string"},
		{"{\"sbx\": 2}", "p: /sbx", "version 1"},
		{"{\"sbx\": 1.5}", "p: /sbx", "version 1"},
		{"{\"sbx\": \"1\"}", "p: /sbx", "must be a number, not a string"},
		{"{\"sbx\": 1,}", "p: line 1, column 11", "not valid JSON"},
		{"{\"sbx\": 1, \"off\": [], \"off\": []}", "p: /off", "twice"},
		{"", "p: line 1, column 1", "too early"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct policy policy;
		struct err err = {0};

		ok(policy_load_text(&policy, rows[i].text, strlen(rows[i].text), "p", NULL,
			   &context, &err) < 0,
			"refused: %s", rows[i].text);
		is_str(err.at, rows[i].at, "place: %s", rows[i].text);
		ok(strstr(err.message, rows[i].message) != NULL, "message: %s", rows[i].text);
	}
}

/* What the context does not know. */
static void test_unknown_context(void)
{
	static const char home[] = "{\"sbx\": 1, \"filesystem\": {\"read\": [\"~/x\"]}}";
	static const char cwd[] = "{\"sbx\": 1, \"filesystem\": {\"read\": [\"./x\"]}}";
	const struct policy_context nothing = {0};
	struct policy policy;
	struct err err = {0};

	ok(policy_load_text(&policy, home, strlen(home), "p", NULL, &nothing, &err) < 0 &&
			strstr(err.message, "home directory is not known") &&
			strstr(err.hint, "HOME"),
		"no home");
	ok(policy_load_text(&policy, cwd, strlen(cwd), "p", NULL, &nothing, &err) < 0 &&
			strstr(err.message, "working directory is not known"),
		"no working directory");
}

static void test_too_many(void)
{
	CLEANUP_FREE char *text = xcalloc(5000, 20);
	size_t len = (size_t)sprintf(text, "\"filesystem\": {\"read\": [");
	CLEANUP_FREE char *got = NULL;

	for (int i = 0; i < 4097; i++)
		len += (size_t)sprintf(text + len, "%s\"/a/%d\"", i ? "," : "", i);
	strcpy(text + len, "]}");
	got = load_body(text, NULL, false);
	is_str(got, "p: /filesystem/read/4096: more than 4096 rules", "a limit on rules");
}

/* Layers */

/* Every "@D" replaced. */
static char *all_in_folder(const char *text)
{
	char *done = xstrdup(text);

	while (strstr(done, "@D")) {
		char *next = in_folder(done);

		free(done);
		done = next;
	}
	return done;
}

static void write_policies(void)
{
	write_policy("base.json",
		"\"description\": \"base\", \"network\": \"host\", "
		"\"environment\": {\"inherit\": [\"A\"], \"set\": {\"X\": \"1\", \"Y\": \"1\"}, "
		"\"secrets\": [\"S\"], \"prepend\": {\"L\": [\"/b1\", \"/b2\"]}}, "
		"\"process\": {\"cwd\": \"/b\", \"capabilities\": [\"CAP_KILL\"]}, \"limits\": "
		"{\"wall\": 60}, " FS("\"root\": \"read\", \"read\": [\"/a\", {\"path\": \"/n1\", "
				      "\"name\": \"n\"}], "
				      "\"deny\": [\"/d\", {\"path\": \"/n2\", \"name\": \"n\"}], "
				      "\"mounts\": [{\"at\": \"/m\", \"from\": \"/x\"}]"));
	write_policy("final.json",
		"\"final\": [\"network\", \"limits\"], \"limits\": {\"wall\": 60}, " FS(
			"\"deny\": [{\"path\": \"/state\", \"final\": true, \"name\": \"f\", "
			"\"grants\": [\"/state/s\"]}], "
			"\"read\": [{\"path\": \"/r\", \"final\": true}]"));
	write_policy("patterns.json", FS("\"read\": [{\"path\": \"/p*\", \"name\": \"p\"}, "
					 "{\"path\": \"/f*\", \"final\": true}], "
					 "\"deny\": [{\"path\": \"/q*\", \"name\": \"p\"}]"));
	write_policy("[a]*.json", FS("\"read\": [\"/x*\"]"));
	write_policy("scratch.json", "\"scratch\": {\"at\": \"/s\", \"size\": 1, \"name\": \"n\"}");
	write_policy("image.json", "\"image\": {\"build\": \"1\", \"base\": \"2\"}");
	write_policy("user.json", USER("7:8"));
	write_policy("final-user.json", "\"final\": [\"user\"], " USER("7:8"));
	write_policy("final-caller.json", "\"final\": [\"user\"]");
	write_policy("final-mounts.json",
		"\"final\": [\"verify\", \"propagation\"], " FS("\"verify\": true"));
	write_policy("free-mounts.json", FS("\"verify\": true, \"propagation\": \"slave\""));
	write_policy("seccomp.json", "\"seccomp\": {\"profile\": \"strict\", \"violation\": "
				     "\"kill\", \"allow\": [\"mount\"], \"deny\": [\"ptrace\"]}");
	write_policy("final-seccomp.json",
		"\"final\": [\"seccomp\"], \"seccomp\": {\"profile\": \"strict\", \"violation\": "
		"\"kill\", \"allow\": [\"mount\"], \"deny\": [\"ptrace\"]}");
	write_policy("open.json", "\"final\": [\"network\", \"limits\"]");
	write_policy("limits.json",
		LIMITS("\"cpu\": 10, \"memory\": \"64M\", \"processes\": 50, \"output\": "
		       "{\"bytes\": 100, \"then\": \"kill\"}, \"file_size\": 1000, "
		       "\"open_files\": 30, \"core\": 10"));
	write_policy("final-limits.json",
		"\"extends\": [\"@policy/limits.json\"], \"final\": [\"limits\"], "
		"\"cgroup\": {\"manage\": true}, \"require\": [\"memory\"]");
	write_policy("requires.json", "\"require\": [\"network\"]");
	write_policy("holes.json",
		FS("\"write\": [\"/d/open\", \"/e\"], \"deny\": [\"/d\", \"/e/closed\"]"));
	write_policy("self.json", "\"extends\": [\"@policy/self.json\"]");
	write_policy("c1.json", "\"extends\": [\"@policy/c2.json\"]");
	write_policy("c2.json", "\"extends\": [\"@policy/c3.json\"]");
	write_policy("c3.json", "\"extends\": [\"@policy/c1.json\"]");
	write_policy(
		"left.json", "\"extends\": [\"@policy/base.json\"], " FS("\"read\": [\"/d\"]"));
	write_policy(
		"right.json", "\"extends\": [\"@policy/base.json\"], " FS("\"read\": [\"/e\"]"));
	write_policy("broken.json", FS("\"read\": [1]"));
	for (int i = 0; i < 18; i++) {
		CLEANUP_FREE char *name = xasprintf("deep%d.json", i);
		CLEANUP_FREE char *body =
			xasprintf("\"extends\": [\"@policy/deep%d.json\"]", i + 1);

		write_policy(name, i == 17 ? "\"off\": []" : body);
	}
}

#define BASE "\"extends\": [\"@policy/base.json\"]"
#define PATTERNS "\"extends\": [\"@policy/patterns.json\"]"
#define BASE_SETTINGS                                                                              \
	"inherit A\nset X=1\nset Y=1\nsecret S\nL /b1\nL /b2\ncwd /b\ncap CAP_KILL\nwall 60000\n"

#define STRICTER "\"extends\": [\"@policy/seccomp.json\"]"
#define FINAL_SECCOMP "\"extends\": [\"@policy/final-seccomp.json\"]"

static const struct good layered[] = {
	{"a base alone", BASE,
		"root read path=/\npath read path=/a\npath read path=/n1 name=n\npath deny "
		"path=/d\n"
		"path deny path=/n2 name=n\nmount read at=/m path=/x\nnetwork "
		"host\n" BASE_SETTINGS},
	{"a later layer wins at the same place",
		BASE ", \"network\": \"none\", " FS(
			"\"root\": \"deny\", \"write\": [\"/a\"], \"read\": [\"/d\"], "
			"\"tmpfs\": [{\"at\": \"/m\"}], \"mounts\": [{\"at\": \"/n1\", \"from\": "
			"\"/y\"}]"),
		"path deny path=/n2 name=n\nroot deny path=/\npath write path=/a\npath read "
		"path=/d\n"
		"tmpfs write at=/m\nmount read at=/n1 path=/y\n" BASE_SETTINGS},
	{"a path replaces a mount", BASE ", \"off\": [\"n\"], " FS("\"read\": [\"/m\"]"),
		"root read path=/\npath read path=/a\npath deny path=/d\npath read "
		"path=/m\nnetwork host\n" BASE_SETTINGS},
	{"a mount leaves the denied object denied",
		BASE ", \"off\": [\"n\"], " FS("\"mounts\": [{\"at\": \"/d\", \"from\": \"/y\"}]"),
		"root read path=/\npath read path=/a\npath deny path=/d\nmount read at=/m path=/x\n"
		"mount read at=/d path=/y\nnetwork host\n" BASE_SETTINGS},
	{"lists append, settings are replaced",
		BASE ", \"off\": [\"n\"], \"environment\": {\"inherit\": [\"B\"],"
		     "\"set\": {\"X\": \"2\", \"Z\": \"3\"}, \"secrets\": [\"S\"],"
		     "\"prepend\": {\"L\": [\"/n\", \"/b2\"]}}, \"process\": {\"cwd\": \"/c\","
		     "\"capabilities\": [\"CAP_CHOWN\", \"CAP_KILL\"]}, \"limits\": {\"wall\": 90}",
		"root read path=/\npath read path=/a\npath deny path=/d\nmount read at=/m path=/x\n"
		"network host\ninherit A\ninherit B\nset X=2\nset Y=1\nset Z=3\nsecret S\n"
		"L /n\nL /b2\nL /b1\ncwd /c\ncap "
		"CAP_KILL\n"
		"cap CAP_CHOWN\nwall 90000\n"},
	{"a policy reached twice is there once, first",
		"\"extends\": [\"@policy/left.json\", \"@policy/right.json\"], \"off\": [\"n\"]",
		"root read path=/\npath read path=/a\nmount read at=/m path=/x\npath read path=/d\n"
		"path read path=/e\nnetwork host\n" BASE_SETTINGS},
	{"verifying that is not final is taken back, and mounts are private again",
		"\"extends\": [\"@policy/free-mounts.json\"], " FS(
			"\"verify\": false, \"propagation\": \"private\""),
		""},
	{"nobody who says nothing changes it", "\"extends\": [\"@policy/free-mounts.json\"]",
		"verify\nslave\n"},
	{"what final ones allow",
		"\"extends\": [\"@policy/final-mounts.json\"], " FS(
			"\"verify\": true, \"propagation\": \"private\""),
		"verify\n"},
	{"a final rule and what it allows",
		"\"extends\": [\"@policy/final.json\"], \"limits\": {\"wall\": 30}, "
		"\"network\": \"none\", " FS("\"write\": [\"/state/s/1\"], \"deny\": [\"/r/x\", "
					     "\"/state/y\"], \"read\": [\"/r/z\"], "
					     "\"mounts\": [{\"at\": \"/w\", \"from\": "
					     "\"/state/s\", \"access\": \"write\"}, "
					     "{\"at\": \"/v\", \"from\": \"/statex\"}, {\"at\": "
					     "\"/all\", \"from\": \"/\"}]"),
		"path deny path=/state name=f final grant=/state/s\npath read path=/r final\n"
		"path write path=/state/s/1\npath deny path=/r/x\npath deny path=/state/y\npath "
		"read path=/r/z\n"
		"mount write at=/w path=/state/s\nmount read at=/v path=/statex\nmount read "
		"at=/all path=/\n"
		"wall 30000\n"},
	{"a final rule said again stays",
		"\"extends\": [\"@policy/final.json\"], " FS(
			"\"deny\": [{\"path\": \"/state\", \"mask\": \"empty\"}], "
			"\"read\": [{\"path\": \"/r\", \"optional\": true}]"),
		"path deny path=/state name=f final grant=/state/s\npath read path=/r final\nwall "
		"60000\n"},
	{"a final rule lowered stays final",
		"\"extends\": [\"@policy/final.json\"], " FS("\"deny\": [\"/r\"]"),
		"path deny path=/state name=f final grant=/state/s\npath deny path=/r final\nwall "
		"60000\n"},
	{"a rule for one type leaves the earlier one standing",
		PATTERNS ", \"off\": [\"p\"], " FS(
			"\"read\": [{\"path\": \"/f*\", \"type\": \"file\"}], "
			"\"deny\": [{\"path\": \"/f*\", \"type\": \"directory\"}]"),
		"path read path=/f* final pattern\npath read path=/f* file pattern\n"
		"path deny path=/f* directory pattern\n"},
	{"a later layer wins with the same pattern",
		PATTERNS ", " FS("\"write\": [\"/p*\"], \"deny\": [\"/pq\"]"),
		"path read path=/f* final pattern\npath deny path=/q* name=p pattern\n"
		"path write path=/p* pattern\npath deny path=/pq\n"},
	{"patterns can be dropped", PATTERNS ", \"off\": [\"p\"]",
		"path read path=/f* final pattern\n"},
	{"what a final pattern matches is not known yet",
		PATTERNS ", \"off\": [\"p\"], " FS("\"write\": [\"/fa\", \"/fb/*\"]"),
		"path read path=/f* final pattern\npath write path=/fa\npath write path=/fb/* "
		"pattern\n"},
	{"a final pattern lowered stays final",
		PATTERNS ", \"off\": [\"p\"], " FS("\"deny\": [\"/f*\"]"),
		"path deny path=/f* final pattern\n"},
	{"a file whose name is escaped", "\"extends\": [\"@policy/\\\\[a]\\\\*.json\"]",
		"path read path=/x* pattern\n"},
	{"a worktree in what a final rule closes opens nothing yet",
		"\"extends\": [\"@policy/final.json\"], " FS(
			"\"write\": [{\"path\": \"/r/.git\", \"worktree\": true}]"),
		"path deny path=/state name=f final grant=/state/s\npath read path=/r final\n"
		"path write path=/r/.git worktree\nwall 60000\n"},
	{"a name of an image is replaced",
		"\"extends\": [\"@policy/image.json\"], \"image\": {\"base\": \"3\"}",
		"build 1\nbase 3\n"},
	{"a later scratch is the only one",
		"\"extends\": [\"@policy/scratch.json\"], \"scratch\": {\"at\": \"/t\"}",
		"tmpfs write at=/t scratch\n"},
	{"scratch is dropped by its name",
		"\"extends\": [\"@policy/scratch.json\"], \"off\": [\"n\"]", ""},
	{"a user stays", "\"extends\": [\"@policy/user.json\"]", "user 7:8\n"},
	{"a later user wins", "\"extends\": [\"@policy/user.json\"], " USER("9"), "user 9\n"},
	{"the caller wins too", "\"extends\": [\"@policy/user.json\"], " USER("caller"), ""},
	{"seccomp: what a final one leaves to later layers",
		"\"extends\": [\"@policy/final-seccomp.json\"], \"seccomp\": {\"profile\": "
		"\"strict\", \"violation\": \"kill\", \"allow\": [\"mount\"], \"deny\": "
		"[\"bpf\"]}, "
		"\"process\": {\"nested_userns\": false}",
		"seccomp strict\nallow mount\nallow mount\ndeny ptrace "
		"(@D/final-seccomp.json: /seccomp/deny/0)\n"
		"deny bpf (p: /seccomp/deny/0)\nviolation kill\n"},
	{"seccomp: lists append and scalars are replaced",
		STRICTER
		", \"seccomp\": {\"profile\": \"none\", \"violation\": \"errno\", \"allow\": "
		"[\"bpf\"]}",
		"seccomp none\nallow mount\nallow bpf\ndeny ptrace (@D/seccomp.json: "
		"/seccomp/deny/0)\n"},
	{"seccomp: lists alone leave the profile", STRICTER ", \"seccomp\": {\"deny\": []}",
		"seccomp strict\nallow mount\ndeny ptrace (@D/seccomp.json: "
		"/seccomp/deny/0)\nviolation kill\n"},
	{"a final user said again", "\"extends\": [\"@policy/final-user.json\"], " USER("7:8"),
		"user 7:8\n"},
	{"a final caller said", "\"extends\": [\"@policy/final-caller.json\"], " USER("caller"),
		""},
	{"later limits win one by one",
		"\"extends\": [\"@policy/limits.json\"], " LIMITS(
			"\"memory\": \"2M\", \"output\": 200, \"core\": 0"),
		"cpu 10000\nmemory 2097152\nprocesses 50\noutput 200\nfile_size 1000\n"
		"open_files 30\nthen kill\n"},
	{"what output does then is replaced when it is said",
		"\"extends\": [\"@policy/limits.json\"], " LIMITS(
			"\"output\": {\"bytes\": 100, \"then\": \"drop\"}"),
		"cpu 10000\nmemory 67108864\nprocesses 50\noutput 100\nfile_size 1000\n"
		"open_files 30\ncore 10\n"},
	{"final limits can be lowered",
		"\"extends\": [\"@policy/final-limits.json\"], \"cgroup\": {\"manage\": true}, "
		"\"require\": [\"cpu\"], " LIMITS(
			"\"wall\": 5, \"cpu\": 9, \"memory\": \"63M\", \"processes\": 49, "
			"\"output\": {\"bytes\": 99, \"then\": \"kill\"}, \"file_size\": 999, "
			"\"open_files\": 29, \"core\": 9"),
		"require memory (@D/final-limits.json: /require/0)\nrequire cpu (p: /require/0)\n"
		"wall 5000\ncpu 9000\nmemory 66060288\nprocesses 49\noutput 99\nfile_size 999\n"
		"open_files 29\ncore 9\nthen kill\ncgroup manage\n"},
	{"output may end a run where final limits drop it",
		"\"extends\": [\"@policy/open.json\"], \"cgroup\": {\"manage\": true}, " LIMITS(
			"\"output\": {\"bytes\": 9, \"then\": \"kill\"}"),
		"output 9\nthen kill\ncgroup manage\n"},
	{"a later rule for a path says what its loss does",
		BASE
		", \"off\": [\"n\"], " FS("\"deny\": [{\"path\": \"/d\", \"lost\": \"report\"}]"),
		"root read path=/\npath read path=/a\nmount read at=/m path=/x\npath deny path=/d "
		"report\nnetwork host\n" BASE_SETTINGS},
	{"the loss of a final rule ends the run, lowered or not",
		"\"extends\": [\"@policy/final.json\"], " FS(
			"\"deny\": [{\"path\": \"/r\", \"lost\": \"report\"}, "
			"{\"path\": \"/state\", \"lost\": \"report\"}]"),
		"path deny path=/r final\npath deny path=/state name=f final grant=/state/s\n"
		"wall 60000\n"},
	{"a limit where a final one is open",
		"\"extends\": [\"@policy/open.json\"], \"limits\": {\"wall\": 5}", "wall 5000\n"},
};

static void test_layers(void)
{
	for (size_t i = 0; i < sizeof(layered) / sizeof(*layered); i++) {
		CLEANUP_FREE char *got = load_body(layered[i].body, folder, false);
		CLEANUP_FREE char *want = all_in_folder(layered[i].want);

		/* The order of rules means nothing; it is compared because it is the same every
		 * time. */
		is_str(got, want, "%s", layered[i].what);
	}
}

#define FINAL "\"extends\": [\"@policy/final.json\"]"

#define FINAL_LIMITS(x) "\"extends\": [\"@policy/final-limits.json\"], " LIMITS(x)

static const struct bad against[] = {
	{"a socket of a final deny", FINAL ", " FS("\"connect\": [\"/state/x\"]"),
		"p: /filesystem/connect/0", "lies at or below a final rule", ""},
	{"a final deny readable", FINAL ", " FS("\"read\": [\"/state\"]"), "p: /filesystem/read/0",
		"final.json: /filesystem/deny/0", "/state/s"},
	{"a final rule raised for one type",
		FINAL ", " FS("\"write\": [{\"path\": \"/r\", \"type\": \"file\"}]"),
		"p: /filesystem/write/0", "final.json: /filesystem/read/0", ""},
	{"a final pattern raised", PATTERNS ", " FS("\"write\": [\"/f*\"]"),
		"p: /filesystem/write/0", "patterns.json: /filesystem/read/1", ""},
	{"readable below it", FINAL ", " FS("\"read\": [\"/state/x\"]"), "p: /filesystem/read/0",
		"/state/x lies at or below a final rule", ""},
	{"next to the grant", FINAL ", " FS("\"write\": [\"/state/sx\"]"), "p: /filesystem/write/0",
		"final", ""},
	{"above the grant", FINAL ", " FS("\"mounts\": [{\"at\": \"/w\", \"from\": \"/state\"}]"),
		"p: /filesystem/mounts/0", "is mounted from a place at or below a final rule", ""},
	{"mounted from below it",
		FINAL ", " FS("\"mounts\": [{\"at\": \"/w\", \"from\": \"/state/a/b\"}]"),
		"p: /filesystem/mounts/0", "final.json: /filesystem/deny/0", ""},
	{"mounted over it", FINAL ", " FS("\"mounts\": [{\"at\": \"/state\", \"from\": \"/x\"}]"),
		"p: /filesystem/mounts/0", "final", ""},
	{"a tmpfs below it", FINAL ", " FS("\"tmpfs\": [{\"at\": \"/r/x\"}]"),
		"p: /filesystem/tmpfs/0", "final.json: /filesystem/read/0", ""},
	{"a mount at a place below it, of something else",
		FINAL ", " FS("\"mounts\": [{\"at\": \"/r/x\", \"from\": \"/q\"}]"),
		"p: /filesystem/mounts/0", "final.json: /filesystem/read/0", ""},
	{"a device below it", FINAL ", " FS("\"devices\": [\"/r/x\"]"), "p: /filesystem/devices/0",
		"final", ""},
	{"a final read writable", FINAL ", " FS("\"write\": [\"/r/x/y\"]"),
		"p: /filesystem/write/0", "final.json: /filesystem/read/0", "change the policy"},
	{"a writable mount of what holds it",
		FINAL
		", " FS("\"mounts\": [{\"at\": \"/w\", \"from\": \"/\", \"access\": \"write\"}]"),
		"p: /filesystem/mounts/0", "keeps read-only", ""},
	{"a final network", FINAL ", \"network\": \"host\"", "p: /network", "final.json: /final/0",
		""},
	{"a final profile replaced by a weaker one", FINAL_SECCOMP ", \"seccomp\": \"default\"",
		"p: /seccomp", "allows more calls (@D/final-seccomp.json: /final/0)", ""},
	{"a final profile switched off", FINAL_SECCOMP ", \"seccomp\": {\"profile\": \"none\"}",
		"p: /seccomp/profile", "seccomp is final", ""},
	{"a call allowed under a final profile",
		FINAL_SECCOMP ", \"seccomp\": {\"allow\": [\"mount\", \"bpf\"]}",
		"p: /seccomp/allow", "seccomp is final", ""},
	{"a final kill made an errno", FINAL_SECCOMP ", \"seccomp\": {\"violation\": \"errno\"}",
		"p: /seccomp/violation", "seccomp is final", ""},
	{"nested user namespaces under a final profile",
		FINAL_SECCOMP ", \"process\": {\"nested_userns\": true}",
		"p: /process/nested_userns", "seccomp is final", ""},
	{"a final user replaced", "\"extends\": [\"@policy/final-user.json\"], " USER("9:8"),
		"p: /identity/user", "the user is final (@D/final-user.json: /final/0)", ""},
	{"another group of a final user",
		"\"extends\": [\"@policy/final-user.json\"], " USER("7:9"), "p: /identity/user",
		"the user is final", ""},
	{"final verifying taken back",
		"\"extends\": [\"@policy/final-mounts.json\"], " FS("\"verify\": false"),
		"p: /filesystem/verify", "verifying is final (@D/final-mounts.json: /final/0)", ""},
	{"mounts that follow the host's after final private ones",
		"\"extends\": [\"@policy/final-mounts.json\"], " FS("\"propagation\": \"slave\""),
		"p: /filesystem/propagation",
		"the propagation of mounts is final (@D/final-mounts.json: /final/1)", ""},
	{"a final user without its group", "\"extends\": [\"@policy/final-user.json\"], " USER("7"),
		"p: /identity/user", "the user is final", ""},
	{"the caller after a final user",
		"\"extends\": [\"@policy/final-user.json\"], " USER("caller"), "p: /identity/user",
		"the user is final", ""},
	{"another than the final caller",
		"\"extends\": [\"@policy/final-caller.json\"], " USER("owner"), "p: /identity/user",
		"the user is final", ""},
	{"a final limit raised", FINAL ", \"limits\": {\"wall\": 61}", "p: /limits/wall",
		"final.json: /final/1", ""},
	{"final cpu raised", FINAL_LIMITS("\"cpu\": 11"), "p: /limits/cpu",
		"limits are final and can only be lowered (@D/final-limits.json: /final/0)", ""},
	{"final memory raised", FINAL_LIMITS("\"memory\": \"65M\""), "p: /limits/memory",
		"only be lowered", ""},
	{"final processes raised", FINAL_LIMITS("\"processes\": 51"), "p: /limits/processes",
		"only be lowered", ""},
	{"final output raised", FINAL_LIMITS("\"output\": 101"), "p: /limits/output",
		"only be lowered", ""},
	{"final output raised in an object", FINAL_LIMITS("\"output\": {\"bytes\": 101}"),
		"p: /limits/output/bytes", "only be lowered", ""},
	{"final output that kills no more",
		FINAL_LIMITS("\"output\": {\"bytes\": 9, \"then\": \"drop\"}"),
		"p: /limits/output/then", "only be lowered", ""},
	{"a final file_size raised", FINAL_LIMITS("\"file_size\": 1001"), "p: /limits/file_size",
		"only be lowered", ""},
	{"final open_files raised", FINAL_LIMITS("\"open_files\": 31"), "p: /limits/open_files",
		"only be lowered", ""},
	{"a final core raised", FINAL_LIMITS("\"core\": 11"), "p: /limits/core", "only be lowered",
		""},
	{"cores where final limits have none",
		"\"extends\": [\"@policy/open.json\"], " LIMITS("\"core\": 1"), "p: /limits/core",
		"only be lowered", ""},
	{"final limits without their cgroup",
		FINAL_LIMITS("\"wall\": 1") ", \"cgroup\": "
					    "{\"manage\": false}",
		"p: /cgroup/manage", "limits are final", ""},
	{"a requirement that a later layer undoes",
		"\"extends\": [\"@policy/requires.json\"], \"network\": \"host\"",
		"@D/requires.json: /require/0", "\"network\" is required", "--net"},
	{"a circle of one", "\"extends\": [\"@policy/self.json\"]", "@D/self.json: /extends/0",
		"self.json -> @D/self.json", ""},
	{"a circle of three", "\"extends\": [\"@policy/c1.json\"]", "@D/c3.json: /extends/0",
		"c1.json -> @D/c2.json -> @D/c3.json -> @D/c1.json", "extends"},
	{"extends too deep", "\"extends\": [\"@policy/deep0.json\"]", "@D/deep14.json: /extends/0",
		"deeper than 16", ""},
	{"a fault in an extended policy", "\"extends\": [\"@policy/broken.json\"]",
		"@D/broken.json: /filesystem/read/0", "must be a string", ""},
	{"a directory", "\"extends\": [\"@policy/dir\"]", "p: /extends/0", "Is a directory", ""},
	{"a link", "\"extends\": [\"@policy/link.json\"]", "p: /extends/0", "symbolic link",
		"leads to"},
	{"a FIFO", "\"extends\": [\"@policy/fifo\"]", "p: /extends/0", "no regular file", ""},
	{"a file without rights", "\"extends\": [\"@policy/secret.json\"]", "p: /extends/0",
		"Permission denied", ""},
	{"a file as folder", "\"extends\": [\"@policy/base.json/x\"]", "p: /extends/0",
		"Not a directory", ""},
};

static void test_against(void)
{
	for (size_t i = 0; i < sizeof(against) / sizeof(*against); i++) {
		CLEANUP_FREE char *at = all_in_folder(against[i].at);
		CLEANUP_FREE char *message = all_in_folder(against[i].message);

		if (strstr(against[i].body, "secret.json") && geteuid() == 0) {
			skip("root reads everything", against[i].what);
			continue;
		}
		check_bad(against[i].what, against[i].body, folder, at, message, against[i].hint);
	}
}

/* "./" where the caller happens to stand. */
static void test_written_out(void)
{
	static const struct {
		const char *cwd, *body, *message; /* NULL: it loads */
	} rows[] = {
		{"/", FS("\"mounts\": [{\"at\": \"/w\", \"from\": \"./\", \"access\": \"write\"}]"),
			"whole file system"},
		{"/home/u", FS("\"write\": [\"./\"]"), "home directory"},
		{"/home/u", FS("\"write\": [\".\"]"), "home directory"},
		{"/home/u", FS("\"write\": [\"./*\"]"), "home directory"},
		{"/tmp", FS("\"write\": [\"./**/x\"]"), "/tmp"},
		{"/home/u/x", FS("\"write\": [\"./..\"]"), "home directory"},
		{"/home", FS("\"write\": [\"./\"]"), "above the home"},
		{"/tmp",
			FS("\"mounts\": [{\"at\": \"/w\", \"from\": \"./\", \"access\": "
			   "\"write\"}]"),
			"/tmp"},
		{"/home/u/.ssh", "\"extends\": [\"default\"], " FS("\"write\": [\"./\"]"),
			"/filesystem/deny/"},
		{"/home/u/.ssh/x", "\"extends\": [\"workspace\"]", "/filesystem/deny/"},
		{"/home/u", "\"extends\": [\"workspace\"]", "home directory"},
		{"/d/x", "\"extends\": [\"@D/holes.json\"], " FS("\"write\": [\"./\"]"),
			"denies it"},
		{"/e/closed/x", "\"extends\": [\"@D/holes.json\"], " FS("\"write\": [\"./\"]"),
			"denies it"},
		{"/d/open/x", "\"extends\": [\"@D/holes.json\"], " FS("\"write\": [\"./\"]"), NULL},
		{"/e/x", "\"extends\": [\"@D/holes.json\"], " FS("\"write\": [\"./\"]"), NULL},
		{"/home/u/.ssh", FS("\"write\": [\"./\"]"), NULL},
		{"/home/u", FS("\"read\": [\"./\"]"), NULL},
		{"/home/u", FS("\"write\": [\"/home/u\"]"), NULL},
		{"/home/u", FS("\"read\": [\"./*\"]"), NULL},
		{"/home/u", FS("\"write\": [\"./x/*\"]"), NULL},
		{"/home/u", FS("\"write\": [\"./x\"]"), NULL},
		{"/home/us", FS("\"write\": [\"./\"]"), NULL},
		{"/tmp/x", FS("\"write\": [\"./\"]"), NULL},
		{"/home/u/p", "\"extends\": [\"workspace\"]", NULL},
		{"/home/u/.ssh/x", "\"extends\": [\"default\"], " FS("\"write\": [\"~/.ssh/x\"]"),
			NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct policy_context here = {.home = "/home/u", .cwd = rows[i].cwd};
		CLEANUP_FREE char *body = in_folder(rows[i].body);
		CLEANUP_FREE char *text = xasprintf("{\"sbx\": 1, %s}", body);
		struct policy policy;
		struct err err = {0};
		int rc = policy_load_text(&policy, text, strlen(text), "p", NULL, &here, &err);

		ok(rc == (rows[i].message ? -1 : 0), "in %s: %s", rows[i].cwd, rows[i].body);
		if (rows[i].message &&
			!ok(strstr(err.message, rows[i].message) && strstr(err.hint, "--write /") &&
					strstr(err.at, "/filesystem/"),
				"and says why"))
			diag("%s: %s (%s)", err.at, err.message, err.hint);
		policy_clear(&policy);
	}
}

/* The home is a link: the working directory is where it leads to. */
static void test_linked_home(void)
{
	static const struct {
		const char *cwd, *body, *message; /* NULL: it loads */
	} rows[] = {
		{"/data/u", FS("\"write\": [\"./\"]"), "home directory"},
		{"/data", FS("\"write\": [\"./\"]"), "above the home"},
		{"/data/u/.ssh/x", "\"extends\": [\"workspace\"]", "/filesystem/deny/"},
		{"/data/u/p", "\"extends\": [\"workspace\"]", NULL},
		{"/", FS("\"write\": [\"/data/u/.config/sbx\"]"), "sbx keeps its own"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct policy_context here = {
			.home = "/home/u", .home_real = "/data/u", .cwd = rows[i].cwd};
		CLEANUP_FREE char *text = xasprintf("{\"sbx\": 1, %s}", rows[i].body);
		struct policy policy;
		struct err err = {0};
		int rc = policy_load_text(&policy, text, strlen(text), "p", NULL, &here, &err);

		ok(rc == (rows[i].message ? -1 : 0), "home is a link, in %s: %s", rows[i].cwd,
			rows[i].body);
		ok(!rows[i].message || strstr(err.message, rows[i].message), "and says why");
		policy_clear(&policy);
	}
}

/* sbx's own files under what is writable. */
static void test_own_files(void)
{
	CLEANUP_FREE char *below = load_body(FS("\"write\": [\"/home/u\"]"), NULL, false);
	CLEANUP_FREE char *mounted = load_body(FS("\"mounts\": [{\"at\": \"/w\", \"from\": "
						  "\"/home/u/.config\", \"access\": \"write\"}]"),
		NULL, false);
	CLEANUP_FREE char *lowered = load_body(
		FS("\"read\": [\"/etc/sbx\"], "
		   "\"mounts\": [{\"at\": \"/w\", \"from\": \"/etc\", \"access\": \"write\"}]"),
		NULL, false);
	CLEANUP_FREE char *kept =
		load_body(FS("\"write\": [\"/etc\"], \"read\": [\"/etc/sbx\"]"), NULL, false);
	CLEANUP_FREE char *typed = load_body(FS("\"write\": [\"/etc\"], \"read\": [{\"path\": "
						"\"/etc/sbx\", \"type\": \"file\"}]"),
		NULL, false);
	static const char other[] = "{\"sbx\": 1, \"filesystem\": {\"write\": [\"/cfg/sbx/x\"]}}";
	const struct policy_context moved = {.home = "/home/u", .cwd = "/", .config_home = "/cfg"};
	static const char shown[] = "{\"sbx\": 1, \"filesystem\": {\"mounts\": [{\"at\": \"/w\", "
				    "\"from\": \"/run/u\", \"access\": \"write\"}]}}";
	char *more[] = {(char[]){"/run/u/sbx"}, (char[]){"/tmp/sbx-7"}, NULL};
	const struct policy_context kept_there = {.home = "/home/u", .cwd = "/", .own = more};
	CLEANUP_FREE char *answers = NULL;
	struct policy policy;
	struct err err = {0};

	is_str(below,
		"path write path=/home/u\n"
		"path read path=/home/u/.config/sbx why=sbx's own files optional final\n"
		"path read path=/home/u/.local/state/sbx why=sbx's own files optional final\n"
		"path read path=/home/u/.cache/sbx why=sbx's own files optional final\n",
		"a writable home keeps them read-only");
	is_str(mounted,
		"mount write at=/w path=/home/u/.config\n"
		"path deny path=/home/u/.config/sbx why=sbx's own files optional final\n",
		"a writable mount does not show them");
	is_str(lowered, "path deny path=/etc/sbx\nmount write at=/w path=/etc\n",
		"not even if a rule would");
	is_str(kept, "path write path=/etc\npath read path=/etc/sbx\n",
		"a rule of the policy's own is enough");
	is_str(typed,
		"path write path=/etc\npath read path=/etc/sbx file\n"
		"path read path=/etc/sbx why=sbx's own files optional final\n",
		"unless it is for one type of object");
	ok(policy_load_text(&policy, other, strlen(other), "p", NULL, &moved, &err) < 0 &&
			strstr(err.message, "/cfg/sbx"),
		"XDG_CONFIG_HOME is protected");
	ok(policy_load_text(&policy, shown, strlen(shown), "p", NULL, &kept_there, &err) == 0,
		"(a mount of what lies above)");
	answers = dump(&policy, false);
	policy_clear(&policy);
	is_str(answers,
		"mount write at=/w path=/run/u\n"
		"path deny path=/run/u/sbx why=sbx's own files optional final\n",
		"so is every place that the caller of the policy names");
}

/* policy_load: names, files, the command line. */

static char *load_names(const struct policy_context *c, const json *flags,
	const struct strvec *flag_names, const char *first, const char *second, struct err *err)
{
	CLEANUP_STRVEC struct strvec names = {0};
	struct policy policy;
	char *out;

	if (first)
		strvec_push(&names, first);
	if (second)
		strvec_push(&names, second);
	if (policy_load(&policy, &names, flags, flag_names, c, err) < 0)
		return NULL;
	out = dump(&policy, false);
	policy_clear(&policy);
	return out;
}

static void test_load(void)
{
	const struct policy_context here = {
		.home = "/home/u", .cwd = folder, .config_home = folder};
	struct err err = {0};
	CLEANUP_FREE char *named = NULL, *file = NULL, *relative = NULL, *nothing = NULL,
			  *shadow = NULL, *both = NULL;

	named = load_names(&here, NULL, NULL, "mine", NULL, &err);
	is_str(named, "path read path=/mine\n", "a NAME in the configuration");
	file = load_names(&here, NULL, NULL, "./right.json", "./left.json", &err);
	ok(file && strstr(file, "path read path=/e\n") && strstr(file, "path read path=/d\n"),
		"two files, what they share once");
	relative = load_names(&here, NULL, NULL, "sbx/../sbx/policies/mine.json", NULL, &err);
	is_str(relative, "path read path=/mine\n", "a relative FILE with ..");
	nothing = load_names(&here, NULL, NULL, NULL, NULL, &err);
	is_str(nothing, "", "no policy at all");
	shadow = load_names(&here, NULL, NULL, "strict", NULL, &err);
	ok(shadow && !strstr(shadow, "/shadowed"), "a built-in name cannot be shadowed");
	both = load_names(&here, NULL, NULL, "missing", NULL, &err);
	ok(!both && strstr(err.message, "no policy named \"missing\"") &&
			strstr(err.hint, "./missing"),
		"a NAME that is nowhere");
	ok(!load_names(&here, NULL, NULL, "./missing.json", NULL, &err) &&
			strstr(err.message, "missing.json: No such file"),
		"a FILE that is not there");
	ok(!load_names(&here, NULL, NULL, "linked", NULL, &err) &&
			strstr(err.message, "symbolic link"),
		"a NAME that is a link");
	ok(!load_names(&here, NULL, NULL, "../mine", NULL, &err), "a NAME with a slash is a FILE");
}

/* The files that a policy was loaded from, where it makes their folder writable. */
static void test_policy_files(void)
{
	const struct policy_context here = {.home = "/home/u", .cwd = folder};
	struct err err = {0};
	CLEANUP_FREE char *own =
		xasprintf("path read path=%s/base.json why=sbx's own files optional final\n"
			  "path read path=%s/work.json why=sbx's own files optional final\n",
			folder, folder);
	CLEANUP_FREE char *hidden = xasprintf("mount write at=/w path=%s relative\n"
					      "path deny path=%s/at.json why=sbx's own files "
					      "optional final\n",
		folder, folder);
	CLEANUP_FREE char *got = NULL, *got_at = NULL;

	write_policy("work.json", BASE ", " FS("\"write\": [\"./\"]"));
	write_policy("at.json",
		FS("\"mounts\": [{\"at\": \"/w\", \"from\": \"./\", \"access\": \"write\"}]"));
	write_policy("itself.json", FS("\"write\": [\"@policy/itself.json\"]"));
	got = load_names(&here, NULL, NULL, "./work.json", NULL, &err);
	got_at = load_names(&here, NULL, NULL, "./at.json", NULL, &err);
	ok(got && strstr(got, own), "the files of a policy stay read-only, all of them");
	is_str(got_at, hidden, "and are not shown by a writable mount");
	ok(!load_names(&here, NULL, NULL, "./itself.json", NULL, &err) &&
			strstr(err.message, "/itself.json would be writable"),
		"nor made writable by name");
}

static json *parse(const char *text)
{
	struct err err = {0};
	json *value = json_read(text, strlen(text), &err);

	if (!value)
		diag("%s %s", err.at, err.message);
	return value;
}

static void test_flags(void)
{
	CLEANUP_STRVEC struct strvec names = {0};
	CLEANUP_JSON json *good_flags = parse("{\"sbx\": 1, \"filesystem\": {\"read\": [\"/d\"]}}");
	CLEANUP_JSON json *bad_form =
		parse("{\"sbx\": 1, \"filesystem\": {\"read\": [\"/x\", \"y\"]}}");
	CLEANUP_JSON json *eleventh =
		parse("{\"sbx\": 1, \"filesystem\": {\"read\": [\"/a\", \"/a\", \"/a\", "
		      "\"/a\", \"/a\", \"/a\", \"/a\", \"/a\", \"/a\", \"/a\", \"y\"]}}");
	CLEANUP_JSON json *loose =
		parse("{\"sbx\": 1, \"filesystem\": {\"read\": [\"/x\", \"/state\"]}}");
	struct err err = {0};
	CLEANUP_FREE char *file = xasprintf("%s/final.json", folder),
			  *base = xasprintf("%s/base.json", folder);
	CLEANUP_FREE char *odd = xasprintf("%s/[a]*.json", folder);
	CLEANUP_FREE char *plain = load_names(&context, NULL, NULL, odd, NULL, &err);
	CLEANUP_FREE char *got = NULL;

	is_str(plain, "path read path=/x* pattern\n",
		"a file of the command line is named as it is");
	strvec_pushl(&names, "/filesystem/read/0", "--read /x", "/filesystem/read/1",
		"--read SECOND", NULL);
	got = load_names(&context, good_flags, &names, base, NULL, &err);
	ok(got && strstr(got, "path read path=/d\n"), "the command line is the last layer");
	ok(!load_names(&context, bad_form, &names, NULL, NULL, &err), "a misspelled flag");
	is_str(err.at, "command line: --read SECOND", "is named as written");
	is_int(err.kind, ERR_USAGE, "and is an error of usage");
	ok(!load_names(&context, eleventh, &names, NULL, NULL, &err),
		"one that no flag is known for");
	is_str(err.at, "command line: /filesystem/read/10", "is named by its pointer");
	ok(!load_names(&context, loose, &names, file, NULL, &err), "a flag against a final rule");
	is_str(err.at, "command line: --read SECOND", "is named too");
	is_int(err.kind, ERR_POLICY, "and is an error of policies");
}

static void test_origin(void)
{
	static const char text[] =
		"{\"sbx\": 1, \"filesystem\": {\"deny\": [\"/a\", {\"path\": \"/b\"}]}}";
	struct policy policy;
	struct err err = {0};
	CLEANUP_FREE char *where = NULL;

	policy_load_text(&policy, text, strlen(text), "file.json", NULL, &context, &err);
	where = origin_text(&policy.rules[1].origin);
	is_str(where, "file.json: /filesystem/deny/1", "a rule knows where it was written");
	is_int(policy.rules[1].origin.layer, 1, "the first layer is 1");
	policy_clear(&policy);
	policy_clear(&policy);
	ok(policy.n_rules == 0, "cleared twice");
}

static void test_builtins(void)
{
	static const struct policy_context root = {.home = "/root", .cwd = "/root/p"};
	static const char *const want[] = {
		"agent-container", "default", "query-script", "strict", "workspace"};
	const char *const *names = policy_builtin_names();
	struct err err = {0};
	size_t n = 0;

	for (; names[n]; n++) {
		CLEANUP_FREE char *user = load_names(&context, NULL, NULL, names[n], NULL, &err);
		CLEANUP_FREE char *as_root = load_names(&root, NULL, NULL, names[n], NULL, &err);

		is_str(names[n], n < 5 ? want[n] : NULL, "built-in policy %zu", n);
		if (!ok(user && as_root, "%s loads", names[n]))
			diag("%s: %s", err.at, err.message);
		ok(policy_builtin_text(names[n]) != NULL, "%s has a text", names[n]);
	}
	is_int((long long)n, 5, "five built-in policies");
	ok(!policy_builtin_text("nope"), "no text of an unknown one");
}

/* The promises of the built-in policies that text can show. */
static void test_builtin_promises(void)
{
	struct err err = {0};
	CLEANUP_FREE char *base = load_names(&context, NULL, NULL, "default", NULL, &err);
	CLEANUP_FREE char *work = load_names(&context, NULL, NULL, "workspace", NULL, &err);
	CLEANUP_FREE char *strict = load_names(&context, NULL, NULL, "strict", NULL, &err);
	CLEANUP_FREE char *agent = load_names(&context, NULL, NULL, "agent-container", NULL, &err);
	CLEANUP_FREE char *query = load_names(&context, NULL, NULL, "query-script", NULL, &err);

	ok(strstr(base, "root read path=/\n") &&
			strstr(base, "path deny path=/home/u/.ssh name=ssh\n") &&
			strstr(base, "path deny path=/etc/shadow name=passwords\n") &&
			strstr(base, "tmpfs read at=/run"),
		"default");
	ok(!strstr(base, "path write") && !strstr(base, "mount write") &&
			!strstr(base, "tmpfs write") && !strstr(base, "network host"),
		"default makes nothing writable");
	ok(strstr(work, "path write path=/home/u/src/p name=workspace relative\n") &&
			strstr(work, "path read path=/home/u/src/p/.git/hooks") &&
			strstr(work, "path deny path=/home/u/.ssh"),
		"workspace");
	ok(!strstr(work, "path read path=/home/u/src/p/.git ") && !strstr(work, "/.git/index") &&
			strstr(work, "path write path=/home/u/src/p/.git name=git-worktree"),
		"workspace leaves the rest of .git writable, and what a worktree needs");
	ok(strstr(work, "path=/home/u/src/p/*/.git/hooks name=git-hooks") &&
			strstr(work, "path=/home/u/src/p/*/*/.git/config name=git-config") &&
			strstr(work, "path=/home/u/src/p/*/*/.git name=git-files why=") &&
			strstr(work,
				"path=/home/u/src/p/.git/worktrees/*/gitdir name=git-worktrees"),
		"workspace protects repositories in it");
	ok(strstr(strict, "root deny") && strstr(strict, "env none\n") &&
			strstr(strict, "cwd /\n") &&
			strstr(strict, "wall 60000\ncpu 60000\nmemory 1073741824\nprocesses 256\n"
				       "open_files 1024\n") &&
			!strstr(strict, "write path"),
		"strict");
	ok(strstr(query, "root deny") && strstr(query, "env none\n") &&
			strstr(query, "cwd /scratch\n") &&
			strstr(query, "tmpfs write at=/scratch name=scratch") &&
			strstr(query, "wall 60000\ncpu 30000\nmemory 536870912\nprocesses 64\n"
				      "output 1048576\nfile_size 268435456\nopen_files 256\n") &&
			!strstr(query, "write path") && !strstr(query, "network host"),
		"query-script");
	ok(!strstr(base, "memory") && !strstr(work, "memory"), "default limits nothing");
	ok(strstr(agent, "path deny path=/state why=the server's own state final "
			 "grant=/state/sessions\n") &&
			strstr(agent, "path deny path=/run/secrets why=secrets of the container "
				      "final\n") &&
			strstr(agent, "processes 2048\nopen_files 65536\n"),
		"agent-container");
}

int main(void)
{
	CLEANUP_FREE char *link = NULL, *sbx = NULL, *policies = NULL, *dir = NULL, *fifo = NULL,
			  *mine = NULL, *linked = NULL, *secret = NULL, *remove = NULL;

	if (!mkdtemp(folder))
		return 1;
	write_policies();
	link = xasprintf("%s/link.json", folder);
	sbx = xasprintf("%s/sbx", folder);
	policies = xasprintf("%s/sbx/policies", folder);
	dir = xasprintf("%s/dir", folder);
	fifo = xasprintf("%s/fifo", folder);
	linked = xasprintf("%s/linked.json", policies);
	if (symlink("base.json", link) < 0 || mkdir(sbx, 0755) < 0 || mkdir(policies, 0755) < 0 ||
		mkdir(dir, 0755) < 0 || mkfifo(fifo, 0644) < 0 || symlink("mine.json", linked) < 0)
		return 1;
	mine = write_file(
		"sbx/policies/mine.json", "{\"sbx\": 1, \"filesystem\": {\"read\": [\"/mine\"]}}");
	free(write_file("sbx/policies/strict.json",
		"{\"sbx\": 1, \"filesystem\": {\"read\": [\"/shadowed\"]}}"));
	secret = write_file("secret.json", "{\"sbx\": 1}");
	chmod(secret, 0);

	test_good();
	test_defaults();
	test_bad();
	test_version();
	test_unknown_context();
	test_too_many();
	test_layers();
	test_against();
	test_written_out();
	test_linked_home();
	test_own_files();
	test_load();
	test_policy_files();
	test_flags();
	test_origin();
	test_builtins();
	test_builtin_promises();

	remove = xasprintf("rm -rf %s", folder);
	if (system(remove) != 0)
		return 1;
	return done_testing();
}
