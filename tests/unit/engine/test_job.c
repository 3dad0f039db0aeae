/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole jobs on the local engine: in this process, with workers, with workers that die, hang, take
 * too much memory; stopped, resumed, cancelled.
 *
 * labels: threads
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <nanoarrow/nanoarrow.h>

#include "job_tables.h"
#include "stores.h"

enum { ROWS = 600, FRAGMENT_ROWS = 200 };

struct place {
    char *dir;
    struct lmn_store *store;
    struct lmn_table *table;
};

static int make_place(void **state)
{
    static struct place place;
    char path[4096];

    place.dir = test_dir_make();
    setenv("XDG_STATE_HOME", place.dir, 1);
    snprintf(path, sizeof path, "%s/t.lance", place.dir);
    place.store = test_store_local(path);
    place.table = job_table(place.store, ROWS, FRAGMENT_ROWS);
    *state = &place;
    return 0;
}

static int remove_place(void **state)
{
    struct place *place = *state;

    lmn_table_release(place->table);
    lmn_store_release(place->store);
    test_dir_remove(place->dir);
    return 0;
}

/* Is there one error of the column, of this type and with this in its message? */
static void check_error(struct place *place, const char *type, const char *message)
{
    struct ArrowArrayStream stream;
    struct ArrowArrayView view;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err;
    char text[512];

    CHECK_STATUS(lmn_table_refresh(place->table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_errors(place->table, "result", &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_EQ(stream.get_next(&stream, &batch), 0);
    CHECK(batch.release != NULL);
    CHECK_EQ(batch.length, 1);
    CHECK_EQ(ArrowArrayViewInitFromSchema(&view, &schema, NULL), 0);
    CHECK_EQ(ArrowArrayViewSetArray(&view, &batch, NULL), 0);
    for (int i = 1; i <= 2; i++) {
        struct ArrowStringView value = ArrowArrayViewGetStringUnsafe(view.children[i], 0);

        snprintf(text, sizeof text, "%.*s", (int)value.size_bytes, value.data);
        CHECK_HAS(text, i == 1 ? type : message);
    }
    ArrowArrayViewReset(&view);
    batch.release(&batch);
    schema.release(&schema);
    stream.release(&stream);
}

static void test_job__in_process(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .in_process = true };
    struct lmn_job_status status = job_run(place->table, "", &options);

    CHECK_STR(status.error.message, "");
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.rows_planned, ROWS);
    CHECK_EQ(status.rows_committed, ROWS);
    CHECK_EQ(status.rows_computed, ROWS);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
    /* Again: there is nothing to do. */
    status = job_run(place->table, "", &options);
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.rows_planned, 0);
    CHECK_EQ(status.version, 0);
}

static void test_job__workers(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 2 };
    struct lmn_job_status status = job_run(place->table, "", &options);

    CHECK_STR(status.error.message, "");
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.rows_committed, ROWS);
    CHECK_EQ(status.worker_deaths, 0);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* Rows that end their worker are failed cells, and all others are computed. */
static void check_poison(struct place *place, const char *code, struct lmn_job_function function,
                         const char *type, const char *message)
{
    const struct lmn_job_options options = { .concurrency = 2 };
    const int64_t failed[] = { 300 };
    struct lmn_job_status status = job_end(job_begin_with(place->table, code, function, &options));

    CHECK_STR(status.error.message, "");
    CHECK_EQ(status.state, LMN_JOB_DONE_FAILED);
    CHECK_EQ(status.rows_committed, ROWS);
    CHECK_EQ(status.rows_failed, 1);
    CHECK(status.worker_deaths >= 2);
    CHECK_EQ(job_check(place->store, failed, 1), 0);
    check_error(place, type, message);
}

static void test_job__crash(void **state)
{
    check_poison(*state, "crash=300", (struct lmn_job_function){ 0 }, "WorkerDied", "signal 11");
}

static void test_job__exit(void **state)
{
    check_poison(*state, "exit=300", (struct lmn_job_function){ 0 }, "WorkerDied", "exit code 3");
}

static void test_job__hang(void **state)
{
    check_poison(*state, "hang=300", (struct lmn_job_function){ .call_timeout_ms = 200 },
                 "TimeoutError", "longer than 0.2 s");
}

static void test_job__hog(void **state)
{
    check_poison(*state, "hog=300", (struct lmn_job_function){ .memory_bytes = 200 << 20 },
                 "MemoryError", "its limit of 200 MiB");
}

static void test_job__failed_row(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .in_process = true };
    const int64_t failed[] = { 300 };
    struct lmn_job_status status = job_run(place->table, "fail=300", &options);

    CHECK_EQ(status.state, LMN_JOB_DONE_FAILED);
    CHECK_EQ(status.rows_failed, 1);
    CHECK_EQ(job_check(place->store, failed, 1), 0);
    check_error(place, "ValueError", "it is bad");
    /* A second run tries the failed row alone. */
    status = job_run(place->table, "", &options);
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.rows_planned, 1);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* Jobs that fail as a whole say why, and lose nothing. */
static void check_failure(struct place *place, const char *code, const char *message)
{
    const struct lmn_job_options options = { .concurrency = 1 };
    struct lmn_job_status status = job_run(place->table, code, &options);

    CHECK_EQ(status.state, LMN_JOB_FAILED);
    CHECK_HAS(status.error.message, message);
    status = job_run(place->table, "", &options);
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

static void test_job__call_fails(void **state)
{
    check_failure(*state, "error=1", "the whole call failed");
}

static void test_job__short_output(void **state)
{
    check_failure(*state, "short=1", "the function gave 31 values for 32 rows");
}

static void test_job__setup_fails(void **state)
{
    check_failure(*state, "setup=1", "the model is not there");
}

static void test_job__worker_stays_warm(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options stays = { .concurrency = 1, .limited = true, .rows_max = 9 };
    const struct lmn_job_options ends = {
        .concurrency = 1, .limited = true, .rows_max = 9, .keep_warm = LMN_JOB_WARM_END
    };
    const struct lmn_job_options wrong = { .in_process = true, .keep_warm = 3 };
    const struct lmn_job_function function = { 0 };
    struct lmn_job_status status;
    struct lmn_error err;
    struct lmn_job *job;

    lmn_job_end_workers();
    CHECK_EQ(job_run(place->table, "", &stays).rows_committed, 9);
    CHECK_EQ(lmn_job_end_workers(), 1);
    CHECK_EQ(lmn_job_end_workers(), 0);
    CHECK_EQ(job_run(place->table, "", &ends).rows_committed, 9);
    CHECK_EQ(lmn_job_end_workers(), 0);
    /* One that was ended is no loss. */
    status = job_run(place->table, "", &stays);
    CHECK_EQ(status.rows_committed, 9);
    CHECK_EQ(status.worker_deaths, 0);
    CHECK_STATUS(lmn_job_start(place->table, &function, 1, &wrong, &job, &err), LMN_E_INVALID,
                 &err);
}

static void test_job__gpu_worker_ends(void **state)
{
    struct place *place = *state;
    struct lmn_job_options options = { .concurrency = 1, .limited = true, .rows_max = 9 };
    const struct lmn_job_function function = { .gpus = 0.5 };

    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    lmn_job_end_workers();
    CHECK_EQ(job_end(job_begin_with(place->table, "", function, &options)).rows_committed, 9);
    CHECK_EQ(lmn_job_end_workers(), 0);
    options.keep_warm = LMN_JOB_WARM_KEEP;
    CHECK_EQ(job_end(job_begin_with(place->table, "", function, &options)).rows_committed, 9);
    CHECK_EQ(lmn_job_end_workers(), 1);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void test_job__stale_worker_is_replaced(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options some = { .concurrency = 1, .limited = true, .rows_max = 9 };
    const struct lmn_job_options options = { .id = "second", .concurrency = 2 };
    struct lmn_job_status status;
    struct lmn_error err;
    char *record;

    lmn_job_end_workers();
    CHECK_EQ(job_run(place->table, "", &some).rows_committed, 9);
    status = job_run(place->table, "stale=1", &options);
    CHECK_STR(status.error.message, "");
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.worker_deaths, 0);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
    CHECK_STATUS(lmn_job_records(place->table, "second", &record, &err), LMN_OK, &err);
    CHECK_HAS(record, "worker 0 is replaced: function \\\"next\\\": an older model");
    lmn_text_free(record);
}

static void test_job__no_such_worker(void **state)
{
    struct place *place = *state;
    const char *const worker[] = { "/nowhere/worker", NULL };
    const char *const output[] = { "result" }, *const input[] = { "value" };
    const struct lmn_job_function function = { .version = "0123456789abcdef0123456789abcdef"
                                                          "0123456789abcdef0123456789abcdef",
                                               .output = output,
                                               .output_count = 1,
                                               .input = input,
                                               .input_count = 1 };
    const struct lmn_job_options options = { .worker = worker };
    struct lmn_job_status status;
    struct lmn_error err;
    struct lmn_job *job;

    CHECK_STATUS(lmn_job_start(place->table, &function, 1, &options, &job, &err), LMN_OK, &err);
    status = job_end(job);
    CHECK_EQ(status.state, LMN_JOB_FAILED);
    CHECK_HAS(status.error.message, "cannot start the program /nowhere/worker");
}

/* Wait until so many rows have been computed. */
static void wait_for_rows(struct lmn_job *job, uint64_t rows)
{
    struct lmn_job_status status;

    do {
        CHECK(!lmn_job_wait(job, 5));
        lmn_job_status(job, &status);
    } while (status.rows_computed < rows);
}

static void test_job__stop_and_resume(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 1 };
    const struct lmn_job_function function = { .batch_rows = 4 };
    struct lmn_job *job = job_begin_with(place->table, "slow=2000", function, &options);
    struct lmn_job_status status;
    uint64_t kept;

    wait_for_rows(job, 40);
    lmn_job_stop(job, false);
    status = job_end(job);
    CHECK_EQ(status.state, LMN_JOB_STOPPED);
    CHECK(status.rows_checkpointed >= 40 && status.rows_checkpointed < ROWS);
    kept = status.rows_checkpointed - status.rows_committed;
    status = job_run(place->table, "", &options);
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.rows_resumed, kept);
    CHECK_EQ(status.rows_computed, status.rows_planned - kept);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

static void test_job__stop_now(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 1 };
    struct lmn_job *job = job_begin(place->table, "hang=20", &options);
    struct lmn_job_status status;

    while (!lmn_job_wait(job, 20)) {
        lmn_job_status(job, &status);
        if (status.workers_ready > 0)
            lmn_job_stop(job, true);
    }
    CHECK_EQ(job_end(job).state, LMN_JOB_STOPPED);
    CHECK_EQ(job_run(place->table, "", &options).state, LMN_JOB_DONE);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

static void test_job__cancel_and_records(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 1, .id = "mine", .command = "test" };
    const struct lmn_job_function function = { .batch_rows = 4 };
    struct lmn_job *job = job_begin_with(place->table, "slow=5000", function, &options);
    struct lmn_error err;
    char *text;

    wait_for_rows(job, 8);
    CHECK_STATUS(lmn_job_records(place->table, "mine", &text, &err), LMN_OK, &err);
    CHECK_HAS(text, "{\"state\": \"");
    CHECK_HAS(text, "\"command\": \"test\"");
    lmn_text_free(text);
    CHECK_STATUS(lmn_job_discard(place->table, "mine", &err), LMN_E_UNAVAILABLE, &err);
    CHECK_STATUS(lmn_job_cancel(place->table, "mine", &err), LMN_OK, &err);
    CHECK_EQ(job_end(job).state, LMN_JOB_STOPPED);
    CHECK_STATUS(lmn_job_cancel(place->table, "mine", &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_job_records(place->table, NULL, &text, &err), LMN_OK, &err);
    CHECK_HAS(text, "[{\"state\": \"stopped\", \"id\": \"mine\"");
    lmn_text_free(text);
    CHECK_STATUS(lmn_job_find("mine", &text, &err), LMN_OK, &err);
    CHECK_HAS(text, "t.lance");
    lmn_text_free(text);
    CHECK_STATUS(lmn_job_discard(place->table, "mine", &err), LMN_OK, &err);
    CHECK_EQ(job_run(place->table, "", &options).rows_resumed, 0);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* A second job on the same column is told who has it. */
static void test_job__held(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 1, .id = "first" };
    const struct lmn_job_options inside = { .in_process = true };
    struct lmn_job *job = job_begin(place->table, "slow=2000", &options);
    struct lmn_job_status status;

    wait_for_rows(job, 1);
    status = job_run(place->table, "", &inside);
    CHECK_EQ(status.state, LMN_JOB_FAILED);
    CHECK_EQ(status.error.status, LMN_E_UNAVAILABLE);
    CHECK_HAS(status.error.message, "first");
    lmn_job_stop(job, false);
    CHECK_EQ(job_end(job).state, LMN_JOB_STOPPED);
}

static void test_job__never_fits(void **state)
{
    struct place *place = *state;
    const struct lmn_job_function function = { .gpus = 99 };
    struct lmn_job_status status = job_end(job_begin_with(place->table, "", function, NULL));

    CHECK_EQ(status.state, LMN_JOB_FAILED);
    CHECK_HAS(status.error.message, "one worker needs 1 CPU, 99 GPU");
}

static void test_job__deadline(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 1, .deadline_ms = 300 };
    const struct lmn_job_function function = { .batch_rows = 4 };
    struct lmn_job_status status = job_end(
        job_begin_with(place->table, "slow=5000", function, &options));

    CHECK_EQ(status.state, LMN_JOB_STOPPED);
    CHECK(status.rows_checkpointed < ROWS);
    CHECK_EQ(job_run(place->table, "", NULL).state, LMN_JOB_DONE);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* What another job holds is waited for, and named when the wait is over. */
static void test_job__waits_for_others(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 1, .id = "holder" };
    const struct lmn_job_options second = { .concurrency = 1, .id = "second", .wait_ms = 300 };
    const struct lmn_job_function function = { .gpus = 1, .batch_rows = 4 };
    struct lmn_job_status status;
    struct lmn_table *table;
    struct lmn_store *store;
    struct lmn_job *job, *other;
    char path[4096];
    bool waited = false;

    setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    snprintf(path, sizeof path, "%s/other.lance", place->dir);
    store = test_store_local(path);
    table = job_table(store, ROWS, ROWS);
    job = job_begin_with(place->table, "slow=4000", function, &options);
    wait_for_rows(job, 1);
    other = job_begin_with(table, "", function, &second);
    while (!lmn_job_wait(other, 20)) {
        lmn_job_status(other, &status);
        if (status.state == LMN_JOB_WAITING && status.message[0] != '\0') {
            CHECK_HAS(status.message, "waiting 0 s of 0 s: needs 1 CPU, 1 GPU");
            waited = true;
        }
    }
    status = job_end(other);
    CHECK(waited);
    CHECK_EQ(status.state, LMN_JOB_FAILED);
    CHECK_EQ(status.error.status, LMN_E_UNAVAILABLE);
    CHECK_HAS(status.error.message, "job holder");
    lmn_job_stop(job, false);
    CHECK_EQ(job_end(job).state, LMN_JOB_STOPPED);
    status = job_end(job_begin_with(table, "", function, &second));
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(job_check(store, NULL, 0), 0);
    lmn_table_release(table);
    lmn_store_release(store);
    unsetenv("CUDA_VISIBLE_DEVICES");
}

/* Others delete, append and compact while a job runs: it ends right, and computes nothing twice. */
static void test_job__others_commit(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 1, .commit_granularity = 1 };
    const struct lmn_job_function function = { .batch_rows = 4, .checkpoint_rows = 8 };
    struct lmn_job *job = job_begin_with(place->table, "slow=1000", function, &options);
    struct lmn_job_status status;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    struct lmn_compact_result compacted;
    uint64_t deleted;

    wait_for_rows(job, 40);
    CHECK_STATUS(lmn_table_open(place->store, NULL, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_delete(table, "id >= 100 and id < 110", &deleted, &err), LMN_OK, &err);
    CHECK_EQ(deleted, 10);
    wait_for_rows(job, 60);
    CHECK_STATUS(lmn_table_compact(table, NULL, &compacted, &err), LMN_OK, &err);
    lmn_table_release(table);
    status = job_end(job);
    CHECK_STR(status.error.message, "");
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
    /* Of a task whose rows moved while it ran, what is in writing and what is gathered is lost. */
    CHECK(status.rows_computed <= ROWS + 2 * 8);
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_job__##name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(in_process),
        CASE(workers),
        CASE(crash),
        CASE(exit),
        CASE(hang),
        CASE(hog),
        CASE(failed_row),
        CASE(call_fails),
        CASE(short_output),
        CASE(setup_fails),
        CASE(worker_stays_warm),
        CASE(gpu_worker_ends),
        CASE(stale_worker_is_replaced),
        CASE(no_such_worker),
        CASE(stop_and_resume),
        CASE(stop_now),
        CASE(cancel_and_records),
        CASE(held),
        CASE(never_fits),
        CASE(waits_for_others),
        CASE(others_commit),
        CASE(deadline),
    };

    job_worker_main();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
