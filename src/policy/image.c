#include "policy/policy.h"
#include "policy/file.h"
#include "policy/value.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* Reads what the file of the image says of it. 0 with *names NULL when there is none. */
static int read_names(const char *file, json **names, struct err *err)
{
	struct stat st;

	if (lstat(file, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	*names = file_read_trusted(file, err);
	if (!*names)
		return -1;
	/* A name that nobody knows may be one that is misspelled, and would not be checked. */
	for (const json *v = json_first(*names); v; v = json_next(v)) {
		if (strcmp(json_key(v), "build") == 0 || strcmp(json_key(v), "base") == 0)
			continue;
		err_set(err, ERR_POLICY, "unknown key \"%s\"", json_key(v));
		err_hint(err, "an image has \"build\" and \"base\"");
		return err_at(err, "%s", file);
	}
	return 0;
}

static int check_name(const struct image_name *name, const char *what, const char *variable,
	char *const *caller_env, const char *file, struct err *err)
{
	const char *actual = value_in(caller_env, variable), *from = variable;
	CLEANUP_JSON json *names = NULL;

	if (!name->wanted)
		return 0;
	if (!actual || !*actual) {
		if (read_names(file, &names, err) < 0)
			return -1;
		actual = names && json_get(names, what) ? json_string(json_get(names, what)) : "";
		from = file;
	}
	if (!*actual || strcmp(actual, name->wanted) == 0)
		return 0;
	err_set(err, ERR_POLICY, "the image's %s is \"%s\" (%s), and the policy wants \"%s\"", what,
		actual, from, name->wanted);
	err_hint(err,
		"run it in the image that the policy is for, or change the policy's \"image\"");
	return err_at(err, "%s", name->where);
}

int policy_check_image(
	const struct policy *policy, char *const *caller_env, const char *file, struct err *err)
{
	if (check_name(&policy->image_build, "build", "SBX_IMAGE_BUILD", caller_env, file, err) < 0)
		return -1;
	return check_name(&policy->image_base, "base", "SBX_IMAGE_BASE", caller_env, file, err);
}
