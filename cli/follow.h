/* SPDX-License-Identifier: Apache-2.0 */
/*
 * follow.h - watch a job of any process until it has ended.
 */
#ifndef LEMAN_CLI_FOLLOW_H
#define LEMAN_CLI_FOLLOW_H

#include "command.h"

/*
 * Show a job's progress and what happens to it, on standard output, until it has ended: one line
 * that moves on a terminal, a line now and then elsewhere.
 */
enum lmn_status follow_job(struct lmn_table *table, const char *id, struct lmn_error *err);

/* Does the job of this record run? */
bool follow_is_running(const char *record);

/* The exit code for the end of a job, by its record. */
int follow_exit_code(const char *record);

#endif
