/*
 * What the parts of the proof share (plan/proof.c says how it works): its rules (proof_rules.c,
 * proof_worktree.c), where each of them stands and what the policy wants at a place
 * (proof_claims.c), and the comparison with what is there (proof.c).
 */
#ifndef SBX_PLAN_PROOF_PARTS_H
#define SBX_PLAN_PROOF_PARTS_H

#include "plan/proof.h"
#include "plan/view.h"

/* What a rule comes to on this host. */
struct claim {
	const struct rule *rule;
	enum access access;
	char *object; /* ROOT, PATH, MOUNT, DEVICE: the host object, without links; else NULL */
	struct strvec links; /* the links on the way to it */
	int error;           /* why the object is not there, -errno; INTO_PROC; else 0 */
	bool trusted; /* nobody but root, or who the rule trusts, changes where the links lead */
	bool off;     /* stands nowhere: missing, led into /proc, or would raise through a link */
	const struct view_place *stands; /* where a rule with a place of its own does */
};

/* What the policy wants to be found. */
struct want {
	enum {
		WANT_NOTHING,
		WANT_HOST, /* the host object */
		WANT_LINK, /* the link of that name on the host, or nothing */
		WANT_TMPFS,
		WANT_DIR, /* a directory in scratch for the command's user alone */
		WANT_DATA,
		WANT_PROC,
		WANT_DEV,
		WANT_MQUEUE,
	} shows;
	enum access access;
	const struct rule *rule; /* the rule that decides */
	char *host;              /* HOST, LINK */
	bool named;              /* NOTHING: a PATH deny says so */
	bool usable;             /* HOST: a device node that works */
	bool guarded;            /* HOST: a PATH read that must hold inside a writable directory */
	bool optional;           /* may as well be hidden */
};

struct proof {
	const struct plan *plan;
	const struct policy *policy;
	const struct tree *tree;
	struct view view, host;
	struct rule **rules; /* the policy's, copied, with each pattern's matches in its place */
	size_t n_rules, alloc_rules;
	struct claim *claims;
	size_t n_claims;
	struct { /* a pattern that protects may match names that may not be seen */
		char *dir;
		const struct rule *rule;
	} * unseen;
	size_t n_unseen, alloc_unseen;
	struct claim **aliases; /* what claims come to at other names of their objects */
	size_t n_aliases, alloc_aliases;
	struct strvec sockets; /* host paths, sorted, of live sockets that must not be reached */
	struct rule no_socket; /* who says so */
	struct claim
		unowned; /* stands at /proc, /dev and /tmp when no rule does: never the host's */
	struct err *err;
};

/* Rules */

/* Fills pr->rules: the policy's, with the matches of patterns in the place of each, and what
 * linked worktrees need. */
void proof_make_rules(struct proof *pr);
/* The part of proof_make_rules for rules with `worktree`. */
void proof_add_worktrees(struct proof *pr);
/* Adds a copy of a rule that stands at a path, unless that is of another type. */
void proof_add_rule(struct proof *pr, const struct rule *rule, const char *path);
/* What a rule is called in messages, and where it stands as written. */
const char *proof_rule_words(const struct rule *rule);
const char *proof_rule_place(const struct rule *rule);

/* The host's objects */

/* The mount of the host's table that a path lies in, and where in its file system (freed by the
 * caller). NULL: none. */
const struct tree_mount *proof_mount_of(const struct proof *pr, const char *path, char **in_fs);
bool proof_same_object(const struct proof *pr, const char *a, const char *b);
/* The other names that the host's mount table gives an object, or a part of it. */
void proof_other_names(const struct proof *pr, const char *path, struct strvec *names);
/* Cuts a path that is out of reach down to the directory that keeps it so. */
void proof_cut_to_closed(const struct proof *pr, char *path);

/* Claims */

/* Makes the rules, and resolves each on the host. -1: one of them cannot be. */
int proof_make_claims(struct proof *pr);
/* Lets each claim stand at its places in pr->view. -1: one cannot stand there. */
int proof_place_claims(struct proof *pr);
/* Fills pr->sockets. -1: the host's sockets are not known. */
int proof_find_sockets(struct proof *pr);
/* Puts every place that a bind would show such a socket at into the tree. */
void proof_add_sockets(const struct proof *pr);
/* Puts the other places that need a look into the tree. */
void proof_add_places(const struct proof *pr);
/* The place at or above this one where the deepest rule stands. */
const struct view_place *proof_decider(const struct view_place *place);
/* Whether some rule makes a host path writable, by any name that the host's mount table gives
 * it, even if another takes that back: a link there must not raise anything. */
bool proof_may_be_written(const struct proof *pr, const char *path);
/* Whether a rule protects what it names: it denies it, or keeps it from being written. */
bool proof_protects(const struct proof *pr, const struct claim *c);
/* Whether a link on a rule's way lies where the policy lets the command write: then it is
 * nobody's word that can be relied on. */
bool proof_is_planted(const struct proof *pr, const struct claim *c);

/* What the policy wants at a place. */
void proof_want(const struct proof *pr, const struct view_place *place, struct want *w);
void want_clear(struct want *w);
#define CLEANUP_WANT __attribute__((cleanup(want_clear)))

#endif
