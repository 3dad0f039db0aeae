/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs whose functions read what others of them fill, and jobs that compute a column again.
 *
 * labels: threads
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "column_tables.h"
#include "fill_tables.h"
#include "job_tables.h"
#include "stores.h"

enum { ROWS = 200, FRAGMENT_ROWS = 80, ROWS_MAX = 256 };

static const char VERSION[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";
static const char OTHER[] = "ff112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

static const char *const value[] = { "value" }, *const result[] = { "result" };
static const char *const second[] = { "second" }, *const third[] = { "third" };

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
    fill_add_named(place.table, "second", result, 1);
    fill_add_named(place.table, "third", second, 1);
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

static struct lmn_job_function function(const char *const *output, const char *const *input,
                                        const char *code, const char *version)
{
    return (struct lmn_job_function){ .name = "f",
                                      .version = version,
                                      .output = output,
                                      .output_count = 1,
                                      .input = input,
                                      .input_count = 1,
                                      .code = code,
                                      .code_len = strlen(code) };
}

static struct lmn_job_status run(struct place *place, const struct lmn_job_function *functions,
                                 uint32_t count, struct lmn_job_options options)
{
    struct lmn_worker_ops ops = job_ops();
    struct lmn_job_status status;
    struct lmn_error err = { 0 };
    struct lmn_job *job;

    options.worker = job_worker_command();
    CHECK_STATUS(lmn_job_start(place->table, functions, count, &options, &job, &err), LMN_OK, &err);
    if (options.in_process)
        CHECK_STATUS(lmn_job_serve(job, &ops, &err), LMN_OK, &err);
    status = job_end(job);
    CHECK_OK(lmn_table_refresh(place->table, NULL));
    return status;
}

/* Every value that is there is `more` above the row's own. */
static void check_column(struct lmn_table *table, const char *column, int64_t more, uint64_t nulls)
{
    int64_t own[ROWS_MAX], found[ROWS_MAX];
    uint64_t rows = column_read(table, "value", own), without = 0;

    CHECK_EQ(column_read(table, column, found), rows);
    for (uint64_t i = 0; i < rows; i++) {
        without += found[i] == NO_VALUE;
        CHECK(found[i] == NO_VALUE || found[i] == own[i] + more);
    }
    CHECK_EQ(without, nulls);
}

static uint64_t null_values(void)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < ROWS; i++)
        count += i % 7 == 5;
    return count;
}

static void check_chain(struct place *place, struct lmn_job_options options)
{
    const struct lmn_job_function chain[] = { function(third, second, "", VERSION),
                                              function(second, result, "", VERSION),
                                              function(result, value, "", VERSION) };
    struct lmn_job_status status = run(place, chain, 3, options);

    CHECK_STR(status.error.message, "");
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.rows_committed, 3 * ROWS);
    check_column(place->table, "result", 1, null_values());
    check_column(place->table, "third", 3, null_values());
    CHECK_CELLS(place->table, "third", 0, ROWS, 0, 0);
    CHECK_EQ(run(place, chain, 3, options).rows_planned, 0);
}

static void test_stages__in_process(void **state)
{
    check_chain(*state, (struct lmn_job_options){ .in_process = true });
}

static void test_stages__workers(void **state)
{
    check_chain(*state, (struct lmn_job_options){ .concurrency = 2, .commit_granularity = 1 });
}

/* Rows that failed have nothing to give. */
static void test_stages__failed_rows(void **state)
{
    struct place *place = *state;
    const struct lmn_job_function chain[] = { function(second, result, "", VERSION),
                                              function(result, value, "fail=17", VERSION) };
    struct lmn_job_status status = run(place, chain, 2,
                                       (struct lmn_job_options){ .in_process = true });

    CHECK_EQ(status.state, LMN_JOB_DONE_FAILED);
    CHECK_EQ(status.rows_planned, 2 * ROWS - 1);
    CHECK_CELLS(place->table, "result", 0, ROWS - 1, 1, 0);
    CHECK_CELLS(place->table, "second", 1, ROWS - 1, 0, 0);
}

/* A job that is stopped in its first stage is not done. */
static void test_stages__stopped_before_the_last(void **state)
{
    struct place *place = *state;
    const struct lmn_job_function chain[] = { function(second, result, "", VERSION),
                                              function(result, value, "", VERSION) };
    const struct lmn_job_function slow[] = { chain[0],
                                             function(result, value, "slow=2000", VERSION) };
    struct lmn_job_options options = { .concurrency = 1, .deadline_ms = 1 };
    struct lmn_job_status status = run(place, slow, 2, options);

    CHECK_EQ(status.state, LMN_JOB_STOPPED);
    options.deadline_ms = 0;
    CHECK_EQ(run(place, chain, 2, options).state, LMN_JOB_DONE);
    check_column(place->table, "second", 2, null_values());
}

static void test_stages__circles_are_refused(void **state)
{
    struct place *place = *state;
    const struct lmn_job_function circle[] = { function(second, third, "", VERSION),
                                               function(third, second, "", VERSION) };
    const struct lmn_job_function itself = function(second, second, "", VERSION);
    const struct lmn_job_options options = { .in_process = true };
    struct lmn_error err = { 0 };
    struct lmn_job *job;

    CHECK_STATUS(lmn_job_start(place->table, circle, 2, &options, &job, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "is read to compute itself");
    CHECK_STATUS(lmn_job_start(place->table, &itself, 1, &options, &job, &err), LMN_E_INVALID,
                 &err);
    CHECK_HAS(err.message, "\"second\"");
}

/* Computed again: beside the column when rows are left out or failed, else in its place. */
static void test_stages__refill(void **state)
{
    struct place *place = *state;
    struct lmn_job_function first = function(result, value, "", VERSION);
    struct lmn_job_function again = function(result, value, "fail=17", OTHER);
    struct lmn_job_options options = { .in_process = true };
    char *name;

    CHECK_EQ(run(place, &first, 1, options).state, LMN_JOB_DONE);
    again.refill = true;
    options.limited = true;
    options.rows_max = 50;
    CHECK_EQ(run(place, &again, 1, options).rows_committed, 50);
    CHECK_CELLS(place->table, "result", 0, ROWS, 0, 0);
    CHECK_CELLS(place->table, "_leman_next_result", ROWS - 50, 49, 1, 0);
    options.limited = false;
    CHECK_EQ(run(place, &again, 1, options).state, LMN_JOB_DONE_FAILED);
    check_column(place->table, "result", 1, null_values());
    CHECK_CELLS(place->table, "result", 0, ROWS, 0, 0);
    again = function(result, value, "", OTHER);
    again.refill = true;
    options.keep_refills = true;
    CHECK_EQ(run(place, &again, 1, options).rows_committed, 1); /* the one that failed */
    CHECK_CELLS(place->table, "_leman_next_result", 0, ROWS, 0, 0);
    options.keep_refills = false;
    CHECK_EQ(run(place, &again, 1, options).state, LMN_JOB_DONE);
    CHECK_OK(lmn_table_refill_name(place->table, "result", &name, NULL));
    CHECK(name == NULL);
    check_column(place->table, "result", 1, null_values());
    CHECK_CELLS(place->table, "result", 0, ROWS, 0, 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_stages__##name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(in_process),          CASE(workers), CASE(failed_rows), CASE(stopped_before_the_last),
        CASE(circles_are_refused), CASE(refill),
    };

    job_worker_main();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
