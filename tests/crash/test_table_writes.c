/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is killed before the nth operation of its store that changes something, for every n,
 * while it makes, appends to, deletes from, updates or compacts a table. What it leaves is the
 * table as it was or as it should become, nothing between; what lies around besides is found by a
 * cleanup; and the same operation then works.
 *
 * labels: slow
 */
#include <stdlib.h>
#include <unistd.h>

#include "killed.h"
#include "sample_tables.h"
#include "stores.h"

enum { ROWS = 120, BASE = 60, STEP = 20 };

static struct sample sample;

static int setup(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 11);
    /* That a process dies says nothing about what is on a device; memory is quicker. */
    return access("/dev/shm", W_OK) == 0 ? setenv("TMPDIR", "/dev/shm", 1) : 0;
}

static int teardown(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

/* An operation, and what it makes of BASE rows, or of none. */
struct operation {
    killed_store_fn run;
    bool creates;
    uint64_t rows_after;
    uint64_t changed_after; /* rows whose number is negative */
};

static enum lmn_status run_create(struct lmn_store *store, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    enum lmn_status st;

    sample_stream(&sample, 0, BASE, STEP, &stream);
    st = lmn_table_create(store, &stream, NULL, &table, err);
    lmn_table_release(table);
    return st;
}

static enum lmn_status run_append(struct lmn_store *store, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    enum lmn_status st = lmn_table_open(store, NULL, &table, err);

    if (st != LMN_OK)
        return st;
    sample_stream(&sample, BASE, STEP, STEP, &stream);
    st = lmn_table_append(table, &stream, NULL, err);
    lmn_table_release(table);
    return st;
}

static enum lmn_status run_delete(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table;
    enum lmn_status st = lmn_table_open(store, NULL, &table, err);

    if (st == LMN_OK)
        st = lmn_table_delete(table, "_rowid >= 10 and _rowid < 25", NULL, err);
    lmn_table_release(table);
    return st;
}

static enum lmn_status run_update(struct lmn_store *store, struct lmn_error *err)
{
    static const struct lmn_assignment assignment = { "number", "0 - number - 1" };
    struct lmn_table *table;
    enum lmn_status st = lmn_table_open(store, NULL, &table, err);

    if (st == LMN_OK)
        st = lmn_table_update(table, "_rowid >= 30 and _rowid < 45 and number >= 0", &assignment, 1,
                              NULL, err);
    lmn_table_release(table);
    return st;
}

static enum lmn_status run_compact(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table;
    enum lmn_status st = lmn_table_open(store, NULL, &table, err);

    if (st == LMN_OK)
        st = lmn_table_compact(table, NULL, NULL, err);
    lmn_table_release(table);
    return st;
}

/* Is the table as before the operation, or as after it? */
static bool is_after(const struct operation *operation, struct lmn_table *table)
{
    uint64_t rows, changed;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_count(table, NULL, &rows, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_count(table, "number < 0", &changed, &err), LMN_OK, &err);
    if (!operation->creates && rows == BASE && changed == 0)
        return false;
    CHECK_EQ(rows, operation->rows_after);
    CHECK_EQ(changed, operation->changed_after);
    return true;
}

/* Whole, and nothing lies around after a cleanup. */
static void check_whole(struct lmn_store *store, struct lmn_table *table)
{
    struct lmn_cleanup_options options = { .older_than_us = INT64_MAX, .remove_unverified = true };
    struct lmn_verify_result result;
    struct lmn_table_info info;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_verify(table, NULL, NULL, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.findings, 0);
    CHECK_STATUS(lmn_table_cleanup(table, &options, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_info(table, &info, &err), LMN_OK, &err);
    CHECK_EQ(test_store_count(store, "data"), info.file_count);
    CHECK_EQ(test_store_count(store, "_versions"), 1);
}

static void check_left(const struct operation *operation, struct lmn_store *store)
{
    struct lmn_table *table = NULL;
    struct lmn_error err;
    enum lmn_status st = lmn_table_open(store, NULL, &table, &err);

    if (operation->creates && st == LMN_E_NOT_FOUND) {
        CHECK_STATUS(operation->run(store, &err), LMN_OK, &err);
        st = lmn_table_open(store, NULL, &table, &err);
    }
    CHECK_STATUS(st, LMN_OK, &err);
    if (!is_after(operation, table)) {
        CHECK_STATUS(operation->run(store, &err), LMN_OK, &err);
        CHECK_OK(lmn_table_refresh(table, &err));
        CHECK(is_after(operation, table) || operation->rows_after == BASE);
    }
    check_whole(store, table);
    lmn_table_release(table);
}

/* Three fragments. */
static void make_base(struct lmn_store *store)
{
    struct lmn_write_options options = { .unsynced = true };
    struct lmn_table *table = sample_table_make(store, &sample, STEP, &options);

    for (uint64_t first = STEP; first < BASE; first += STEP) {
        struct ArrowArrayStream stream;
        struct lmn_error err;

        sample_stream(&sample, first, STEP, STEP, &stream);
        CHECK_STATUS(lmn_table_append(table, &stream, &options, &err), LMN_OK, &err);
    }
    lmn_table_release(table);
}

static void try_all(const struct operation *operation)
{
    bool killed = true;

    for (uint64_t nth = 1; killed; nth++) {
        char *dir = test_dir_make();
        struct lmn_store *store = test_store_local(dir);

        if (!operation->creates)
            make_base(store);
        killed = killed_at_operation(operation->run, dir, nth);
        check_left(operation, store);
        lmn_store_release(store);
        test_dir_remove(dir);
    }
}

static void test_crash__create(void **state)
{
    (void)state;
    try_all(&(struct operation){ run_create, true, BASE, 0 });
}

static void test_crash__append(void **state)
{
    (void)state;
    try_all(&(struct operation){ run_append, false, BASE + STEP, 0 });
}

static void test_crash__delete(void **state)
{
    (void)state;
    try_all(&(struct operation){ run_delete, false, BASE - 15, 0 });
}

static void test_crash__update(void **state)
{
    (void)state;
    try_all(&(struct operation){ run_update, false, BASE, 15 });
}

static void test_crash__compact(void **state)
{
    (void)state;
    try_all(&(struct operation){ run_compact, false, BASE, 0 });
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crash__create),  cmocka_unit_test(test_crash__append),
        cmocka_unit_test(test_crash__delete),  cmocka_unit_test(test_crash__update),
        cmocka_unit_test(test_crash__compact),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
