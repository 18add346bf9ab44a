/*
 * The small languages inside a policy's strings: paths, sizes, durations, names. Text alone is
 * looked at.
 */
#ifndef SBX_POLICY_VALUE_H
#define SBX_POLICY_VALUE_H

#include "base/err.h"
#include "policy/policy.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A path as written and what it means. The strings are owned by whoever asked. */
struct path_value {
	char *path;    /* normal; a pattern with its backslashes, a literal path without */
	char *spelled; /* expanded, not normalised, when it holds ".."; else NULL */
	bool relative; /* written as "." or "./..." */
	bool pattern;  /* some "*", "?" or "[" has no backslash before it */
};

/* Expands "/...", "~", "~/...", ".", "./..." and "@policy/..." (dir; NULL = there is no such
 * folder). Anything else is an error: message and hint are set, at is the caller's to set. */
int value_path(struct path_value *out, const char *text, const char *dir,
	const struct policy_context *context, struct err *err);

/* Patterns. A backslash takes the meaning of the byte after it away; what the base of a path
 * ("~", "./" ...) stands for is escaped in a pattern, and so always literal. */

/* Whether the len bytes at text hold a "*", "?" or "[" without a backslash before it. */
bool value_is_pattern(const char *text, size_t len);
/* The text as a pattern that matches just it, and a literal part of a pattern (len bytes) as the
 * name it means; free with free(). */
char *value_escape(const char *text);
char *value_unescape(const char *text, size_t len);
/* The directory below which a normal pattern matches: its components before the first that is a
 * pattern, as a normal path; free with free(). */
char *value_pattern_base(const char *pattern);
/* Says that a pattern was written where one path is wanted, and how to escape it. */
int value_refuse_pattern(const char *text, struct err *err);

/* "64M", "512K", "1G" (powers of 1024) or "4096" (bytes). False: none, zero, or 2^63 and more. */
bool value_size(const char *text, uint64_t *bytes);
/* "64": digits alone. False: none, zero, or 2^63 and more. */
bool value_count(const char *text, uint64_t *number);
/* "500ms", "120s", "2m", "1h" or "120" (seconds). False: none, zero, or more than
 * VALUE_MAX_SECONDS. */
bool value_duration(const char *text, uint64_t *ms);
#define VALUE_MAX_SECONDS 2147483647 /* 68 years */

/* Labels of letters, digits and inner hyphens with dots between, 64 bytes at most (the kernel's
 * limit for sethostname). */
bool value_hostname(const char *text);
/* "UID" or "UID:GID", decimal, each below 2^32 - 1. */
bool value_user(const char *text, struct policy_user *user);
/* A name that a shell takes as a variable: letters, digits and "_", no digit first. */
bool value_variable(const char *text, size_t len);
/* The value of the first variable of that name in env (NAME=VALUE each, NULL-terminated), or NULL. */
const char *value_in(char *const *env, const char *name);
/* The kernel's capabilities; *n is their number. */
const char *const *value_capabilities(size_t *n);

#endif
