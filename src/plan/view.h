/*
 * The view that a plan's ops give, replayed on the tree: what a process inside finds at a path.
 *
 * It is the proof's and shares nothing with the planner but base/ containers, the tree and the op
 * list; its handling of paths is its own (see plan/proof.h). Paths are absolute sandbox or host
 * paths.
 */
#ifndef SBX_PLAN_VIEW_H
#define SBX_PLAN_VIEW_H

#include "base/err.h"
#include "base/strvec.h"
#include "plan/plan.h"
#include "plan/tree.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>

/* What a process inside finds at a path. */
struct view_object {
	enum tree_kind kind;
	enum access access;  /* DENY: the name is there and cannot be used */
	char *path;          /* the sandbox path with every link followed; freed by the caller */
	char *host;          /* the host object behind it, NULL for what is the sandbox's own */
	char *missing;       /* after an error: where the walk ended, with the rest as written */
	struct strvec links; /* the links followed, in order: the path of each, then its text */
};

/* Walks an absolute sandbox path through the replayed view, following links as the kernel does
 * (40 at most, the last component's too). 0, or -errno as a process inside would see it:
 * -ENOENT, -ENOTDIR, -EACCES, -ELOOP. Processes in /proc are not known: -ENOENT. -EINVAL: the
 * plan is none, which proof_check says why. After an error
 * only missing and links are set; out is to be cleared in any case. */
int view_lookup(const struct plan *plan, const struct tree *tree, const char *path,
	struct view_object *out);
void view_object_clear(struct view_object *object);

#define CLEANUP_VIEW_OBJECT __attribute__((cleanup(view_object_clear)))

struct claim;

/* A name of the sandbox. What the ops have put there is the replay's; what the policy has there
 * is filled in by the proof (plan/proof_parts.h). */
struct view_place {
	char *path;
	struct view_place *parent;
	struct view_place **kids; /* sorted by path */
	size_t n_kids, alloc;
	const struct op *op; /* the op that made what is here; NULL: what is above shows through */
	bool sealed;
	const struct claim *path_claim; /* a PATH rule (or ROOT) stands here */
	const struct claim *at_claim;   /* a rule with a place of its own stands here */
	bool link;                      /* a rule leads through the host's link of this name */
	bool opened; /* a directory of the host's that was made anew, entry by entry */
};

/* Made by view_init, ended by view_clear; the tree is borrowed, and so are ops and rules. */
struct view {
	const struct tree *tree;
	struct op root; /* what is at "/" before the first op */
	struct view_place *top;
	bool host; /* this is the host itself: one bind of "/" */
};

/* What a process inside finds at a path without links. Ended by seen_clear. */
struct seen {
	int error;              /* -errno; the rest is then only by, exact and host */
	const struct view_place *by; /* the place whose op shows it */
	bool exact;             /* by is the place itself */
	enum tree_kind kind;
	enum access access;
	char *host; /* the host object, or NULL */
	char *text; /* a link's */
};

/* An empty root that is not sealed yet, or the host itself. */
void view_init(struct view *view, const struct tree *tree, bool host);
void view_clear(struct view *view);
#define CLEANUP_VIEW __attribute__((cleanup(view_clear)))

/* Puts the ops of a plan into the view, in order. -1 with ERR_PLAN: one of them could not run,
 * would hide another, or would make something on the host. */
int view_replay(struct view *view, const struct plan *plan, struct err *err);

/* The deepest place of the view's tree at or above path. */
struct view_place *view_place_above(const struct view *view, const char *path);
/* The place of that path, put into the tree when it is not there. */
struct view_place *view_place_get(const struct view *view, const char *path);
/* The nearest place at or above this one that an op has made. */
const struct view_place *view_place_maker(const struct view_place *place);
/* Whether the mount that holds an own directory has been sealed. */
bool view_place_is_sealed(const struct view_place *place);

bool view_is_bind(const struct op *op);
/* A directory of the sandbox's own in which names can be made. */
bool view_is_own_dir(const struct op *op);

/* What is at a path none of whose parents is a link. */
void view_look(const struct view *view, const char *path, struct seen *s);
/* What bwrap puts into its /dev: rest is the path below that. */
void view_look_dev(struct seen *s, const char *rest);
void seen_clear(struct seen *s);
#define CLEANUP_SEEN __attribute__((cleanup(seen_clear)))

/* view_walk on the host: a link led into /proc. */
enum { INTO_PROC = 1 };

/* Walks a path as the kernel does. 0, -errno or INTO_PROC. *out (always set, freed by the
 * caller) is where it ends; when a name on the way is missing, the names after it are taken as
 * text. The links that were followed are appended to links. */
int view_walk(const struct view *view, const char *path, struct strvec *links, char **out);

/* What of path comes after dir, "" or "/..."; NULL when path is neither dir nor below it. */
const char *view_tail(const char *path, const char *dir);
bool view_strictly_below(const char *path, const char *dir);
/* dir and what view_tail() gave; freed by the caller. */
char *view_graft(const char *dir, const char *rest);
/* The entry of dir with the first n bytes of name; freed by the caller. */
char *view_entry(const char *dir, const char *name, size_t n);
/* Cuts the last name off, in place. */
void view_cut_last(char *path);
/* How many names there are in a path. */
unsigned view_depth(const char *path);
/* Absolute, without empty names, "." and "..". */
bool view_is_normal(const char *path);

/* Fills err with ERR_PLAN, a message that begins "not proven: " and the place of the rule, which
 * may be NULL. -1. */
int proof_fault(struct err *err, const struct rule *rule, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
