/*
 * The run's leaf: control groups (cgroups) of its own, in which all its processes are and the
 * supervisor is not. Through them the kernel enforces limits for the whole tree and counts for it.
 *
 * Every hierarchy in use gets a group of the name "sbx-" and 16 random hexadecimal digits: the one of
 * v2, those of the v1 controllers, or, on a hybrid host, both. It is made where the caller's limits
 * go on to hold:
 *
 *   v1   below the caller's own group.
 *   v2   below the caller's own group where that is the real root. Any other group that holds
 *        processes can have no groups with limits below it. Then, in this order:
 *        - beside the caller's own group, when nothing is escaped by that: its parent holds no
 *          processes, and on the group itself there is no limit. Group and parent belong to the
 *          caller's uid (a delegated subtree), or the caller is root and no BPF program is attached
 *          to the group.
 *        - with `manage`: the processes of the caller's own group are moved to a new group "sbx-init"
 *          below it, where they stay, and the leaf is made below the caller's group. A later caller
 *          in sbx-init finds the first way open.
 *        - below the caller's own group, where it has no limits, but CPU time is counted and all can
 *          be killed.
 *
 * Controllers that are not enabled where the leaf is to be made are, when a limit asks for them, and
 * stay so. What the group of a v2 leaf is beside is looked at when it is made: a limit that is put on
 * the caller's group later does not bind the leaf.
 *
 * The leaf is locked by flock(2) as long as this process lives. One that a killed supervisor left is
 * empty, unlocked and belongs to the same user: leaf_make removes it, whatever it is asked for, where a
 * leaf may have been made by a caller in the same group. Empty groups below a leaf, which a command may
 * have made, are removed with it.
 *
 * libcgroup (cgroup.c is its only includer) says whether there are cgroups and writes the limits. It
 * does not make, find or remove groups: it cannot make one exclusively, cuts paths at spaces, and
 * moves processes that it finds at removal to the parent, out of their limits. None of it runs after
 * leaf_make.
 */
#ifndef SBX_RUN_CGROUP_H
#define SBX_RUN_CGROUP_H

#include "base/strvec.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct leaf;

struct leaf_limits {
	uint64_t memory; /* bytes; 0 = none. Swap is not to be had on top where the kernel can tell. */
	uint64_t tasks;  /* processes and threads; 0 = none */
	bool cpu;        /* CPU time is to be counted */
	bool manage;     /* the processes of the caller's own group may be moved (v2) */
};

/* What a leaf may give. */
enum leaf_gift {
	LEAF_MEMORY, /* the memory limit holds: it was written and read back (rounded to pages) */
	LEAF_TASKS,  /* the same for tasks */
	LEAF_CPU,    /* CPU time of the whole tree is counted, that of ended processes included */
	LEAF_OOM,    /* memory and kills for lack of it are counted, the run's own alone */
	LEAF_KILL,   /* leaf_kill reaches what is in it, whosever child it has become */
	LEAF_GIFTS
};

/* Makes the leaf, without groups where no limit asks for one: they take a few milliseconds. What
 * cannot be had, leaf_why tells. Never fails and never returns NULL. notes gets
 * what was done to groups that are not ours, and what a limit leaves open. To be ended by leaf_end. */
struct leaf *leaf_make(const struct leaf_limits *limits, struct strvec *notes);

/* Who gives it, as reports say it: "cgroup v2 memory.max", "cgroup v1 pids.max" ... NULL: it is not to
 * be had. */
const char *leaf_by(const struct leaf *leaf, enum leaf_gift gift);
/* Why it is not to be had, as half a sentence; NULL where it is, or where no limit was asked for. */
const char *leaf_why(const struct leaf *leaf, enum leaf_gift gift);

/* Moves a process, with all its threads, into the leaf; 0 is the calling one. All that it forks from
 * then on is in it. To be called before the process has children, or can change anything. Allocates
 * nothing, calls no library: fit for a clone that shares nothing but descriptors. 0 or -errno: then
 * nothing of the leaf may be claimed. */
int leaf_enter(const struct leaf *leaf, pid_t pid);

/* -1 = not known. */
struct leaf_counts {
	int64_t cpu_us;
	int64_t memory;      /* bytes now, page cache included */
	int64_t memory_peak; /* bytes; v2 counts it since Linux 5.19 */
	int64_t memory_hits; /* how often the memory limit was reached, though something may have been
				given back then; on v1 it may say 1 for any number */
	int64_t tasks;       /* now */
	int64_t task_hits;   /* how often a fork was refused, here or (mostly since Linux 6.11) by a
				limit further up */
	int64_t oom_kills;   /* processes that the kernel killed for lack of memory, by whatever limit
				or none: with memory_hits 0 it was not the leaf's */
	bool oom_shared;     /* without LEAF_OOM: oom_kills is what the counter of the caller's own
				group has grown by since leaf_make, by whoever is in it */
};

void leaf_read(const struct leaf *leaf, struct leaf_counts *counts);

/* Sends SIGKILL to everything in the leaf: by cgroup.kill (Linux 5.14), else to each process found
 * there, again until none is, for a second at most. 0, or -1: some may be left. */
int leaf_kill(const struct leaf *leaf);

/* Removes the leaf, from which everything has to be gone, and frees it. The kernel takes its time to
 * let go of ended processes: for a second at most this waits. What stays is said in notes. */
void leaf_end(struct leaf *leaf, struct strvec *notes);

#endif
