/*
 * What a run has to look at: its plan in the words of run/watch.h.
 */
#ifndef SBX_CMD_WATCHING_H
#define SBX_CMD_WATCHING_H

#include "cmd/prepare.h"
#include "run/watch.h"

/* Fills out, zero-initialised, from the proven plan, which it borrows from. Ended by watching_clear,
 * before p. */
void watching_make(struct watch_spec *out, const struct prepared *p);
void watching_clear(struct watch_spec *watch);

#endif
