/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows by position and by id: tables that pylance made, and tables of our own with every type.
 *
 * labels: threads
 */
#include <stdlib.h>
#include <string.h>

#include "arrays.h"
#include "arrow/view.h"
#include "golden_tables.h"
#include "os/thread.h"
#include "stores.h"

static const char *const golden[] = { "history-2.0", "history-2.1", "history-2.2", "stable",
                                      "compacted" };
enum { GOLDEN_COUNT = sizeof golden / sizeof golden[0] };

/* Positions in the scan's order; the ids that the scan gives are what take has to give. */
static void scan_ids(struct lmn_table *table, int64_t *id_out, uint64_t *row_id_out)
{
    const char *const column[] = { "id" };
    const struct lmn_scan_options options = { .column = column,
                                              .column_count = 1,
                                              .with_row_id = true };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t rows = 0;

    CHECK_OK(lmn_table_scan(table, &options, &stream, &err));
    while (lmn_table_scan_next(&stream, &batch, &err) == LMN_OK && batch.release != NULL) {
        CHECK(rows + (uint64_t)batch.length <= GOLDEN_ROWS);
        memcpy(id_out + rows, batch.children[0]->buffers[1], (size_t)batch.length * 8);
        memcpy(row_id_out + rows, batch.children[1]->buffers[1], (size_t)batch.length * 8);
        rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    CHECK_EQ(rows, GOLDEN_ROWS);
}

static void check_taken(struct ArrowSchema *schema, struct ArrowArray *array,
                        const uint64_t *position, uint64_t count, const int64_t *id)
{
    CHECK_EQ(array->length, count);
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ(golden_check_row(schema, array, i), id[position[i]]);
    array->release(array);
    schema->release(schema);
}

/* Random positions, repeated and in any order; in rising order; one; none. */
static void test_take__golden(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err = { 0 };
    uint64_t seed = 1;

    (void)state;
    for (int t = 0; t < GOLDEN_COUNT; t++) {
        struct lmn_table *table = golden_open(golden[t]);
        uint64_t position[100], row_id[GOLDEN_ROWS], wanted[100];
        int64_t id[GOLDEN_ROWS];

        scan_ids(table, id, row_id);
        for (uint64_t count = 0; count < 100; count = count * 2 + 1) {
            const struct lmn_scan_options options = { .with_row_id = count % 2 == 0,
                                                      .with_row_address = count % 3 == 0 };

            for (uint64_t i = 0; i < count; i++) {
                position[i] = test_random(&seed) % GOLDEN_ROWS;
                wanted[i] = row_id[position[i]];
            }
            CHECK_STATUS(lmn_table_take(table, position, count, &options, &schema, &array, &err),
                         LMN_OK, &err);
            check_taken(&schema, &array, position, count, id);
            CHECK_STATUS(lmn_table_take_ids(table, wanted, count, &options, &schema, &array, &err),
                         LMN_OK, &err);
            check_taken(&schema, &array, position, count, id);
        }
        for (uint64_t i = 0; i < GOLDEN_ROWS; i++)
            position[i] = i;
        CHECK_STATUS(lmn_table_take(table, position, GOLDEN_ROWS, NULL, &schema, &array, &err),
                     LMN_OK, &err);
        check_taken(&schema, &array, position, GOLDEN_ROWS, id);
        lmn_table_release(table);
    }
    CHECK_EQ(live_allocations(), 0);
}

/* Row ids and addresses of what was taken. */
static void test_take__row_columns(void **state)
{
    const char *const column[] = { "id" };
    const struct lmn_scan_options options = {
        .column = column, .column_count = 1, .with_row_id = true, .with_row_address = true
    };
    const uint64_t position[] = { 50, 0, 19 };
    const uint64_t address[] = { (uint64_t)3 << 32 | 9, 0, (uint64_t)1 << 32 | 5 };
    struct lmn_table *table = golden_open("history-2.2");
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn_table_take(table, position, 3, &options, &schema, &array, &err));
    CHECK_EQ(array.n_children, 3);
    CHECK_STR(schema.children[1]->name, "_rowid");
    CHECK_STR(schema.children[2]->name, "_rowaddr");
    CHECK_BYTES(array.children[1]->buffers[1], address, sizeof address);
    CHECK_BYTES(array.children[2]->buffers[1], address, sizeof address);
    array.release(&array);
    schema.release(&schema);
    lmn_table_release(table);
    CHECK_EQ(live_allocations(), 0);
}

static void check_no_id(struct lmn_table *table, uint64_t id, const char *text)
{
    const uint64_t wanted[] = { 0, id };
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err;

    CHECK_EQ(lmn_table_take_ids(table, wanted, 2, NULL, &schema, &array, &err), LMN_E_NOT_FOUND);
    CHECK_HAS(err.message, text);
    CHECK(array.release == NULL);
    CHECK(schema.release == NULL);
}

/* Rows that are not there, or deleted, by address and by stable id. */
static void test_take__missing(void **state)
{
    const uint64_t position[] = { 0, GOLDEN_ROWS };
    struct lmn_table *table = golden_open("history-2.1");
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err;

    (void)state;
    CHECK_EQ(lmn_table_take(table, position, 2, NULL, &schema, &array, &err), LMN_E_INVALID);
    CHECK_HAS(err.message, "row 51");
    check_no_id(table, 3, "id 3");
    check_no_id(table, 20, "id 20");
    check_no_id(table, (uint64_t)9 << 32, "id 38654705664");
    lmn_table_release(table);
    for (int t = 3; t < GOLDEN_COUNT; t++) {
        table = golden_open(golden[t]);
        check_no_id(table, 3, "id 3");
        check_no_id(table, 70, "id 70");
        check_no_id(table, UINT64_MAX, "id 18446744073709551615");
        lmn_table_release(table);
    }
    CHECK_EQ(live_allocations(), 0);
}

enum { SAMPLE_ROWS = 3000, FRAGMENT_ROWS = 400 };

static struct lmn_table *sample_table(const struct sample *sample)
{
    const struct lmn_write_options options = { .fragment_rows_max = FRAGMENT_ROWS };
    struct lmn_store *store = test_store_memory();
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct lmn_error err;

    sample_stream(sample, 0, SAMPLE_ROWS, 1000, &stream);
    CHECK_STATUS(lmn_table_create(store, &stream, &options, &table, &err), LMN_OK, &err);
    lmn_store_release(store);
    return table;
}

/* Every type, from several fragments with dictionaries of their own. */
static void test_take__every_type(void **state)
{
    struct sample sample;
    struct lmn_table *table;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err = { 0 };
    uint64_t position[300], seed = 7;

    (void)state;
    sample_init(&sample, SAMPLE_ROWS, 3);
    table = sample_table(&sample);
    for (uint64_t count = 1; count <= 300; count *= 3) {
        for (uint64_t i = 0; i < count; i++)
            position[i] = test_random(&seed) % SAMPLE_ROWS;
        CHECK_STATUS(lmn_table_take(table, position, count, NULL, &schema, &array, &err), LMN_OK,
                     &err);
        CHECK_EQ(array.length, count);
        for (uint64_t i = 0; i < count; i++)
            CHECK(same_slots(&sample.schema, &array, i, &sample.rows, position[i], 1));
        array.release(&array);
        schema.release(&schema);
    }
    lmn_table_release(table);
    sample_deinit(&sample);
    CHECK_EQ(live_allocations(), 0);
}

enum { LARGE_ROWS = 30000 };

/* Positions among live rows, far into fragments where two of five rows are deleted. */
static void test_take__many_deleted(void **state)
{
    const struct lmn_write_options write = { .fragment_rows_max = 14000, .unstable_row_ids = true };
    const char *const column[] = { sample_column_name(0) };
    const struct lmn_scan_options options = { .column = column,
                                              .column_count = 1,
                                              .with_row_address = true };
    struct lmn_store *store = test_store_memory();
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct sample sample;
    struct lmn_error err = { 0 };
    uint64_t *address, count = 0, seed = 5;

    (void)state;
    sample_init(&sample, LARGE_ROWS, 3);
    sample_stream(&sample, 0, LARGE_ROWS, LARGE_ROWS, &stream);
    CHECK_STATUS(lmn_table_create(store, &stream, &write, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_delete(table, "_rowaddr % 5 < 2", NULL, &err), LMN_OK, &err);
    address = calloc(LARGE_ROWS, sizeof *address);
    for (uint64_t row = 0; row < LARGE_ROWS; row++) {
        uint64_t at = row / 14000 << 32 | row % 14000;

        if (at % 5 >= 2)
            address[count++] = at;
    }
    for (int round = 0; round < 50; round++) {
        struct ArrowSchema schema;
        struct ArrowArray array;
        uint64_t position[64];

        for (int i = 0; i < 64; i++)
            position[i] = test_random(&seed) % count;
        CHECK_STATUS(lmn_table_take(table, position, 64, &options, &schema, &array, &err), LMN_OK,
                     &err);
        for (int i = 0; i < 64; i++)
            CHECK_EQ(((const uint64_t *)array.children[1]->buffers[1])[i], address[position[i]]);
        array.release(&array);
        schema.release(&schema);
    }
    free(address);
    lmn_table_release(table);
    lmn_store_release(store);
    sample_deinit(&sample);
    CHECK_EQ(live_allocations(), 0);
}

struct taker {
    struct lmn_table *table;
    const struct sample *sample;
    uint64_t seed;
};

static void take_often(void *context)
{
    struct taker *taker = context;

    for (int round = 0; round < 20; round++) {
        const char *const column[] = { sample_column_name(round % 3), sample_column_name(5) };
        const struct lmn_scan_options options = { .column = column, .column_count = 2 };
        uint64_t position[20];
        struct ArrowSchema schema;
        struct ArrowArray array;
        struct lmn_error err = { 0 };

        for (int i = 0; i < 20; i++)
            position[i] = test_random(&taker->seed) % SAMPLE_ROWS;
        CHECK_STATUS(lmn_table_take(taker->table, position, 20, &options, &schema, &array, &err),
                     LMN_OK, &err);
        CHECK_EQ(array.length, 20);
        array.release(&array);
        schema.release(&schema);
    }
}

/* One handle, many threads. */
static void test_take__many_threads(void **state)
{
    struct sample sample;
    struct taker taker[4];
    struct lmn__thread thread[4];
    struct lmn_table *table;
    struct lmn_error err;

    (void)state;
    sample_init(&sample, SAMPLE_ROWS, 3);
    table = sample_table(&sample);
    for (uint64_t i = 0; i < 4; i++) {
        taker[i] = (struct taker){ table, &sample, i + 1 };
        CHECK_OK(lmn__thread_start(test_env(), take_often, &taker[i], &thread[i], &err));
    }
    for (int i = 0; i < 4; i++)
        lmn__thread_join(&thread[i]);
    lmn_table_release(table);
    sample_deinit(&sample);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_take__golden),       cmocka_unit_test(test_take__row_columns),
        cmocka_unit_test(test_take__missing),      cmocka_unit_test(test_take__every_type),
        cmocka_unit_test(test_take__many_deleted), cmocka_unit_test(test_take__many_threads),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
