/*
 * What a run came to, and the report about it.
 *
 * A report is one JSON object (docs/sbx-exec.1). To a FILE it is written whole or not at all: into
 * a new file beside it, made before anything runs, that takes its name at the end. To fd:N it is
 * written as it is.
 */
#ifndef SBX_RUN_REPORT_H
#define SBX_RUN_REPORT_H

#include "base/err.h"
#include "base/strvec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How far it got. */
enum run_phase { PHASE_POLICY, PHASE_PLAN, PHASE_PROBE, PHASE_SETUP, PHASE_EXEC, PHASE_RUN };

enum run_outcome {
	OUTCOME_REFUSED,        /* nothing was started: policy, plan or host; exit 125 */
	OUTCOME_NOT_FOUND,      /* the command is not there; exit 127 */
	OUTCOME_NOT_EXECUTABLE, /* it could not be executed; exit 126 */
	OUTCOME_SETUP_FAILED,   /* the sandbox could not be made; exit 125 */
	OUTCOME_COMPLETED,      /* the command ended by itself; its own exit code */
	OUTCOME_TIMEOUT,        /* ended at the wall limit; exit 124 */
	OUTCOME_CANCELLED,      /* ended for a signal n to the caller; exit 128 + n */
	OUTCOME_LOST,           /* it ran, and how it ended or what it said is not known; 125 */
};

/* One promise: what was asked for, whether something holds it, and what that is. */
struct enforcement {
	const char *name;
	char *requested; /* owned */
	bool enforced;
	const char *by; /* NULL = nothing */
};

/* Zero-initialise; ended by run_result_clear. */
struct run_result {
	enum run_phase phase;
	enum run_outcome outcome;
	int exit_code;       /* what the caller exits with */
	int64_t duration_ms; /* from the start of bwrap to the end of all; 0 = nothing started */
	struct enforcement enforcement[8];
	size_t n_enforcement;
	struct strvec notes;
	struct err err; /* kind ERR_NONE when the command ran and was not lost */
};

void run_result_clear(struct run_result *result);
/* requested is copied. */
void run_enforce(struct run_result *result, const char *name, const char *requested, bool enforced,
	const char *by);
/* The outcome and exit code of an error that came before the command ran; err is copied. */
void run_refuse(struct run_result *result, enum run_phase phase, const struct err *err);

/* The report as text; free with free(). */
char *report_text(const struct run_result *result);

/* An opened place for a report. { .dir = -1, .fd = -1 } is none; ended by report_close. */
struct report {
	int dir;    /* the directory of a FILE, -1 for fd:N */
	char *path; /* the directory as the kernel names it, without links; NULL: no file */
	char *name; /* the file's final name */
	char *temp; /* its name on the way there */
	bool named; /* temp exists */
	int fd;
};

/* Opens "FILE" or "fd:N". No directory on the way to FILE may be a link, and what stands there
 * must be a regular file or nothing. ERR_USAGE for an fd that is not open for writing or is one
 * of the command's own (0, 1, 2, pass_fds). */
int report_open(struct report *report, const char *place, const int *pass_fds, size_t n_pass_fds,
	struct err *err);
/* Writes the report; with a FILE, gives it its name. */
int report_write(struct report *report, const struct run_result *result, struct err *err);
/* Removes what was not finished. */
void report_close(struct report *report);

#endif
