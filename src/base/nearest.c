#include "base/nearest.h"

#include <string.h>

#define MAX_WORD 63

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Levenshtein's distance, one row of the matrix at a time. */
static size_t distance(const char *a, const char *b)
{
	size_t row[MAX_WORD + 1], n = strlen(b);

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i]; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t above = row[j + 1];

			row[j + 1] = min3(above + 1, row[j] + 1, diagonal + (a[i] != b[j]));
			diagonal = above;
		}
	}
	return row[n];
}

const char *nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t len = strlen(word), best = len < 4 ? 1 : len < 9 ? 2 : len / 3;
	const char *found = NULL;

	for (size_t i = 0; len <= MAX_WORD && i < n; i++) {
		size_t d = strlen(candidates[i]) <= MAX_WORD ? distance(word, candidates[i])
							     : MAX_WORD;

		if (d < best || (d == best && !found)) {
			best = d;
			found = candidates[i];
		}
	}
	return found;
}
