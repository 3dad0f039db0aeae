/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nulls are found where they are, in structs, lists and slices; what a null hides is not looked at.
 */
#include "arrow/nulls.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

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

/* The field that is found to have such nulls in some slots; NULL: none. */
static void check_slots(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        enum lmn__null_kind kind, uint64_t first, uint64_t count, const char *field)
{
    char path[LMN__NULL_PATH_BYTES];

    CHECK_EQ(lmn__nulls_find(schema, array, kind, first, count, path), field != NULL);
    if (field != NULL)
        CHECK_STR(path, field);
}

static void test_nulls__structs(void **state)
{
    static const char *const field[] = { NULL, "s.inner", "s", NULL };
    const enum lmn__null_kind kind = LMN__NULLS_OF_STRUCTS;
    struct ArrowSchema schema;
    struct ArrowArray array, slice;

    (void)state;
    make_struct(&schema, &array);
    slice = array;
    slice.offset = 1;
    slice.length = 3;
    for (uint64_t i = 0; i < 4; i++) {
        check_slots(&schema, &array, kind, i, 1, field[i]);
        if (i > 0)
            check_slots(&schema, &slice, kind, i - 1, 1, field[i]);
    }
    check_slots(&schema, &array, kind, 0, 4, "s.inner");
    check_slots(&schema, &array, kind, 1, 0, NULL);
    CHECK(lmn__nulls_possible(&schema, kind));
    CHECK(!lmn__nulls_possible(schema.children[0]->children[0], kind));
    array.release(&array);
    schema.release(&schema);
}

/* The column itself is not looked at for those, and fields below a null are nobody's. */
static void test_nulls__forbidden_in_structs(void **state)
{
    const enum lmn__null_kind kind = LMN__NULLS_FORBIDDEN;
    struct ArrowSchema schema, *inner, *x;
    struct ArrowArray array;

    (void)state;
    make_struct(&schema, &array);
    inner = schema.children[0];
    x = inner->children[0];
    CHECK(!lmn__nulls_possible(&schema, kind));
    schema.flags = 0;
    CHECK(!lmn__nulls_possible(&schema, kind));
    x->flags = 0;
    CHECK(lmn__nulls_possible(&schema, kind));
    check_slots(&schema, &array, kind, 0, 3, NULL);
    check_slots(&schema, &array, kind, 0, 4, "s.inner.x");
    inner->flags = 0;
    check_slots(&schema, &array, kind, 0, 1, NULL);
    check_slots(&schema, &array, kind, 1, 1, "s.inner");
    check_slots(&schema, &array, kind, 2, 1, NULL);
    array.release(&array);
    schema.release(&schema);
}

static void test_nulls__lists(void **state)
{
    static const enum ArrowType type[] = { NANOARROW_TYPE_LIST, NANOARROW_TYPE_LARGE_LIST };

    (void)state;
    for (int i = 0; i < 4; i++) {
        const enum lmn__null_kind kind = i / 2 == 0 ? LMN__NULLS_OF_STRUCTS : LMN__NULLS_FORBIDDEN;
        struct ArrowSchema schema;
        struct ArrowArray array, slice;

        make_list(type[i % 2], &schema, &array);
        slice = array;
        slice.offset = 3;
        slice.length = 1;
        if (kind == LMN__NULLS_FORBIDDEN) {
            check_slots(&schema, &array, kind, 0, 4, NULL);
            schema.children[0]->flags = 0;
        }
        check_slots(&schema, &array, kind, 0, 3, NULL);
        check_slots(&schema, &array, kind, 0, 4, "l.item");
        check_slots(&schema, &array, kind, 3, 1, "l.item");
        check_slots(&schema, &slice, kind, 0, 1, "l.item");
        array.release(&array);
        schema.release(&schema);
    }
}

/* Items of vectors have no declaration in Lance, those of fixed-size lists of structs have. */
static void test_nulls__fixed_size_lists(void **state)
{
    static const uint8_t valid = 0x0d;
    const void *item_buffer[] = { &valid, NULL }, *no_buffer[] = { NULL };
    struct ArrowArray item = {
        .length = 4, .null_count = 1, .n_buffers = 2, .buffers = item_buffer
    };
    struct ArrowArray *child = &item;
    struct ArrowArray array = {
        .length = 2, .n_buffers = 1, .buffers = no_buffer, .n_children = 1, .children = &child
    };
    struct ArrowSchema schema;

    (void)state;
    ArrowSchemaInit(&schema);
    CHECK_EQ(ArrowSchemaSetTypeFixedSize(&schema, NANOARROW_TYPE_FIXED_SIZE_LIST, 2), 0);
    CHECK_EQ(ArrowSchemaSetName(&schema, "v"), 0);
    CHECK_EQ(ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_INT64), 0);
    schema.children[0]->flags = 0;
    check_slots(&schema, &array, LMN__NULLS_FORBIDDEN, 0, 2, NULL);
    ArrowSchemaRelease(schema.children[0]);
    ArrowSchemaInit(schema.children[0]);
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema.children[0], 0), 0);
    CHECK_EQ(ArrowSchemaSetName(schema.children[0], "item"), 0);
    schema.children[0]->flags = 0;
    item.n_buffers = 1;
    check_slots(&schema, &array, LMN__NULLS_FORBIDDEN, 0, 1, "v.item");
    check_slots(&schema, &array, LMN__NULLS_FORBIDDEN, 1, 1, NULL);
    schema.release(&schema);
}

static void test_nulls__long_names(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    char name[400], path[LMN__NULL_PATH_BYTES];

    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    make_struct(&schema, &array);
    CHECK_EQ(ArrowSchemaSetName(&schema, name), 0);
    CHECK(lmn__nulls_find(&schema, &array, LMN__NULLS_OF_STRUCTS, 1, 1, path));
    CHECK_EQ(strlen(path), LMN__NULL_PATH_BYTES - 1);
    array.release(&array);
    schema.release(&schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nulls__structs),
        cmocka_unit_test(test_nulls__forbidden_in_structs),
        cmocka_unit_test(test_nulls__lists),
        cmocka_unit_test(test_nulls__fixed_size_lists),
        cmocka_unit_test(test_nulls__long_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
