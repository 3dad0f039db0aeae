/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hand_job.h - a job's machine driven by hand, one event at a time.
 *
 * What the machine refuses fails the test.
 */
#ifndef LMN_TESTS_HAND_JOB_H
#define LMN_TESTS_HAND_JOB_H

#include "check.h"
#include "job/machine.h"

/* A machine and the actions of its last event. */
struct hand_job {
    struct lmn__machine *machine;
    uint64_t now_ns;
    struct lmn__action action[256];
    uint32_t count;
    struct lmn__action last; /* FINISH, whenever it came */
};

void hand_job_make(struct hand_job *job, const struct lmn__machine_options *options);
void hand_job_free(struct hand_job *job);
/* A unit of so many rows; its number. */
uint64_t hand_add(struct hand_job *job, uint64_t row_count);
/* Tell an event and take all its actions. */
void hand_tell(struct hand_job *job, struct lmn__event event);
void hand_tell_kind(struct hand_job *job, enum lmn__event_kind kind);

/* The nth action of this kind, from 0; NULL: there are fewer. */
const struct lmn__action *hand_nth(const struct hand_job *job, enum lmn__action_kind kind,
                                   uint32_t n);
uint32_t hand_count(const struct hand_job *job, enum lmn__action_kind kind);
/* The one action of this kind. */
struct lmn__action hand_only(const struct hand_job *job, enum lmn__action_kind kind);
void hand_ready(struct hand_job *job, uint32_t worker);

/* A result for the next rows of a task, accepted. */
uint64_t hand_result(struct hand_job *job, const struct lmn__action *task, uint64_t first,
                     uint64_t count, uint64_t failed);
void hand_durable(struct hand_job *job, uint64_t receipt);
void hand_done(struct hand_job *job, const struct lmn__action *task);
void hand_committed(struct hand_job *job, uint64_t commit);

/* The worker of the task dies in this call. */
void hand_die_in(struct hand_job *job, const struct lmn__action *task, uint64_t first,
                 uint64_t count);
/* The last action; the job has ended. */
struct lmn__action hand_finish(const struct hand_job *job);

/* All of a task at once: its rows, durable, done. */
void hand_complete(struct hand_job *job, struct lmn__action task, uint64_t failed);

#endif
