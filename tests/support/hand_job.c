/* SPDX-License-Identifier: Apache-2.0 */
#include "hand_job.h"

void hand_job_make(struct hand_job *job, const struct lmn__machine_options *options)
{
    struct lmn_error err;

    *job = (struct hand_job){ 0 };
    CHECK_STATUS(lmn__machine_new(test_env(), options, &job->machine, &err), LMN_OK, &err);
}

void hand_job_free(struct hand_job *job)
{
    lmn__machine_free(job->machine);
    CHECK_EQ(live_allocations(), 0);
}

uint64_t hand_add(struct hand_job *job, uint64_t row_count)
{
    struct lmn__machine_unit unit = { .row_count = row_count };
    struct lmn_error err;
    uint64_t number;

    CHECK_STATUS(lmn__machine_add_unit(job->machine, &unit, &number, &err), LMN_OK, &err);
    return number;
}

void hand_tell(struct hand_job *job, struct lmn__event event)
{
    struct lmn_error err;

    event.now_ns = job->now_ns;
    CHECK_STATUS(lmn__machine_tell(job->machine, &event, &err), LMN_OK, &err);
    for (job->count = 0; lmn__machine_next(job->machine, &job->action[job->count]); job->count++) {
        CHECK(job->count < 255);
        CHECK(job->last.kind != LMN__ACTION_FINISH);
        if (job->action[job->count].kind == LMN__ACTION_FINISH)
            job->last = job->action[job->count];
    }
}

void hand_tell_kind(struct hand_job *job, enum lmn__event_kind kind)
{
    hand_tell(job, (struct lmn__event){ .kind = kind });
}

const struct lmn__action *hand_nth(const struct hand_job *job, enum lmn__action_kind kind,
                                   uint32_t n)
{
    for (uint32_t i = 0; i < job->count; i++) {
        if (job->action[i].kind == kind && n-- == 0)
            return &job->action[i];
    }
    return NULL;
}

uint32_t hand_count(const struct hand_job *job, enum lmn__action_kind kind)
{
    uint32_t count = 0;

    while (hand_nth(job, kind, count) != NULL)
        count++;
    return count;
}

struct lmn__action hand_only(const struct hand_job *job, enum lmn__action_kind kind)
{
    CHECK_EQ(hand_count(job, kind), 1);
    return *hand_nth(job, kind, 0);
}

void hand_ready(struct hand_job *job, uint32_t worker)
{
    hand_tell(job, (struct lmn__event){ .kind = LMN__EVENT_WORKER_READY, .worker = worker });
}

uint64_t hand_result(struct hand_job *job, const struct lmn__action *task, uint64_t first,
                     uint64_t count, uint64_t failed)
{
    hand_tell(job, (struct lmn__event){ .kind = LMN__EVENT_RESULT,
                                        .slot = task->slot,
                                        .task = task->task,
                                        .rows = { first, count },
                                        .failed_count = failed });
    return hand_only(job, LMN__ACTION_ACCEPT).receipt;
}

void hand_durable(struct hand_job *job, uint64_t receipt)
{
    hand_tell(job, (struct lmn__event){ .kind = LMN__EVENT_RECEIPT_DURABLE, .receipt = receipt });
}

void hand_done(struct hand_job *job, const struct lmn__action *task)
{
    hand_tell(job, (struct lmn__event){
                       .kind = LMN__EVENT_TASK_DONE, .slot = task->slot, .task = task->task });
}

void hand_committed(struct hand_job *job, uint64_t commit)
{
    hand_tell(job, (struct lmn__event){ .kind = LMN__EVENT_COMMITTED, .commit = commit });
}

void hand_die_in(struct hand_job *job, const struct lmn__action *task, uint64_t first,
                 uint64_t count)
{
    lmn__machine_died(job->machine, task->slot, (struct lmn__ordinals){ first, count });
    hand_tell(job, (struct lmn__event){ .kind = LMN__EVENT_WORKER_DIED, .worker = task->worker });
}

struct lmn__action hand_finish(const struct hand_job *job)
{
    CHECK_EQ(job->last.kind, LMN__ACTION_FINISH);
    return job->last;
}

void hand_complete(struct hand_job *job, struct lmn__action task, uint64_t failed)
{
    uint64_t receipt = hand_result(job, &task, task.rows.first, task.rows.count, failed);

    hand_durable(job, receipt);
    hand_done(job, &task);
}
