/*
 * The command lines of all tools: one table of options. Policy flags become a
 * policy document, the last layer (policy/policy.h), so that a flag and a key are checked by the
 * same code and mean the same.
 */
#ifndef SBX_CMD_OPTIONS_H
#define SBX_CMD_OPTIONS_H

#include "base/err.h"
#include "base/json.h"
#include "base/strvec.h"
#include "plan/bwrap.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum tool {
	TOOL_PLAN = 1,
	TOOL_EXEC = 2,
	/* sbx-job's commands */
	TOOL_START = 4,
	TOOL_LIST = 8,
	TOOL_READ = 16,
	TOOL_WAIT = 32,
	TOOL_STOP = 64,
	TOOL_RM = 128,
	TOOL_REPORT = 256,
};

enum plan_output {
	OUTPUT_PRINT, /* --print, the default: bwrap's options, one a line, shell-quoted */
	OUTPUT_NUL,   /* -0: NUL-separated, as bwrap --args takes them */
	OUTPUT_JSON,  /* --json: ops with the rule behind each */
	OUTPUT_CHECK, /* --check: prove only */
};

/* What sbx-plan prints instead of the plan. */
enum plan_answer {
	ANSWER_PLAN,
	ANSWER_EXPLAIN, /* --explain: what is at each of questions */
	ANSWER_MAP,     /* --map: where each of questions is on the host, or shows */
	ANSWER_RULES,   /* --rules */
	ANSWER_SOCKETS, /* --sockets */
	ANSWER_SECCOMP, /* --print-seccomp; it alone knows OUTPUT_NUL: the filter's bytes */
	ANSWER_TREE,    /* --format tree */
};

/* Whether the command gets a terminal of its own. */
enum tty_when { TTY_AUTO, TTY_ALWAYS, TTY_NEVER };

struct options {
	struct strvec policies;   /* -p, in order; "default" when none was given */
	json *flags;              /* the command line's layer; NULL when no flag made one */
	struct strvec flag_names; /* pairs: JSON pointer into flags, the flag as written */
	char *bwrap;              /* --bwrap PATH or NULL */
	char *report;             /* sbx-exec --report: FILE or "fd:N", or NULL */
	bool capture;             /* sbx-exec --capture */
	char *output_dir;         /* sbx-exec --output-dir DIR or NULL */
	int *pass_fds;            /* sbx-exec --pass-fd */
	size_t n_pass_fds;
	enum tty_when tty;       /* sbx-exec --tty */
	bool probe;              /* sbx-exec --probe */
	enum plan_output output; /* sbx-plan; sbx-exec --probe and sbx-job know OUTPUT_JSON */
	enum plan_answer answer; /* sbx-plan */
	struct strvec questions; /* sbx-plan: paths of --explain or --map, as written */
	bool init;               /* sbx-plan --init: write a first policy */
	bool strict;             /* rules without effect are refused; sbx-exec: a violation that did
				    not end the run makes it 125 too */
	bool summary, progress;  /* sbx-exec: what goes to stderr, at the end and meanwhile */
	char *input, *script;    /* sbx-job start: --stdin FILE, --script FILE or "-"; or NULL */
	uint64_t log_limit;      /* sbx-job start; 0 = not given, as of the numbers below */
	bool split;              /* sbx-job start: a log for each stream */
	struct strvec ids;       /* sbx-job: of jobs */
	uint64_t from, lines;    /* sbx-job read: the first line, and how many */
	bool follow, errors;     /* sbx-job read: until the job's end; the log of standard error */
	char *timeout, *grace, *older; /* sbx-job wait, stop, rm: times (options_time), or NULL */
	bool all, ended;         /* sbx-job stop, rm: which jobs */
	char **command;          /* NULL-terminated, inside argv; may be empty */
	size_t n_command;
	struct bwrap_version *target; /* sbx-plan --target-bwrap, or NULL */
};

/* 0; -1 with ERR_USAGE; 1 when --help or --version was answered on stdout (exit 0). */
int options_parse(struct options *options, enum tool tool, int argc, char **argv, struct err *err);
/* A time as options take it: "500ms", "120s", "2m", "1h", "1d", "120" (seconds), or "0". */
bool options_time(const char *text, uint64_t *ms);
/* Puts a file with this text into the sandbox, as filesystem.files of the command line's layer; flag
 * is what messages call it. */
void options_add_file(
	struct options *options, const char *at, const char *text, const char *flag);
/* The object or array under key in a section of the command line's layer (NULL: in the layer itself),
 * made by make where it is not there. */
json *options_member(
	struct options *options, const char *section, const char *key, json *(*make)(void));
void options_clear(struct options *options);

/* Prints text with every byte that could steer a terminal, or is no UTF-8, as \xHH. */
void print_escaped(FILE *out, const char *text);

/* "TOOL: message" and, when there is one, "TOOL: hint: ..." on stderr, with every byte that
 * could steer a terminal escaped. The one place that prints errors. */
void print_err(const char *tool, const struct err *err);

#endif
