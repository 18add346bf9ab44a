/*
 * The proof: an independent replay of a plan on the tree. It shares nothing with the planner but
 * base/ containers, the tree and the op list: no resolver, no prefix test, no label list, for what
 * they share both get wrong together. A plan that does not prove is never run.
 *
 * What is proven of the view that the ops give, in order:
 *  - each op can run: its source is there, free of links and of the right type, its destination can
 *    be a
 *    mount point of that type, no component of it is a link, and nothing is created on the host;
 *  - every rule holds, in both directions, its path walked unresolved through the view, following
 *    links
 *    as the kernel would inside;
 *  - no denied object can be reached by any name of the view (binds, mounts at other places,
 *    links);
 *  - no live socket of the host that the caller could use can be reached either, unless a rule has
 *    it for its own object, nor a socket or FIFO among the entries of an opened directory that no
 *    rule names;
 *  - nothing is writable that no rule makes writable, scaffold included (every seal is there);
 *  - what is allowed is there: nothing readable was left out but what a note names;
 *  - a PATH read inside a writable directory keeps its name: each directory down to it is a mount
 *    point;
 *  - the working directory is there. Where rules meet so that more than one reading is possible,
 *    the stricter one is proven: of two rules that lead to one object the lower access holds, and a
 *    link raises nothing when its directory can be changed by anybody but root (and the caller,
 *    where the rule says "follow"), or from inside. A rule whose path leads into /proc through a
 *    link covers nothing there.
 *
 * The host is asked only about the places that ops and rules name, about its live sockets and about
 * the entries of opened directories. Host submounts and hard links are not known to the tree, and so
 * not to the proof.
 */
#ifndef SBX_PLAN_PROOF_H
#define SBX_PLAN_PROOF_H

#include "base/err.h"
#include "plan/plan.h"
#include "plan/tree.h"
#include "policy/policy.h"

/* 0 when the plan proves; -1 with ERR_PLAN, a message that begins "not proven: " and names the
 * path at fault, and in err->at the place of the rule ("FILE: POINTER"). */
int proof_check(const struct plan *plan, const struct policy *policy, const struct tree *tree,
	struct err *err);

#endif
