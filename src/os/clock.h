/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h - the time of day, and waiting. */
#ifndef LMN_OS_CLOCK_H
#define LMN_OS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Nanoseconds since 1970 (UTC). */
int64_t lmn__clock_now_ns(void);

/* Nanoseconds of a clock that only goes on; for durations. */
uint64_t lmn__clock_monotonic_ns(void);

/* A time of day as text: "2026-01-31T12:00:00.000000000Z". */
void lmn__clock_text(int64_t ns, char *text_out, size_t text_bytes);

/* Wait about so long; a signal does not cut it short. */
void lmn__clock_wait_ns(int64_t ns);

#endif
