/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job_report.h - a job for people, by its record.
 */
#ifndef LEMAN_CLI_JOB_REPORT_H
#define LEMAN_CLI_JOB_REPORT_H

#include "command.h"
#include "record.h"

/* The counters and times of a record. */
struct lmn_job_status job_status_of(struct piece record);

/* Everything that a record says. */
void job_report(struct piece record);

/* The columns that the job fills, on the line that is being printed. */
void job_print_columns(struct piece record);

#endif
