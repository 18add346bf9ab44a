#include "base/err.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Too long a text, with a long path in it, loses its middle: what was wanted and what happened
 * stand at the ends. */
static void fill(char *out, size_t size, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));

static void fill(char *out, size_t size, const char *fmt, va_list ap)
{
	CLEANUP_FREE char *text = xvasprintf(fmt, ap);
	size_t len = strlen(text), half = size / 2;

	if (len < size)
		memcpy(out, text, len + 1);
	else
		snprintf(out, size, "%.*s...%s", (int)half, text, text + len - (size - half - 4));
}

int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	err->kind = kind;
	err->hint[0] = err->at[0] = '\0';
	va_start(ap, fmt);
	fill(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	return -1;
}

int err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -1;
}

int err_at(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fill(err->at, sizeof(err->at), fmt, ap);
	va_end(ap);
	return -1;
}

const char *err_kind_name(enum err_kind kind)
{
	static const char *const names[] = {
		[ERR_NONE] = "none",
		[ERR_USAGE] = "usage",
		[ERR_POLICY] = "policy",
		[ERR_PLAN] = "plan",
		[ERR_PROBE] = "probe",
		[ERR_SETUP] = "setup",
		[ERR_NOT_FOUND] = "not-found",
		[ERR_NOT_EXECUTABLE] = "not-executable",
		[ERR_SYSTEM] = "system",
	};

	return names[kind];
}

const char *err_hint_text(const struct err *err)
{
	static const char *const general[] = {
		[ERR_NONE] = "",
		[ERR_USAGE] = "--help lists the options",
		[ERR_POLICY] = "sbx-policy(5) describes the language",
		[ERR_PLAN] = "sbx-policy(5) says what rules may ask for",
		[ERR_PROBE] = "name a bwrap that can be used with --bwrap PATH",
		[ERR_SETUP] = "nothing was run; sbx-exec(1) says what a run needs",
		[ERR_NOT_FOUND] = "sbx-plan --print shows what the sandbox has",
		[ERR_NOT_EXECUTABLE] = "sbx-plan --print shows what the sandbox has",
		[ERR_SYSTEM] = "the system refused: see its limits and its log",
	};

	return *err->hint ? err->hint : general[err->kind];
}
