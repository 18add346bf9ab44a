/*
 * What a run came to, and the report about it.
 *
 * A report is one JSON object (docs/sbx-report.5). To a FILE it is written whole or not at all
 * (base/newfile.h), and the file is made before anything runs. To fd:N it is written as it is.
 */
#ifndef SBX_RUN_REPORT_H
#define SBX_RUN_REPORT_H

#include "base/err.h"
#include "base/newfile.h"
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
	OUTCOME_CPU,            /* ended at the limit of processor time; exit 137 */
	OUTCOME_MEMORY,         /* ended for want of memory; exit 137 */
	OUTCOME_OUTPUT,         /* ended at the limit of its output; exit 137 */
	OUTCOME_CANCELLED,      /* ended for a signal n to the caller; exit 128 + n */
	OUTCOME_VIOLATION,      /* ended since a cover of the policy's was lost; exit 125 */
	OUTCOME_LOST,           /* it ran, and how it ended or what it said is not known; 125 */
};

/* One promise: what was asked for, whether something holds it, and what that is. */
struct enforcement {
	const char *name;
	char *requested; /* owned */
	bool enforced;
	const char *by; /* NULL = nothing */
	int64_t hits;   /* how often it was run into; -1 = nobody counts */
};

/* Whose the kills for want of memory were. */
enum oom_source {
	OOM_UNKNOWN, /* nothing could be read, or another cause ended the run */
	OOM_NONE,    /* there were none */
	OOM_OWN,     /* counted in the run's own cgroup */
	OOM_SHARED,  /* counted in a cgroup that others share: not surely of this run */
};

/* What is known of kills for want of memory. */
struct run_oom {
	enum oom_source source;
	uint64_t kills;
	int64_t limit_bytes, peak_bytes; /* -1 = not known; limit: none or not known */
	bool retryable;                  /* the same run may succeed later */
	char *advice;                    /* what to do; owned; NULL = nothing */
};

/* One stream of the command's. */
struct run_stream {
	bool counted;     /* it went through sbx-exec; else the rest says nothing */
	uint64_t bytes;   /* what the command wrote */
	uint64_t omitted; /* what of it did not get to where it was to go: into kept, or else to a
			   * file or the caller */
	char *kept;       /* what was captured: its first bytes, its last, and a NUL; owned; NULL:
			   * it was not captured */
	size_t kept_len;
	size_t head_len; /* the first bytes; omitted ones lie behind them */
	bool is_text;    /* kept is UTF-8 without NUL */
};

/* What the policy forbids, or protects from, and what came about while the command ran. Borrowed by
 * run_violation, owned in a result. */
struct violation {
	const char *kind;    /* a word: "lost", "appeared"; always borrowed */
	const char *path;    /* of the host, any bytes */
	const char *rule;    /* where the rule stands: "FILE: POINTER" */
	const char *message; /* a sentence */
	const char *hint;    /* what to do */
};

/* More are counted, and not told. */
#define VIOLATIONS_MAX 100

/* RUN_RESULT_INIT at first; ended by run_result_clear. */
#define RUN_RESULT_INIT {.cpu_ms = -1, .max_rss_bytes = -1}
struct run_result {
	enum run_phase phase;
	enum run_outcome outcome;
	int exit_code;         /* what the caller exits with */
	int64_t duration_ms;   /* from the start of bwrap to the end of all; 0 = nothing started */
	int64_t cpu_ms;        /* of all processes of the run; -1 = nothing started */
	int64_t max_rss_bytes; /* of the largest process; of what was killed, what all held just
				  before. -1 = nothing started */
	struct run_stream out, errors; /* standard output and error */
	struct run_oom oom;
	struct enforcement enforcement[16];
	size_t n_enforcement;
	struct violation *violations;
	size_t n_violations, alloc_violations;
	size_t more_violations; /* than VIOLATIONS_MAX */
	struct strvec notes;
	struct err err; /* kind ERR_NONE when the command ran and was not lost */
};

void run_result_clear(struct run_result *result);
/* requested is copied; hits are not known yet. */
void run_enforce(struct run_result *result, const char *name, const char *requested, bool enforced,
	const char *by);
/* How often something that is enforced was run into; nothing where it is not asked for. */
void run_hits(struct run_result *result, const char *name, int64_t hits);
/* Nothing enforces it any more. */
void run_withdraw(struct run_result *result, const char *name);
/* Adds a violation, unless the very same is there already; its strings are copied. */
void run_violation(struct run_result *result, const struct violation *violation);
/* The outcome and exit code of an error that came before the command ran; err is copied. */
void run_refuse(struct run_result *result, enum run_phase phase, const struct err *err);

/* The report as text; free with free(). */
char *report_text(const struct run_result *result);
/* The same in one line for people, without its end; free with free(). */
char *report_summary(const struct run_result *result);

/* Opens "FILE" as a new file, or "fd:N": then there is no name, dir is -1, and path that of a
 * regular file or a FIFO, else NULL. Ended by newfile_close. ERR_USAGE for an fd that is not open for writing
 * or is one of the command's own (0, 1, 2, pass_fds). */
int report_open(struct newfile *report, const char *place, const int *pass_fds, size_t n_pass_fds,
	struct err *err);
/* Writes the report; a new file gets its name. */
int report_write(struct newfile *report, const struct run_result *result, struct err *err);

#endif
