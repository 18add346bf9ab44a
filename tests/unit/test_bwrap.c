#include "base/mem.h"
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

static char *printed(const struct bwrap_words *words, char *const *command)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	bwrap_print(out, words, command);
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
	text = printed(&words, command);
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
		"the plan needs 9001 words and bwrap takes 9000: 2985 of its 2990 mounts lie in "
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
	refuse_too_many_words();
	return done_testing();
}
