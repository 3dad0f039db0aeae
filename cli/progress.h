/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - a job, or a write, while it runs: what is shown of it, and the signals that end it.
 */
#ifndef LEMAN_CLI_PROGRESS_H
#define LEMAN_CLI_PROGRESS_H

#include "command.h"

/*
 * Wait for the end of a job and show on standard error how it goes: one line that changes on a
 * terminal, a line now and then elsewhere, nothing when `quiet`. SIGINT, SIGTERM and SIGHUP stop
 * it, so that it can be resumed; a second SIGINT kills it. Returns true when it was killed.
 */
bool progress_wait(struct lmn_job *job, bool quiet);

/*
 * A line on the terminal of standard error, which the next one replaces. Is it time for another?
 * Never where that is no terminal, otherwise a few times a second.
 */
bool progress_is_due(void);
void progress_show(const char *line);
void progress_clear(void);

/* Milliseconds of a clock that is never set. */
int64_t progress_now_ms(void);

/* The counters of a job as one line, without its end. */
void progress_line(const struct lmn_job_status *status, char *line, size_t line_bytes);

/* "2:05", "26:00:05" */
void duration_text(uint64_t ms, char *text, size_t text_bytes);

/* "120 rows/s", with the mean where that is another; the time left with its spread, "" when it is
 * not known. */
void rate_text(const struct lmn_job_status *status, char *text, size_t text_bytes);
void eta_text(const struct lmn_job_status *status, char *text, size_t text_bytes);

/* "1.5 GiB" */
void bytes_text(uint64_t bytes, char *text, size_t text_bytes);

#endif
