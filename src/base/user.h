/*
 * Asking the kernel about files as another user would be answered. What it says depends on ids,
 * groups and capabilities of the asking process; root's can be taken off and put on again.
 */
#ifndef SBX_BASE_USER_H
#define SBX_BASE_USER_H

#include <sys/types.h>

struct user;

/* A user to look at files as, in a user namespace where it has no right to pass other users' modes
 * (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH). A root caller can be any; supplementary groups are then
 * dropped too, where that is allowed. Others can only be themselves. Free with user_free. NULL with
 * errno: EPERM (not allowed), EINVAL (this user namespace has no such id). */
struct user *user_new(uid_t uid, gid_t gid);
void user_free(struct user *user);
uid_t user_uid(const struct user *user);
gid_t user_gid(const struct user *user);

/* Between the two, files are looked at and made as that user; the process must have one thread.
 * Not to be nested. errno is kept. */
const struct user *user_enter(const struct user *user);
void user_leave(const struct user *user);

void cleanup_user(const struct user **user);
/* The scope of a variable: CLEANUP_USER const struct user *as = user_enter(user); */
#define CLEANUP_USER __attribute__((cleanup(cleanup_user), unused))

#endif
