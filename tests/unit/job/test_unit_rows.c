/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a fragment that are read while what is held of them goes from memory. */
#include "arrow/compose.h"
#include "fills.h"
#include "job/unit_rows.h"
#include "stores.h"

enum { ROWS = 12000, VALUE_BYTES = 10 };

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

/* What a reader of rows sees, and what it does to them. */
struct taker {
    struct lmn__unit_rows *rows;
    bool trims;
    uint64_t limit;
    uint64_t calls, count, null_count;
};

/* A lmn__rows_fn. */
static enum lmn_status take(void *context, struct ArrowArray *array, bool borrowed,
                            struct lmn_error *err)
{
    struct taker *taker = context;
    const struct ArrowArray *values = array->children[0];

    (void)borrowed;
    (void)err;
    taker->calls++;
    taker->count += (uint64_t)array->length;
    for (int64_t i = 0; i < array->length; i++) {
        const uint8_t *bits = values->buffers[0];
        uint64_t slot = (uint64_t)(values->offset + i);

        taker->null_count += bits != NULL && (bits[slot / 8] >> slot % 8 & 1) == 0;
    }
    if (taker->trims)
        lmn__unit_rows_trim(taker->rows, taker->limit);
    return LMN_OK;
}

/* Read all rows of the only fragment, all columns at once or one. */
static struct taker read_all(struct fill *fill, uint32_t column, bool trims, uint64_t limit)
{
    struct lmn__manifest *manifest = lmn__table_manifest(fill->table);
    const char *const output[] = { fill->column };
    struct taker taker = { .trims = trims, .limit = limit };
    struct lmn__fill_columns columns = { 0 };
    const struct lmn__receipt *receipt;
    struct lmn_error err;
    uint64_t count;

    CHECK_OK(lmn__fill_columns_init(&columns, manifest, output, 1, -1, &err));
    CHECK_OK(lmn__journal_receipts(fill->journal, fill->fragment[0].id, fill->fragment[0].layout,
                                   &receipt, &count, &err));
    CHECK_OK(lmn__unit_rows_open(fill->table, &columns, 0, lmn__journal_dir(fill->journal), receipt,
                                 count, &taker.rows, &err));
    CHECK_STATUS(lmn__unit_rows_read(taker.rows, column, 0, ROWS, take, &taker, &err), LMN_OK,
                 &err);
    lmn__unit_rows_close(taker.rows);
    lmn__fill_columns_deinit(&columns);
    lmn__manifest_release(manifest);
    return taker;
}

/* Long batches, which are passed on as they lie, between short ones, which are gathered. */
static void compute(struct fill *fill)
{
    const struct lmn__row_range one[] = { { 0, 3 }, { 4, 4996 } };
    const struct lmn__row_range two[] = { { 5000, 700 }, { 6000, 300 }, { 7000, 2000 } };
    const struct lmn__row_range between[] = { { 5700, 300 }, { 6300, 500 } };
    struct lmn_error err;

    CHECK_OK(fill_open(fill, &err));
    CHECK_STATUS(fill_compute(fill, 0, one, 2, 1500, &err), LMN_OK, &err);
    CHECK_STATUS(fill_compute(fill, 0, two, 3, 1100, &err), LMN_OK, &err);
    CHECK_STATUS(fill_compute(fill, 0, between, 2, 100, &err), LMN_OK, &err);
    CHECK_STATUS(fill_range(fill, 0, 9000, 3000, &err), LMN_OK, &err);
    CHECK_OK(lmn__journal_sync(fill->journal, &err));
}

static void test_unit_rows__trimmed_while_they_are_read(void **state)
{
    const uint32_t columns[] = { LMN__ALL_COLUMNS, 0, 1 };
    struct fill fill;

    fill_make(&fill, *state, ROWS, ROWS, VALUE_BYTES);
    compute(&fill);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        struct taker whole = read_all(&fill, columns[i], false, 0);
        struct taker passed = read_all(&fill, columns[i], true, UINT64_MAX);
        struct taker none = read_all(&fill, columns[i], true, 0);

        CHECK_EQ(whole.count, ROWS);
        CHECK(whole.calls > 3);
        CHECK_EQ(passed.count, ROWS);
        CHECK_EQ(passed.null_count, whole.null_count);
        CHECK_EQ(none.count, ROWS);
        CHECK_EQ(none.null_count, whole.null_count);
    }
    fill_close(&fill);
    fill_end(&fill);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_unit_rows__trimmed_while_they_are_read, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
