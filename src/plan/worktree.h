/*
 * Linked worktrees of git: what a rule with `worktree` (policy/policy.h), whose path is the .git of
 * a checkout, stands for.
 *
 * Where .git is a file "gitdir: COMMON/worktrees/NAME", git keeps index and HEAD in that directory
 * and objects, refs and logs in COMMON: a commit has to write there. Whoever wrote the workspace
 * wrote that file, so by itself it grants nothing. The way back does: the file gitdir in the
 * directory that it names has to name it, where no rule lets a command write, and no link may be on
 * either way. Hooks, configuration, packed refs and other worktrees stay as they are.
 */
#ifndef SBX_PLAN_WORKTREE_H
#define SBX_PLAN_WORKTREE_H

#include "base/strvec.h"
#include "plan/glob.h"
#include "plan/tree.h"
#include "policy/policy.h"

/* The paths of the rules that take the place of one with `worktree`. */
struct worktree {
	struct strvec read, write;
};

/* Fills out, which the caller ends with worktree_clear: nothing where there is no .git or it is a
 * directory; where it is a file, that file to be read; where it is a linked worktree's and none of
 * rules (all without `worktree`, matches included) writes to what is to be read, as the way back is,
 * or closes any of the paths, these too. A note says why a linked worktree's repository is not opened. */
void worktree_find(struct worktree *out, const struct rule *rule, const struct rules *rules,
	const struct policy *policy, const struct tree *tree, struct strvec *notes);
void worktree_clear(struct worktree *worktree);

#endif
