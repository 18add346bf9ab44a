/*
 * A first policy for a directory, from what lies in it: the languages of its files, what their tools
 * keep in the home, and secrets. Names in the directory are anybody's: they are escaped, no link is
 * followed, and the search is bounded.
 */
#ifndef SBX_CMD_INIT_H
#define SBX_CMD_INIT_H

#include "base/err.h"
#include "base/json.h"
#include "base/strvec.h"
#include "cmd/options.h"
#include "plan/tree.h"

#include <stddef.h>

/* Where the policy goes, in the directory that it is for. */
#define INIT_FILE "sbx.json"

/* What was found; ended by init_clear. */
struct init {
	struct strvec found; /* "a git repository", "Node.js" ...: for people */
	size_t secrets;      /* that the policy denies */
	struct strvec notes; /* what was not looked at, and what else to know */
};

/* Makes the command line's layer of options a whole policy: it extends what -p named, has what the
 * policy options said, and the rules for what is found in dir, a normal path without links. home may
 * be NULL: then nothing is looked for in it. No policy is left in options->policies. */
void init_policy(struct options *options, const struct tree *tree, const char *dir,
	const char *home, struct init *out);
void init_clear(struct init *init);

/* Writes a policy to INIT_FILE in the working directory, which must not have it. ERR_SYSTEM. */
int init_write(const json *policy, struct err *err);

#endif
