/* The command line: each flag's document, and what is refused. */
#include "base/mem.h"
#include "cmd/options.h"
#include "lib/tap.h"
#include "policy/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A command line split at blanks, for argv; its words are borrowed from text, which is changed. */
static int split(char *text, char **argv)
{
	int argc = 0;

	for (char *word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	return argc;
}

static int parse(struct options *o, enum tool tool, const char *line, struct err *err)
{
	/* The options' command lies in argv, which lives as long as the test. */
	static char text[4096], *argv[64];

	snprintf(text, sizeof(text), "sbx %s", line);
	*err = (struct err){0};
	return options_parse(o, tool, split(text, argv), argv, err);
}

struct good {
	const char *line, *flags;
};

#define DOC(x) "{\"sbx\":1," x "}"

static const struct good good[] = {
	{"--read /a --read=./b", DOC("\"filesystem\":{\"read\":[\"/a\",\"./b\"]}")},
	{"--write . --deny ~/x", DOC("\"filesystem\":{\"write\":[\".\"],\"deny\":[\"~/x\"]}")},
	{"--connect /run/a.sock --connect ~/b",
		DOC("\"filesystem\":{\"connect\":[\"/run/a.sock\",\"~/b\"]}")},
	{"--bind /a:/b", DOC("\"filesystem\":{\"mounts\":[{\"from\":\"/a\",\"at\":\"/"
			     "b\",\"access\":\"write\"}]}")},
	{"--bind /a:/b:ro --bind ./c:/d:rw",
		DOC("\"filesystem\":{\"mounts\":[{\"from\":\"/a\",\"at\":\"/"
		    "b\",\"access\":\"read\"},"
		    "{\"from\":\"./c\",\"at\":\"/d\",\"access\":\"write\"}]}")},
	{"--bind /a:ro", DOC("\"filesystem\":{\"mounts\":[{\"from\":\"/"
			     "a\",\"at\":\"ro\",\"access\":\"write\"}]}")},
	{"--tmpfs /a --tmpfs /b:64M", DOC("\"filesystem\":{\"tmpfs\":[{\"at\":\"/a\"},{\"at\":\"/"
					  "b\",\"size\":\"64M\"}]}")},
	{"--device /dev/kvm", DOC("\"filesystem\":{\"devices\":[\"/dev/kvm\"]}")},
	{"--proc fresh --proc none", DOC("\"filesystem\":{\"proc\":\"none\"}")},
	{"--net host", DOC("\"network\":\"host\"")},
	{"--net host --net none", DOC("\"network\":\"none\"")},
	{"--env A=1 --env B== --env A=2",
		DOC("\"environment\":{\"set\":{\"B\":\"=\",\"A\":\"2\"}}")},
	{"--inherit LC_*", DOC("\"environment\":{\"inherit\":[\"LC_*\"]}")},
	{"--secret A --secret B", DOC("\"environment\":{\"secrets\":[\"A\",\"B\"]}")},
	{"--chdir /w", DOC("\"process\":{\"cwd\":\"/w\"}")},
	{"--user 1:2 --user=owner", DOC("\"identity\":{\"user\":\"owner\"}")},
	{"--hostname h", DOC("\"identity\":{\"hostname\":\"h\"}")},
	{"--timeout 500ms", DOC("\"limits\":{\"wall\":\"500ms\"}")},
	{"--cpu 30s --memory 512M --processes 64 --output-limit=1M",
		DOC("\"limits\":{\"cpu\":\"30s\",\"memory\":\"512M\",\"processes\":\"64\","
		    "\"output\":\"1M\"}")},
	{"--memory 1G --timeout 5 --memory 2G",
		DOC("\"limits\":{\"wall\":\"5\",\"memory\":\"2G\"}")},
	{"--require memory --require=network", DOC("\"require\":[\"memory\",\"network\"]")},
	{"-p a", NULL},
};

static void test_good(void)
{
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		for (enum tool tool = TOOL_PLAN; tool <= TOOL_START; tool *= 2) {
			struct options o;
			struct err err;
			CLEANUP_FREE char *flags = NULL;

			if (!ok(parse(&o, tool, good[i].line, &err) == 0, "%s", good[i].line)) {
				diag("%s: %s", err.at, err.message);
				continue;
			}
			flags = o.flags ? json_print(o.flags, false) : NULL;
			is_str(flags, good[i].flags, "%s: the layer", good[i].line);
			options_clear(&o);
		}
}

struct bad {
	enum tool tool;
	const char *line, *at, *message, *hint;
};

static const struct bad bad[] = {
	{TOOL_EXEC, "--raed /x", "--raed", "unknown option", "did you mean --read?"},
	{TOOL_EXEC, "--timout=5", "--timout", "unknown option", "--timeout"},
	{TOOL_EXEC, "--xyzzy", "--xyzzy", "unknown option", "--help"},
	{TOOL_EXEC, "-z", "-z", "unknown option", "--help"},
	{TOOL_EXEC, "--rea /x", "--rea", "unknown option", "--read"},
	{TOOL_EXEC, "--dev /x", "--dev", "unknown option", "--help"},
	{TOOL_EXEC, "--check", "--check", "unknown option", ""},
	{TOOL_EXEC, "-0", "-0", "unknown option", ""},
	{TOOL_PLAN, "--report x", "--report", "unknown option", ""},
	{TOOL_PLAN, "--pass-fd 3", "--pass-fd", "unknown option", ""},
	{TOOL_EXEC, "--target-bwrap 0.8.0", "--target-bwrap", "unknown option", ""},
	{TOOL_PLAN, "--target-bwrap", "--target-bwrap", "needs an argument", ""},
	{TOOL_PLAN, "--target-bwrap=", "--target-bwrap", "MAJOR.MINOR.PATCH", "bwrap --version"},
	{TOOL_PLAN, "--target-bwrap 0.8.x", "--target-bwrap", "MAJOR.MINOR.PATCH", "0.8.0"},
	{TOOL_EXEC, "--print-seccomp", "--print-seccomp", "unknown option", ""},
	{TOOL_PLAN, "--print-seccomp --check", "--check", "an answer is text", ""},
	{TOOL_PLAN, "--print-seccomp --rules", "--rules",
		"--print-seccomp and --format tree can be asked for", ""},
	{TOOL_PLAN, "--rules -0", "-0", "an answer is text", ""},
	{TOOL_EXEC, "--seccomp", "--seccomp", "needs an argument", ""},
	{TOOL_EXEC, "--memory", "--memory", "needs an argument", ""},
	{TOOL_EXEC, "--require", "--require", "needs an argument", ""},
	{TOOL_PLAN, "--summary", "--summary", "unknown option", ""},
	{TOOL_PLAN, "--progress", "--progress", "unknown option", ""},
	{TOOL_EXEC, "--strict=x", "--strict=x", "takes no argument", ""},
	{TOOL_EXEC, "--verify=x", "--verify=x", "takes no argument", ""},
	{TOOL_PLAN, "--verify", "--verify", "unknown option", ""},
	{TOOL_EXEC, "--probe --strict", "--probe", "no policy", ""},
	{TOOL_EXEC, "--probe --summary", "--probe", "no command", ""},
	{TOOL_EXEC, "--progress --probe", "--probe", "no command", ""},
	{TOOL_EXEC, "--read", "--read", "needs an argument", ""},
	{TOOL_EXEC, "--connect", "--connect", "needs an argument", ""},
	{TOOL_EXEC, "--sockets", "--sockets", "unknown option", ""},
	{TOOL_PLAN, "--sockets=x", "--sockets=x", "takes no argument", ""},
	{TOOL_PLAN, "--sockets --rules", "--rules", "only one of", "once for each"},
	{TOOL_PLAN, "--sockets --check", "--check", "an answer is text", ""},
	{TOOL_EXEC, "-p", "-p", "needs an argument", ""},
	{TOOL_PLAN, "--json=x", "--json=x", "takes no argument", ""},
	{TOOL_EXEC, "--policy=", "--policy", "empty", ""},
	{TOOL_EXEC, "--bwrap=", "--bwrap", "empty", ""},
	{TOOL_EXEC, "--bind /a", "--bind", "FROM:AT", ""},
	{TOOL_EXEC, "--bind :/a", "--bind", "FROM:AT", ""},
	{TOOL_EXEC, "--bind /a:", "--bind", "FROM:AT", ""},
	{TOOL_EXEC, "--bind /a:/b:/c", "--bind", "FROM:AT", "mounts"},
	{TOOL_EXEC, "--bind /a:/b:rx", "--bind", "FROM:AT", ""},
	{TOOL_EXEC, "--bind /a:/b:ro:ro", "--bind", "FROM:AT", ""},
	{TOOL_EXEC, "--env A", "--env", "NAME=VALUE", "--inherit"},
	{TOOL_EXEC, "--pass-fd x", "--pass-fd", "number", ""},
	{TOOL_EXEC, "--pass-fd 2", "--pass-fd", "from 3 on", ""},
	{TOOL_EXEC, "--pass-fd -1", "--pass-fd", "from 3 on", ""},
	{TOOL_EXEC, "--pass-fd 99999999999", "--pass-fd", "number", ""},
	{TOOL_EXEC, "--pass-fd 3x", "--pass-fd", "number", ""},
	{TOOL_EXEC, "--report fd:", "--report", "fd:N", ""},
	{TOOL_EXEC, "--report fd:x", "--report", "fd:N", ""},
	{TOOL_EXEC, "--report=", "--report", "fd:N", ""},
	{TOOL_EXEC, "--capture true", "--capture", "no report", "--report FILE"},
	{TOOL_EXEC, "--output-dir=", "--output-dir", "empty", "directory"},
	{TOOL_PLAN, "--capture", "--capture", "unknown option", ""},
	{TOOL_EXEC, "--probe --output-dir x", "--probe", "no command", ""},
	{TOOL_EXEC, "--probe --capture", "--probe", "no command", ""},
	{TOOL_EXEC, "--probe true", "--probe", "no command", "--json and --bwrap"},
	{TOOL_EXEC, "--probe -p strict", "--probe", "no policy", ""},
	{TOOL_EXEC, "--net host --probe", "--probe", "no policy", ""},
	{TOOL_EXEC, "--probe --report fd:9", "--probe", "no command", ""},
	{TOOL_EXEC, "--json true", "--json", "with --probe only", "--report"},
	{TOOL_PLAN, "--probe", "--probe", "unknown option", ""},
	{TOOL_EXEC, "--read /a\xff", "--read", "not UTF-8", ""},
	{TOOL_EXEC, "--env A=\xff", "--env", "not UTF-8", "--inherit"},
	{TOOL_EXEC, "--script x", "--script", "unknown option", ""},
	{TOOL_START, "--report x", "--report", "unknown option", ""},
	{TOOL_START, "--pass-fd 3", "--pass-fd", "unknown option", ""},
	{TOOL_START, "--log-limit x", "--log-limit", "a size", "64M"},
	{TOOL_START, "--stdin=", "--stdin", "empty", ""},
	{TOOL_LIST, "a", "a", "no id", ""},
	{TOOL_LIST, "--read /x", "--read", "unknown option", ""},
	{TOOL_READ, "", "", "which job?", "usage: sbx-job read [options] id"},
	{TOOL_READ, "a b", "", "which job?", ""},
	{TOOL_READ, "a --from 0", "--from", "a number", "from 1"},
	{TOOL_READ, "a --from x", "--from", "a number", ""},
	{TOOL_READ, "a --lines -1", "--lines", "a number", ""},
	{TOOL_READ, "a --follow --json", "--follow", "all lines", ""},
	{TOOL_READ, "a --lines 4 --follow", "--follow", "all lines", ""},
	{TOOL_WAIT, "a --timeout x", "--timeout", "a time", "1d"},
	{TOOL_WAIT, "a --timeout 99999999d", "--timeout", "a time", ""},
	{TOOL_STOP, "", "", "which jobs?", "--all"},
	{TOOL_STOP, "a --all", "", "which jobs?", ""},
	{TOOL_STOP, "--all --grace -1", "--grace", "a time", ""},
	{TOOL_RM, "a --ended", "", "which jobs?", ""},
	{TOOL_RM, "a --older 1d", "--older", "--ended only", ""},
};

static void test_bad(void)
{
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct options o;
		struct err err;

		ok(parse(&o, bad[i].tool, bad[i].line, &err) == -1, "refused: %s", bad[i].line);
		is_int(err.kind, ERR_USAGE, "kind: %s", bad[i].line);
		is_str(err.at, bad[i].at, "place: %s", bad[i].line);
		if (!ok(strstr(err.message, bad[i].message) && strstr(err.hint, bad[i].hint),
			    "message: %s", bad[i].line))
			diag("%s (%s)", err.message, err.hint);
		ok(!o.flags && !o.policies.n, "nothing is left: %s", bad[i].line);
	}
}

/* What the options' layer says goes through the same checks as a policy, and is named as it was
 * written. */
static void test_through_policy(void)
{
	static const struct {
		const char *line, *at, *message;
	} rows[] = {
		{"--read foo", "command line: --read foo", "no path"},
		{"--read /a --write /b --read b", "command line: --read b", "no path"},
		{"--bind a:/b", "command line: --bind a:/b", "no path"},
		{"--bind /a:/b --bind /a:ro", "command line: --bind /a:ro", "no path"},
		{"--tmpfs /a:64Q", "command line: --tmpfs /a:64Q", "no size"},
		{"--net doors", "command line: --net doors", "\"none\" or \"host\""},
		{"--net none --net x", "command line: --net x", "\"none\" or \"host\""},
		{"--proc x", "command line: --proc x", "\"fresh\""},
		{"--env 1A=secret", "command line: --env 1A", "no name of a variable"},
		{"--inherit *", "command line: --inherit *", "names no variable"},
		{"--chdir x", "command line: --chdir x", "no path"},
		{"--user root", "command line: --user root", "in numbers, not \"root\""},
		{"--hostname _", "command line: --hostname _", "no host name"},
		{"--timeout 0", "command line: --timeout 0", "no duration"},
		{"--cpu 0", "command line: --cpu 0", "no duration"},
		{"--memory 1K", "command line: --memory 1K", "too little memory"},
		{"--processes 3", "command line: --processes 3", "from 4"},
		{"--processes x", "command line: --processes x", "from 4"},
		{"--output-limit 0", "command line: --output-limit 0", "no size"},
		{"--require speed", "command line: --require speed", "must be"},
		{"--device /proc/x", "command line: --device /proc/x", "/proc is always"},
	};
	static const struct policy_context context = {.home = "/home/u", .cwd = "/w"};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		CLEANUP_STRVEC struct strvec none = {0};
		struct options o;
		struct policy policy;
		struct err err;

		if (!ok(parse(&o, TOOL_EXEC, rows[i].line, &err) == 0, "%s", rows[i].line))
			continue;
		ok(policy_load(&policy, &none, o.flags, &o.flag_names, &context, &err) < 0,
			"refused: %s", rows[i].line);
		is_int(err.kind, ERR_USAGE, "kind: %s", rows[i].line);
		is_str(err.at, rows[i].at, "place: %s", rows[i].line);
		ok(strstr(err.message, rows[i].message) != NULL, "message: %s", rows[i].line);
		options_clear(&o);
	}
}

static void test_jobs(void)
{
	struct options o;
	struct err err;
	uint64_t ms;

	ok(parse(&o, TOOL_READ, "--from 7 a --lines=8 --stderr", &err) == 0 && o.from == 7 &&
			o.lines == 8 && o.errors && o.ids.n == 1 && !strcmp(o.ids.v[0], "a"),
		"options stand before and after an id");
	options_clear(&o);
	ok(parse(&o, TOOL_STOP, "a b --grace 0 c", &err) == 0 && o.ids.n == 3 &&
			!strcmp(o.grace, "0"),
		"... and between several");
	options_clear(&o);
	ok(parse(&o, TOOL_RM, "a --all -- b -c", &err) < 0 &&
			parse(&o, TOOL_STOP, "a -- b --all", &err) == 0 && o.ids.n == 3 && !o.all &&
			!strcmp(o.ids.v[2], "--all"),
		"... and none after --");
	options_clear(&o);
	ok(parse(&o, TOOL_START, "--split --log-limit 1M make --split", &err) == 0 && o.split &&
			o.log_limit == 1 << 20 && o.n_command == 2,
		"those behind a command are its own");
	options_clear(&o);
	ok(options_time("0", &ms) && ms == 0, "no time");
	ok(options_time("2d", &ms) && ms == 172800000, "days");
	ok(options_time("1500ms", &ms) && ms == 1500, "milliseconds");
	ok(!options_time("d", &ms) && !options_time("", &ms) && !options_time("0d", &ms) &&
			!options_time("-1", &ms),
		"no times");
}

static void test_rest(void)
{
	struct options o;
	struct err err;

	is_int(parse(&o, TOOL_EXEC, "", &err), 0, "nothing at all");
	ok(o.policies.n == 1 && strcmp(o.policies.v[0], "default") == 0,
		"the policy is then default");
	ok(o.n_command == 0 && !o.command[0], "and there is no command");
	options_clear(&o);

	parse(&o, TOOL_EXEC, "-p a --policy ./b -pc make --read -p x", &err);
	is_int((long long)o.policies.n, 3, "policies in order");
	ok(o.policies.n == 3 && !strcmp(o.policies.v[0], "a") && !strcmp(o.policies.v[2], "c"),
		"as given");
	is_int((long long)o.n_command, 4, "the first word that is no option begins the command");
	is_str(o.command[1], "--read", "whose options are its own");
	ok(!o.flags && !o.command[4], "and not ours");
	options_clear(&o);

	parse(&o, TOOL_EXEC, "--net none -- --net host", &err);
	is_str(o.command[0], "--net", "-- ends the options");
	is_int((long long)o.n_command, 2, "the rest is the command");
	options_clear(&o);

	parse(&o, TOOL_EXEC,
		"--pass-fd 3 --pass-fd 7 --pass-fd 3 --report fd:9 --bwrap /b --bwrap /c", &err);
	ok(o.n_pass_fds == 2 && o.pass_fds[0] == 3 && o.pass_fds[1] == 7, "descriptors, each once");
	is_str(o.report, "fd:9", "report");
	is_str(o.bwrap, "/c", "the last bwrap");
	options_clear(&o);

	ok(!o.strict && !o.summary && !o.progress, "no switch is on unless it is said");
	parse(&o, TOOL_EXEC, "--strict", &err);
	ok(o.strict && !o.summary && !o.progress && !o.probe, "--strict alone");
	options_clear(&o);
	parse(&o, TOOL_EXEC, "--summary", &err);
	ok(o.summary && !o.strict && !o.progress && !o.probe, "--summary alone");
	options_clear(&o);
	parse(&o, TOOL_EXEC, "--progress", &err);
	ok(o.progress && !o.strict && !o.summary && !o.probe, "--progress alone");
	options_clear(&o);
	parse(&o, TOOL_PLAN, "--strict", &err);
	ok(o.strict, "--strict of sbx-plan");
	options_clear(&o);
	for (enum tool tool = TOOL_EXEC; tool <= TOOL_START; tool *= 2) {
		parse(&o, tool, "--verify --verify", &err);
		ok(json_bool(json_get(json_get(o.flags, "filesystem"), "verify")),
			"--verify is a part of the policy");
		options_clear(&o);
	}

	parse(&o, TOOL_EXEC, "--probe --json --bwrap /b", &err);
	ok(o.probe && o.output == OUTPUT_JSON && o.n_command == 0, "--probe as JSON");
	options_clear(&o);
	parse(&o, TOOL_PLAN, "--target-bwrap 0.7.0 --target-bwrap 0.12", &err);
	ok(o.target && o.target->part[1] == 12, "the last target");
	options_clear(&o);
	parse(&o, TOOL_PLAN, "", &err);
	is_int(o.output, OUTPUT_PRINT, "sbx-plan prints unless told otherwise");
	ok(!o.target, "for no release of bwrap in particular");
	options_clear(&o);
	parse(&o, TOOL_PLAN, "-0 x", &err);
	is_int(o.output, OUTPUT_NUL, "-0");
	options_clear(&o);
	parse(&o, TOOL_PLAN, "--json", &err);
	is_int(o.output, OUTPUT_JSON, "--json");
	options_clear(&o);
	parse(&o, TOOL_PLAN, "--json --check", &err);
	is_int(o.output, OUTPUT_CHECK, "--check");
	options_clear(&o);
	parse(&o, TOOL_PLAN, "--sockets --json", &err);
	ok(o.answer == ANSWER_SOCKETS && !o.questions.n && o.output == OUTPUT_JSON, "--sockets");
	options_clear(&o);
	options_clear(&o);
}

/* What a stream gets while something is done; freed by the caller. */
static FILE *begin_capture(int fd, int *saved)
{
	FILE *file = tmpfile();

	fflush(stdout);
	*saved = dup(fd);
	dup2(fileno(file), fd);
	return file;
}

static char *end_capture(FILE *file, int fd, int saved)
{
	char *text = xcalloc(1, 1 << 16);

	fflush(stdout);
	dup2(saved, fd);
	close(saved);
	rewind(file);
	text[fread(text, 1, (1 << 16) - 1, file)] = '\0';
	fclose(file);
	return text;
}

static char *help(enum tool tool, const char *line, int *rc)
{
	struct options o;
	struct err err;
	int saved;
	FILE *file = begin_capture(1, &saved);

	*rc = parse(&o, tool, line, &err);
	return end_capture(file, 1, saved);
}

static void test_help(void)
{
	static const char *const plan[] = {
		"sbx-plan [options]", "--print", "-0", "--check", "--target-bwrap VERSION"};
	static const char *const exec[] = {"sbx-exec [options]", "--report FILE|fd:N",
		"--pass-fd N", "--probe", "--summary", "--progress", "--verify"};
	static const char *const both[] = {"-p, --policy NAME|FILE", "--read PATH", "--write PATH",
		"--deny PATH", "--connect SOCKET", "--bind FROM:AT[:ro|:rw]", "--tmpfs AT[:SIZE]",
		"--device PATH", "--proc auto|fresh|bind|none", "--net none|host",
		"--env NAME=VALUE", "--inherit NAME", "--secret NAME", "--chdir DIR",
		"--user UID[:GID]|owner|caller", "--hostname HOST", "--timeout TIME", "--cpu TIME",
		"--memory SIZE", "--processes N", "--output-limit SIZE", "--require NAME",
		"--strict", "--bwrap PATH", "--json", "--help", "--version", "\nPolicy\n"};
	int rc_plan, rc_exec, rc;
	CLEANUP_FREE char *p = help(TOOL_PLAN, "--help", &rc_plan),
			  *e = help(TOOL_EXEC, "-h x", &rc_exec);
	CLEANUP_FREE char *version = help(TOOL_EXEC, "--version", &rc);

	ok(rc_plan == 1 && rc_exec == 1 && rc == 1, "--help and --version are answered");
	is_str(version, "sbx-exec 0.1.0\n", "--version");
	for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++)
		ok(strstr(p, both[i]) && strstr(e, both[i]), "help of both has %s", both[i]);
	for (size_t i = 0; i < sizeof(plan) / sizeof(*plan); i++)
		ok(strstr(p, plan[i]) && !strstr(e, plan[i]), "help of sbx-plan alone has %s",
			plan[i]);
	for (size_t i = 0; i < sizeof(exec) / sizeof(*exec); i++)
		ok(strstr(e, exec[i]) && !strstr(p, exec[i]), "help of sbx-exec alone has %s",
			exec[i]);
	/* strtok changes e: it comes last. */
	for (char *line = strtok(e, "\n"); line; line = strtok(NULL, "\n"))
		ok(strlen(line) <= 80, "a line of at most 80: %s", line);
}

static void test_completion(void)
{
	int rc;
	CLEANUP_FREE char *plan = help(TOOL_PLAN, "--completion", &rc),
			  *stop = help(TOOL_STOP, "x --completion", &rc);

	ok(rc == 1, "--completion is answered");
	is_str(stop,
		"[options] id ... | --all\n--all\tevery job\n--grace\tbetween TERM and KILL "
		"(1s)\tTIME\n"
		"-h --help\tshow this\n--version\tshow the version\n"
		"--completion\tshow these options for a shell to complete\n",
		"what there is of a command");
	ok(strstr(plan, "\tNAME|FILE\tagent-container default "), "policies are known");
	ok(strstr(plan, "\tNAME\tprotect fresh-proc "), "what can be required, too");
	ok(strstr(plan, "\tauto|fresh|bind|none\tauto fresh bind none\n"),
		"all words of an argument");
	ok(strstr(plan, "\tUID[:GID]|owner|caller\towner caller\n"), "words beside others");
	ok(strstr(plan, "\tFROM:AT[:ro|:rw]\n"), "no words");
	ok(strstr(plan, "\n-0\tbwrap's options"), "an option that is a letter only");
}

static char *printed(const struct err *err)
{
	int saved;
	FILE *file = begin_capture(2, &saved);

	print_err("sbx-exec", err);
	return end_capture(file, 2, saved);
}

static void test_print_err(void)
{
	struct err err = {0};
	CLEANUP_FREE char *plain = NULL, *full = NULL, *hostile = NULL;

	err_set(&err, ERR_PLAN, "it does not work");
	plain = printed(&err);
	is_str(plain,
		"sbx-exec: it does not work\nsbx-exec: hint: sbx-policy(5) says what rules may ask "
		"for\n",
		"a message without a hint of its own");
	err_hint(&err, "do something else");
	err_at(&err, "p.json: /x");
	full = printed(&err);
	is_str(full, "sbx-exec: p.json: /x: it does not work\nsbx-exec: hint: do something else\n",
		"place, message and hint");
	err_set(&err, ERR_PLAN,
		"a\033[2J\n\r\t\x7f \xc2\x9b \xff\xc3 \xc3\xa9\xe2\x82\xac\xc2\xa0 \\x41 %%s");
	err_hint(&err, "\x08");
	err_at(&err, "\x1b]0;x\x07");
	hostile = printed(&err);
	is_str(hostile,
		"sbx-exec: \\x1b]0;x\\x07: a\\x1b[2J\\x0a\\x0d\\x09\\x7f \\xc2\\x9b \\xff\\xc3 "
		"\xc3\xa9\xe2\x82\xac\xc2\xa0 \\x41 %s\nsbx-exec: hint: \\x08\n",
		"nothing reaches the terminal that could steer it");
}

int main(void)
{
	test_good();
	test_bad();
	test_through_policy();
	test_jobs();
	test_rest();
	test_help();
	test_completion();
	test_print_err();
	return done_testing();
}
