/*
 * The other names of a host object by the host's mount table: a directory that is bind-mounted
 * shows at two places, and a rule for one has to hold at the other.
 */
#ifndef SBX_PLAN_ALIAS_H
#define SBX_PLAN_ALIAS_H

#include "base/strvec.h"
#include "plan/tree.h"

#include <stdbool.h>

/* Whether two paths lead to one object that is there. */
bool same_object(const struct tree *tree, const char *a, const char *b);

/* Appends the paths at which the object at path, or a part of it, is mounted too. path is normal
 * and leads through no link; so do the results. Hard links are not known. The null device has none:
 * it hides nothing, and names that it masks are mounts of it. */
void find_aliases(const struct tree *tree, const char *path, struct strvec *out);

#endif
