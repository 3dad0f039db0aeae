/* SPDX-License-Identifier: Apache-2.0 */
/* Blobs of a table, read by ranges. */
#include <string.h>

#include "fills.h"
#include "stores.h"

enum { ROWS = 20, BYTES = 3000 };

static int begin(void **state)
{
    uint32_t computed[FILL_STEPS_MAX] = { 0 }, synced[FILL_STEPS_MAX] = { 0 };
    struct lmn_store *store = test_store_memory();
    struct lmn_error err;
    struct fill fill;

    fill_make_blobs(&fill, store, ROWS, ROWS, BYTES);
    CHECK_STATUS(fill_drive(&fill, ROWS, computed, synced, &err), LMN_OK, &err);
    fill_end(&fill);
    *state = store;
    return 0;
}

static int end(void **state)
{
    lmn_store_release(*state);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static void test_table_blob__ranges_are_those_of_the_value(void **state)
{
    static const char *const column = "v";
    const struct lmn_scan_options options = { .column = &column,
                                              .column_count = 1,
                                              .blobs = LMN_BLOB_BYTES };
    struct lmn_table_blob *blob;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_table *table;
    struct lmn_error err;
    uint32_t nulls = 0;

    CHECK_OK(lmn_table_open(*state, NULL, &table, &err));
    for (uint64_t i = 0; i < ROWS - 1; i++) {
        uint8_t bytes[BYTES + 7];
        const int64_t *offset;

        CHECK_OK(lmn_table_take(table, &i, 1, &options, &schema, &array, &err));
        CHECK_STATUS(lmn_table_blob_open(table, "v", i, true, &blob, &err), LMN_OK, &err);
        offset = array.children[0]->buffers[1];
        CHECK_EQ(blob == NULL, array.children[0]->null_count != 0);
        nulls += blob == NULL;
        if (blob != NULL) {
            const uint8_t *whole = (const uint8_t *)array.children[0]->buffers[2] + offset[0];
            uint64_t len = lmn_table_blob_bytes(blob);

            CHECK_EQ(len, offset[1] - offset[0]);
            CHECK_OK(lmn_table_blob_read(blob, 0, bytes, len, &err));
            CHECK_BYTES(bytes, whole, len);
            CHECK_OK(lmn_table_blob_read(blob, 1000, bytes, 5, &err));
            CHECK_BYTES(bytes, whole + 1000, 5);
            CHECK_STATUS(lmn_table_blob_read(blob, len - 3, bytes, 4, &err), LMN_E_INVALID, &err);
        }
        lmn_table_blob_close(blob);
        array.release(&array);
        schema.release(&schema);
    }
    CHECK(nulls != 0 && nulls != ROWS - 1);
    lmn_table_release(table);
}

/* The blob lives on without its table. */
static void test_table_blob__outlives_its_table(void **state)
{
    struct lmn_table_blob *blob;
    struct lmn_table *table;
    struct lmn_error err;
    uint8_t byte;

    CHECK_OK(lmn_table_open(*state, NULL, &table, &err));
    CHECK_OK(lmn_table_blob_open(table, "v", 0, true, &blob, &err));
    lmn_table_release(table);
    CHECK_OK(lmn_table_blob_read(blob, lmn_table_blob_bytes(blob) - 1, &byte, 1, &err));
    lmn_table_blob_close(blob);
}

static void test_table_blob__faults(void **state)
{
    struct lmn_store *store = test_store_faulty(*state);

    for (uint64_t nth = 1;; nth++) {
        struct lmn_table_blob *blob = NULL;
        struct lmn_table *table;
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;
        uint8_t byte;

        CHECK_OK(lmn_table_open(store, NULL, &table, &err));
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_blob_open(table, "v", 0, true, &blob, &err);
        if (st == LMN_OK)
            st = lmn_table_blob_read(blob, 0, &byte, 1, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || err.message[0] != '\0');
        lmn_table_blob_close(blob);
        lmn_table_release(table);
        if (!fired) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
    }
    lmn_store_release(store);
}

/* The rows that match, with their blobs; the most rows of a batch. */
static enum lmn_status scan_blobs(struct lmn_store *store, struct lmn_scan_options options,
                                  int64_t *most_out, uint64_t *rows_out, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    enum lmn_status st = lmn_table_open(store, NULL, &table, err);

    *most_out = 0;
    *rows_out = 0;
    if (st != LMN_OK)
        return st;
    options.blobs = LMN_BLOB_BYTES;
    options.threads = 1;
    st = lmn_table_scan(table, &options, &stream, err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return st;
    for (;;) {
        struct ArrowArray batch;

        st = lmn_table_scan_next(&stream, &batch, err);
        if (st != LMN_OK || batch.release == NULL)
            break;
        *most_out = batch.length > *most_out ? batch.length : *most_out;
        *rows_out += (uint64_t)batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    return st;
}

static void check_batches(struct lmn_store *store, struct lmn_scan_options options,
                          uint64_t rows_expected, int64_t most_expected)
{
    struct lmn_error err;
    uint64_t rows;
    int64_t most;

    CHECK_STATUS(scan_blobs(store, options, &most, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows, rows_expected);
    CHECK(most >= 1 && most <= most_expected);
}

/* Batches of blobs are as large as others are, though columns have descriptors only. */
static void test_table_blob__batches_are_bounded(void **state)
{
    const char *const conditions[] = { NULL, "number >= 0 or number is null" };
    struct lmn_error err;
    uint64_t all;
    int64_t most;

    for (int i = 0; i < 2; i++) {
        struct lmn_scan_options options = { .where = conditions[i], .batch_bytes_max = 1 << 30 };

        CHECK_STATUS(scan_blobs(*state, options, &most, &all, &err), LMN_OK, &err);
        CHECK_EQ(most, (int64_t)all);
        options.batch_bytes_max = 4 * BYTES;
        check_batches(*state, options, all, 8);
        options.batch_bytes_max = 1;
        check_batches(*state, options, all, 1);
    }
}

/* Rows that a condition chooses may have more, but not without a bound. */
static void test_table_blob__chosen_batches_are_bounded(void **state)
{
    struct lmn_scan_options options = { .where = "number >= 0 or number is null",
                                        .prefetch_bytes_max = 16 * BYTES };
    struct lmn_error err;
    uint64_t all;
    int64_t most;

    CHECK_STATUS(scan_blobs(*state, (struct lmn_scan_options){ 0 }, &most, &all, &err), LMN_OK,
                 &err);
    check_batches(*state, options, all, 8);
}

static void test_table_blob__scan_faults(void **state)
{
    struct lmn_store *store = test_store_faulty(*state);
    bool fired = true;

    for (uint64_t nth = 1; fired; nth++) {
        struct lmn_error err = { 0 };
        uint64_t rows;
        int64_t most;
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = scan_blobs(store, (struct lmn_scan_options){ .batch_bytes_max = 4 * BYTES }, &most,
                        &rows, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || err.message[0] != '\0');
        CHECK(fired || st == LMN_OK);
    }
    lmn_store_release(store);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_table_blob__ranges_are_those_of_the_value),
        CASE(test_table_blob__outlives_its_table),
        CASE(test_table_blob__faults),
        CASE(test_table_blob__batches_are_bounded),
        CASE(test_table_blob__chosen_batches_are_bounded),
        CASE(test_table_blob__scan_faults),
    };

    return cmocka_run_group_tests_name("table_blob", tests, NULL, NULL);
}
