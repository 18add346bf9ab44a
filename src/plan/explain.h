/*
 * Answers about a proven plan: what a process inside finds at a path and why, which host object a
 * path shows and where a host object shows, and what became of every rule. All of it is derived
 * from the policy, the plan and the tree; nothing is asked of the planner.
 *
 * What may be done with a host object is the lower of what the plan gives and what the object's own
 * mode gives the command's user. Access control lists, read-only mounts of the host's own and
 * capabilities are not known here.
 */
#ifndef SBX_PLAN_EXPLAIN_H
#define SBX_PLAN_EXPLAIN_H

#include "base/err.h"
#include "base/strvec.h"
#include "plan/plan.h"
#include "plan/tree.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What a process can do at a path: read includes listing a directory, write making names in it. */
enum found {
	FOUND_ABSENT,
	FOUND_DENY, /* it is there, or hidden by what is above it, and cannot be used */
	FOUND_READ,
	FOUND_WRITE,
	FOUND_UNKNOWN, /* it belongs to a process: only a run knows */
};

/* How well what a rule says is held. */
enum strength {
	STRENGTH_NONE,     /* a grant of what is not there: nothing to hold */
	STRENGTH_SCAFFOLD, /* the name lies in a directory of our own: nothing strips it */
	STRENGTH_COVER,    /* a mount over a name of the host: a rename there can carry it away */
	STRENGTH_WATCHED,  /* no mount holds it */
};

enum fate {
	FATE_APPLIED,    /* an op rests on it */
	FATE_REDUNDANT,  /* the view is as it says without an op of its own */
	FATE_SHADOWED,   /* another rule decides at its place */
	FATE_MISSING,    /* what it names is not on the host */
	FATE_IMPOSSIBLE, /* a link that others can change leads to it: it raises nothing */
};

/* "absent", "deny" ...; "scaffold" ... ("none" for NONE); "applied" ... */
const char *found_name(enum found found);
const char *strength_name(enum strength strength);
const char *fate_name(enum fate fate);

/* Whom the kernel sees when the command asks for a file. */
struct explain_user {
	uid_t uid;
	gid_t gid;
	const gid_t *groups; /* supplementary ones that a run keeps; borrowed */
	size_t n_groups;
};

/* What became of a rule. */
struct rule_fate {
	const struct rule *rule;
	enum fate fate;
	enum strength strength;
	bool watched;          /* WATCHED: a run does; not where the command can take covers off */
	const struct rule *by; /* SHADOWED: the rule that decides; else NULL */
	bool open;             /* MISSING: the command could make the name that it protects */
	char *place;           /* where it stands in the view, without links */
	char *object;          /* the host object that it names, or NULL */
};

/* Whether a rule protects a name that the command could make, replace or uncover all the same. */
bool rule_is_open(const struct rule_fate *fate);

/* Everything but rules is borrowed and has to outlive it. */
struct explainer {
	const struct plan *plan;
	const struct tree *tree;
	struct explain_user user;
	bool nested_userns;      /* nothing keeps the command from making user namespaces */
	struct rule_fate *rules; /* one for each of the plan's, in its order */
};

/* plan and tree as they were proven. End with explainer_clear. */
void explainer_init(struct explainer *e, const struct plan *plan, const struct tree *tree,
	const struct explain_user *user, bool nested_userns);
void explainer_clear(struct explainer *e);

struct explanation {
	enum found found;
	bool has_kind; /* kind is known: not when it is absent, unknown or hidden from above */
	enum tree_kind kind;
	char *real;              /* the path with every link followed */
	struct strvec links;     /* as in struct view_object */
	char *host;              /* the host object behind it; NULL = none, or not shown */
	bool opened;             /* a directory of the host's that was made anew, entry by entry */
	const struct rule *rule; /* decides here; never NULL */
	const struct op *op;     /* shows or covers it, borrowed; NULL: bwrap's own root */
	enum strength strength;
	bool watched; /* as of a fate */
	int create; /* ABSENT: 0 = the command could make it, else the -errno it gets */
	char *pin;  /* the directory across whose edge rename and link give EXDEV, or NULL */
	struct strvec because; /* the reasons, a sentence each */
};

/* What is at an absolute sandbox path; links are followed, ".." is taken as the kernel does it. */
void explain_path(const struct explainer *e, const char *path, struct explanation *out);
void explanation_clear(struct explanation *x);

/* The rule that decides at a sandbox path without links; never NULL. */
const struct rule *explain_rule(const struct explainer *e, const char *path);

/* The host object that a sandbox path shows, in *host (freed by the caller). ERR_PLAN, naming the
 * path, when it is not in the view, denied, or the sandbox's own. */
int explain_to_host(const struct explainer *e, const char *path, char **host, struct err *err);
/* Appends to paths every sandbox path, without links, that shows a host object (links of the host
 * followed). ERR_PLAN, naming it, when there is none. */
int explain_to_view(
	const struct explainer *e, const char *host, struct strvec *paths, struct err *err);

#endif
