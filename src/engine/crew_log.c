/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the workers of a job print is heard by the driver, also when they have died: their last
 * words say most. A worker between two jobs has nobody who hears it; what it says then belongs to
 * the next one.
 */
#include "engine/job.h"
#include "os/clock.h"
#include "os/pipe.h"

enum { HEAR_BYTES = 64 << 10, HEAR_TIMES = 16 };

/* What a worker of one thread shows; with more it is not known which of them prints. */
static const struct lmn__page *page_of(const struct lmn_job *job, uint32_t number)
{
    const struct lmn__crew_worker *crew = job->worker[number].crew;

    return crew != NULL && crew->threads == 1 ? crew->page : NULL;
}

void lmn__job_keep_log(struct lmn_job *job, uint32_t number, struct lmn__span printed)
{
    if (printed.len > 0)
        lmn__log_take(&job->log, &job->worker[number].log, number, page_of(job, number),
                      printed.data, printed.len, lmn__clock_monotonic_ns());
}

void lmn__job_hear_log(struct lmn_job *job, uint32_t number)
{
    struct lmn__job_worker *worker = &job->worker[number];
    struct lmn__crew_worker *crew = worker->crew;
    uint8_t data[HEAR_BYTES];
    bool ended = false;

    for (int i = 0; crew != NULL && crew->log_fd >= 0 && !ended && i < HEAR_TIMES; i++) {
        size_t len = lmn__pipe_read(crew->log_fd, data, sizeof data, &ended);

        if (len == 0 && !ended)
            break;
        lmn__log_take(&job->log, &worker->log, number, page_of(job, number), data, len,
                      lmn__clock_monotonic_ns());
    }
    if (ended)
        lmn__socket_close(&crew->log_fd);
}

void lmn__job_end_log(struct lmn_job *job, uint32_t number)
{
    lmn__job_hear_log(job, number);
    lmn__log_end(&job->log, &job->worker[number].log, number, page_of(job, number));
}

void lmn__job_flush_log(struct lmn_job *job)
{
    if (job->log.error.status != LMN_OK)
        return;
    lmn__log_flush(&job->log);
    if (job->log.error.status != LMN_OK)
        lmn__job_note(job, "what functions print is not kept: %.120s", job->log.error.message);
}
