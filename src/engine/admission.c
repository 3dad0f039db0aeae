/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sum of what a job asks for:
 *
 *   driver    1 x 0 CPU   a thread of the caller
 *   tracker   1 x 0 CPU   the same thread
 *   workers   n x cpus x threads, n x gpus, n x memory
 *   writers   0           workers write their pages themselves
 *   queues    0           results go straight to their place
 *
 * It fits: go. It fits with fewer workers: shrink, and say so. It never fits: fail with the sum.
 * What other jobs hold is waited for, with their name and a deadline.
 */
#include "engine/admission.h"

#include <math.h>
#include <stdio.h>

#include "engine/job.h"
#include "os/clock.h"

#define NS_PER_MS 1000000ull

enum { WORKERS_DEFAULT_MAX = 8, WORKERS_MAX = 256, ROWS_PER_WORKER_MIN = 32, WAIT_MS = 600000 };

static const uint64_t LOOK_NS = 200 * NS_PER_MS;

enum lmn_status lmn__admission_add(const struct lmn_job_function *function, uint32_t function_count,
                                   const struct lmn_job_options *options, uint64_t rows,
                                   struct lmn__admission *sum_out, struct lmn_error *err)
{
    uint32_t most;

    *sum_out = (struct lmn__admission){ .threads = options->threads != 0 ? options->threads : 1,
                                        .wanted = options->concurrency,
                                        .in_process = options->in_process };
    if (sum_out->threads > LMN__CREW_THREADS_MAX || options->concurrency > WORKERS_MAX)
        return lmn_fail(err, LMN_E_INVALID,
                        "%u workers of %u threads: there are at most %d of %d each",
                        options->concurrency, sum_out->threads, WORKERS_MAX, LMN__CREW_THREADS_MAX);
    for (uint32_t i = 0; i < function_count; i++) {
        double cpus = (function[i].cpus > 0 ? function[i].cpus : 1) * sum_out->threads;

        sum_out->need.cpus = fmax(sum_out->need.cpus, cpus);
        sum_out->need.gpus = fmax(sum_out->need.gpus, function[i].gpus);
        if (function[i].memory_bytes > sum_out->need.memory_bytes)
            sum_out->need.memory_bytes = function[i].memory_bytes;
    }
    lmn__room_of_host(&sum_out->room);
    if (options->hub != NULL || options->elsewhere) {
        sum_out->workers = options->concurrency != 0 ? options->concurrency : WORKERS_DEFAULT_MAX;
        return LMN_OK;
    }
    if (options->in_process) {
        sum_out->threads = sum_out->workers = 1;
        sum_out->need = (struct lmn__need){ 0 };
        return LMN_OK;
    }
    most = sum_out->wanted != 0 ? sum_out->wanted : WORKERS_DEFAULT_MAX;
    if (sum_out->wanted == 0 && rows / ROWS_PER_WORKER_MIN + 1 < most)
        most = (uint32_t)(rows / ROWS_PER_WORKER_MIN + 1);
    sum_out->workers = lmn__room_fits(&sum_out->room, &sum_out->need, most);
    return LMN_OK;
}

void lmn__admission_complaint(const struct lmn__admission *sum, char *text_out, size_t text_bytes)
{
    text_out[0] = '\0';
    if (sum->workers > 0)
        return;
    snprintf(
        text_out, text_bytes,
        "one worker needs %g CPU, %g GPU, %llu MiB; this machine has %g CPU, %u GPU, %llu MiB: "
        "ask for less with num_cpus, num_gpus, memory or intra_applier_concurrency",
        sum->need.cpus, sum->need.gpus, (unsigned long long)(sum->need.memory_bytes >> 20),
        sum->room.cpus, sum->room.gpu_count, (unsigned long long)(sum->room.memory_bytes >> 20));
}

static void write_line(struct lmn__json_writer *writer, const char *what, uint32_t count,
                       const struct lmn__need *each, const char *why)
{
    lmn__json_open(writer, NULL, '{');
    lmn__json_text(writer, "what", what);
    lmn__json_number(writer, "count", count);
    lmn__json_real(writer, "cpus_each", each->cpus);
    lmn__json_real(writer, "cpus", each->cpus * count);
    lmn__json_real(writer, "gpus", each->gpus * count);
    lmn__json_number(writer, "memory_bytes", each->memory_bytes * count);
    lmn__json_text(writer, "why", why);
    lmn__json_close(writer, '}');
}

void lmn__admission_write(const struct lmn__admission *sum, struct lmn__json_writer *writer)
{
    const struct lmn__need none = { 0 };
    uint32_t wanted = sum->wanted != 0 ? sum->wanted : sum->workers;
    char complaint[400];

    lmn__json_open(writer, "resources", '[');
    write_line(writer, "driver", 1, &none, "a thread of this process");
    write_line(writer, "tracker", 1, &none, "the driver's own thread");
    write_line(writer, "workers", wanted, &sum->need,
               sum->in_process ? "the function runs in this process"
                               : "processes that run the function");
    write_line(writer, "writers", 0, &none, "workers write their results to their final place");
    write_line(writer, "queues", 0, &none, "nothing stands between workers and files");
    lmn__json_close(writer, ']');
    lmn__json_open(writer, "total", '{');
    lmn__json_real(writer, "cpus", sum->need.cpus * wanted);
    lmn__json_real(writer, "gpus", sum->need.gpus * wanted);
    lmn__json_number(writer, "memory_bytes", sum->need.memory_bytes * wanted);
    lmn__json_close(writer, '}');
    lmn__json_open(writer, "machine", '{');
    lmn__json_real(writer, "cpus", sum->room.cpus);
    lmn__json_number(writer, "gpus", sum->room.gpu_count);
    lmn__json_number(writer, "memory_bytes", sum->room.memory_bytes);
    lmn__json_close(writer, '}');
    lmn__json_number(writer, "workers", sum->workers);
    lmn__json_number(writer, "threads_per_worker", sum->threads);
    lmn__json_bool(writer, "fits", sum->workers > 0);
    lmn__admission_complaint(sum, complaint, sizeof complaint);
    if (complaint[0] != '\0')
        lmn__json_text(writer, "blocker", complaint);
}

static bool is_stopped(struct lmn_job *job)
{
    bool stop;

    lmn__mutex_lock(&job->mutex);
    stop = job->locked.stop || job->locked.stop_now;
    lmn__mutex_unlock(&job->mutex);
    return stop || lmn__job_is_cancelled(job);
}

/* Wait for what others hold. */
static enum lmn_status take_places(struct lmn_job *job, const struct lmn__admission *sum,
                                   bool *stopped_out, struct lmn_error *err)
{
    uint64_t limit_ms = job->options.wait_ms != 0 ? job->options.wait_ms : WAIT_MS;
    uint64_t began_ns = lmn__clock_monotonic_ns();
    char blocker[LMN__PLACES_BLOCKER_CHARS];
    enum lmn_status st;

    for (;;) {
        struct lmn__poll poll = { .fd = job->wake.fd[0], .wants_in = true };
        uint64_t waited_ms;

        st = lmn__places_take(&job->places, job->env, &sum->room, &sum->need, sum->workers, job->id,
                              &job->worker_count, blocker, err);
        if (st != LMN_OK || job->worker_count > 0)
            return st;
        lmn__places_free(&job->places);
        *stopped_out = is_stopped(job);
        if (*stopped_out)
            return LMN_OK;
        waited_ms = (lmn__clock_monotonic_ns() - began_ns) / NS_PER_MS;
        if (waited_ms >= limit_ms)
            return lmn_fail(err, LMN_E_UNAVAILABLE,
                            "waited %llu s for %g CPU, %g GPU, %llu MiB: %s",
                            (unsigned long long)(limit_ms / 1000), sum->need.cpus, sum->need.gpus,
                            (unsigned long long)(sum->need.memory_bytes >> 20), blocker);
        lmn__job_set_state(job, LMN_JOB_WAITING);
        lmn__job_say(job, "waiting %llu s of %llu s: needs %g CPU, %g GPU, %llu MiB; %s",
                     (unsigned long long)(waited_ms / 1000), (unsigned long long)(limit_ms / 1000),
                     sum->need.cpus, sum->need.gpus,
                     (unsigned long long)(sum->need.memory_bytes >> 20), blocker);
        lmn__poll_wait(&poll, 1, LOOK_NS);
        lmn__wake_reset(&job->wake);
    }
}

enum lmn_status lmn__job_admit(struct lmn_job *job, bool *stopped_out, struct lmn_error *err)
{
    struct lmn_job_function *function = lmn__calloc(job->env, job->fill_count, sizeof *function);
    struct lmn__admission sum;
    uint64_t rows = 0;
    char complaint[400];
    enum lmn_status st;

    *stopped_out = false;
    if (function == NULL)
        return lmn__no_memory(err, "functions", job->fill_count * sizeof *function);
    for (uint32_t i = 0; i < job->fill_count; i++) {
        const struct lmn__plan *plan = &job->fill[i].plan->plan;

        function[i] = job->fill[i].function;
        for (uint64_t k = 0; k < plan->fragment_count; k++)
            rows += plan->fragment[k].todo_rows;
    }
    st = lmn__admission_add(function, job->fill_count, &job->options, rows, &sum, err);
    lmn__free(job->env, function);
    if (st != LMN_OK)
        return st;
    lmn__admission_complaint(&sum, complaint, sizeof complaint);
    if (complaint[0] != '\0')
        return lmn_fail(err, LMN_E_UNAVAILABLE, "the job can never start: %s", complaint);
    job->threads = sum.threads;
    job->worker_count = 1;
    if (rows == 0 || sum.in_process)
        return LMN_OK;
    if (job->options.hub != NULL) { /* who starts its workers has seen to it */
        job->worker_count = sum.workers;
        return LMN_OK;
    }
    st = take_places(job, &sum, stopped_out, err);
    lmn__job_say(job, "%s", "");
    if (st == LMN_OK && !*stopped_out && sum.wanted > job->worker_count)
        lmn__job_note(job, "%u workers instead of %u: %g CPU, %g GPU, %llu MiB are there for them",
                      job->worker_count, sum.wanted, sum.room.cpus, (double)sum.room.gpu_count,
                      (unsigned long long)(sum.room.memory_bytes >> 20));
    return st;
}
