/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "column_tables.h"
#include "fills.h"
#include "stores.h"
#include "table/versions.h"

static int begin(void **state)
{
    *state = test_store_memory();
    return 0;
}

static int end(void **state)
{
    lmn_store_release(*state);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static void must(enum lmn_status st, const struct lmn_error *err)
{
    CHECK_STATUS(st, LMN_OK, err);
}

/* Fill rows of every fragment, `step` rows to a receipt. */
static void fill_all(struct fill *fill, uint64_t step)
{
    struct lmn_error err;

    must(fill_open(fill, &err), &err);
    for (uint64_t i = 0; i < fill->plan.fragment_count; i++) {
        for (uint64_t row = 0; row < fill->fragment[i].row_count; row += step) {
            uint64_t left = fill->fragment[i].row_count - row;

            must(fill_range(fill, i, row, left < step ? left : step, &err), &err);
        }
    }
    must(lmn__journal_sync(fill->journal, &err), &err);
}

static void commit_all(struct fill *fill)
{
    struct lmn_error err;

    must(fill_commit(fill, 0, fill->plan.fragment_count, &err), &err);
}

/* Nothing is left to do: the fill's directory goes. */
static void check_no_receipts(struct fill *fill)
{
    uint64_t fragment_id, layout;
    struct lmn_error err;

    CHECK(!lmn__journal_fragment(fill->journal, 0, &fragment_id, &layout));
    lmn__page_sink_close(fill->sink);
    fill->sink = NULL;
    must(lmn__journal_remove(fill->journal, false, &err), &err);
    fill->journal = NULL;
    CHECK_EQ(test_store_count(fill->store, "_leman/fills"), 1);
}

static void print_finding(void *context, const char *finding)
{
    (void)context;
    check_fail(__FILE__, __LINE__, "%s", finding);
}

/* Everything that the newest version names can be read and is what it says. */
static void check_verified(struct lmn_store *store)
{
    struct lmn_verify_result result;
    struct lmn_table *table;
    struct lmn_error err;

    must(lmn_table_open(store, NULL, &table, &err), &err);
    must(lmn_table_verify(table, print_finding, NULL, &result, &err), &err);
    lmn_table_release(table);
}

static void test_assemble__held_rows_come_into_a_version(void **state)
{
    struct fill fill;

    fill_make(&fill, *state, 5000, 2000, 10);
    fill_all(&fill, 700);
    commit_all(&fill);
    CHECK_EQ(fill_check(*state, "v", 10), 4999);
    check_no_receipts(&fill);
    check_verified(*state);
    fill_end(&fill);
}

static void test_assemble__direct_pages_stay_in_place(void **state)
{
    struct fill fill;

    fill_make(&fill, *state, 600, 300, 20000);
    fill_all(&fill, 100);
    CHECK_EQ(fill_direct_count(&fill, 0), 3);
    commit_all(&fill);
    CHECK_EQ(fill_check(*state, "v", 20000), 599);
    check_no_receipts(&fill);
    check_verified(*state);
    fill_end(&fill);
}

static void test_assemble__direct_and_held_share_a_file(void **state)
{
    struct lmn_error err;
    struct fill fill;

    fill_make(&fill, *state, 400, 400, 20000);
    must(fill_open(&fill, &err), &err);
    must(fill_range(&fill, 0, 300, 100, &err), &err);
    must(fill_range(&fill, 0, 290, 10, &err), &err);
    must(fill_range(&fill, 0, 10, 130, &err), &err);
    must(fill_range(&fill, 0, 0, 10, &err), &err);
    must(fill_range(&fill, 0, 140, 20, &err), &err);
    must(lmn__journal_sync(fill.journal, &err), &err);
    CHECK_EQ(fill_direct_count(&fill, 0), 2);
    must(fill_commit(&fill, 0, 1, &err), &err);
    /* Rows 160 to 289 stay pending. */
    CHECK_EQ(fill_check(*state, "v", 20000), 269);
    check_no_receipts(&fill);
    fill_end(&fill);
}

static void test_assemble__pages_go_over_dead_rows(void **state)
{
    const struct lmn__row_range live[] = { { 0, 3 }, { 4, 196 } };
    struct lmn_error err;
    struct fill fill;

    fill_make(&fill, *state, 200, 200, 20000);
    must(fill_open(&fill, &err), &err);
    must(fill_compute(&fill, 0, live, 2, 32, &err), &err);
    CHECK_EQ(fill_direct_count(&fill, 0), 1);
    must(lmn__journal_sync(fill.journal, &err), &err);
    must(fill_commit(&fill, 0, 1, &err), &err);
    CHECK_EQ(fill_check(*state, "v", 20000), 199);
    check_no_receipts(&fill);
    fill_end(&fill);
}

/* Results of a fragment in segments and in shared files, in pages and held. */
static void test_assemble__segments_are_put_together(void **state)
{
    struct lmn_error err;
    char dir[64];
    struct fill fill;

    fill_make(&fill, *state, 400, 400, 20000);
    fill.segments = true;
    must(fill_open(&fill, &err), &err);
    must(fill_range(&fill, 0, 0, 130, &err), &err);
    must(fill_range(&fill, 0, 300, 20, &err), &err);
    must(lmn__journal_sync(fill.journal, &err), &err);
    snprintf(dir, sizeof dir, "%s", lmn__journal_dir(fill.journal));
    /* Journal, hold and pages file, and three segments. */
    CHECK_EQ(test_store_count(*state, dir), 6);
    CHECK_EQ(fill_direct_count(&fill, 0), 1);
    fill_close(&fill);
    fill.segments = false;
    must(fill_open(&fill, &err), &err);
    must(fill_range(&fill, 0, 130, 100, &err), &err);
    must(fill_range(&fill, 0, 320, 10, &err), &err);
    must(fill_commit(&fill, 0, 1, &err), &err);
    CHECK_EQ(fill_check(*state, "v", 20000), 259);
    CHECK_EQ(test_store_count(*state, dir), 2);
    check_no_receipts(&fill);
    check_verified(*state);
    fill_end(&fill);
}

/* Fill some rows, then others: those that were filled before stay. */
static void refill(struct lmn_store *store, uint32_t value_bytes)
{
    struct lmn__row_range odd[100];
    struct lmn_error err;
    struct fill fill;

    fill_make(&fill, store, 3000, 3000, value_bytes);
    must(fill_open(&fill, &err), &err);
    must(fill_range(&fill, 0, 100, 1500, &err), &err);
    CHECK_EQ(fill_direct_count(&fill, 0), value_bytes > 1000);
    must(fill_commit(&fill, 0, 1, &err), &err);
    CHECK_EQ(fill_check(store, "v", value_bytes), 1500);
    for (uint64_t i = 0; i < 100; i++)
        odd[i] = (struct lmn__row_range){ 1501 + 10 * i, 1 + i % 3 };
    must(fill_compute(&fill, 0, odd, 100, 7, &err), &err);
    must(fill_range(&fill, 0, 0, 2, &err), &err);
    must(fill_commit(&fill, 0, 1, &err), &err);
    /* 1501 to 1599 were filled before: ten of the ranges, of 1, 2, 3, 1, 2, 3, 1, 2, 3, 1 rows. */
    CHECK_EQ(fill_check(store, "v", value_bytes), 1500 + 199 - 19 + 2);
    check_no_receipts(&fill);
    check_verified(store);
    fill_end(&fill);
}

static void test_assemble__refill_keeps_other_rows(void **state)
{
    refill(*state, 10);
}

static void test_assemble__refill_of_direct_pages(void **state)
{
    refill(*state, 2000);
}

static void test_assemble__fits_after_appends_deletes_updates_and_new_columns(void **state)
{
    const struct lmn_assignment same = { "number", "number + 0" };
    const struct lmn_assignment more = { "more", "number * 2" };
    struct lmn_table *other;
    struct lmn_error err;
    uint64_t count;
    struct fill fill;

    fill_make(&fill, *state, 1000, 250, 10);
    fill_all(&fill, 100);
    must(lmn_table_open(*state, NULL, &other, &err), &err);
    must(lmn_table_delete(other, "number between 300 and 329", &count, &err), &err);
    CHECK_EQ(count, 10);
    must(lmn_table_update(other, "number between 600 and 608", &same, 1, &count, &err), &err);
    CHECK_EQ(count, 3);
    must(lmn_table_add_columns(other, &more, 1, &err), &err);
    lmn_table_release(other);
    commit_all(&fill);
    /* Three rows moved away before they were filled. */
    CHECK_EQ(fill_check(*state, "v", 10), 999 - 10 - 3);
    check_no_receipts(&fill);
    check_verified(*state);
    fill_end(&fill);
}

static void test_assemble__two_columns_land_side_by_side(void **state)
{
    struct fill one, two;

    fill_make(&one, *state, 600, 200, 20000);
    fill_add_column(one.table, "w");
    fill_attach(&two, *state, "w", 30);
    fill_all(&one, 100);
    fill_all(&two, 50);
    commit_all(&one);
    commit_all(&two);
    CHECK_EQ(fill_check(*state, "v", 20000), 599);
    CHECK_EQ(fill_check(*state, "w", 30), 599);
    fill_end(&one);
    fill_end(&two);
}

static void test_assemble__dropped_column_is_named(void **state)
{
    static const char *const column[] = { "v" };
    struct lmn_table *other;
    struct lmn_error err;
    uint64_t version;
    struct fill fill;

    fill_make(&fill, *state, 600, 300, 20000);
    fill_all(&fill, 100);
    must(lmn_table_open(*state, NULL, &other, &err), &err);
    must(lmn_table_drop_columns(other, column, 1, &err), &err);
    version = lmn_table_version(other);
    CHECK_STATUS(fill_commit(&fill, 0, 2, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "\"v\"");
    must(lmn_table_refresh(other, &err), &err);
    CHECK_EQ(lmn_table_version(other), version);
    /* Another column of the name is another column. */
    fill_add_column(other, "w");
    fill_add_column(other, "v");
    CHECK_STATUS(fill_commit(&fill, 0, 2, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "dropped");
    lmn_table_release(other);
    fill_end(&fill);
}

/* Compact while results wait for their commit; they go to where their rows are now. */
static void compact_meanwhile(struct lmn_store *store, uint32_t value_bytes, bool partly)
{
    struct lmn_table *other;
    struct lmn_error err;
    uint64_t count;
    struct fill fill;

    fill_make(&fill, store, 1000, 250, value_bytes);
    must(fill_open(&fill, &err), &err);
    for (uint64_t i = 0; i < 4; i++) {
        must(fill_range(&fill, i, 0, 120, &err), &err);
        if (!partly || i != 1)
            must(fill_range(&fill, i, 120, 130, &err), &err);
    }
    must(lmn__journal_sync(fill.journal, &err), &err);
    CHECK_EQ(fill_direct_count(&fill, 0), value_bytes > 1000 ? 2 : 0);
    must(lmn_table_open(store, NULL, &other, &err), &err);
    must(lmn_table_delete(other, "number between 600 and 629", &count, &err), &err);
    must(lmn_table_compact(other, NULL, NULL, &err), &err);
    lmn_table_release(other);
    CHECK_STATUS(fill_commit(&fill, 0, 4, &err), LMN_E_CONFLICT, &err);
    must(fill_rebase(&fill, &err), &err);
    CHECK_EQ(fill.plan.fragment_count, 1);
    CHECK_EQ(fill_check(store, "v", value_bytes), 999 - 10 - (partly ? 130 : 0));
    check_no_receipts(&fill);
    check_verified(store);
    fill_end(&fill);
}

static void test_assemble__held_results_follow_their_rows(void **state)
{
    compact_meanwhile(*state, 10, false);
}

static void test_assemble__direct_results_follow_their_rows(void **state)
{
    compact_meanwhile(*state, 20000, false);
}

static void test_assemble__results_of_unfinished_fragments_follow_their_rows(void **state)
{
    compact_meanwhile(*state, 20000, true);
}

/* So they do where a version between is damaged, which is as one that is cleaned up. */
static void test_assemble__results_pass_over_a_damaged_version(void **state)
{
    char path[LMN__VERSION_PATH_BYTES];
    struct lmn_store *store = *state;
    struct lmn_table *other;
    struct lmn_error err;
    struct fill fill;

    fill_make(&fill, store, 600, 300, 10);
    fill_all(&fill, 100);
    must(lmn_table_open(store, NULL, &other, &err), &err);
    must(lmn_table_delete(other, "number = 6", NULL, &err), &err);
    lmn__version_path(lmn_table_version(other), false, path);
    must(lmn_table_compact(other, NULL, NULL, &err), &err);
    lmn_table_release(other);
    must(store->ops->remove(store, path, &err), &err);
    test_store_write(store, path, "", 0);
    CHECK_STATUS(fill_commit(&fill, 0, 2, &err), LMN_E_CONFLICT, &err);
    must(fill_rebase(&fill, &err), &err);
    CHECK_EQ(fill.plan.fragment_count, 1);
    CHECK_EQ(fill_check(store, "v", 10), 598);
    check_no_receipts(&fill);
    check_verified(store);
    fill_end(&fill);
}

/* Others, who add a column and restore a version while a commit gets its name, once. */
struct restorer {
    struct lmn_store *inner;
    uint64_t version; /* 0: not now */
};

static enum lmn__fault_action restore_meanwhile(void *context, enum lmn__store_op op,
                                                const char *path)
{
    struct restorer *restorer = context;
    uint64_t version = restorer->version;
    struct lmn_table *other;
    struct lmn_error err;

    if (op != LMN__OP_LINK || version == 0 || strncmp(path, "_versions/", 10) != 0)
        return LMN__FAULT_NONE;
    restorer->version = 0;
    must(lmn_table_open(restorer->inner, NULL, &other, &err), &err);
    must(column_add_nulls(other, "more", &err), &err);
    must(lmn_table_restore(other, version, &err), &err);
    lmn_table_release(other);
    return LMN__FAULT_NONE;
}

/* Rows that have their cells are deleted, others are filled, and the first are back. */
static void restore_rows(struct lmn_store *inner, uint32_t value_bytes)
{
    struct restorer restorer = { .inner = inner };
    struct lmn_store *store;
    struct lmn_table *other;
    struct lmn_error err;
    uint64_t count, version;
    struct fill fill;

    CHECK_OK(lmn__store_open_fault(inner, restore_meanwhile, &restorer, &store, &err));
    fill_make(&fill, store, 300, 300, value_bytes);
    must(fill_open(&fill, &err), &err);
    must(fill_range(&fill, 0, 0, 100, &err), &err);
    must(fill_range(&fill, 0, 110, 190, &err), &err);
    must(fill_commit(&fill, 0, 1, &err), &err);
    must(lmn_table_open(inner, NULL, &other, &err), &err);
    version = lmn_table_version(other);
    must(lmn_table_delete(other, "number < 150", &count, &err), &err);
    CHECK_EQ(count, 49);
    lmn_table_release(other);
    must(fill_range(&fill, 0, 100, 10, &err), &err);
    restorer.version = version;
    must(fill_commit(&fill, 0, 1, &err), &err);
    CHECK_EQ(restorer.version, 0);
    CHECK_EQ(fill_check(inner, "v", value_bytes), 299);
    check_no_receipts(&fill);
    check_verified(inner);
    fill_end(&fill);
    lmn_store_release(store);
}

static void test_assemble__rows_that_are_back_keep_their_cells(void **state)
{
    restore_rows(*state, 10);
}

static void test_assemble__rows_that_are_back_keep_their_large_cells(void **state)
{
    restore_rows(*state, 20000);
}

static void test_assemble__results_of_a_deleted_fragment_are_dropped(void **state)
{
    struct lmn_table *other;
    struct lmn_error err;
    struct fill fill;

    fill_make(&fill, *state, 600, 300, 10);
    fill_all(&fill, 100);
    must(lmn_table_open(*state, NULL, &other, &err), &err);
    must(lmn_table_delete(other, "number >= 900", NULL, &err), &err);
    lmn_table_release(other);
    CHECK_STATUS(fill_commit(&fill, 0, 2, &err), LMN_E_CONFLICT, &err);
    must(fill_rebase(&fill, &err), &err);
    must(fill_commit(&fill, 0, 1, &err), &err);
    CHECK_EQ(fill_check(*state, "v", 10), 299);
    check_no_receipts(&fill);
    fill_end(&fill);
}

static void test_assemble__failed_cells_have_records(void **state)
{
    struct lmn_error err;
    char path[64];
    struct fill fill;

    fill_make(&fill, *state, 100, 50, 10);
    fill_all(&fill, 20);
    commit_all(&fill);
    snprintf(path, sizeof path, "_leman/errors/%d", fill.key.field_id);
    CHECK_EQ(test_store_count(*state, path), 1);
    (void)err;
    fill_end(&fill);
}

static void clean(struct lmn_store *store, bool unverified)
{
    const struct lmn_cleanup_options options = { .remove_unverified = unverified };
    struct lmn_table *table;
    struct lmn_error err;

    must(lmn_table_open(store, NULL, &table, &err), &err);
    must(lmn_table_cleanup(table, &options, NULL, &err), &err);
    lmn_table_release(table);
}

/* A fill stays while it can be taken up again, while somebody drives it, and while it is young. */
static void test_assemble__cleanup_takes_fills_of_dropped_columns(void **state)
{
    static const char *const column[] = { "v" };
    struct lmn_error err;
    struct fill fill;

    fill_make(&fill, *state, 600, 300, 10);
    fill_all(&fill, 100);
    fill_close(&fill);
    clean(*state, true);
    CHECK_EQ(test_store_count(*state, "_leman/fills"), 2);
    must(fill_open(&fill, &err), &err);
    must(fill_commit(&fill, 0, 1, &err), &err);
    must(lmn_table_drop_columns(fill.table, column, 1, &err), &err);
    clean(*state, true);
    CHECK_EQ(test_store_count(*state, "_leman/fills"), 2);
    fill_close(&fill);
    clean(*state, false);
    CHECK_EQ(test_store_count(*state, "_leman/fills"), 2);
    clean(*state, true);
    CHECK_EQ(test_store_count(*state, "_leman/fills"), 1);
    fill_end(&fill);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_assemble__held_rows_come_into_a_version),
        CASE(test_assemble__direct_pages_stay_in_place),
        CASE(test_assemble__direct_and_held_share_a_file),
        CASE(test_assemble__pages_go_over_dead_rows),
        CASE(test_assemble__segments_are_put_together),
        CASE(test_assemble__refill_keeps_other_rows),
        CASE(test_assemble__refill_of_direct_pages),
        CASE(test_assemble__fits_after_appends_deletes_updates_and_new_columns),
        CASE(test_assemble__two_columns_land_side_by_side),
        CASE(test_assemble__dropped_column_is_named),
        CASE(test_assemble__held_results_follow_their_rows),
        CASE(test_assemble__direct_results_follow_their_rows),
        CASE(test_assemble__results_of_unfinished_fragments_follow_their_rows),
        CASE(test_assemble__results_pass_over_a_damaged_version),
        CASE(test_assemble__rows_that_are_back_keep_their_cells),
        CASE(test_assemble__rows_that_are_back_keep_their_large_cells),
        CASE(test_assemble__results_of_a_deleted_fragment_are_dropped),
        CASE(test_assemble__failed_cells_have_records),
        CASE(test_assemble__cleanup_takes_fills_of_dropped_columns),
    };

    return cmocka_run_group_tests_name("assemble", tests, NULL, NULL);
}
