/*
 * Where the caller is among the control groups, and where a group for a run may be made (the rules
 * are in run/cgroup.h).
 */
#ifndef SBX_RUN_CGPLACE_H
#define SBX_RUN_CGPLACE_H

#include "base/strvec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum controller { CG_MEMORY, CG_PIDS, CG_CPU, CG_CONTROLLERS };
/* "memory", "pids", and "cpuacct", which v2 does without: it counts CPU time in every group. */
extern const char *const controller_names[CG_CONTROLLERS];

/* A group in one hierarchy. Zero-initialise; ended by cgplace_clear. */
struct cgplace {
	bool v2;
	char *at;    /* the mount point */
	char *below; /* the group's path below it, without slashes at its ends; "" = itself */
};
void cgplace_clear(struct cgplace *place);
#define CLEANUP_CGPLACE __attribute__((cleanup(cgplace_clear)))

/* Finds the caller's own group by the lines of /proc/self/cgroup and of its mountinfo, in the
 * hierarchy of a v1 controller, or in that of v2 (NULL), at the first mount that shows it. false: it
 * is not mounted, or the group is not to be seen there. */
bool cgplace_find(char *const *groups, char *const *mounts, const char *controller,
	struct cgplace *place);

/* The group's directory, as an O_PATH descriptor; -1, and why gets the reason (to be freed). */
int cgplace_open(const struct cgplace *place, char **why);

/* What a v2 leaf needs. Sets of controllers are bits 1 << CG_MEMORY and 1 << CG_PIDS. */
struct cgneeds {
	unsigned wanted; /* to be enabled where they are not */
	unsigned useful; /* taken where they are enabled anyway */
	bool manage;     /* the caller's own processes may be moved */
};
/* Decides where below which a v2 leaf is to be made, and enables controllers there: place gets it.
 * own is the caller's own group, open as own_dir. The descriptor, or -1; why gets the reason (to be
 * freed) when it is a place without what is wanted, notes what was moved. */
int cgplace_choose(const struct cgplace *own, int own_dir, const struct cgneeds *needs,
	struct cgplace *place, char **why, struct strvec *notes);
/* The name of a file by which the v2 group at dir has a limit of its own; NULL: it has none. */
const char *cgplace_limited(int dir);

/* The number in a text of the kernel's: the whole text when key is NULL, else that of the line "KEY
 * NUMBER". -1 when there is no such line, or it is anything else ("max"). */
int64_t cg_number(const char *text, const char *key);
/* The same of a file of the group at dir; -1 also when it cannot be read. */
int64_t cg_read(int dir, const char *file, const char *key);
/* Writes a text to a file of a group. 0 or -errno. */
int cg_write(int dir, const char *file, const char *text);
bool cg_has(int dir, const char *file);

#endif
