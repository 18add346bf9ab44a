/*
 * One run from start to end: launches bwrap, passes signals on, ends the run at its limits, and says
 * how it ended.
 */
#ifndef SBX_RUN_SUPERVISE_H
#define SBX_RUN_SUPERVISE_H

#include "base/err.h"
#include "base/strvec.h"
#include "run/launch.h"
#include "run/limits.h"
#include "run/output.h"
#include "run/report.h"
#include "run/tty.h"
#include "run/watch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct run_spec {
	const char *bwrap;          /* absolute path */
	const struct strvec *words; /* bwrap's words without the command's */
	char *const *command;       /* NULL-terminated */
	const struct watch_spec *watch; /* the mounts that have to stand before the command
					   starts, and what is watched from there on */
	const struct table_spec *table; /* what the mount table has to say before the command
					   starts; NULL: it is not looked at */
	const int *keep;            /* descriptors for bwrap and the command, at their numbers */
	size_t n_keep;
	uid_t uid; /* who bwrap is run as (run/launch.h) */
	gid_t gid;
	enum outer outer;      /* the namespaces to make around bwrap (run/probe.h) */
	bool slave;            /* what the host mounts later appears inside, too */
	struct tty *tty;       /* the caller's terminal, and with OUTER_ALL a pty; words then have no
				  --new-session */
	bool direct;           /* regular files as 0, 1 and 2 are handed on as they are */
	struct output_spec output;
	uint64_t wall_ms;      /* 0 = no limit */
	struct limits *limits; /* opened; the others */
	void (*started)(void *arg); /* called once, when the command has been executed; or NULL */
	void *started_arg;
	bool progress;         /* a status line on standard error (run/progress.h) */
};

/* Runs. Fills phase, outcome, exit_code, duration_ms, what was used, out, errors and err of result,
 * and adds to its notes. Files of output get their names, but when no command was started
 * (PHASE_SETUP): what bwrap says then goes to the caller.
 * Every process of the run has ended when it returns. INT, TERM, HUP, QUIT, USR1, USR2, WINCH,
 * TSTP and CONT are passed on (a TERM that sigqueue(3) sent carries the grace, in ms, after which all
 * is killed), and stay blocked afterwards, as TTOU does, so that none can keep the report from
 * being written; those of INT, HUP and QUIT that were ignored at the start stay ignored. PIPE
 * and XFSZ have to be ignored. */
void run_supervised(const struct run_spec *spec, struct run_result *result);

#endif
