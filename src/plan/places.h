/*
 * The places of a view: every sandbox path that some rule needs to be different from what lies
 * above it, as a tree by path. This is the policy resolved on the host tree, before anything is
 * said about mounts: plan.c turns it into ops.
 */
#ifndef SBX_PLAN_PLACES_H
#define SBX_PLAN_PLACES_H

#include "base/err.h"
#include "plan/plan.h"
#include "plan/tree.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

enum show {
	SHOW_WAY,     /* nothing of its own: on the way to a place below */
	SHOW_HOST,    /* the host object source, with access read or write */
	SHOW_NOTHING, /* denied; source is the host object it would be */
	SHOW_LINK,    /* a link of the host on a rule's way; source is its text */
	SHOW_DEVICE,  /* the device node source */
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
	bool made;       /* WAY: a directory of the command's own is here in any case */
	bool visible;    /* it or something below it shows something */
	bool enforced;   /* it or something below it is denied and must not appear when missing */
	bool held_below; /* something strictly below must keep its name: a host object that is shown
			    read-only or denied, which the next run finds by its name alone, or what
			    is enforced */
};

/* The place of "/", with all others below it, made from the plan's rules; to be freed with
 * place_free. NULL with ERR_PLAN, err->at naming the rule. Adds to the plan's notes and to what it
 * holds.
 *
 * Adds to the plan's rules a denial (rule->socket) for each live socket of the host that the command
 * could use and that no rule names by its own object. */
struct place *places_make(struct plan *plan, const struct tree *tree, struct err *err);
void place_free(struct place *place);

/* What becomes of the host path of a protection that is missing below a directory which the command
 * may write: it is to be held, or a note says that nothing holds it. */
void hold_missing(
	struct plan *plan, const struct tree *tree, const char *path, const struct rule *rule);
/* Fills err->at with a rule's file and pointer; returns -1. */
int err_rule(struct err *err, const struct rule *rule);

#endif
