/*
 * Layers into one policy: which rule wins, what contradicts what, and what an earlier layer forbids
 * the later ones. Private to src/policy.
 */
#ifndef SBX_POLICY_MERGE_H
#define SBX_POLICY_MERGE_H

#include "policy/layer.h"

/* More rules than a plan could ever have mounts for. */
#define MERGE_MAX_RULES 4096

struct merge {
	struct policy *policy; /* borrowed; what the layers so far say */
	char *where[N_SETTINGS], *final[N_SETTINGS]; /* as in a layer */
	struct strvec dropped; /* names that "off" has dropped */
};

/* Adds a layer, whose rules and strings move into the policy. */
int merge_layer(struct merge *merge, struct layer *layer, const struct policy_context *context,
	struct err *err);
/* After the last layer: the language's own rules, and what only the whole can contradict. */
int merge_finish(struct merge *merge, const struct policy_context *context, struct err *err);
void merge_clear(struct merge *merge);

#endif
