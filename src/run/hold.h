/*
 * The hold: what is done from outside when all mounts have been made and the command does not run
 * yet.
 *
 * Two things cannot be left to bwrap. Destinations below a writable directory can be swapped for
 * links by another process while bwrap mounts, so what stands at each is compared with the plan, and,
 * where it is asked for, all of the sandbox's mount table (run/table.h).
 * And bwrap forks the command before the sandbox's pid 1 has closed what it inherited, a descriptor
 * of the /proc around the sandbox among it, which the command could reach as /proc/1/fd: so the
 * command's process is stopped at the fork (ptrace) until pid 1 has nothing open any more.
 *
 * With a terminal the command's process is, in the same moment, moved into a process group of its
 * own in the terminal's foreground, as a shell does with a job: bwrap puts it into its own, where
 * the keys' signals, and those that the command sends to its group, would end bwrap. Nobody but the
 * process itself can do that: it is made to by system calls put into it.
 */
#ifndef SBX_RUN_HOLD_H
#define SBX_RUN_HOLD_H

#include "base/err.h"
#include "base/user.h"
#include "run/table.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A mount that has to stand at a sandbox path. */
struct expected_mount {
	const char *dest; /* normal sandbox path, borrowed */
	bool object;      /* it is the object dev:ino; else a file system of the sandbox's own */
	dev_t dev;
	ino_t ino;
	bool read_only;
	/* The bind on a name of which it stands: its sandbox path, borrowed. NULL = it stands on the
	 * sandbox's own and cannot be lost; else the host could take it away (run/watch.h). */
	const char *over;
	char *name; /* with over: the host's name under it, owned */
	bool named; /* with over: what has that name has to be name_dev:name_ino */
	dev_t name_dev;
	ino_t name_ino;
	char *rule;       /* with over: whose it is, "FILE: POINTER", owned */
	bool lost_report; /* that it is lost is reported, and the run goes on */
	bool passing; /* what it covers comes and goes: lost only when the name is there again */
};

/* The final root directory of the sandbox's pid 1 (its host pid), which bwrap makes read-only as
 * its last step; -EAGAIN while it is not that yet, or another -errno. To be closed by the
 * caller. */
int hold_root(pid_t init);
/* Whether pid 1 has given up the right to mount: nothing changes any more. It never does where the
 * command is given CAP_SYS_ADMIN. */
bool hold_is_done(pid_t init);
/* Compares the mount table with the plan. 0, or -1 with ERR_SETUP and the difference: as long as
 * pid 1 is not done it may come from what is not made, or not taken away, yet. */
int hold_compare(pid_t init, const struct table_spec *table, struct err *err);
/* Compares what stands there with the plan. 0, or -1 with ERR_SETUP and the difference. */
int hold_verify(int root, const struct expected_mount *mounts, size_t n, struct err *err);

/*
 * Looks whether what was planned to be covered still has its name on the host: a name that another
 * object had when bwrap mounted got the cover, and what was to be covered has none. To be called
 * before hold_verify: a name that gets its object back by then has lost the mount. user is who looks.
 * 0, or -1 with ERR_SETUP and the difference.
 */
int hold_verify_names(const struct expected_mount *mounts, size_t n, const struct user *user,
	struct err *err);

/* Attaches to pid 1 before the command is let go. 0 or -errno (-EPERM: the system forbids it). */
int hold_attach(pid_t init);
/* After the command was let go: keeps it from running until pid 1 is clean, then detaches from
 * both. tty: its standard output is its session's terminal, and it becomes the foreground of that.
 * command gets its pid: 0 when pid 1 ended without having forked it, negative when that is not known.
 * -1 with ERR_SETUP when that does not come about; everything must then be killed. */
int hold_gate(pid_t init, bool tty, pid_t *command, struct err *err);
/* Whether a command can be given a terminal: tries to attach to a process of our own. 0 or -errno;
 * -ENOSYS: not on this machine. */
int hold_try_tty(void);

#endif
