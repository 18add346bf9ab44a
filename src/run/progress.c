#include "run/progress.h"

#include <inttypes.h>
#include <stdio.h>

/* To the first column, and everything after it erased (ECMA-48: EL). */
#define ANEW "\r\033[K"

void progress_show(int64_t elapsed_ms, int64_t memory, int64_t processes)
{
	fprintf(stderr, ANEW "running for %" PRId64 " s", elapsed_ms / 1000);
	if (memory >= 0)
		fprintf(stderr, ", %" PRId64 " MiB", memory >> 20);
	if (processes >= 0)
		fprintf(stderr, ", %" PRId64 " processes", processes);
	fflush(stderr);
}

void progress_clear(void)
{
	fputs(ANEW, stderr);
	fflush(stderr);
}
