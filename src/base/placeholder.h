/*
 * Placeholders: the empty files that a run holds at missing names on the host, so that nothing else
 * can appear there (run/lease.h). Their mode is their mark: readable by all, so that every run can
 * lock them, and with the sticky bit, which means nothing on a file and is there from the moment
 * the file is.
 */
#ifndef SBX_BASE_PLACEHOLDER_H
#define SBX_BASE_PLACEHOLDER_H

#define PLACEHOLDER_MODE 01444 /* permission bits of an empty regular file */

#endif
