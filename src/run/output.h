/*
 * What becomes of the command's standard output and error, and what is kept of them.
 */
#ifndef SBX_RUN_OUTPUT_H
#define SBX_RUN_OUTPUT_H

#include "base/newfile.h"
#include "run/report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes the command's output as it comes. */
struct output_sink {
	bool split; /* the streams come apart; else both as stream 1, in the order of their writes */
	int (*write)(struct output_sink *sink, int stream, const void *data, size_t len);
	/* 0 or -errno, which ends the stream; may not wait */
};

/* All zero: the caller's descriptors are handed on (run/stdio.h). */
struct output_spec {
	bool capture;          /* both go into the result, and no longer to the caller */
	struct newfile *files; /* two, for output and error, in the caller's place; NULL = none */
	struct output_sink *sink; /* both go there, instead; NULL = none. Not with capture or files */
	uint64_t limit;        /* bytes of each that get there, the first ones; 0 = all */
	bool kill;             /* more than limit ends the run */
};

/* Whether the streams have to go through pipes of ours, where they are counted. */
bool output_piped(const struct output_spec *spec);

/* What is captured of each without a limit, and what at most with one. */
#define CAPTURE_DEFAULT (1U << 20)
#define CAPTURE_MAX (16U << 20)

/* The first and the last bytes of a stream, half of bound each, in at most bound bytes of memory.
 * Zero-initialise and set bound; free data, or give it away by capture_take. */
struct capture {
	size_t bound;   /* 0 = nothing is kept */
	uint64_t bytes; /* all that were added */
	char *data;     /* the head, then the tail as a ring */
	size_t allocated;
};

void capture_add(struct capture *capture, const char *data, size_t len);
/* Moves what was kept into kept, kept_len, head_len and is_text of stream, and ends the capture. Where
 * that makes the kept bytes text, those of a character that was cut are left out. */
void capture_take(struct capture *capture, struct run_stream *stream);

#endif
