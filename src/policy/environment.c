#include "policy/policy.h"
#include "policy/value.h"

#include "base/mem.h"
#include "base/path.h"

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

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static void set_minimal(
	struct strvec *env, char *const *caller_env, const struct policy_context *context)
{
	const char *term = value_in(caller_env, "TERM");

	set_variable(env, "PATH", 4, DEFAULT_PATH);
	set_variable(env, "HOME", 4, context->home ? context->home : "/");
	set_variable(env, "LANG", 4, "C.UTF-8");
	set_variable(env, "TERM", 4, term && plain_word(term) ? term : "dumb");
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

/* What environment.file has: others wrote it for other programs, so odd names are no error. */
static void set_given(const struct policy *policy, struct strvec *out, struct strvec *notes)
{
	for (size_t i = 0; i < policy->n_env_given; i++) {
		const struct env_set *given = &policy->env_given[i];

		if (value_variable(given->name, strlen(given->name)))
			set_variable(out, given->name, strlen(given->name), given->value);
		else
			strvec_pushf(notes,
				"environment: \"%s\" of %s is left out: no plain name of a "
				"variable",
				given->name, policy->env_file);
	}
}

static void set_scratch(const struct policy *policy, struct strvec *out)
{
	for (size_t i = 0; i < policy->n_rules; i++) {
		const struct rule *rule = &policy->rules[i];

		if (rule->scratch) {
			CLEANUP_FREE char *home = path_join(rule->at, SCRATCH_HOME);
			CLEANUP_FREE char *tmp = path_join(rule->at, SCRATCH_TMP);

			set_variable(out, "HOME", 4, home);
			set_variable(out, "TMPDIR", 6, tmp);
		}
	}
}

bool policy_is_secret(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->n_env_secrets; i++)
		if (strcmp(policy->env_secrets[i].name, name) == 0)
			return true;
	return false;
}

int policy_check_secrets(const struct policy *policy, char *const *caller_env, struct err *err)
{
	for (size_t i = 0; i < policy->n_env_secrets; i++) {
		const struct env_secret *secret = &policy->env_secrets[i];

		if (value_in(caller_env, secret->name))
			continue;
		err_set(err, ERR_POLICY, "the secret %s is not in the environment", secret->name);
		err_hint(err, "export it before the run, or leave the secret out");
		return err_at(err, "%s", secret->where);
	}
	return 0;
}

/* Puts paths before a list with colons; an empty list would mean the working directory. */
static void prepend(const struct env_prepend *prepend, struct strvec *out)
{
	const char *old = value_in(strvec_argv(out), prepend->name);
	char *list = xstrdup(old ? old : "");

	for (size_t i = prepend->dirs.n; i-- > 0;) {
		char *longer = xasprintf("%s%s%s", prepend->dirs.v[i], *list ? ":" : "", list);

		free(list);
		list = longer;
	}
	if (prepend->dirs.n)
		set_variable(out, prepend->name, strlen(prepend->name), list);
	free(list);
}

void policy_environment(const struct policy *policy, char *const *caller_env,
	const struct policy_context *context, bool with_secrets, struct strvec *out,
	struct strvec *notes)
{
	if (policy->env_base == ENV_MINIMAL)
		set_minimal(out, caller_env, context);
	set_given(policy, out, notes);
	inherit(policy, caller_env, out, notes);
	set_scratch(policy, out);
	for (size_t i = 0; i < policy->n_env_set; i++)
		set_variable(out, policy->env_set[i].name, strlen(policy->env_set[i].name),
			policy->env_set[i].value);
	for (size_t i = 0; i < policy->n_env_secrets; i++) {
		const char *name = policy->env_secrets[i].name;
		const char *value = with_secrets ? value_in(caller_env, name) : NULL;

		set_variable(out, name, strlen(name), value ? value : "");
	}
	/* An image's file need not have PATH; whoever asks for nothing gets nothing. */
	if (policy->env_base != ENV_NONE && !value_in(strvec_argv(out), "PATH"))
		set_variable(out, "PATH", 4, DEFAULT_PATH);
	for (size_t i = 0; i < policy->n_env_prepend; i++)
		prepend(&policy->env_prepend[i], out);
}
