#include "lib/tap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int ran, failed;

__attribute__((format(printf, 2, 0))) static bool report(bool held, const char *fmt, va_list ap)
{
	if (!held)
		failed++;
	printf("%sok %d - ", held ? "" : "not ", ++ran);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
	return held;
}

bool ok(bool held, const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	report(held, name, ap);
	va_end(ap);
	return held;
}

/* A text of several lines as TAP comments. */
static void comment(const char *label, const char *text)
{
	printf("# %s ", label);
	for (const char *p = text ? text : "(null)"; *p; p++) {
		putchar(*p);
		if (*p == '\n')
			printf("# ");
	}
	putchar('\n');
}

bool is_str(const char *got, const char *want, const char *name, ...)
{
	bool same = got && want ? strcmp(got, want) == 0 : got == want;
	va_list ap;

	va_start(ap, name);
	report(same, name, ap);
	va_end(ap);
	if (!same) {
		comment("got: ", got);
		comment("want:", want);
	}
	return same;
}

bool is_int(long long got, long long want, const char *name, ...)
{
	va_list ap;

	va_start(ap, name);
	report(got == want, name, ap);
	va_end(ap);
	if (got != want)
		printf("# got: %lld\n# want: %lld\n", got, want);
	return got == want;
}

void diag(const char *fmt, ...)
{
	va_list ap;

	printf("# ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

void skip(const char *reason, const char *name)
{
	printf("ok %d - %s # SKIP %s\n", ++ran, name, reason);
}

int done_testing(void)
{
	printf("1..%d\n", ran);
	return failed != 0;
}
