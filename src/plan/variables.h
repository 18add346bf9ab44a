/*
 * The command's variables that name paths, held against the view: what the caller's or an image's
 * variables name may not be there inside.
 */
#ifndef SBX_PLAN_VARIABLES_H
#define SBX_PLAN_VARIABLES_H

#include "base/strvec.h"
#include "plan/plan.h"
#include "plan/tree.h"
#include "policy/policy.h"

/* Looks at HOME, TMPDIR and others in env (NAME=VALUE each). TMPDIR, TMP or TEMP that is no directory
 * which the command can write becomes /tmp where that is one, unless the policy sets it itself. What
 * was changed, and what names nothing that the view shows, is appended to notes. Secrets are left
 * alone. */
void variables_check(const struct plan *plan, const struct tree *tree, const struct policy *policy,
	struct strvec *env, struct strvec *notes);

#endif
