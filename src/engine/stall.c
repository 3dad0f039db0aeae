/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that has a task and finishes no batch, and no row in one, for long is an event that
 * names the worker and the row, once until it goes on. Nothing is done about it: a call may take
 * its time.
 */
#include "engine/job.h"

static const uint64_t STALL_MS = 300000;

static void tell_stall(struct lmn_job *job, uint32_t number, const struct lmn__page *page,
                       uint64_t since_ns)
{
    const struct lmn__job_slot *slot = &job->slot[number];
    uint64_t fragment = job->unit[slot->unit].fragment->id;
    unsigned long long rows = atomic_load(&page->call_count);
    double seconds = (double)since_ns / 1e9;

    if (atomic_load(&page->call_began_ns) != 0)
        lmn__job_note(job,
                      "worker %u has finished no batch for %.0f s: it is in a call of %llu row%s, "
                      "the first of them row %llu of fragment %llu",
                      number / job->threads, seconds, rows, rows == 1 ? "" : "s",
                      (unsigned long long)atomic_load(&page->call_row_id),
                      (unsigned long long)fragment);
    else
        lmn__job_note(job,
                      "worker %u has finished no batch for %.0f s: it reads or writes rows of "
                      "fragment %llu",
                      number / job->threads, seconds, (unsigned long long)fragment);
}

void lmn__job_watch_stalls(struct lmn_job *job, uint64_t now_ns)
{
    uint64_t limit_ms = job->options.stall_ms != 0 ? job->options.stall_ms : STALL_MS;

    for (uint32_t i = 0; i < job->worker_count * job->threads; i++) {
        struct lmn__job_slot *slot = &job->slot[i];
        const struct lmn__crew_worker *crew = job->worker[i / job->threads].crew;
        const struct lmn__page *page = crew != NULL ? &crew->page[i % job->threads] : NULL;
        uint64_t rows = page != NULL ? atomic_load(&page->rows) + atomic_load(&page->call_first)
                                     : 0;

        if (!slot->busy || page == NULL || slot->moved_ns == 0 || rows != slot->moved_rows) {
            slot->moved_ns = now_ns;
            slot->moved_rows = rows;
            slot->stall_told = false;
        } else if (!slot->stall_told && now_ns > slot->moved_ns + limit_ms * 1000000) {
            slot->stall_told = true;
            tell_stall(job, i, page, now_ns - slot->moved_ns);
        }
    }
}
