/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs whose calls are asked for, and whose results are kept, with functions that know of neither.
 *
 * labels: threads
 */
#include <stdio.h>
#include <stdlib.h>

#include "job_tables.h"
#include "stores.h"

enum { ROWS = 300, FRAGMENT_ROWS = 100 };

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

/* Exactly so many calls are made by all workers together; the rest by the next run. */
static void test_permits__calls_of_a_job(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 2, .calls_max = 7 };
    const struct lmn_job_function function = { .batch_rows = 10 };
    struct lmn_job_status status = job_end(job_begin_with(place->table, "", function, &options));

    CHECK_EQ(status.state, LMN_JOB_STOPPED);
    CHECK_EQ(status.error.status, LMN_E_CANCELLED);
    CHECK_HAS(status.error.message, "7 calls");
    CHECK_EQ(status.calls, 7);
    CHECK_EQ(status.rows_checkpointed, 70);
    status = job_end(job_begin_with(place->table, "", function, NULL));
    CHECK_EQ(status.state, LMN_JOB_DONE);
    CHECK_EQ(status.rows_resumed, 70);
    CHECK_EQ(job_check(place->store, NULL, 0), 0);
}

/* Calls that a limit holds back come all the same, and a worker that dies asks for nothing more. */
static void test_permits__rate(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 2 };
    const struct lmn_job_function function = { .batch_rows = 10,
                                               .requests_max = 1000,
                                               .requests_window_ms = 1000,
                                               .tokens_max = 1000000,
                                               .tokens_window_ms = 1000 };
    const int64_t failed[] = { 17 };
    struct lmn_job_status status = job_end(
        job_begin_with(place->table, "crash=17", function, &options));

    CHECK_EQ(status.state, LMN_JOB_DONE_FAILED);
    CHECK(status.calls >= ROWS / 10);
    CHECK(status.worker_deaths > 0);
    CHECK_EQ(job_check(place->store, failed, 1), 0);
}

/* What is kept is used after a death, and gone with the fill. */
static void test_permits__paid(void **state)
{
    struct place *place = *state;
    const struct lmn_job_options options = { .concurrency = 2 };
    const struct lmn_job_function function = { .batch_rows = 3, .paid = true };
    const int64_t failed[] = { 30, 171 };
    struct lmn_job_status status = job_end(
        job_begin_with(place->table, "crash=171 fail=30", function, &options));

    CHECK_EQ(status.state, LMN_JOB_DONE_FAILED);
    CHECK_EQ(status.rows_failed, 2);
    CHECK_EQ(job_check(place->store, failed, 2), 0);
    CHECK_EQ(test_store_count(place->store, "_leman/fills"), 1); /* the lock */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_permits__calls_of_a_job, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_permits__rate, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_permits__paid, make_place, remove_place),
    };

    job_worker_main();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
