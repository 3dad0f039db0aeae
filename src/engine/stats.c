/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Once a second the driver looks at its workers and at the machine. What a job tells of its pace is
 * made of those looks; counters move in between.
 */
#include <stdio.h>
#include <string.h>

#include "engine/job.h"
#include "os/clock.h"

#define NS_PER_MS 1000000ull

static const uint64_t LOOK_NS = 1000 * NS_PER_MS;
static const uint64_t WINDOW_NS = 300000 * NS_PER_MS;

/* The physical row of an ordinal. */
static uint64_t row_of(const struct lmn__job_unit *unit, uint64_t ordinal)
{
    uint64_t low = 0, high = unit->fragment->todo_count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (unit->before[middle] <= ordinal)
            low = middle;
        else
            high = middle;
    }
    return unit->fragment->todo[low].first + ordinal - unit->before[low];
}

static struct lmn__task_note note_of(const struct lmn_job *job, uint32_t number, uint64_t now_ns)
{
    const struct lmn__job_slot *slot = &job->slot[number];
    const struct lmn__job_unit *unit = &job->unit[slot->unit];

    return (struct lmn__task_note){ .fragment_id = unit->fragment->id,
                                    .first_row = row_of(unit, slot->rows.first),
                                    .row_count = slot->rows.count,
                                    .worker = number / job->threads,
                                    .ns = now_ns - slot->began_ns,
                                    .bytes = slot->bytes };
}

void lmn__stats_task_end(struct lmn_job *job, uint32_t slot)
{
    struct lmn__task_note note = note_of(job, slot, lmn__clock_monotonic_ns());

    lmn__highlights_task(&job->stats.highlights, &note);
}

void lmn__stats_receipt(struct lmn_job *job, uint32_t fill, struct lmn__span bytes)
{
    const struct lmn__receipt_error *error;
    struct lmn__receipt receipt;
    struct lmn__arena arena;
    struct lmn_error ignored;

    lmn__arena_init(&arena, job->env, 0);
    if (lmn__receipt_decode(bytes, job->fill[fill].function.output_count * 2, &arena, &receipt,
                            &ignored) == LMN_OK) {
        error = receipt.errors.item;
        for (size_t i = 0; i < receipt.errors.count; i++)
            lmn__highlights_error(&job->stats.highlights, job->env, error[i].record);
    }
    lmn__arena_deinit(&arena);
}

/* Processor time that the workers took since the last look. */
static void look_at_workers(struct lmn_job *job)
{
    struct lmn__stats *stats = &job->stats;

    for (uint32_t i = 0; job->worker != NULL && i < job->worker_count; i++) {
        struct lmn__job_worker *worker = &job->worker[i];
        const struct lmn__crew_worker *crew = worker->crew;
        uint64_t cpu_ns = crew != NULL && !job->options.in_process ? lmn__crew_cpu_ns(crew) : 0;

        if (crew != NULL && crew == worker->cpu_crew && cpu_ns > worker->cpu_ns)
            stats->cpu_ns += cpu_ns - worker->cpu_ns;
        worker->cpu_crew = crew;
        worker->cpu_ns = cpu_ns;
    }
}

static void look_at_gpus(struct lmn_job *job)
{
    struct lmn__stats *stats = &job->stats;
    uint32_t id[LMN__HOST_GPUS_MAX], count = lmn__host_gpus(id);

    stats->gpu_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct lmn__stats_gpu *gpu = &stats->gpu[stats->gpu_count];

        gpu->id = id[i];
        stats->gpu_count += lmn__gpu_look(id[i], &gpu->use);
    }
}

/* What the rest will take on the disk, at the size of what is there. */
static void look_at_disk(struct lmn_job *job, const struct lmn_job_status *status)
{
    struct lmn__stats *stats = &job->stats;
    uint64_t fresh = status->rows_checkpointed > status->rows_resumed
                         ? status->rows_checkpointed - status->rows_resumed
                         : 0;
    double left = (double)(status->rows_planned - status->rows_checkpointed);

    stats->disk_known = lmn__host_disk_free(job->root, &stats->disk_free_bytes) && fresh > 0;
    if (!stats->disk_known)
        return;
    stats->disk_needed_bytes = (uint64_t)((double)status->bytes_written / (double)fresh * left);
    if (stats->disk_needed_bytes > stats->disk_free_bytes && !stats->disk_told) {
        stats->disk_told = true;
        lmn__job_note(job,
                      "the disk has %llu MiB left, and what is to come takes about %llu MiB more",
                      (unsigned long long)(stats->disk_free_bytes >> 20),
                      (unsigned long long)(stats->disk_needed_bytes >> 20));
    }
}

/* Note when something was last checkpointed and committed, and how long threads could work. */
static void look_at_progress(struct lmn_job *job, const struct lmn_job_status *status,
                             uint64_t now_ns)
{
    struct lmn__stats *stats = &job->stats;

    if (stats->tick_ns != 0)
        stats->thread_ns += (now_ns - stats->tick_ns) * status->workers_ready * job->threads;
    stats->tick_ns = now_ns;
    if (status->rows_checkpointed > status->rows_resumed &&
        status->rows_checkpointed != stats->rows_checkpointed)
        stats->checkpoint_ns = now_ns;
    if (status->version != stats->version)
        stats->commit_ns = now_ns;
    stats->rows_checkpointed = status->rows_checkpointed;
    stats->version = status->version;
}

static int busiest_gpu(const struct lmn_job *job)
{
    int most = -1;

    for (uint32_t i = 0; i < job->stats.gpu_count; i++) {
        if ((int)job->stats.gpu[i].use.busy_percent > most)
            most = (int)job->stats.gpu[i].use.busy_percent;
    }
    return job->places.need.gpus > 0 ? most : -1;
}

static uint64_t age_ms(uint64_t now_ns, uint64_t then_ns)
{
    return then_ns != 0 && now_ns > then_ns ? (now_ns - then_ns) / NS_PER_MS : 0;
}

/* What the samples say, in the status. */
static void tell(const struct lmn_job *job, struct lmn_job_status *status, uint64_t now_ns)
{
    const struct lmn__stats *stats = &job->stats;
    struct lmn__pace_sample recent = lmn__pace_since(&stats->pace, WINDOW_NS);
    struct lmn__verdict_facts facts = { .spent = recent,
                                        .cpus = stats->cpus,
                                        .gpu_percent = busiest_gpu(job),
                                        .loading = status->workers > 0 &&
                                                   status->workers_ready == 0 };
    uint64_t seen = status->rows_resumed + status->rows_computed;
    uint64_t left = status->rows_planned > seen ? status->rows_planned - seen : 0;
    uint64_t busy_ms = status->read_ms + status->call_ms + status->write_ms;
    uint64_t ready_ms = stats->thread_ns / NS_PER_MS;
    struct lmn__eta eta = lmn__pace_eta(&stats->pace, left);
    double seconds = (double)recent.now_ns / 1e9;

    status->wait_ms = ready_ms > busy_ms ? ready_ms - busy_ms : 0;
    status->rate = status->elapsed_ms > 0
                       ? (double)status->rows_computed * 1000 / (double)status->elapsed_ms
                       : 0;
    status->rate_recent = seconds > 0 ? (double)recent.rows / seconds : status->rate;
    status->read_rate = seconds > 0 ? (double)recent.read_bytes / seconds : 0;
    status->write_rate = seconds > 0 ? (double)recent.written_bytes / seconds : 0;
    status->eta_ms = eta.ms;
    status->eta_low_ms = eta.low_ms;
    status->eta_high_ms = eta.high_ms;
    status->checkpoint_age_ms = age_ms(now_ns, stats->checkpoint_ns);
    status->commit_age_ms = age_ms(now_ns, stats->commit_ns);
    lmn__verdict(&facts, status->verdict);
}

void lmn__stats_update(struct lmn_job *job, struct lmn_job_status *status, uint64_t read_bytes,
                       uint64_t now_ns, bool last)
{
    struct lmn__stats *stats = &job->stats;
    bool first = stats->look_ns == 0;
    struct lmn__pace_sample sample = { .now_ns = now_ns,
                                       .rows = status->rows_computed,
                                       .read_bytes = read_bytes,
                                       .written_bytes = status->bytes_written,
                                       .read_ns = status->read_ms * NS_PER_MS,
                                       .call_ns = status->call_ms * NS_PER_MS,
                                       .write_ns = status->write_ms * NS_PER_MS,
                                       .granted = job->calls_granted,
                                       .deferred = job->calls_deferred };

    look_at_progress(job, status, now_ns);
    if (!first && !last && now_ns < stats->look_ns + LOOK_NS)
        return;
    look_at_workers(job);
    stats->look_ns = now_ns;
    if (first)
        stats->cpus = lmn__host_cpus();
    look_at_gpus(job);
    look_at_disk(job, status);
    sample.thread_ns = stats->thread_ns;
    sample.cpu_ns = stats->cpu_ns;
    sample.idle_ns = lmn__host_idle_ns();
    lmn__pace_add(&stats->pace, &sample);
    tell(job, status, now_ns);
}

static void write_gpus(const struct lmn__stats *stats, struct lmn__json_writer *writer)
{
    if (stats->gpu_count == 0)
        return;
    lmn__json_open(writer, "gpus", '[');
    for (uint32_t i = 0; i < stats->gpu_count; i++) {
        lmn__json_open(writer, NULL, '{');
        lmn__json_number(writer, "id", stats->gpu[i].id);
        lmn__json_number(writer, "busy_percent", stats->gpu[i].use.busy_percent);
        lmn__json_number(writer, "memory_used_bytes", stats->gpu[i].use.memory_used_bytes);
        lmn__json_number(writer, "memory_bytes", stats->gpu[i].use.memory_bytes);
        lmn__json_close(writer, '}');
    }
    lmn__json_close(writer, ']');
}

/* Tasks that run stand beside those that are done. */
void lmn__stats_write(const struct lmn_job *job, struct lmn__json_writer *writer)
{
    const struct lmn__stats *stats = &job->stats;
    struct lmn__highlights shown = stats->highlights;
    uint64_t now_ns = lmn__clock_monotonic_ns();
    uint32_t slots = job->slot != NULL && job->unit != NULL ? job->worker_count * job->threads : 0;

    for (uint32_t i = 0; i < slots; i++) {
        struct lmn__task_note note;

        if (!job->slot[i].busy)
            continue;
        note = note_of(job, i, now_ns);
        note.running = true;
        lmn__highlights_task(&shown, &note);
    }
    lmn__highlights_write(&shown, writer);
    write_gpus(stats, writer);
    if (!stats->disk_known)
        return;
    lmn__json_open(writer, "disk", '{');
    lmn__json_number(writer, "needed_bytes", stats->disk_needed_bytes);
    lmn__json_number(writer, "free_bytes", stats->disk_free_bytes);
    lmn__json_close(writer, '}');
}
