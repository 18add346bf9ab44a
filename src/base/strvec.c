#include "base/strvec.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

void strvec_take(struct strvec *v, char *s)
{
	if (v->n + 1 >= v->alloc) {
		v->alloc = v->alloc ? v->alloc * 2 : 8;
		v->v = xreallocarray(v->v, v->alloc, sizeof(*v->v));
	}
	v->v[v->n++] = s;
	v->v[v->n] = NULL;
}

void strvec_push(struct strvec *v, const char *s)
{
	strvec_take(v, xstrdup(s));
}

void strvec_pushf(struct strvec *v, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strvec_take(v, xvasprintf(fmt, ap));
	va_end(ap);
}

void strvec_pushl(struct strvec *v, ...)
{
	const char *s;
	va_list ap;

	va_start(ap, v);
	while ((s = va_arg(ap, const char *)))
		strvec_push(v, s);
	va_end(ap);
}

char **strvec_argv(struct strvec *v)
{
	if (!v->v)
		v->v = xcalloc(v->alloc = 1, sizeof(*v->v));
	return v->v;
}

bool strvec_has(const struct strvec *v, const char *s)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->v[i], s) == 0)
			return true;
	return false;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void strvec_sort(struct strvec *v)
{
	if (v->n)
		qsort(v->v, v->n, sizeof(*v->v), compare);
}

bool strvec_has_sorted(const struct strvec *v, const char *s)
{
	return v->n && bsearch(&s, v->v, v->n, sizeof(*v->v), compare);
}

char *strvec_join(const struct strvec *v, const char *separator)
{
	size_t between = strlen(separator), len = 0;
	char *text, *at;

	for (size_t i = 0; i < v->n; i++)
		len += strlen(v->v[i]) + between;
	text = at = xcalloc(len + 1, 1);
	for (size_t i = 0; i < v->n; i++)
		at = stpcpy(stpcpy(at, i ? separator : ""), v->v[i]);
	return text;
}

void strvec_clear(struct strvec *v)
{
	for (size_t i = 0; i < v->n; i++)
		free(v->v[i]);
	free(v->v);
	*v = (struct strvec){0};
}
