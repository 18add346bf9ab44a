/*
 * Leases: missing names of the host that are held for the time of a run.
 *
 * A lease is a placeholder (base/placeholder.h) at the name, and a shared flock(2) on it: the lock is
 * seen by every namespace and container, and is gone with whoever held it, however they ended. Runs
 * share a placeholder. The last one to give its lease back, which is who gets an exclusive lock,
 * removes it; one that a killed run has left is taken over, and removed in the end, by the next run
 * that holds the same name.
 */
#ifndef SBX_RUN_LEASE_H
#define SBX_RUN_LEASE_H

#include "base/err.h"
#include "base/strvec.h"

#include <stddef.h>

struct lease;

/* Zero-initialise; ended by leases_end. */
struct leases {
	struct lease *v;
	size_t n, alloc;
};

/* Takes a lease on an absolute path that is reached through no link. 0, also when something else than
 * a placeholder stands there by now; -1 with ERR_SETUP when the name cannot be held. */
int lease_take(struct leases *leases, const char *path, struct err *err);
/* Gives all leases back. Says in notes which placeholder could not be removed. */
void leases_end(struct leases *leases, struct strvec *notes);

#endif
