/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The machine by hand: which rows go where, and what the death of a worker leads to. Random orders
 * of events are in tests/sim.
 */
#include "hand_job.h"

static void test_machine__one_unit_from_start_to_end(void **state)
{
    struct hand_job job;
    struct lmn__action task;
    const uint64_t *unit;
    uint64_t count;

    (void)state;
    hand_job_make(&job, NULL);
    CHECK_EQ(hand_add(&job, 10), 0);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    CHECK_EQ(hand_only(&job, LMN__ACTION_START_WORKER).worker, 0);
    hand_ready(&job, 0);
    while (hand_count(&job, LMN__ACTION_START_TASK) == 1) {
        task = hand_only(&job, LMN__ACTION_START_TASK);
        CHECK_EQ(task.batch_rows_max, 0);
        hand_durable(&job, hand_result(&job, &task, task.rows.first, task.rows.count, 0));
        if (task.rows.first + task.rows.count < 10)
            hand_done(&job, &task);
    }
    unit = lmn__machine_commit_units(job.machine, hand_only(&job, LMN__ACTION_COMMIT).commit,
                                     &count);
    CHECK_EQ(count, 1);
    CHECK_EQ(unit[0], 0);
    CHECK_EQ(hand_only(&job, LMN__ACTION_RETIRE).worker, 0);
    hand_committed(&job, hand_nth(&job, LMN__ACTION_COMMIT, 0)->commit);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_DONE);
    CHECK_EQ(lmn__machine_counts(job.machine).committed, 10);
    hand_job_free(&job);
}

static void test_machine__nothing_to_do(void **state)
{
    struct lmn__ordinals all = { 0, 5 };
    struct lmn__machine_unit unit = {
        .row_count = 5, .done = &all, .done_count = 1, .done_failed = 2
    };
    struct lmn_error err;
    struct hand_job job;
    uint64_t number;

    (void)state;
    hand_job_make(&job, NULL);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_DONE);
    hand_job_free(&job);

    hand_job_make(&job, NULL);
    CHECK_OK(lmn__machine_add_unit(job.machine, &unit, &number, &err));
    hand_tell_kind(&job, LMN__EVENT_TICK);
    CHECK_EQ(job.count, 1);
    hand_committed(&job, hand_only(&job, LMN__ACTION_COMMIT).commit);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_DONE_FAILED);
    hand_job_free(&job);
}

static void test_machine__only_rows_without_receipt_are_computed(void **state)
{
    struct lmn__ordinals given[] = { { 0, 2 }, { 4, 1 }, { 8, 2 } };
    struct lmn__machine_unit unit = { .row_count = 10, .done = given, .done_count = 3 };
    struct lmn_error err;
    struct hand_job job;
    uint64_t number, rows = 0;

    (void)state;
    hand_job_make(&job,
                  &(struct lmn__machine_options){ .task_rows_min = 100, .task_rows_max = 100 });
    CHECK_OK(lmn__machine_add_unit(job.machine, &unit, &number, &err));
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    while (hand_count(&job, LMN__ACTION_START_TASK) == 1) {
        struct lmn__action task = hand_only(&job, LMN__ACTION_START_TASK);

        for (uint64_t i = task.rows.first; i < task.rows.first + task.rows.count; i++) {
            CHECK(i == 2 || i == 3 || (i >= 5 && i < 8));
            rows++;
        }
        hand_complete(&job, task, 0);
    }
    CHECK_EQ(rows, 5);
    hand_job_free(&job);
}

static void test_machine__units_that_contradict_themselves(void **state)
{
    struct lmn__ordinals twice[] = { { 0, 2 }, { 1, 1 } }, outside[] = { { 9, 2 } };
    const struct lmn__machine_unit unit[] = {
        { .row_count = 10, .done = twice, .done_count = 2 },
        { .row_count = 10, .done = outside, .done_count = 1 },
        { .row_count = 10, .done = twice, .done_count = 1, .done_failed = 3 },
        { .row_count = 10, .fill = 1 },
    };
    struct lmn_error err;
    struct hand_job job;
    uint64_t number;

    (void)state;
    hand_job_make(&job, NULL);
    for (size_t i = 0; i < sizeof(unit) / sizeof(unit[0]); i++)
        CHECK_STATUS(lmn__machine_add_unit(job.machine, &unit[i], &number, &err), LMN_E_INVALID,
                     &err);
    CHECK_EQ(lmn__machine_counts(job.machine).planned, 0);
    CHECK_STATUS(lmn__machine_drop_unit(job.machine, 0, &err), LMN_E_INVALID, &err);
    hand_job_free(&job);
}

/* What is counted ahead is what a job gives out while rows take no time. */
static void test_machine__tasks_are_counted_ahead(void **state)
{
    const struct lmn__machine_options options = { .worker_count = 2, .task_rows_min = 10 };
    struct lmn__ordinals done = { 5, 200 };
    struct lmn__machine_unit unit = { .row_count = 1234, .done = &done, .done_count = 1 };
    struct hand_job job;
    struct lmn_error err;
    uint64_t number, counted, tasks = 0;

    (void)state;
    hand_job_make(&job, &options);
    CHECK_OK(lmn__machine_add_unit(job.machine, &unit, &number, &err));
    (void)hand_add(&job, 77);
    counted = lmn__machine_count_tasks(job.machine);
    CHECK_EQ(lmn__machine_counts(job.machine).pending, 0);
    hand_job_free(&job);

    hand_job_make(&job, &options);
    CHECK_OK(lmn__machine_add_unit(job.machine, &unit, &number, &err));
    (void)hand_add(&job, 77);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    for (; hand_count(&job, LMN__ACTION_START_TASK) > 0; tasks++)
        hand_complete(&job, *hand_nth(&job, LMN__ACTION_START_TASK, 0), 0);
    CHECK(tasks > 20);
    CHECK_EQ(counted, tasks);
    hand_job_free(&job);
}

static void test_machine__slots_get_several_tasks_each(void **state)
{
    struct lmn__machine_options options = { .worker_count = 2, .slots_per_worker = 2 };
    uint64_t tasks = 0, smallest = UINT64_MAX;
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &options);
    for (int i = 0; i < 3; i++)
        (void)hand_add(&job, 400000);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    CHECK_EQ(hand_count(&job, LMN__ACTION_START_WORKER), 2);
    hand_ready(&job, 0);
    CHECK_EQ(hand_count(&job, LMN__ACTION_START_TASK), 2);
    while (hand_count(&job, LMN__ACTION_START_TASK) > 0) {
        struct lmn__action task = *hand_nth(&job, LMN__ACTION_START_TASK, 0);

        tasks++;
        smallest = task.rows.count < smallest ? task.rows.count : smallest;
        job.now_ns += 1000 * task.rows.count; /* a microsecond for a row */
        hand_complete(&job, task, 0);
    }
    CHECK(tasks >= 16 && tasks < 100);
    CHECK(smallest > 1000); /* rows that take no time are not given out one by one */
    hand_job_free(&job);
}

static void test_machine__tasks_of_whole_calls(void **state)
{
    struct lmn__machine_options options = { .worker_count = 8, .task_rows_min = 100 };
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &options);
    (void)hand_add(&job, 250);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    CHECK_EQ(hand_count(&job, LMN__ACTION_START_WORKER), 3); /* no more than there are calls */
    hand_ready(&job, 1);
    CHECK_EQ(hand_only(&job, LMN__ACTION_START_TASK).rows.count, 100);
    hand_ready(&job, 0);
    CHECK_EQ(hand_only(&job, LMN__ACTION_START_TASK).rows.count, 150);
    hand_job_free(&job);
}

static void test_machine__late_results_are_dropped(void **state)
{
    struct hand_job job;
    struct lmn__action first, second;

    (void)state;
    hand_job_make(&job, &(struct lmn__machine_options){ .task_rows_min = 4, .task_rows_max = 4 });
    (void)hand_add(&job, 4);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    first = hand_only(&job, LMN__ACTION_START_TASK);
    hand_die_in(&job, &first, 2, 0);
    CHECK_EQ(lmn__machine_counts(job.machine).calls_lost, 2);
    hand_ready(&job, 0);
    second = hand_only(&job, LMN__ACTION_START_TASK);
    CHECK(second.task != first.task);
    hand_tell(&job, (struct lmn__event){ .kind = LMN__EVENT_RESULT,
                                         .slot = first.slot,
                                         .task = first.task,
                                         .rows = { 0, 2 } });
    (void)hand_only(&job, LMN__ACTION_DROP);
    hand_done(&job, &first); /* is about nothing */
    CHECK_EQ(lmn__machine_counts(job.machine).running, 4);
    hand_complete(&job, second, 0);
    CHECK_EQ(lmn__machine_counts(job.machine).checkpointed, 4);
    hand_job_free(&job);
}

static void test_machine__protocol_errors_change_nothing(void **state)
{
    struct hand_job job;
    struct lmn__action task;
    struct lmn_error err;

    (void)state;
    hand_job_make(&job, &(struct lmn__machine_options){ .task_rows_min = 4, .task_rows_max = 4 });
    (void)hand_add(&job, 8);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    task = hand_only(&job, LMN__ACTION_START_TASK);
    const struct lmn__event wrong[] = {
        { .kind = LMN__EVENT_RESULT, .task = task.task, .rows = { 1, 1 } },
        { .kind = LMN__EVENT_RESULT, .task = task.task, .rows = { 0, 5 } },
        { .kind = LMN__EVENT_RESULT, .task = task.task, .rows = { 0, 0 } },
        { .kind = LMN__EVENT_RESULT, .task = task.task, .rows = { 0, 1 }, .failed_count = 2 },
        { .kind = LMN__EVENT_TASK_DONE, .task = task.task },
        { .kind = LMN__EVENT_WORKER_READY, .worker = 1 },
        { .kind = LMN__EVENT_RESULT, .slot = 1, .task = task.task, .rows = { 0, 1 } },
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        CHECK_STATUS(lmn__machine_tell(job.machine, &wrong[i], &err), LMN_E_INVALID, &err);
        CHECK_EQ(lmn__machine_counts(job.machine).running, 4);
    }
    CHECK_OK(lmn__machine_tell(job.machine, &(struct lmn__event){ .kind = LMN__EVENT_WORKER_DIED },
                               &err));
    CHECK_STATUS(lmn__machine_tell(job.machine, &wrong[0], &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "actions");
    hand_job_free(&job);
}

/* Compute like a worker with calls of at most `batch` rows in which `poison` ends the process. */
struct ordeal {
    uint64_t batch, poison;
    uint32_t deaths;
    uint32_t calls[64];
    uint64_t condemned;
};

/* One task, until it is done or the worker is dead. */
static void undergo(struct hand_job *job, struct lmn__action task, struct ordeal *ordeal)
{
    uint64_t most = task.batch_rows_max > 0 ? task.batch_rows_max : ordeal->batch;
    uint64_t end = task.rows.first + task.rows.count;

    for (uint64_t first = task.rows.first, count; first < end; first += count) {
        count = end - first < most ? end - first : most;
        for (uint64_t i = first; i < first + count; i++)
            ordeal->calls[i]++;
        if (ordeal->poison >= first && ordeal->poison < first + count) {
            ordeal->deaths++;
            hand_die_in(job, &task, first, count);
            if (hand_count(job, LMN__ACTION_FAIL_ROW) > 0) {
                ordeal->condemned = hand_only(job, LMN__ACTION_FAIL_ROW).rows.first;
                hand_durable(job, hand_only(job, LMN__ACTION_FAIL_ROW).receipt);
            }
            hand_ready(job, task.worker);
            return;
        }
        hand_durable(job, hand_result(job, &task, first, count, 0));
    }
    hand_done(job, &task);
}

static void test_machine__a_row_that_kills_is_found_by_halving(void **state)
{
    (void)state;
    for (uint64_t poison = 0; poison < 64; poison++) {
        struct ordeal ordeal = { .batch = 32, .poison = poison, .condemned = UINT64_MAX };
        struct hand_job job;

        hand_job_make(&job,
                      &(struct lmn__machine_options){ .task_rows_min = 64, .task_rows_max = 64 });
        (void)hand_add(&job, 64);
        hand_tell_kind(&job, LMN__EVENT_TICK);
        hand_ready(&job, 0);
        while (hand_count(&job, LMN__ACTION_START_TASK) == 1)
            undergo(&job, hand_only(&job, LMN__ACTION_START_TASK), &ordeal);
        CHECK_EQ(ordeal.condemned, poison);
        CHECK_EQ(ordeal.deaths, 7); /* calls of 32, 16, 8, 4, 2, 1 and the row once more */
        for (uint64_t i = 0; i < 64; i++)
            CHECK(ordeal.calls[i] <= (i == poison ? 7 : 6)); /* 1 + log2(32) */
        CHECK_EQ(lmn__machine_counts(job.machine).failed, 1);
        CHECK_EQ(lmn__machine_counts(job.machine).checkpointed, 64);
        hand_job_free(&job);
    }
}

static void test_machine__calls_that_are_too_large_stay_small(void **state)
{
    struct lmn__action task;
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &(struct lmn__machine_options){ .task_rows_min = 8, .task_rows_max = 8 });
    (void)hand_add(&job, 80);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    for (int i = 0; i < 3; i++) { /* any call of 8 ends the worker, those of 4 do not */
        task = hand_only(&job, LMN__ACTION_START_TASK);
        CHECK_EQ(task.batch_rows_max, 0);
        hand_die_in(&job, &task, task.rows.first, 8);
        hand_ready(&job, 0);
        task = hand_only(&job, LMN__ACTION_START_TASK);
        CHECK_EQ(task.batch_rows_max, 4);
        hand_complete(&job, task, 0);
        task = hand_only(&job, LMN__ACTION_START_TASK);
    }
    CHECK_EQ(task.batch_rows_max, 4);
    hand_job_free(&job);
}

static void test_machine__a_suspect_among_threads_is_tried_alone(void **state)
{
    struct lmn__machine_options options = { .slots_per_worker = 3,
                                            .task_rows_min = 1,
                                            .task_rows_max = 1 };
    struct hand_job job;
    struct lmn__action task[3], lone;

    (void)state;
    hand_job_make(&job, &options);
    (void)hand_add(&job, 9);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    CHECK_EQ(hand_count(&job, LMN__ACTION_START_TASK), 3);
    for (uint32_t i = 0; i < 3; i++) {
        task[i] = *hand_nth(&job, LMN__ACTION_START_TASK, i);
        lmn__machine_died(job.machine, task[i].slot, task[i].rows);
    }
    hand_tell(&job, (struct lmn__event){ .kind = LMN__EVENT_WORKER_DIED });
    CHECK_EQ(hand_count(&job, LMN__ACTION_FAIL_ROW), 0);
    hand_ready(&job, 0);
    for (uint32_t i = 0; i < 3; i++) {
        lone = hand_only(&job, LMN__ACTION_START_TASK); /* by itself, though three slots are free */
        CHECK_EQ(lone.rows.first, i);
        if (i == 1) {
            hand_die_in(&job, &lone, 1, 1);
            CHECK_EQ(hand_only(&job, LMN__ACTION_FAIL_ROW).rows.first, 1);
            hand_ready(&job, 0);
        } else {
            hand_complete(&job, lone, 0);
        }
    }
    CHECK_EQ(hand_count(&job, LMN__ACTION_START_TASK), 3);
    hand_job_free(&job);
}

static void test_machine__workers_that_keep_dying(void **state)
{
    struct lmn__machine_options options = { .worker_count = 2, .worker_restarts_max = 2 };
    struct lmn__event death = { .kind = LMN__EVENT_WORKER_DIED };
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &options);
    (void)hand_add(&job, 100);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_tell(&job, death);
    hand_tell(&job, death);
    CHECK_EQ(hand_only(&job, LMN__ACTION_START_WORKER).worker, 0);
    hand_tell(&job, death); /* and none was ever ready */
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_FAILED);
    CHECK_EQ(hand_finish(&job).cause, LMN__CAUSE_DEATHS);
    CHECK_HAS(hand_finish(&job).reason, "3 workers died before");
    hand_job_free(&job);

    hand_job_make(&job, &options);
    (void)hand_add(&job, 100);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 1);
    hand_tell(&job, death);
    hand_tell(&job, death);
    hand_tell(&job, death);
    CHECK_EQ(job.count, 0); /* worker 0 is given up, worker 1 goes on */
    CHECK_EQ(lmn__machine_counts(job.machine).workers_ready, 1);
    for (int i = 0; i < 3; i++)
        hand_tell(&job, (struct lmn__event){ .kind = LMN__EVENT_WORKER_DIED, .worker = 1 });
    CHECK_EQ(hand_finish(&job).cause, LMN__CAUSE_DEATHS);
    CHECK_EQ(hand_finish(&job).worker, 1);
    hand_job_free(&job);
}

static void test_machine__progress_forgives_deaths(void **state)
{
    struct lmn__action task;
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &(struct lmn__machine_options){
                            .worker_restarts_max = 1, .task_rows_min = 2, .task_rows_max = 2 });
    (void)hand_add(&job, 20);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    for (int i = 0; i < 10; i++) {
        hand_ready(&job, 0);
        task = hand_only(&job, LMN__ACTION_START_TASK);
        hand_durable(&job, hand_result(&job, &task, task.rows.first, 1, 0));
        hand_die_in(&job, &task, task.rows.first + 1, 0);
        (void)hand_only(&job, LMN__ACTION_START_WORKER);
    }
    hand_job_free(&job);
}

static void test_machine__a_function_that_does_not_load(void **state)
{
    struct hand_job job;

    (void)state;
    hand_job_make(&job, NULL);
    (void)hand_add(&job, 20);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_tell_kind(&job, LMN__EVENT_WORKER_FAILED);
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_FAILED);
    CHECK_EQ(hand_finish(&job).cause, LMN__CAUSE_SETUP);
    hand_job_free(&job);
}

static void test_machine__a_unit_that_leaves_takes_its_rows(void **state)
{
    struct lmn__machine_options options = { .worker_count = 2,
                                            .task_rows_min = 3,
                                            .task_rows_max = 3 };
    struct lmn__machine_counts counts;
    struct lmn__action task[2];
    struct lmn_error err;
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &options);
    (void)hand_add(&job, 9);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    task[0] = hand_only(&job, LMN__ACTION_START_TASK);
    hand_ready(&job, 1);
    task[1] = hand_only(&job, LMN__ACTION_START_TASK);
    hand_durable(&job, hand_result(&job, &task[0], 0, 1, 1));
    (void)hand_result(&job, &task[1], 3, 1, 0);
    CHECK_OK(lmn__machine_drop_unit(job.machine, 0, &err));
    counts = lmn__machine_counts(job.machine);
    CHECK_EQ(counts.planned + counts.pending + counts.running + counts.accepted, 0);
    CHECK_EQ(counts.checkpointed + counts.failed, 0);
    CHECK_EQ(hand_add(&job, 4), 1);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    CHECK_EQ(hand_count(&job, LMN__ACTION_STOP_SLOT), 2);
    for (int i = 0; i < 2; i++) {
        hand_tell(&job, (struct lmn__event){ .kind = LMN__EVENT_RESULT,
                                             .slot = task[0].slot,
                                             .task = task[0].task,
                                             .rows = { 1 + (uint64_t)i, 1 } });
        (void)hand_only(&job, LMN__ACTION_DROP);
    }
    hand_done(&job, &task[0]);
    task[0] = hand_only(&job, LMN__ACTION_START_TASK);
    CHECK_EQ(task[0].unit, 1);
    hand_complete(&job, task[0], 0);
    hand_complete(&job, hand_only(&job, LMN__ACTION_START_TASK), 0);
    CHECK_EQ(lmn__machine_counts(job.machine).checkpointed, 4);
    hand_job_free(&job);
}

static void test_machine__memory_does_not_grow_with_rows(void **state)
{
    int64_t before;
    struct hand_job job;

    (void)state;
    hand_job_make(&job, &(struct lmn__machine_options){ .worker_count = 4, .slots_per_worker = 2 });
    (void)hand_add(&job, UINT64_C(1) << 40);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    before = live_allocations();
    for (int i = 0; i < 20000; i++)
        hand_complete(&job, *hand_nth(&job, LMN__ACTION_START_TASK, 0), 0);
    CHECK_EQ(live_allocations(), before);
    hand_job_free(&job);
}

static void test_machine__a_hundred_thousand_units(void **state)
{
    struct hand_job job;
    uint64_t commit = 0;

    (void)state;
    hand_job_make(&job, &(struct lmn__machine_options){ .units_per_commit = 1000 });
    for (int i = 0; i < 100000; i++)
        (void)hand_add(&job, 10);
    hand_tell_kind(&job, LMN__EVENT_TICK);
    hand_ready(&job, 0);
    while (hand_count(&job, LMN__ACTION_START_TASK) == 1) {
        struct lmn__action task = hand_only(&job, LMN__ACTION_START_TASK);
        uint64_t receipt = hand_result(&job, &task, task.rows.first, task.rows.count, 0);

        hand_durable(&job, receipt);
        if (hand_count(&job, LMN__ACTION_COMMIT) == 1) {
            commit = hand_only(&job, LMN__ACTION_COMMIT).commit;
            hand_committed(&job, commit);
        }
        if (hand_count(&job, LMN__ACTION_FINISH) == 0)
            hand_done(&job, &task);
    }
    CHECK_EQ(hand_finish(&job).outcome, LMN__OUTCOME_DONE);
    CHECK_EQ(commit, 100);
    hand_job_free(&job);
}

/* Every step of a small job with a death in it; the first failure ends it. */
static enum lmn_status small_job(struct lmn_error *err)
{
    const struct lmn__event event[] = {
        { .kind = LMN__EVENT_TICK },
        { .kind = LMN__EVENT_WORKER_READY },
        { .kind = LMN__EVENT_RESULT, .task = 1, .rows = { 0, 1 } },
        { .kind = LMN__EVENT_WORKER_DIED },
        { .kind = LMN__EVENT_RECEIPT_DURABLE, .receipt = 1 },
    };
    struct lmn__machine_unit unit = { .row_count = 40 };
    struct lmn__machine *machine;
    struct lmn__action action;
    uint64_t number;
    enum lmn_status st = lmn__machine_new(test_env(), NULL, &machine, err);

    for (int i = 0; i < 40 && st == LMN_OK; i++)
        st = lmn__machine_add_unit(machine, &unit, &number, err);
    for (size_t i = 0; i < sizeof(event) / sizeof(event[0]) && st == LMN_OK; i++) {
        st = lmn__machine_tell(machine, &event[i], err);
        while (lmn__machine_next(machine, &action))
            continue;
    }
    if (st == LMN_OK)
        CHECK_EQ(lmn__machine_counts(machine).checkpointed, 1);
    lmn__machine_free(machine);
    return st;
}

static void test_machine__every_allocation_may_fail(void **state)
{
    struct lmn_error err;
    enum lmn_status st;

    (void)state;
    for (uint64_t n = 1;; n++) {
        fault_arm(FAULT_ALLOC, n);
        st = small_job(&err);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_OK(st);
            break;
        }
        CHECK_EQ(st, LMN_E_NO_MEMORY);
        CHECK(err.message[0] != '\0');
    }
    fault_disarm();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_machine__one_unit_from_start_to_end),
        cmocka_unit_test(test_machine__nothing_to_do),
        cmocka_unit_test(test_machine__only_rows_without_receipt_are_computed),
        cmocka_unit_test(test_machine__units_that_contradict_themselves),
        cmocka_unit_test(test_machine__tasks_are_counted_ahead),
        cmocka_unit_test(test_machine__slots_get_several_tasks_each),
        cmocka_unit_test(test_machine__tasks_of_whole_calls),
        cmocka_unit_test(test_machine__late_results_are_dropped),
        cmocka_unit_test(test_machine__protocol_errors_change_nothing),
        cmocka_unit_test(test_machine__a_row_that_kills_is_found_by_halving),
        cmocka_unit_test(test_machine__calls_that_are_too_large_stay_small),
        cmocka_unit_test(test_machine__a_suspect_among_threads_is_tried_alone),
        cmocka_unit_test(test_machine__workers_that_keep_dying),
        cmocka_unit_test(test_machine__progress_forgives_deaths),
        cmocka_unit_test(test_machine__a_function_that_does_not_load),
        cmocka_unit_test(test_machine__a_unit_that_leaves_takes_its_rows),
        cmocka_unit_test(test_machine__memory_does_not_grow_with_rows),
        cmocka_unit_test(test_machine__a_hundred_thousand_units),
        cmocka_unit_test(test_machine__every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
