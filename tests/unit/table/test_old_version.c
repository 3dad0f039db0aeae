/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Null structs, which tables of version 2.0 cannot have: on top, inside of structs and of lists.
 */
#include "table/old_version.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "check.h"

/* "s": struct<inner: struct<x: int64>>, with the slots {{1}}, {null}, null, {{null}}. */
static void make_struct(struct ArrowSchema *schema, struct ArrowArray *array)
{
    struct ArrowSchema *inner;

    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema, 1), 0);
    CHECK_EQ(ArrowSchemaSetName(schema, "s"), 0);
    inner = schema->children[0];
    CHECK_EQ(ArrowSchemaSetTypeStruct(inner, 1), 0);
    CHECK_EQ(ArrowSchemaSetName(inner, "inner"), 0);
    CHECK_EQ(ArrowSchemaSetType(inner->children[0], NANOARROW_TYPE_INT64), 0);
    CHECK_EQ(ArrowSchemaSetName(inner->children[0], "x"), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(array, schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(array), 0);
    for (int i = 0; i < 4; i++) {
        if (i == 2) {
            CHECK_EQ(ArrowArrayAppendNull(array, 1), 0);
            continue;
        }
        if (i == 1) {
            CHECK_EQ(ArrowArrayAppendNull(array->children[0], 1), 0);
        } else {
            struct ArrowArray *x = array->children[0]->children[0];

            CHECK_EQ(i == 0 ? ArrowArrayAppendInt(x, 1) : ArrowArrayAppendNull(x, 1), 0);
            CHECK_EQ(ArrowArrayFinishElement(array->children[0]), 0);
        }
        CHECK_EQ(ArrowArrayFinishElement(array), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(array, NULL), 0);
}

/* "l": list<item: struct<x: int64>>, with [{1}], null (which keeps a null item), [], [{2}, null].
 */
static void make_list(enum ArrowType type, struct ArrowSchema *schema, struct ArrowArray *array)
{
    static const int count[] = { 1, 1, 0, 2 };
    struct ArrowSchema *item;

    ArrowSchemaInit(schema);
    CHECK_EQ(ArrowSchemaSetType(schema, type), 0);
    CHECK_EQ(ArrowSchemaSetName(schema, "l"), 0);
    item = schema->children[0];
    CHECK_EQ(ArrowSchemaSetTypeStruct(item, 1), 0);
    CHECK_EQ(ArrowSchemaSetName(item, "item"), 0);
    CHECK_EQ(ArrowSchemaSetType(item->children[0], NANOARROW_TYPE_INT64), 0);
    CHECK_EQ(ArrowSchemaSetName(item->children[0], "x"), 0);
    CHECK_EQ(ArrowArrayInitFromSchema(array, schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(array), 0);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < count[i]; k++) {
            struct ArrowArray *items = array->children[0];

            if (i == 1 || k == 1) {
                CHECK_EQ(ArrowArrayAppendNull(items, 1), 0);
            } else {
                CHECK_EQ(ArrowArrayAppendInt(items->children[0], i), 0);
                CHECK_EQ(ArrowArrayFinishElement(items), 0);
            }
        }
        CHECK_EQ(ArrowArrayFinishElement(array), 0);
    }
    CHECK_EQ(ArrowBitmapAppend(ArrowArrayValidityBitmap(array), 1, 4), 0);
    ArrowBitClear(ArrowArrayValidityBitmap(array)->buffer.data, 1);
    array->null_count = 1;
    CHECK_EQ(ArrowArrayFinishBuildingDefault(array, NULL), 0);
}

/* The field that is named in the refusal of some slots; NULL: they are taken. */
static void check_slots(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        uint64_t first, uint64_t count, const char *field)
{
    const struct lmn__manifest old = { .format_minor = 0 }, later = { .format_minor = 1 };
    struct lmn_error err = { 0 };
    char expected[80];

    CHECK_OK(lmn__old_version_check(&later, schema, array, first, count, &err));
    CHECK_OK(lmn__old_version_check(NULL, schema, array, first, count, &err));
    if (field == NULL) {
        CHECK_OK(lmn__old_version_check(&old, schema, array, first, count, &err));
        return;
    }
    snprintf(expected, sizeof expected, "column \"%s\" would have a null struct", field);
    CHECK_EQ(lmn__old_version_check(&old, schema, array, first, count, &err), LMN_E_UNSUPPORTED);
    CHECK(strstr(err.message, expected) != NULL);
}

static void test_old_version__structs(void **state)
{
    static const char *const field[] = { NULL, "s.inner", "s", NULL };
    struct ArrowSchema schema;
    struct ArrowArray array, slice;

    (void)state;
    make_struct(&schema, &array);
    slice = array;
    slice.offset = 1;
    slice.length = 3;
    for (uint64_t i = 0; i < 4; i++) {
        check_slots(&schema, &array, i, 1, field[i]);
        if (i > 0)
            check_slots(&schema, &slice, i - 1, 1, field[i]);
    }
    check_slots(&schema, &array, 0, 4, "s");
    check_slots(&schema, &array, 1, 0, NULL);
    array.release(&array);
    schema.release(&schema);
}

static void test_old_version__lists(void **state)
{
    static const enum ArrowType type[] = { NANOARROW_TYPE_LIST, NANOARROW_TYPE_LARGE_LIST };

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ArrowSchema schema;
        struct ArrowArray array, slice;

        make_list(type[i], &schema, &array);
        slice = array;
        slice.offset = 3;
        slice.length = 1;
        check_slots(&schema, &array, 0, 3, NULL);
        check_slots(&schema, &array, 0, 4, "l.item");
        check_slots(&schema, &array, 3, 1, "l.item");
        check_slots(&schema, &slice, 0, 1, "l.item");
        array.release(&array);
        schema.release(&schema);
    }
}

static void test_old_version__long_names(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err = { 0 };
    const struct lmn__manifest old = { .format_minor = 0 };
    char name[400];

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    make_struct(&schema, &array);
    CHECK_EQ(ArrowSchemaSetName(&schema, name), 0);
    CHECK_EQ(lmn__old_version_check(&old, &schema, &array, 1, 1, &err), LMN_E_UNSUPPORTED);
    CHECK(strstr(err.message, "nnn\" would") != NULL && strstr(err.message, "upgrade") != NULL);
    array.release(&array);
    schema.release(&schema);
}

static void test_old_version__null_columns(void **state)
{
    const struct lmn__manifest old = { .format_minor = 0 }, later = { .format_minor = 2 };
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_OK(lmn__old_version_check_null(&later, "s", &err));
    CHECK_OK(lmn__old_version_check_null(NULL, "s", &err));
    CHECK_EQ(lmn__old_version_check_null(&old, "s", &err), LMN_E_UNSUPPORTED);
    CHECK(strstr(err.message, "column \"s\"") != NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_old_version__structs),
        cmocka_unit_test(test_old_version__lists),
        cmocka_unit_test(test_old_version__long_names),
        cmocka_unit_test(test_old_version__null_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
