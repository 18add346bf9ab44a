/*
 * One run from the command line to its end: what sbx-exec and sbx-job do alike.
 */
#ifndef SBX_CMD_EXECUTE_H
#define SBX_CMD_EXECUTE_H

#include "base/err.h"
#include "base/newfile.h"
#include "base/strvec.h"
#include "cmd/options.h"
#include "cmd/prepare.h"
#include "cmd/watching.h"
#include "plan/bwrap.h"
#include "run/limits.h"
#include "run/probe.h"
#include "run/report.h"
#include "run/table.h"
#include "run/tty.h"

#include <stddef.h>

/* EXEC_INIT at first, with tool and options set, and what else the caller wants; ended by exec_clear. */
#define EXEC_INIT                                                                                  \
	.report = NEWFILE_INIT, .output = {NEWFILE_INIT, NEWFILE_INIT},                            \
	.prepared = {.starts = true}, .tty = TTY_INIT, .result = RUN_RESULT_INIT
struct exec {
	const char *tool; /* whose messages they are */
	struct options options;
	struct newfile report;
	struct newfile output[2]; /* --output-dir: the files of standard output and error */
	struct output_sink *sink;  /* where the output goes instead; NULL = as the options say */
	void (*started)(void *arg); /* called once, when the command has been executed; or NULL */
	void *started_arg;
	struct prepared prepared;
	char *bwrap;
	struct probe_request request;
	struct probe_choice probe;
	struct strvec notes; /* from before the attempt that the result is of */
	struct bwrap_words words;
	struct watch_spec watch;
	struct table_spec table; /* empty: the mount table need not be looked at */
	int *fds; /* for bwrap and the command: --pass-fd, then the data of words */
	size_t n_fds;
	struct limits limits;
	struct tty tty; /* the caller's terminal and the command's */
	struct run_result result;
};

/* Finds bwrap, and says what will be asked of it. */
int exec_find_bwrap(struct exec *e, struct err *err);
/* From the options to the end of all that was started: fills result. */
void exec_run(struct exec *e);
/* Prints what went wrong, and writes the report; the exit code, which a report that cannot be written
 * does not change. */
int exec_conclude(struct exec *e);
void exec_clear(struct exec *e);

#endif
