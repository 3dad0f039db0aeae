/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limits of workers: of a call's time, of a setup's time, of memory. Who exceeds one is killed;
 * the death is then met like any other.
 */
#include <stdarg.h>
#include <stdio.h>

#include "engine/job.h"

static const uint64_t LOOK_NS = 2000000000, SETUP_MS = 600000;

LMN_PRINTF(2, 3)
static void kill_worker(struct lmn__job_worker *worker, const char *fmt, ...)
{
    va_list args;

    if (worker->killed)
        return;
    va_start(args, fmt);
    vsnprintf(worker->death, sizeof worker->death, fmt, args);
    va_end(args);
    worker->killed = true;
    lmn__crew_kill(worker->crew);
}

/* The limits of a call and of memory. */
static void watch_worker(struct lmn_job *job, uint32_t number, uint64_t now_ns, bool memory)
{
    struct lmn__job_worker *worker = &job->worker[number];
    uint64_t limit = lmn__places_worker_memory(&job->places);

    for (uint32_t i = 0; i < job->threads; i++) {
        const struct lmn__job_slot *slot = &job->slot[number * job->threads + i];
        uint64_t began_ns = atomic_load(&worker->crew->page[i].call_began_ns);
        uint32_t timeout_ms = slot->busy
                                  ? job->fill[job->unit[slot->unit].fill].function.call_timeout_ms
                                  : 0;

        if (timeout_ms != 0 && began_ns != 0 && now_ns > began_ns + timeout_ms * 1000000ull)
            kill_worker(worker, "timeout: the call took longer than %g s", timeout_ms / 1000.0);
    }
    if (!memory)
        return;
    worker->memory_bytes = lmn__crew_memory(worker->crew);
    if (worker->memory_bytes > worker->memory_peak)
        worker->memory_peak = worker->memory_bytes;
    if (limit != 0 && worker->memory_bytes > limit)
        kill_worker(worker, "memory: the worker had %llu MiB in memory, over its limit of %llu MiB",
                    (unsigned long long)(worker->memory_bytes >> 20),
                    (unsigned long long)(limit >> 20));
}

/* How long a thread was in calls, the one that runs included. */
static uint64_t time_in_calls(const struct lmn__page *page, uint64_t now_ns)
{
    uint64_t began_ns = atomic_load(&page->call_began_ns);

    return atomic_load(&page->call_ns) +
           (began_ns != 0 && now_ns > began_ns ? now_ns - began_ns : 0);
}

static void watch_threads(struct lmn_job *job, struct lmn__job_worker *worker, uint64_t now_ns)
{
    uint64_t cpu_ns, call_ns = 0, since_ns = now_ns - worker->look_ns;
    double cpus, calls;

    if (worker->state != LMN__CREW_READY || job->turns_told || since_ns < LOOK_NS)
        return;
    cpu_ns = lmn__crew_cpu_ns(worker->crew);
    for (uint32_t i = 0; i < job->threads; i++)
        call_ns += time_in_calls(&worker->crew->page[i], now_ns);
    cpus = (double)(cpu_ns - worker->look_cpu_ns) / (double)since_ns;
    calls = call_ns > worker->look_call_ns
                ? (double)(call_ns - worker->look_call_ns) / (double)since_ns
                : 0;
    if (worker->look_ns != 0 && lmn__pace_takes_turns(calls, cpus)) {
        job->turns_told = true;
        lmn__job_note(
            job,
            "the %u threads of a worker take turns: %.1f of them are in calls and use %.1f "
            "CPU; with concurrency=%u and one thread each they would not wait for the GIL",
            job->threads, calls, cpus, job->worker_count * job->threads);
    }
    worker->look_ns = now_ns;
    worker->look_cpu_ns = cpu_ns;
    worker->look_call_ns = call_ns;
}

static uint64_t setup_ms(const struct lmn_job *job, uint32_t fill)
{
    uint64_t ms = job->fill[fill].function.setup_timeout_ms;

    return ms != 0 ? ms : SETUP_MS;
}

/*
 * The limit of a setup: the first function is loaded before the worker is ready, others at the
 * beginning of their first task. Waiting for the setup of other workers does not count.
 */
static void watch_setup(struct lmn_job *job, uint32_t number, uint64_t now_ns)
{
    struct lmn__job_worker *worker = &job->worker[number];
    bool loading = worker->state == LMN__CREW_LOADING;

    for (uint32_t i = 0; i < job->threads; i++) {
        struct lmn__job_slot *slot = &job->slot[number * job->threads + i];
        uint64_t phase = atomic_load(&worker->crew->page[i].phase);
        uint64_t *began_ns = loading ? &worker->began_ns : &slot->began_ns;
        uint64_t ms = setup_ms(job, loading ? 0 : job->unit[slot->unit].fill);

        if (phase == LMN__PHASE_TURN && (loading || slot->busy))
            *began_ns = now_ns;
        if (now_ns <= *began_ns + ms * 1000000 ||
            !(loading || (slot->busy && phase == LMN__PHASE_SETUP)))
            continue;
        kill_worker(worker, "setup: the function was not loaded after %g s", (double)ms / 1000);
        if (loading && job->error.status == LMN_OK)
            lmn_fail(&job->error, LMN_E_UDF, "%s", worker->death);
    }
}

void lmn__job_watch(struct lmn_job *job, uint64_t now_ns)
{
    bool memory = now_ns >= job->memory_ns;

    lmn__job_watch_stalls(job, now_ns);
    if (memory)
        job->memory_ns = now_ns +
                         (lmn__places_worker_memory(&job->places) != 0 ? 10 : 250) * 1000000ull;
    for (uint32_t i = 0; i < job->worker_count; i++) {
        struct lmn__job_worker *worker = &job->worker[i];

        if (worker->crew == NULL ||
            (worker->crew->process.pid == 0 && worker->crew->remote == NULL))
            continue;
        watch_worker(job, i, now_ns, memory || worker->crew->remote != NULL);
        if (memory && job->threads > 1)
            watch_threads(job, worker, now_ns);
        watch_setup(job, i, now_ns);
    }
}
