/*
 * Why something does not work, and what to do about it.
 *
 * That it does not work is found out by trying (run/probe.h). Here a cause is chosen for it, by
 * what was said and by what the host says of itself, and nothing is decided by it: texts differ
 * between releases of bwrap, and settings do not tell everything. Two tables: one has each cause
 * with its words and its remedy, the other the texts that point to one.
 */
#ifndef SBX_RUN_HINT_H
#define SBX_RUN_HINT_H

#include "run/host.h"

#include <stdbool.h>

enum cause {
	CAUSE_UNKNOWN,
	CAUSE_NOT_INSTALLED,
	CAUSE_OLD_BWRAP,
	CAUSE_SETUID,
	CAUSE_CAPABLE,      /* bwrap is started with capabilities, and not by root */
	CAUSE_USERNS_OFF,   /* user.max_user_namespaces is 0 */
	CAUSE_USERNS_ROOT,  /* kernel.unprivileged_userns_clone is 0 */
	CAUSE_USERNS_NONE,  /* the kernel has none */
	CAUSE_LIMIT,        /* of namespaces: their number or depth */
	CAUSE_NESTED,       /* one that is set from outside this user namespace */
	CAUSE_APPARMOR,     /* Ubuntu's restriction of user namespaces */
	CAUSE_PROFILE,      /* the AppArmor profile of this process */
	CAUSE_SECCOMP,
	CAUSE_KILLED,       /* a filter that kills */
	CAUSE_DROPPED,      /* root without the capabilities it needs */
	CAUSE_UNMAPPED,
	CAUSE_CHROOT,
	CAUSE_MOUNTS,       /* mounting is forbidden */
	CAUSE_MOUNT_LIMIT,
	CAUSE_PIVOT_ROOT,
	CAUSE_PROC_MASKED,
	CAUSE_PROC_READ_ONLY,
	CAUSE_PROC_MISSING, /* or without its machine-wide part */
	CAUSE_PROC_FOREIGN, /* of another pid namespace */
	CAUSE_LOOPBACK,
	CAUSE_HOSTNAME,
	CAUSE_KEYCTL,
	CAUSE_KEY_QUOTA,
	CAUSE_GVISOR,
	CAUSE_PROCESSES,    /* too many */
	CAUSE_FILES,        /* too many open */
	CAUSE_FILE_SIZE,    /* files may not grow as they have to */
	CAUSE_HANG,
	N_CAUSES,
};

/* What the probe says where bwrap says nothing. */
#define PROBE_SAYS_HANG "bwrap does not come to an end"
#define PROBE_SAYS_KILLED "what makes a sandbox is killed (SIGSYS)"

/* The likely cause; said is bwrap's message or one of run/launch.c, "" = nothing. */
enum cause hint_cause(const struct host *host, const char *said);

/* One word, for JSON and the cache: "proc-masked". */
const char *cause_name(enum cause cause);
/* The cause of a name; false when there is none. */
bool cause_of_name(enum cause *cause, const char *name);
/* What is wrong, without a capital and a full stop: "parts of /proc are masked". */
const char *cause_words(enum cause cause);
/* A command or a setting, with the name that it needs; free with free(). */
char *cause_remedy(enum cause cause, const struct host_names *names);

#endif
