/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of structs that get a wider type, with and without faults.
 */
#include <leman/leman.h>
#include <nanoarrow/nanoarrow.h>

#include "arrays.h"
#include "column_tables.h"
#include "stores.h"

enum { ROWS = 40, FRAGMENT_ROWS = 15, DELETED = 9 };

/* The type of "number": structs are of two fields. */
static void make_type(enum ArrowType number, struct ArrowSchema *schema)
{
    if (number == NANOARROW_TYPE_STRUCT) {
        CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 2), 0);
        CHECK_EQ(ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_STRING), 0);
        CHECK_EQ(ArrowSchemaSetName(schema->children[0], "a"), 0);
        CHECK_EQ(ArrowSchemaSetType(schema->children[1], NANOARROW_TYPE_INT8), 0);
        CHECK_EQ(ArrowSchemaSetName(schema->children[1], "b"), 0);
        return;
    }
    CHECK_EQ(ArrowSchemaSetType(schema, number), 0);
}

/*
 * Rows of "outer": struct<inner: struct<number, text>, other: int32>, with nulls at each level.
 * What is of no number type has nothing else.
 */
static void make_rows(enum ArrowType number, struct ArrowSchema *schema, struct ArrowArray *array)
{
    bool nulls = number == NANOARROW_TYPE_NA || number == NANOARROW_TYPE_STRUCT;
    struct ArrowSchema *outer, *inner;

    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 1), 0);
    outer = schema->children[0];
    CHECK_EQ(ArrowSchemaSetTypeStruct(outer, 2), 0);
    CHECK_EQ(ArrowSchemaSetName(outer, "outer"), 0);
    inner = outer->children[0];
    CHECK_EQ(ArrowSchemaSetTypeStruct(inner, 2), 0);
    CHECK_EQ(ArrowSchemaSetName(inner, "inner"), 0);
    make_type(number, inner->children[0]);
    CHECK_EQ(ArrowSchemaSetName(inner->children[0], "number"), 0);
    CHECK_EQ(ArrowSchemaSetType(inner->children[1], NANOARROW_TYPE_STRING), 0);
    CHECK_EQ(ArrowSchemaSetName(inner->children[1], "text"), 0);
    CHECK_EQ(ArrowSchemaSetType(outer->children[1], NANOARROW_TYPE_INT32), 0);
    CHECK_EQ(ArrowSchemaSetName(outer->children[1], "other"), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(array, schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(array), 0);
    for (int64_t i = 0; i < ROWS; i++) {
        struct ArrowArray *column = array->children[0], *pair = column->children[0];

        if (i % 7 == 3) {
            CHECK_EQ(ArrowArrayAppendNull(column, 1), 0);
        } else {
            if (i % 5 == 2) {
                CHECK_EQ(ArrowArrayAppendNull(pair, 1), 0);
            } else {
                CHECK_EQ(i % 3 != 0 && !nulls ? ArrowArrayAppendInt(pair->children[0], -i)
                                              : ArrowArrayAppendNull(pair->children[0], 1),
                         0);
                CHECK_EQ(ArrowArrayAppendString(pair->children[1], ArrowCharView("text")), 0);
                CHECK_EQ(ArrowArrayFinishElement(pair), 0);
            }
            CHECK_EQ(ArrowArrayAppendInt(column->children[1], i), 0);
            CHECK_EQ(ArrowArrayFinishElement(column), 0);
        }
        CHECK_EQ(ArrowArrayFinishElement(array), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(array, NULL), 0);
}

static void make_table(struct lmn_store *store, enum ArrowType number)
{
    const struct lmn_write_options options = { .fragment_rows_max = FRAGMENT_ROWS,
                                               .unsynced = true };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_table *table;
    struct lmn_error err;

    make_rows(number, &schema, &array);
    CHECK_EQ(ArrowBasicArrayStreamInit(&stream, &schema, 1), 0);
    ArrowBasicArrayStreamSetArray(&stream, 0, &array);
    CHECK_STATUS(lmn_table_create(store, &stream, &options, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_delete(table, "_rowid = 9", NULL, &err), LMN_OK, &err);
    lmn_table_release(table);
}

/* All rows are there, with numbers of this type. */
static void check_rows(struct lmn_store *store, enum ArrowType number)
{
    const struct lmn_scan_options options = { .batch_rows_max = 4 };
    struct ArrowSchema wanted_schema, schema;
    struct ArrowArrayStream stream;
    struct ArrowArray wanted, batch;
    struct lmn_table *table;
    struct lmn_error err;
    uint64_t row = 0;

    make_rows(number, &wanted_schema, &wanted);
    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_scan(table, &options, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_STR(schema.children[0]->children[0]->children[0]->format,
              wanted_schema.children[0]->children[0]->children[0]->format);
    for (;;) {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        for (int64_t i = 0; i < batch.length; i++, row++) {
            row += row == DELETED;
            CHECK(same_slots(&wanted_schema, &wanted, row, &batch, (uint64_t)i, 1));
        }
        batch.release(&batch);
    }
    CHECK_EQ(row, ROWS);
    stream.release(&stream);
    schema.release(&schema);
    wanted_schema.release(&wanted_schema);
    wanted.release(&wanted);
    lmn_table_release(table);
}

static void test_widen__field_of_a_struct(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table;
    struct lmn_error err = { 0 };

    (void)state;
    make_table(store, NANOARROW_TYPE_INT16);
    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    CHECK_STATUS(column_widen(table, "outer.inner.number", NANOARROW_TYPE_INT8, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "outer.inner.number");
    CHECK_STATUS(column_widen(table, "outer.inner", NANOARROW_TYPE_INT64, &err), LMN_E_INVALID,
                 &err);
    CHECK_STATUS(column_widen(table, "outer.inner.number", NANOARROW_TYPE_INT32, &err), LMN_OK,
                 &err);
    check_rows(store, NANOARROW_TYPE_INT32);
    CHECK_STATUS(column_widen(table, "outer.inner.number", NANOARROW_TYPE_DOUBLE, &err), LMN_OK,
                 &err);
    CHECK_STATUS(column_widen(table, "outer.other", NANOARROW_TYPE_INT64, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 5);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static enum lmn_status widen(struct lmn_table *table, enum ArrowType type, struct lmn_error *err)
{
    struct ArrowSchema schema;
    enum lmn_status st;

    ArrowSchemaInit(&schema);
    make_type(type, &schema);
    st = lmn_table_widen_column(table, "outer.inner.number", &schema, err);
    schema.release(&schema);
    return st;
}

/* A column of nulls is one of any type; fields behind it keep their values. */
static void test_widen__nulls(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table;
    struct lmn_error err = { 0 };

    (void)state;
    make_table(store, NANOARROW_TYPE_NA);
    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    CHECK_STATUS(widen(table, NANOARROW_TYPE_NA, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "is of type null already");
    CHECK_STATUS(widen(table, NANOARROW_TYPE_STRUCT, &err), LMN_OK, &err);
    check_rows(store, NANOARROW_TYPE_STRUCT);
    CHECK_STATUS(column_widen(table, "outer.inner.number.b", NANOARROW_TYPE_INT64, &err), LMN_OK,
                 &err);
    CHECK_STATUS(widen(table, NANOARROW_TYPE_NA, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "of which null does not hold every value");
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* With the nth fault, on a table that is made anew if it may have changed. False: no fault. */
static bool widen_with_fault(struct lmn_store **store, enum ArrowType from, enum ArrowType to,
                             uint64_t nth)
{
    struct lmn_store *faulty;
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    struct ArrowSchema type;
    enum lmn_status st;
    bool fired;

    if (*store == NULL) {
        *store = test_store_memory();
        make_table(*store, from);
    }
    faulty = test_store_faulty(*store);
    CHECK_STATUS(lmn_table_open(faulty, NULL, &table, &err), LMN_OK, &err);
    ArrowSchemaInit(&type);
    make_type(to, &type);
    fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
    st = lmn_table_widen_column(table, "outer.inner.number", &type, &err);
    fired = fault_fired();
    fault_disarm();
    type.release(&type);
    CHECK(st == LMN_OK || (fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO)));
    lmn_table_release(table);
    lmn_store_release(faulty);
    /* After an operation of the store that failed the commit may stand all the same. */
    if (st != LMN_E_IO)
        check_rows(*store, st == LMN_OK ? to : from);
    if (st != LMN_E_NO_MEMORY) {
        lmn_store_release(*store);
        *store = NULL;
        CHECK_EQ(live_allocations(), 0);
    }
    return fired;
}

static void test_widen__faults(void **state)
{
    struct lmn_store *store = NULL;

    (void)state;
    for (uint64_t nth = 1;
         widen_with_fault(&store, NANOARROW_TYPE_INT16, NANOARROW_TYPE_INT32, nth); nth++)
        ;
    CHECK(store == NULL);
    for (uint64_t nth = 1; widen_with_fault(&store, NANOARROW_TYPE_NA, NANOARROW_TYPE_STRUCT, nth);
         nth++)
        ;
    CHECK(store == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_widen__field_of_a_struct),
        cmocka_unit_test(test_widen__nulls),
        cmocka_unit_test(test_widen__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
