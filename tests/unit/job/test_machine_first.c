/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine by hand: the first part of the first unit. Each slot has a share of it; rows behind
 * it wait until a result shows that the unit is small, or until the part is committed.
 */
#include "hand_job.h"

/* Two slots, and a unit of 100 rows of which 10 are its first part. */
static void make(struct hand_job *job, uint64_t bytes_min)
{
    const struct lmn__machine_options options = { .worker_count = 2 };
    const struct lmn__machine_unit unit = { .row_count = 100,
                                            .first_rows = 10,
                                            .first_bytes_min = bytes_min };
    struct lmn_error err;
    uint64_t number;

    hand_job_make(job, &options);
    CHECK_STATUS(lmn__machine_add_unit(job->machine, &unit, &number, &err), LMN_OK, &err);
    hand_tell_kind(job, LMN__EVENT_TICK);
}

/* The result of a task, of so many bytes; its receipt. */
static uint64_t result(struct hand_job *job, const struct lmn__action *task, uint64_t bytes)
{
    hand_tell(job, (struct lmn__event){ .kind = LMN__EVENT_RESULT,
                                        .slot = task->slot,
                                        .task = task->task,
                                        .rows = task->rows,
                                        .bytes = bytes });
    return hand_only(job, LMN__ACTION_ACCEPT).receipt;
}

static struct lmn__action ready(struct hand_job *job, uint32_t worker)
{
    hand_ready(job, worker);
    return hand_only(job, LMN__ACTION_START_TASK);
}

/* Complete what is given out until nothing is; how many rows that were. */
static uint64_t complete_all(struct hand_job *job, struct lmn__action task)
{
    uint64_t rows = task.rows.count;

    hand_complete(job, task, 0);
    while (hand_count(job, LMN__ACTION_START_TASK) > 0) {
        task = *hand_nth(job, LMN__ACTION_START_TASK, 0);
        rows += task.rows.count;
        hand_complete(job, task, 0);
    }
    return rows;
}

static void test_machine_first__committed_by_itself(void **state)
{
    struct hand_job job;
    struct lmn__action task[2];
    uint64_t receipt[2], commit, count;

    (void)state;
    make(&job, 1000);
    task[0] = ready(&job, 0);
    task[1] = ready(&job, 1);
    CHECK_EQ(task[0].rows.count, 5);
    CHECK_EQ(task[1].rows.first, 5);
    CHECK_EQ(task[1].rows.count, 5);
    receipt[0] = result(&job, &task[0], 50); /* 10 a row: 1000 in all */
    hand_durable(&job, receipt[0]);
    hand_done(&job, &task[0]);
    CHECK_EQ(job.count, 0); /* the rows behind wait */
    receipt[1] = result(&job, &task[1], 0);
    CHECK_EQ(hand_count(&job, LMN__ACTION_COMMIT), 0);
    hand_durable(&job, receipt[1]);
    commit = hand_only(&job, LMN__ACTION_COMMIT).commit;
    CHECK_EQ(lmn__machine_commit_units(job.machine, commit, &count)[0], 0);
    CHECK_EQ(count, 1);
    CHECK(lmn__machine_is_part(job.machine, 0));
    hand_done(&job, &task[1]);
    CHECK_EQ(job.count, 0); /* nothing of the unit is on its way while a part is committed */
    hand_committed(&job, commit);
    CHECK(!lmn__machine_is_part(job.machine, 0));
    CHECK_EQ(lmn__machine_counts(job.machine).committed, 10);
    CHECK_EQ(lmn__machine_counts(job.machine).planned, 100);
    CHECK_EQ(hand_count(&job, LMN__ACTION_START_TASK), 2);
    CHECK_EQ(hand_nth(&job, LMN__ACTION_START_TASK, 0)->rows.first, 10);
    task[1] = *hand_nth(&job, LMN__ACTION_START_TASK, 1);
    CHECK_EQ(complete_all(&job, *hand_nth(&job, LMN__ACTION_START_TASK, 0)) + task[1].rows.count,
             90);
    hand_complete(&job, task[1], 0);
    hand_committed(&job, commit + 1);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_DONE);
    CHECK_EQ(lmn__machine_counts(job.machine).committed, 100);
    hand_job_free(&job);
}

/* A small result: the rows behind are given out at once, and all are committed together. */
static void test_machine_first__small_is_forgotten(void **state)
{
    struct hand_job job;
    struct lmn__action task[2];
    uint64_t receipt;

    (void)state;
    make(&job, 1000);
    task[0] = ready(&job, 0);
    task[1] = ready(&job, 1);
    receipt = result(&job, &task[0], 49);
    hand_done(&job, &task[0]);
    task[0] = hand_only(&job, LMN__ACTION_START_TASK);
    CHECK_EQ(task[0].rows.first, 10);
    hand_durable(&job, receipt);
    (void)complete_all(&job, task[0]);
    CHECK_EQ(lmn__machine_counts(job.machine).committed, 0);
    hand_complete(&job, task[1], 0);
    hand_committed(&job, 1);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_DONE);
    hand_job_free(&job);
}

/* One worker comes late: the other one computes its share. */
static void test_machine_first__whoever_is_there(void **state)
{
    struct hand_job job;
    struct lmn__action task;
    uint64_t commit;

    (void)state;
    make(&job, 0);
    task = ready(&job, 0);
    hand_complete(&job, task, 0);
    task = hand_only(&job, LMN__ACTION_START_TASK);
    CHECK_EQ(task.rows.first, 5);
    CHECK_EQ(task.rows.count, 5);
    hand_durable(&job, result(&job, &task, 0));
    commit = hand_only(&job, LMN__ACTION_COMMIT).commit;
    hand_done(&job, &task);
    hand_committed(&job, commit);
    CHECK_EQ(hand_only(&job, LMN__ACTION_START_TASK).rows.first, 10);
    hand_job_free(&job);
}

/* A stop ends the wait: what has receipts keeps them. */
static void test_machine_first__stops(void **state)
{
    struct hand_job job;
    struct lmn__action task;

    (void)state;
    make(&job, 0);
    task = ready(&job, 0);
    hand_durable(&job, result(&job, &task, 0));
    hand_tell_kind(&job, LMN__EVENT_STOP);
    hand_done(&job, &task);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_STOPPED);
    CHECK_EQ(lmn__machine_counts(job.machine).checkpointed, 5);
    CHECK_EQ(lmn__machine_counts(job.machine).committed, 0);
    hand_job_free(&job);
}

/* Its unit is replaced: before the commit nothing of it counts, after that the part does. */
static void test_machine_first__dropped(void **state)
{
    struct hand_job job;
    struct lmn__action task;
    struct lmn_error err;

    (void)state;
    for (int before = 1; before >= 0; before--) {
        make(&job, 0);
        task = ready(&job, 0);
        hand_complete(&job, task, 0);
        task = hand_only(&job, LMN__ACTION_START_TASK);
        hand_durable(&job, result(&job, &task, 0));
        if (before == 0)
            hand_committed(&job, hand_only(&job, LMN__ACTION_COMMIT).commit);
        CHECK_OK(lmn__machine_drop_unit(job.machine, 0, &err));
        CHECK_EQ(lmn__machine_counts(job.machine).planned, before ? 0 : 10);
        CHECK_EQ(lmn__machine_counts(job.machine).checkpointed, before ? 0 : 10);
        (void)hand_add(&job, 90);
        hand_done(&job, &task);
        CHECK_EQ(hand_only(&job, LMN__ACTION_START_TASK).unit, 1);
        hand_job_free(&job);
    }
}

/* Rows that end every worker are no result: with nothing else in the part it is forgotten. */
static void test_machine_first__poison(void **state)
{
    const struct lmn__machine_options options = { .row_deaths_max = 1 };
    const struct lmn__machine_unit unit = { .row_count = 5, .first_rows = 1 };
    struct hand_job job;
    struct lmn__action task;
    struct lmn_error err;
    uint64_t number;

    (void)state;
    hand_job_make(&job, &options);
    CHECK_OK(lmn__machine_add_unit(job.machine, &unit, &number, &err));
    hand_tell_kind(&job, LMN__EVENT_TICK);
    task = ready(&job, 0);
    CHECK_EQ(task.rows.count, 1);
    hand_die_in(&job, &task, 0, 1);
    hand_durable(&job, hand_only(&job, LMN__ACTION_FAIL_ROW).receipt);
    task = ready(&job, 0);
    CHECK_EQ(task.rows.first, 1);
    hand_job_free(&job);
}

static void test_machine_first__bad(void **state)
{
    const struct lmn__ordinals done = { 0, 1 };
    const struct lmn__machine_unit bad[] = {
        { .row_count = 10, .first_rows = 10 },
        { .row_count = 10, .first_rows = 2, .done = &done, .done_count = 1 },
    };
    const struct lmn__machine_unit second = { .row_count = 10, .first_rows = 2 };
    struct lmn_error err;
    struct hand_job job;
    uint64_t number;

    (void)state;
    hand_job_make(&job, NULL);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(lmn__machine_add_unit(job.machine, &bad[i], &number, &err), LMN_E_INVALID,
                     &err);
        CHECK_HAS(err.message, "cannot have a first part of");
    }
    (void)hand_add(&job, 10);
    CHECK_STATUS(lmn__machine_add_unit(job.machine, &second, &number, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "unit 1 of 10 rows, 0 runs of them done, cannot have a first part of 2");
    hand_job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine_first__committed_by_itself),
        cmocka_unit_test(test_machine_first__small_is_forgotten),
        cmocka_unit_test(test_machine_first__whoever_is_there),
        cmocka_unit_test(test_machine_first__stops),
        cmocka_unit_test(test_machine_first__dropped),
        cmocka_unit_test(test_machine_first__poison),
        cmocka_unit_test(test_machine_first__bad),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
