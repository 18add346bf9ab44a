/*
 * sbx-job start: a run that outlives its caller.
 *
 * The caller makes the job's directory (job/store.h) and a process that will supervise the run: in a
 * session of its own, without a terminal, an heir of the job's lock. What that process prints before the
 * command has been executed reaches the caller through a pipe, which it then lets go; its last word to
 * the caller is that the command runs, or the exit code of a run that came to nothing.
 */
#ifndef SBX_CMD_BACKGROUND_H
#define SBX_CMD_BACKGROUND_H

#include "base/err.h"
#include "cmd/options.h"

/* Starts the command of the options (which it may change) as a job in the directory at place, and
 * prints the id when it runs. The exit code: 0, or, where the run came to nothing and said so, its own;
 * -1 with an error otherwise. Nothing is left of what did not start. */
int background_start(struct options *options, const char *place, struct err *err);

#endif
