/*
 * Jobs on disk: a directory for all of them, and in it one for each, named by its id. Both are the
 * caller's alone (base/private.h); everything in them is read as if anybody had written it.
 *
 *   lock         flock(2)ed by the job's supervisor as long as it lives: this, and no pid, says whether
 *                it does. The lock is there before the directory has its name.
 *   meta.json    what was asked, and who the supervisor is; always whole
 *   report.json  what came of it (sbx-report(5)), when all is over; always whole
 *   reserve      room on the disk for the report, as long as there is none
 *   log.*, or stdout.* and stderr.*   what the command wrote (job/log.h)
 *
 * Nothing else is kept, and so nothing can contradict: what state a job is in follows from the lock, the
 * report, and whether meta.json says that the command has been started.
 */
#ifndef SBX_JOB_STORE_H
#define SBX_JOB_STORE_H

#include "base/err.h"
#include "base/json.h"
#include "base/strvec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Where jobs may be kept, normal paths, best first: state ($SBX_STATE), state_home ($XDG_STATE_HOME)
 * with /sbx/jobs, home with /.local/state/sbx/jobs. What is NULL, empty or not absolute is left out. */
void store_places(
	const char *state, const char *state_home, const char *home, struct strvec *places);
/* Opens the directory, after having made it and those above it if make. A descriptor; -ENOENT when
 * there is none and it is not to be made; -1 with ERR_SYSTEM. */
int store_open(const char *place, bool make, struct err *err);

/* An id is eight hexadecimal digits. */
#define JOB_ID_LEN 8

/* A job's directory. JOB_INIT is none; ended by job_close. */
#define JOB_INIT                                                                                   \
	{                                                                                          \
		.dir = -1, .lock = -1                                                              \
	}
struct job {
	char id[JOB_ID_LEN + 1];
	int dir;
	int lock; /* of a new job: locked, as long as any process has it open */
};

/* Makes a job with a new id. 0 or -1 with ERR_SYSTEM. */
int job_make(struct job *job, int store, struct err *err);
/* Opens the job of an id. 0; -1 with ERR_USAGE when there is none, ERR_SYSTEM for another reason. */
int job_open(struct job *job, int store, const char *id, struct err *err);
void job_close(struct job *job);
/* The ids of all jobs, in no order. 0 or -1 with ERR_SYSTEM. */
int store_list(int store, struct strvec *ids, struct err *err);
/* Removes a job that does not run: its id is free at once. 0, also when there is none (any more); -1 with
 * ERR_USAGE when it runs, ERR_SYSTEM. */
int job_remove(int store, const char *id, struct err *err);
/* Removes what killed callers of job_make and job_remove have left. */
void store_tidy(int store);

/* Puts a document in place of meta.json, on the disk for good. 0 or -1 with ERR_SYSTEM. */
int job_write_meta(const struct job *job, const json *meta, struct err *err);

enum job_state {
	JOB_STARTING, /* the command does not run yet */
	JOB_RUNNING,
	JOB_ENDED, /* there is a report */
	JOB_LOST,  /* the supervisor has gone without one, and with it the command */
};

const char *job_state_name(enum job_state state);

/* What there is about a job. Zero-initialise; ended by job_facts_clear. */
struct job_facts {
	enum job_state state;
	bool alive;                     /* the supervisor lives; with JOB_ENDED it is about to go */
	json *meta;                     /* NULL: not written yet, or never */
	json *report;                   /* with JOB_ENDED */
	int64_t created_ms, started_ms; /* since 1970; -1 = not known, not yet */
	pid_t pid; /* the supervisor's, and which process of that pid it is; 0 =
					   not known */
	uint64_t pid_start;
	char boot[64];
	bool split;
};

/* Looks. 0; -1 with ERR_USAGE when the job was removed, ERR_SYSTEM where what is there makes no sense. */
int job_look(const struct job *job, struct job_facts *facts, struct err *err);
void job_facts_clear(struct job_facts *facts);

/* Fills pid, pid_start and boot with this process's. 0 or -1 with ERR_SYSTEM. */
int job_facts_self(struct job_facts *facts, struct err *err);
/* The supervisor of a job that job_look has found starting or running: a pidfd, or -1: there is none
 * to be found (any more). */
int job_supervisor(const struct job_facts *facts);

#endif
