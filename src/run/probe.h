/*
 * What bwrap can do on this host, found out by running it: containers, kernel settings and security
 * modules refuse in too many ways to be asked one by one. A trial makes an empty sandbox with some
 * features, through the same launch as the run; they have worked when bwrap has gone past the last
 * step of the set-up (run/launch.h: launch_taken). In the good case one trial has them all, else
 * they are tried one by one. bwrap's messages and the kernel's settings only choose the hint.
 *
 * The answer is about host and bwrap alone; what it means for one policy is said by probe_choose.
 * So one answer serves all runs, and is kept (run/cache.h): a later start finds it and tries
 * nothing. Two rules keep an answer that is old, or wrong, from weakening a run. One in which
 * something does not work is kept and believed only where a setting of the host, or the release of
 * bwrap, says the same; and nothing is refused by an answer that was kept.
 */
#ifndef SBX_RUN_PROBE_H
#define SBX_RUN_PROBE_H

#include "base/err.h"
#include "base/strvec.h"
#include "run/hint.h"
#include "run/launch.h"

#include <stdbool.h>

/* In the order in which they are tried; one that rests on another comes after it. */
enum probe_feature {
	PROBE_USER,
	PROBE_PID,
	PROBE_JSON_STATUS_FD,
	PROBE_OUTER_MOUNTS, /* a mount and a user namespace around bwrap */
	PROBE_OUTER_PID,    /* a pid namespace around it too */
	PROBE_IPC,
	PROBE_UTS,
	PROBE_CGROUP, /* or the kernel has no such namespaces */
	PROBE_NET,
	PROBE_PERMS,
	PROBE_SIZE,
	PROBE_FRESH_PROC,
	PROBE_BOUND_PROC,
	PROBE_DISABLE_USERNS,
	PROBE_HOSTNAME,
	PROBE_BIND_FD,
	PROBE_FEATURES,
};

enum probe_proc { PROBE_PROC_NONE, PROBE_PROC_FRESH, PROBE_PROC_BIND };

struct probe_result {
	bool works;
	enum cause cause; /* when it does not */
	char said[256];   /* by bwrap or launch then; "" when the answer was kept */
};

/* The answer. */
struct probe {
	struct probe_result features[PROBE_FEATURES];
	bool has_version;
	unsigned version[3]; /* what bwrap says its release is */
	bool kept;           /* from the cache, nothing was tried */
	struct host_names names; /* for remedies; not kept */
};

/* What is asked. */
struct probe_request {
	const char *bwrap;       /* from probe_find_bwrap */
	const char *runtime_dir; /* $XDG_RUNTIME_DIR or NULL: for the cache */
	uid_t uid;               /* who bwrap will be run as (run/launch.h) */
	gid_t gid;
};

/* What a policy needs. */
struct probe_needs {
	bool fresh, bind;    /* the ways to /proc that it allows; neither: it has none */
	bool disable_userns; /* nested user namespaces are to be impossible */
	bool filtered;       /* where they cannot be disabled, a filter of system calls keeps them off */
	bool capabilities;   /* the command gets some: disable_userns is then a must */
	bool network;        /* a network namespace */
	bool hostname;       /* a host name of its own, by name */
};

/* What a run does, then. */
struct probe_choice {
	enum probe_proc proc;
	bool disable_userns;
	bool hostname; /* a host name of the sandbox's own can be set */
	bool bind_fd;  /* bwrap takes the sources of binds as descriptors */
	enum outer outer;
	bool kept; /* by an answer that was kept */
};

/* Finds the bwrap to use: option (--bwrap), else environment ($SBX_BWRAP), each an absolute
 * path; else "bwrap" beside our own binary; else in the absolute entries of search (PATH's
 * value; not for root) and the system's own directories, where only root could have put it;
 * those may be NULL. *path is its absolute path without links; free with free(). ERR_PROBE when
 * there is none, or when the one found could have been replaced: it, or a directory on its way, is
 * writable for group or others, or owned by neither root nor the caller. */
int probe_find_bwrap(const char *option, const char *environment, const char *search, char **path,
	struct err *err);

/* Runs the trials, 30 seconds at most, and keeps the answer. notes gets what keeps it from being
 * kept. ERR_PROBE only where nothing can be tried: without a /proc that is ours, or /dev/null. */
int probe_run(struct probe *probe, const struct probe_request *request, struct strvec *notes,
	struct err *err);
/* The answer that was kept, if there is one to be believed. Starts nothing. */
bool probe_recall(struct probe *probe, const struct probe_request *request);
/* Forgets it: a run that rested on it could not be set up. */
void probe_forget(const struct probe_request *request);

/* What needs come to. notes gets what has to be given up. ERR_PROBE when what cannot be done
 * without does not work, with cause and remedy. */
int probe_choose(struct probe_choice *choice, const struct probe *probe,
	const struct probe_needs *needs, struct strvec *notes, struct err *err);
/* For a run: recalls, else runs, and chooses. */
int probe_for(struct probe_choice *choice, const struct probe_request *request,
	const struct probe_needs *needs, struct strvec *notes, struct err *err);

/* For a run that could not be set up, without a hint so far: the cause, if the message tells, and its
 * remedy. */
void probe_explain(struct err *err, const struct probe_request *request);

/* Whether the answer can be believed by another run on this host. */
bool probe_is_sound(const struct probe *probe, const struct host *host);
/* "fresh-proc": for JSON and the cache. */
const char *probe_feature_name(enum probe_feature feature);

#endif
