/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which workers outlive their job: those that wait for work in all of their threads, unless they
 * have GPUs or the job says otherwise.
 *
 * A worker is let go when the last result is there, which is before it has said that its task has
 * ended. Such a worker is `leaving`: it is heard once more when the job is over.
 */
#include "engine/job.h"
#include "os/clock.h"

static const uint64_t WAIT_NS = 1000000000;

bool lmn__job_stays_warm(const struct lmn_job *job)
{
    if (job->options.keep_warm != LMN_JOB_WARM_DEFAULT)
        return job->options.keep_warm == LMN_JOB_WARM_KEEP;
    for (uint32_t i = 0; i < job->fill_count; i++) {
        if (job->fill[i].function.gpus > 0)
            return false;
    }
    return true;
}

void lmn__job_leave(struct lmn_job *job, struct lmn__crew_worker *crew)
{
    crew->next = job->leaving;
    job->leaving = crew;
}

/* Receive what comes until `end_ns`; false when nothing has come, or no more will. */
static bool receive(struct lmn__channel *channel, uint64_t end_ns)
{
    uint64_t now_ns = lmn__clock_monotonic_ns();
    struct lmn__poll poll = { .fd = channel->fd, .wants_in = true };
    struct lmn_error ignored;
    bool closed = false;

    lmn__poll_wait(&poll, 1, now_ns < end_ns ? end_ns - now_ns : 0);
    return poll.in && lmn__channel_receive(channel, false, &closed, &ignored) == LMN_OK && !closed;
}

/* Has the task of a thread ended, or does it until `end_ns`? */
static bool ends(struct lmn__channel *channel, uint64_t end_ns)
{
    struct lmn__frame frame = { 0 };
    struct lmn_error ignored;

    do {
        while (lmn__channel_next(channel, &frame, &ignored) == LMN_OK && frame.body.data != NULL) {
            if (frame.kind == LMN__MESSAGE_DONE)
                return true;
        }
    } while (receive(channel, end_ns));
    return false;
}

void lmn__job_let_go(struct lmn_job *job, bool wait)
{
    uint64_t end_ns = lmn__clock_monotonic_ns() + (wait ? WAIT_NS : 0);

    while (job->leaving != NULL) {
        struct lmn__crew_worker *crew = job->leaving;
        bool idle = true;

        job->leaving = crew->next;
        crew->next = NULL;
        for (uint32_t i = 0; idle && i < crew->threads; i++)
            idle = (crew->in_task >> i & 1) == 0 || ends(&crew->channel[i], end_ns);
        if (idle)
            lmn__crew_give(crew);
        else
            lmn__crew_end(crew);
    }
}
