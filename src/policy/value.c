#include "policy/value.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/strvec.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool begins(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

static bool has_dotdot(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && memcmp(path, "..", 2) == 0)
			return true;
		path += len + (path[len] == '/');
	}
	return false;
}

static int refuse_form(const char *text, struct err *err)
{
	if (!*text)
		return err_set(err, ERR_POLICY, "the path is empty");
	err_set(err, ERR_POLICY,
		"\"%s\" is no path of a policy: they begin with \"/\", \"~/\", \"./\" or "
		"\"@policy/\"",
		text);
	if (*text == '~')
		return err_hint(err, "write the other user's home in full, as in \"/home%s%s\"",
			text[1] == '/' ? "" : "/", text + 1);
	if (*text == '@')
		return err_hint(err,
			"write \"@policy/...\" for the policy's folder, \"./%s\" for a file "
			"of this name",
			text);
	return err_hint(err,
		"write \"./%s\" for a path in the working directory, \"@policy/%s\" for one in "
		"the policy's folder, or the whole path",
		text, text);
}

bool value_is_pattern(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (strchr("*?[", text[i]))
			return true;
		i += text[i] == '\\';
	}
	return false;
}

char *value_escape(const char *text)
{
	char *out = xcalloc(2 * strlen(text) + 1, 1), *p = out;

	for (; *text; *p++ = *text++)
		if (strchr("*?[]\\", *text))
			*p++ = '\\';
	return out;
}

char *value_unescape(const char *text, size_t len)
{
	char *out = xcalloc(len + 1, 1), *p = out;

	for (size_t i = 0; i < len; i++) {
		i += text[i] == '\\' && i + 1 < len;
		*p++ = text[i];
	}
	return out;
}

char *value_pattern_base(const char *pattern)
{
	size_t end = 0, len;

	while (pattern[end] &&
		!value_is_pattern(pattern + end, 1 + strcspn(pattern + end + 1, "/")))
		end += 1 + strcspn(pattern + end + 1, "/");
	len = end ? end : 1;
	return value_unescape(pattern, len);
}

int value_refuse_pattern(const char *text, struct err *err)
{
	CLEANUP_FREE char *escaped = value_escape(text);

	err_set(err, ERR_POLICY, "\"%s\" is a pattern, and one path is wanted here", text);
	return err_hint(err,
		"patterns are for read, write and deny; a name that holds *, ? or [ is written "
		"with a"
		" backslash before each: %s (in JSON \"\\\\\" is one backslash)",
		escaped);
}

/* The normal form of a pattern: no empty or "." components, literal ones spelled in one way, and
 * "**" but once in a row. */
static char *normal_pattern(const char *text)
{
	CLEANUP_STRVEC struct strvec parts = {0};
	char *out, *p;

	for (text += strspn(text, "/"); *text; text += strspn(text, "/")) {
		size_t len = strcspn(text, "/");
		CLEANUP_FREE char *name = value_unescape(text, len);
		char *part = value_is_pattern(text, len) ? xstrndup(text, len) : value_escape(name);

		text += len;
		if (strcmp(name, ".") == 0 || (strcmp(part, "**") == 0 && parts.n &&
						      strcmp(parts.v[parts.n - 1], "**") == 0))
			free(part);
		else
			strvec_take(&parts, part);
	}
	p = out = xcalloc(1, 1);
	for (size_t i = 0; i < parts.n; i++, p = out) {
		out = xasprintf("%s/%s", p, parts.v[i]);
		free(p);
	}
	return out;
}

/* A backslash takes the meaning of a byte away; a slash, and the end, have none to take. */
static bool ends_in_backslash(const char *text)
{
	for (; *text; text++)
		if (*text == '\\' && (!*++text || *text == '/'))
			return true;
	return false;
}

/* The normal path or pattern of rest, as written, below base, as it is. */
static int set_path(struct path_value *out, const char *base, const char *rest, const char *text,
	struct err *err)
{
	CLEANUP_FREE char *plain = value_unescape(rest, strlen(rest));
	CLEANUP_FREE char *full = xasprintf("%s%s", base, plain);
	CLEANUP_FREE char *literal = value_escape(base);
	CLEANUP_FREE char *pattern = xasprintf("%s%s", literal, rest);

	out->pattern = value_is_pattern(rest, strlen(rest));
	if (ends_in_backslash(rest)) {
		err_set(err, ERR_POLICY, "a name of \"%s\" ends in a backslash", text);
		return err_hint(err, "a backslash takes the meaning of the next character away: "
				     "write two for one"
				     " that is part of a name (in JSON four)");
	}
	if (out->pattern && has_dotdot(plain)) {
		err_set(err, ERR_POLICY, "\"%s\" is a pattern with \"..\"", text);
		return err_hint(err, "write the pattern without \"..\"");
	}
	out->path = out->pattern ? normal_pattern(pattern) : path_normalize(full);
	if (strlen(out->path) >= PATH_MAX) {
		free(out->path);
		out->path = NULL;
		return err_set(err, ERR_POLICY, "the path is longer than %d bytes", PATH_MAX - 1);
	}
	if (!out->pattern && has_dotdot(full))
		out->spelled = xstrdup(full);
	return 0;
}

int value_path(struct path_value *out, const char *text, const char *dir,
	const struct policy_context *context, struct err *err)
{
	const char *base, *rest = text + 1;

	*out = (struct path_value){.relative = strcmp(text, ".") == 0 || begins(text, "./")};
	if (*text == '/') {
		base = "";
		rest = text;
	} else if (strcmp(text, "~") == 0 || begins(text, "~/")) {
		base = context->home;
	} else if (out->relative) {
		base = context->cwd;
	} else if (begins(text, "@policy/")) {
		base = dir;
		rest = text + strlen("@policy");
	} else {
		return refuse_form(text, err);
	}
	if (!base) {
		err_set(err, ERR_POLICY, "\"%s\" means nothing here: %s", text,
			*text == '~'   ? "the home directory is not known"
			: *text == '.' ? "the working directory is not known"
				       : "this policy lies in no folder");
		return err_hint(
			err, *text == '~' ? "set HOME to an absolute path, or write the whole path"
					  : "write the whole path");
	}
	return set_path(out, base, rest, text, err);
}

/* A number and a unit of the table; false when there is none or it exceeds max. */
struct unit {
	const char *name;
	uint64_t factor;
};

static bool scaled(const char *text, const struct unit *units, uint64_t max, uint64_t *out)
{
	uint64_t number = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(*text - '0'), &number))
			return false;
	while (units->name && strcmp(units->name, text) != 0)
		units++;
	return units->name && !__builtin_mul_overflow(number, units->factor, out) && *out &&
	       *out <= max;
}

bool value_size(const char *text, uint64_t *bytes)
{
	static const struct unit units[] = {{"", 1}, {"K", 1 << 10}, {"M", 1 << 20}, {"G", 1 << 30},
		{"T", 1ULL << 40}, {NULL, 0}};

	return scaled(text, units, INT64_MAX, bytes);
}

bool value_count(const char *text, uint64_t *number)
{
	static const struct unit units[] = {{"", 1}, {NULL, 0}};

	return scaled(text, units, INT64_MAX, number);
}

bool value_duration(const char *text, uint64_t *ms)
{
	static const struct unit units[] = {
		{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0}};

	return scaled(text, units, VALUE_MAX_SECONDS * 1000ULL, ms);
}

bool value_hostname(const char *text)
{
	if (strlen(text) > 64)
		return false;
	for (;;) {
		size_t len = strcspn(text, ".");

		if (!len || len > 63 || text[0] == '-' || text[len - 1] == '-')
			return false;
		for (size_t i = 0; i < len; i++)
			if (!isalnum((unsigned char)text[i]) && text[i] != '-')
				return false;
		if (!text[len])
			return true;
		text += len + 1;
	}
}

/* An id at *text, which is moved behind it. (uid_t)-1 means "no change" to the kernel. */
static bool take_id(const char **text, uint32_t *id)
{
	size_t len = strspn(*text, "0123456789");
	uint64_t number = 0;

	if (!len || len > 10 || (len > 1 && **text == '0'))
		return false;
	for (size_t i = 0; i < len; i++)
		number = number * 10 + (uint64_t)((*text)[i] - '0');
	*text += len;
	*id = (uint32_t)number;
	return number < UINT32_MAX;
}

bool value_user(const char *text, struct policy_user *user)
{
	user->kind = USER_NUMBER;
	if (!take_id(&text, &user->uid))
		return false;
	user->has_gid = *text == ':';
	if (!user->has_gid)
		return !*text;
	text++;
	return take_id(&text, &user->gid) && !*text;
}

bool value_variable(const char *text, size_t len)
{
	if (!len || isdigit((unsigned char)*text))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return true;
}

const char *value_in(char *const *env, const char *name)
{
	size_t len = strlen(name);

	for (; *env; env++)
		if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
			return *env + len + 1;
	return NULL;
}

const char *const *value_capabilities(size_t *n)
{
	/* include/uapi/linux/capability.h, in its order; the last came with Linux 5.9. */
	static const char *const names[] = {"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH",
		"CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP",
		"CAP_LINUX_IMMUTABLE", "CAP_NET_BIND_SERVICE", "CAP_NET_BROADCAST", "CAP_NET_ADMIN",
		"CAP_NET_RAW", "CAP_IPC_LOCK", "CAP_IPC_OWNER", "CAP_SYS_MODULE", "CAP_SYS_RAWIO",
		"CAP_SYS_CHROOT", "CAP_SYS_PTRACE", "CAP_SYS_PACCT", "CAP_SYS_ADMIN",
		"CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE", "CAP_SYS_TIME",
		"CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE", "CAP_AUDIT_WRITE",
		"CAP_AUDIT_CONTROL", "CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN",
		"CAP_SYSLOG", "CAP_WAKE_ALARM", "CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ",
		"CAP_PERFMON", "CAP_BPF", "CAP_CHECKPOINT_RESTORE"};

	*n = sizeof(names) / sizeof(*names);
	return names;
}
