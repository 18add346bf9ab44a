/*
 * A growing array of owned strings that is always NULL-terminated, so that v.v can be handed to
 * execve. { 0 } is an empty one, except that v.v is then NULL: strvec_argv never returns NULL.
 */
#ifndef SBX_BASE_STRVEC_H
#define SBX_BASE_STRVEC_H

#include <stdbool.h>
#include <stddef.h>

struct strvec {
	char **v;
	size_t n;
	size_t alloc;
};

/* Appends a copy, a formatted string, several copies (end with NULL), or s itself (ownership
 * moves). */
void strvec_push(struct strvec *v, const char *s);
void strvec_pushf(struct strvec *v, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void strvec_pushl(struct strvec *v, ...) __attribute__((sentinel));
void strvec_take(struct strvec *v, char *s);
/* The strings, NULL-terminated; owned by v. */
char **strvec_argv(struct strvec *v);
bool strvec_has(const struct strvec *v, const char *s);
/* Sorts by byte value. */
void strvec_sort(struct strvec *v);
/* strvec_has for what is sorted so. */
bool strvec_has_sorted(const struct strvec *v, const char *s);
/* All of them in one string, with separator between; free with free(). */
char *strvec_join(const struct strvec *v, const char *separator);
/* Frees everything; v is empty afterwards and can be used again. */
void strvec_clear(struct strvec *v);

#define CLEANUP_STRVEC __attribute__((cleanup(strvec_clear)))

#endif
