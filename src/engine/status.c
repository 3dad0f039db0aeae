/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/metrics.h"
#include "os/clock.h"

#define NS_PER_MS 1000000ull

static const uint64_t STATUS_NS = 50 * NS_PER_MS;
static const uint64_t RECORD_NS = 1000 * NS_PER_MS;

void lmn__job_set_state(struct lmn_job *job, enum lmn_job_state state)
{
    lmn__mutex_lock(&job->mutex);
    if (job->locked.status.state != state)
        job->record_ns = 0; /* others learn it with the next update */
    job->locked.status.state = state;
    if (state >= LMN_JOB_DONE) {
        if (state == LMN_JOB_STOPPED || state == LMN_JOB_FAILED)
            job->locked.status.error = job->error;
        job->locked.status.message[0] = '\0';
    }
    lmn__mutex_unlock(&job->mutex);
}

void lmn__job_say(struct lmn_job *job, const char *fmt, ...)
{
    char text[sizeof job->locked.status.message];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    lmn__mutex_lock(&job->mutex);
    memcpy(job->locked.status.message, text, sizeof text);
    lmn__mutex_unlock(&job->mutex);
}

void lmn__job_note(struct lmn_job *job, const char *fmt, ...)
{
    uint32_t at = job->event_count % LMN__JOB_EVENTS_MAX;
    va_list args;

    va_start(args, fmt);
    vsnprintf(job->event[at], sizeof job->event[at], fmt, args);
    va_end(args);
    job->event_at_ns[at] = lmn__clock_now_ns();
    job->event_count++;
}

/* Add what the workers show of themselves. *read_bytes_out: of inputs that they have read. */
static void add_pages(const struct lmn_job *job, struct lmn_job_status *status,
                      uint64_t *read_bytes_out)
{
    struct lmn__job_usage usage = lmn__job_usage(job);
    uint64_t read_ns = 0, call_ns = 0, write_ns = 0;

    *read_bytes_out = 0;
    status->calls = usage.calls;
    status->tokens = usage.tokens;
    status->cost = usage.cost;
    for (uint32_t i = 0; job->worker != NULL && i < job->worker_count; i++) {
        const struct lmn__job_worker *worker = &job->worker[i];

        status->rows_computed += worker->rows_before;
        read_ns += worker->read_before;
        call_ns += worker->call_before;
        write_ns += worker->write_before;
        *read_bytes_out += worker->read_bytes_before;
        status->memory_bytes += worker->memory_bytes;
        if (worker->crew == NULL)
            continue;
        for (uint32_t k = 0; k < job->threads; k++) {
            struct lmn__page *page = &worker->crew->page[k];

            status->rows_computed += atomic_load(&page->rows);
            read_ns += atomic_load(&page->read_ns);
            call_ns += atomic_load(&page->call_ns);
            write_ns += atomic_load(&page->write_ns);
            *read_bytes_out += atomic_load(&page->read_bytes);
        }
    }
    status->read_ms = read_ns / NS_PER_MS;
    status->call_ms = call_ns / NS_PER_MS;
    status->write_ms = write_ns / NS_PER_MS;
}

/* Setups that take their time are worth a line. */
static void say_loading(const struct lmn_job *job, struct lmn_job_status *status, uint64_t now_ns)
{
    uint32_t loading = 0;
    bool slow = false;

    for (uint32_t i = 0; job->worker != NULL && i < job->worker_count; i++) {
        if (job->worker[i].state != LMN__CREW_LOADING)
            continue;
        loading++;
        slow = slow || now_ns > job->worker[i].began_ns + 1000 * NS_PER_MS;
    }
    if (loading > 0 && slow)
        snprintf(status->message, sizeof status->message, "loading %u/%u",
                 job->worker_count - loading, job->worker_count);
    else if (strncmp(status->message, "loading ", 8) == 0)
        status->message[0] = '\0';
}

static void count(const struct lmn_job *job, struct lmn_job_status *status,
                  uint64_t *read_bytes_out)
{
    struct lmn__machine_counts counts = lmn__machine_counts(job->machine);

    status->rows_planned = counts.planned;
    status->rows_resumed = job->rows_resumed;
    status->rows_checkpointed = counts.checkpointed;
    status->rows_committed = counts.committed;
    status->rows_failed = counts.failed;
    status->workers = counts.workers_ready + counts.workers_starting;
    status->workers_ready = counts.workers_ready;
    status->worker_deaths = counts.deaths;
    status->bytes_written = job->bytes_written;
    status->version = job->version;
    status->log_lines = job->log.line_count;
    status->log_lines_dropped = job->log.dropped_count;
    status->rows_computed = status->memory_bytes = 0;
    add_pages(job, status, read_bytes_out);
}

/* Nobody but the driver changes the status, so that most of it is made without the lock. */
void lmn__job_update(struct lmn_job *job, uint64_t now_ns)
{
    bool last = now_ns == UINT64_MAX;
    struct lmn_job_status status;
    uint64_t read_bytes = 0;

    if (!last && now_ns < job->status_ns)
        return;
    if (last)
        now_ns = lmn__clock_monotonic_ns();
    job->status_ns = now_ns + STATUS_NS;
    lmn_job_status(job, &status);
    status.elapsed_ms = (now_ns - job->started_ns) / NS_PER_MS;
    if (job->machine != NULL) {
        count(job, &status, &read_bytes);
        say_loading(job, &status, now_ns);
        lmn__stats_update(job, &status, read_bytes, now_ns, last);
    }
    lmn__mutex_lock(&job->mutex);
    job->locked.status = status;
    lmn__mutex_unlock(&job->mutex);
    lmn__metrics_update(job, &status, now_ns, false);
    if (!last && now_ns >= job->record_ns) {
        job->record_ns = now_ns + RECORD_NS;
        lmn__job_write_record(job, false);
    }
}
