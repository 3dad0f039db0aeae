/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are interrupted at any point leave the table as it was, and no files.
 */
#include <leman/leman.h>

#include "check.h"
#include "column_tables.h"
#include "keyed_rows.h"
#include "stores.h"

enum { ROWS = 60, FRAGMENT_ROWS = 9, OTHER_ROWS = 40 };

/* Answers true from the nth time on. */
struct asking {
    uint64_t left;
    bool answered;
};

static bool ask(void *context)
{
    struct asking *asking = context;

    asking->answered |= asking->left == 0;
    asking->left -= asking->left != 0;
    return asking->answered;
}

static void make_rows(struct keyed_row *row, uint64_t count, int64_t first)
{
    for (uint64_t i = 0; i < count; i++)
        row[i] = (struct keyed_row){ first + (int64_t)i, (int64_t)i * 10, "name" };
}

static void other_stream(struct ArrowArrayStream *stream)
{
    static struct keyed_row row[OTHER_ROWS];

    make_rows(row, OTHER_ROWS, ROWS / 2);
    keyed_stream(KEYED_ALL, row, OTHER_ROWS, 5, stream);
}

static enum lmn_status append(struct lmn_table *table, struct lmn_error *err)
{
    struct ArrowArrayStream stream;

    other_stream(&stream);
    return lmn_table_append(table, &stream, NULL, err);
}

static enum lmn_status overwrite(struct lmn_table *table, struct lmn_error *err)
{
    struct ArrowArrayStream stream;

    other_stream(&stream);
    return lmn_table_overwrite(table, &stream, NULL, err);
}

static enum lmn_status upsert(struct lmn_table *table, struct lmn_error *err)
{
    static const char *const on[] = { "id" };
    const struct lmn_merge_options options = {
        .on = on, .on_count = 1, .matched = LMN_MERGE_UPDATE, .not_matched = LMN_MERGE_INSERT
    };
    struct ArrowArrayStream stream;

    other_stream(&stream);
    return lmn_table_merge(table, &stream, &options, NULL, err);
}

static enum lmn_status update(struct lmn_table *table, struct lmn_error *err)
{
    static const struct lmn_assignment more = { "value", "value + 1" };

    return lmn_table_update(table, "id % 2 = 0", &more, 1, NULL, err);
}

static enum lmn_status delete(struct lmn_table *table, struct lmn_error *err) {
    return lmn_table_delete(table, "id % 2 = 0", NULL, err);
}

static enum lmn_status add_columns(struct lmn_table *table, struct lmn_error *err)
{
    static const struct lmn_assignment twice = { "twice", "value * 2" };

    return lmn_table_add_columns(table, &twice, 1, err);
}

static enum lmn_status widen(struct lmn_table *table, struct lmn_error *err)
{
    return column_widen(table, "name", NANOARROW_TYPE_LARGE_STRING, err);
}

static enum lmn_status compact(struct lmn_table *table, struct lmn_error *err)
{
    return lmn_table_compact(table, NULL, NULL, err);
}

static enum lmn_status count(struct lmn_table *table, struct lmn_error *err)
{
    uint64_t rows;

    return lmn_table_count(table, "value % 20 = 0", &rows, err);
}

static void ignore(void *context, const char *finding)
{
    (void)context;
    (void)finding;
}

static enum lmn_status verify(struct lmn_table *table, struct lmn_error *err)
{
    struct lmn_verify_result result;

    return lmn_table_verify(table, ignore, NULL, &result, err);
}

static const struct {
    const char *name; /* for whoever reads the table */
    enum lmn_status (*call)(struct lmn_table *table, struct lmn_error *err);
} calls[] = {
    { "append", append }, { "overwrite", overwrite }, { "upsert", upsert },
    { "update", update }, { "delete", delete },       { "add columns", add_columns },
    { "widen", widen },   { "compact", compact },     { "count", count },
    { "verify", verify },
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* Is the call over before it is asked for the nth time? */
static bool interrupt(int which, uint64_t nth)
{
    const struct lmn_write_options small = { .fragment_rows_max = FRAGMENT_ROWS };
    struct lmn_store *store = test_store_memory();
    struct keyed_row row[ROWS];
    struct asking asking = { nth, false };
    struct lmn_interrupt before;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    enum lmn_status st;
    size_t files;

    make_rows(row, ROWS, 0);
    table = keyed_table(store, row, ROWS, &small);
    files = test_store_count(store, "data");
    before = lmn_interrupt_set((struct lmn_interrupt){ ask, &asking });
    CHECK(before.asked == NULL);
    st = calls[which].call(table, &err);
    before = lmn_interrupt_set(before);
    CHECK(before.asked == ask);
    if (asking.answered) {
        CHECK_STATUS(st, LMN_E_CANCELLED, &err);
        CHECK_HAS(err.message, "interrupted");
        CHECK_EQ(lmn_table_version(table), 1);
        CHECK_EQ(test_store_count(store, "data"), files);
        CHECK_EQ(test_store_count(store, "_versions"), 1);
        keyed_check(table, row, ROWS);
    } else {
        CHECK_STATUS(st, LMN_OK, &err);
    }
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
    return !asking.answered;
}

static void test_interrupt__at_any_time(void **state)
{
    (void)state;
    for (int i = 0; i < CALLS; i++) {
        for (uint32_t threads = 2; threads != 0; threads--) {
            uint64_t nth = 0;

            test_threads(threads);
            while (!interrupt(i, nth))
                nth++;
            CHECK(threads > 1 || nth > 2); /* asked; another thread may take all the work */
        }
    }
    test_threads(0);
}

/* Threads of the library are not asked, nor is another thread of the program. */
static void test_interrupt__a_scan(void **state)
{
    const struct lmn_scan_options options = { .batch_rows_max = 7, .threads = 2 };
    struct lmn_store *store = test_store_memory();
    struct asking asking = { 1, false };
    struct keyed_row row[ROWS];
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    enum lmn_status st;

    (void)state;
    make_rows(row, ROWS, 0);
    table = keyed_table(store, row, ROWS, NULL);
    CHECK_OK(lmn_table_scan(table, &options, &stream, &err));
    lmn_interrupt_set((struct lmn_interrupt){ ask, &asking });
    do {
        st = lmn_table_scan_next(&stream, &batch, &err);
        CHECK(st != LMN_OK || batch.release != NULL);
        if (st == LMN_OK)
            batch.release(&batch);
    } while (st == LMN_OK);
    lmn_interrupt_set((struct lmn_interrupt){ 0 });
    CHECK_STATUS(st, LMN_E_CANCELLED, &err);
    CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_E_CANCELLED, &err);
    stream.release(&stream);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interrupt__at_any_time),
        cmocka_unit_test(test_interrupt__a_scan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
