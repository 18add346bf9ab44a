/*
 * TAP for unit tests: ok() and its kin print a line each, done_testing() the plan. main returns
 * done_testing().
 */
#ifndef SBX_TESTS_TAP_H
#define SBX_TESTS_TAP_H

#include <stdbool.h>

/* Each returns whether it held. name says what is promised. */
bool ok(bool held, const char *name, ...) __attribute__((format(printf, 2, 3)));
/* Compares strings (NULL allowed) and prints both when they differ. */
bool is_str(const char *got, const char *want, const char *name, ...)
	__attribute__((format(printf, 3, 4)));
bool is_int(long long got, long long want, const char *name, ...)
	__attribute__((format(printf, 3, 4)));
/* A line of explanation. */
void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A test that cannot run here, and why. */
void skip(const char *reason, const char *name);
/* Prints the plan; 0 when everything held, else 1. */
int done_testing(void);

#endif
