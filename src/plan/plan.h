/*
 * The plan: the mounts that give every path of the sandbox the access its policy says. Pure: the
 * same policy and tree give the same ops, byte for byte; nothing is spawned and nothing is written.
 */
#ifndef SBX_PLAN_PLAN_H
#define SBX_PLAN_PLAN_H

#include "base/err.h"
#include "base/strvec.h"
#include "plan/glob.h"
#include "plan/tree.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One step of bwrap's. "Scaffold" is a directory that lives in bwrap's own root tmpfs or in a
 * TMPFS. */
enum op_kind {
	OP_BIND_READ,  /* host object source at dest, submounts too, read-only */
	OP_BIND_WRITE, /* the same, as writable as the host's mount */
	OP_DEV_BIND,   /* the same, device nodes usable */
	OP_TMPFS,      /* a new tmpfs at dest: mode, size (0 = not sized) */
	OP_DIR,        /* a directory in scaffold: mode */
	OP_SYMLINK,    /* a link in scaffold: source is its text */
	OP_FILE,       /* a read-only file with the bytes data */
	OP_DENY_DIR,   /* nothing: a directory or tmpfs of mode 0000, or 0555 when later ops show
			  something below it */
	OP_DENY_FILE,  /* /dev/null without the right to use devices: open gives EACCES */
	OP_PROC,       /* a new procfs */
	OP_DEV,        /* bwrap's minimal /dev, a tmpfs of its own */
	OP_MQUEUE,     /* a new mqueue file system */
	OP_SEAL,       /* the mount at dest (not those below) becomes read-only */
};

const char *op_kind_name(enum op_kind kind);

struct op {
	enum op_kind kind;
	char *source;  /* BIND_*, DEV_BIND: normal host path, no links; SYMLINK: text; else NULL */
	char *dest;    /* normal sandbox path; no component of it is a link when the op runs */
	unsigned mode; /* TMPFS, DIR, DENY_DIR: permission bits */
	uint64_t size; /* TMPFS: bytes, 0 = not sized */
	const char *data; /* FILE: borrowed from the rule */
	size_t data_len;
	bool scaffold; /* DENY_DIR: made as a directory of the scaffold, no mount of its own */
	const struct rule *why; /* never NULL; borrowed from the plan's rules */
};

/* Whether an op shows a host object. */
static inline bool op_is_bind(const struct op *op)
{
	return op->kind == OP_BIND_READ || op->kind == OP_BIND_WRITE || op->kind == OP_DEV_BIND;
}

/* Owned by the caller; borrows from the policy, which must outlive it. */
struct plan {
	struct rules rules; /* the policy's, with what patterns match, and those for live sockets */
	struct op *ops;     /* later covers earlier */
	size_t n, alloc;
	char *cwd;           /* the command's working directory, a normal sandbox path */
	enum proc_mode proc; /* as requested */
	struct strvec hold;  /* missing names of the host that a placeholder (base/placeholder.h)
				has to hold, and placeholders that do: the plan is to be made anew
				once they are there */
	struct strvec notes; /* what a user should know: entries left out, what is not enforced */
};

/* What the planner has to know besides policy and tree. */
struct plan_request {
	enum proc_mode
		proc; /* FRESH or BIND: AUTO has been decided; of no account when the policy has no
				/proc */
	const char *cwd; /* the caller's, normal; used when the policy has none */
};

/* Makes a plan. Errors (ERR_PLAN) name the rule: err->at is its file and JSON pointer. The plan is
 * not proven yet: plan/proof.h. */
int plan_make(struct plan *plan, const struct policy *policy, const struct tree *tree,
	const struct plan_request *request, struct err *err);
void plan_clear(struct plan *plan);

/* The op that made what is at a sandbox path: the deepest at it (unless above_only) or above. NULL:
 * "/" itself. */
const struct op *plan_op_at(const struct plan *plan, const char *path, bool above_only);

/* The rule whose cover stands at a sandbox path or above it, or NULL. */
const struct rule *plan_hiding_rule(const struct plan *plan, const char *path);

/* The directory with the most ops right below it, for messages about plans that are too large:
 * *most of them. Freed by the caller; the plan has at least one op. */
char *plan_dearest_directory(const struct plan *plan, size_t *most);

#endif
