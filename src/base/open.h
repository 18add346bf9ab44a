/*
 * Opening without following any link.
 */
#ifndef SBX_BASE_OPEN_H
#define SBX_BASE_OPEN_H

/* Opens a path that has no "." or ".." (absolute, or below dir) through no symbolic link, the last
 * component included: with O_PATH a link there is opened itself. Close-on-exec. The descriptor or
 * -errno; -ENOTDIR where a link is among the parents. */
int open_exact(int dir, const char *path, int flags);

#endif
