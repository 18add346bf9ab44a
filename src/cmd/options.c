#include "cmd/options.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "policy/policy.h"
#include "policy/value.h"

#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Those that plan a run, those that start one, those of jobs that there are, and all. */
#define RUNS (TOOL_PLAN | TOOL_EXEC | TOOL_START)
#define STARTS (TOOL_EXEC | TOOL_START)
#define JOBS (TOOL_LIST | TOOL_READ | TOOL_WAIT | TOOL_STOP | TOOL_RM | TOOL_REPORT)
#define ALL (RUNS | JOBS)

struct parse {
	struct options *options;
	enum tool tool;
	struct err *err;
};

struct option_row;
typedef int handle_fn(struct parse *p, const struct option_row *row, const char *arg);

/* One option. The table is all there is: getopt's lists and the help come from it. */
struct option_row {
	const char *group; /* heading in the help, for the first of its group */
	const char *name;
	char letter; /* 0 = none; a row without name has only the letter */
	/* What the help calls the argument; NULL = none, "[=": it can be left out. Shells'
	 * completions go by it (contrib/completions): PATH, FILE, ..., and words in small letters
	 * stand for themselves. */
	const char *arg;
	const char *help;
	unsigned tools;
	handle_fn *handle;
	const char *section, *key; /* where the flag's value goes in the command line's layer */
	/* set_output: enum plan_output; add_question: enum plan_answer; set_switch, set_text,
	 * set_size, set_count, set_time: the field's place in struct options */
	int value;
};

static handle_fn add_policy, add_to_list, set_value, set_true, add_bind, add_tmpfs, add_variable,
	set_bwrap, set_report, set_output_dir, set_tty, set_text, set_size, set_count, set_time,
	add_pass_fd, set_output, set_format, add_question, set_switch, set_target, show_help,
	show_version, show_completion;

static const struct option_row table[] = {
	{"Policy", "policy", 'p', "NAME|FILE", "add a policy: a name, or a file (with a slash)",
		RUNS, add_policy, NULL, NULL, 0},
	{NULL, "read", 0, "PATH", "make a path readable", RUNS, add_to_list, "filesystem", "read",
		0},
	{NULL, "write", 0, "PATH", "make a path writable", RUNS, add_to_list, "filesystem", "write",
		0},
	{NULL, "deny", 0, "PATH", "hide a path", RUNS, add_to_list, "filesystem", "deny", 0},
	{NULL, "connect", 0, "SOCKET", "let it connect to a socket of the host", RUNS, add_to_list,
		"filesystem", "connect", 0},
	{NULL, "bind", 0, "FROM:AT[:ro|:rw]", "show the host's FROM at AT, writable or read-only",
		RUNS, add_bind, "filesystem", "mounts", 0},
	{NULL, "tmpfs", 0, "AT[:SIZE]", "put an empty writable directory at AT", RUNS, add_tmpfs,
		"filesystem", "tmpfs", 0},
	{NULL, "device", 0, "PATH", "give a device", RUNS, add_to_list, "filesystem", "devices", 0},
	{NULL, "proc", 0, "auto|fresh|bind|none", "which /proc it has", RUNS, set_value,
		"filesystem", "proc", 0},
	{NULL, "net", 0, "none|host", "no network, or the host's", RUNS, set_value, NULL, "network",
		0},
	{"Command", "env", 0, "NAME=VALUE", "set a variable", RUNS, add_variable, "environment",
		"set", 0},
	{NULL, "inherit", 0, "NAME", "pass on a variable (NAME* all that begin so)", RUNS,
		add_to_list, "environment", "inherit", 0},
	{NULL, "secret", 0, "NAME", "pass on a variable whose value is never printed", RUNS,
		add_to_list, "environment", "secrets", 0},
	{NULL, "chdir", 0, "DIR", "start in this directory of the sandbox", RUNS, set_value,
		"process", "cwd", 0},
	{NULL, "user", 0, "UID[:GID]|owner|caller", "the user to run it as", RUNS, set_value,
		"identity", "user", 0},
	{NULL, "hostname", 0, "HOST", "the host name inside", RUNS, set_value, "identity",
		"hostname", 0},
	{NULL, "timeout", 0, "TIME", "end the command after 120s, 2m, 1h, 500ms", RUNS, set_value,
		"limits", "wall", 0},
	{NULL, "cpu", 0, "TIME", "end it after so much processor time", RUNS, set_value, "limits",
		"cpu", 0},
	{NULL, "memory", 0, "SIZE", "the memory of all its processes: 512M, 2G", RUNS, set_value,
		"limits", "memory", 0},
	{NULL, "processes", 0, "N", "how many processes and threads there can be", RUNS, set_value,
		"limits", "processes", 0},
	{NULL, "output-limit", 0, "SIZE", "how much it can write to stdout and stderr each", RUNS,
		set_value, "limits", "output", 0},
	{NULL, "seccomp", 0, "default|strict|none", "which system calls it can make", RUNS,
		set_value, NULL, "seccomp", 0},
	{NULL, "require", 0, "NAME", "do not run if this cannot be enforced: memory", RUNS,
		add_to_list, NULL, "require", 0},
	{NULL, "pass-fd", 0, "N", "keep this descriptor open for the command", TOOL_EXEC,
		add_pass_fd, NULL, NULL, 0},
	{NULL, "tty", 0, "[=always|never|auto]", "whether it has a terminal of its own", TOOL_EXEC,
		set_tty, NULL, NULL, 0},
	{"Output", "print", 0, NULL, "bwrap's options for a shell, one a line (the default)",
		TOOL_PLAN, set_output, NULL, NULL, OUTPUT_PRINT},
	{NULL, NULL, '0', NULL, "bwrap's options, NUL-separated, for its --args", TOOL_PLAN,
		set_output, NULL, NULL, OUTPUT_NUL},
	{NULL, "json", 0, NULL, "each step with the rule behind it, as JSON", TOOL_PLAN, set_output,
		NULL, NULL, OUTPUT_JSON},
	{NULL, "check", 0, NULL, "only prove the plan, and say its size", TOOL_PLAN, set_output,
		NULL, NULL, OUTPUT_CHECK},
	{NULL, "explain", 0, "PATH", "what is at a path of the sandbox, and why", TOOL_PLAN,
		add_question, NULL, NULL, ANSWER_EXPLAIN},
	{NULL, "map", 0, "[host:]PATH", "the host's path of a path, or where the host's shows",
		TOOL_PLAN, add_question, NULL, NULL, ANSWER_MAP},
	{NULL, "rules", 0, NULL, "what became of every rule", TOOL_PLAN, add_question, NULL, NULL,
		ANSWER_RULES},
	{NULL, "sockets", 0, NULL, "which sockets and FIFOs are left to talk to", TOOL_PLAN,
		add_question, NULL, NULL, ANSWER_SOCKETS},
	{NULL, "print-seccomp", 0, NULL, "the filter of system calls in words (-0: its bytes)",
		TOOL_PLAN, add_question, NULL, NULL, ANSWER_SECCOMP},
	{NULL, "strict", 0, NULL, "refuse rules without effect or not enforced", TOOL_PLAN,
		set_switch, NULL, NULL, offsetof(struct options, strict)},
	{NULL, "target-bwrap", 0, "VERSION", "use only options that this bwrap has", TOOL_PLAN,
		set_target, NULL, NULL, 0},
	{NULL, "report", 0, "FILE|fd:N", "write what happened, as JSON", TOOL_EXEC, set_report,
		NULL, NULL, 0},
	{NULL, "capture", 0, NULL, "put the command's output into the report", TOOL_EXEC,
		set_switch, NULL, NULL, offsetof(struct options, capture)},
	{NULL, "output-dir", 0, "DIR", "put it into the files stdout and stderr there", TOOL_EXEC,
		set_output_dir, NULL, NULL, 0},
	{NULL, "summary", 0, NULL, "say at the end how it went, on standard error", TOOL_EXEC,
		set_switch, NULL, NULL, offsetof(struct options, summary)},
	{NULL, "progress", 0, NULL, "a status line while output is captured", TOOL_EXEC, set_switch,
		NULL, NULL, offsetof(struct options, progress)},
	{NULL, "strict", 0, NULL, "sbx-plan's --strict, and 125 after a violation", STARTS,
		set_switch, NULL, NULL, offsetof(struct options, strict)},
	{NULL, "verify", 0, NULL, "compare its mount table with the plan, always", STARTS, set_true,
		"filesystem", "verify", 0},
	{NULL, "probe", 0, NULL, "say what can be done on this host; run nothing", TOOL_EXEC,
		set_switch, NULL, NULL, offsetof(struct options, probe)},
	{NULL, "json", 0, NULL, "with --probe: as JSON, on a terminal too", TOOL_EXEC, set_output,
		NULL, NULL, OUTPUT_JSON},
	{NULL, "format", 0, "FORMAT", "print, json, check, or tree: what is seen, and why",
		TOOL_PLAN, set_format, NULL, NULL, 0},
	{NULL, "init", 0, NULL, "write a first policy for a directory, to sbx.json in it",
		TOOL_PLAN, set_switch, NULL, NULL, offsetof(struct options, init)},
	{"Job", "stdin", 0, "FILE", "the command's standard input; else it is empty", TOOL_START,
		set_text, NULL, NULL, offsetof(struct options, input)},
	{NULL, "script", 0, "FILE|-", "run this script; the command's words are its arguments",
		TOOL_START, set_text, NULL, NULL, offsetof(struct options, script)},
	{NULL, "log-limit", 0, "SIZE", "how much of the output is kept (64M)", TOOL_START, set_size,
		NULL, NULL, offsetof(struct options, log_limit)},
	{NULL, "split", 0, NULL, "keep stdout and stderr apart", TOOL_START, set_switch, NULL, NULL,
		offsetof(struct options, split)},
	{NULL, "from", 0, "LINE", "begin with this line (1)", TOOL_READ, set_count, NULL, NULL,
		offsetof(struct options, from)},
	{NULL, "lines", 0, "N", "give so many lines (400)", TOOL_READ, set_count, NULL, NULL,
		offsetof(struct options, lines)},
	{NULL, "follow", 0, NULL, "go on until the job has ended", TOOL_READ, set_switch, NULL,
		NULL, offsetof(struct options, follow)},
	{NULL, "stderr", 0, NULL, "standard error, of a job with --split", TOOL_READ, set_switch,
		NULL, NULL, offsetof(struct options, errors)},
	{NULL, "timeout", 0, "TIME", "wait so long at most, then 124", TOOL_WAIT, set_time, NULL,
		NULL, offsetof(struct options, timeout)},
	{NULL, "all", 0, NULL, "every job", TOOL_STOP, set_switch, NULL, NULL,
		offsetof(struct options, all)},
	{NULL, "grace", 0, "TIME", "between TERM and KILL (1s)", TOOL_STOP, set_time, NULL, NULL,
		offsetof(struct options, grace)},
	{NULL, "ended", 0, NULL, "every job that has ended or is lost", TOOL_RM, set_switch, NULL,
		NULL, offsetof(struct options, ended)},
	{NULL, "older", 0, "TIME", "with --ended: so long ago at least: 1d, 2h", TOOL_RM, set_time,
		NULL, NULL, offsetof(struct options, older)},
	{NULL, "json", 0, NULL, "as JSON", TOOL_LIST | TOOL_READ, set_output, NULL, NULL,
		OUTPUT_JSON},
	{"Other", "bwrap", 0, "PATH", "the bwrap to use", RUNS, set_bwrap, NULL, NULL, 0},
	{NULL, "help", 'h', NULL, "show this", ALL, show_help, NULL, NULL, 0},
	{NULL, "version", 0, NULL, "show the version", ALL, show_version, NULL, NULL, 0},
	{NULL, "completion", 0, NULL, "show these options for a shell to complete", ALL,
		show_completion, NULL, NULL, 0},
};

#define N_ROWS (sizeof(table) / sizeof(*table))

/* Whether the option's argument can be left out. */
static bool is_optional(const struct option_row *row)
{
	return row->arg && strncmp(row->arg, "[=", 2) == 0;
}

static const char *tool_name(enum tool tool)
{
	static const struct {
		enum tool tool;
		const char *name;
	} names[] = {
		{TOOL_PLAN, "sbx-plan"},
		{TOOL_EXEC, "sbx-exec"},
		{TOOL_START, "sbx-job start"},
		{TOOL_LIST, "sbx-job list"},
		{TOOL_READ, "sbx-job read"},
		{TOOL_WAIT, "sbx-job wait"},
		{TOOL_STOP, "sbx-job stop"},
		{TOOL_RM, "sbx-job rm"},
		{TOOL_REPORT, "sbx-job report"},
	};
	size_t i = 0;

	while (names[i].tool != tool)
		i++;
	return names[i].name;
}

static int usage(struct parse *p, const char *at, const char *message, const char *hint)
{
	err_set(p->err, ERR_USAGE, "%s", message);
	err_hint(p->err, "%s", hint);
	return err_at(p->err, "%s", at);
}

/* The command line's layer */

/* The object or array under key, made when it is not there. */
static json *member(json *parent, const char *key, json *(*make)(void))
{
	const json *found = json_get(parent, key);

	return found ? (json *)found : json_add(parent, key, make());
}

/* An object of the layer: the one called name, or, for NULL, the layer itself. */
static json *layer_section(struct options *options, const char *name)
{
	if (!options->flags) {
		options->flags = json_new_object();
		json_add_number(options->flags, "sbx", 1);
	}
	return name ? member(options->flags, name, json_new_object) : options->flags;
}

/* The object in which a flag's key lies. */
static json *section(struct parse *p, const struct option_row *row)
{
	return layer_section(p->options, row->section);
}

void options_add_file(struct options *options, const char *at, const char *text, const char *flag)
{
	/* No flag makes "files": this is the first. */
	json *files = options_member(options, "filesystem", "files", json_new_array);
	json *file = json_add(files, NULL, json_new_object());

	json_add_string(file, "at", at);
	json_add_string(file, "text", text);
	strvec_push(&options->flag_names, "/filesystem/files/0");
	strvec_push(&options->flag_names, flag);
}

json *options_member(
	struct options *options, const char *section, const char *key, json *(*make)(void))
{
	return member(layer_section(options, section), key, make);
}

/* Remembers which flag made the value at SECTION/KEY and the last step (NULL = none). */
static void name_flag(
	struct parse *p, const struct option_row *row, const char *step, const char *arg)
{
	struct json_place at_section = {NULL, row->section, 0};
	struct json_place at_key = {row->section ? &at_section : NULL, row->key, 0};
	struct json_place at_step = {&at_key, step, 0};

	strvec_take(&p->options->flag_names, json_pointer(step ? &at_step : &at_key));
	strvec_pushf(&p->options->flag_names, "--%s %s", row->name, arg);
}

/* JSON is UTF-8: another path would name another file once it is a policy's. */
static int check_utf8(struct parse *p, const struct option_row *row, const char *arg)
{
	CLEANUP_FREE char *at = xasprintf("--%s", row->name);

	if (utf8_valid(arg))
		return 0;
	return usage(p, at, "the argument is not UTF-8, which a policy's strings have to be",
		"name a directory above it, or use --inherit for a variable");
}

/* The list that the caller will append one element to; the flag is remembered for that. */
static json *list(struct parse *p, const struct option_row *row, const char *arg)
{
	json *found = member(section(p, row), row->key, json_new_array);
	CLEANUP_FREE char *index = NULL;
	size_t n = 0;

	for (const json *v = json_first(found); v; v = json_next(v))
		n++;
	index = xasprintf("%zu", n);
	name_flag(p, row, index, arg);
	return found;
}

static int add_to_list(struct parse *p, const struct option_row *row, const char *arg)
{
	json_add_string(list(p, row, arg), NULL, arg);
	return 0;
}

/* The last of several wins, as of most programs' options. */
static int set_value(struct parse *p, const struct option_row *row, const char *arg)
{
	json *object = section(p, row);

	json_remove(object, row->key);
	json_add_string(object, row->key, arg);
	name_flag(p, row, NULL, arg);
	return 0;
}

static int set_true(struct parse *p, const struct option_row *row, const char *arg)
{
	json *object = section(p, row);

	(void)arg;
	json_remove(object, row->key);
	json_add_bool(object, row->key, true);
	return 0;
}

static int add_bind(struct parse *p, const struct option_row *row, const char *arg)
{
	CLEANUP_FREE char *text = xstrdup(arg);
	const char *access = "write";
	char *at = strchr(text, ':'), *mode = strrchr(text, ':');
	json *mount;

	if (mode != at && (strcmp(mode, ":ro") == 0 || strcmp(mode, ":rw") == 0)) {
		access = mode[2] == 'o' ? "read" : "write";
		*mode = '\0';
	}
	if (!at || at == text || !at[1] || strchr(at + 1, ':'))
		return usage(p, "--bind", "the argument must be FROM:AT, FROM:AT:ro or FROM:AT:rw",
			"paths with a \":\" can be mounted by a policy's \"mounts\"");
	*at++ = '\0';
	mount = json_add(list(p, row, arg), NULL, json_new_object());
	json_add_string(mount, "from", text);
	json_add_string(mount, "at", at);
	json_add_string(mount, "access", access);
	return 0;
}

static int add_tmpfs(struct parse *p, const struct option_row *row, const char *arg)
{
	CLEANUP_FREE char *at = xstrdup(arg);
	char *size = strrchr(at, ':');
	json *tmpfs;

	if (size)
		*size++ = '\0';
	tmpfs = json_add(list(p, row, arg), NULL, json_new_object());
	json_add_string(tmpfs, "at", at);
	if (size)
		json_add_string(tmpfs, "size", size);
	return 0;
}

static int add_variable(struct parse *p, const struct option_row *row, const char *arg)
{
	CLEANUP_FREE char *name = xstrdup(arg);
	char *value = strchr(name, '=');
	json *variables;

	if (!value)
		return usage(p, "--env", "the argument must be NAME=VALUE",
			"--inherit NAME passes on the caller's value");
	*value++ = '\0';
	variables = member(section(p, row), row->key, json_new_object);
	json_remove(variables, name);
	json_add_string(variables, name, value);
	/* Only the name: the value may be a secret. */
	name_flag(p, row, name, name);
	return 0;
}

/* The other options */

static int add_policy(struct parse *p, const struct option_row *row, const char *arg)
{
	(void)row;
	if (!*arg)
		return usage(p, "--policy", "the argument is empty",
			"give the name of a policy, or a file");
	strvec_push(&p->options->policies, arg);
	return 0;
}

static void replace(char **to, const char *text)
{
	free(*to);
	*to = xstrdup(text);
}

static int set_bwrap(struct parse *p, const struct option_row *row, const char *arg)
{
	(void)row;
	if (!*arg)
		return usage(p, "--bwrap", "the argument is empty", "give the path of a bwrap");
	replace(&p->options->bwrap, arg);
	return 0;
}

/* A descriptor's number, or -1. */
static int fd_number(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && n <= INT_MAX ? (int)n : -1;
}

static int set_report(struct parse *p, const struct option_row *row, const char *arg)
{
	(void)row;
	if (!*arg || (strncmp(arg, "fd:", 3) == 0 && fd_number(arg + 3) < 0))
		return usage(p, "--report", "the argument must be a file or fd:N",
			"N is the number of an open descriptor");
	replace(&p->options->report, arg);
	return 0;
}

static int set_output_dir(struct parse *p, const struct option_row *row, const char *arg)
{
	(void)row;
	if (!*arg)
		return usage(p, "--output-dir", "the argument is empty", "give a directory");
	replace(&p->options->output_dir, arg);
	return 0;
}

static int set_tty(struct parse *p, const struct option_row *row, const char *arg)
{
	static const char *const whens[] = {
		[TTY_AUTO] = "auto", [TTY_ALWAYS] = "always", [TTY_NEVER] = "never"};

	(void)row;
	for (int i = 0; i < (int)(sizeof(whens) / sizeof(*whens)); i++) {
		if (strcmp(arg ? arg : "always", whens[i]) == 0) {
			p->options->tty = (enum tty_when)i;
			return 0;
		}
	}
	return usage(p, "--tty", "the argument must be always, never or auto",
		"--tty alone means always");
}

static int add_pass_fd(struct parse *p, const struct option_row *row, const char *arg)
{
	struct options *o = p->options;
	int fd = fd_number(arg);

	(void)row;
	if (fd < 3)
		return usage(p, "--pass-fd",
			"the argument must be the number of an open descriptor, from 3 on",
			"0, 1 and 2 are always passed on");
	for (size_t i = 0; i < o->n_pass_fds; i++)
		if (o->pass_fds[i] == fd)
			return 0;
	o->pass_fds = xreallocarray(o->pass_fds, o->n_pass_fds + 1, sizeof(*o->pass_fds));
	o->pass_fds[o->n_pass_fds++] = fd;
	return 0;
}

static int set_output(struct parse *p, const struct option_row *row, const char *arg)
{
	(void)arg;
	p->options->output = (enum plan_output)row->value;
	return 0;
}

static int set_answer(struct parse *p, const char *at, enum plan_answer answer)
{
	if (p->options->answer != ANSWER_PLAN && p->options->answer != answer)
		return usage(p, at,
			"only one of --explain, --map, --rules, --sockets, --print-seccomp and "
			"--format tree can be asked for",
			"run sbx-plan once for each");
	p->options->answer = answer;
	return 0;
}

static int set_format(struct parse *p, const struct option_row *row, const char *arg)
{
	static const char *const names[] = {
		[OUTPUT_PRINT] = "print", [OUTPUT_JSON] = "json", [OUTPUT_CHECK] = "check"};

	(void)row;
	if (strcmp(arg, "tree") == 0)
		return set_answer(p, "--format", ANSWER_TREE);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i] && strcmp(names[i], arg) == 0) {
			p->options->output = (enum plan_output)i;
			return 0;
		}
	return usage(p, "--format", "the argument must be print, json, check or tree",
		"print, json and check are what the options of these names ask for");
}

static int add_question(struct parse *p, const struct option_row *row, const char *arg)
{
	struct options *o = p->options;
	CLEANUP_FREE char *at = xasprintf("--%s", row->name);

	if (set_answer(p, at, (enum plan_answer)row->value) < 0)
		return -1;
	if (arg && !*arg)
		return usage(p, at, "the argument is empty", "give a path of the sandbox");
	if (arg)
		strvec_push(&o->questions, arg);
	return 0;
}

static int set_switch(struct parse *p, const struct option_row *row, const char *arg)
{
	(void)arg;
	*(bool *)((char *)p->options + row->value) = true;
	return 0;
}

static int set_text(struct parse *p, const struct option_row *row, const char *arg)
{
	CLEANUP_FREE char *at = xasprintf("--%s", row->name);

	if (!*arg)
		return usage(p, at, "the argument is empty", "give a file");
	replace((char **)((char *)p->options + row->value), arg);
	return 0;
}

static int set_size(struct parse *p, const struct option_row *row, const char *arg)
{
	CLEANUP_FREE char *at = xasprintf("--%s", row->name);

	if (value_size(arg, (uint64_t *)((char *)p->options + row->value)))
		return 0;
	return usage(p, at, "the argument must be a size", "write 64M, 512K, 1G or 4096 (bytes)");
}

static int set_count(struct parse *p, const struct option_row *row, const char *arg)
{
	CLEANUP_FREE char *at = xasprintf("--%s", row->name);

	if (value_count(arg, (uint64_t *)((char *)p->options + row->value)))
		return 0;
	return usage(p, at, "the argument must be a number", "count from 1");
}

bool options_time(const char *text, uint64_t *ms)
{
	size_t len = strlen(text);
	CLEANUP_FREE char *days = len && text[len - 1] == 'd' ? xstrndup(text, len - 1) : NULL;

	*ms = 0;
	if (strcmp(text, "0") == 0)
		return true;
	if (!days)
		return value_duration(text, ms);
	if (!value_count(days, ms) || *ms > VALUE_MAX_SECONDS / 86400)
		return false;
	*ms *= 86400000;
	return true;
}

static int set_time(struct parse *p, const struct option_row *row, const char *arg)
{
	CLEANUP_FREE char *at = xasprintf("--%s", row->name);
	uint64_t ms;

	if (!options_time(arg, &ms))
		return usage(
			p, at, "the argument must be a time", "write 500ms, 30s, 2m, 1h or 1d");
	replace((char **)((char *)p->options + row->value), arg);
	return 0;
}

static int set_target(struct parse *p, const struct option_row *row, const char *arg)
{
	struct bwrap_version version;

	(void)row;
	if (!bwrap_version_parse(&version, arg))
		return usage(p, "--target-bwrap",
			"the argument must be MAJOR.MINOR or MAJOR.MINOR.PATCH",
			"give the version that bwrap --version prints there, such as 0.8.0");
	free(p->options->target);
	p->options->target = xmemdup(&version, sizeof(version));
	return 0;
}

/* The words behind a tool's name, and what it does. */
static const char *usage_text(enum tool tool)
{
	static const struct {
		unsigned tools;
		const char *text;
	} texts[] = {
		{TOOL_PLAN,
			"[options] [[--] command [argument ...]] | --init [directory]\n"
			"Makes and proves the plan for a run in a sandbox, and starts nothing."},
		{TOOL_EXEC, "[options] [--] command [argument ...]\nRuns a command in a sandbox; "
			    "without -p under the policy \"default\"."},
		{TOOL_START,
			"[options] [--] command [argument ...]\nRuns a command in a sandbox, in "
			"the background, and prints the job's id."},
		{TOOL_LIST, "[options]\nSays which jobs there are."},
		{TOOL_READ, "[options] id\nPrints a part of what a job has written."},
		{TOOL_WAIT, "[options] id\nWaits for a job's end, and exits as its command did."},
		{TOOL_STOP, "[options] id ... | --all\nEnds jobs."},
		{TOOL_RM, "[options] id ... | --ended\nRemoves jobs that do not run."},
		{TOOL_REPORT, "id\nPrints a job's report as JSON."},
	};
	size_t i = 0;

	while (!(texts[i].tools & tool))
		i++;
	return texts[i].text;
}

static int show_help(struct parse *p, const struct option_row *row, const char *arg)
{
	const char *group = NULL;

	(void)row;
	(void)arg;
	printf("usage: %s %s\n", tool_name(p->tool), usage_text(p->tool));
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct option_row *r = &table[i];
		char letter[] = {r->letter ? '-' : ' ', r->letter ? r->letter : ' ', '\0'};
		CLEANUP_FREE char *left = NULL;

		group = r->group ? r->group : group;
		if (!(r->tools & p->tool))
			continue;
		if (group)
			printf("\n%s\n", group);
		group = NULL;
		left = xasprintf("%s%s%s%s%s", letter,
			!r->name    ? ""
			: r->letter ? ", --"
				    : "  --",
			r->name ? r->name : "", r->arg && !is_optional(r) ? " " : "",
			r->arg ? r->arg : "");
		/* What is too long for its column has a line of its own. */
		printf("  %-28s%s %s\n", left,
			strlen(left) > 28 ? "\n                              " : "", r->help);
	}
	printf("\nSee %s(1) and sbx-policy(5).\n",
		p->tool & (TOOL_START | JOBS) ? "sbx-job" : tool_name(p->tool));
	return 1;
}

static int show_version(struct parse *p, const struct option_row *row, const char *arg)
{
	(void)row;
	(void)arg;
	printf("%s %s\n", tool_name(p->tool), SBX_VERSION);
	return 1;
}

/* The words that an option's argument can be, as far as they are known. */
static void add_words(const struct option_row *row, struct strvec *words)
{
	const char *const *names = row->handle == add_policy ? policy_builtin_names()
				   : row->key && strcmp(row->key, "require") == 0
					   ? policy_require_names()
					   : NULL;

	while (names && *names)
		strvec_push(words, *names++);
	for (const char *word = row->arg; *word; word += strspn(word, "|")) {
		size_t len = strcspn(word, "|");

		if (strspn(word, "abcdefghijklmnopqrstuvwxyz-") == len)
			strvec_take(words, xstrndup(word, len));
		word += len;
	}
}

/* What contrib/completions read; its form is in sbx-exec(1). */
static int show_completion(struct parse *p, const struct option_row *row, const char *arg)
{
	const char *text = usage_text(p->tool);

	(void)row;
	(void)arg;
	printf("%.*s\n", (int)strcspn(text, "\n"), text);
	for (size_t i = 0; i < N_ROWS; i++) {
		const struct option_row *r = &table[i];
		CLEANUP_STRVEC struct strvec words = {0};
		CLEANUP_FREE char *joined = NULL;

		if (!(r->tools & p->tool))
			continue;
		if (r->letter)
			printf("-%c%s", r->letter, r->name ? " " : "");
		if (r->name)
			printf("--%s", r->name);
		printf("\t%s", r->help);
		/* One that can be left out is no word of its own. */
		if (r->arg && !is_optional(r)) {
			add_words(r, &words);
			joined = strvec_join(&words, " ");
			printf("\t%s%s%s", r->arg, words.n ? "\t" : "", joined);
		}
		putchar('\n');
	}
	return 1;
}

/* Parsing */

static int unknown_option(struct parse *p, const char *word)
{
	CLEANUP_FREE char *name = xstrndup(word, strcspn(word, "="));
	const char *names[N_ROWS], *near;
	size_t n = 0;

	for (size_t i = 0; i < N_ROWS; i++)
		if (table[i].name && table[i].tools & p->tool)
			names[n++] = table[i].name;
	near = strncmp(name, "--", 2) == 0 ? nearest(name + 2, names, n) : NULL;
	err_set(p->err, ERR_USAGE, "unknown option");
	if (near)
		err_hint(p->err, "did you mean --%s?", near);
	else
		err_hint(p->err, "%s --help lists the options; a command's own come after \"--\"",
			tool_name(p->tool));
	return err_at(p->err, "%s", name);
}

/* getopt's two lists for a tool: a long option's value is its row + 1. */
static void make_lists(enum tool tool, struct option *longs, char *shorts)
{
	*shorts++ = '+';
	*shorts++ = ':';
	for (size_t i = 0; i < N_ROWS; i++) {
		if (!(table[i].tools & tool))
			continue;
		if (table[i].letter)
			*shorts++ = table[i].letter;
		if (table[i].letter && table[i].arg)
			*shorts++ = ':';
		if (table[i].name)
			*longs++ = (struct option){table[i].name,
				!table[i].arg            ? no_argument
				: is_optional(&table[i]) ? optional_argument
							 : required_argument,
				NULL, (int)i + 256};
	}
	*shorts = '\0';
	*longs = (struct option){0};
}

/* The row that getopt found, or NULL. */
static const struct option_row *row_of(int c, const char *word)
{
	if (c >= 256) {
		const struct option_row *row = &table[c - 256];

		/* getopt takes beginnings of names too: they would change their meaning with a
		 * new option. */
		return strncmp(word, "--", 2) == 0 && strlen(row->name) == strcspn(word + 2, "=")
			       ? row
			       : NULL;
	}
	for (size_t i = 0; i < N_ROWS; i++)
		if (table[i].letter == c)
			return &table[i];
	return NULL;
}

/* One answer of getopt's; word is what it has just read. */
static int handle(struct parse *p, int c, const char *word)
{
	const struct option_row *row;
	CLEANUP_FREE char *letter = NULL;

	if (c == ':')
		return usage(
			p, word, "the option needs an argument", "write it after a blank or \"=\"");
	if (c == '?' && optopt >= 256)
		return usage(
			p, word, "the option takes no argument", "leave out what follows \"=\"");
	if (c == '?' && optopt) {
		letter = xasprintf("-%c", optopt);
		return unknown_option(p, letter);
	}
	row = c == '?' ? NULL : row_of(c, word);
	if (!row)
		return unknown_option(p, word);
	if (row->arg && (row->section || row->key))
		if (check_utf8(p, row, optarg) < 0)
			return -1;
	return row->handle(p, row, optarg);
}

/* Of a command of sbx-job. */
static int check_jobs(struct parse *p)
{
	const struct options *o = p->options;
	bool many = p->tool == TOOL_STOP || p->tool == TOOL_RM;

	if (p->tool == TOOL_LIST && o->ids.n)
		return usage(p, o->ids.v[0], "list takes no id", "it shows all jobs");
	if (o->all + o->ended + (o->ids.n > 0) != (p->tool != TOOL_LIST) ||
		(!many && o->ids.n > 1)) {
		err_set(p->err, ERR_USAGE, many ? "which jobs?" : "which job?");
		return err_hint(p->err, "usage: %s %.*s", tool_name(p->tool),
			(int)strcspn(usage_text(p->tool), "\n"), usage_text(p->tool));
	}
	if (o->older && !o->ended)
		return usage(p, "--older", "it goes with --ended only", "add --ended");
	if (o->follow && (o->lines || o->output == OUTPUT_JSON))
		return usage(p, "--follow", "it gives all lines, as text",
			"leave out --lines and --json");
	return 0;
}

/* What only makes sense together, or alone. */
static int check_combination(struct parse *p, size_t n_words)
{
	const struct options *o = p->options;

	if (o->init && (o->answer != ANSWER_PLAN || o->output != OUTPUT_PRINT))
		return usage(p, "--init", "it writes a policy and prints no plan",
			"ask the new policy: sbx-plan -p ./sbx.json ...");
	if (o->init && n_words > 1)
		return usage(p, "--init", "it is for one directory", "sbx-plan --init [directory]");
	if (o->answer == ANSWER_TREE && o->output == OUTPUT_JSON)
		return usage(
			p, "--format tree", "a tree is text", "--json has each step of the plan");
	if (o->answer != ANSWER_PLAN && (o->output == OUTPUT_NUL || o->output == OUTPUT_CHECK) &&
		!(o->answer == ANSWER_SECCOMP && o->output == OUTPUT_NUL))
		return usage(p, o->output == OUTPUT_NUL ? "-0" : "--check",
			"an answer is text or, with --json, JSON",
			"leave it out: an answer proves the plan too");
	if (o->probe &&
		(n_words || o->policies.n || o->flags || o->report || o->n_pass_fds || o->tty ||
			o->capture || o->output_dir || o->strict || o->summary || o->progress))
		return usage(p, "--probe", "no command is run, under no policy",
			"it goes with --json and --bwrap only");
	if (o->capture && !o->report)
		return usage(p, "--capture", "there is no report for the output to go to",
			"add --report FILE, or --report fd:3");
	if (p->tool & JOBS && check_jobs(p) < 0)
		return -1;
	if (p->tool == TOOL_EXEC && o->output == OUTPUT_JSON && !o->probe)
		return usage(p, "--json", "it goes with --probe only",
			"--report FILE writes what happened to a command as JSON");
	return 0;
}

int options_parse(struct options *options, enum tool tool, int argc, char **argv, struct err *err)
{
	struct parse p = {options, tool, err};
	struct option longs[N_ROWS + 1];
	char shorts[2 * N_ROWS + 3];
	int rc = 0;

	*options = (struct options){0};
	make_lists(tool, longs, shorts);
	opterr = 0;
	optind = 0; /* glibc: begin anew */
	while (rc == 0) {
		int here = optind ? optind : 1;
		int c = getopt_long(argc, argv, shorts, longs, NULL);

		if (c >= 0)
			rc = handle(&p, c, argv[here]);
		else if (tool & JOBS && optind == here && optind < argc)
			/* Options may follow ids, until "--". */
			strvec_push(&options->ids, argv[optind++]);
		else
			break;
	}
	while (tool & JOBS && optind < argc)
		strvec_push(&options->ids, argv[optind++]);
	if (rc == 0)
		rc = check_combination(&p, (size_t)(argc - optind));
	if (rc != 0) {
		options_clear(options);
		return rc;
	}
	if (!options->policies.n)
		strvec_push(&options->policies, options->init ? "workspace" : "default");
	options->command = argv + optind;
	options->n_command = (size_t)(argc - optind);
	return 0;
}

void options_clear(struct options *options)
{
	strvec_clear(&options->policies);
	strvec_clear(&options->flag_names);
	strvec_clear(&options->questions);
	strvec_clear(&options->ids);
	json_free(options->flags);
	free(options->bwrap);
	free(options->report);
	free(options->output_dir);
	free(options->pass_fds);
	free(options->target);
	free(options->input);
	free(options->script);
	free(options->timeout);
	free(options->grace);
	free(options->older);
	*options = (struct options){0};
}

/* Errors */

/* Whether the character of len bytes at s steers a terminal: C0, DEL, or C1 (U+0080 to U+009F). */
static bool is_control(const char *s, size_t len)
{
	unsigned char c = (unsigned char)*s, second = (unsigned char)s[1];

	return c < 0x20 || c == 0x7f || (len == 2 && c == 0xc2 && second < 0xa0);
}

void print_escaped(FILE *out, const char *text)
{
	size_t left = strlen(text);

	while (left) {
		size_t len = utf8_length(text, left);
		bool plain = len && !is_control(text, len);

		len = len ? len : 1;
		for (size_t i = 0; i < len; i++)
			fprintf(out, plain ? "%c" : "\\x%02x", (unsigned char)text[i]);
		text += len;
		left -= len;
	}
}

void print_err(const char *tool, const struct err *err)
{
	fprintf(stderr, "%s: ", tool);
	if (*err->at) {
		print_escaped(stderr, err->at);
		fputs(": ", stderr);
	}
	print_escaped(stderr, err->message);
	putc('\n', stderr);
	if (*err_hint_text(err)) {
		fprintf(stderr, "%s: hint: ", tool);
		print_escaped(stderr, err_hint_text(err));
		putc('\n', stderr);
	}
}
