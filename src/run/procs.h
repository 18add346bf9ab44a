/*
 * The run's processes as /proc shows them: what is measured where there is no cgroup.
 *
 * The tree is found by parents. Below the init of a pid namespace, or a subreaper, it is complete: an
 * orphan becomes the child of one of the two. It is a sample: a process can come and go between two
 * of them, and one that is forked while /proc is read may be missed.
 *
 * Memory that is in none of the numbers: what is swapped out, but for memfds; what nobody has mapped
 * and no descriptor leads to (System V shared memory, descriptors under way in a socket, in io_uring,
 * or with a process that we may not look into); what the kernel keeps for processes (pipes, sockets,
 * page tables); the pages of memfd_secret(2), and huge pages that the administrator has set aside.
 */
#ifndef SBX_RUN_PROCS_H
#define SBX_RUN_PROCS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct procs {
	uint64_t processes; /* zombies included, which take a pid */
	uint64_t threads;
	/* Bytes that processes have mapped and the kernel cannot drop: anonymous pages, and those of
	 * shared memory, tmpfs and memfds included. */
	uint64_t anonymous, shared;
	/* Bytes in memfds of which a process has a descriptor, mapped or not; with PROCS_RSS. -1:
	 * there are more than PROCS_DESCRIPTORS descriptors, so that it cannot be told. */
	int64_t memfds;
	/* Of the living ones, and of the ended ones that were waited for. Of a child whose parent
	 * ignores SIGCHLD the kernel keeps none: it is a lower bound. */
	uint64_t cpu_us;
};

/* Whether /proc is good for this: it numbers processes as we do, and hides none. 0 or -1 with
 * ERR_SETUP. To be asked once, before something is claimed. */
int procs_check(struct err *err);

/* How a page that several processes have mapped counts in anonymous and shared. */
enum procs_pages {
	PROCS_RSS, /* once for each: cheap, and too much */
	/* Once in all (Pss): the kernel walks all page tables for it. Of a process that we may not
	 * look into (bwrap itself; a program that its user may not read), and before Linux 5.3, it
	 * is as above. */
	PROCS_PSS,
};

/* The most descriptors that are looked at, which takes some tenths of a second. */
#define PROCS_DESCRIPTORS (1 << 17)

/* Measures the tree of root, a child of ours that has not been waited for: the init of a pid
 * namespace, or a subreaper. -1 with ERR_SYSTEM when it cannot be told what is in the tree: then
 * nothing measured holds any longer. */
int procs_read(pid_t root, enum procs_pages pages, struct procs *procs, struct err *err);

/* A line of /proc/PID/stat. */
struct proc_stat {
	pid_t pid, parent;
	char state;
	uint64_t ticks; /* of its own and of the ended children that it waited for */
	uint64_t threads;
	bool executed;  /* a program, since it was forked (the flag PF_FORKNOEXEC, 1 in ps(1)) */
	uint64_t start; /* when it was started, in clock ticks since the boot */
};
/* Reads one, whatever the name in it is. 0 or -1. */
int procs_parse(const char *text, struct proc_stat *stat);
/* That of a process. 1; 0 when it has ended; -1 with errno. */
int procs_stat(pid_t pid, struct proc_stat *stat);

#endif
