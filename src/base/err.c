#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>

int err_set(struct err *err, enum err_kind kind, const char *fmt, ...)
{
	va_list ap;

	err->kind = kind;
	err->hint[0] = err->at[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(err->message, sizeof(err->message), fmt, ap);
	va_end(ap);
	return -1;
}

int err_hint(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
	va_end(ap);
	return -1;
}

int err_at(struct err *err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->at, sizeof(err->at), fmt, ap);
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
