#include "policy/layer.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "base/path.h"
#include "policy/merge.h"
#include "policy/value.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* What is being read, and into what. */
struct reader {
	struct layer *layer;
	const struct layer_source *source;
	const struct policy_context *context;
	struct rule *rule; /* the one whose members are read */
	struct err *err;
};

typedef int read_fn(struct reader *r, const json *value, const struct json_place *at);

/* One key that an object may have. Tables of them end with a NULL key; a key in no table is
 * unknown. */
struct member {
	const char *key;
	read_fn *read;
};

uint64_t *limit_value(struct policy_limits *l, enum setting setting)
{
	uint64_t *const values[] = {&l->wall_ms, &l->cpu_ms, &l->memory, &l->processes, &l->output,
		&l->file_size, &l->open_files, &l->core};

	return values[setting - SET_LIMITS];
}

const char *rule_place(const struct rule *rule)
{
	return rule->at ? rule->at : rule->path;
}

void rule_clear(struct rule *rule)
{
	free(rule->path);
	free(rule->at);
	free(rule->spelled);
	free(rule->name);
	free(rule->why);
	free(rule->text);
	strvec_clear(&rule->grants);
	free(rule->origin.file);
	free(rule->origin.pointer);
	*rule = (struct rule){0};
}

void layer_clear(struct layer *layer)
{
	policy_clear(&layer->policy);
	for (size_t i = 0; i < N_SETTINGS; i++) {
		free(layer->where[i]);
		free(layer->final[i]);
	}
	strvec_clear(&layer->extends);
	strvec_clear(&layer->off);
	*layer = (struct layer){0};
}

/* The pointer of a place; on the command line the flag that made it. */
static char *pointer_text(const struct reader *r, const struct json_place *at)
{
	const struct strvec *flags = r->source->flag_names;
	char *pointer = json_pointer(at);
	const char *flag = NULL;
	size_t longest = 0;

	for (size_t i = 0; flags && i + 1 < flags->n; i += 2) {
		size_t len = strlen(flags->v[i]);

		if (len >= longest && strncmp(pointer, flags->v[i], len) == 0 &&
			(pointer[len] == '/' || !pointer[len])) {
			longest = len;
			flag = flags->v[i + 1];
		}
	}
	if (!flag)
		return pointer;
	free(pointer);
	return xstrdup(flag);
}

static char *where_text(const struct reader *r, const struct json_place *at)
{
	CLEANUP_FREE char *pointer = pointer_text(r, at);

	return origin_text(&(struct origin){(char *)r->source->file, pointer, r->source->number});
}

/* Adds the place to what has been said; a fault of the command line is one of its spelling. */
static int locate(struct reader *r, const struct json_place *at)
{
	CLEANUP_FREE char *where = where_text(r, at);

	r->err->kind = r->source->flag_names ? ERR_USAGE : ERR_POLICY;
	return err_at(r->err, "%s", where);
}

__attribute__((format(printf, 3, 4))) static int fail(
	struct reader *r, const struct json_place *at, const char *fmt, ...)
{
	CLEANUP_FREE char *message = NULL;
	va_list ap;

	va_start(ap, fmt);
	message = xvasprintf(fmt, ap);
	va_end(ap);
	err_set(r->err, ERR_POLICY, "%s", message);
	return locate(r, at);
}

static int expect(
	struct reader *r, const json *value, enum json_type type, const struct json_place *at)
{
	if (json_type(value) == type)
		return 0;
	return fail(r, at, "must be %s, not %s", json_type_name(type),
		json_type_name(json_type(value)));
}

static int read_text(struct reader *r, const json *value, const struct json_place *at, char **out)
{
	if (expect(r, value, JSON_STRING, at) < 0)
		return -1;
	*out = xstrdup(json_string(value));
	return 0;
}

static int read_bool(struct reader *r, const json *value, const struct json_place *at, bool *out)
{
	if (expect(r, value, JSON_BOOL, at) < 0)
		return -1;
	*out = json_bool(value);
	return 0;
}

/* "a", "b" or "c": the words of a list as a message shows them. */
static char *list_text(const char *const *words, size_t n, const char *last)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < n; i++) {
		char *longer = xasprintf("%s%s\"%s\"", text,
			i == 0      ? ""
			: i + 1 < n ? ", "
				    : last,
			words[i]);

		free(text);
		text = longer;
	}
	return text;
}

/* The index of a string in a list of words that ends with NULL, or -1. */
static int read_word(
	struct reader *r, const json *value, const struct json_place *at, const char *const *words)
{
	CLEANUP_FREE char *list = NULL;
	size_t n = 0;

	if (expect(r, value, JSON_STRING, at) < 0)
		return -1;
	for (; words[n]; n++)
		if (strcmp(words[n], json_string(value)) == 0)
			return (int)n;
	list = list_text(words, n, " or ");
	return fail(r, at, "must be %s, not \"%s\"", list, json_string(value));
}

static int read_list(
	struct reader *r, const json *value, const struct json_place *at, read_fn *read)
{
	struct json_place here = {at, NULL, 0};

	if (expect(r, value, JSON_ARRAY, at) < 0)
		return -1;
	for (const json *v = json_first(value); v; v = json_next(v), here.index++)
		if (read(r, v, &here) < 0)
			return -1;
	return 0;
}

static int unknown_key(struct reader *r, const struct json_place *at, const struct member *members)
{
	CLEANUP_FREE const char **keys = NULL;
	CLEANUP_FREE char *list = NULL;
	const char *near;
	size_t n = 0, alloc = 0;

	for (; members[n].key; n++) {
		GROW(keys, n, alloc);
		keys[n] = members[n].key;
	}
	fail(r, at, "unknown key \"%s\"", at->key);
	near = nearest(at->key, keys, n);
	if (near)
		return err_hint(r->err, "did you mean \"%s\"?", near);
	list = list_text(keys, n, " and ");
	return err_hint(r->err, "the keys known here are %s", list);
}

static int read_object(struct reader *r, const json *value, const struct json_place *at,
	const struct member *members)
{
	struct json_place here = {at, NULL, 0};

	if (expect(r, value, JSON_OBJECT, at) < 0)
		return -1;
	for (const json *v = json_first(value); v; v = json_next(v)) {
		const struct member *m = members;

		here.key = json_key(v);
		while (m->key && strcmp(m->key, here.key) != 0)
			m++;
		if (!m->key)
			return unknown_key(r, &here, members);
		if (m->read(r, v, &here) < 0)
			return -1;
	}
	return 0;
}

/* Notes that the layer sets something. */
static int set(struct reader *r, enum setting setting, const struct json_place *at)
{
	r->layer->where[setting] = where_text(r, at);
	return 0;
}

/* Rules */

static int new_rule(
	struct reader *r, enum rule_kind kind, enum access access, const struct json_place *at)
{
	struct policy *p = &r->layer->policy;

	if (p->n_rules == MERGE_MAX_RULES)
		return fail(r, at, "more than %d rules", MERGE_MAX_RULES);
	GROW(p->rules, p->n_rules, r->layer->alloc);
	r->rule = &p->rules[p->n_rules++];
	*r->rule = (struct rule){.kind = kind, .access = access};
	r->rule->origin =
		(struct origin){xstrdup(r->source->file), pointer_text(r, at), r->source->number};
	return 0;
}

/* Whether a name of a path is longer than any file's can be. */
static bool has_long_name(const char *path)
{
	for (; *path; path += strcspn(path, "/")) {
		path += strspn(path, "/");
		if (strcspn(path, "/") > NAME_MAX)
			return true;
	}
	return false;
}

static int read_path_value(struct reader *r, const json *value, const struct json_place *at,
	bool patterns, struct path_value *out)
{
	*out = (struct path_value){0};
	if (expect(r, value, JSON_STRING, at) < 0)
		return -1;
	if (value_path(out, json_string(value), r->source->dir, r->context, r->err) < 0)
		return locate(r, at);
	if (out->pattern ? patterns : !has_long_name(out->path))
		return 0;
	free(out->path);
	free(out->spelled);
	if (out->pattern) {
		value_refuse_pattern(json_string(value), r->err);
		locate(r, at);
	} else {
		fail(r, at, "a name of the path is longer than %d bytes", NAME_MAX);
	}
	return -1;
}

static int read_host_path(struct reader *r, const json *value, const struct json_place *at)
{
	struct path_value path;

	if (read_path_value(r, value, at, r->rule->kind == RULE_PATH, &path) < 0)
		return -1;
	r->rule->path = path.path;
	r->rule->pattern = path.pattern;
	r->rule->spelled = path.spelled;
	r->rule->relative = path.relative;
	return 0;
}

static int read_sandbox_path(
	struct reader *r, const json *value, const struct json_place *at, char **out)
{
	struct path_value path;

	if (read_path_value(r, value, at, false, &path) < 0)
		return -1;
	free(path.spelled);
	*out = path.path;
	return 0;
}

static int read_at(struct reader *r, const json *value, const struct json_place *at)
{
	return read_sandbox_path(r, value, at, &r->rule->at);
}

static int read_why(struct reader *r, const json *value, const struct json_place *at)
{
	return read_text(r, value, at, &r->rule->why);
}

static int read_name(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_text(r, value, at, &r->rule->name) < 0)
		return -1;
	return *r->rule->name ? 0 : fail(r, at, "the name is empty");
}

static int read_optional(struct reader *r, const json *value, const struct json_place *at)
{
	return read_bool(r, value, at, &r->rule->optional);
}

static int read_follow(struct reader *r, const json *value, const struct json_place *at)
{
	if (r->rule->access == ACCESS_DENY) {
		fail(r, at, "only grants can have \"follow\"");
		return err_hint(r->err, "leave it out: a denial holds through any link");
	}
	return read_bool(r, value, at, &r->rule->follow);
}

static int read_rule_final(struct reader *r, const json *value, const struct json_place *at)
{
	return read_bool(r, value, at, &r->rule->final);
}

static int read_grant(struct reader *r, const json *value, const struct json_place *at)
{
	char *path;

	if (read_sandbox_path(r, value, at, &path) < 0)
		return -1;
	strvec_take(&r->rule->grants, path);
	return 0;
}

static int read_grants(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_grant);
}

static int read_mask(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"eacces", "empty", NULL});

	if (word >= 0)
		r->rule->mask = word ? MASK_EMPTY : MASK_EACCES;
	return word;
}

static int read_missing(struct reader *r, const json *value, const struct json_place *at)
{
	static const char *const words[] = {[MISSING_WATCH] = "watch",
		[MISSING_QUARANTINE] = "quarantine",
		[MISSING_ENFORCE] = "enforce",
		NULL};
	int word = read_word(r, value, at, words);

	if (word >= 0)
		r->rule->missing = (enum missing)word;
	return word;
}

static int read_type(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"file", "directory", NULL});

	if (word >= 0)
		r->rule->type = word ? TYPE_DIRECTORY : TYPE_FILE;
	return word;
}

static int read_lost(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"end", "report", NULL});

	if (word >= 0)
		r->rule->lost_report = word;
	return word;
}

static int read_worktree(struct reader *r, const json *value, const struct json_place *at)
{
	return read_bool(r, value, at, &r->rule->worktree);
}

static int read_mount_access(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"read", "write", NULL});

	if (word >= 0)
		r->rule->access = word ? ACCESS_WRITE : ACCESS_READ;
	return word;
}

/* A whole number from 1 on, or a string that parse takes for one: 1; 0 when it is none; or -1. */
static int read_whole(struct reader *r, const json *value, const struct json_place *at,
	bool (*parse)(const char *text, uint64_t *number), uint64_t *out)
{
	double number;

	if (json_type(value) != JSON_NUMBER)
		return expect(r, value, JSON_STRING, at) < 0 ? -1 : parse(json_string(value), out);
	number = json_number(value);
	/* Whole numbers beyond 2^53 are not exact in JSON. */
	if (number < 1 || number > 9007199254740992.0)
		return 0;
	*out = (uint64_t)number;
	return (double)*out == number;
}

static int read_bytes(
	struct reader *r, const json *value, const struct json_place *at, uint64_t *bytes)
{
	int good = read_whole(r, value, at, value_size, bytes);

	if (good)
		return good < 0 ? -1 : 0;
	fail(r, at, "no size");
	return err_hint(r->err,
		"write \"64M\" (K, M, G and T are powers of 1024), or a number of bytes "
		"from 1 on");
}

static int read_size(struct reader *r, const json *value, const struct json_place *at)
{
	return read_bytes(r, value, at, &r->rule->size);
}

static int read_file_text(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_text(r, value, at, &r->rule->text) < 0)
		return -1;
	r->rule->text_len = strlen(r->rule->text);
	return 0;
}

static int check_grants(struct reader *r, const struct json_place *at)
{
	struct json_place list = {at, "grants", 0}, here = {&list, NULL, 0};

	if (r->rule->grants.n && !r->rule->final) {
		fail(r, &list, "\"grants\" without \"final\"");
		return err_hint(r->err, "grants are exceptions from \"final\": true");
	}
	if (r->rule->grants.n && r->rule->pattern) {
		fail(r, &list, "a pattern cannot have \"grants\"");
		return err_hint(r->err, "name the places one by one, each with its own grants");
	}
	for (; here.index < r->rule->grants.n; here.index++)
		if (!path_within(r->rule->grants.v[here.index], r->rule->path))
			return fail(r, &here, "%s is not below the rule's own %s",
				r->rule->grants.v[here.index], r->rule->path);
	return 0;
}

static int check_worktree(struct reader *r, const struct json_place *at)
{
	const struct rule *rule = r->rule;

	if (!rule->worktree)
		return 0;
	if (rule->pattern || strcmp(path_base(rule->path), ".git") != 0) {
		fail(r, at, "\"worktree\" wants the .git of one checkout, not %s", rule->path);
		return err_hint(r->err, "write \"./.git\", or another path that ends in \"/.git\"");
	}
	if (!rule->final && rule->type == TYPE_ANY)
		return 0;
	fail(r, at, "a rule with \"worktree\" cannot have \"%s\"", rule->final ? "final" : "type");
	return err_hint(r->err, "which rules it stands for is known only when a run is planned");
}

/* What the kinds of rule may not stand on: "/", and the sandbox's own places. */
static int check_place(struct reader *r, const struct json_place *at)
{
	const struct rule *rule = r->rule;
	const char *place = rule_place(rule);
	bool proc = path_within(place, "/proc"), dev = path_within(place, "/dev");
	bool exact = strcmp(place, "/proc") == 0 || strcmp(place, "/dev") == 0;

	if (strcmp(place, "/") == 0) {
		fail(r, at, "no rule can stand at \"/\"");
		return err_hint(r->err,
			"use \"filesystem\": {\"root\": \"read\"} for the host's files, or name "
			"the directories of \"/\" one by one");
	}
	if (rule->kind == RULE_PATH && strcmp(place, "/tmp") == 0) {
		fail(r, at, "/tmp is always the sandbox's own");
		return err_hint(r->err,
			"\"mounts\" with \"at\": \"/tmp\" puts a directory of the host there, "
			"\"tmpfs\" changes its size");
	}
	if (rule->kind == RULE_PATH
			? (proc || dev) && (exact || rule->pattern || rule->access != ACCESS_DENY)
		: rule->kind == RULE_DEVICE ? proc || (dev && exact)
					    : exact) {
		fail(r, at, "%s is always the sandbox's own", proc ? "/proc" : "/dev");
		return err_hint(r->err,
			proc ? "\"filesystem\": {\"proc\": ...} says what it is"
			     : "use \"devices\" for a device, \"dev\": \"none\" for no /dev");
	}
	if (rule->kind == RULE_MOUNT && path_within(rule->path, "/proc")) {
		fail(r, at,
			"the host's /proc cannot be mounted: it leads to every process's files");
		return err_hint(r->err, "\"filesystem\": {\"proc\": ...} says what /proc is");
	}
	return 0;
}

static int missing(struct reader *r, const struct json_place *at, const char *key)
{
	fail(r, at, "the key \"%s\" is missing", key);
	return err_hint(r->err, "an object like this one needs it");
}

/* A rule that names a host object: the path alone, or an object with these members. */
static int read_host_rule(struct reader *r, const json *value, const struct json_place *at,
	enum rule_kind kind, enum access access, const struct member *members)
{
	if (new_rule(r, kind, access, at) < 0)
		return -1;
	if (json_type(value) != JSON_OBJECT) {
		if (read_host_path(r, value, at) < 0)
			return -1;
	} else if (read_object(r, value, at, members) < 0) {
		return -1;
	}
	if (!r->rule->path)
		return missing(r, at, "path");
	if (r->rule->missing == MISSING_ENFORCE && r->rule->type == TYPE_DIRECTORY) {
		fail(r, at, "what has to be a directory cannot be enforced while it is missing");
		return err_hint(r->err, "leave \"type\" out: a file holds the missing name");
	}
	if (check_grants(r, at) < 0 || check_worktree(r, at) < 0)
		return -1;
	return check_place(r, at);
}

#define OBJECT_MEMBERS                                                                             \
	{"path", read_host_path}, {"why", read_why}, {"name", read_name},                          \
	{                                                                                          \
		"optional", read_optional                                                          \
	}

static const struct member object_members[] = {OBJECT_MEMBERS, {NULL, NULL}};

static int read_path_rule(
	struct reader *r, const json *value, const struct json_place *at, enum access access)
{
#define PATH_MEMBERS                                                                               \
	OBJECT_MEMBERS, {"follow", read_follow}, {"type", read_type}, {"final", read_rule_final},  \
	{                                                                                          \
		"grants", read_grants                                                              \
	}
	static const struct member members[][12] = {
		[ACCESS_DENY] = {PATH_MEMBERS, {"missing", read_missing}, {"lost", read_lost},
			{"mask", read_mask}},
		[ACCESS_READ] = {PATH_MEMBERS, {"missing", read_missing}, {"lost", read_lost}},
		[ACCESS_WRITE] = {PATH_MEMBERS, {"worktree", read_worktree}},
	};

	return read_host_rule(r, value, at, RULE_PATH, access, members[access]);
}

static int read_read_rule(struct reader *r, const json *value, const struct json_place *at)
{
	return read_path_rule(r, value, at, ACCESS_READ);
}

static int read_write_rule(struct reader *r, const json *value, const struct json_place *at)
{
	return read_path_rule(r, value, at, ACCESS_WRITE);
}

static int read_deny_rule(struct reader *r, const json *value, const struct json_place *at)
{
	return read_path_rule(r, value, at, ACCESS_DENY);
}

static int read_connect_rule(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_host_rule(r, value, at, RULE_PATH, ACCESS_READ, object_members) < 0)
		return -1;
	r->rule->connect = true;
	return 0;
}

static int read_mount(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"at", read_at}, {"from", read_host_path},
		{"access", read_mount_access}, {"optional", read_optional}, {"follow", read_follow},
		{"why", read_why}, {"name", read_name}, {NULL, NULL}};

	if (new_rule(r, RULE_MOUNT, ACCESS_READ, at) < 0 || read_object(r, value, at, members) < 0)
		return -1;
	if (!r->rule->at || !r->rule->path)
		return missing(r, at, r->rule->at ? "from" : "at");
	return check_place(r, at);
}

static int read_tmpfs(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"at", read_at}, {"size", read_size},
		{"access", read_mount_access}, {"why", read_why}, {"name", read_name},
		{NULL, NULL}};

	if (new_rule(r, RULE_TMPFS, ACCESS_WRITE, at) < 0 || read_object(r, value, at, members) < 0)
		return -1;
	return r->rule->at ? check_place(r, at) : missing(r, at, "at");
}

static int read_file(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"at", read_at}, {"text", read_file_text},
		{"why", read_why}, {"name", read_name}, {NULL, NULL}};

	if (new_rule(r, RULE_FILE, ACCESS_READ, at) < 0 || read_object(r, value, at, members) < 0)
		return -1;
	if (!r->rule->at || !r->rule->text)
		return missing(r, at, r->rule->at ? "text" : "at");
	return check_place(r, at);
}

static int read_device(struct reader *r, const json *value, const struct json_place *at)
{
	return read_host_rule(r, value, at, RULE_DEVICE, ACCESS_WRITE, object_members);
}

/* filesystem */

static int read_root(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"deny", "read", NULL});

	if (word < 0 || new_rule(r, RULE_ROOT, word ? ACCESS_READ : ACCESS_DENY, at) < 0)
		return -1;
	r->rule->path = xstrdup("/");
	return 0;
}

static int read_reads(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_read_rule);
}

static int read_writes(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_write_rule);
}

static int read_denies(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_deny_rule);
}

static int read_connects(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_connect_rule);
}

static int read_mounts(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_mount);
}

static int read_tmpfses(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_tmpfs);
}

static int read_files(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_file);
}

static int read_devices(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_device);
}

static int read_proc(struct reader *r, const json *value, const struct json_place *at)
{
	static const char *const words[] = {[PROC_AUTO] = "auto",
		[PROC_FRESH] = "fresh",
		[PROC_BIND] = "bind",
		[PROC_NONE] = "none",
		NULL};
	int word = read_word(r, value, at, words);

	if (word < 0 || new_rule(r, RULE_PROC, ACCESS_WRITE, at) < 0)
		return -1;
	r->rule->at = xstrdup("/proc");
	r->layer->policy.proc = (enum proc_mode)word;
	return set(r, SET_PROC, at);
}

static int read_dev(struct reader *r, const json *value, const struct json_place *at)
{
	static const char *const words[] = {[DEV_MINIMAL] = "minimal", [DEV_NONE] = "none", NULL};
	int word = read_word(r, value, at, words);

	if (word < 0 || new_rule(r, RULE_DEV, ACCESS_WRITE, at) < 0)
		return -1;
	r->rule->at = xstrdup("/dev");
	r->layer->policy.dev = (enum dev_mode)word;
	return set(r, SET_DEV, at);
}

static int read_verify(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_bool(r, value, at, &r->layer->policy.verify) < 0)
		return -1;
	return set(r, SET_VERIFY, at);
}

static int read_propagation(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"private", "slave", NULL});

	if (word < 0)
		return -1;
	r->layer->policy.propagation = word ? PROPAGATION_SLAVE : PROPAGATION_PRIVATE;
	return set(r, SET_PROPAGATION, at);
}

static int read_filesystem(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"root", read_root}, {"read", read_reads},
		{"write", read_writes}, {"deny", read_denies}, {"connect", read_connects},
		{"mounts", read_mounts}, {"tmpfs", read_tmpfses}, {"files", read_files},
		{"dev", read_dev}, {"devices", read_devices}, {"proc", read_proc},
		{"propagation", read_propagation}, {"verify", read_verify}, {NULL, NULL}};

	return read_object(r, value, at, members);
}

/* The other keys */

static int read_version(struct reader *r, const json *value, const struct json_place *at)
{
	if (expect(r, value, JSON_NUMBER, at) < 0)
		return -1;
	if (json_number(value) == 1)
		return 0;
	fail(r, at, "this sbx reads policies of version 1");
	return err_hint(r->err, "write \"sbx\": 1, or use an sbx that knows the other version");
}

static int read_schema(struct reader *r, const json *value, const struct json_place *at)
{
	return expect(r, value, JSON_STRING, at);
}

static int read_description(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_text(r, value, at, &r->layer->policy.description) < 0)
		return -1;
	return set(r, SET_DESCRIPTION, at);
}

/* A string that is not empty, appended to list. */
static int push_text(
	struct reader *r, const json *value, const struct json_place *at, struct strvec *list)
{
	if (expect(r, value, JSON_STRING, at) < 0)
		return -1;
	if (!*json_string(value))
		return fail(r, at, "the string is empty");
	strvec_push(list, json_string(value));
	return 0;
}

static int read_extended(struct reader *r, const json *value, const struct json_place *at)
{
	return push_text(r, value, at, &r->layer->extends);
}

static int read_extends(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_extended);
}

static int read_off_name(struct reader *r, const json *value, const struct json_place *at)
{
	return push_text(r, value, at, &r->layer->off);
}

static int read_off(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_off_name);
}

static int read_final_word(struct reader *r, const json *value, const struct json_place *at)
{
	static const enum setting settings[] = {
		SET_NETWORK, SET_LIMITS, SET_USER, SET_VERIFY, SET_PROPAGATION, SET_SECCOMP};
	static const char *const names[] = {
		"network", "limits", "user", "verify", "propagation", "seccomp", NULL};
	int word = read_word(r, value, at, names);

	if (word < 0)
		return -1;
	free(r->layer->final[settings[word]]);
	r->layer->final[settings[word]] = where_text(r, at);
	return 0;
}

static int read_final(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_final_word);
}

static int read_network(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"none", "host", NULL});

	if (word < 0)
		return -1;
	r->layer->policy.network = word ? NETWORK_HOST : NETWORK_NONE;
	return set(r, SET_NETWORK, at);
}

static int read_hostname(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_text(r, value, at, &r->layer->policy.hostname) < 0)
		return -1;
	if (value_hostname(r->layer->policy.hostname))
		return set(r, SET_HOSTNAME, at);
	fail(r, at, "\"%s\" is no host name", r->layer->policy.hostname);
	return err_hint(r->err, "letters, digits, \"-\" and \".\", 64 at most");
}

static int read_user(struct reader *r, const json *value, const struct json_place *at)
{
	struct policy_user *user = &r->layer->policy.user;
	const char *text;

	if (expect(r, value, JSON_STRING, at) < 0)
		return -1;
	text = json_string(value);
	*user = (struct policy_user){.kind = strcmp(text, "owner") == 0 ? USER_OWNER : USER_CALLER};
	if (user->kind == USER_CALLER && strcmp(text, "caller") != 0 && !value_user(text, user)) {
		fail(r, at,
			"must be \"caller\", \"owner\", or UID or UID:GID in numbers, not \"%s\"",
			text);
		return err_hint(r->err,
			"names are not looked up: write what id -u and id -g say, each from 0 to "
			"4294967294");
	}
	user->where = where_text(r, at);
	return set(r, SET_USER, at);
}

static int read_identity(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {
		{"user", read_user}, {"hostname", read_hostname}, {NULL, NULL}};

	return read_object(r, value, at, members);
}

static int read_env_base(struct reader *r, const json *value, const struct json_place *at)
{
	static const char *const words[] = {
		[ENV_MINIMAL] = "minimal", [ENV_NONE] = "none", [ENV_FILE] = "file", NULL};
	int word = read_word(r, value, at, words);

	if (word < 0)
		return -1;
	r->layer->policy.env_base = (enum env_base)word;
	return set(r, SET_ENV_BASE, at);
}

static int read_env_file(struct reader *r, const json *value, const struct json_place *at)
{
	struct path_value path;

	if (read_path_value(r, value, at, false, &path) < 0)
		return -1;
	free(path.spelled);
	r->layer->policy.env_file = path.path;
	if (!path.relative)
		return set(r, SET_ENV_FILE, at);
	fail(r, at, "\"%s\" depends on where the command is started", json_string(value));
	return err_hint(
		r->err, "write \"@policy/...\" for a file next to this policy, or a whole path");
}

static int read_inherited(struct reader *r, const json *value, const struct json_place *at)
{
	const char *text, *star;

	if (push_text(r, value, at, &r->layer->policy.env_inherit) < 0)
		return -1;
	text = json_string(value);
	star = strchr(text, '*');
	if (!strchr(text, '=') && star != text && (!star || !star[1]))
		return 0;
	fail(r, at, "\"%s\" names no variable to inherit", text);
	return err_hint(r->err, "write a name (\"LANG\") or the beginning of names (\"LC_*\")");
}

static int read_inherit(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_inherited);
}

static int check_variable(struct reader *r, const char *name, const struct json_place *at)
{
	if (value_variable(name, strlen(name)))
		return 0;
	fail(r, at, "\"%s\" is no name of a variable", name);
	return err_hint(r->err, "letters, digits and \"_\", no digit first");
}

/* An object whose keys name variables; read gets the value of each. */
static int read_variables(
	struct reader *r, const json *value, const struct json_place *at, read_fn *read)
{
	struct json_place here = {at, NULL, 0};

	if (expect(r, value, JSON_OBJECT, at) < 0)
		return -1;
	for (const json *v = json_first(value); v; v = json_next(v)) {
		here.key = json_key(v);
		if (check_variable(r, here.key, &here) < 0 || read(r, v, &here) < 0)
			return -1;
	}
	return 0;
}

static int read_env_value(struct reader *r, const json *value, const struct json_place *at)
{
	struct policy *p = &r->layer->policy;

	if (expect(r, value, JSON_STRING, at) < 0)
		return -1;
	p->env_set = xreallocarray(p->env_set, p->n_env_set + 1, sizeof(*p->env_set));
	p->env_set[p->n_env_set++] =
		(struct env_set){xstrdup(at->key), xstrdup(json_string(value))};
	return 0;
}

static int read_env_set(struct reader *r, const json *value, const struct json_place *at)
{
	return read_variables(r, value, at, read_env_value);
}

static int read_secret(struct reader *r, const json *value, const struct json_place *at)
{
	struct policy *p = &r->layer->policy;
	const char *name;

	if (expect(r, value, JSON_STRING, at) < 0 || check_variable(r, json_string(value), at) < 0)
		return -1;
	name = json_string(value);
	if (strcmp(name, "PATH") == 0) {
		fail(r, at, "PATH cannot be a secret: messages say where a command was looked for");
		return err_hint(r->err, "use \"inherit\" (--inherit PATH)");
	}
	p->env_secrets =
		xreallocarray(p->env_secrets, p->n_env_secrets + 1, sizeof(*p->env_secrets));
	p->env_secrets[p->n_env_secrets++] = (struct env_secret){xstrdup(name), where_text(r, at)};
	return 0;
}

static int read_secrets(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_secret);
}

/* A path that can stand in a list with colons; of the variable that was read last. */
static int read_prepended(struct reader *r, const json *value, const struct json_place *at)
{
	const struct policy *p = &r->layer->policy;
	char *path;

	if (read_sandbox_path(r, value, at, &path) < 0)
		return -1;
	strvec_take(&p->env_prepend[p->n_env_prepend - 1].dirs, path);
	if (!strchr(path, ':'))
		return 0;
	fail(r, at, "%s has a colon, which would make two of it", path);
	return err_hint(r->err, "name a path without a colon");
}

static int read_prepended_list(struct reader *r, const json *value, const struct json_place *at)
{
	struct policy *p = &r->layer->policy;

	p->env_prepend =
		xreallocarray(p->env_prepend, p->n_env_prepend + 1, sizeof(*p->env_prepend));
	p->env_prepend[p->n_env_prepend++] = (struct env_prepend){.name = xstrdup(at->key)};
	return read_list(r, value, at, read_prepended);
}

static int read_prepend(struct reader *r, const json *value, const struct json_place *at)
{
	return read_variables(r, value, at, read_prepended_list);
}

static int read_environment(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"base", read_env_base}, {"file", read_env_file},
		{"inherit", read_inherit}, {"set", read_env_set}, {"secrets", read_secrets},
		{"prepend", read_prepend}, {NULL, NULL}};
	const struct policy *p = &r->layer->policy;

	if (read_object(r, value, at, members) < 0)
		return -1;
	if ((p->env_base == ENV_FILE) == (p->env_file != NULL))
		return 0;
	fail(r, at,
		p->env_file ? "\"file\" without \"base\": \"file\""
			    : "\"base\" is \"file\", and \"file\" names none");
	return err_hint(r->err, "write {\"base\": \"file\", \"file\": \"/path\"}");
}

static int read_cwd(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_sandbox_path(r, value, at, &r->layer->policy.cwd) < 0)
		return -1;
	return set(r, SET_CWD, at);
}

static int read_nested(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_bool(r, value, at, &r->layer->policy.nested_userns) < 0)
		return -1;
	return set(r, SET_NESTED_USERNS, at);
}

static int read_capability(struct reader *r, const json *value, const struct json_place *at)
{
	const char *near;
	size_t n;
	const char *const *names = value_capabilities(&n);

	if (push_text(r, value, at, &r->layer->policy.capabilities) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], json_string(value)) == 0)
			return 0;
	fail(r, at, "\"%s\" is no capability", json_string(value));
	near = nearest(json_string(value), names, n);
	return err_hint(r->err,
		near ? "did you mean \"%s\"?" : "they are named as in capabilities(7): \"%s\"",
		near ? near : "CAP_NET_RAW");
}

static int read_capabilities(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_list(r, value, at, read_capability) < 0)
		return -1;
	return r->layer->policy.capabilities.n ? set(r, SET_CAPABILITIES, at) : 0;
}

static int read_stdio(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"pipe", "direct", NULL});

	if (word < 0)
		return -1;
	r->layer->policy.stdio = word ? STDIO_DIRECT : STDIO_PIPE;
	return set(r, SET_STDIO, at);
}

static int read_process(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"cwd", read_cwd}, {"nested_userns", read_nested},
		{"capabilities", read_capabilities}, {"stdio", read_stdio}, {NULL, NULL}};

	return read_object(r, value, at, members);
}

static int read_time(
	struct reader *r, const json *value, const struct json_place *at, enum setting setting)
{
	uint64_t *ms = limit_value(&r->layer->policy.limits, setting);
	bool good;

	if (json_type(value) == JSON_NUMBER) {
		double seconds = json_number(value);

		good = seconds >= 0.001 && seconds <= VALUE_MAX_SECONDS;
		*ms = good ? (uint64_t)(seconds * 1000 + 0.5) : 0;
	} else {
		if (expect(r, value, JSON_STRING, at) < 0)
			return -1;
		good = value_duration(json_string(value), ms);
	}
	if (good)
		return set(r, setting, at);
	fail(r, at, "no duration");
	return err_hint(
		r->err, "write \"120s\", \"2m\", \"1h\", \"500ms\" or a number of seconds above 0");
}

static int read_wall(struct reader *r, const json *value, const struct json_place *at)
{
	return read_time(r, value, at, SET_WALL);
}

static int read_cpu(struct reader *r, const json *value, const struct json_place *at)
{
	return read_time(r, value, at, SET_CPU);
}

/* What nobody could mean as a limit. */
#define MAX_BYTES (1ULL << 50)

static int read_bytes_limit(
	struct reader *r, const json *value, const struct json_place *at, enum setting setting)
{
	uint64_t *bytes = limit_value(&r->layer->policy.limits, setting);

	if (read_bytes(r, value, at, bytes) < 0)
		return -1;
	if (*bytes <= MAX_BYTES)
		return set(r, setting, at);
	fail(r, at, "more than 1024T limits nothing");
	return err_hint(r->err, "leave it out, or write the size that is meant, such as \"1G\"");
}

static int read_memory(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_bytes_limit(r, value, at, SET_MEMORY) < 0)
		return -1;
	if (r->layer->policy.limits.memory >= LIMIT_MIN_MEMORY)
		return 0;
	fail(r, at, "too little memory for bwrap itself");
	return err_hint(r->err, "write \"1M\" at least: what bwrap needs and what the sandbox's "
				"/tmp holds counts too");
}

static int read_count(struct reader *r, const json *value, const struct json_place *at,
	enum setting setting, uint64_t least, uint64_t most)
{
	uint64_t *count = limit_value(&r->layer->policy.limits, setting);
	int good = read_whole(r, value, at, value_count, count);

	if (good < 0)
		return -1;
	if (good && *count >= least && *count <= most)
		return set(r, setting, at);
	return fail(r, at, "must be a whole number from %" PRIu64 " to %" PRIu64, least, most);
}

static int read_processes(struct reader *r, const json *value, const struct json_place *at)
{
	/* PID_MAX_LIMIT of a 64-bit kernel. */
	if (read_count(r, value, at, SET_PROCESSES, LIMIT_MIN_PROCESSES, 1 << 22) == 0)
		return 0;
	return err_hint(r->err,
		"the three around the command count (sbx's and bwrap's), and so does every thread");
}

static int read_open_files(struct reader *r, const json *value, const struct json_place *at)
{
	/* Above what any fs.nr_open allows in practice (systemd's "infinity" is 2^30 - 8). */
	if (read_count(r, value, at, SET_OPEN_FILES, 4, 1 << 30) == 0)
		return 0;
	return err_hint(r->err,
		"it is for each process: the standard three, and one to load the program by");
}

static int read_file_size(struct reader *r, const json *value, const struct json_place *at)
{
	return read_bytes_limit(r, value, at, SET_FILE_SIZE);
}

static int read_core(struct reader *r, const json *value, const struct json_place *at)
{
	if (json_type(value) == JSON_NUMBER && json_number(value) == 0)
		return set(r, SET_CORE, at);
	return read_bytes_limit(r, value, at, SET_CORE);
}

static int read_profile(struct reader *r, const json *value, const struct json_place *at)
{
	int word =
		read_word(r, value, at, (const char *const[]){"none", "default", "strict", NULL});

	if (word < 0)
		return -1;
	r->layer->policy.seccomp.profile = word + PROFILE_NONE;
	return set(r, SET_SECCOMP, at);
}

static int read_allowed_call(struct reader *r, const json *value, const struct json_place *at)
{
	struct strvec *allow = &r->layer->policy.seccomp.allow;

	if (push_text(r, value, at, allow) < 0)
		return -1;
	strvec_take(allow, where_text(r, at));
	return 0;
}

static int read_allowed_calls(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_list(r, value, at, read_allowed_call) < 0)
		return -1;
	return set(r, SET_SECCOMP_ALLOW, at);
}

static int read_denied_call(struct reader *r, const json *value, const struct json_place *at)
{
	struct strvec *deny = &r->layer->policy.seccomp.deny;

	if (push_text(r, value, at, deny) < 0)
		return -1;
	strvec_take(deny, where_text(r, at));
	return 0;
}

static int read_denied_calls(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_denied_call);
}

static int read_seccomp_violation(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"errno", "kill", NULL});

	if (word < 0)
		return -1;
	r->layer->policy.seccomp.kill = word;
	return set(r, SET_SECCOMP_VIOLATION, at);
}

static int read_seccomp(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"profile", read_profile},
		{"allow", read_allowed_calls}, {"deny", read_denied_calls},
		{"violation", read_seccomp_violation}, {NULL, NULL}};

	return json_type(value) == JSON_OBJECT ? read_object(r, value, at, members)
					       : read_profile(r, value, at);
}

static int read_output_bytes(struct reader *r, const json *value, const struct json_place *at)
{
	return read_bytes_limit(r, value, at, SET_OUTPUT);
}

static int read_output_then(struct reader *r, const json *value, const struct json_place *at)
{
	int word = read_word(r, value, at, (const char *const[]){"drop", "kill", NULL});

	if (word < 0)
		return -1;
	r->layer->policy.limits.output_kill = word;
	return set(r, SET_OUTPUT_THEN, at);
}

static int read_output(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {
		{"bytes", read_output_bytes}, {"then", read_output_then}, {NULL, NULL}};

	if (json_type(value) != JSON_OBJECT)
		return read_output_bytes(r, value, at);
	if (read_object(r, value, at, members) < 0)
		return -1;
	return r->layer->where[SET_OUTPUT] ? 0 : missing(r, at, "bytes");
}

static int read_limits(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"wall", read_wall}, {"cpu", read_cpu},
		{"memory", read_memory}, {"processes", read_processes}, {"output", read_output},
		{"file_size", read_file_size}, {"open_files", read_open_files}, {"core", read_core},
		{NULL, NULL}};

	return read_object(r, value, at, members);
}

static int read_manage(struct reader *r, const json *value, const struct json_place *at)
{
	if (read_bool(r, value, at, &r->layer->policy.cgroup_manage) < 0)
		return -1;
	return set(r, SET_CGROUP_MANAGE, at);
}

static int read_cgroup(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"manage", read_manage}, {NULL, NULL}};

	return read_object(r, value, at, members);
}

static int read_scratch(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {{"at", read_at}, {"size", read_size},
		{"why", read_why}, {"name", read_name}, {NULL, NULL}};

	if (new_rule(r, RULE_TMPFS, ACCESS_WRITE, at) < 0)
		return -1;
	r->rule->scratch = true;
	if (read_object(r, value, at, members) < 0)
		return -1;
	if (!r->rule->at)
		return missing(r, at, "at");
	return check_place(r, at) < 0 ? -1 : set(r, SET_SCRATCH, at);
}

static int read_image_name(
	struct reader *r, const json *value, const struct json_place *at, struct image_name *name)
{
	if (read_text(r, value, at, &name->wanted) < 0)
		return -1;
	name->where = where_text(r, at);
	return *name->wanted ? 0 : fail(r, at, "the string is empty");
}

static int read_image_build(struct reader *r, const json *value, const struct json_place *at)
{
	return read_image_name(r, value, at, &r->layer->policy.image_build);
}

static int read_image_base(struct reader *r, const json *value, const struct json_place *at)
{
	return read_image_name(r, value, at, &r->layer->policy.image_base);
}

static int read_image(struct reader *r, const json *value, const struct json_place *at)
{
	static const struct member members[] = {
		{"build", read_image_build}, {"base", read_image_base}, {NULL, NULL}};

	return read_object(r, value, at, members);
}

const char *const *policy_require_names(void)
{
	static const char *const names[] = {"protect", "fresh-proc", "network", "wall", "cpu",
		"memory", "processes", "output", "file_size", "open_files", "nested_userns", "user",
		"seccomp", NULL};

	return names;
}

static int read_required(struct reader *r, const json *value, const struct json_place *at)
{
	const char *const *names = policy_require_names();
	int word = read_word(r, value, at, names);

	if (word < 0)
		return -1;
	strvec_push(&r->layer->policy.require, names[word]);
	strvec_take(&r->layer->policy.require, where_text(r, at));
	return 0;
}

static int read_require(struct reader *r, const json *value, const struct json_place *at)
{
	return read_list(r, value, at, read_required);
}

int layer_read(struct layer *layer, const json *document, const struct layer_source *source,
	const struct policy_context *context, struct err *err)
{
	static const struct member members[] = {{"sbx", read_version}, {"$schema", read_schema},
		{"description", read_description}, {"extends", read_extends}, {"off", read_off},
		{"final", read_final}, {"filesystem", read_filesystem}, {"scratch", read_scratch},
		{"network", read_network}, {"identity", read_identity},
		{"environment", read_environment}, {"process", read_process},
		{"seccomp", read_seccomp}, {"limits", read_limits}, {"cgroup", read_cgroup},
		{"image", read_image}, {"require", read_require}, {NULL, NULL}};
	struct reader r = {layer, source, context, NULL, err};

	layer->file = source->file;
	if (read_object(&r, document, NULL, members) < 0)
		return -1;
	if (json_get(document, "sbx"))
		return 0;
	fail(&r, NULL, "the key \"sbx\" is missing");
	return err_hint(err, "begin the policy with \"sbx\": 1");
}
