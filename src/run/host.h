/*
 * What the system says of itself, without a process started: settings, and what this process may
 * do. Two things are made of it. hint.c chooses the likely cause of a failure by it, and cache.c
 * takes all of it as the mark of the place at which an answer of the probe holds. Neither decides
 * what works.
 */
#ifndef SBX_RUN_HOST_H
#define SBX_RUN_HOST_H

#include "base/strvec.h"

#include <stdbool.h>
#include <sys/types.h>

/* Ended by host_clear. */
struct host {
	bool admin;    /* CAP_SYS_ADMIN is in effect */
	bool root;     /* runs as uid 0 */
	bool unmapped; /* its uid has no number in this user namespace */
	bool seccomp;  /* a system call filter is on */
	bool confined; /* a security module has a profile for it */
	bool chroot;   /* the root directory is no mount point */
	bool gvisor;
	bool proc_masked;    /* something is mounted over parts of /proc */
	bool proc_read_only; /* /proc is */
	/* Of /proc/sys; -1 = there is no such setting. */
	long max_user_namespaces;    /* user.max_user_namespaces */
	long unprivileged_userns;    /* kernel.unprivileged_userns_clone (Debian) */
	long apparmor_restricts;     /* kernel.apparmor_restrict_unprivileged_userns (Ubuntu) */
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

/* What the lines of a mountinfo say of /proc: the fields of host with that name, and the lines at
 * and below /proc among facts. For host_look, and for tests. */
void host_read_mounts(struct host *host, char *const *lines);

#endif
