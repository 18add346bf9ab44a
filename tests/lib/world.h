/*
 * Random trees and policies from a string of bytes: the same bytes give the same world, so that a
 * fuzzer can change it bit by bit, and a file of bytes is a test. When the bytes are used up every
 * choice is the first one, which makes small worlds of small files.
 */
#ifndef SBX_TESTS_WORLD_H
#define SBX_TESTS_WORLD_H

#include "base/strvec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
	const uint8_t *data;
	size_t n;
};

/* A number below n. */
unsigned bytes_pick(struct bytes *bytes, unsigned n);

struct world {
	char *tree;   /* lib/faketree.h; nothing in it lies in what is no directory */
	char *policy; /* a document */
	struct strvec paths; /* of the tree's objects, sorted by nothing */
};

/* real: only what can be made on a file system of the caller's own, below /srv: directories, files
 * and links. */
void world_make(struct world *world, struct bytes *bytes, bool real);
void world_clear(struct world *world);

/* Whether a plan's not being proven is known: where a denied name is a link and the view has something
 * else of that name, which no rule denies, planner and proof disagree, and nothing runs. */
bool world_known_fault(const char *message);

/* Whether a normal path is one that a pattern (plan/glob.h) spells: by a search of its own. */
bool pattern_matches(const char *pattern, const char *path, bool is_dir);

#endif
