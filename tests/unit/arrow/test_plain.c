/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of strings become strings; what has no views is left alone.
 */
#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "arrays.h"
#include "arrow/plain.h"
#include "check.h"

static const char *const values[] = { "short",
                                      NULL,
                                      "",
                                      "a text of more than the twelve bytes",
                                      "twelve bytes",
                                      "and another one that is long" };
enum { ROWS = sizeof values / sizeof values[0] };

/* A struct of one column "v" of strings. */
static void make_rows(enum ArrowType type, struct ArrowSchema *schema, struct ArrowArray *array)
{
    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetType(schema->children[0], type), 0);
    CHECK_EQ(ArrowSchemaSetName(schema->children[0], "v"), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(array, schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(array), 0);
    for (int i = 0; i < ROWS; i++) {
        if (values[i] != NULL)
            CHECK_EQ(ArrowArrayAppendString(array->children[0], ArrowCharView(values[i])), 0);
        else
            CHECK_EQ(ArrowArrayAppendNull(array->children[0], 1), 0);
        CHECK_EQ(ArrowArrayFinishElement(array), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(array, NULL), 0);
}

static enum lmn_status to_plain(const struct ArrowSchema *schema, struct ArrowArray *array,
                                struct ArrowSchema *schema_out, struct lmn_error *err)
{
    struct lmn__plain plain;
    enum lmn_status st = lmn__plain_init(&plain, test_env(), schema, err);

    if (st != LMN_OK)
        return st;
    st = lmn__plain_batch(&plain, array, err);
    if (st == LMN_OK && schema_out != NULL)
        CHECK_EQ(ArrowSchemaDeepCopy(&plain.schema, schema_out), 0);
    lmn__plain_deinit(&plain);
    return st;
}

/* Rows [first, ROWS) of a batch that is cut as a whole. */
static void check_views(enum ArrowType type, enum ArrowType plain_type, int64_t first)
{
    struct ArrowSchema schema, wanted_schema, got;
    struct ArrowArray array, wanted;
    struct lmn_error err;

    make_rows(type, &schema, &array);
    make_rows(plain_type, &wanted_schema, &wanted);
    array.offset = first;
    array.length -= first;
    CHECK_STATUS(to_plain(&schema, &array, &got, &err), LMN_OK, &err);
    CHECK_STR(got.children[0]->format, wanted_schema.children[0]->format);
    CHECK_STR(got.children[0]->name, "v");
    CHECK_EQ(array.length, ROWS - first);
    CHECK(
        same_slots(&wanted_schema, &wanted, (uint64_t)first, &array, 0, (uint64_t)(ROWS - first)));
    array.release(&array);
    wanted.release(&wanted);
    schema.release(&schema);
    wanted_schema.release(&wanted_schema);
    got.release(&got);
    CHECK_EQ(live_allocations(), 0);
}

static void test_plain__views_become_strings(void **state)
{
    (void)state;
    check_views(NANOARROW_TYPE_STRING_VIEW, NANOARROW_TYPE_STRING, 0);
    check_views(NANOARROW_TYPE_BINARY_VIEW, NANOARROW_TYPE_BINARY, 0);
    check_views(NANOARROW_TYPE_STRING_VIEW, NANOARROW_TYPE_STRING, 2);
}

static void test_plain__strings_stay_where_they_are(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err;
    const void *data;

    (void)state;
    make_rows(NANOARROW_TYPE_LARGE_STRING, &schema, &array);
    data = array.children[0]->buffers[2];
    CHECK_STATUS(to_plain(&schema, &array, NULL, &err), LMN_OK, &err);
    CHECK(array.children[0]->buffers[2] == data);
    array.release(&array);
    schema.release(&schema);
}

static void test_plain__rows_are_a_struct(void **state)
{
    struct ArrowSchema schema;
    struct lmn__plain plain;
    struct lmn_error err;

    (void)state;
    CHECK_EQ(ArrowSchemaInitFromType(&schema, NANOARROW_TYPE_INT64), 0);
    CHECK_STATUS(lmn__plain_init(&plain, test_env(), &schema, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "struct of columns");
    schema.release(&schema);
}

static void test_plain__faults(void **state)
{
    bool fired = true;

    (void)state;
    for (uint64_t nth = 1; fired; nth++) {
        struct ArrowSchema schema;
        struct ArrowArray array;
        struct lmn_error err;
        enum lmn_status st;

        make_rows(NANOARROW_TYPE_STRING_VIEW, &schema, &array);
        fault_arm(FAULT_ALLOC, nth);
        st = to_plain(&schema, &array, NULL, &err);
        fired = fault_fired();
        fault_disarm();
        /* Room that is asked for ahead may be refused. */
        CHECK(st == LMN_OK || (fired && st == LMN_E_NO_MEMORY));
        CHECK_EQ(array.length, ROWS);
        array.release(&array);
        schema.release(&schema);
        CHECK_EQ(live_allocations(), 0);
    }
}

static void test_plain__columns_have_all_rows(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err;

    (void)state;
    make_rows(NANOARROW_TYPE_STRING, &schema, &array);
    array.children[0]->length--;
    CHECK_STATUS(to_plain(&schema, &array, NULL, &err), LMN_E_INVALID, &err);
    CHECK_STR(err.message, "column \"v\" has 5 rows, its batch 6");
    array.length--;
    CHECK_STATUS(to_plain(&schema, &array, NULL, &err), LMN_OK, &err);
    array.n_children = 0;
    CHECK_STATUS(to_plain(&schema, &array, NULL, &err), LMN_E_INVALID, &err);
    array.n_children = 1;
    array.release(&array);
    schema.release(&schema);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain__views_become_strings),
        cmocka_unit_test(test_plain__strings_stay_where_they_are),
        cmocka_unit_test(test_plain__rows_are_a_struct),
        cmocka_unit_test(test_plain__columns_have_all_rows),
        cmocka_unit_test(test_plain__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
