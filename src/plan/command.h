/*
 * Finding the command in the proven view, before anything runs: whether it is there and can be
 * executed is then known from our own walk and never guessed from a message.
 */
#ifndef SBX_PLAN_COMMAND_H
#define SBX_PLAN_COMMAND_H

#include "base/err.h"
#include "plan/plan.h"
#include "plan/tree.h"

/* Looks for name as execvp would inside: through the PATH of env (NAME=VALUE, NULL-terminated) when
 * it has no slash, else from plan->cwd. Checks permission to execute, the script's interpreter and
 * the program's loader. 0, or ERR_NOT_FOUND (exit 127) or ERR_NOT_EXECUTABLE (exit 126) with the
 * reason and, for a hidden command, the rule that hides it. */
int command_check(const struct plan *plan, const struct tree *tree, const char *name,
	char *const *env, struct err *err);

#endif
