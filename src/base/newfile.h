/*
 * A new file that takes its name when it is whole. It is made beside the name, where possible without
 * any name, so that nothing is left behind when this process is killed; until newfile_name what stands
 * there stays as it is.
 *
 * Where it has a name on the way, that is ".sbx-new." and 16 random hexadecimal digits, and the file is
 * locked by flock(2) as long as it is open. One that a killed process of the same user has left is not:
 * the next file made in the directory removes it (of a very large directory a part is looked at).
 */
#ifndef SBX_BASE_NEWFILE_H
#define SBX_BASE_NEWFILE_H

#include "base/err.h"

#include <stdbool.h>

/* NEWFILE_INIT is none; ended by newfile_close. */
#define NEWFILE_INIT {.dir = -1, .fd = -1}
struct newfile {
	int dir;    /* its directory */
	char *path; /* the directory as the kernel names it, without links */
	char *name; /* its final name */
	char *temp; /* its name on the way there */
	bool named; /* temp exists */
	int fd;     /* to write to; close-on-exec */
};

/* Makes a file for place, which what names in messages ("--report FILE"). No directory on the way may
 * be a link, and what stands there must be a regular file or nothing. ERR_USAGE. */
int newfile_open(struct newfile *file, const char *place, const char *what, struct err *err);
/* The same for a name in the directory dir, whatever stands there. */
int newfile_at(struct newfile *file, int dir, const char *name, const char *what, struct err *err);
/* Gives the file its name, in place of what has it. ERR_SYSTEM. */
int newfile_name(struct newfile *file, struct err *err);
/* Removes what has not got its name. */
void newfile_close(struct newfile *file);

#endif
