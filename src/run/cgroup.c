#include "run/cgroup.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/read.h"
#include "run/cgplace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libcgroup.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

/* Waiting is done in steps of 10 ms, a second in all. */
#define STEP_NS 10000000L
#define STEPS 100

/* How many groups are removed below a leaf at a time, and how deep. */
#define MAX_BELOW 1000
#define MAX_DEPTH 32

/* What the names of leaves look like. */
#define NAME_PREFIX "sbx-"
#define NAME_DIGITS 16

/* The leaf's group in one hierarchy. */
struct group {
	struct cgplace place;
	char name[sizeof(NAME_PREFIX) + NAME_DIGITS];
	int parent;
	int dir;   /* with a shared flock */
	int procs; /* its cgroup.procs, for writing */
};

struct leaf {
	struct leaf_limits asked;
	struct group groups[CG_CONTROLLERS + 1];
	size_t n_groups;
	const struct group *of[CG_CONTROLLERS]; /* that counts for a controller; NULL = none */
	const char *by[LEAF_GIFTS];
	char *why[CG_CONTROLLERS];
	/* The caller's own group that counts memory, -1 = none, and what it said at the start. */
	int own_memory;
	int64_t own_oom_kills;
	bool own_v2;
};

static const enum controller controller_of[LEAF_GIFTS] = {
	[LEAF_MEMORY] = CG_MEMORY,
	[LEAF_TASKS] = CG_PIDS,
	[LEAF_CPU] = CG_CPU,
	[LEAF_OOM] = CG_MEMORY,
	[LEAF_KILL] = CG_CPU,
};

static void pause_step(void)
{
	nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
}

/* ---- the leaf's group in one hierarchy ---- */

/* Opens a group to be listed; NULL when it cannot be. */
static DIR *list(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

/* Removes a group, and first those below it, which a command may have made: depth levels and *n groups
 * at most, and none that has a process in it. 0 or -errno. */
static int remove_group(int parent, const char *name, int depth, int *n)
{
	struct dirent *entry;
	DIR *dir;

	if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno != EBUSY || depth == 0)
		return -errno;
	dir = list(parent, name);
	while (dir && *n > 0 && (entry = readdir(dir)))
		if (entry->d_type == DT_DIR && strcmp(entry->d_name, ".") != 0 &&
			strcmp(entry->d_name, "..") != 0) {
			--*n;
			remove_group(dirfd(dir), entry->d_name, depth - 1, n);
		}
	if (dir)
		closedir(dir);
	return unlinkat(parent, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

static int remove_leaf(int parent, const char *name)
{
	int n = MAX_BELOW;

	return remove_group(parent, name, MAX_DEPTH, &n);
}

/* Removes what killed supervisors have left in a group. One that has a process in it stays. */
static void sweep(int parent)
{
	DIR *dir = list(parent, ".");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		CLEANUP_CLOSE int leaf = -1;
		struct stat st;

		if (!path_is_random(entry->d_name, NAME_PREFIX))
			continue;
		leaf = openat(
			parent, entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (leaf >= 0 && fstat(leaf, &st) == 0 && st.st_uid == geteuid() &&
			flock(leaf, LOCK_EX | LOCK_NB) == 0)
			remove_leaf(parent, entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* The same wherever they may have made a leaf: in the caller's own group, or, v2, beside it. */
static void sweep_at(const struct cgplace *own)
{
	CLEANUP_FREE char *why = NULL;
	CLEANUP_CLOSE int dir = cgplace_open(own, &why);
	CLEANUP_CLOSE int parent = -1;

	if (dir < 0)
		return;
	sweep(dir);
	if (!own->v2 || !*own->below)
		return;
	parent = openat(dir, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent >= 0)
		sweep(parent);
}

/* Takes the lock of a leaf, if it is there still. */
static bool lock(int parent, const char *name, int dir)
{
	struct stat own, there;

	return flock(dir, LOCK_SH | LOCK_NB) == 0 && fstat(dir, &own) == 0 &&
	       fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       own.st_ino == there.st_ino;
}

/* Makes a directory of a new name and locks it: the descriptor, or -errno. */
static int make_locked(int parent, char name[static sizeof(NAME_PREFIX) + NAME_DIGITS])
{
	/* Before it is locked, somebody else's sweep may do that, and remove it. */
	for (int i = 0; i < STEPS; i++) {
		uint64_t random;
		int dir;

		if (getrandom(&random, sizeof(random), 0) != sizeof(random))
			return -errno;
		snprintf(name, sizeof(NAME_PREFIX) + NAME_DIGITS, NAME_PREFIX "%0*" PRIx64,
			NAME_DIGITS, random);
		if (mkdirat(parent, name, 0755) < 0)
			return -errno;
		dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (dir >= 0 && lock(parent, name, dir))
			return dir;
		if (dir >= 0)
			close(dir);
		unlinkat(parent, name, AT_REMOVEDIR);
	}
	return -EBUSY;
}

static void group_close(struct group *group)
{
	cleanup_close(&group->procs);
	cleanup_close(&group->dir);
	cleanup_close(&group->parent);
	cgplace_clear(&group->place);
}

/* What is wrong with a new group, as errno; 0 = nothing. */
static int check_group(struct group *group)
{
	char type[64];

	group->procs = openat(group->dir, "cgroup.procs", O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (group->procs < 0)
		return errno;
	if (!group->place.v2)
		return 0;
	/* A group below a threaded one takes no processes. Nor can they be moved by somebody who may
	 * not write to the group that has both where they are and where they go. */
	if (read_text(group->dir, "cgroup.type", type, sizeof(type)) < 0 ||
		strcmp(type, "domain\n") != 0)
		return EOPNOTSUPP;
	return faccessat(group->parent, "cgroup.procs", W_OK, AT_EACCESS) < 0 ? errno : 0;
}

static bool asks(const struct leaf_limits *limits)
{
	return limits->memory || limits->tasks || limits->cpu;
}

/* Makes the leaf's group below the one at a place; NULL with the reason, if any limit asks for it. */
static const struct group *make_group(
	struct leaf *leaf, const struct cgplace *place, int parent, char **why)
{
	struct group *group = &leaf->groups[leaf->n_groups];
	int error;

	if (!asks(&leaf->asked))
		return NULL;
	*group = (struct group){.place.v2 = place->v2, .procs = -1};
	group->parent = fcntl(parent, F_DUPFD_CLOEXEC, 3);
	group->dir = make_locked(parent, group->name);
	error = group->dir < 0 ? -group->dir : check_group(group);
	if (error == 0) {
		group->place.at = xstrdup(place->at);
		group->place.below =
			xasprintf("%s%s%s", place->below, *place->below ? "/" : "", group->name);
		leaf->n_groups++;
		return group;
	}
	*why = xasprintf("no group can be made in %s%s%s: %s", place->at, *place->below ? "/" : "",
		place->below, strerror(error));
	if (group->dir >= 0)
		unlinkat(parent, group->name, AT_REMOVEDIR);
	group_close(group);
	return NULL;
}

/* ---- v1 ---- */

/* Before Linux 5.11 a group of the memory controller could be asked not to count what is below it: its
 * limit would be escaped there. */
static bool counts_below(int own)
{
	int64_t limit = cg_read(own, "memory.limit_in_bytes", NULL);

	return cg_read(own, "memory.use_hierarchy", NULL) != 0 || limit > INT64_MAX / 2;
}

static void make_v1(struct leaf *leaf, enum controller c, const struct cgplace *own)
{
	CLEANUP_CLOSE int dir = -1;

	for (size_t i = 0; i < leaf->n_groups && !leaf->of[c]; i++)
		if (strcmp(leaf->groups[i].place.at, own->at) == 0)
			leaf->of[c] = &leaf->groups[i];
	if (leaf->of[c])
		return;
	dir = cgplace_open(own, &leaf->why[c]);
	if (dir < 0)
		return;
	if (c == CG_MEMORY) {
		leaf->own_memory = fcntl(dir, F_DUPFD_CLOEXEC, 3);
		leaf->own_v2 = false;
	}
	if (c == CG_MEMORY && !counts_below(dir))
		leaf->why[c] = xstrdup("the limit of the caller's own group does not bind groups "
				       "below it (memory.use_hierarchy is 0)");
	else
		leaf->of[c] = make_group(leaf, own, dir, &leaf->why[c]);
}

/* ---- v2 ---- */

/* v1[c]: the controller is v1's. */
static void make_v2(
	struct leaf *leaf, const struct cgplace *own, const bool *v1, struct strvec *notes)
{
	struct cgneeds needs = {
		.wanted = (leaf->asked.memory && !v1[CG_MEMORY] ? 1U << CG_MEMORY : 0) |
			  (leaf->asked.tasks && !v1[CG_PIDS] ? 1U << CG_PIDS : 0),
		.useful = v1[CG_MEMORY] ? 0 : 1U << CG_MEMORY,
		.manage = leaf->asked.manage,
	};
	CLEANUP_CGPLACE struct cgplace place = {0};
	CLEANUP_FREE char *why = NULL, *failed = NULL;
	CLEANUP_CLOSE int own_dir = cgplace_open(own, &why);
	CLEANUP_CLOSE int dir = -1;
	const struct group *group = NULL;

	if (own_dir >= 0)
		dir = cgplace_choose(own, own_dir, &needs, &place, &why, notes);
	if (dir >= 0)
		group = make_group(leaf, &place, dir, &failed);
	for (enum controller c = CG_MEMORY; c < CG_CONTROLLERS; c++) {
		static const char *const marks[] = {"memory.max", "pids.max", "cpu.stat"};

		if (v1[c] && c != CG_CPU)
			continue;
		if (group && cg_has(group->dir, marks[c]))
			leaf->of[c] = group;
		else if (failed || why)
			leaf->why[c] = xstrdup(failed ? failed : why);
		else
			leaf->why[c] = xasprintf("the caller's own group %s/%s does not have the "
						 "controller %s",
				own->at, own->below, controller_names[c]);
	}
	if (own_dir >= 0 && !v1[CG_MEMORY]) {
		leaf->own_memory = fcntl(own_dir, F_DUPFD_CLOEXEC, 3);
		leaf->own_v2 = true;
	}
}

/* ---- limits ---- */

struct value {
	const char *file;
	uint64_t number;
};

/* Lets libcgroup write the values of a controller. */
static bool write_values(
	const struct group *group, const char *controller, const struct value *values, size_t n)
{
	CLEANUP_FREE char *at = NULL;
	struct cgroup *cgroup = NULL;
	struct cgroup_controller *own = NULL;
	bool written = false;

	/* It looks for the mount by itself, and cuts what is too long for it. */
	if (cgroup_get_subsys_mount_point(controller, &at) != 0 ||
		strcmp(at, group->place.at) != 0 ||
		strlen(at) + strlen(group->place.below) > FILENAME_MAX / 2)
		return false;
	cgroup = cgroup_new_cgroup(group->place.below);
	own = cgroup ? cgroup_add_controller(cgroup, controller) : NULL;
	written = own != NULL;
	for (size_t i = 0; written && i < n; i++)
		written = cgroup_add_value_uint64(own, values[i].file, values[i].number) == 0;
	written = written && cgroup_modify_cgroup(cgroup) == 0;
	cgroup_free(&cgroup);
	return written;
}

/* Sets the limit of a controller: values, of which the first is it, in the files that are there. */
static void set_limit(struct leaf *leaf, enum leaf_gift gift, const struct value *values, size_t n,
	uint64_t unit, const char *by)
{
	enum controller c = controller_of[gift];
	const struct group *group = leaf->of[c];
	bool holds = write_values(group, controller_names[c], values, n);

	for (size_t i = 0; holds && i < n; i++) {
		int64_t is = cg_read(group->dir, values[i].file, NULL);

		holds = is >= 0 && (uint64_t)is == values[i].number - values[i].number % unit;
	}
	if (holds)
		leaf->by[gift] = by;
	else
		leaf->why[c] = xasprintf(
			"%s was written and does not read back as it should", values[0].file);
}

static void limit_memory(struct leaf *leaf, uint64_t limit, struct strvec *notes)
{
	const struct group *group = leaf->of[CG_MEMORY];
	struct value values[2] = {
		{group->place.v2 ? "memory.max" : "memory.limit_in_bytes", limit},
		{group->place.v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes",
			group->place.v2 ? 0 : limit},
	};
	bool swap = cg_has(group->dir, values[1].file);
	struct sysinfo info;

	set_limit(leaf, LEAF_MEMORY, values, swap ? 2 : 1, (uint64_t)sysconf(_SC_PAGESIZE),
		group->place.v2 ? "cgroup v2 memory.max" : "cgroup v1 memory.limit_in_bytes");
	if (leaf->by[LEAF_MEMORY] && !swap && (sysinfo(&info) < 0 || info.totalswap))
		strvec_push(notes, "what is swapped out is not limited: this kernel's memory "
				   "controller does not count swap");
}

/* libcgroup's own logger writes to standard output. */
static void no_log(void *data, int level, const char *format, va_list arguments)
{
	(void)data, (void)level, (void)format, (void)arguments;
}

/* 0 where there are cgroups. */
static int library_init(void)
{
	cgroup_set_logger(no_log, CGROUP_LOG_ERROR, NULL);
	return cgroup_init();
}

/* ---- what the header promises ---- */

static int64_t own_oom_kills(const struct leaf *leaf)
{
	if (leaf->own_memory < 0)
		return -1;
	if (!leaf->own_v2)
		return cg_read(leaf->own_memory, "memory.oom_control", "oom_kill");
	/* Those of the group itself, since Linux 5.2; else those below it too. */
	return cg_read(leaf->own_memory,
		cg_has(leaf->own_memory, "memory.events.local") ? "memory.events.local"
								: "memory.events",
		"oom_kill");
}

static void make_groups(struct leaf *leaf, struct strvec *notes)
{
	CLEANUP_STRVEC struct strvec groups = {0}, mounts = {0};
	CLEANUP_CGPLACE struct cgplace unified = {0};
	struct cgplace own[CG_CONTROLLERS] = {0};
	bool v1[CG_CONTROLLERS], v2;

	read_lines("/proc/self/cgroup", &groups);
	read_lines("/proc/self/mountinfo", &mounts);
	v2 = cgplace_find(strvec_argv(&groups), strvec_argv(&mounts), NULL, &unified);
	if (v2)
		sweep_at(&unified);
	for (enum controller c = CG_MEMORY; c < CG_CONTROLLERS; c++) {
		v1[c] = cgplace_find(
			strvec_argv(&groups), strvec_argv(&mounts), controller_names[c], &own[c]);
		if (v1[c])
			sweep_at(&own[c]);
	}
	/* With any limit there is a group that counts memory, and one that counts CPU time. */
	if (v1[CG_MEMORY])
		make_v1(leaf, CG_MEMORY, &own[CG_MEMORY]);
	if (v1[CG_PIDS] && leaf->asked.tasks)
		make_v1(leaf, CG_PIDS, &own[CG_PIDS]);
	if (v2)
		make_v2(leaf, &unified, v1, notes);
	if (v1[CG_CPU] && !leaf->of[CG_CPU]) {
		free(leaf->why[CG_CPU]);
		leaf->why[CG_CPU] = NULL;
		make_v1(leaf, CG_CPU, &own[CG_CPU]);
	}
	for (enum controller c = CG_MEMORY; c < CG_CONTROLLERS; c++) {
		if (!leaf->of[c] && !leaf->why[c])
			leaf->why[c] = xasprintf("no mounted cgroup hierarchy shows the caller's "
						 "own group of the controller %s",
				controller_names[c]);
		cgplace_clear(&own[c]);
	}
}

struct leaf *leaf_make(const struct leaf_limits *limits, struct strvec *notes)
{
	struct leaf *leaf = xcalloc(1, sizeof(*leaf));
	const struct group *group;

	leaf->asked = *limits;
	leaf->own_memory = -1;
	if (asks(limits) && library_init() != 0)
		for (enum controller c = CG_MEMORY; c < CG_CONTROLLERS; c++)
			leaf->why[c] = xstrdup("libcgroup finds no cgroup file system here");
	else
		make_groups(leaf, notes);
	if (limits->memory && leaf->of[CG_MEMORY])
		limit_memory(leaf, limits->memory, notes);
	if (limits->tasks && leaf->of[CG_PIDS])
		set_limit(leaf, LEAF_TASKS, &(struct value){"pids.max", limits->tasks}, 1, 1,
			leaf->of[CG_PIDS]->place.v2 ? "cgroup v2 pids.max" : "cgroup v1 pids.max");
	group = leaf->of[CG_CPU];
	if (group)
		leaf->by[LEAF_CPU] =
			group->place.v2 ? "cgroup v2 cpu.stat" : "cgroup v1 cpuacct.usage";
	group = leaf->of[CG_MEMORY];
	if (group)
		leaf->by[LEAF_OOM] = group->place.v2 ? "cgroup v2 memory.events"
						     : "cgroup v1 memory.oom_control";
	for (size_t i = 0; i < leaf->n_groups; i++)
		leaf->by[LEAF_KILL] = cg_has(leaf->groups[i].dir, "cgroup.kill")
					      ? "cgroup v2 cgroup.kill"
				      : leaf->groups[i].place.v2 ? "cgroup v2 cgroup.procs"
								 : "cgroup v1 cgroup.procs";
	leaf->own_oom_kills = own_oom_kills(leaf);
	return leaf;
}

const char *leaf_by(const struct leaf *leaf, enum leaf_gift gift)
{
	return leaf->by[gift];
}

const char *leaf_why(const struct leaf *leaf, enum leaf_gift gift)
{
	if (leaf->by[gift] || (gift == LEAF_MEMORY && !leaf->asked.memory) ||
		(gift == LEAF_TASKS && !leaf->asked.tasks))
		return NULL;
	return asks(&leaf->asked) ? leaf->why[controller_of[gift]] : "no limit asks for it";
}

int leaf_enter(const struct leaf *leaf, pid_t pid)
{
	char text[16], *at = text + sizeof(text);

	do {
		*--at = (char)('0' + pid % 10);
		pid /= 10;
	} while (pid);
	for (size_t i = 0; i < leaf->n_groups; i++)
		if (write(leaf->groups[i].procs, at, (size_t)(text + sizeof(text) - at)) < 0)
			return -errno;
	return 0;
}

void leaf_read(const struct leaf *leaf, struct leaf_counts *counts)
{
	static const struct {
		enum controller controller;
		size_t offset;
		const char *v1, *v1_key, *v2, *v2_key;
	} sources[] = {
		{CG_CPU, offsetof(struct leaf_counts, cpu_us), "cpuacct.usage", NULL, "cpu.stat",
			"usage_usec"},
		{CG_MEMORY, offsetof(struct leaf_counts, memory), "memory.usage_in_bytes", NULL,
			"memory.current", NULL},
		{CG_MEMORY, offsetof(struct leaf_counts, memory_peak), "memory.max_usage_in_bytes",
			NULL, "memory.peak", NULL},
		{CG_MEMORY, offsetof(struct leaf_counts, memory_hits), "memory.failcnt", NULL,
			"memory.events", "max"},
		{CG_MEMORY, offsetof(struct leaf_counts, oom_kills), "memory.oom_control",
			"oom_kill", "memory.events", "oom_kill"},
		{CG_PIDS, offsetof(struct leaf_counts, tasks), "pids.current", NULL, "pids.current",
			NULL},
		{CG_PIDS, offsetof(struct leaf_counts, task_hits), "pids.events", "max",
			"pids.events", "max"},
	};
	const struct group *memory = leaf->of[CG_MEMORY], *cpu = leaf->of[CG_CPU];

	*counts = (struct leaf_counts){0};
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		const struct group *group = leaf->of[sources[i].controller];
		int64_t number = -1;

		if (group && group->place.v2)
			number = cg_read(group->dir, sources[i].v2, sources[i].v2_key);
		else if (group)
			number = cg_read(group->dir, sources[i].v1, sources[i].v1_key);
		memcpy((char *)counts + sources[i].offset, &number, sizeof(number));
	}
	if (cpu && !cpu->place.v2 && counts->cpu_us > 0)
		counts->cpu_us /= 1000; /* ns */
	if (memory && !memory->place.v2 && counts->memory_hits == 0) {
		/* With both v1 limits the same it is the one that includes swap that is hit, and newer
		 * kernels do not count that. A charge that fails can be of many pages. */
		const int64_t charge = 256 << 10;
		int64_t limit = cg_read(memory->dir, "memory.memsw.limit_in_bytes", NULL);
		int64_t most = cg_read(memory->dir, "memory.memsw.max_usage_in_bytes", NULL);

		counts->memory_hits = limit > 0 && most >= limit - charge;
	}
	if (!memory && leaf->own_oom_kills >= 0) {
		int64_t now = own_oom_kills(leaf);

		counts->oom_kills = now < 0 ? -1 : now - leaf->own_oom_kills;
		counts->oom_shared = true;
	}
}

/* Kills a process if it is in the leaf: by a descriptor, as a number may have become another's. */
static void kill_member(const struct group *group, pid_t pid)
{
	CLEANUP_CLOSE int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	CLEANUP_FREE char *path = xasprintf("/proc/%d/cgroup", (int)pid);
	CLEANUP_STRVEC struct strvec lines = {0};

	read_lines(path, &lines);
	for (size_t i = 0; fd >= 0 && i < lines.n; i++)
		if (strstr(lines.v[i], group->name))
			syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
}

int leaf_kill(const struct leaf *leaf)
{
	bool left = true;

	for (size_t i = 0; i < leaf->n_groups; i++)
		if (leaf->groups[i].place.v2 &&
			cg_write(leaf->groups[i].dir, "cgroup.kill", "1") == 0)
			return 0;
	for (int step = 0; left && step < STEPS; step++) {
		left = false;
		if (step > 0)
			pause_step();
		for (size_t i = 0; i < leaf->n_groups; i++) {
			CLEANUP_STRVEC struct strvec pids = {0};
			CLEANUP_FREE char *path =
				xasprintf("/proc/self/fd/%d/cgroup.procs", leaf->groups[i].dir);

			read_lines(path, &pids);
			for (size_t p = 0; p < pids.n; p++)
				kill_member(&leaf->groups[i], (pid_t)strtol(pids.v[p], NULL, 10));
			left |= pids.n > 0;
		}
	}
	return left ? -1 : 0;
}

void leaf_end(struct leaf *leaf, struct strvec *notes)
{
	for (size_t i = 0; i < leaf->n_groups; i++) {
		struct group *group = &leaf->groups[i];
		int result = -EBUSY;

		for (int step = 0; step < STEPS; step++) {
			result = remove_leaf(group->parent, group->name);
			if (result != -EBUSY)
				break;
			pause_step();
		}
		if (result < 0)
			strvec_pushf(notes, "the cgroup %s/%s could not be removed: %s",
				group->place.at, group->place.below, strerror(-result));
		group_close(group);
	}
	for (enum controller c = CG_MEMORY; c < CG_CONTROLLERS; c++)
		free(leaf->why[c]);
	cleanup_close(&leaf->own_memory);
	free(leaf);
}
