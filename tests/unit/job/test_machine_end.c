/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine by hand: how many rows may fail, when units are committed, when a job ends and what
 * it says.
 */
#include "hand_job.h"

#define SECOND UINT64_C(1000000000)

/* Rows in results of ten, so many of each failed; the number of results until the job ends. */
static uint32_t results_until_end(const struct lmn__machine_limits *limits, uint64_t failed,
                                  enum lmn__cause cause)
{
    struct lmn__machine_options options = { .limits = limits, .fill_count = 1 };
    struct lmn__action task;
    struct hand_job job;
    uint32_t count = 0;

    options.task_rows_min = options.task_rows_max = 10;
    hand_job_make(&job, &options);
    (void)hand_add(&job, 100000);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    while (hand_count(&job, LMN__ACTION_START_TASK) == 1 && count < 1000) {
        task = hand_only(&job, LMN__ACTION_START_TASK);
        hand_complete(&job, task, failed);
        count++;
    }
    if (count < 1000) {
        CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_FAILED);
        CHECK_EQ(hand_finish(&job).cause, cause);
        CHECK(hand_finish(&job).reason[0] != '\0');
    }
    hand_job_free(&job);
    return count;
}

static void test_machine_end__failed_rows_have_limits(void **state)
{
    const struct lmn__machine_limits none = { .unlimited = true },
                                     own = { .given = true, .count_max = 4, .fraction_max = 0.5 };
    const struct lmn__machine_limits fast = { .given = true };

    (void)state;
    CHECK_EQ(results_until_end(NULL, 10, LMN__CAUSE_FIRST_ROWS), 2);
    CHECK_EQ(results_until_end(NULL, 1, LMN__CAUSE_FAILED_ROWS), 101);
    CHECK_EQ(results_until_end(NULL, 0, LMN__CAUSE_NONE), 1000);
    CHECK_EQ(results_until_end(&none, 10, LMN__CAUSE_NONE), 1000);
    CHECK_EQ(results_until_end(&own, 5, LMN__CAUSE_NONE), 1000); /* half of them is not beyond it */
    CHECK_EQ(results_until_end(&own, 6, LMN__CAUSE_FAILED_ROWS), 1);
    CHECK_EQ(results_until_end(&fast, 1, LMN__CAUSE_FAILED_ROWS), 1);
}

static void test_machine_end__limits_belong_to_a_fill(void **state)
{
    const struct lmn__machine_limits limits[2] = { { .unlimited = true },
                                                   { .given = true, .count_max = 1 } };
    struct lmn__machine_options options = {
        .limits = limits, .fill_count = 2, .task_rows_min = 5, .task_rows_max = 5
    };
    struct lmn__machine_unit unit = { .row_count = 10 };
    struct lmn_error err;
    struct hand_job job;
    uint64_t number;

    (void)state;
    hand_job_make(&job, &options);
    CHECK_OK(lmn__machine_add_unit(job.machine, &unit, &number, &err));
    unit.fill = 1;
    CHECK_OK(lmn__machine_add_unit(job.machine, &unit, &number, &err));
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    hand_complete(&job, hand_only(&job, LMN__ACTION_START_TASK), 4);
    hand_complete(&job, hand_only(&job, LMN__ACTION_START_TASK), 4);
    hand_complete(&job, hand_only(&job, LMN__ACTION_START_TASK), 1);
    hand_complete(&job, hand_only(&job, LMN__ACTION_START_TASK), 1);
    CHECK_EQ(hand_count(&job, LMN__ACTION_START_TASK), 0);
    hand_committed(&job, lmn__machine_counts(job.machine).committed + 1);
    CHECK_EQ(hand_finish(&job).cause, LMN__CAUSE_FAILED_ROWS);
    CHECK_EQ(lmn__machine_counts(job.machine).committed, 20); /* what is whole is kept */
    hand_job_free(&job);
}

static void test_machine_end__commits_once_per_interval(void **state)
{
    struct lmn__machine_options options = { .task_rows_min = 1,
                                            .task_rows_max = 1,
                                            .commit_interval_ns = 60 * SECOND };
    struct hand_job job;
    uint64_t commit;

    (void)state;
    hand_job_make(&job, &options);
    job.now_ns = 1000 * SECOND;
    for (int i = 0; i < 6; i++)
        (void)hand_add(&job, 1);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    CHECK(lmn__machine_wake_ns(job.machine) == UINT64_MAX);
    hand_complete(&job, hand_only(&job, LMN__ACTION_START_TASK), 0);
    CHECK(lmn__machine_wake_ns(job.machine) == 1060 * SECOND);
    hand_complete(&job, hand_only(&job, LMN__ACTION_START_TASK), 0);
    job.now_ns = 1060 * SECOND;
    hand_tell_kind(&job, LMN__EVENT_TICK);
    commit = hand_only(&job, LMN__ACTION_COMMIT).commit;
    job.now_ns = 1200 * SECOND;
    hand_tell_kind(&job, LMN__EVENT_TICK);
    CHECK_EQ(job.count, 0); /* one at a time */
    hand_committed(&job, commit);
    CHECK_EQ(lmn__machine_counts(job.machine).committed, 2);
    hand_job_free(&job);
}

static void test_machine_end__commits_by_number(void **state)
{
    struct lmn__machine_options options = { .task_rows_min = 1,
                                            .task_rows_max = 1,
                                            .units_per_commit = 2 };
    struct lmn__action task;
    struct hand_job job;
    uint64_t count;

    (void)state;
    hand_job_make(&job, &options);
    for (int i = 0; i < 5; i++)
        (void)hand_add(&job, 1);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    for (uint64_t i = 0; i < 5; i++) {
        task = hand_only(&job, LMN__ACTION_START_TASK);
        hand_durable(&job, hand_result(&job, &task, 0, 1, 0));
        if (hand_count(&job, LMN__ACTION_COMMIT) == 1) {
            uint64_t commit = hand_only(&job, LMN__ACTION_COMMIT).commit;

            (void)lmn__machine_commit_units(job.machine, commit, &count);
            CHECK_EQ(count, i < 4 ? 2 : 1);
            hand_committed(&job, commit);
        }
        if (i < 4)
            hand_done(&job, &task);
    }
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_DONE);
    hand_job_free(&job);
}

static void test_machine_end__stop_keeps_what_is_there(void **state)
{
    struct lmn__machine_options options = { .worker_count = 2,
                                            .task_rows_min = 4,
                                            .task_rows_max = 4 };
    struct lmn__action task[2];
    uint64_t receipt;
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &options);
    (void)hand_add(&job, 4);
    (void)hand_add(&job, 40);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    task[0] = hand_only(&job, LMN__ACTION_START_TASK);
    hand_ready(&job, 1);
    task[1] = hand_only(&job, LMN__ACTION_START_TASK);
    hand_tell_kind(&job, LMN__EVENT_STOP);
    CHECK_EQ(hand_count(&job, LMN__ACTION_STOP_SLOT), 2);
    hand_complete(&job, task[0], 0);
    receipt = hand_result(&job, &task[1], 0, 1, 0);
    hand_done(&job, &task[1]);
    CHECK_EQ(job.count, 0); /* the receipt is on its way */
    hand_durable(&job, receipt);
    CHECK_EQ(hand_count(&job, LMN__ACTION_RETIRE), 2);
    hand_committed(&job, hand_only(&job, LMN__ACTION_COMMIT).commit);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_STOPPED);
    CHECK_EQ(hand_finish(&job).cause, LMN__CAUSE_STOP);
    CHECK_EQ(lmn__machine_counts(job.machine).committed, 4);
    CHECK_EQ(lmn__machine_counts(job.machine).checkpointed, 5);
    hand_job_free(&job);
}

static void test_machine_end__stop_that_comes_too_late_is_no_stop(void **state)
{
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &(struct lmn__machine_options){ .task_rows_min = 4, .task_rows_max = 4 });
    (void)hand_add(&job, 4);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    hand_complete(&job, hand_only(&job, LMN__ACTION_START_TASK), 0);
    hand_tell_kind(&job, LMN__EVENT_STOP);
    hand_committed(&job, 1);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_DONE);
    CHECK_STR(hand_finish(&job).reason, "");
    hand_job_free(&job);
}

static void test_machine_end__deadline_stops(void **state)
{
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &(struct lmn__machine_options){ .deadline_ns = 5 * SECOND });
    (void)hand_add(&job, 4);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    CHECK(lmn__machine_wake_ns(job.machine) == 5 * SECOND);
    job.now_ns = 5 * SECOND;
    hand_tell_kind(&job, LMN__EVENT_TICK);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_STOPPED);
    CHECK_EQ(hand_finish(&job).cause, LMN__CAUSE_DEADLINE);
    hand_job_free(&job);
}

static void test_machine_end__failure_is_more_than_a_stop(void **state)
{
    struct lmn__action task;
    struct hand_job job;

    (void)state;
    hand_job_make(&job, NULL);
    (void)hand_add(&job, 4);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    task = hand_only(&job, LMN__ACTION_START_TASK);
    hand_tell_kind(&job, LMN__EVENT_STOP);
    hand_tell(&job, (struct lmn__event){
                        .kind = LMN__EVENT_TASK_FAILED, .slot = task.slot, .task = task.task });
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_FAILED);
    CHECK_EQ(hand_finish(&job).cause, LMN__CAUSE_TASK);
    CHECK_EQ(hand_finish(&job).task, task.task);
    hand_job_free(&job);
}

static void test_machine_end__a_commit_that_fails_is_the_last(void **state)
{
    struct lmn__machine_options options = { .task_rows_min = 2,
                                            .task_rows_max = 2,
                                            .units_per_commit = 1 };
    struct lmn__action task;
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &options);
    (void)hand_add(&job, 2);
    (void)hand_add(&job, 4);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    hand_complete(&job, hand_only(&job, LMN__ACTION_START_TASK), 0);
    task = hand_only(&job, LMN__ACTION_START_TASK);
    hand_tell(&job, (struct lmn__event){ .kind = LMN__EVENT_COMMIT_FAILED, .commit = 1 });
    (void)hand_only(&job, LMN__ACTION_STOP_SLOT);
    hand_complete(&job, task, 0);
    CHECK_EQ(hand_finish(&job).cause, LMN__CAUSE_COMMIT);
    CHECK_EQ(lmn__machine_counts(job.machine).checkpointed, 4);
    CHECK_EQ(lmn__machine_counts(job.machine).committed, 0);
    hand_job_free(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine_end__failed_rows_have_limits),
        cmocka_unit_test(test_machine_end__limits_belong_to_a_fill),
        cmocka_unit_test(test_machine_end__commits_once_per_interval),
        cmocka_unit_test(test_machine_end__commits_by_number),
        cmocka_unit_test(test_machine_end__stop_keeps_what_is_there),
        cmocka_unit_test(test_machine_end__stop_that_comes_too_late_is_no_stop),
        cmocka_unit_test(test_machine_end__deadline_stops),
        cmocka_unit_test(test_machine_end__failure_is_more_than_a_stop),
        cmocka_unit_test(test_machine_end__a_commit_that_fails_is_the_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
