#include "policy/value.h"

#include "base/mem.h"
#include "base/path.h"

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

int value_path(struct path_value *out, const char *text, const char *dir,
	const struct policy_context *context, struct err *err)
{
	CLEANUP_FREE char *full = NULL;
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
		rest = strchr(text, '/');
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
	full = xasprintf("%s%s", base, rest);
	out->path = path_normalize(full);
	if (strlen(out->path) >= PATH_MAX) {
		free(out->path);
		out->path = NULL;
		return err_set(err, ERR_POLICY, "the path is longer than %d bytes", PATH_MAX - 1);
	}
	if (has_dotdot(full))
		out->spelled = xstrdup(full);
	return 0;
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

bool value_variable(const char *text, size_t len)
{
	if (!len || isdigit((unsigned char)*text))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return true;
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
