/*
 * What bwrap can do on this host, found out by running it: containers, kernel settings and security
 * modules refuse in too many ways to be asked one by one. A trial makes an empty sandbox with the
 * features that the run needs, through the same launch as the run; it has worked when bwrap has
 * gone past the last step of the set-up (run/launch.h: launch_taken). In the good case there is one
 * trial, else they are given up one after the other. bwrap's messages and the kernel's settings
 * only choose the hint.
 */
#ifndef SBX_RUN_PROBE_H
#define SBX_RUN_PROBE_H

#include "base/err.h"
#include "base/strvec.h"
#include "run/launch.h"

#include <stdbool.h>

enum probe_proc { PROBE_PROC_NONE, PROBE_PROC_FRESH, PROBE_PROC_BIND };

/* What the run needs. */
struct probe_request {
	const char *bwrap;   /* from probe_find_bwrap */
	bool fresh, bind;    /* the ways to /proc the policy allows; neither: it has none */
	bool disable_userns; /* nested user namespaces are to be impossible */
	bool network;        /* a network namespace is needed */
};

struct probe {
	enum probe_proc proc;
	bool disable_userns;
	enum outer outer; /* the namespaces that can be made around bwrap */
	bool hostname; /* a host name of the sandbox's own can be set */
	bool bind_fd; /* bwrap takes the sources of binds as descriptors */
};

/* Finds the bwrap to use: option (--bwrap), else environment ($SBX_BWRAP), each an absolute
 * path; else "bwrap" beside our own binary; else in the absolute entries of search (PATH's
 * value; not for root) and the system's own directories, where only root could have put it;
 * those may be NULL. *path is its absolute path without links; free with free(). ERR_PROBE when
 * there is none, or when the one found could have been replaced: it, or a directory on its way, is
 * writable for group or others, or owned by neither root nor the caller. */
int probe_find_bwrap(const char *option, const char *environment, const char *search, char **path,
	struct err *err);

/* Runs the trials. notes gets what had to be given up. ERR_PROBE when what the run cannot do
 * without does not work, with the likely reason and a remedy. */
int probe_run(struct probe *probe, const struct probe_request *request, struct strvec *notes,
	struct err *err);

#endif
