/*
 * The filter of system calls that a policy asks for, for the kernel that is there.
 */
#ifndef SBX_CMD_FILTERING_H
#define SBX_CMD_FILTERING_H

#include "base/err.h"
#include "base/strvec.h"
#include "policy/policy.h"
#include "run/seccomp.h"

#include <stdbool.h>

/* Zero-initialise; ended by filtering_clear. */
struct filtering {
	struct strvec allow, deny; /* names of calls */
	struct filter_spec spec;
	bool on; /* a run has a filter: one is asked for, and the kernel takes it */
	struct filter_program program; /* of filtering_make; empty when off */
};

/* What the policy asks for. ERR_POLICY: it names a call that does not exist. */
int filtering_init(struct filtering *f, const struct policy *policy, struct err *err);
/* Makes the program. ERR_SETUP: nothing may be run. */
int filtering_make(struct filtering *f, struct err *err);
/* Whether the filter alone keeps the command from user namespaces. */
bool filtering_closes_userns(const struct filtering *f);
void filtering_clear(struct filtering *f);

#endif
