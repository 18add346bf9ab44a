/*
 * Paths as text. Everything here works on bytes alone and never asks the file system. "Normal"
 * means: absolute, no empty, "." or ".." component, no trailing slash ("/" itself excepted).
 */
#ifndef SBX_BASE_PATH_H
#define SBX_BASE_PATH_H

#include <stdbool.h>

/* The normal form of an absolute path, ".." taken away with the component before it; free with
 * free(). */
char *path_normalize(const char *path);
/* Whether the normal path lies at or below the normal path dir. Whole components count: "/a/bc" is
 * not within "/a/b". */
bool path_within(const char *path, const char *dir);
/* What of path lies below dir, without a leading slash: "" when they are the same. path_within
 * holds. */
const char *path_below(const char *path, const char *dir);
/* dir and a relative name or path joined by one slash; free with free(). An empty name gives
 * dir. */
char *path_join(const char *dir, const char *name);
/* The parent of a normal path ("/" is its own); free with free(). */
char *path_parent(const char *path);
/* The last component of a normal path, inside path ("" for "/"). */
const char *path_base(const char *path);
/* Whether a name is the prefix and 16 hexadecimal digits, as names are that nobody else has. */
bool path_is_random(const char *name, const char *prefix);
/* Number of components: 0 for "/", 2 for "/a/b". */
unsigned path_depth(const char *path);

#endif
