/*
 * Patterns into rules: a rule of read, write or deny whose path is a pattern (policy/policy.h) is
 * replaced by one rule for each name that it matches on the tree.
 *
 * Components are matched by fnmatch(3) as bytes (no program here sets a locale); "*" and "?" match
 * a leading dot too. A component "**" matches any number of directories, none included.
 *
 * All patterns are matched in one walk. It starts in the directories before their first component
 * that is a pattern (links on the way there are followed, as for any rule), follows no link from
 * there on, and looks neither into /proc and /dev nor into a directory that a pattern denies, as
 * long as no other rule speaks of what is in it, no pattern of its layer or a later one grants
 * anything and no bind mount of the host shows it at another place. The sandbox's own places ("/",
 * /proc, /dev, /tmp itself) are never matched. Where a directory cannot be listed, names that a
 * pattern spells out are still found, and a note says that others may be missed (in a writable place
 * places.c may make it an error).
 *
 * What a later layer denies, no pattern of an earlier one shows: its matches there are denied, unless
 * a written rule between the two shows what they lie in.
 *
 * A rule for one type of object, written or a match, that leads to another is left out.
 *
 * Of what stands at one path a later layer decides; in one layer a written rule over a match, and
 * of two matches the lower access.
 */
#ifndef SBX_PLAN_GLOB_H
#define SBX_PLAN_GLOB_H

#include "base/err.h"
#include "base/strvec.h"
#include "plan/tree.h"
#include "policy/policy.h"

#include <stddef.h>

/* Entries of directories that are looked at for a plan; more are an error. */
#define GLOB_MAX_ENTRIES 200000
/* Names that patterns match; bwrap takes about 3,000 mounts. */
#define GLOB_MAX_MATCHES 10000

/* A directory in which a pattern that does not make writable may match names that could not be seen,
 * since it may not be listed or searched. */
struct unseen {
	char *dir; /* without links */
	const struct rule *rule;
};

/* Copies of the policy's rules, from which they borrow everything but the path of a match. In a
 * match `pattern` is still set, but path is the name that was found, and `optional` is set. What a
 * rule with `worktree` stands for (plan/worktree.h) counts as matches. */
struct rules {
	struct rule *v;
	size_t n;            /* those that count */
	size_t n_all;        /* after them: final rules that another one stands in place of, which
				bind later layers all the same */
	struct strvec paths; /* of matches */
	const struct strvec *own; /* the policy's: sbx's own files */
	struct unseen *unseen;
	size_t n_unseen, alloc_unseen;
	size_t n_entries; /* of directories, that were looked at */
};

/* Looks at max_entries entries of directories at most. 0, or -1 with the rule's place in err->at:
 * ERR_PLAN when a limit is reached, ERR_POLICY when a match contradicts a final rule, or would make writable what must not be. Says in notes which
 * patterns match nothing or not the name that they are spelled like, which directories could not
 * be listed, and of which patterns the command can make further names. To be cleared by the
 * caller in any case. */
int rules_make(struct rules *rules, const struct policy *policy, const struct tree *tree,
	size_t max_entries, struct strvec *notes, struct err *err);
void rules_clear(struct rules *rules);

#endif
