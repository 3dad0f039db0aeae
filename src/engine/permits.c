/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that workers ask for before they make them: granted by the function's meter, and refused
 * when the job has made as many, or spent as much, as it may. A refusal stops the job: the slots
 * are told to end before the worker has its answer.
 */
#include <stdio.h>

#include "engine/job.h"
#include "os/clock.h"

enum { PAUSE_MS_MAX = 3600000 };

bool lmn__job_is_metered(const struct lmn_job *job, const struct lmn_job_function *function)
{
    return function->requests_max > 0 || function->tokens_max > 0 || job->options.calls_max > 0 ||
           job->options.cost_max > 0;
}

void lmn__job_set_meters(struct lmn_job *job)
{
    uint64_t now_ns = lmn__clock_monotonic_ns();

    for (uint32_t i = 0; i < job->fill_count; i++) {
        const struct lmn_job_function *function = &job->fill[i].function;
        struct lmn__rate requests = { function->requests_max, function->requests_window_ms };
        struct lmn__rate tokens = { function->tokens_max, function->tokens_window_ms };

        lmn__meter_init(&job->fill[i].meter, requests, tokens, now_ns);
    }
}

struct lmn__job_usage lmn__job_usage(const struct lmn_job *job)
{
    struct lmn__job_usage usage = { 0 };
    uint64_t cost_nano = 0;

    for (uint32_t i = 0; job->worker != NULL && i < job->worker_count; i++) {
        const struct lmn__job_worker *worker = &job->worker[i];

        usage.calls += worker->used_before.calls;
        usage.tokens += worker->used_before.tokens;
        cost_nano += worker->used_before.cost_nano;
        for (uint32_t k = 0; worker->crew != NULL && k < job->threads; k++) {
            struct lmn__page *page = &worker->crew->page[k];

            usage.calls += atomic_load(&page->calls);
            usage.tokens += atomic_load(&page->tokens);
            cost_nano += atomic_load(&page->cost_nano);
        }
    }
    usage.cost = (double)cost_nano / 1e9;
    return usage;
}

/* Why there are no more calls; "" when there are. */
static void find_end(const struct lmn_job *job, char *why, size_t why_bytes)
{
    const struct lmn_job_options *options = &job->options;

    why[0] = '\0';
    if (options->calls_max > 0 && job->calls_granted >= options->calls_max)
        snprintf(why, why_bytes, "it has made %llu calls, as many as it may (max_calls)",
                 (unsigned long long)job->calls_granted);
    else if (options->cost_max > 0) {
        double cost = lmn__job_usage(job).cost;

        if (cost >= options->cost_max)
            snprintf(why, why_bytes, "its calls have cost %g of the %g they may (max_cost)", cost,
                     options->cost_max);
    }
}

/* End the job in order, resumable. */
static enum lmn_status stop_for(struct lmn_job *job, const char *why, struct lmn_error *err)
{
    struct lmn__event event = { .kind = LMN__EVENT_STOP, .now_ns = lmn__clock_monotonic_ns() };

    if (job->stop_told)
        return LMN_OK;
    lmn_fail(&job->blocker, LMN_E_CANCELLED, "%s", why);
    lmn__job_note(job, "%s", why);
    job->stop_told = true;
    lmn__job_set_state(job, LMN_JOB_STOPPING);
    return lmn__job_tell(job, event, err);
}

static enum lmn_status grant(struct lmn_job *job, struct lmn__job_fill *fill,
                             const struct lmn__permit_message *permit,
                             struct lmn__permitted_message *answer_out, struct lmn_error *err)
{
    struct lmn__meter_ask ask = { .calls = permit->calls,
                                  .tokens = permit->tokens,
                                  .done = permit->done,
                                  .charged = permit->charged,
                                  .used = permit->used,
                                  .pause_ms = permit->pause_ms < PAUSE_MS_MAX ? permit->pause_ms
                                                                              : PAUSE_MS_MAX };
    struct lmn__meter_grant granted;
    char why[160];
    enum lmn_status st = LMN_OK;

    find_end(job, why, sizeof why);
    if (why[0] != '\0' && permit->calls > 0)
        st = stop_for(job, why, err);
    if (job->options.calls_max > 0 && ask.calls > job->options.calls_max - job->calls_granted)
        ask.calls = job->options.calls_max - job->calls_granted;
    if (job->stop_told || why[0] != '\0')
        ask.calls = 0;
    granted = lmn__meter_ask(&fill->meter, &ask, lmn__clock_monotonic_ns());
    job->calls_granted += granted.calls;
    job->calls_deferred += granted.calls < ask.calls;
    *answer_out = (struct lmn__permitted_message){
        .calls = granted.calls,
        .tokens_each = granted.tokens_each,
        .wait_ms = granted.wait_ns / 1000000 + 1,
        .ended = permit->calls > 0 && (job->stop_told || why[0] != '\0'),
    };
    return st;
}

enum lmn_status lmn__job_permit(struct lmn_job *job, uint32_t number, struct lmn__channel *channel,
                                const struct lmn__permit_message *permit, struct lmn_error *err)
{
    const struct lmn__job_slot *slot = &job->slot[number];
    struct lmn__permitted_message answer;
    struct lmn_error ignored;
    enum lmn_status st;

    if (!slot->busy)
        return lmn_fail(err, LMN_E_CORRUPT, "a worker without a task asks for calls");
    st = grant(job, &job->fill[job->unit[slot->unit].fill], permit, &answer, err);
    if (st == LMN_OK)
        st = lmn__channel_put(channel, LMN__MESSAGE_PERMITTED, &lmn__permitted_pb, &answer, err);
    if (st == LMN_OK && lmn__channel_flush(channel, false, &ignored) != LMN_OK)
        return LMN_OK; /* a worker that is gone is learnt of otherwise */
    return st;
}
