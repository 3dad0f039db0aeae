/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Conditions in scans, and counting: the rows that match, with limits, from every kind of table.
 *
 * labels: threads
 */
#include <string.h>

#include "arrays.h"
#include "golden_tables.h"
#include "stores.h"

static const char *const golden[] = { "history-2.0", "history-2.1", "history-2.2", "stable",
                                      "compacted" };
enum { GOLDEN_COUNT = sizeof golden / sizeof golden[0] };

static bool is_all(int64_t id)
{
    return id >= 0;
}

static bool is_none(int64_t id)
{
    return id < 0;
}

static bool is_small(int64_t id)
{
    return id < 12;
}

static bool is_even(int64_t id)
{
    return id % 2 == 0;
}

static bool is_text(int64_t id)
{
    return id % 7 != 0;
}

static bool is_one(int64_t id)
{
    return id == 25;
}

static bool is_mixed(int64_t id)
{
    return id > 40 && id % 7 != 0 && id != 50;
}

static const struct {
    const char *where;
    bool (*matches)(int64_t id);
} condition[] = {
    { "id >= 0", is_all },
    { "id < 0", is_none },
    { "empty IS NOT NULL", is_none },
    { "empty IS NULL", is_all },
    { "true", is_all },
    { "id < 12", is_small },
    { "info.w <= 12", is_small },
    { "id % 2 = 0", is_even },
    { "text IS NOT NULL", is_text },
    { "id = 25", is_one },
    { "text = 'text 25'", is_one },
    { "info.w > 41 AND text IS NOT NULL AND NOT (id = 50)", is_mixed },
    { "info IS NOT NULL AND info.w = 26", is_one },
};
enum { CONDITION_COUNT = sizeof condition / sizeof condition[0] };

/* Scan and check; the ids in order. Returns how many. */
static uint64_t scan_ids(struct lmn_table *table, const struct lmn_scan_options *options,
                         int64_t *id_out)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err = { 0 };
    uint64_t rows = 0;

    CHECK_STATUS(lmn_table_scan(table, options, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    for (;;) {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        for (uint64_t i = 0; i < (uint64_t)batch.length; i++) {
            CHECK(rows < GOLDEN_ROWS);
            id_out[rows++] = golden_check_row(&schema, &batch, i);
        }
        batch.release(&batch);
    }
    schema.release(&schema);
    stream.release(&stream);
    return rows;
}

/* Each condition against the whole scan, with limits and offsets and batches of several sizes. */
static void check_condition(struct lmn_table *table, int c, const int64_t *all)
{
    static const uint32_t batch_rows[] = { 0, 1, 7 };
    static const uint64_t limit[] = { UINT64_MAX, 0, 1, 10 }, offset[] = { 0, 1, 9, 60 };
    int64_t expected[GOLDEN_ROWS], id[GOLDEN_ROWS];
    uint64_t count = 0, counted;
    struct lmn_error err = { 0 };

    for (int i = 0; i < GOLDEN_ROWS; i++) {
        if (condition[c].matches(all[i]))
            expected[count++] = all[i];
    }
    CHECK_STATUS(lmn_table_count(table, condition[c].where, &counted, &err), LMN_OK, &err);
    CHECK_EQ(counted, count);
    for (int n = 0; n < 3 * 4 * 4; n++) {
        const struct lmn_scan_options options = { .where = condition[c].where,
                                                  .batch_rows_max = batch_rows[n % 3],
                                                  .threads = 1 + (uint32_t)(n % 2),
                                                  .limited = limit[n / 3 % 4] != UINT64_MAX,
                                                  .limit = limit[n / 3 % 4],
                                                  .offset = offset[n / 12],
                                                  .with_row_id = n % 5 == 0,
                                                  .with_row_address = n % 7 == 0 };
        uint64_t left = options.offset < count ? count - options.offset : 0;
        uint64_t rows = scan_ids(table, &options, id);

        CHECK_EQ(rows, options.limited && options.limit < left ? options.limit : left);
        for (uint64_t i = 0; i < rows; i++)
            CHECK_EQ(id[i], expected[options.offset + i]);
    }
}

static void test_scan_where__golden(void **state)
{
    (void)state;
    for (int t = 0; t < GOLDEN_COUNT; t++) {
        struct lmn_table *table = golden_open(golden[t]);
        int64_t all[GOLDEN_ROWS];
        uint64_t count;
        struct lmn_error err;

        CHECK_OK(lmn_table_count(table, NULL, &count, &err));
        CHECK_EQ(count, GOLDEN_ROWS);
        CHECK_EQ(scan_ids(table, NULL, all), GOLDEN_ROWS);
        for (int c = 0; c < CONDITION_COUNT; c++)
            check_condition(table, c, all);
        lmn_table_release(table);
    }
    CHECK_EQ(live_allocations(), 0);
}

/* The condition's columns are not those of the result; and columns that share a parent. */
static void test_scan_where__columns(void **state)
{
    const char *const column[] = { "info", "id" }, *const part[] = { "info.w", "id", "text" };
    struct lmn_scan_options options = { .column = column,
                                        .column_count = 2,
                                        .where = "twice = 50 OR info.w = 19 OR text = 'text 65'" };
    struct lmn_table *table = golden_open("history-2.1");
    int64_t id[GOLDEN_ROWS];

    (void)state;
    CHECK_EQ(scan_ids(table, &options, id), 3);
    CHECK_EQ(id[0], 18);
    CHECK_EQ(id[1], 25);
    CHECK_EQ(id[2], 65);
    options.column = part;
    options.column_count = 3;
    CHECK_EQ(scan_ids(table, &options, id), 3);
    lmn_table_release(table);
    CHECK_EQ(live_allocations(), 0);
}

/* Row ids and addresses can be asked for, too. */
static void test_scan_where__row_ids(void **state)
{
    struct lmn_table *table = golden_open("stable");
    int64_t id[GOLDEN_ROWS];
    const struct lmn_scan_options by_id = { .where = "_rowid IN (5, 3, 45)" };
    const struct lmn_scan_options by_address = { .where = "_rowaddr >= 17179869184" };

    (void)state;
    CHECK_EQ(scan_ids(table, &by_id, id), 2);
    CHECK_EQ(id[0], 5);
    CHECK_EQ(id[1], 45);
    CHECK_EQ(scan_ids(table, &by_address, id), 3);
    CHECK_EQ(id[2], 62);
    lmn_table_release(table);
    CHECK_EQ(live_allocations(), 0);
}

static void test_scan_where__wrong(void **state)
{
    struct lmn_table *table = golden_open("compacted");
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t count;

    (void)state;
    CHECK_EQ(lmn_table_count(table, "id <", &count, &err), LMN_E_INVALID);
    CHECK_EQ(lmn_table_count(table, "nothing = 1", &count, &err), LMN_E_NOT_FOUND);
    CHECK_EQ(lmn_table_count(table, "id + 1", &count, &err), LMN_E_INVALID);
    CHECK_OK(lmn_table_scan(table, &(struct lmn_scan_options){ .where = "1 / (id - 25) > 0" },
                            &stream, &err));
    CHECK_EQ(lmn_table_scan_next(&stream, &batch, &err), LMN_E_INVALID);
    stream.release(&stream);
    lmn_table_release(table);
    CHECK_EQ(live_allocations(), 0);
}

enum { SAMPLE_ROWS = 20000, FRAGMENT_ROWS = 6000 };

/* Every type, where many and where few rows match. */
static void test_scan_where__every_type(void **state)
{
    static const struct {
        const char *where;
        uint64_t low, high; /* matching addresses, row numbers of the first fragment */
    } range[] = { { "_rowaddr < 5", 0, 5 },
                  { "_rowaddr < 4294967296", 0, FRAGMENT_ROWS },
                  { "_rowaddr > 9 AND _rowaddr < 5500", 10, 5500 } };
    const struct lmn_write_options write = { .fragment_rows_max = FRAGMENT_ROWS };
    struct lmn_store *store = test_store_memory();
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_table *table;
    struct sample sample;
    struct lmn_error err = { 0 };

    (void)state;
    sample_init(&sample, SAMPLE_ROWS, 3);
    sample_stream(&sample, 0, SAMPLE_ROWS, 5000, &stream);
    CHECK_STATUS(lmn_table_create(store, &stream, &write, &table, &err), LMN_OK, &err);
    for (int i = 0; i < 3; i++) {
        const struct lmn_scan_options options = { .where = range[i].where, .batch_rows_max = 500 };
        uint64_t row = range[i].low;

        CHECK_STATUS(lmn_table_scan(table, &options, &stream, &err), LMN_OK, &err);
        while (lmn_table_scan_next(&stream, &batch, &err) == LMN_OK && batch.release != NULL) {
            CHECK(same_slots(&sample.schema, &batch, 0, &sample.rows, row, (uint64_t)batch.length));
            row += (uint64_t)batch.length;
            batch.release(&batch);
        }
        CHECK_EQ(row, range[i].high);
        stream.release(&stream);
    }
    lmn_table_release(table);
    lmn_store_release(store);
    sample_deinit(&sample);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_scan_where__golden),     cmocka_unit_test(test_scan_where__columns),
        cmocka_unit_test(test_scan_where__row_ids),    cmocka_unit_test(test_scan_where__wrong),
        cmocka_unit_test(test_scan_where__every_type),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
