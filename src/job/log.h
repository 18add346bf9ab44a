/*
 * A job's log: what its command wrote, bounded, on disk.
 *
 * A log NAME lies in pieces in the job's directory, files of one size that are only ever appended to:
 * "NAME.OFFSET.LINE.COLUMN". OFFSET is where in the stream the piece begins, LINE (from 1) the line
 * that this byte belongs to, COLUMN how many bytes of that line come before it. The names are the
 * index: a line is found by looking through one piece. The first half of the limit is kept for good;
 * behind it the oldest piece is removed before a new one would exceed the limit. Bytes that no piece
 * holds are a gap, whose size and lines the names tell. No crash, and no copy made meanwhile, can
 * leave more than a gap or a shorter end.
 *
 * Bytes are never interpreted but for newlines; a line is as long as the command made it.
 */
#ifndef SBX_JOB_LOG_H
#define SBX_JOB_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bound below this leaves too little of a line; LOG_LIMIT is the default. */
#define LOG_LIMIT_MIN (64U << 10)
#define LOG_LIMIT (64U << 20)

/* Where a piece begins. */
struct log_piece {
	uint64_t offset, line, column;
};

/* Being written. Zero-initialise, then log_begin; ended by log_end. */
struct log_writer {
	int dir; /* borrowed */
	const char *name;
	uint64_t piece_size, head, tail; /* of each piece; of what is kept of both ends, in whole
					    pieces */
	int fd;                          /* the last piece; -1 = none */
	struct log_piece at;             /* where the stream is */
	struct log_piece *pieces;        /* those of the tail */
	size_t n, alloc;
};

/* limit: of all pieces together, 16 at least. Makes no file yet. */
void log_begin(struct log_writer *log, int dir, const char *name, uint64_t limit);
/* 0 or -errno: nothing can be added then any more. */
int log_write(struct log_writer *log, const void *data, size_t len);
void log_end(struct log_writer *log);

/* Being read: what there is at this moment. Zero-initialise, then log_look; ended by log_clear. */
struct log_view {
	int dir; /* borrowed */
	const char *name;
	struct log_piece *pieces;
	size_t n, alloc;
};

/* 0 (no pieces: nothing was written), or -1 with ERR_SYSTEM. */
int log_look(struct log_view *view, int dir, const char *name, struct err *err);
void log_clear(struct log_view *view);

/* A place in the stream, and which line it is in. */
struct log_place {
	uint64_t offset, line;
};

/* A part of a log; text is owned. */
struct log_part {
	char *text;
	size_t len;
	struct log_place begin,
		end; /* of the first byte given, where there is one; behind the last byte given; the line that the next one
					is of */
	bool complete; /* nothing is known behind end */
	/* At most one gap, before the byte at gap_at of text: */
	size_t gap_at;
	uint64_t gap_bytes;           /* 0 = none */
	uint64_t gap_first, gap_last; /* the lines of which something is missing */
};

/* Finds the beginning of a line, or, where that is lost, of the gap. 0; 1: there is no such line yet, and
 * place is the end; -1 with ERR_SYSTEM. */
int log_find(const struct log_view *view, uint64_t line, struct log_place *place, struct err *err);
/* Reads on from a place until so many lines or bytes are given, or a second gap comes. 0; -1 with
 * ERR_SYSTEM: a piece cannot be read. free text. */
int log_read(const struct log_view *view, const struct log_place *from, uint64_t lines,
	size_t bytes, struct log_part *part, struct err *err);
/* The number of lines, an unfinished last one included. -1 with ERR_SYSTEM. */
int log_lines(const struct log_view *view, uint64_t *lines, struct err *err);

#endif
