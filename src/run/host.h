/*
 * What the system says of itself, without a process started: settings, and what this process may
 * do. Two things are made of it. hint.c chooses the likely cause of a failure by it, and cache.c
 * takes all of it as the mark of the place at which an answer of the probe holds. Neither decides
 * what works.
 */
#ifndef SBX_RUN_HOST_H
#define SBX_RUN_HOST_H

#include "base/err.h"
#include "base/strvec.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Names that a remedy needs; "" where there is nothing to name. */
struct host_names {
	char covers[192];  /* what is mounted over parts of /proc, apart by blanks; " ..." at the
			      end: and more */
	char profile[128]; /* the AppArmor profile that confines this process */
};

/* Ended by host_clear. */
struct host {
	bool admin;    /* CAP_SYS_ADMIN is in effect */
	bool root;     /* runs as uid 0 */
	bool unmapped; /* its uid has no number in this user namespace */
	bool seccomp;  /* a system call filter is on */
	bool chroot;   /* the root directory is no mount point */
	bool gvisor;
	bool nested;         /* it is in another user namespace than the system's first */
	bool proc_masked;    /* something is mounted over parts of /proc */
	bool proc_read_only; /* /proc is */
	/* Of /proc/sys; -1 = there is no such setting. */
	long max_user_namespaces;    /* user.max_user_namespaces */
	long max_other_namespaces;   /* the least of the other user.max_*_namespaces */
	long unprivileged_userns;    /* kernel.unprivileged_userns_clone (Debian) */
	long apparmor_restricts;     /* kernel.apparmor_restrict_unprivileged_userns (Ubuntu) */
	/* How many mounts of its mount namespace cannot be reached from its root directory. Two or
	 * more, one being what lies under every root: a chroot, or a root that was moved over
	 * another. -1 = not known (Linux before 6.12). */
	long mounts_beyond;
	struct host_names names;
	/* Everything that decides what works here, as lines of text: boot, namespaces, root
	 * directory, ids, capabilities, filters, label, settings, mounts at /proc and below.
	 * Empty when something of that cannot be known: the content of a filter that is not the
	 * one of the pid namespace's init, say. */
	struct strvec facts;
};

void host_look(struct host *host, uid_t uid, gid_t gid);
void host_clear(struct host *host);

/* Whether a uid stands for those that this user namespace does not map, the real root among
 * them, so that nobody can tell whose a file is. */
bool host_is_unmapped(unsigned uid);

/* What the lines of a mountinfo say of the root directory and of /proc: chroot, proc_masked,
 * proc_read_only and names.covers; the lines at and below /proc become facts. For host_look, and for
 * tests. */
void host_read_mounts(struct host *host, char *const *lines);
/* The name of an AppArmor profile that keeps something from its process; "" for a label that does
 * not, or that is another module's (SELinux's). label: a line of /proc/self/attr. The same. */
void host_read_label(struct host *host, const char *label);

/* The device nodes that bwrap needs: for everything the first (/dev/null), for a /dev in the sandbox
 * all. */
#define HOST_NODES 6
extern const char *const host_nodes[HOST_NODES];
/* Whether the first n are there. ERR_PROBE, with the missing one and how to make it. */
int host_check_nodes(size_t n, struct err *err);

#endif
