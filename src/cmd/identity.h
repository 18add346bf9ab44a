/*
 * Who runs the command: what identity.user comes to for this caller on this host.
 *
 * A root caller's bwrap really is run as that user: the host's files and processes are that user's.
 * An ordinary caller can be nobody else: another number is then what the command sees itself as (a
 * label), and no more.
 */
#ifndef SBX_CMD_IDENTITY_H
#define SBX_CMD_IDENTITY_H

#include "base/err.h"
#include "base/user.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <sys/types.h>

/* Zero-initialise; ended by identity_clear. */
struct identity {
	uid_t uid; /* whom the host sees: bwrap is run as this user */
	gid_t gid;
	bool caller; /* it is the caller */
	bool label;  /* it is the caller, and the command sees itself as shown_uid and shown_gid */
	uid_t shown_uid;
	gid_t shown_gid;
	struct user *user; /* uid and gid, for looking at files */
};

/* cwd: the command's working directory, a normal sandbox path; NULL = unknown. "owner" is who owns
 * the host's directory behind it, as the text of the rules has it: whether it is what the plan shows
 * there is to be checked. ERR_PLAN when there is no such directory, or it is root's, or the caller
 * may not become that user. */
int identity_find(
	struct identity *id, const struct policy *policy, const char *cwd, struct err *err);
void identity_clear(struct identity *id);

/* The home that /etc/passwd gives a user (read as a file: no name service is asked), or NULL; free
 * with free(). */
char *identity_home(uid_t uid);

#endif
