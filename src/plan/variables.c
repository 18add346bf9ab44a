#include "plan/variables.h"

#include "base/mem.h"
#include "base/path.h"
#include "plan/view.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What a variable has to name. */
enum need { NEED_NONE, NEED_OBJECT, NEED_OBJECTS, NEED_DIR, NEED_WRITABLE };

static enum need need_of(const char *name)
{
	static const struct {
		const char *name;
		enum need need;
	} known[] = {
		{"HOME", NEED_DIR},
		{"TMPDIR", NEED_WRITABLE},
		{"TMP", NEED_WRITABLE},
		{"TEMP", NEED_WRITABLE},
		{"TZDIR", NEED_OBJECT},
		{"LOCPATH", NEED_OBJECTS},
		{"SSL_CERT_FILE", NEED_OBJECT},
		{"SSL_CERT_DIR", NEED_OBJECTS},
		{"CURL_CA_BUNDLE", NEED_OBJECT},
		{"REQUESTS_CA_BUNDLE", NEED_OBJECT},
		{"NODE_EXTRA_CA_CERTS", NEED_OBJECT},
		{"GIT_SSL_CAINFO", NEED_OBJECT},
		{"GIT_DIR", NEED_OBJECT},
		{"GIT_WORK_TREE", NEED_OBJECT},
		{"SSH_AUTH_SOCK", NEED_OBJECT},
		{"XAUTHORITY", NEED_OBJECT},
	};
	size_t len = strlen(name);

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].need;
	if (strncmp(name, "XDG_", 4) != 0 || len < 9)
		return NEED_NONE;
	return strcmp(name + len - 4, "_DIR") == 0 || strcmp(name + len - 5, "_HOME") == 0
		       ? NEED_OBJECT
		       : NEED_NONE;
}

/* Why a path of the view does not do, or NULL: it does. */
static const char *fault_of(
	const struct plan *plan, const struct tree *tree, const char *path, enum need need)
{
	CLEANUP_VIEW_OBJECT struct view_object object = {0};
	bool directory = need == NEED_DIR || need == NEED_WRITABLE;
	int error;

	if (strlen(path) >= PATH_MAX)
		return "longer than a path can be";
	/* From where a program takes it is not known. */
	if (*path != '/')
		return directory ? "no absolute path" : NULL;
	error = view_lookup(plan, tree, path, &object);
	if (error == -EACCES || (!error && object.access == ACCESS_DENY))
		return "denied in the sandbox";
	if (error)
		return "not in the sandbox";
	if (!directory)
		return NULL;
	if (object.kind != TREE_DIR)
		return "no directory";
	if (object.host && tree_access(tree, object.host, X_OK) < 0)
		return "a directory that the command may not search";
	if (need == NEED_WRITABLE &&
		(object.access != ACCESS_WRITE ||
			(object.host && tree_access(tree, object.host, W_OK) < 0)))
		return "a directory that the command cannot write";
	return NULL;
}

/* The same of a variable's value. */
static const char *fault_of_value(
	const struct plan *plan, const struct tree *tree, const char *value, enum need need)
{
	const char *fault = NULL;

	if (need != NEED_OBJECTS)
		return fault_of(plan, tree, value, need);
	for (const char *p = value; *p && !fault; p += *p == ':') {
		size_t len = strcspn(p, ":");
		CLEANUP_FREE char *path = xstrndup(p, len);

		p += len;
		fault = fault_of(plan, tree, path, need);
	}
	return fault;
}

static bool sets(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->n_env_set; i++)
		if (strcmp(policy->env_set[i].name, name) == 0)
			return true;
	return false;
}

void variables_check(const struct plan *plan, const struct tree *tree, const struct policy *policy,
	struct strvec *env, struct strvec *notes)
{
	for (size_t i = 0; i < env->n; i++) {
		size_t len = strcspn(env->v[i], "=");
		CLEANUP_FREE char *name = xstrndup(env->v[i], len);
		const char *value = env->v[i] + len + 1, *fault;
		enum need need = policy_is_secret(policy, name) ? NEED_NONE : need_of(name);
		bool fixed;

		/* Programs take an empty one for none. */
		if (need == NEED_NONE || !*value)
			continue;
		fault = fault_of_value(plan, tree, value, need);
		if (!fault)
			continue;
		fixed = need == NEED_WRITABLE && !sets(policy, name) &&
			!fault_of(plan, tree, "/tmp", need);
		strvec_pushf(notes, "environment: %s is %.*s, %s%s", name, (int)strnlen(value, 256),
			value, fault, fixed ? ": it is set to /tmp" : "");
		if (fixed) {
			free(env->v[i]);
			env->v[i] = xasprintf("%s=/tmp", name);
		}
	}
}
