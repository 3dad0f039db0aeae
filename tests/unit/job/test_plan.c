/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows a plan takes and why, and what it costs to find out.
 */
#include "job/plan.h"

#include <stdio.h>
#include <string.h>

#include "column_tables.h"
#include "fill_tables.h"
#include "stores.h"

enum { ROWS = 60, FRAGMENT_ROWS = 20, FRAGMENTS = 3, LIVE = ROWS - 1, MORE_ROWS = 7 };

static const char *const inputs[] = { "number", "text" }, *const outputs[] = { "filled" };

static const struct lmn__plan_options basic = { .output = outputs,
                                                .output_count = 1,
                                                .input = inputs,
                                                .input_count = 2,
                                                .function = FILL_FUNCTION };

static void tables_end(struct lmn_table *table, struct lmn_store *store)
{
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static struct lmn__plan_counts plan(struct lmn_table *table,
                                    const struct lmn__plan_options *options,
                                    struct lmn__plan *plan_out)
{
    struct lmn_error err = { 0 };
    struct lmn__plan_counts counts;
    uint64_t rows = 0;

    CHECK_STATUS(lmn__plan_make(table, options, plan_out, &err), LMN_OK, &err);
    counts = plan_out->counts;
    CHECK_EQ(plan_out->version, lmn_table_version(table));
    CHECK_EQ(counts.pending + counts.failed + counts.stale + counts.finished + counts.kept,
             counts.matching);
    for (uint64_t i = 0; i < plan_out->fragment_count; i++) {
        const struct lmn__plan_fragment *fragment = &plan_out->fragment[i];
        uint64_t here = 0, end = 0;

        CHECK(fragment->todo_rows > 0 && (i == 0 || fragment[-1].id < fragment->id));
        for (uint64_t k = 0; k < fragment->todo_count; k++) {
            CHECK(fragment->todo[k].count > 0 && (k == 0 || fragment->todo[k].first > end));
            end = fragment->todo[k].first + fragment->todo[k].count;
            here += fragment->todo[k].count;
        }
        CHECK(end <= fragment->row_count);
        CHECK_EQ(here, fragment->todo_rows);
        rows += here;
    }
    CHECK_EQ(rows, counts.matching - counts.kept);
    return counts;
}

/* The counts of a plan, which is freed. */
static struct lmn__plan_counts count(struct lmn_table *table,
                                     const struct lmn__plan_options *options)
{
    struct lmn__plan made;
    struct lmn__plan_counts counts = plan(table, options, &made);

    lmn__plan_free(&made);
    return counts;
}

static void update(struct lmn_table *table, const char *where, const char *column,
                   const char *expression)
{
    const struct lmn_assignment set = { column, expression };
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn_table_update(table, where, &set, 1, NULL, &err), LMN_OK, &err);
}

static void test_plan__pending(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct lmn__plan_options options = basic;
    struct lmn__plan made;
    struct lmn__plan_counts counts;

    (void)state;
    fill_add(table, inputs, 2);
    counts = plan(table, &basic, &made);
    CHECK_EQ(counts.pending, LIVE);
    CHECK_EQ(made.fragment_count, FRAGMENTS);
    CHECK(made.fragment[0].whole && made.fragment[1].whole && made.fragment[0].input_bytes > 0);
    CHECK_EQ(made.fragment[0].todo_count, 2); /* a deleted row lies between */
    lmn__plan_free(&made);
    options.where = "number >= 60 AND number < 90";
    counts = plan(table, &options, &made);
    CHECK_EQ(counts.matching, 10);
    CHECK_EQ(counts.rows, LIVE);
    CHECK_EQ(made.fragment_count, 1);
    CHECK(!made.fragment[0].whole);
    lmn__plan_free(&made);
    options.limited = true;
    options.rows_max = 4;
    counts = count(table, &options);
    CHECK_EQ(counts.pending, 4);
    CHECK_EQ(counts.kept, 6);
    tables_end(table, store);
}

static uint8_t thirds(uint64_t fragment_id, uint64_t row)
{
    return (uint8_t)((fragment_id * FRAGMENT_ROWS + row) % 3);
}

static void test_plan__by_reason(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct lmn__plan_options options = basic;
    struct lmn__plan_counts counts;

    (void)state;
    fill_add(table, inputs, 2);
    fill_cells(table, "filled", thirds, 0);
    update(table, "number IN (3, 6)", "text", "'other'"); /* one finished, one failed */
    counts = count(table, &basic);
    CHECK_EQ(counts.pending, 19);
    CHECK_EQ(counts.failed, 20);
    CHECK_EQ(counts.stale, 1);
    CHECK_EQ(counts.kept, 19);
    CHECK_EQ(counts.other, 0);
    options.function++;
    CHECK_EQ(count(table, &options).other, 20);
    options = basic;
    options.leave_failed = options.leave_stale = true;
    counts = count(table, &options);
    CHECK_EQ(counts.pending, 19);
    CHECK_EQ(counts.kept, 40);
    options = basic;
    options.recompute = true;
    counts = count(table, &options);
    CHECK_EQ(counts.finished, 19);
    CHECK_EQ(counts.kept, 0);
    options = basic;
    options.where = "leman_state('filled') = 'stale' OR number = 6";
    counts = count(table, &options);
    CHECK_EQ(counts.failed, 1);
    CHECK_EQ(counts.stale, 1);
    CHECK_EQ(counts.matching, 2);
    tables_end(table, store);
}

static void test_plan__refused(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    const char *const nothing[] = { "nothing" }, *const number[] = { "number" };
    struct lmn__plan_options options = basic;
    struct lmn__plan made;
    struct lmn_error err = { 0 };

    (void)state;
    fill_add(table, inputs, 2);
    options.output = number;
    CHECK_STATUS(lmn__plan_make(table, &options, &made, &err), LMN_E_NOT_FOUND, &err);
    options = basic;
    options.input = nothing;
    options.input_count = 1;
    CHECK_STATUS(lmn__plan_make(table, &options, &made, &err), LMN_E_NOT_FOUND, &err);
    options = basic;
    options.where = "number >";
    CHECK_STATUS(lmn__plan_make(table, &options, &made, &err), LMN_E_INVALID, &err);
    tables_end(table, store);
}

/* The layout of the fragment with this id for a function that reads `input`. */
static uint64_t layout_of(struct lmn_table *table, const char *input, uint64_t id)
{
    struct lmn__plan_options options = basic;
    struct lmn__plan made;
    uint64_t layout = 0;

    options.recompute = true;
    options.input = &input;
    options.input_count = 1;
    plan(table, &options, &made);
    for (uint64_t i = 0; i < made.fragment_count; i++) {
        if (made.fragment[i].id == id)
            layout = made.fragment[i].layout;
    }
    lmn__plan_free(&made);
    return layout;
}

static void test_plan__layout(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct lmn_error err = { 0 };
    uint64_t layout, maybe;

    (void)state;
    fill_add(table, inputs, 2);
    layout = layout_of(table, "number", 1);
    CHECK(layout != 0 && layout != layout_of(table, "number", 2));
    CHECK(layout != layout_of(table, "maybe", 1));
    CHECK_STATUS(lmn_table_delete(table, "number = 63", NULL, &err), LMN_OK, &err);
    fill_cells(table, "filled", thirds, 0);
    maybe = layout_of(table, "maybe", 1);
    CHECK_OK(column_widen(table, "maybe", NANOARROW_TYPE_INT64, &err));
    CHECK_EQ(layout_of(table, "number", 1), layout);
    CHECK(layout_of(table, "maybe", 1) != maybe);
    tables_end(table, store);
}

/* A store that counts how often files under data/ are read. */
static enum lmn__fault_action count_reads(void *context, enum lmn__store_op op, const char *path)
{
    *(uint64_t *)context += op == LMN__OP_READ && strncmp(path, "data/", 5) == 0;
    return LMN__FAULT_NONE;
}

/* How many reads of data files a plan costs, and that it finds so many stale cells. */
static uint64_t reads_of_plan(struct lmn_store *store, uint64_t stale)
{
    struct lmn_store *counting;
    struct lmn_table *table;
    uint64_t reads = 0;

    CHECK_OK(lmn__store_open_fault(store, count_reads, &reads, &counting, NULL));
    CHECK_OK(lmn_table_open(counting, NULL, &table, NULL));
    CHECK_EQ(count(table, &basic).stale, stale);
    lmn_table_release(table);
    lmn_store_release(counting);
    return reads;
}

/*
 * What touches no input reads none: as many reads as a plan that does not ask for stale cells. The
 * first plan after a fill finds its version in the fill's transaction.
 */
static void test_plan__reads_only_suspects(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct lmn_error err = { 0 };
    uint64_t version, idle;

    (void)state;
    fill_add(table, inputs, 2);
    CHECK_EQ(count(table, &basic).pending, LIVE); /* notes that nothing is stale */
    CHECK(test_store_count(store, "_leman/stats") == 1);
    version = lmn_table_version(table);
    fill_cells(table, "filled", fill_ok, version);
    idle = reads_of_plan(store, 0);
    CHECK_OK(column_add_nulls(table, "more", &err));
    CHECK_OK(column_widen(table, "maybe", NANOARROW_TYPE_INT64, &err));
    CHECK_EQ(reads_of_plan(store, 0), idle);
    CHECK_STATUS(lmn_table_delete(table, "number = 63", NULL, &err), LMN_OK, &err);
    CHECK_EQ(reads_of_plan(store, 0), idle);
    update(table, "number = 30", "flag", "NOT flag");
    CHECK_STATUS(lmn_table_compact(table, NULL, NULL, &err), LMN_OK, &err);
    CHECK(reads_of_plan(store, 0) <= idle); /* fewer fragments */
    idle = reads_of_plan(store, 0);
    update(table, "number = 30", "text", "'other'");
    CHECK(reads_of_plan(store, 1) > idle);
    tables_end(table, store);
}

static uint8_t one_old(uint64_t fragment_id, uint64_t row)
{
    return fragment_id == FRAGMENTS && row == 0 ? 1 | FILL_OTHER_INPUTS : 1;
}

/*
 * A job commits after somebody noted that no cell is stale, with cells computed from a version
 * before that: a row that was updated in between is found all the same.
 */
static void test_plan__cells_of_an_older_version(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    uint64_t version;

    (void)state;
    fill_add(table, inputs, 2);
    version = lmn_table_version(table);
    update(table, "number = 30", "text", "'other'"); /* moves the row to fragment 3 */
    CHECK_EQ(count(table, &basic).pending, LIVE);    /* notes the version of the update */
    fill_cells(table, "filled", one_old, version);
    CHECK_EQ(count(table, &basic).stale, 1);
    fill_cells(table, "filled", fill_ok, lmn_table_version(table));
    CHECK_EQ(count(table, &basic).stale, 0);
    tables_end(table, store);
}

/* An input that is filled again, in the files of its own, makes the cells that read it suspects. */
/* Rows whose input is pending or failed are left alone, also when everything is computed again. */
static void test_plan__waits_for_inputs(void **state)
{
    const char *const reads[] = { "filled", "number", "filled" }, *const second[] = { "second" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct lmn__plan_options options = basic;
    struct lmn__plan_counts counts;

    (void)state;
    options.output = second;
    options.input = reads;
    options.input_count = 3;
    fill_add(table, inputs, 2);
    fill_add_named(table, "second", reads, 1);
    counts = count(table, &options);
    CHECK_EQ(counts.waiting, LIVE);
    CHECK_EQ(counts.kept, LIVE);
    fill_cells(table, "filled", thirds, lmn_table_version(table));
    counts = count(table, &options);
    CHECK_EQ(counts.pending, ROWS / 3);
    CHECK_EQ(counts.waiting, LIVE - ROWS / 3);
    options.recompute = true;
    fill_cells(table, "second", fill_ok, lmn_table_version(table));
    counts = count(table, &options);
    CHECK_EQ(counts.finished + counts.stale, ROWS / 3);
    CHECK_EQ(counts.waiting, LIVE - ROWS / 3);
    tables_end(table, store);
}

static void test_plan__input_filled_again(void **state)
{
    const char *const filled[] = { "filled" }, *const second[] = { "second" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = column_table(store, ROWS, FRAGMENT_ROWS);
    struct lmn__plan_options options = basic;

    (void)state;
    options.output = second;
    options.input = filled;
    options.input_count = 1;
    fill_add(table, inputs, 2);
    fill_cells(table, "filled", fill_ok, lmn_table_version(table));
    fill_add_named(table, "second", filled, 1);
    CHECK_EQ(count(table, &options).pending, LIVE);
    fill_cells(table, "second", fill_ok, lmn_table_version(table));
    update(table, "number = 33", "text", "'other'");
    CHECK_EQ(count(table, &options).stale, 0);
    CHECK_EQ(count(table, &basic).stale, 1);
    fill_cells(table, "filled", fill_ok, lmn_table_version(table));
    CHECK_EQ(count(table, &basic).stale, 0);
    CHECK_EQ(count(table, &options).stale, 1);
    tables_end(table, store);
}

/* Every allocation and every operation of the store fails once. */
static void test_plan__faults(void **state)
{
    struct lmn_store *store = test_store_memory(), *faulty = test_store_faulty(store);
    struct lmn_table *table = column_table(store, 12, 6);
    struct lmn__plan_options options = basic;

    (void)state;
    fill_add(table, inputs, 2);
    fill_cells(table, "filled", thirds, 0);
    update(table, "number = 3", "text", "'other'");
    lmn_table_release(table);
    options.where = "leman_state('filled') != 'ok'";
    for (uint64_t nth = 1;; nth++) {
        int64_t before = live_allocations();
        struct lmn_error err = { 0 };
        struct lmn__plan made;
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_open(faulty, NULL, &table, &err);
        if (st == LMN_OK)
            st = lmn__plan_make(table, &options, &made, &err);
        if (st == LMN_OK) {
            CHECK_EQ(made.counts.stale, 1);
            lmn__plan_free(&made);
        }
        lmn_table_release(table);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(st == LMN_OK || err.message[0] != '\0');
    }
    fault_disarm();
    lmn_store_release(faulty);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plan__pending),
        cmocka_unit_test(test_plan__by_reason),
        cmocka_unit_test(test_plan__refused),
        cmocka_unit_test(test_plan__layout),
        cmocka_unit_test(test_plan__reads_only_suspects),
        cmocka_unit_test(test_plan__cells_of_an_older_version),
        cmocka_unit_test(test_plan__input_filled_again),
        cmocka_unit_test(test_plan__waits_for_inputs),
        cmocka_unit_test(test_plan__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
