/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a stream are picked in any order, from memory and from a file, which has no name by then;
 * and what fails leaves no file.
 */
#include "table/spool.h"

#include <nanoarrow/nanoarrow.h>

#include "arrays.h"
#include "arrow/compose.h"
#include "arrow/share.h"
#include "stores.h"

enum { ROWS = 700, KEYS = 2 };

static const int64_t key[KEYS] = { 3, 0 };

/* Rows of the sample, `batch_rows` at a time, and an empty batch among them. */
static enum lmn_status fill(struct lmn__spool *spool, const struct sample *sample,
                            uint64_t batch_rows, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = LMN_OK;

    sample_stream(sample, 0, ROWS, batch_rows, &stream);
    while (st == LMN_OK && stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
        st = lmn__spool_add(spool, &batch, err);
        if (st != LMN_OK)
            batch.release(&batch);
    }
    stream.release(&stream);
    return st == LMN_OK ? lmn__spool_end(spool, err) : st;
}

static void check_pick(const struct lmn__spool *spool, const struct sample *sample,
                       const uint64_t *row, uint64_t count)
{
    struct ArrowArray rows;
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn__spool_pick(spool, row, count, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows.length, count);
    for (uint64_t i = 0; i < count; i++)
        CHECK(same_slots(&sample->schema, &rows, i, &sample->rows, row[i], 1));
    rows.release(&rows);
}

static void check_keys(const struct lmn__spool *spool, const struct sample *sample)
{
    for (uint64_t i = 0; i < spool->batch_count; i++) {
        const struct ArrowArray *batch = &spool->batch[i];

        CHECK_EQ(lmn__spool_batch_of(spool, spool->first[i]), i);
        for (uint32_t k = 0; k < KEYS; k++)
            CHECK(same_slots(sample->schema.children[key[k]], batch->children[spool->batch_key[k]],
                             (uint64_t)batch->offset, sample->rows.children[key[k]],
                             spool->first[i], (uint64_t)batch->length));
    }
}

/* All rows forth and back, some, and none. */
static void check_spool(const struct lmn__spool *spool, const struct sample *sample)
{
    uint64_t row[2 * ROWS];
    const uint64_t some[] = { 5, ROWS - 1, 5, 0, 64, 63 };

    for (uint64_t i = 0; i < ROWS; i++) {
        row[i] = i;
        row[2 * ROWS - 1 - i] = i;
    }
    CHECK_EQ(spool->row_count, ROWS);
    CHECK(lmn__spool_row_bytes(spool) != 0);
    check_pick(spool, sample, row, 2 * ROWS);
    check_pick(spool, sample, row + 100, 1);
    check_pick(spool, sample, some, sizeof some / sizeof some[0]);
    check_pick(spool, sample, row, 0);
    check_keys(spool, sample);
}

/* Everything in memory, everything in a file, and rows that leave memory when more come. */
static void test_spool__picks(void **state)
{
    struct sample sample;
    uint64_t bytes;

    (void)state;
    sample_init(&sample, ROWS, 7);
    bytes = lmn__array_bytes(&sample.rows, &sample.schema);
    for (uint64_t max = 1; max <= 2 * bytes; max = max == 1 ? bytes / 2 : max * 4) {
        for (uint64_t batch_rows = 50; batch_rows <= 2 * ROWS; batch_rows *= 3) {
            struct lmn_store *store = test_store_memory();
            struct lmn__spool spool;
            struct lmn_error err = { 0 };

            test_source_bytes_max(max);
            CHECK_OK(lmn__spool_init(&spool, store, &sample.schema, key, KEYS, &err));
            CHECK_STATUS(fill(&spool, &sample, batch_rows, &err), LMN_OK, &err);
            CHECK_EQ(spool.file != NULL, max < bytes);
            CHECK_EQ(test_store_count(store, "data"), 0);
            check_spool(&spool, &sample);
            lmn__spool_deinit(&spool);
            lmn_store_release(store);
        }
    }
    test_source_bytes_max(0);
    sample_deinit(&sample);
    CHECK_EQ(live_allocations(), 0);
}

/* One number, in a column whose type has no place in a file, so memory it is. */
static void test_spool__types_without_a_file_stay(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__spool spool;
    struct ArrowSchema schema;
    struct ArrowArray batch, rows;
    struct lmn_error err = { 0 };
    const int64_t only = 0;
    const uint64_t row = 1;

    (void)state;
    test_source_bytes_max(1);
    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(&schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetTypeFixedSize(schema.children[0], NANOARROW_TYPE_FIXED_SIZE_LIST, 2), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0]->children[0], NANOARROW_TYPE_STRING), 0);
    CHECK_OK(lmn__spool_init(&spool, store, &schema, &only, 1, &err));
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(ArrowArrayInitFromSchema(&batch, &schema, NULL), 0);
        CHECK_EQ(ArrowArrayStartAppending(&batch), 0);
        CHECK_EQ(ArrowArrayAppendNull(batch.children[0], 1), 0);
        CHECK_EQ(ArrowArrayFinishElement(&batch), 0);
        CHECK_EQ(ArrowArrayFinishBuildingDefault(&batch, NULL), 0);
        CHECK_OK(lmn__spool_add(&spool, &batch, &err));
    }
    CHECK_OK(lmn__spool_end(&spool, &err));
    CHECK(spool.file == NULL);
    CHECK_OK(lmn__spool_pick(&spool, &row, 1, &rows, &err));
    CHECK_EQ(rows.length, 1);
    rows.release(&rows);
    lmn__spool_deinit(&spool);
    schema.release(&schema);
    lmn_store_release(store);
    test_source_bytes_max(0);
    CHECK_EQ(live_allocations(), 0);
}

/* A row that is null itself has no place in a file, nor in a table. */
static void test_spool__null_rows_are_refused(void **state)
{
    static const uint8_t validity = 0x1;
    struct lmn_store *store = test_store_memory();
    struct lmn__spool spool;
    struct lmn_error err = { 0 };
    struct ArrowArray batch;
    struct sample sample;

    (void)state;
    sample_init(&sample, 2, 7);
    CHECK_OK(lmn__spool_init(&spool, store, &sample.schema, key, KEYS, &err));
    batch = sample.rows;
    batch.buffers = (const void *[]){ &validity };
    batch.null_count = 1;
    CHECK_EQ(lmn__spool_add(&spool, &batch, &err), LMN_E_INVALID);
    CHECK_HAS(err.message, "row 1 of a batch is null");
    lmn__spool_deinit(&spool);
    lmn_store_release(store);
    sample_deinit(&sample);
}

/* Where a message names a column, is it one of the rows? */
static bool names_rightly(const char *message, const struct sample *sample)
{
    const char *name = strstr(message, "column \"");
    bool found = name == NULL;

    for (int64_t i = 0; !found && i < sample->schema.n_children; i++) {
        const char *known = sample->schema.children[i]->name;

        found = strncmp(name + sizeof "column \"" - 1, known, strlen(known)) == 0;
    }
    return found;
}

static void test_spool__faults(void **state)
{
    struct sample sample;
    bool fired = true;

    (void)state;
    sample_init(&sample, ROWS, 7);
    test_source_bytes_max(lmn__array_bytes(&sample.rows, &sample.schema) / 2);
    for (uint64_t nth = 1; fired; nth++) {
        struct lmn_store *store = test_store_memory(), *broken = test_store_faulty(store);
        struct lmn__spool spool;
        const uint64_t row[] = { 300, 1 };
        struct ArrowArray rows = { 0 };
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn__spool_init(&spool, broken, &sample.schema, key, KEYS, &err);
        if (st == LMN_OK)
            st = fill(&spool, &sample, 100, &err);
        if (st == LMN_OK)
            st = lmn__spool_pick(&spool, row, 2, &rows, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || (fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO)));
        CHECK(st == LMN_OK || err.message[0] != '\0');
        CHECK(st != LMN_E_IO || names_rightly(err.message, &sample));
        lmn__array_release(&rows);
        lmn__spool_deinit(&spool);
        if (st != LMN_E_IO && !(st == LMN_OK && fired))
            CHECK_EQ(test_store_count(store, "data"), 0);
        lmn_store_release(broken);
        lmn_store_release(store);
    }
    test_source_bytes_max(0);
    sample_deinit(&sample);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spool__picks),
        cmocka_unit_test(test_spool__types_without_a_file_stay),
        cmocka_unit_test(test_spool__null_rows_are_refused),
        cmocka_unit_test(test_spool__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
