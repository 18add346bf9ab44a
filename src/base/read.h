/*
 * Reading the kernel's text files: /proc, and what is mounted of cgroups.
 */
#ifndef SBX_BASE_READ_H
#define SBX_BASE_READ_H

#include "base/strvec.h"

#include <stddef.h>
#include <sys/types.h>

/* All of a small file, with a NUL after it. Its length, or -errno; -EFBIG when it does not fit. */
ssize_t read_text(int dir, const char *path, char *text, size_t size);
/* Appends the lines of a file without their ends; none when it cannot be read. */
void read_lines(const char *path, struct strvec *lines);

#endif
