/*
 * The places of a view: every sandbox path that some rule needs to be different from what lies
 * above it, as a tree by path. This is the policy resolved on the host tree, before anything is
 * said about mounts: plan.c turns it into ops.
 */
#ifndef SBX_PLAN_PLACES_H
#define SBX_PLAN_PLACES_H

#include "base/err.h"
#include "base/strvec.h"
#include "plan/glob.h"
#include "plan/tree.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

enum show {
	SHOW_WAY,     /* nothing of its own: on the way to a place below */
	SHOW_HOST,    /* the host object source, with access read or write */
	SHOW_NOTHING, /* denied; source is the host object it would be */
	SHOW_LINK,    /* a link of the host on a rule's way; source is its text */
	SHOW_DEVICE,  /* the device node (or directory of nodes) source */
	SHOW_TMPFS,
	SHOW_FILE,
	SHOW_PROC,
	SHOW_DEV,
};

struct place {
	char *path;
	enum show show;
	enum access access; /* HOST, TMPFS; the root: read or deny */
	char *source; /* normal host path without links, or a link's text; NULL for the rest */
	const struct rule *why; /* NULL for WAY */
	struct place **kids;    /* sorted by name */
	size_t n_kids, alloc_kids;
	bool visible;    /* it or something below it shows something */
	bool read_below; /* something strictly below shows a host object read-only */
};

/* The place of "/", with all others below it; to be freed with place_free. NULL with ERR_PLAN,
 * err->at naming the rule. Says in notes what is not enforced. */
struct place *places_make(
	const struct rules *rules, const struct tree *tree, struct strvec *notes, struct err *err);
void place_free(struct place *place);

/* Says that a protected name is missing where the command could make it. */
void note_not_enforced(struct strvec *notes, const char *path, const struct rule *rule);
/* Fills err->at with a rule's file and pointer; returns -1. */
int err_rule(struct err *err, const struct rule *rule);

#endif
