/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of blobs: payloads lie in the file before the page that says where they are. */
#include <stdio.h>
#include <string.h>

#include "fills.h"
#include "stores.h"

/* Bytes of a value: gathered with others, and in a place of its own. */
enum { SMALL = 1000, LARGE = 1200000 };

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

static void print_finding(void *context, const char *finding)
{
    (void)context;
    check_fail(__FILE__, __LINE__, "%s", finding);
}

/* Everything that the newest version names can be read, and nothing of the fill is left. */
static void check_end(struct fill *fill, uint64_t rows)
{
    struct lmn_verify_result result;
    struct lmn_table *table;
    struct lmn_error err;

    CHECK_EQ(fill_check(fill->store, "v", fill->value_bytes), rows);
    must(lmn_table_open(fill->store, NULL, &table, &err), &err);
    must(lmn_table_verify(table, print_finding, NULL, &result, &err), &err);
    lmn_table_release(table);
    lmn__page_sink_close(fill->sink);
    fill->sink = NULL;
    must(lmn__journal_remove(fill->journal, false, &err), &err);
    fill->journal = NULL;
    CHECK_EQ(test_store_count(fill->store, "_leman/fills"), 1);
    fill_end(fill);
}

static void fill_whole(struct lmn_store *store, uint32_t value_bytes, uint64_t rows, uint64_t step,
                       bool segments)
{
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, store, rows, rows, value_bytes);
    fill.segments = segments;
    must(fill_open(&fill, &err), &err);
    for (uint64_t row = 0; row < rows; row += step)
        must(fill_range(&fill, 0, row, rows - row < step ? rows - row : step, &err), &err);
    must(lmn__journal_sync(fill.journal, &err), &err);
    /* Every payload is in its place, and what is held is two numbers for each. */
    CHECK(fill_payload_bytes(&fill, 0) > rows / 2 * value_bytes);
    CHECK(fill_payload_bytes(&fill, 0) <= rows * (value_bytes + 7 + 64));
    CHECK_EQ(fill_direct_count(&fill, 0), 0);
    must(fill_commit(&fill, 0, 1, &err), &err);
    check_end(&fill, rows - 1);
}

static void test_blob_fill__small_payloads_are_gathered(void **state)
{
    fill_whole(*state, SMALL, 500, 90, false);
}

static void test_blob_fill__large_payloads_have_places_of_their_own(void **state)
{
    fill_whole(*state, LARGE, 12, 5, false);
}

static void test_blob_fill__segments_are_put_together(void **state)
{
    fill_whole(*state, SMALL, 200, 90, true);
}

static void test_blob_fill__large_segments_are_put_together(void **state)
{
    fill_whole(*state, LARGE, 10, 5, true);
}

/* Row 1 is null: nothing is granted before the tail. */
static void test_blob_fill__nulls_alone_have_no_payload(void **state)
{
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, *state, 100, 100, SMALL);
    must(fill_open(&fill, &err), &err);
    must(fill_range(&fill, 0, 1, 1, &err), &err);
    CHECK_EQ(fill_payload_bytes(&fill, 0), 0);
    must(fill_commit(&fill, 0, 1, &err), &err);
    check_end(&fill, 1);
}

/* Rows that were filled before keep their payloads, which are copied. */
static void test_blob_fill__refill_keeps_other_rows(void **state)
{
    static const struct lmn__row_range odd[] = { { 0, 2 }, { 100, 1 }, { 150, 5 }, { 299, 1 } };
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, *state, 300, 300, SMALL);
    must(fill_open(&fill, &err), &err);
    must(fill_range(&fill, 0, 10, 85, &err), &err);
    must(fill_commit(&fill, 0, 1, &err), &err);
    CHECK_EQ(fill_check(*state, "v", SMALL), 85);
    fill_close(&fill);
    must(fill_open(&fill, &err), &err);
    must(fill_compute(&fill, 0, odd, 4, 3, &err), &err);
    must(fill_commit(&fill, 0, 1, &err), &err);
    check_end(&fill, 85 + 9);
}

static void test_blob_fill__results_follow_their_rows(void **state)
{
    struct lmn_table *other;
    struct lmn_error err;
    uint64_t count;
    struct fill fill;

    fill_make_blobs(&fill, *state, 400, 100, SMALL);
    must(fill_open(&fill, &err), &err);
    for (uint64_t i = 0; i < 4; i++)
        must(fill_range(&fill, i, 0, i == 2 ? 40 : 100, &err), &err);
    must(lmn__journal_sync(fill.journal, &err), &err);
    must(lmn_table_open(*state, NULL, &other, &err), &err);
    must(lmn_table_delete(other, "number between 60 and 89", &count, &err), &err);
    must(lmn_table_compact(other, NULL, NULL, &err), &err);
    lmn_table_release(other);
    CHECK_STATUS(fill_commit(&fill, 0, 4, &err), LMN_E_CONFLICT, &err);
    must(fill_rebase(&fill, &err), &err);
    check_end(&fill, 399 - 10 - 60);
}

/* Every allocation and every operation of the store fails once. */
static void test_blob_fill__faults_lose_nothing(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
        uint32_t computed[FILL_STEPS_MAX] = { 0 }, synced[FILL_STEPS_MAX] = { 0 };
        struct lmn_error err = { 0 };
        enum lmn_status st;
        struct fill fill;
        bool fired;

        fill_make_blobs(&fill, store, 6, 6, SMALL);
        fill_prepare(&fill, 0, 0, 6);
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = fill_drive(&fill, 6, computed, synced, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || err.message[0] != '\0');
        if (st != LMN_OK)
            must(fill_drive(&fill, 6, computed, synced, &err), &err);
        fill_forget();
        CHECK_EQ(fill_check(inner, "v", SMALL), 5);
        fill_end(&fill);
        lmn_store_release(store);
        lmn_store_release(inner);
        if (!fired)
            break;
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_blob_fill__small_payloads_are_gathered),
        CASE(test_blob_fill__large_payloads_have_places_of_their_own),
        CASE(test_blob_fill__segments_are_put_together),
        CASE(test_blob_fill__large_segments_are_put_together),
        CASE(test_blob_fill__nulls_alone_have_no_payload),
        CASE(test_blob_fill__refill_keeps_other_rows),
        CASE(test_blob_fill__results_follow_their_rows),
        CASE(test_blob_fill__faults_lose_nothing),
    };

    return cmocka_run_group_tests_name("blob_fill", tests, NULL, NULL);
}
