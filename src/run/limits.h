/*
 * The limits of a run that are not those of time and output (run/supervise.h): who holds each here,
 * and whether one was hit.
 *
 * Each is held by the best that is to be had, and by nothing where none is: then that is what the
 * report says.
 *
 *   cpu         of all processes together, by the cgroup's count, looked at as often as the rest of
 *               the time could at most be used up by all processors; else RLIMIT_CPU, of each
 *               process: XCPU at the limit, KILL a second later
 *   memory      by the cgroup; else by looking, 20 times a second (less often when a look takes
 *               longer than 10 ms), at the resident memory of all processes and what the sandbox's
 *               own file systems in memory and memfds hold. That counts some of it more than once;
 *               when it exceeds the limit, what counts each page once decides (run/procs.h). What
 *               grows faster than that passes the limit before it is ended
 *   processes   by the cgroup, bwrap's own two included; else RLIMIT_NPROC. It does not bind root,
 *               and before Linux 5.14 it counts all that the user runs, so that it is of no use
 *   the others  RLIMIT_FSIZE, RLIMIT_NOFILE and RLIMIT_CORE, of each process
 *
 * Those of the kernel's resource limits are given to the sandbox's first process when bwrap has made
 * the sandbox, so that they do not bind bwrap.
 */
#ifndef SBX_RUN_LIMITS_H
#define SBX_RUN_LIMITS_H

#include "base/err.h"
#include "base/strvec.h"
#include "run/cgroup.h"
#include "run/procs.h"
#include "run/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum limit {
	LIMIT_CPU,
	LIMIT_MEMORY,
	LIMIT_PROCESSES,
	LIMIT_FILE_SIZE,
	LIMIT_OPEN_FILES,
	LIMIT_CORE,
	LIMITS,
};

/* What is asked for. */
struct run_limits {
	/* Milliseconds, bytes, or a number; 0 = no limit. LIMIT_CORE: the limit itself. */
	uint64_t values[LIMITS];
	bool manage; /* processes of the caller's cgroup may be moved (run/cgroup.h) */
	/* The command could mount the cgroups and change its own: it is root, and can make user
	 * namespaces or has capabilities. Then cgroups hold nothing. */
	bool reaches_cgroups;
};

/* Zero-initialise; ended by limits_close. */
struct limits {
	struct run_limits asked;
	struct leaf *leaf;
	const char *by[LIMITS]; /* who holds each; NULL: it is not asked for, or nobody does, */
	char *why[LIMITS];      /* which this says */
	bool watches_memory;    /* by looking, which starts */
	int64_t next;           /* at this time: CLOCK_MONOTONIC, ms; INT64_MAX: never */
	uint64_t peak;          /* the most memory seen so, bytes: of each look the last number */
	struct procs used;      /* from limits_measure */
	int *memory_mounts;     /* O_PATH: file systems in memory of the sandbox's own */
	size_t n_memory_mounts;
};

/* "memory": the key of the policy, and the name in reports. */
const char *limit_name(enum limit limit);

/* Decides who holds each for processes of a user. notes gets what leaf_make has to say. */
void limits_open(
	struct limits *limits, const struct run_limits *asked, uid_t uid, struct strvec *notes);
/* What makes a limit that nobody holds one that a cgroup does. */
#define LIMITS_REMEDY                                                                              \
	"run it as root; or in a cgroup of your own (systemd-run --user --scope -p Delegate=yes "  \
	"sbx-exec ...) with \"cgroup\": {\"manage\": true} in the policy"
/* At the hold: sets what the kernel holds for the sandbox's first process. ERR_SETUP. */
int limits_bind(struct limits *limits, pid_t init, struct err *err);
/* A file system in memory that the command can fill, as O_PATH descriptor, which is taken over. */
void limits_add_memory(struct limits *limits, int fd);
/* Looks at the processes below the shim, when it is time. LIMIT_CPU or LIMIT_MEMORY: it was hit;
 * LIMITS: none was; -1 when that cannot be known any more, and the limit is no longer held. */
int limits_look(struct limits *limits, int64_t now, pid_t shim, struct err *err);
/* What the command uses now: bytes and processes; -1 = not known. */
void limits_usage(const struct limits *limits, pid_t shim, int64_t *memory, int64_t *processes);
/* Before processes are killed: the kernel adds up in the shim only what has ended by itself, and a
 * cgroup does not count what a process has. */
void limits_measure(struct limits *limits, pid_t shim);
/* After the end of all: how often each was hit, and what memory ran out for; sets the outcome where
 * a limit that the kernel holds was the cause of the end. result has its outcome, cpu_ms and
 * max_rss_bytes. */
void limits_judge(struct limits *limits, struct run_result *result);
/* Removes what was made; notes gets what stays. */
void limits_close(struct limits *limits, struct strvec *notes);

#endif
