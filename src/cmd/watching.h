/*
 * What a run has to look at: its plan in the words of run/watch.h, and what may be new at its end.
 */
#ifndef SBX_CMD_WATCHING_H
#define SBX_CMD_WATCHING_H

#include "cmd/prepare.h"
#include "run/watch.h"

/* Fills out, zero-initialised, from the proven plan, which it borrows from. Ended by watching_clear,
 * before p. */
void watching_make(struct watch_spec *out, const struct prepared *p);
void watching_clear(struct watch_spec *watch);

/* Appends the repositories of git, bare ones too, that are in writable places: in those directories in
 * whose .git a rule of the policy's protects something. *n_entries is how many names were looked at.
 * 0, or -1 when there is too much to look through. */
int find_repositories(
	const struct prepared *p, struct strvec *found, size_t *n_entries, struct err *err);
/* Says in notes which there are now besides those of before: their hooks and configuration are the
 * command's, and the host's git would run what they name. Where the command has made so many names that
 * the end of the run would wait for the search, a note says that there was none. */
void note_repositories(const struct prepared *p, const struct strvec *before, size_t n_entries,
	struct strvec *notes);

#endif
