/*
 * What the mount table of a run's sandbox has to say: its plan in the words of run/table.h.
 */
#ifndef SBX_CMD_VERIFYING_H
#define SBX_CMD_VERIFYING_H

#include "cmd/prepare.h"
#include "run/launch.h"
#include "run/table.h"

#include <stdbool.h>

/* Whether a run has to be verified: the policy says so, or something is mounted on a name in a
 * place of the host that the plan makes writable, where another process could swap it. */
bool verifying_needed(const struct prepared *p);
/* Fills out, zero-initialised, from the proven plan, whose live tree it borrows from; bwrap and
 * outer are as run/launch.h has them. Ended by table_clear. */
void verifying_make(
	struct table_spec *out, const struct prepared *p, const char *bwrap, enum outer outer);

#endif
