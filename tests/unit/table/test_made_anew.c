/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table that is dropped, and another one made in its place, while somebody has it open: the other
 * one is read and written, or the write is refused. It is never damaged.
 */
#include <leman/leman.h>
#include <stdio.h>

#include "check.h"
#include "keyed_rows.h"
#include "stores.h"
#include "table/versions.h"

static const struct keyed_row old_row[] = { { 1, 10, "one" },
                                            { 2, 20, "two" },
                                            { 3, 30, "three" } };
static const struct keyed_row new_row[] = { { 7, 70, "seven" }, { 8, 80, "eight" } };
static const struct keyed_row own_row[] = { { 2, 22, "own" }, { 9, 90, "own" } };

enum { OLD_ROWS = 3, NEW_ROWS = 2, OWN_ROWS = 2 };

struct dropping {
    struct lmn_store *store;
    const char *dir;
};

static enum lmn_status drop_file(void *context, const char *name, bool is_directory,
                                 struct lmn_error *err)
{
    const struct dropping *dropping = context;
    char path[200];

    (void)is_directory;
    (void)err;
    snprintf(path, sizeof path, "%s/%s", dropping->dir, name);
    CHECK_OK(dropping->store->ops->remove(dropping->store, path, NULL));
    return LMN_OK;
}

static void make_anew(struct lmn_store *store)
{
    static const char *const dir[] = { "_versions", "_transactions", "_deletions", "data" };

    for (size_t i = 0; i < sizeof dir / sizeof dir[0]; i++) {
        struct dropping dropping = { store, dir[i] };

        CHECK_OK(store->ops->list(store, dir[i], drop_file, &dropping, NULL));
    }
    lmn_table_release(keyed_table(store, new_row, NEW_ROWS, NULL));
}

static enum lmn_status append_own(struct lmn_table *table, struct lmn_error *err)
{
    struct ArrowArrayStream stream;

    keyed_stream(KEYED_ALL, own_row, OWN_ROWS, 1, &stream);
    return lmn_table_append(table, &stream, NULL, err);
}

static enum lmn_status upsert_own(struct lmn_table *table, struct lmn_error *err)
{
    static const char *const on[] = { "id" };
    const struct lmn_merge_options options = {
        .on = on, .on_count = 1, .matched = LMN_MERGE_UPDATE, .not_matched = LMN_MERGE_INSERT
    };
    struct ArrowArrayStream stream;

    keyed_stream(KEYED_ALL, own_row, OWN_ROWS, 1, &stream);
    return lmn_table_merge(table, &stream, &options, NULL, err);
}

static enum lmn_status update_all(struct lmn_table *table, struct lmn_error *err)
{
    static const struct lmn_assignment more = { "value", "value + 1" };

    return lmn_table_update(table, NULL, &more, 1, NULL, err);
}

static enum lmn_status delete_some(struct lmn_table *table, struct lmn_error *err)
{
    return lmn_table_delete(table, "id > 1", NULL, err);
}

static enum lmn_status add_column(struct lmn_table *table, struct lmn_error *err)
{
    static const struct lmn_assignment twice = { "twice", "value * 2" };

    return lmn_table_add_columns(table, &twice, 1, err);
}

static enum lmn_status rename_column(struct lmn_table *table, struct lmn_error *err)
{
    return lmn_table_rename_column(table, "value", "number", err);
}

static enum lmn_status overwrite(struct lmn_table *table, struct lmn_error *err)
{
    struct ArrowArrayStream stream;

    keyed_stream(KEYED_ALL, own_row, OWN_ROWS, 1, &stream);
    return lmn_table_overwrite(table, &stream, NULL, err);
}

static enum lmn_status restore(struct lmn_table *table, struct lmn_error *err)
{
    return lmn_table_restore(table, 1, err);
}

typedef enum lmn_status (*operation_fn)(struct lmn_table *table, struct lmn_error *err);

static const operation_fn operation[] = { append_own, upsert_own,    update_all, delete_some,
                                          add_column, rename_column, overwrite,  restore };
enum { OPERATIONS = sizeof operation / sizeof operation[0] };

/* All rows of a table can be read; their number. */
static uint64_t count_rows(struct lmn_store *store)
{
    const struct lmn_scan_options every = { 0 };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    uint64_t count = 0;

    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_scan(table, &every, &stream, &err), LMN_OK, &err);
    do {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        count += (uint64_t)batch.length;
        batch.release(&batch);
    } while (true);
    stream.release(&stream);
    lmn_table_release(table);
    return count;
}

/* A handle that was opened before: it has the same version number as the table that is there. */
static void test_made_anew__writes_go_to_the_table_that_is_there(void **state)
{
    (void)state;
    for (int refreshed = 0; refreshed < 2; refreshed++) {
        for (int i = 0; i < OPERATIONS; i++) {
            struct lmn_store *store = test_store_memory();
            struct lmn_table *table = keyed_table(store, old_row, OLD_ROWS, NULL);
            struct lmn_error err = { 0 };

            make_anew(store);
            if (refreshed) {
                CHECK_OK(lmn_table_refresh(table, &err));
                keyed_check(table, new_row, NEW_ROWS);
            }
            CHECK_STATUS(operation[i](table, &err), LMN_OK, &err);
            CHECK_EQ(lmn_table_version(table), 2);
            CHECK_EQ(count_rows(store), i < 2 ? NEW_ROWS + OWN_ROWS : (i == 3 ? 0 : NEW_ROWS));
            lmn_table_release(table);
            lmn_store_release(store);
            CHECK_EQ(live_allocations(), 0);
        }
    }
}

/* A handle that was opened before reads what is gone: that is no damage. */
static void test_made_anew__reads_say_so(void **state)
{
    static const struct lmn_scan_options every = { 0 };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = keyed_table(store, old_row, OLD_ROWS, NULL);
    struct ArrowArrayStream stream;
    struct lmn_error err = { 0 };

    (void)state;
    make_anew(store);
    CHECK_STATUS(lmn_table_scan(table, &every, &stream, &err), LMN_E_NOT_FOUND, &err);
    CHECK(strstr(err.message, "the table was dropped, and another one made") != NULL);
    CHECK_OK(lmn_table_refresh(table, &err));
    keyed_check(table, new_row, NEW_ROWS);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* When the operation has made so many steps, the table is made anew. */
struct intrusion {
    struct lmn_store *store;
    uint64_t left;
    bool done;
};

static enum lmn__fault_action intrude(void *context, enum lmn__store_op op, const char *path)
{
    struct intrusion *intrusion = context;

    (void)op;
    (void)path;
    if (intrusion->left != 0 && --intrusion->left == 0) {
        intrusion->done = true;
        make_anew(intrusion->store);
    }
    return LMN__FAULT_NONE;
}

/* False when the operation ends before that step. */
static bool intrude_at(operation_fn fn, uint64_t step)
{
    struct intrusion intrusion = { .store = test_store_memory() };
    struct lmn_store *store;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    enum lmn_status st;
    uint64_t rows;

    table = keyed_table(intrusion.store, old_row, OLD_ROWS, NULL);
    lmn_table_release(table);
    CHECK_OK(lmn__store_open_fault(intrusion.store, intrude, &intrusion, &store, &err));
    CHECK_OK(lmn_table_open(store, NULL, &table, &err));
    intrusion.left = step;
    st = fn(table, &err);
    if (intrusion.done) {
        rows = count_rows(intrusion.store);
        if (st == LMN_OK)
            CHECK(rows == NEW_ROWS || rows == 0 || rows == NEW_ROWS + OWN_ROWS);
        else
            CHECK(rows == NEW_ROWS && err.message[0] != '\0');
    }
    lmn_table_release(table);
    lmn_store_release(store);
    lmn_store_release(intrusion.store);
    CHECK_EQ(live_allocations(), 0);
    return intrusion.done;
}

static void test_made_anew__at_any_step_of_a_write(void **state)
{
    (void)state;
    for (int i = 0; i < OPERATIONS; i++) {
        for (uint64_t step = 1; intrude_at(operation[i], step); step++)
            ;
    }
}

/* A commit that was prepared for the other table says so. */
static void test_made_anew__is_told(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__version_mark before, after;
    struct lmn_error err = { 0 };

    (void)state;
    lmn_table_release(keyed_table(store, old_row, OLD_ROWS, NULL));
    CHECK_OK(lmn__version_mark(store, 1, false, &before, &err));
    CHECK(lmn__version_same(&before, &before));
    make_anew(store);
    CHECK_OK(lmn__version_mark(store, 1, false, &after, &err));
    CHECK(!lmn__version_same(&before, &after));
    CHECK_EQ(lmn__version_mark(store, 2, false, &after, &err), LMN_E_NOT_FOUND);
    CHECK(!lmn__version_same(&after, &after));
    lmn_store_release(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_anew__writes_go_to_the_table_that_is_there),
        cmocka_unit_test(test_made_anew__reads_say_so),
        cmocka_unit_test(test_made_anew__at_any_step_of_a_write),
        cmocka_unit_test(test_made_anew__is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
