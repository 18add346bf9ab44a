/*
 * Starting bwrap: the shim.
 *
 * A clone of this process, pid 1 of a pid, mount and user namespace of its own (the last maps only
 * the user that bwrap runs as), sets up what bwrap inherits, becomes that user and forks bwrap. A
 * root caller's may be any; the namespaces around bwrap are still the caller's, who therefore keeps
 * every right over what is in them (to signal and to trace, say), and the user, to whom they do not
 * belong, has none from outside. As the namespace's init its death, by whatever cause, ends
 * everything below at once, a half-made sandbox included; it dies with its parent. Its mounts are
 * private, so that a file system mounted on the host later does not appear inside (or slaves, where
 * that is wanted); its /proc is one
 * of its own pid namespace, in which bwrap looks its child up. It allocates nothing and prints
 * nothing; what fails in it comes back as a step and an errno.
 *
 * When bwrap has ended, or it is told to by SIGUSR1, the shim kills and reaps all that is left, and
 * ends as bwrap ended. So the kernel adds up in it what the whole tree used.
 *
 * Where there can be no such pid namespace (a masked /proc keeps its own from being mounted) the
 * shim is only the reaper of all orphans below. Killed, it then leaves only bwrap's own
 * --die-with-parent. Where there can be no mount and user namespace either, mounts stay connected
 * to the host's. Both are said in the notes.
 */
#ifndef SBX_RUN_LAUNCH_H
#define SBX_RUN_LAUNCH_H

#include "base/err.h"
#include "base/strvec.h"
#include "run/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The namespaces around bwrap. */
enum outer {
	OUTER_NONE,
	OUTER_MOUNTS, /* a mount and a user namespace */
	OUTER_ALL,    /* a pid namespace too */
};

struct launch_spec {
	const char *bwrap;          /* absolute path */
	const struct strvec *words; /* bwrap's words without the command's; --json-status-fd and
				       --block-fd are added, and all go over a sealed memfd */
	char *const *command;       /* NULL-terminated */
	const int *stdio;           /* three descriptors that become 0, 1 and 2 */
	const int *keep;            /* descriptors that stay open at their numbers: what words name,
				       and what the command is given */
	size_t n_keep;
	uid_t uid; /* who bwrap is run as: the caller's own ids, or, for root, any */
	gid_t gid;
	enum outer outer;        /* the namespaces to make */
	bool slave;              /* what the host mounts later appears inside, too */
	const struct leaf *leaf; /* the cgroups that all is to be in; NULL: the caller's */
	bool hold;               /* the command waits for launch_release */
	int tty; /* with OUTER_ALL: what becomes the controlling terminal of a session of its own,
		    with bwrap in the foreground; -1: there is none */
};

/* A started bwrap. Zero-initialise; ended by child_close. */
struct child {
	bool started; /* the rest is valid */
	bool outer;   /* it is in a pid namespace of its own */
	pid_t pid;    /* the shim, whose child bwrap is */
	int pidfd;
	int status;  /* bwrap's --json-status-fd, to read; does not block */
	int hold[2]; /* the pipe of --block-fd */
	bool released;
};

/* 0 when bwrap has been executed; notes gets what could not be done (groups, oom_score_adj).
 * ERR_SETUP: nothing is left running. */
int launch(
	struct child *child, const struct launch_spec *spec, struct strvec *notes, struct err *err);
/* Lets a held command start. */
void launch_release(struct child *child);
/* Whether bwrap has taken the byte of launch_release: all mounts were made, and it went on to
 * execute the command. */
bool launch_taken(const struct child *child);
/* Has the shim kill everything that was started, and add up what it used. */
void launch_kill(const struct child *child);
/* Kills everything without the shim, which whoever is the user that it runs as can stop. */
void launch_kill_shim(const struct child *child);
/* With a tty: stops all processes, however they are grouped, or lets all go on. The shim does it,
 * soon. */
void launch_stop(const struct child *child);
void launch_continue(const struct child *child);
/* How bwrap ended, and what the whole tree used. */
struct child_end {
	bool killed;     /* by a signal; known only where bwrap has told no exit code */
	int status;      /* the signal, or the exit code */
	int64_t cpu_ms;  /* of all processes; without those that were left when bwrap had ended */
	int64_t max_rss; /* bytes, of the largest process; this one as it was at the clone counts
			    as one of them */
};

/* Waits for the end of everything. */
void launch_wait(struct child *child, struct child_end *end);
/* Kills what still runs, waits for it and closes everything. */
void child_close(struct child *child);

#endif
