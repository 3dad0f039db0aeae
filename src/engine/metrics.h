/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.h - how a job stands, as OpenMetrics text in a file. */
#ifndef LMN_ENGINE_METRICS_H
#define LMN_ENGINE_METRICS_H

#include "engine/job.h"
#include "engine/record.h"

/* Append the metrics of a job in this state; failure shows in the buffer's status. */
void lmn__metrics_put(struct lmn__buf *buf, const struct lmn_job *job,
                      const struct lmn_job_status *status);

/*
 * Write the file that the job was given for it, if there is one and it is due: every five seconds,
 * and at the last. A file that cannot be written is an event, and no reason to end a job.
 */
void lmn__metrics_update(struct lmn_job *job, const struct lmn_job_status *status, uint64_t now_ns,
                         bool last);

#endif
