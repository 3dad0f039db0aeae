/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is killed before the nth operation of its store, for every n, while it makes, appends
 * to, deletes from, updates or compacts a table. What it leaves is the table as it was or as it
 * should become, nothing between; what lies around besides is found by a cleanup; and the same
 * operation then works.
 *
 * labels: slow
 * timeout: 600
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sample_tables.h"
#include "stores.h"

enum { ROWS = 120, BASE = 60, STEP = 20 };

static struct sample sample;

static int setup(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 11);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

/* An operation, and what it makes of BASE rows, or of none. */
struct operation {
    enum lmn_status (*run)(struct lmn_store *store, struct lmn_error *err);
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

/* Kills the process before one of its operations. */
static enum lmn__fault_action count_down(void *context, enum lmn__store_op op, const char *path)
{
    uint64_t *left = context;

    (void)op;
    (void)path;
    if (--*left == 0)
        raise(SIGKILL);
    return LMN__FAULT_NONE;
}

/* Run the operation in a process of its own; true when it was killed. */
static bool run_killed(const struct operation *operation, const char *dir, uint64_t nth)
{
    int status = 0;
    pid_t child = fork();

    CHECK(child >= 0);
    if (child == 0) {
        struct lmn_store *inner = test_store_local(dir), *store = NULL;
        struct lmn_error err;
        bool fine = lmn__store_open_fault(inner, count_down, &nth, &store, &err) == LMN_OK &&
                    operation->run(store, &err) == LMN_OK;

        _exit(fine ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        CHECK_EQ(WTERMSIG(status), SIGKILL);
        return true;
    }
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    return false;
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
    /* The manifest, and the hint if it came so far. */
    CHECK(test_store_count(store, "_versions") <= 2);
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
        killed = run_killed(operation, dir, nth);
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
