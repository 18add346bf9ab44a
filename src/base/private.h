/*
 * Directories of the caller's alone: what keeps the files in one from others is the directory.
 */
#ifndef SBX_BASE_PRIVATE_H
#define SBX_BASE_PRIVATE_H

#include <stdbool.h>

/* Opens the directory above a normal path if nobody but the caller, and root, can change a name of the
 * caller's in it: it is the caller's or root's and nobody else can write to it, or it is root's or
 * the caller's with the sticky bit, as /tmp is. A descriptor (O_PATH), or -1. */
int private_parent(const char *place);
/* Opens a directory in parent through no link, after having made it (mode 0700) if make; it has to be
 * the caller's and of mode 0700. A descriptor, or -errno; -EPERM when others could use it. */
int private_open(int parent, const char *name, bool make);

#endif
