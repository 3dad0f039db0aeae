/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers that come from elsewhere: a job that has a hub wants them and waits. It runs with those
 * that are there; while there is none at all, its deadline for resources runs.
 */
#include <stdio.h>

#include "engine/hub.h"
#include "engine/job.h"
#include "os/clock.h"

#define NS_PER_MS 1000000ull

enum { WAIT_MS = 600000 };

static void count_workers(const struct lmn_job *job, uint32_t *here_out, uint32_t *wanted_out)
{
    *here_out = *wanted_out = 0;
    for (uint32_t i = 0; i < job->worker_count; i++) {
        *here_out += job->worker[i].crew != NULL;
        *wanted_out += job->worker[i].wanted;
    }
}

/* Nobody is there: say since when, and why; and not for ever. */
static enum lmn_status wait_for_one(struct lmn_job *job, uint64_t now_ns, const char *why,
                                    struct lmn_error *err)
{
    uint64_t limit_ms = job->options.wait_ms != 0 ? job->options.wait_ms : WAIT_MS, waited_ms;

    if (job->alone_ns == 0)
        job->alone_ns = now_ns;
    waited_ms = (now_ns - job->alone_ns) / NS_PER_MS;
    if (waited_ms >= limit_ms)
        return lmn_fail(err, LMN_E_UNAVAILABLE, "waited %llu s for a worker: %s",
                        (unsigned long long)(limit_ms / 1000), why);
    lmn__job_set_state(job, LMN_JOB_WAITING);
    lmn__job_say(job, "waiting %llu s of %llu s for a worker: %s",
                 (unsigned long long)(waited_ms / 1000), (unsigned long long)(limit_ms / 1000),
                 why);
    job->few_told = true; /* it is taken back when one is there */
    return LMN_OK;
}

static enum lmn_status look_around(struct lmn_job *job, uint64_t now_ns, struct lmn_error *err)
{
    char why[LMN__HUB_WHY_CHARS];
    uint32_t here, wanted;

    count_workers(job, &here, &wanted);
    lmn__hub_why(job->options.hub, why);
    if (why[0] == '\0')
        snprintf(why, sizeof why, "none has come yet");
    if (wanted > 0 && here == 0 && !job->stop_told && !job->finished)
        return wait_for_one(job, now_ns, why, err);
    if (job->alone_ns != 0 && !job->stop_told)
        lmn__job_set_state(job, LMN_JOB_RUNNING);
    job->alone_ns = 0;
    if (wanted > 0 && !job->stop_told)
        lmn__job_say(job, "%u of %u workers: %s", here, here + wanted, why);
    else if (job->few_told)
        lmn__job_say(job, "%s", "");
    job->few_told = wanted > 0;
    return LMN_OK;
}

enum lmn_status lmn__job_meet(struct lmn_job *job, const struct lmn__poll *poll,
                              struct lmn_error *err)
{
    uint64_t now_ns = lmn__clock_monotonic_ns();
    enum lmn_status st;

    if (job->options.hub == NULL)
        return LMN_OK;
    st = lmn__hub_hear(job->options.hub, poll, now_ns, err);
    for (uint32_t i = 0; st == LMN_OK && i < job->worker_count; i++) {
        if (!job->worker[i].wanted)
            continue;
        st = lmn__job_start_worker(job, i, err);
        if (job->worker[i].wanted)
            break; /* nobody is left for the others either */
    }
    return st == LMN_OK ? look_around(job, now_ns, err) : st;
}
