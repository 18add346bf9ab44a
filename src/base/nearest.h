/*
 * "Did you mean ...": the known word that a mistyped one most looks like.
 */
#ifndef SBX_BASE_NEAREST_H
#define SBX_BASE_NEAREST_H

#include <stddef.h>

/* The one of n candidates (borrowed) with the smallest edit distance to word, the first of
 * equals; NULL when more than two letters (one of a short word, a third of a long one) would
 * have to change. */
const char *nearest(const char *word, const char *const *candidates, size_t n);

#endif
