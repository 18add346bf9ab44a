#include "base/user.h"

#include "base/mem.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PASSES_MODES (1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH)

struct caps {
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
};

struct user {
	uid_t uid, own_uid;
	gid_t gid, own_gid;
	gid_t *groups; /* to be dropped */
	size_t n_groups;
	bool lowers; /* capabilities are to be set aside */
	struct caps caps;
	/* A change of ids clears the signal that the process gets when its parent dies. */
	int death_signal;
	pid_t parent;
};

static int get_caps(struct caps *caps)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return (int)syscall(SYS_capget, &header, caps->data);
}

static int set_caps(const struct caps *caps)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};

	return (int)syscall(SYS_capset, &header, caps->data);
}

/* 0 or -1 with errno; what was changed before a failure stays changed. */
static int enter(const struct user *user)
{
	struct caps lowered = user->caps;

	if (user->n_groups && setgroups(0, NULL) < 0)
		return -1;
	if (user->gid != user->own_gid && setegid(user->gid) < 0)
		return -1;
	if (user->uid != user->own_uid)
		return seteuid(user->uid); /* no effective capability is left */
	lowered.data[0].effective &= ~PASSES_MODES;
	return user->lowers ? set_caps(&lowered) : 0;
}

static int leave(const struct user *user)
{
	bool changes = user->uid != user->own_uid || user->gid != user->own_gid;

	if (user->uid != user->own_uid && seteuid(user->own_uid) < 0)
		return -1;
	if ((user->lowers || changes) && set_caps(&user->caps) < 0)
		return -1;
	if (user->gid != user->own_gid && setegid(user->own_gid) < 0)
		return -1;
	if (user->n_groups && setgroups(user->n_groups, user->groups) < 0)
		return -1;
	if (!changes || !user->death_signal)
		return 0;
	if (prctl(PR_SET_PDEATHSIG, user->death_signal, 0, 0, 0) < 0)
		return -1;
	/* It may have died meanwhile. */
	return getppid() == user->parent ? 0 : raise(user->death_signal);
}

/* What worked once works again, when what was short is there; going on as somebody else would be worse
 * than to stop. */
static void insist(int (*change)(const struct user *user), const struct user *user)
{
	static const char text[] = "sbx: cannot change this process's user\n";

	for (int i = 0; i < 100; i++) {
		if (change(user) == 0)
			return;
		poll(NULL, 0, 10);
	}
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(125);
	_exit(125);
}

struct user *user_new(uid_t uid, gid_t gid)
{
	struct user *user = xcalloc(1, sizeof(*user));
	int n, error = 0;

	*user = (struct user){.uid = uid,
		.gid = gid,
		.own_uid = geteuid(),
		.own_gid = getegid(),
		.parent = getppid()};
	if (get_caps(&user->caps) == 0)
		user->lowers = user->caps.data[0].effective & PASSES_MODES;
	prctl(PR_GET_PDEATHSIG, &user->death_signal, 0, 0, 0);
	if (user->own_uid == 0 && (n = getgroups(0, NULL)) > 0) {
		user->groups = xcalloc((size_t)n, sizeof(*user->groups));
		n = getgroups(n, user->groups);
		user->n_groups = n > 0 ? (size_t)n : 0;
	}
	/* Groups that cannot be dropped stay in a run too. */
	if (user->n_groups && setgroups(user->n_groups, user->groups) < 0)
		user->n_groups = 0;
	if (enter(user) < 0)
		error = errno;
	insist(leave, user);
	if (!error)
		return user;
	user_free(user);
	errno = error;
	return NULL;
}

void user_free(struct user *user)
{
	if (user)
		free(user->groups);
	free(user);
}

uid_t user_uid(const struct user *user)
{
	return user->uid;
}

gid_t user_gid(const struct user *user)
{
	return user->gid;
}

const struct user *user_enter(const struct user *user)
{
	insist(enter, user);
	return user;
}

void user_leave(const struct user *user)
{
	int error = errno;

	insist(leave, user);
	errno = error;
}

void cleanup_user(const struct user **user)
{
	user_leave(*user);
}
