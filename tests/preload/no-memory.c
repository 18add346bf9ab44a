/*
 * For LD_PRELOAD: the Nth allocation of a process fails, N being SBX_NO_MEMORY_AT. That it came to this is told by making
 * the file SBX_NO_MEMORY_MARK.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* The C library's own. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static bool fails(void)
{
	static long n;
	const char *at = getenv("SBX_NO_MEMORY_AT"), *mark = getenv("SBX_NO_MEMORY_MARK");

	if (!at || !mark || ++n != strtol(at, NULL, 10))
		return false;
	close(open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	errno = ENOMEM;
	return true;
}

void *malloc(size_t size)
{
	return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	return fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	return fails() ? NULL : __libc_realloc(p, size);
}
