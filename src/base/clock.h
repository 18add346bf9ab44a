/*
 * What a clock says.
 */
#ifndef SBX_BASE_CLOCK_H
#define SBX_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* clock_gettime(2) in microseconds, and in milliseconds, of any clock that is always there. */
int64_t clock_us(clockid_t clock);
int64_t clock_ms(clockid_t clock);

#endif
