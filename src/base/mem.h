/*
 * Memory that cannot fail: every allocator here returns memory or ends the program (exit 125), the
 * one exit below main. The CLEANUP_ macros free or close a variable when it goes out of scope.
 */
#ifndef SBX_BASE_MEM_H
#define SBX_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

/* Ends the program so: for calls of libraries that fail for want of memory alone. */
void out_of_memory(void) __attribute__((noreturn));
/* Zeroed memory for n objects of the given size; checks the product for overflow. Free with
 * free(). */
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
/* Grows or shrinks an array to n objects of the given size; new memory is not zeroed. */
void *xreallocarray(void *p, size_t n, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xstrndup(const char *s, size_t n) __attribute__((malloc, returns_nonnull));
void *xmemdup(const void *p, size_t n) __attribute__((malloc, returns_nonnull));
/* A formatted string; free with free(). */
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *xvasprintf(const char *fmt, va_list ap)
	__attribute__((format(printf, 1, 0), returns_nonnull));

/* Array growth: makes room for one more element in (array, n, allocated). */
#define GROW(array, n, alloc)                                                                      \
	do {                                                                                       \
		if ((n) == (alloc)) {                                                              \
			(alloc) = (alloc) ? (alloc)*2 : 8;                                         \
			(array) = xreallocarray((array), (alloc), sizeof(*(array)));               \
		}                                                                                  \
	} while (0)

void cleanup_free(void *p);
void cleanup_close(int *fd);

#define CLEANUP_FREE __attribute__((cleanup(cleanup_free)))
#define CLEANUP_CLOSE __attribute__((cleanup(cleanup_close)))

#endif
