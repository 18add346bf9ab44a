/*
 * The status line of a run that takes long, for a person who waits: one line on standard error that
 * is written anew each second and taken away at the end. For terminals only.
 */
#ifndef SBX_RUN_PROGRESS_H
#define SBX_RUN_PROGRESS_H

#include <stdint.h>

/* Milliseconds from the start to the first line, and from one to the next. */
#define PROGRESS_DELAY_MS 3000
#define PROGRESS_STEP_MS 1000

/* Negative: not known. memory is in bytes. */
void progress_show(int64_t elapsed_ms, int64_t memory, int64_t processes);
/* Takes the line away. */
void progress_clear(void);

#endif
