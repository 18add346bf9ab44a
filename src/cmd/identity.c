#include "cmd/identity.h"

#include "base/mem.h"
#include "base/path.h"

#include <errno.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* An entry of /etc/passwd; *home may be NULL. */
static bool find_entry(uid_t uid, gid_t *gid, char **home)
{
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *entry;
	bool found = false;

	*home = NULL;
	while (file && !found && (entry = fgetpwent(file))) {
		found = entry->pw_uid == uid;
		if (found && *entry->pw_dir == '/')
			*home = path_normalize(entry->pw_dir);
		if (found)
			*gid = entry->pw_gid;
	}
	if (file)
		fclose(file);
	return found;
}

char *identity_home(uid_t uid)
{
	gid_t gid;
	char *home;

	find_entry(uid, &gid, &home);
	return home;
}

/* The group of a user of whom only the number was given. */
static gid_t group_of(uid_t uid)
{
	CLEANUP_FREE char *home = NULL;
	gid_t gid;

	return find_entry(uid, &gid, &home) ? gid : uid;
}

static int fail(const struct policy *policy, struct err *err)
{
	return policy->user.where ? err_at(err, "%s", policy->user.where) : -1;
}

/* The host's object behind a sandbox path, by the rules' text: that of the deepest rule that stands
 * at or above it. NULL: the sandbox's own. */
static char *host_behind(const struct policy *policy, const char *path)
{
	const struct rule *deepest = NULL;
	size_t depth = 0;

	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];
		const char *place = rule->at ? rule->at : rule->path;
		size_t len = strlen(place);

		/* Where a deny stands beside a rule with an `at`, the latter shows. */
		if (rule->pattern || !path_within(path, place) || len < depth ||
			(deepest && len == depth && !rule->at))
			continue;
		deepest = rule;
		depth = len;
	}
	if (!deepest || (deepest->kind == RULE_ROOT && deepest->access == ACCESS_DENY))
		return NULL;
	if (deepest->kind == RULE_MOUNT)
		return path_join(deepest->path, path_below(path, deepest->at));
	return deepest->at ? NULL : xstrdup(path);
}

static int find_owner(
	struct identity *id, const struct policy *policy, const char *cwd, struct err *err)
{
	CLEANUP_FREE char *host = cwd ? host_behind(policy, cwd) : NULL;
	struct stat st;

	if (!host) {
		err_set(err, ERR_PLAN,
			"the working directory %s is not one of the host's: it has "
			"no owner there",
			cwd ? cwd : "(none)");
		err_hint(err, "go to one with --chdir DIR, or name the user: --user UID:GID");
		return fail(policy, err);
	}
	if (stat(host, &st) < 0) {
		err_set(err, ERR_PLAN, "cannot find the owner of the working directory: %s: %s",
			host, strerror(errno));
		err_hint(err, "name the user: --user UID:GID");
		return fail(policy, err);
	}
	if (st.st_uid == 0) {
		err_set(err, ERR_PLAN,
			"the working directory %s belongs to root, whom \"owner\" never means",
			host);
		err_hint(err, "chown it to the user that is meant, or name one: --user UID:GID");
		return fail(policy, err);
	}
	id->shown_uid = st.st_uid;
	/* chown with a user alone leaves root's group. */
	id->shown_gid = st.st_gid ? st.st_gid : group_of(st.st_uid);
	return 0;
}

/* Whether root has what becoming others and ending their processes takes. */
static bool may_become(void)
{
	static const uint32_t needed = 1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_KILL;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];

	return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & needed) == needed;
}

static int become(struct identity *id, const struct policy *policy, struct err *err)
{
	if (!id->caller && !id->label && !may_become()) {
		err_set(err, ERR_PLAN,
			"the command cannot run as user %u: root lacks CAP_SETUID, "
			"CAP_SETGID or CAP_KILL here",
			id->uid);
		err_hint(err, "give the container these capabilities, or leave identity.user out");
		return fail(policy, err);
	}
	id->user = user_new(id->uid, id->gid);
	if (id->user)
		return 0;
	err_set(err, ERR_PLAN, "the command cannot run as user %u, group %u: %s", id->uid, id->gid,
		errno == EINVAL ? "this user namespace has no such id" : strerror(errno));
	err_hint(err, "/proc/self/uid_map and gid_map show the ids that there are");
	return fail(policy, err);
}

int identity_find(
	struct identity *id, const struct policy *policy, const char *cwd, struct err *err)
{
	const struct policy_user *user = &policy->user;

	*id = (struct identity){.uid = geteuid(), .gid = getegid()};
	id->shown_uid = id->uid;
	id->shown_gid = id->gid;
	if (user->kind == USER_OWNER && find_owner(id, policy, cwd, err) < 0)
		return -1;
	if (user->kind == USER_NUMBER) {
		if (user->has_gid)
			id->shown_gid = user->gid;
		else if (user->uid != id->uid)
			id->shown_gid = group_of(user->uid);
		id->shown_uid = user->uid;
	}
	id->caller = id->shown_uid == id->uid && id->shown_gid == id->gid;
	id->label = !id->caller && id->uid != 0;
	if (!id->label) {
		id->uid = id->shown_uid;
		id->gid = id->shown_gid;
	}
	return become(id, policy, err);
}

void identity_clear(struct identity *id)
{
	user_free(id->user);
	*id = (struct identity){0};
}
