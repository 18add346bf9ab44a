/*
 * Following a path on the tree, component by component, as the kernel does. The one resolver of the
 * planner (the proof walks by itself).
 */
#ifndef SBX_PLAN_RESOLVE_H
#define SBX_PLAN_RESOLVE_H

#include "plan/tree.h"

#include <stdbool.h>
#include <stddef.h>

/* Links followed in one walk at most: the kernel's MAXSYMLINKS. */
#define RESOLVE_MAX_LINKS 40

/* A link on the way: where it lies (no link in that path) and what it says. */
struct hop {
	char *path, *text;
};

struct target {
	char *path;    /* what the walk led to, free of links; where it failed: the part that is
				there, followed by the rest as written */
	int error;     /* 0, or -errno: -ENOENT, -ENOTDIR, -EACCES, -ELOOP ... */
	char *blocked; /* with an error: the longest path that was asked for; else NULL */
	struct tree_stat st; /* without an error: of path */
	struct hop *hops;
	size_t n_hops;
	bool into_proc; /* the last hop leads into /proc, where links mean one process: it is not
			   followed, path is its own */
	bool unused;    /* the planner's own: the rule has no effect */
	bool protects;  /* the planner's own: the rule protects what is there, or shall not be */
};

/* Walks an absolute path (it may hold ".." and "."); out is to be cleared by the caller in any
 * case. */
void resolve(const struct tree *tree, const char *path, struct target *out);
void target_clear(struct target *target);

/* The nearest directory at or above that of the link hop->path in which others than root, and the
 * tree's own user where with_caller says so, could put another way in its place: someone else owns
 * it, or may write there (in a sticky directory above, not move what it holds). NULL = none; free
 * with free(). */
char *hop_changed_in(const struct tree *tree, const struct hop *hop, bool with_caller);

#endif
