/*
 * A layer: one policy document as read, with everything checked that can be checked without the
 * other layers. Private to src/policy.
 */
#ifndef SBX_POLICY_LAYER_H
#define SBX_POLICY_LAYER_H

#include "policy/policy.h"

/* Keys that a later layer replaces as a whole. */
enum setting {
	SET_DESCRIPTION,
	SET_NETWORK,
	SET_PROC,
	SET_DEV,
	SET_VERIFY,
	SET_PROPAGATION,
	SET_HOSTNAME,
	SET_USER,
	SET_ENV_BASE,
	SET_ENV_FILE,
	SET_SCRATCH,
	SET_CWD,
	SET_NESTED_USERNS,
	SET_CAPABILITIES,
	SET_STDIO,
	SET_SECCOMP, /* in final: the next two, too */
	SET_SECCOMP_ALLOW,
	SET_SECCOMP_VIOLATION,
	SET_LIMITS, /* in final: all from here on */
	SET_WALL = SET_LIMITS,
	SET_CPU,
	SET_MEMORY,
	SET_PROCESSES,
	SET_OUTPUT,
	SET_FILE_SIZE,
	SET_OPEN_FILES,
	SET_CORE,
	SET_OUTPUT_THEN,
	SET_CGROUP_MANAGE,
	N_SETTINGS
};

struct layer {
	const char *file;        /* of the source; borrowed */
	struct policy policy;    /* as this layer alone has it: ROOT, PROC and DEV rules only if it
				    sets them, settings only if where says so */
	size_t alloc;            /* of policy.rules */
	char *where[N_SETTINGS]; /* where the layer sets it ("FILE: POINTER"); NULL: it does not */
	char *final[N_SETTINGS]; /* where the layer makes it final; NULL: it does not */
	struct strvec extends;   /* as written */
	struct strvec off;       /* names of rules */
};

/* What a document is called and where it lies. Borrowed strings. */
struct layer_source {
	const char *file;                /* for origins */
	const char *dir;                 /* "@policy"; NULL = none */
	const struct strvec *flag_names; /* as of policy_load; NULL = not the command line */
	unsigned number;
};

/* Fills an all-zero layer; layer_clear ends it, after an error too. */
int layer_read(struct layer *layer, const json *document, const struct layer_source *source,
	const struct policy_context *context, struct err *err);
void layer_clear(struct layer *layer);

/* The limit that a setting from SET_WALL to SET_CORE stands for; borrowed. */
uint64_t *limit_value(struct policy_limits *limits, enum setting setting);

/* The sandbox path where a rule stands; borrowed from the rule. */
const char *rule_place(const struct rule *rule);
void rule_clear(struct rule *rule);

#endif
