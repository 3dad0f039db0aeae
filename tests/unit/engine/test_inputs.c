/* SPDX-License-Identifier: Apache-2.0 */
/* What a function is given and what becomes of what it gives. */
#include <stdlib.h>
#include <string.h>

#include <nanoarrow/nanoarrow.h>

#include "arrow/compose.h"
#include "engine/inputs.h"
#include "engine/outputs.h"
#include "job_tables.h"
#include "stores.h"

enum { ROWS = 40, NULL_EVERY = 5 };

/* Rows of { "info": { "a": int64 }, "b": int64 }; info is null in every fifth row. */
static struct lmn_table *nested_table(struct lmn_store *store)
{
    struct ArrowSchema schema;
    struct ArrowArrayStream stream;
    struct ArrowArray rows;
    struct lmn_table *table;
    struct lmn_error err = { 0 };

    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(&schema, 2), 0);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema.children[0], 1), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], "info"), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0]->children[0], NANOARROW_TYPE_INT64), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0]->children[0], "a"), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[1], NANOARROW_TYPE_INT64), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[1], "b"), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(&rows, &schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(&rows), 0);
    for (int64_t i = 0; i < ROWS; i++) {
        if (i % NULL_EVERY == 0) {
            CHECK_EQ(ArrowArrayAppendNull(rows.children[0], 1), 0);
        } else {
            CHECK_EQ(ArrowArrayAppendInt(rows.children[0]->children[0], i), 0);
            CHECK_EQ(ArrowArrayFinishElement(rows.children[0]), 0);
        }
        CHECK_EQ(ArrowArrayAppendInt(rows.children[1], -i), 0);
        CHECK_EQ(ArrowArrayFinishElement(&rows), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(&rows, NULL), 0);
    CHECK_EQ(ArrowBasicArrayStreamInit(&stream, &schema, 1), 0);
    ArrowBasicArrayStreamSetArray(&stream, 0, &rows);
    CHECK_STATUS(lmn_table_create(store, &stream, NULL, &table, &err), LMN_OK, &err);
    return table;
}

static int64_t value_at(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        int64_t row, bool *null_out)
{
    struct ArrowArrayView view;
    int64_t value;

    CHECK_EQ(ArrowArrayViewInitFromSchema(&view, schema, NULL), 0);
    CHECK_EQ(ArrowArrayViewSetArray(&view, array, NULL), 0);
    *null_out = ArrowArrayViewIsNull(&view, row);
    value = *null_out ? 0 : ArrowArrayViewGetIntUnsafe(&view, row);
    ArrowArrayViewReset(&view);
    return value;
}

/* A field inside of a struct, a column twice, and a struct together with its field. */
static void test_inputs__paths_and_repeats(void **state)
{
    const char *const input[] = { "info.a", "b", "info", "b" };
    const struct lmn__row_range range[] = { { 3, 10 }, { 20, 5 } };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = nested_table(store);
    struct lmn__input_rows rows;
    struct lmn__inputs inputs;
    struct ArrowArray array;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn__inputs_open(&inputs, table, input, 4, LMN__INPUT_BLOBS_WHOLE, &err), LMN_OK,
                 &err);
    CHECK_EQ(inputs.schema.n_children, 4);
    CHECK_STR(inputs.schema.children[0]->name, "info.a");
    CHECK_STATUS(lmn__inputs_enter(&inputs, 0, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__inputs_read(&inputs, range, 2, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows.count, 15);
    CHECK(rows.physical[9] == 12 && rows.physical[10] == 20);
    CHECK_EQ(rows.row_id[10], 20);
    CHECK_STATUS(lmn__input_rows_slice(&rows, 8, 7, &array, &err), LMN_OK, &err);
    lmn__input_rows_free(&rows); /* slices live on */
    for (int64_t i = 0; i < 7; i++) {
        int64_t row = i < 2 ? 11 + i : 18 + i;
        bool null;

        CHECK_EQ(value_at(inputs.schema.children[0], array.children[0], i, &null),
                 row % NULL_EVERY == 0 ? 0 : row);
        CHECK_EQ(null, row % NULL_EVERY == 0);
        CHECK_EQ(value_at(inputs.schema.children[1], array.children[1], i, &null), -row);
        CHECK_EQ(value_at(inputs.schema.children[3], array.children[3], i, &null), -row);
    }
    array.release(&array);
    lmn__inputs_close(&inputs);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_inputs__not_there(void **state)
{
    const char *const input[] = { "info.z" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = nested_table(store);
    struct lmn__inputs inputs;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn__inputs_open(&inputs, table, input, 1, LMN__INPUT_BLOBS_WHOLE, &err),
                 LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "info.z");
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_inputs__faults(void **state)
{
    const char *const input[] = { "info.a", "b" };
    const struct lmn__row_range range = { 0, ROWS };
    struct lmn_store *store = test_store_memory();

    (void)state;
    lmn_table_release(nested_table(store));
    for (uint64_t nth = 1;; nth++) {
        struct lmn__input_rows rows = { 0 };
        struct lmn__inputs inputs = { 0 };
        struct ArrowArray array = { 0 };
        struct lmn_error err = { 0 };
        struct lmn_table *table;
        enum lmn_status st;

        CHECK_OK(lmn_table_open(store, NULL, &table, NULL));
        fault_arm(FAULT_ALLOC, nth);
        st = lmn__inputs_open(&inputs, table, input, 2, LMN__INPUT_BLOBS_WHOLE, &err);
        if (st == LMN_OK)
            st = lmn__inputs_enter(&inputs, 0, &err);
        if (st == LMN_OK)
            st = lmn__inputs_read(&inputs, &range, 1, &rows, &err);
        if (st == LMN_OK)
            st = lmn__input_rows_slice(&rows, 1, 3, &array, &err);
        if (array.release != NULL)
            array.release(&array);
        lmn__input_rows_free(&rows);
        lmn__inputs_close(&inputs);
        lmn_table_release(table);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        /* A hint to read ahead may be lost without harm. */
        CHECK(st == LMN_OK || (st == LMN_E_NO_MEMORY && err.message[0] != '\0'));
    }
    fault_disarm();
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* A struct of one column of numbers. */
static void make_values(const struct lmn__outputs *outputs, int64_t count, struct ArrowArray *out)
{
    CHECK_EQ(ArrowArrayInitFromSchema(out, &outputs->values, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(out), 0);
    for (int64_t i = 0; i < count; i++) {
        CHECK_EQ(ArrowArrayAppendInt(out->children[0], i), 0);
        CHECK_EQ(ArrowArrayFinishElement(out), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(out, NULL), 0);
}

static void test_outputs__cells(void **state)
{
    const char *const output[] = { "result" };
    const uint64_t failed[] = { 1, 3 }, fingerprint[] = { 10, 11, 12, 13 };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = job_table(store, ROWS, ROWS);
    struct lmn__outputs outputs;
    struct ArrowArray values, array;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn__outputs_open(&outputs, table, output, 1, 77, &err), LMN_OK, &err);
    CHECK_EQ(outputs.all.n_children, 2);
    make_values(&outputs, 4, &values);
    CHECK_STATUS(lmn__outputs_compose(&outputs, &values, 4, failed, 2, fingerprint, &array, &err),
                 LMN_OK, &err);
    for (int64_t i = 0; i < 4; i++) {
        const struct ArrowArray *cell = array.children[1];
        bool null;

        CHECK_EQ(value_at(outputs.all.children[1]->children[0], cell->children[0], i, &null),
                 i % 2 == 1 ? 2 : 1);
        CHECK_EQ(value_at(outputs.all.children[1]->children[1], cell->children[1], i, &null), 77);
        CHECK_EQ(value_at(outputs.all.children[1]->children[2], cell->children[2], i, &null),
                 10 + i);
    }
    array.release(&array);
    make_values(&outputs, 3, &values);
    CHECK_STATUS(lmn__outputs_compose(&outputs, &values, 4, failed, 2, fingerprint, &array, &err),
                 LMN_E_UDF, &err);
    CHECK_HAS(err.message, "3 values for 4 rows");
    CHECK(values.release == NULL);
    CHECK_STATUS(lmn__outputs_failed(&outputs, 2, fingerprint, &array, &err), LMN_OK, &err);
    CHECK_EQ(array.children[0]->null_count, 2);
    array.release(&array);
    lmn__outputs_close(&outputs);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs__paths_and_repeats),
        cmocka_unit_test(test_inputs__not_there),
        cmocka_unit_test(test_inputs__faults),
        cmocka_unit_test(test_outputs__cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
