#include "policy/policy.h"
#include "policy/value.h"

#include "base/mem.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Sets NAME=VALUE, in the place of an older value of the same name. */
static void set_variable(struct strvec *env, const char *name, size_t len, const char *value)
{
	char *entry = xasprintf("%.*s=%s", (int)len, name, value);

	for (size_t i = 0; i < env->n; i++)
		if (strncmp(env->v[i], entry, len + 1) == 0) {
			free(env->v[i]);
			env->v[i] = entry;
			return;
		}
	strvec_take(env, entry);
}

/* A terminal's name as terminfo has them: it goes into paths, and programs print it. */
static bool plain_word(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || (text[n] && strchr("-+._", text[n])))
		n++;
	return n && !text[n];
}

static void set_minimal(
	struct strvec *env, char *const *caller_env, const struct policy_context *context)
{
	const char *term = "dumb";

	for (size_t i = 0; caller_env[i]; i++)
		if (strncmp(caller_env[i], "TERM=", 5) == 0) {
			if (plain_word(caller_env[i] + 5))
				term = caller_env[i] + 5;
			break;
		}
	set_variable(
		env, "PATH", 4, "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	set_variable(env, "HOME", 4, context->home ? context->home : "/");
	set_variable(env, "LANG", 4, "C.UTF-8");
	set_variable(env, "TERM", 4, term);
}

enum wanted { NOT_WANTED, WANTED_BY_PATTERN, WANTED_BY_NAME };

static enum wanted wanted(const struct strvec *patterns, const char *name, size_t len)
{
	enum wanted found = NOT_WANTED;

	for (size_t i = 0; i < patterns->n; i++) {
		size_t n = strcspn(patterns->v[i], "*");

		if (!patterns->v[i][n] && n == len && memcmp(patterns->v[i], name, len) == 0)
			return WANTED_BY_NAME;
		if (patterns->v[i][n] && n <= len && memcmp(patterns->v[i], name, n) == 0)
			found = WANTED_BY_PATTERN;
	}
	return found;
}

static void inherit(const struct policy *policy, char *const *caller_env, struct strvec *out,
	struct strvec *notes)
{
	CLEANUP_STRVEC struct strvec seen = {0};

	for (size_t i = 0; caller_env[i]; i++) {
		size_t len = strcspn(caller_env[i], "=");
		CLEANUP_FREE char *name = xstrndup(caller_env[i], len);
		enum wanted how = wanted(&policy->env_inherit, name, len);

		if (how == NOT_WANTED || strvec_has(&seen, name))
			continue;
		if (!caller_env[i][len] || !value_variable(name, len)) {
			if (how == WANTED_BY_NAME)
				strvec_pushf(notes, "environment: \"%s\" is not inherited: %s",
					name,
					caller_env[i][len] ? "no plain name of a variable"
							   : "it has no value");
			continue;
		}
		strvec_push(&seen, name);
		set_variable(out, name, len, caller_env[i] + len + 1);
	}
}

void policy_environment(const struct policy *policy, char *const *caller_env,
	const struct policy_context *context, struct strvec *out, struct strvec *notes)
{
	if (policy->env_base == ENV_MINIMAL)
		set_minimal(out, caller_env, context);
	inherit(policy, caller_env, out, notes);
	for (size_t i = 0; i < policy->n_env_set; i++)
		set_variable(out, policy->env_set[i].name, strlen(policy->env_set[i].name),
			policy->env_set[i].value);
}
