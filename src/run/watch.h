/*
 * What is watched while a command runs: covers that the host could take away, and names that no
 * mount holds.
 *
 * Covers. A mount that stands on a name of the host's is taken away by the kernel when something else
 * is renamed over that name or the name is removed, and carried along when the name, or a directory
 * above it, is renamed. The sandbox cannot do that to its own mounts; the host and other sandboxes
 * can. Both show in the mount table of the sandbox's pid 1, which is read again when it says that it
 * changed (POLLPRI), and, since a mount that was carried along makes no such event, when something
 * happens to one of the names from the cover up to the root of the bind that it stands in (inotify).
 *
 * Names. What is to be protected and does not exist, or is a link that can be replaced, is looked at
 * whenever something happens to one of the names on the way to it, and again at the end. With
 * "quarantine" it is moved aside within its directory, never removed; its maker cannot be known.
 * Runs that would do so hold a lock on the root of the bind (an open file description lock on one byte
 * far out, which disturbs nobody else's locks), and one moves only when no other holds it.
 *
 * The kernel takes ten milliseconds and more to close an instance of inotify that has watched
 * something, half of what a whole run takes. Therefore it is not used in a run's first tenth of a second: in that, mounts that are taken
 * away are seen at once, and all else when it is over or the run is, whichever comes first.
 *
 * All this is detection: what could be read, or be executed, until it was noticed, could be. What
 * cannot be watched (limits of inotify, directories that the user may not read) is said in the notes.
 * Binds are opened in the sandbox's own view before the command is let go, and what is below them is
 * come by through no link.
 */
#ifndef SBX_RUN_WATCH_H
#define SBX_RUN_WATCH_H

#include "base/user.h"
#include "run/hold.h"
#include "run/report.h"

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A name of the host's that is protected, and that no mount holds. */
struct watch_name {
	char *at;        /* its place in the sandbox, a normal path */
	const char *in;  /* the sandbox path of the bind that it lies in; at is below it */
	char *path;      /* its name on the host */
	char *rule;      /* whose it is: "FILE: POINTER" */
	char *link;      /* what the symbolic link says that is there; NULL = nothing is there */
	bool quarantine; /* what appears is moved aside */
	bool late;       /* but only at the end: a directory on its way was missing as well, and is
			    the work of whoever makes it (a new repository, say) */
};

/* Has to outlive the watch. */
struct watch_spec {
	struct expected_mount *mounts; /* those with `over` are watched */
	size_t n_mounts;
	struct watch_name *names;
	size_t n_names;
	const struct user
		*user; /* who looks at and moves what the command could: the one it runs as */
};

struct watch;

/* Begins. init is the sandbox's pid 1, root its root directory (hold_root). NULL when there is
 * nothing to watch. Mounts are to be verified afterwards (hold_verify), so that none is missed in
 * between. */
struct watch *watch_open(const struct watch_spec *spec, pid_t init, int root);
/* So much later than the command is let go, in milliseconds, watch_start is to be called. */
#define WATCH_DELAY_MS 100
/* Begins to watch by inotify, and takes a first look; as watch_step. */
int watch_start(struct watch *watch, struct run_result *result);
/* What to wait for. */
#define WATCH_FDS 2
void watch_fds(const struct watch *watch, struct pollfd fds[WATCH_FDS]);
/* Acts on what came. 1 when a cover was lost, now or before, and the run is to be ended for it; else 0.
 * Adds to the result's violations. */
int watch_step(struct watch *watch, const struct pollfd fds[WATCH_FDS], struct run_result *result);
/* The last look, when everything inside has ended: the same, and notes on what was not watched. */
int watch_end(struct watch *watch, struct run_result *result);
/* NULL is allowed, here and in all above. */
void watch_close(struct watch *watch);

#endif
