#include "policy/policy.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/path.h"
#include "policy/builtin.h"
#include "policy/file.h"
#include "policy/merge.h"
#include "policy/value.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define MAX_EXTENDS 16
#define MAX_BUILTINS 32

const char *access_name(enum access access)
{
	static const char *const names[] = {"deny", "read", "write"};

	return names[access];
}

char *origin_text(const struct origin *origin)
{
	return xasprintf("%s%s%s", origin->file, *origin->pointer ? ": " : "", origin->pointer);
}

char *rule_text(const struct rule *rule)
{
	switch (rule->kind) {
	case RULE_ROOT:
		return xasprintf("root %s", access_name(rule->access));
	case RULE_PATH:
		return xasprintf(
			"%s %s", rule->connect ? "connect" : access_name(rule->access), rule->path);
	case RULE_MOUNT:
		return xasprintf(
			"mount %s at %s (%s)", rule->path, rule->at, access_name(rule->access));
	case RULE_TMPFS:
		return xasprintf("tmpfs %s", rule->at);
	case RULE_FILE:
		return xasprintf("file %s", rule->at);
	case RULE_DEVICE:
		return xasprintf("device %s", rule->path);
	case RULE_PROC:
		return xasprintf("proc %s", rule->at);
	case RULE_DEV:
		return xasprintf("dev %s", rule->at);
	}
	return NULL;
}

static void clear_variables(struct env_set *set, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(set[i].name);
		free(set[i].value);
	}
	free(set);
}

void policy_clear(struct policy *policy)
{
	for (size_t i = 0; i < policy->n_rules; i++)
		rule_clear(&policy->rules[i]);
	clear_variables(policy->env_given, policy->n_env_given);
	clear_variables(policy->env_set, policy->n_env_set);
	for (size_t i = 0; i < policy->n_env_secrets; i++) {
		free(policy->env_secrets[i].name);
		free(policy->env_secrets[i].where);
	}
	for (size_t i = 0; i < policy->n_env_prepend; i++) {
		free(policy->env_prepend[i].name);
		strvec_clear(&policy->env_prepend[i].dirs);
	}
	free(policy->rules);
	free(policy->env_file);
	free(policy->image_build.wanted);
	free(policy->image_build.where);
	free(policy->image_base.wanted);
	free(policy->image_base.where);
	free(policy->env_secrets);
	free(policy->env_prepend);
	free(policy->description);
	free(policy->hostname);
	free(policy->user.where);
	free(policy->cwd);
	strvec_clear(&policy->env_inherit);
	strvec_clear(&policy->capabilities);
	strvec_clear(&policy->seccomp.allow);
	strvec_clear(&policy->seccomp.deny);
	strvec_clear(&policy->require);
	strvec_clear(&policy->own);
	*policy = (struct policy){0};
}

const char *policy_requires(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->require.n; i += 2)
		if (strcmp(policy->require.v[i], name) == 0)
			return policy->require.v[i + 1];
	return NULL;
}

const char *const *policy_builtin_names(void)
{
	static const char *names[MAX_BUILTINS + 1];

	for (size_t i = 0; i < MAX_BUILTINS && policy_builtins[i].name; i++)
		names[i] = policy_builtins[i].name;
	return names;
}

const char *policy_builtin_text(const char *name)
{
	for (const struct builtin *b = policy_builtins; b->name; b++)
		if (strcmp(b->name, name) == 0)
			return b->text;
	return NULL;
}

/* Loading: a policy's own extends first, each policy once. */
struct loader {
	struct merge merge;
	const struct policy_context *context;
	struct strvec loaded; /* labels */
	unsigned layers;
	struct err *err;
};

/* The policies on the way from one named by the caller to the one being loaded. */
struct chain {
	const struct chain *up;
	const char *label;
	unsigned depth;
};

/* A policy that was found. */
struct found {
	char *label; /* "built-in policy NAME", or the normal path */
	char *dir;   /* its folder; NULL when built in */
	char *text;
	size_t len;
};

static void found_clear(struct found *found)
{
	free(found->label);
	free(found->dir);
	free(found->text);
}

/* -1 with errno set; for what is not a regular file EISDIR or ENODEV. */
static int read_policy_file(const char *path, struct found *out)
{
	CLEANUP_CLOSE int fd =
		open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int error = fd < 0 ? -errno : file_read(fd, JSON_MAX_SIZE, &out->text, &out->len);

	errno = -error;
	return error ? -1 : 0;
}

static int cannot_read(const char *path, struct err *err)
{
	int error = errno;

	if (error == ENODEV)
		err_set(err, ERR_POLICY, "cannot read the policy %s: it is no regular file", path);
	else if (error == ELOOP)
		err_set(err, ERR_POLICY, "cannot read the policy %s: it is a symbolic link", path);
	else
		err_set(err, ERR_POLICY, "cannot read the policy %s: %s", path, strerror(error));
	if (error == ELOOP)
		return err_hint(err, "name the file that the link leads to");
	if (error == ENOENT || error == ENOTDIR)
		return err_hint(err,
			"check the path; a name without a slash means a policy that is built in "
			"or configured");
	return err_hint(err, "a policy is a file of JSON that you can read");
}

/* A FILE: on the command line as any program takes one, in "extends" as any path of a policy but
 * "./". */
static int find_file(struct found *out, const char *text, const char *dir, bool extended,
	const struct policy_context *context, struct err *err)
{
	bool written_out = *text == '/' || strncmp(text, "~/", 2) == 0;
	CLEANUP_FREE char *literal = value_escape(text);
	CLEANUP_FREE char *relative = xasprintf("./%s", literal);
	const char *plain = written_out ? literal : relative;
	struct path_value path;
	int rc;

	if (extended && strncmp(text, "./", 2) == 0) {
		err_set(err, ERR_POLICY, "\"%s\" depends on where the command is started", text);
		err_hint(err, "write \"@policy/%s\" for a file next to this policy", text + 2);
		return -1;
	}
	if (value_path(&path, extended ? text : plain, dir, context, err) < 0)
		return -1;
	if (path.pattern) {
		free(path.path);
		value_refuse_pattern(text, err);
		return -1;
	}
	if (!path.spelled)
		path.spelled = xstrdup(path.path);
	out->label = path.path;
	out->dir = path_parent(path.spelled);
	rc = read_policy_file(path.spelled, out);
	if (rc < 0)
		cannot_read(out->label, err);
	free(path.spelled);
	return rc;
}

static bool is_policy_name(const char *name)
{
	static const char characters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

	return *name && *name != '.' && !name[strspn(name, characters)];
}

static int no_such_policy(const char *name, struct err *err)
{
	const char *const *names = policy_builtin_names();
	CLEANUP_FREE char *list = xstrdup("");
	const char *near;
	size_t n = 0;

	for (; names[n]; n++) {
		char *longer = xasprintf("%s%s%s", list, n ? ", " : "", names[n]);

		free(list);
		list = longer;
	}
	near = nearest(name, names, n);
	err_set(err, ERR_POLICY, "there is no policy named \"%s\"", name);
	if (near)
		return err_hint(
			err, "did you mean \"%s\"? (a file needs a slash: ./%s)", near, name);
	return err_hint(err, "built in are %s; a file needs a slash: ./%s", list, name);
}

/* A NAME: built in, else NAME.json in the caller's and then the machine's configuration. */
static int find_name(
	struct found *out, const char *name, const struct policy_context *context, struct err *err)
{
	const char *builtin = policy_builtin_text(name), *config = context->config_home;
	CLEANUP_STRVEC struct strvec files = {0};

	if (builtin) {
		out->label = xasprintf("built-in policy %s", name);
		out->text = xstrdup(builtin);
		out->len = strlen(builtin);
		return 0;
	}
	if (!is_policy_name(name)) {
		no_such_policy(name, err);
		return -1;
	}
	if (config && *config == '/')
		strvec_pushf(&files, "%s/sbx/policies/%s.json", config, name);
	else if (context->home)
		strvec_pushf(&files, "%s/.config/sbx/policies/%s.json", context->home, name);
	strvec_pushf(&files, "/etc/sbx/policies/%s.json", name);
	for (size_t i = 0; i < files.n; i++) {
		if (read_policy_file(files.v[i], out) == 0) {
			out->label = path_normalize(files.v[i]);
			out->dir = path_parent(out->label);
			return 0;
		}
		if (errno != ENOENT && errno != ENOTDIR) {
			cannot_read(files.v[i], err);
			return -1;
		}
	}
	no_such_policy(name, err);
	return -1;
}

static int load(struct loader *l, const char *name, const char *dir, const struct chain *up);

/* Puts the place of a reference in front of an error that has none yet. */
static int load_extends(
	struct loader *l, const struct layer *layer, const char *dir, const struct chain *chain)
{
	for (size_t i = 0; i < layer->extends.n; i++) {
		if (load(l, layer->extends.v[i], dir, chain) == 0)
			continue;
		return *l->err->at ? -1 : err_at(l->err, "%s: /extends/%zu", layer->file, i);
	}
	return 0;
}

/* One document: what it extends, then itself. */
static int load_document(struct loader *l, const json *document, struct layer_source *source,
	const struct chain *chain)
{
	struct layer layer = {0};
	int rc;

	/* Layers are numbered in the order in which they are merged; the number is only known
	 * once what this one extends is there. */
	rc = layer_read(&layer, document, source, l->context, l->err);
	if (rc == 0)
		rc = load_extends(l, &layer, source->dir, chain);
	if (rc == 0) {
		l->layers++;
		for (size_t i = 0; i < layer.policy.n_rules; i++)
			layer.policy.rules[i].origin.layer = l->layers;
		rc = merge_layer(&l->merge, &layer, l->context, l->err);
	}
	layer_clear(&layer);
	return rc;
}

static int load_text(struct loader *l, const char *text, size_t len, struct layer_source *source,
	const struct chain *chain)
{
	CLEANUP_JSON json *document = json_read(text, len, l->err);

	if (!document) {
		CLEANUP_FREE char *at = xstrdup(l->err->at);

		return err_at(l->err, "%s%s%s", source->file, *at ? ": " : "", at);
	}
	return load_document(l, document, source, chain);
}

static int refuse_circle(const struct chain *chain, const char *label, struct err *err)
{
	CLEANUP_FREE char *text = xstrdup(label);
	bool closed = false;

	for (const struct chain *c = chain; c && !closed; c = c->up) {
		char *longer = xasprintf("%s -> %s", c->label, text);

		closed = strcmp(c->label, label) == 0;
		free(text);
		text = longer;
	}
	if (!closed) {
		err_set(err, ERR_POLICY, "\"extends\" goes deeper than %d policies", MAX_EXTENDS);
		return err_hint(err, "put what they share into one policy");
	}
	err_set(err, ERR_POLICY, "\"extends\" runs in a circle: %s", text);
	return err_hint(err, "take one of them out of an \"extends\"");
}

static int load_found(struct loader *l, struct found *found, const struct chain *up)
{
	struct chain here = {up, found->label, up ? up->depth + 1 : 1};
	struct layer_source source = {.file = found->label, .dir = found->dir};
	bool circle = here.depth > MAX_EXTENDS;

	for (const struct chain *c = up; c; c = c->up)
		circle |= strcmp(c->label, found->label) == 0;
	if (circle)
		return refuse_circle(up, found->label, l->err);
	if (strvec_has(&l->loaded, found->label))
		return 0;
	if (load_text(l, found->text, found->len, &source, &here) < 0)
		return -1;
	strvec_push(&l->loaded, found->label);
	return 0;
}

static int load(struct loader *l, const char *name, const char *dir, const struct chain *up)
{
	struct found found = {0};
	int rc;

	if (strchr(name, '/'))
		rc = find_file(&found, name, dir, up != NULL, l->context, l->err);
	else
		rc = find_name(&found, name, l->context, l->err);
	if (rc == 0)
		rc = load_found(l, &found, up);
	found_clear(&found);
	return rc;
}

/* Reads the variables of environment.file. */
static int read_environment_file(struct policy *p, const char *where, struct err *err)
{
	CLEANUP_JSON json *variables = file_read_trusted(p->env_file, err);

	if (!variables) {
		if (!*err->at)
			err_at(err, "%s", where);
		return -1;
	}
	for (const json *v = json_first(variables); v; v = json_next(v)) {
		p->env_given =
			xreallocarray(p->env_given, p->n_env_given + 1, sizeof(*p->env_given));
		p->env_given[p->n_env_given++] =
			(struct env_set){xstrdup(json_key(v)), xstrdup(json_string(v))};
	}
	return 0;
}

/* Ends loading: the finished policy, or none after an error. The files that it came from are sbx's
 * own, wherever they lie. */
static int finish(struct loader *l, int rc)
{
	struct policy *p = l->merge.policy;

	for (size_t i = 0; i < l->loaded.n; i++)
		if (*l->loaded.v[i] == '/')
			strvec_push(&p->own, l->loaded.v[i]);
	if (rc == 0)
		rc = merge_finish(&l->merge, l->context, l->err);
	if (rc == 0 && p->env_base == ENV_FILE)
		rc = read_environment_file(p, l->merge.where[SET_ENV_FILE], l->err);
	if (rc < 0)
		policy_clear(p);
	merge_clear(&l->merge);
	strvec_clear(&l->loaded);
	return rc;
}

int policy_load(struct policy *policy, const struct strvec *names, const json *flags,
	const struct strvec *flag_names, const struct policy_context *context, struct err *err)
{
	struct loader l = {.merge.policy = policy, .context = context, .err = err};
	struct strvec none = {0};
	struct layer_source source = {
		.file = "command line", .flag_names = flag_names ? flag_names : &none};
	int rc = 0;

	*policy = (struct policy){0};
	for (size_t i = 0; rc == 0 && i < names->n; i++)
		rc = load(&l, names->v[i], NULL, NULL);
	if (rc == 0 && flags)
		rc = load_document(&l, flags, &source, NULL);
	return finish(&l, rc);
}

int policy_load_text(struct policy *policy, const char *text, size_t len, const char *file,
	const char *dir, const struct policy_context *context, struct err *err)
{
	struct loader l = {.merge.policy = policy, .context = context, .err = err};
	struct layer_source source = {.file = file, .dir = dir};
	struct chain here = {NULL, file, 1};

	*policy = (struct policy){0};
	return finish(&l, load_text(&l, text, len, &source, &here));
}
