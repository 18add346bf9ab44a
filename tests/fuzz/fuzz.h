/*
 * What the fuzzers share. Each is a file with LLVMFuzzerTestOneInput: any bytes go in, and whatever
 * is promised of them is checked. libFuzzer drives them (make fuzz); replay.c feeds them the files
 * of corpus/NAME (make check).
 */
#ifndef SBX_TESTS_FUZZ_H
#define SBX_TESTS_FUZZ_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A promise that was not kept ends the fuzzer, which keeps the input. */
#define PROMISE(held, ...)                                                                         \
	do {                                                                                       \
		if (!(held)) {                                                                     \
			fprintf(stderr, "not held: %s: ", #held);                                  \
			fprintf(stderr, __VA_ARGS__);                                              \
			putc('\n', stderr);                                                        \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

/* The next part of an input, up to a line "==" or its end, with a NUL after it; free with free(). */
static inline char *next_part(const uint8_t **data, size_t *size, size_t *len)
{
	static const char mark[] = "\n==\n";
	const uint8_t *end = memmem(*data, *size, mark, sizeof(mark) - 1);
	char *part;

	*len = end ? (size_t)(end - *data) : *size;
	part = xstrndup("", 0);
	part = xreallocarray(part, *len + 1, 1);
	if (*len)
		memcpy(part, *data, *len);
	part[*len] = '\0';
	*size -= *len + (end ? sizeof(mark) - 1 : 0);
	*data = end ? end + sizeof(mark) - 1 : *data + *len;
	return part;
}

#endif
