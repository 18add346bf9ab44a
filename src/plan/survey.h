/*
 * What is left for the command to talk to: a walk through all that a proven plan shows. Live
 * sockets that no rule names are covered before a run; this finds what rules show and what nobody
 * knows without a search: FIFOs, sockets of other network namespaces, sockets that nobody holds
 * open now.
 */
#ifndef SBX_PLAN_SURVEY_H
#define SBX_PLAN_SURVEY_H

#include "base/strvec.h"
#include "plan/explain.h"
#include "plan/tree.h"
#include "policy/policy.h"

#include <stddef.h>

/* A socket or FIFO of the host that the sandbox shows and its user could use. */
struct loose_end {
	char *path, *host; /* the sandbox path, without links; the object */
	enum tree_kind kind;
	const struct rule *rule; /* decides there */
	const char *danger;      /* what it opens, when its name is a known one; else NULL */
};

struct survey {
	struct loose_end *ends; /* sorted by path */
	size_t n, alloc;
	struct strvec unlisted; /* pairs: a sandbox path that may hold more, and why it could not be
				   listed ("EACCES") */
};

/* Walks without following a link. Directories that the user could not pass are not told of, nor is
 * /proc looked into, whose files have no other end. To be cleared by the caller. */
void survey_make(struct survey *out, const struct explainer *e);
void survey_clear(struct survey *survey);

#endif
