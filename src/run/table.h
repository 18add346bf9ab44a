/*
 * The sandbox's mount table against the plan. Pure: a table and what it has to say give a verdict.
 *
 * Every mount of the plan has to be seen at its place, show what was planned, and have the flags
 * that it was planned with; and there may be no other but what is known to come along: what the host
 * has mounted below a source, and what bwrap adds by itself. What is covered by other mounts, and
 * so cannot be reached, needs no flags, but has to be known all the same. At a place where several
 * mounts stand the one that is seen counts.
 */
#ifndef SBX_RUN_TABLE_H
#define SBX_RUN_TABLE_H

#include "base/err.h"
#include "base/mounts.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A mount that has to be there, or may be. */
struct table_mount {
	char *at;         /* normal sandbox path */
	bool needed;      /* it has to be seen there */
	bool covered;     /* not needed: it must not be seen, something covers it */
	bool own;         /* a file system of the sandbox's own: none that the host has mounted */
	const char *type; /* the kind of its file system, borrowed; NULL = any */
	char *root;       /* what of it shows, as the table says it; NULL = anything */
	dev_t dev;        /* with root, unless own or type is given: of which file system */
	bool read_only, nosuid, nodev; /* flags that it needs to have */
};

/* Zero-initialise; ended by table_clear. */
struct table_spec {
	struct table_mount *v;
	size_t n, alloc;
	const struct mount_table *host; /* the table of the host, borrowed */
	bool connected; /* mounts may be connected to the host's (propagation) */
};

/* Adds one; its strings are the spec's afterwards. The entry is valid until the next is added. */
struct table_mount *table_add(struct table_spec *spec, const struct table_mount *mount);
void table_clear(struct table_spec *spec);

/* 0, or -1 with ERR_SETUP and the first difference: the place, what the plan has, what stands
 * there. */
int table_compare(
	const struct table_spec *spec, const struct mount_table *table, struct err *err);

#endif
