#include "run/limits.h"

#include "base/clock.h"
#include "base/mem.h"
#include <errno.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define NEVER INT64_MAX
/* Between two looks at the memory, and at least between two at the processor time. */
#define MEMORY_MS 50
#define CPU_MS 5
/* A look at the memory takes at most this part of the time: a fifth; but a command must not be able to
 * put the next one off, by whatever it makes slow. */
#define MEMORY_SHARE 5
#define MEMORY_MOST 500
#define WATCHDOG "watchdog"
/* Processes around the command: the shim, bwrap, and the sandbox's pid 1. */
#define AROUND 3

static const struct {
	const char *name;
	const char *rlimit; /* what holds it where nothing better does; NULL: nothing */
	enum __rlimit_resource resource;
	enum leaf_gift gift; /* what holds it better; LEAF_GIFTS: nothing */
} table[LIMITS] = {
	[LIMIT_CPU] = {"cpu", "RLIMIT_CPU", RLIMIT_CPU, LEAF_CPU},
	[LIMIT_MEMORY] = {"memory", NULL, 0, LEAF_MEMORY},
	[LIMIT_PROCESSES] = {"processes", "RLIMIT_NPROC", RLIMIT_NPROC, LEAF_TASKS},
	[LIMIT_FILE_SIZE] = {"file_size", "RLIMIT_FSIZE", RLIMIT_FSIZE, LEAF_GIFTS},
	[LIMIT_OPEN_FILES] = {"open_files", "RLIMIT_NOFILE", RLIMIT_NOFILE, LEAF_GIFTS},
	[LIMIT_CORE] = {"core", "RLIMIT_CORE", RLIMIT_CORE, LEAF_GIFTS},
};

const char *limit_name(enum limit limit)
{
	return table[limit].name;
}

/* Whether one of the kernel's resource limits holds it, for each process. */
static bool by_rlimit(const struct limits *l, enum limit limit)
{
	return l->by[limit] && l->by[limit] == table[limit].rlimit;
}

/* Since Linux 5.14 a user namespace counts what runs in it by itself. */
static bool nproc_counts_the_run(void)
{
	struct utsname name;
	unsigned long major, minor;
	char *end;

	if (uname(&name) < 0)
		return false;
	major = strtoul(name.release, &end, 10);
	minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return major > 5 || (major == 5 && minor >= 14);
}

/* Who holds a limit where no cgroup does; NULL with the reason in why. */
static const char *other_holder(enum limit limit, uid_t uid, const char **why)
{
	struct err err;

	if (limit == LIMIT_MEMORY) {
		*why = "the processes of a run cannot be looked at in /proc";
		return procs_check(&err) == 0 ? WATCHDOG : NULL;
	}
	if (limit == LIMIT_PROCESSES && (uid == 0 || !nproc_counts_the_run())) {
		*why = uid == 0 ? "RLIMIT_NPROC does not bind root"
				: "before Linux 5.14 RLIMIT_NPROC counts all processes of the user";
		return NULL;
	}
	return table[limit].rlimit;
}

static void choose_holder(struct limits *l, enum limit limit, uid_t uid)
{
	enum leaf_gift gift = table[limit].gift;
	const char *why = NULL;

	l->by[limit] = gift != LEAF_GIFTS ? leaf_by(l->leaf, gift) : NULL;
	if (!l->by[limit])
		l->by[limit] = other_holder(limit, uid, &why);
	if (!l->by[limit])
		l->why[limit] = xasprintf("%s; and %s",
			l->asked.reaches_cgroups
				? "root with user namespaces or capabilities of its own could "
				  "change its cgroup"
				: leaf_why(l->leaf, gift),
			why);
}

void limits_open(struct limits *l, const struct run_limits *asked, uid_t uid, struct strvec *notes)
{
	struct leaf_limits leaf = {0};

	*l = (struct limits){.asked = *asked, .next = NEVER};
	if (!asked->reaches_cgroups)
		leaf = (struct leaf_limits){.memory = asked->values[LIMIT_MEMORY],
			.tasks = asked->values[LIMIT_PROCESSES],
			.cpu = asked->values[LIMIT_CPU] > 0,
			.manage = asked->manage};
	l->leaf = leaf_make(&leaf, notes);
	for (int i = 0; i < LIMITS; i++)
		if (asked->values[i] || i == LIMIT_CORE)
			choose_holder(l, (enum limit)i, uid);
	l->watches_memory = l->by[LIMIT_MEMORY] && strcmp(l->by[LIMIT_MEMORY], WATCHDOG) == 0;
	if (l->watches_memory || (l->by[LIMIT_CPU] && !by_rlimit(l, LIMIT_CPU)))
		l->next = 0;
}

/* Soft and hard limit. */
static struct rlimit rlimit_of(const struct limits *l, enum limit limit)
{
	rlim_t value = l->asked.values[limit];

	if (limit == LIMIT_CPU) {
		value = (value + 999) / 1000;
		return (struct rlimit){value, value + 1};
	}
	/* 0 does not keep the kernel from starting the program that core_pattern may name; 1 does,
	 * and is too little for a file. */
	if (limit == LIMIT_CORE && value == 0)
		value = 1;
	return (struct rlimit){value, value};
}

static rlim_t least(rlim_t a, rlim_t b)
{
	return a < b ? a : b;
}

int limits_bind(struct limits *l, pid_t init, struct err *err)
{
	for (int i = 0; i < LIMITS; i++) {
		const enum __rlimit_resource resource = table[i].resource;
		struct rlimit limit = rlimit_of(l, (enum limit)i), old;

		if (!by_rlimit(l, (enum limit)i))
			continue;
		/* It can only be lowered. */
		if (prlimit(init, resource, NULL, &old) == 0) {
			limit.rlim_cur = least(limit.rlim_cur, old.rlim_max);
			limit.rlim_max = least(limit.rlim_max, old.rlim_max);
			if (prlimit(init, resource, &limit, NULL) == 0)
				continue;
		}
		return err_set(err, ERR_SETUP, "cannot set limits.%s (%s): %s", table[i].name,
			table[i].rlimit, strerror(errno));
	}
	return 0;
}

void limits_add_memory(struct limits *l, int fd)
{
	l->memory_mounts =
		xreallocarray(l->memory_mounts, l->n_memory_mounts + 1, sizeof(*l->memory_mounts));
	l->memory_mounts[l->n_memory_mounts++] = fd;
}

static uint64_t memory_in_mounts(const struct limits *l)
{
	uint64_t bytes = 0;
	struct statfs fs;

	for (size_t i = 0; i < l->n_memory_mounts; i++)
		if (fstatfs(l->memory_mounts[i], &fs) == 0)
			bytes += (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
	return bytes;
}

/* The memory that is used, at most by a cheap look, and where that exceeds the limit, for certain.
 * What is mapped and what is in files in memory can be the same. 0 or -1 with ERR_SYSTEM. */
static int read_memory(const struct limits *l, pid_t shim, uint64_t *bytes, struct err *err)
{
	struct procs procs;
	uint64_t files;

	*bytes = 0;
	if (procs_read(shim, PROCS_RSS, &procs, err) < 0)
		return -1;
	if (procs.memfds < 0)
		return err_set(err, ERR_SYSTEM,
			"the run's memory cannot be measured: it has more than %d open descriptors",
			PROCS_DESCRIPTORS);
	files = memory_in_mounts(l) + (uint64_t)procs.memfds;
	*bytes = procs.anonymous + procs.shared + files;
	/* Twice, since those that end meanwhile leave their share to others, and it is added again. */
	for (int i = 0; i < 2 && *bytes > l->asked.values[LIMIT_MEMORY]; i++) {
		if (procs_read(shim, PROCS_PSS, &procs, err) < 0)
			return -1;
		*bytes = procs.anonymous + (procs.shared > files ? procs.shared : files);
	}
	return 0;
}

/* Whether the memory is used up; -1 when it cannot be known. */
static int look_at_memory(struct limits *l, pid_t shim, struct err *err)
{
	uint64_t bytes;

	if (read_memory(l, shim, &bytes, err) < 0) {
		l->by[LIMIT_MEMORY] = NULL;
		return -1;
	}
	if (bytes > l->peak)
		l->peak = bytes;
	return bytes > l->asked.values[LIMIT_MEMORY];
}

/* Whether the processor time is used up, and else when it could be at the earliest. */
static bool look_at_cpu(struct limits *l, int64_t now, int64_t *next)
{
	int64_t limit = (int64_t)l->asked.values[LIMIT_CPU], left;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct leaf_counts counts;

	leaf_read(l->leaf, &counts);
	left = limit - counts.cpu_us / 1000;
	if (left <= 0)
		return true;
	left /= processors > 0 ? processors : 1;
	*next = now + (left > CPU_MS ? left : CPU_MS);
	return false;
}

int limits_look(struct limits *l, int64_t now, pid_t shim, struct err *err)
{
	int64_t next = NEVER, start, pause;
	int full;

	if (now < l->next)
		return LIMITS;
	if (l->by[LIMIT_CPU] && !by_rlimit(l, LIMIT_CPU) && look_at_cpu(l, now, &next))
		return LIMIT_CPU;
	if (l->watches_memory) {
		start = clock_us(CLOCK_MONOTONIC);
		full = look_at_memory(l, shim, err);
		if (full)
			return full < 0 ? -1 : LIMIT_MEMORY;
		pause = MEMORY_SHARE * (clock_us(CLOCK_MONOTONIC) - start) / 1000;
		pause = pause < MEMORY_MS ? MEMORY_MS : pause > MEMORY_MOST ? MEMORY_MOST : pause;
		next = next < now + pause ? next : now + pause;
	}
	l->next = next;
	return LIMITS;
}

void limits_usage(const struct limits *l, pid_t shim, int64_t *memory, int64_t *processes)
{
	struct leaf_counts counts;
	struct procs procs;
	struct err ignored;
	bool seen = procs_read(shim, PROCS_RSS, &procs, &ignored) == 0;

	leaf_read(l->leaf, &counts);
	*memory = counts.memory >= 0 ? counts.memory
		  : seen             ? (int64_t)(procs.anonymous + procs.shared)
				     : -1;
	*processes = seen ? (int64_t)procs.processes - AROUND : -1;
}

void limits_measure(struct limits *l, pid_t shim)
{
	struct err ignored;

	procs_read(shim, PROCS_RSS, &l->used, &ignored);
}

/* The command's exit code is what the kernel's limit of processor time makes of it, and the time
 * has been used. The limit counts by ticks, which under load is far from how it is counted here: half
 * is taken for it. */
static bool ended_by_rlimit_cpu(const struct limits *l, const struct run_result *result)
{
	struct rlimit limit = rlimit_of(l, LIMIT_CPU);
	rlim_t used = result->exit_code == 128 + SIGXCPU   ? limit.rlim_cur
		      : result->exit_code == 128 + SIGKILL ? limit.rlim_max
							   : RLIM_INFINITY;

	return by_rlimit(l, LIMIT_CPU) && result->outcome == OUTCOME_COMPLETED &&
	       used != RLIM_INFINITY && result->cpu_ms >= (int64_t)used * 500;
}

static const char *advise(const struct limits *l, const struct run_oom *oom)
{
	static const char shared[] =
		"processes were killed for want of memory in the cgroup that this run shares with "
		"others, maybe this run's: try again when less is running, or give the container "
		"more memory";
	static const char outside[] =
		"the machine, or a cgroup around the run, ran out of memory before the run reached "
		"its own limit: try again when less is running";
	static const char unlimited[] = "the machine, or a cgroup around the run, ran out of "
					"memory: try again when less is "
					"running, or give it more";

	if (oom->source == OOM_SHARED)
		return shared;
	if (!oom->retryable)
		return "raise limits.memory (--memory), or use less";
	return l->by[LIMIT_MEMORY] ? outside : unlimited;
}

static void judge_memory(
	const struct limits *l, const struct leaf_counts *counts, struct run_result *result)
{
	bool looked = l->watches_memory && result->outcome == OUTCOME_MEMORY;
	struct run_oom *oom = &result->oom;

	/* What a run is ended for is said once. */
	if (result->outcome == OUTCOME_TIMEOUT || result->outcome == OUTCOME_CANCELLED)
		return;
	oom->limit_bytes = l->by[LIMIT_MEMORY] ? (int64_t)l->asked.values[LIMIT_MEMORY] : -1;
	oom->peak_bytes = l->peak ? (int64_t)l->peak : counts->memory_peak;
	if (looked) {
		oom->source = OOM_OWN;
		oom->kills = 1;
	} else if (counts->oom_kills >= 0) {
		oom->source = counts->oom_kills == 0 ? OOM_NONE
			      : counts->oom_shared   ? OOM_SHARED
						     : OOM_OWN;
		oom->kills = (uint64_t)counts->oom_kills;
	}
	if (oom->kills == 0)
		return;
	oom->retryable = !looked && (counts->oom_shared || counts->memory_hits <= 0);
	oom->advice = xstrdup(advise(l, oom));
}

/* A limit of the run's own killed what decides how it ended: the command, or what makes the
 * sandbox. */
static bool ended_by_memory(const struct run_result *result)
{
	return result->oom.kills && !result->oom.retryable &&
	       ((result->outcome == OUTCOME_COMPLETED && result->exit_code == 128 + SIGKILL) ||
		       result->outcome == OUTCOME_LOST || result->outcome == OUTCOME_SETUP_FAILED);
}

/* How many are full; -1: none is, though one may have been. */
static int64_t full_mounts(const struct limits *l)
{
	int64_t full = 0;
	struct statfs fs;

	for (size_t i = 0; i < l->n_memory_mounts; i++)
		if (fstatfs(l->memory_mounts[i], &fs) == 0 && fs.f_blocks &&
			(fs.f_bfree == 0 || (fs.f_files && fs.f_ffree == 0)))
			full++;
	return full ? full : -1;
}

void limits_judge(struct limits *l, struct run_result *result)
{
	struct leaf_counts counts;

	/* What a shim that was killed, and can be without a pid namespace of its own, has left. */
	leaf_kill(l->leaf);
	leaf_read(l->leaf, &counts);
	judge_memory(l, &counts, result);
	if (ended_by_rlimit_cpu(l, result)) {
		result->outcome = OUTCOME_CPU;
		result->exit_code = 137;
	} else if (ended_by_memory(result) && result->outcome == OUTCOME_SETUP_FAILED) {
		err_hint(&result->err, "limits.memory is too little for bwrap to make the sandbox: "
				       "raise it");
	} else if (ended_by_memory(result)) {
		result->outcome = OUTCOME_MEMORY;
		result->exit_code = 137;
		result->err = (struct err){0};
	}
	if (!l->by[LIMIT_MEMORY])
		run_withdraw(result, table[LIMIT_MEMORY].name);
	else
		run_hits(result, table[LIMIT_MEMORY].name,
			result->oom.source == OOM_OWN && !result->oom.retryable
				? (int64_t)result->oom.kills
				: 0);
	if (result->outcome == OUTCOME_CPU || !by_rlimit(l, LIMIT_CPU))
		run_hits(result, table[LIMIT_CPU].name, result->outcome == OUTCOME_CPU);
	if (!by_rlimit(l, LIMIT_PROCESSES))
		run_hits(result, table[LIMIT_PROCESSES].name, counts.task_hits);
	run_hits(result, "tmpfs", full_mounts(l));
	if (counts.cpu_us >= 0)
		result->cpu_ms = counts.cpu_us / 1000;
	else if (result->cpu_ms < (int64_t)l->used.cpu_us / 1000)
		result->cpu_ms = (int64_t)l->used.cpu_us / 1000;
	if (result->max_rss_bytes < (int64_t)(l->used.anonymous + l->used.shared))
		result->max_rss_bytes = (int64_t)(l->used.anonymous + l->used.shared);
}

void limits_close(struct limits *l, struct strvec *notes)
{
	for (size_t i = 0; i < l->n_memory_mounts; i++)
		close(l->memory_mounts[i]);
	free(l->memory_mounts);
	for (int i = 0; i < LIMITS; i++)
		free(l->why[i]);
	if (l->leaf)
		leaf_end(l->leaf, notes);
	*l = (struct limits){0};
}
