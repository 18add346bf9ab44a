/*
 * From options to a proven plan: the part that sbx-plan and sbx-exec do alike.
 */
#ifndef SBX_CMD_PREPARE_H
#define SBX_CMD_PREPARE_H

#include "base/err.h"
#include "base/strvec.h"
#include "cmd/filtering.h"
#include "cmd/identity.h"
#include "cmd/options.h"
#include "plan/bwrap.h"
#include "plan/explain.h"
#include "plan/plan.h"
#include "plan/tree.h"
#include "policy/policy.h"
#include "run/lease.h"
#include "run/probe.h"

#include <stdbool.h>

/* Zero-initialise; ended by prepared_clear. */
struct prepared {
	struct policy policy;
	struct identity identity;
	struct filtering filter;
	struct plan plan;
	struct tree *tree; /* the live host, as the plan saw it */
	struct strvec
		env; /* the command's variables, NAME=VALUE; without starts secrets are empty */
	bool starts; /* a run follows: what the plan holds is really held, by leases */
	struct leases leases; /* ended by whoever says starts: prepare_end_leases */
	struct strvec held;   /* the names that plans wanted to be held so far */
	struct strvec own;    /* where answers of the probe, and jobs, are kept */
	struct strvec hidden; /* those of them that no sandbox shows */
	gid_t *groups;        /* of prepare_explainer */
	char *home, *home_real, *cwd,
		*config_home; /* what the caller's ~ and ./ are; each may be NULL */
};

/* What "~" is: $HOME, else the user's own home; NULL when neither is known. Free with free(). */
char *prepare_home(void);
/* Loads and merges the policies and the command line's layer for the calling user, and finds out who
 * the command is to run as. */
int prepare_policy(struct prepared *p, const struct options *options, struct err *err);
/* What a run needs of host and bwrap. */
struct probe_needs prepare_needs(const struct prepared *p);
/* Whether the command can make user namespaces; disabled: --disable-userns keeps it from that. */
bool prepare_nests(const struct prepared *p, bool disabled);
/* Makes the plan with the given /proc mode (FRESH, BIND or NONE) and proves it. Missing names that
 * the policy wants enforced are held before, or, without starts, taken to be. A working
 * directory that the view does not have is an error, or, when only questions are asked about the
 * view, a note; "/" then stands for it. So is, for a root caller, that the command's user may write
 * in none of the host's places that the policy makes writable; of a single one a note speaks. Notes
 * of the environment are in plan.notes too. */
int prepare_plan(struct prepared *p, enum proc_mode proc, bool only_asking, struct err *err);
/* Gives bwrap the filter that has been made, if there is one. */
void prepare_bwrap_filter(const struct prepared *p, struct bwrap_options *bwrap);
/* The mode in which a plan shows /proc as a run will. */
enum proc_mode prepare_proc(enum probe_proc proc);
/* Answers about the proven plan, for the command's user; to be ended with explainer_clear before p.
 * nested_userns: the command can make user namespaces. */
int prepare_explainer(struct prepared *p, struct explainer *e, bool nested_userns, struct err *err);
/* Refuses a proven plan that does not hold what the policy's "require" names. */
int prepare_required(struct prepared *p, bool nested_userns, struct err *err);
/* --strict: refuses a proven plan in which a rule has no effect, or protects a name that the command
 * could make. Of several, tool prints all but the last. */
int prepare_strict(struct prepared *p, const char *tool, bool nested_userns, struct err *err);
/* Gives back what prepare_plan holds (run/lease.h). */
void prepare_end_leases(struct prepared *p, struct strvec *notes);
/* Drops what prepare_plan made, so that it can be called again; leases stay. */
void prepared_plan_clear(struct prepared *p);
void prepared_clear(struct prepared *p);

#endif
