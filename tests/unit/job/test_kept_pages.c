/* SPDX-License-Identifier: Apache-2.0 */
/* Pages whose rows a fill leaves as they are. */
#include <string.h>

#include "fills.h"
#include "job/kept_pages.h"
#include "job/unit_file.h"
#include "stores.h"

enum { ROWS = 400, VALUE_BYTES = 20000 };

static const char *const output[] = { "v" };

static void must(enum lmn_status st, const struct lmn_error *err)
{
    CHECK_STATUS(st, LMN_OK, err);
}

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

/* A table of one fragment whose column has pages of 100 rows. */
static void make_filled(struct fill *fill, struct lmn_store *store)
{
    struct lmn_error err;

    fill_make(fill, store, ROWS, ROWS, VALUE_BYTES);
    must(fill_open(fill, &err), &err);
    for (uint64_t row = 0; row < ROWS; row += 100)
        must(fill_range(fill, 0, row, 100, &err), &err);
    must(lmn__journal_sync(fill->journal, &err), &err);
    must(fill_commit(fill, 0, 1, &err), &err);
}

/* The columns of the newest version. */
static void open_columns(struct fill *fill, struct lmn__fill_columns *columns)
{
    struct lmn__manifest *manifest;
    struct lmn_error err;

    must(lmn_table_refresh(fill->table, &err), &err);
    manifest = lmn__table_manifest(fill->table);
    must(lmn__fill_columns_init(columns, manifest, output, 1, -1, &err), &err);
    lmn__manifest_release(manifest);
}

/* A receipt of rows, as far as it counts here. */
static struct lmn__receipt receipt_of(uint64_t *first, uint64_t *count, size_t ranges)
{
    return (struct lmn__receipt){ .first = { first, ranges }, .count = { count, ranges } };
}

static void test_kept_pages__without_changed_rows(void **state)
{
    uint64_t first[] = { 99, 250 }, count[] = { 2, 1 }, other_first = 100, other_count = 1;
    struct lmn__receipt receipt[] = { receipt_of(first, count, 2),
                                      receipt_of(&other_first, &other_count, 1) };
    struct lmn__fill_columns columns;
    struct lmn__kept_pages kept;
    const struct lmn__page_info *page;
    struct lmn_error err;
    struct fill fill;
    bool copies;

    make_filled(&fill, *state);
    open_columns(&fill, &columns);
    must(lmn__kept_pages_init(&kept, fill.table, &columns, 0, 0, receipt, 2, &err), &err);
    CHECK(kept.column != NULL && kept.column->page_count == 4);
    page = lmn__kept_pages_next(&kept, 0);
    CHECK(page != NULL && page->first_row == 300);
    CHECK(lmn__kept_pages_next(&kept, 301) == NULL);
    CHECK_EQ(lmn__kept_pages_bytes(&kept), lmn__kept_page_bytes(page));
    CHECK(lmn__kept_page_bytes(page) > 1 << 20);
    lmn__kept_pages_deinit(&kept);
    must(lmn__unit_file_may_copy(fill.table, &columns, 0, receipt, 2, &copies, &err), &err);
    CHECK(copies);
    /* A ledger has several leaves: it is encoded again. */
    must(lmn__kept_pages_init(&kept, fill.table, &columns, 0, 1, receipt, 2, &err), &err);
    CHECK(lmn__kept_pages_next(&kept, 0) == NULL);
    lmn__kept_pages_deinit(&kept);
    other_first = 0;
    other_count = ROWS;
    must(lmn__unit_file_may_copy(fill.table, &columns, 0, &receipt[1], 1, &copies, &err), &err);
    CHECK(!copies);
    lmn__fill_columns_deinit(&columns);
    fill_end(&fill);
}

/* Pages keep their bounds where no row of them was filled again. */
static void test_kept_pages__are_copied(void **state)
{
    static const uint64_t bounds[] = { 0, 100, 200, 300 };
    struct lmn__fill_columns columns;
    struct lmn__kept_pages kept;
    struct lmn_error err;
    struct fill fill;
    uint64_t bytes[4];

    make_filled(&fill, *state);
    open_columns(&fill, &columns);
    must(lmn__kept_pages_init(&kept, fill.table, &columns, 0, 0, NULL, 0, &err), &err);
    for (uint32_t i = 0; i < 4; i++)
        bytes[i] = lmn__kept_page_bytes(&kept.column->page[i]);
    lmn__kept_pages_deinit(&kept);
    lmn__fill_columns_deinit(&columns);

    must(fill_range(&fill, 0, 150, 2, &err), &err);
    must(fill_range(&fill, 0, 160, 1, &err), &err);
    must(lmn__journal_sync(fill.journal, &err), &err);
    must(fill_commit(&fill, 0, 1, &err), &err);
    CHECK_EQ(fill_check(*state, "v", VALUE_BYTES), ROWS - 1);
    open_columns(&fill, &columns);
    must(lmn__kept_pages_init(&kept, fill.table, &columns, 0, 0, NULL, 0, &err), &err);
    CHECK_EQ(kept.column->page_count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        CHECK_EQ(kept.column->page[i].first_row, bounds[i]);
        CHECK_EQ(lmn__kept_page_bytes(&kept.column->page[i]), bytes[i]);
    }
    lmn__kept_pages_deinit(&kept);
    lmn__fill_columns_deinit(&columns);
    fill_end(&fill);
}

static void test_kept_pages__faults(void **state)
{
    uint64_t first = 5, count = 1;
    struct lmn__receipt receipt = receipt_of(&first, &count, 1);
    struct lmn__fill_columns columns;
    struct lmn_error err;
    struct fill fill;
    bool copies;

    make_filled(&fill, *state);
    open_columns(&fill, &columns);
    for (uint64_t nth = 1;; nth++) {
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__unit_file_may_copy(fill.table, &columns, 0, &receipt, 1, &copies, &err);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY); /* a cache may do without */
    }
    fault_disarm();
    CHECK(copies);
    lmn__fill_columns_deinit(&columns);
    fill_end(&fill);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_kept_pages__without_changed_rows),
        CASE(test_kept_pages__are_copied),
        CASE(test_kept_pages__faults),
    };

    return cmocka_run_group_tests_name("kept_pages", tests, NULL, NULL);
}
