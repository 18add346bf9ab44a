/*
 * Files that say what a run may do or has: policies, an image's variables. Private to src/policy.
 */
#ifndef SBX_POLICY_FILE_H
#define SBX_POLICY_FILE_H

#include "base/err.h"
#include "base/json.h"

#include <stddef.h>

/* Reads an open file as a whole: *text (owned by the caller, NUL-terminated) and *len. 0 or -errno:
 * -EISDIR, -ENODEV for what else is no regular file, -EFBIG when it has more than max bytes. */
int file_read(int fd, size_t max, char **text, size_t *len);

/* Reads a JSON object of strings from a file that nobody but root and the caller can change: reached
 * through no link, regular, of at most FILE_MAX_TRUSTED bytes, and neither it nor a directory on the
 * way to it writable for others (in a directory with the sticky bit they cannot replace what is not
 * theirs). NULL with ERR_POLICY, its place in the file in at; no message has a value in it. The
 * caller frees the result with json_free. */
json *file_read_trusted(const char *path, struct err *err);
#define FILE_MAX_TRUSTED (1 << 20)

#endif
