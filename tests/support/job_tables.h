/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_tables.h - tables with a column to fill, and a function that fills it, with misbehaviours.
 *
 * The function reads "value" and gives value + 1 as "result", null for null. Its code is a text of
 * words, each an oddity and the value at which it shows: "crash=17 fail=3". Oddities:
 *
 *   fail     the row fails with a record
 *   crash    the process ends by SIGSEGV
 *   exit     the process ends with code 3
 *   hang     the call does not return
 *   hog      the call takes memory until it is stopped
 *   short    the call gives one value too few
 *   error    the call fails as a whole
 *   setup    the function does not load
 *   say      the worker prints the value, and what its environment has as LEMAN_TEST
 *   stale    a worker that has served a job before does not load it
 *   slow     (a number of microseconds, for every row)
 *
 * A test program that calls job_worker_main() first is its own worker.
 */
#ifndef LMN_TESTS_JOB_TABLES_H
#define LMN_TESTS_JOB_TABLES_H

#include <leman/leman.h>

#include "check.h"

/* Serve as a worker and end, if this process was started as one. */
void job_worker_main(void);

/* A table of `rows` rows whose value is their number (and null where that is 5 of 7), in fragments
 * of `fragment_rows`, with the column "result" to be filled. */
struct lmn_table *job_table(struct lmn_store *store, uint64_t rows, uint64_t fragment_rows);

/* The operations of the function, for lmn_job_serve(). */
struct lmn_worker_ops job_ops(void);

/* The command that starts this program as a worker. */
const char *const *job_worker_command(void);

/* Start a job with the function of this code. `options` may be NULL. */
struct lmn_job *job_begin(struct lmn_table *table, const char *code,
                          const struct lmn_job_options *options);

/* The same with what the function asks for beside its code. */
struct lmn_job *job_begin_with(struct lmn_table *table, const char *code,
                               struct lmn_job_function function,
                               const struct lmn_job_options *options);

/* Wait for the end of a job, free it, and say how it ended. */
struct lmn_job_status job_end(struct lmn_job *job);

/* A whole job; in this process when the options say so. */
struct lmn_job_status job_run(struct lmn_table *table, const char *code,
                              const struct lmn_job_options *options);

/*
 * Check every row of the newest version: "result" is value + 1, but null in rows whose value is in
 * `failed`; cells say so. Rows whose cells are pending are counted in the answer.
 */
uint64_t job_check(struct lmn_store *store, const int64_t *failed, uint64_t failed_count);

#endif
