#include "base/mem.h"
#include "base/quote.h"
#include "lib/tap.h"
#include "plan/bwrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static struct rule rule = {.origin = {.file = (char[]){"test"}, .pointer = (char[]){"/x"}}};

static void quote(const char *word, const char *want)
{
	CLEANUP_FREE char *got = shell_quote(word);
	CLEANUP_FREE char *script = xasprintf("printf %%s %s", got);
	CLEANUP_FREE char *command = NULL;
	char back[256] = "";
	FILE *shell;

	is_str(got, want, "quoted: %s", want);
	setenv("SCRIPT", script, 1);
	command = xstrdup("bash -c \"$SCRIPT\"");
	shell = popen(command, "r");
	back[fread(back, 1, sizeof(back) - 1, shell)] = '\0';
	pclose(shell);
	is_str(back, word, "bash reads it back: %s", want);
}

static char *printed(
	const struct bwrap_words *words, const struct policy *policy, char *const *command)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	bwrap_print(out, words, policy, command);
	fclose(out);
	return text;
}

static void spell_every_kind(void)
{
	struct op ops[] = {
		{.kind = OP_BIND_READ, .source = (char[]){"/usr"}, .dest = (char[]){"/usr"}},
		{.kind = OP_BIND_WRITE, .source = (char[]){"/a b"}, .dest = (char[]){"/w"}},
		{.kind = OP_DIR, .dest = (char[]){"/etc"}, .mode = 0755},
		{.kind = OP_FILE,
			.dest = (char[]){"/etc/hosts"},
			.data = "one\ntwo\n",
			.data_len = 8},
		{.kind = OP_FILE, .dest = (char[]){"/etc/empty"}, .data = "", .data_len = 0},
		{.kind = OP_SYMLINK, .source = (char[]){"usr/bin"}, .dest = (char[]){"/bin"}},
		{.kind = OP_DENY_DIR, .dest = (char[]){"/s"}, .scaffold = true},
		{.kind = OP_DENY_DIR, .dest = (char[]){"/usr/s"}, .mode = 0555},
		{.kind = OP_DENY_FILE, .dest = (char[]){"/usr/f"}},
		{.kind = OP_PROC, .dest = (char[]){"/proc"}},
		{.kind = OP_DEV, .dest = (char[]){"/dev"}},
		{.kind = OP_MQUEUE, .dest = (char[]){"/dev/mqueue"}},
		{.kind = OP_DEV_BIND, .source = (char[]){"/dev/kvm"}, .dest = (char[]){"/dev/kvm"}},
		{.kind = OP_TMPFS, .dest = (char[]){"/tmp"}, .mode = 01777, .size = 1 << 20},
		{.kind = OP_SEAL, .dest = (char[]){"/"}},
	};
	struct plan plan = {.ops = ops, .n = sizeof(ops) / sizeof(*ops), .cwd = (char[]){"/w"}};
	struct policy policy = {.network = NETWORK_NONE};
	struct strvec env = {0};
	struct bwrap_options options = {
		.hostname = true, .disable_userns = true, .new_session = true, .env = &env};
	char *command[] = {(char[]){"echo"}, (char[]){"it's"}, NULL};
	struct bwrap_words words;
	CLEANUP_FREE char *text = NULL;
	struct err err;

	strvec_push(&env, "A=x=y");
	strvec_push(&env, "EMPTY=");
	for (size_t i = 0; i < plan.n; i++)
		ops[i].why = &rule;
	is_int(bwrap_spell(&words, &plan, &policy, &options, 2, &err), 0, "spelled");
	text = printed(&words, &policy, command);
	is_str(text,
		"--unshare-user \\\n--unshare-pid \\\n--unshare-ipc \\\n--unshare-uts \\\n"
		"--unshare-cgroup-try \\\n--unshare-net \\\n--die-with-parent \\\n--hostname sbx "
		"\\\n"
		"--cap-drop ALL \\\n--disable-userns \\\n--new-session \\\n"
		"--ro-bind /usr /usr \\\n--bind '/a b' /w \\\n--perms 0755 --dir /etc \\\n"
		"--perms 0444 --ro-bind-data 10 /etc/hosts \\\n"
		"--perms 0444 --ro-bind-data 11 /etc/empty \\\n--symlink usr/bin /bin \\\n"
		"--perms 0000 --dir /s \\\n--perms 0555 --tmpfs /usr/s \\\n--ro-bind /dev/null "
		"/usr/f \\\n"
		"--proc /proc \\\n--dev /dev \\\n--mqueue /dev/mqueue \\\n--dev-bind /dev/kvm "
		"/dev/kvm \\\n"
		"--perms 1777 --size 1048576 --tmpfs /tmp \\\n--remount-ro / \\\n--chdir /w "
		"\\\n--clearenv \\\n"
		"--setenv A x=y \\\n--setenv EMPTY '' \\\n10<<'SBX_10' \\\n11< <(printf %s '') \\\n"
		"-- echo 'it'\\''s'\none\ntwo\nSBX_10\n",
		"every kind of op and option");
	bwrap_words_clear(&words);
	strvec_clear(&env);
}

/* The value of a secret comes from the shell, and the shell refuses when it has none. */
static void hide_secrets(void)
{
	struct plan plan = {.cwd = (char[]){"/"}};
	struct env_secret secret = {.name = (char[]){"TOKEN"}};
	struct policy policy = {.env_secrets = &secret, .n_env_secrets = 1};
	CLEANUP_STRVEC struct strvec env = {0};
	struct bwrap_options options = {.env = &env};
	struct bwrap_words words;
	CLEANUP_FREE char *text = NULL;
	struct err err;

	strvec_pushl(&env, "TOKEN=s3cret", "TOKEN_2=plain", NULL);
	is_int(bwrap_spell(&words, &plan, &policy, &options, 0, &err), 0, "spelled");
	text = printed(&words, &policy, (char *[]){NULL});
	ok(strstr(text, "--setenv TOKEN \"${TOKEN?}\" \\\n--setenv TOKEN_2 plain \\\n") != NULL &&
			!strstr(text, "s3cret"),
		"the value of a secret is not printed");
	bwrap_words_clear(&words);
}

/* A bound /proc is shown in a user namespace only: it keeps the command from other processes. */
static void bound_proc(void)
{
	struct op ops[] = {{.kind = OP_BIND_READ,
		.source = (char[]){"/proc"},
		.dest = (char[]){"/proc"},
		.why = &rule}};
	struct plan plan = {.ops = ops, .n = 1, .proc = PROC_BIND, .cwd = (char[]){"/"}};
	struct policy policy = {.network = NETWORK_HOST, .proc = PROC_BIND, .nested_userns = true};
	struct strvec env = {0};
	struct bwrap_options options = {.env = &env};
	struct bwrap_words words;
	struct err err;

	is_int(bwrap_spell(&words, &plan, &policy, &options, 0, &err), 0, "spelled");
	ok(strvec_has(&words.words, "--unshare-user"), "a bound /proc: there is a user namespace");
	bwrap_words_clear(&words);
}

/* What the command sees itself as when it cannot be run as that user. */
static void spell_label(void)
{
	struct plan plan = {.cwd = (char[]){"/"}};
	struct policy policy = {.network = NETWORK_HOST};
	struct strvec env = {0};
	struct bwrap_options options = {.uid = 4294967294U, .gid = 7, .env = &env};
	char *command[] = {NULL};
	struct bwrap_words words;
	struct err err;

	for (int label = 0; label < 2; label++) {
		CLEANUP_FREE char *text = NULL;

		options.label = label;
		bwrap_spell(&words, &plan, &policy, &options, 0, &err);
		text = printed(&words, &policy, command);
		is_int(strstr(text, "\n--uid 4294967294 \\\n--gid 7 \\\n") != NULL, label, "ids %s",
			label ? "as a label" : "that are bwrap's own");
		bwrap_words_clear(&words);
	}
}

static void refuse_too_many_words(void)
{
	struct plan plan = {.cwd = (char[]){"/"}};
	struct policy policy = {0};
	struct strvec env = {0};
	struct bwrap_options options = {.hostname = true, .env = &env};
	struct bwrap_words words;
	struct err err;

	for (unsigned i = 0; i < 2990; i++) {
		GROW(plan.ops, plan.n, plan.alloc);
		plan.ops[plan.n++] = (struct op){.kind = OP_DENY_FILE,
			.dest = i < 5 ? xasprintf("/few/%u", i) : xasprintf("/srv/many/%u", i),
			.why = &rule};
	}
	is_int(bwrap_spell(&words, &plan, &policy, &options, 1, &err), -1,
		"more than bwrap's 9000 words");
	is_str(err.message,
		"the plan needs 9001 words and bwrap takes 9000: 2985 of its 2990 mounts "
		"lie in "
		"/srv/many",
		"the count and the directory to blame");
	bwrap_words_clear(&words);
	plan.n--;
	free(plan.ops[plan.n].dest);
	is_int(bwrap_spell(&words, &plan, &policy, &options, 1, &err), 0, "one mount less fits");
	bwrap_words_clear(&words);
	plan.cwd = NULL;
	plan_clear(&plan);
}

static void parse_versions(void)
{
	static const char *const bad[] = {"", "0", "0.", ".8", "0.8.", "0.8.0.", "0.8.0.1", "v0.8",
		"0.8 ", " 0.8", "0.8-rc1", "+0.8", "0.-8", "0..8", "0.08", "0.8.00", "0x0.8",
		"0.99999"};
	struct bwrap_version v;

	ok(bwrap_version_parse(&v, "0.12.3") && v.part[0] == 0 && v.part[1] == 12 && v.part[2] == 3,
		"major, minor, patch");
	ok(bwrap_version_parse(&v, "10.0") && v.part[0] == 10 && v.part[1] == 0 && v.part[2] == 0,
		"without patch");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(!bwrap_version_parse(&v, bad[i]), "no version: \"%s\"", bad[i]);
}

#define HAS_USERNS " has no --disable-userns (0.8.0 has it)"
#define HAS_SIZE " has no --size (0.7.0 has it)"

struct fit {
	const char *name, *target;
	uint64_t size; /* of a tmpfs that the policy asks for; 0: there is none */
	bool no_perms; /* no step needs a mode */
	bool capability, nested_userns;
	const char *notes; /* a line each */
	const char *tmpfs; /* the steps from /tmp on; NULL: refused */
	const char *message, *hint, *at;
};

static const struct fit fits[] = {
	{.name = "all is there",
		.target = "0.8.0",
		.notes = "",
		.tmpfs = "--perms 1777 --size 512 --tmpfs /tmp"},
	{.name = "versions are numbers",
		.target = "0.10.0",
		.size = 64,
		.capability = true,
		.notes = "",
		.tmpfs = "--perms 1777 --size 512 --tmpfs /tmp --perms 1777 --size 64 "
			 "--tmpfs "
			 "/scratch"},
	{.name = "a greater major",
		.target = "1.0",
		.notes = "",
		.tmpfs = "--perms 1777 --size 512 --tmpfs /tmp"},
	{.name = "no --disable-userns",
		.target = "0.7.0",
		.size = 64,
		.notes = "nested user namespaces are not disabled: bwrap 0.7.0" HAS_USERNS
			 "; in one, covers below "
			 "something writable can be taken off\n",
		.tmpfs = "--perms 1777 --size 512 --tmpfs /tmp --perms 1777 --size 64 "
			 "--tmpfs "
			 "/scratch"},
	{.name = "no --size",
		.target = "0.6.99",
		.notes = "nested user namespaces are not disabled: bwrap 0.6.99" HAS_USERNS
			 "; in one, covers below "
			 "something writable can be taken off\n"
			 "/dev/shm is not bounded: bwrap 0.6.99" HAS_SIZE "\n"
			 "/tmp is not bounded: bwrap 0.6.99" HAS_SIZE "\n",
		.tmpfs = "--perms 1777 --tmpfs /tmp"},
	{.name = "nested namespaces are allowed anyway",
		.target = "0.7.0",
		.nested_userns = true,
		.notes = "",
		.tmpfs = "--perms 1777 --size 512 --tmpfs /tmp"},
	{.name = "a size that is asked for",
		.target = "0.6.2",
		.size = 64,
		.message = "bwrap 0.6.2" HAS_SIZE
			   ", and the plan needs it: --perms 1777 --size 64 --tmpfs /scratch",
		.hint = "use that bwrap or a later one there, or take the size out of the "
			"rule",
		.at = "p.json: /filesystem/tmpfs/0"},
	{.name = "of several the newest is named",
		.target = "0.4.1",
		.size = 64,
		.message = "bwrap 0.4.1" HAS_SIZE
			   ", and the plan needs it: --perms 1777 --size 64 --tmpfs /scratch",
		.hint = "use that bwrap or a later one there, or take the size out of the "
			"rule",
		.at = "p.json: /filesystem/tmpfs/0"},
	{.name = "capabilities",
		.target = "0.7.0",
		.capability = true,
		.message = "bwrap 0.7.0" HAS_USERNS
			   ", and the policy gives capabilities: the command could undo the "
			   "sandbox",
		.hint = "use that bwrap or a later one there, or take process.capabilities "
			"out of "
			"the policy",
		.at = ""},
	{.name = "a mode",
		.target = "0.4.1",
		.message = "bwrap 0.4.1 has no --perms (0.5.0 has it), and the plan needs it: "
			   "--perms 0000 --tmpfs /usr/s",
		.hint = "use that bwrap or a later one there",
		.at = "p.json: /filesystem/deny/0"},
	{.name = "an empty environment",
		.target = "0.4.1",
		.no_perms = true,
		.message = "bwrap 0.4.1 has no --clearenv (0.5.0 has it), and no plan can do "
			   "without it",
		.hint = "use that bwrap or a later one there",
		.at = ""},
};

static struct rule rule_of(char *file, char *pointer, unsigned layer, uint64_t size)
{
	return (struct rule){
		.origin = {.file = file, .pointer = pointer, .layer = layer}, .size = size};
}

/* A plan with a size of each kind, and with operands that look like options. */
static void fit(const struct fit *f)
{
	char file[] = "p.json", asked[] = "/filesystem/tmpfs/0", denied[] = "/filesystem/deny/0";
	struct rule ask = rule_of(file, asked, 1, f->size), deny = rule_of(file, denied, 1, 0),
		    own = rule_of(file, denied, 0, 0), dev = rule_of(file, denied, 0, 0);
	struct op ops[] = {
		{.kind = OP_BIND_READ,
			.source = (char[]){"--size"},
			.dest = (char[]){"/usr"},
			.why = &deny},
		{.kind = OP_DENY_DIR, .dest = (char[]){"/usr/s"}, .why = &deny},
		{.kind = OP_TMPFS,
			.dest = (char[]){"/dev/shm"},
			.mode = 01777,
			.size = 512,
			.why = &dev},
		{.kind = OP_TMPFS,
			.dest = (char[]){"/tmp"},
			.mode = 01777,
			.size = 512,
			.why = &own},
		{.kind = OP_TMPFS,
			.dest = (char[]){"/scratch"},
			.mode = 01777,
			.size = f->size,
			.why = &ask},
	};
	struct plan plan = {.ops = ops,
		.n = f->no_perms ? 1
		     : f->size   ? 5
				 : 4,
		.cwd = (char[]){"/"}};
	CLEANUP_STRVEC struct strvec env = {0};
	struct policy policy = {.nested_userns = f->nested_userns};
	struct bwrap_options options = {.disable_userns = !f->nested_userns, .env = &env};
	struct bwrap_version target;
	struct bwrap_words words;
	CLEANUP_FREE char *notes = xstrdup(""), *text = xstrdup("");
	struct err err = {0};
	int rc;

	strvec_push(&env, "A=--size");
	if (f->capability)
		strvec_push(&policy.capabilities, "CAP_CHOWN");
	ok(bwrap_version_parse(&target, f->target), "%s: the target", f->name);
	rc = bwrap_fit(&plan, &options, &policy, &target, &err);
	is_int(rc, f->tmpfs ? 0 : -1, "%s: fitted", f->name);
	if (rc < 0) {
		is_int(err.kind, ERR_PLAN, "%s: kind", f->name);
		is_str(err.message, f->message, "%s: message", f->name);
		is_str(err.hint, f->hint, "%s: hint", f->name);
		is_str(err.at, f->at, "%s: place", f->name);
		goto out;
	}
	for (size_t i = 0; i < plan.notes.n; i++) {
		char *longer = xasprintf("%s%s\n", notes, plan.notes.v[i]);

		free(notes);
		notes = longer;
	}
	is_str(notes, f->notes, "%s: notes", f->name);
	for (size_t i = 3; i < plan.n; i++) {
		CLEANUP_FREE char *op = bwrap_op_text(&ops[i]);
		char *longer = xasprintf("%s%s%s", text, i > 3 ? " " : "", op);

		free(text);
		text = longer;
	}
	is_str(text, f->tmpfs, "%s: the tmpfs", f->name);
	is_int(bwrap_spell(&words, &plan, &policy, &options, 0, &err), 0, "%s: spelled", f->name);
	is_int(strvec_has(&words.words, "--disable-userns"),
		!f->nested_userns && strcmp(f->notes, "") == 0, "%s: --disable-userns", f->name);
	bwrap_words_clear(&words);
out:
	strvec_clear(&plan.notes);
	strvec_clear(&policy.capabilities);
}

int main(void)
{
	quote("plain/path-1.2_x", "plain/path-1.2_x");
	quote("", "''");
	quote("with space", "'with space'");
	quote("it's", "'it'\\''s'");
	quote("$HOME `x` \"q\" \\", "'$HOME `x` \"q\" \\'");
	quote("new\nline", "$'new\\012line'");
	quote("esc\033[31m'\\", "$'esc\\033[31m\\'\\\\'");
	quote("bad\xff", "$'bad\\377'");
	quote("-dash", "-dash");
	quote("~", "'~'");
	spell_every_kind();
	hide_secrets();
	bound_proc();
	spell_label();
	refuse_too_many_words();
	parse_versions();
	for (size_t i = 0; i < sizeof(fits) / sizeof(*fits); i++)
		fit(&fits[i]);
	return done_testing();
}
