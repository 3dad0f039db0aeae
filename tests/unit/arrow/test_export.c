/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that are handed out: what they hold, and every order of letting go of their parts.
 */
#include <nanoarrow/nanoarrow.h>

#include "check.h"
#include "columns.h"

static const struct column_style style = { .null_one_in = 3 };

static void test_export__buffers_by_kind(void **state)
{
    const struct lmn__layout *const layouts[] = { NOTHING,
                                                  FIXED(32),
                                                  VARIABLE(32),
                                                  LIST(32, FIXED(8)),
                                                  FIXED_LIST(2, FIXED(8)),
                                                  STRUCT(FIXED(8)),
                                                  DICTIONARY(8, 128, VARIABLE(32)) };
    static const int64_t buffers[] = { 0, 2, 3, 2, 1, 1, 2 };
    static const int64_t children[] = { 0, 0, 0, 1, 1, 1, 0 };

    (void)state;
    for (int i = 0; i < 7; i++) {
        for (uint64_t rows = 0; rows < 20; rows += 19) {
            struct ArrowArray array;

            column_random(layouts[i], &style, rows, 4, &array);
            CHECK_EQ(array.length, rows);
            CHECK_EQ(array.offset, 0);
            CHECK_EQ(array.n_buffers, buffers[i]);
            CHECK_EQ(array.n_children, children[i]);
            CHECK_EQ(array.dictionary != NULL, i == 6);
            /* Readers expect memory behind every buffer but the validity. */
            for (int64_t b = 1; b < array.n_buffers; b++)
                CHECK(array.buffers[b] != NULL);
            CHECK_EQ(array.n_buffers > 0 && array.buffers[0] != NULL,
                     array.null_count != 0 && i != 0);
            array.release(&array);
            CHECK(array.release == NULL);
            CHECK_EQ(live_allocations(), 0);
        }
    }
}

/* nanoarrow, asked to look at everything, finds nothing wrong. */
static void test_export__is_valid_arrow(void **state)
{
    const struct lmn__layout *type = PAIR(LIST(32, VARIABLE(32)), FIXED_LIST(3, FIXED(16)));
    struct ArrowSchema schema;
    struct ArrowArrayView view;
    struct ArrowArray array;
    struct ArrowError error;

    (void)state;
    ArrowSchemaInit(&schema);
    CHECK_OK(ArrowSchemaSetTypeStruct(&schema, 2));
    CHECK_OK(ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_LIST));
    CHECK_OK(ArrowSchemaSetType(schema.children[0]->children[0], NANOARROW_TYPE_BINARY));
    CHECK_OK(ArrowSchemaSetTypeFixedSize(schema.children[1], NANOARROW_TYPE_FIXED_SIZE_LIST, 3));
    CHECK_OK(ArrowSchemaSetType(schema.children[1]->children[0], NANOARROW_TYPE_INT16));
    for (uint64_t rows = 0; rows < 300; rows += 99) {
        column_random(type, &style, rows, rows, &array);
        CHECK_OK(ArrowArrayViewInitFromSchema(&view, &schema, &error));
        CHECK_OK(ArrowArrayViewSetArray(&view, &array, &error));
        CHECK_OK(ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, &error));
        ArrowArrayViewReset(&view);
        array.release(&array);
    }
    schema.release(&schema);
}

/* A consumer moves a child out, and lets go of parent and child in either order. */
static void test_export__children_moved_out(void **state)
{
    const struct lmn__layout *item = LIST(32, VARIABLE(32));
    const struct lmn__layout *type = PAIR(item, FIXED(8));
    struct ArrowArray array, copy, child;

    (void)state;
    for (int parent_first = 0; parent_first < 2; parent_first++) {
        column_random(type, &style, 100, 2, &array);
        column_random(type, &style, 100, 2, &copy);
        child = *array.children[0];
        array.children[0]->release = NULL;
        if (parent_first)
            array.release(&array);
        CHECK(column_same(item, copy.children[0], 0, &child, 0, 100));
        child.release(&child);
        if (!parent_first)
            array.release(&array);
        copy.release(&copy);
        CHECK_EQ(live_allocations(), 0);
    }
}

static void test_export__dictionary_moved_out(void **state)
{
    const struct lmn__layout *type = DICTIONARY(8, 128, VARIABLE(32));
    struct ArrowArray array, dictionary;

    (void)state;
    column_random(type, &style, 30, 1, &array);
    dictionary = *array.dictionary;
    array.dictionary->release = NULL;
    array.release(&array);
    CHECK(column_same(type->child[0], &dictionary, 0, &dictionary, 0, (uint64_t)dictionary.length));
    dictionary.release(&dictionary);
    CHECK_EQ(live_allocations(), 0);
}

/* The struct itself may be moved; the place it came from is marked as released. */
static void test_export__moved_as_a_whole(void **state)
{
    const struct lmn__layout *type = PAIR(FIXED(8), LIST(64, FIXED(1)));
    struct ArrowArray array, moved;

    (void)state;
    column_random(type, &style, 30, 1, &array);
    moved = array;
    array.release = NULL;
    CHECK(column_same(type, &moved, 0, &moved, 0, 30));
    moved.release(&moved);
    CHECK_EQ(live_allocations(), 0);
}

/* An array keeps its environment; it may be the last to go. */
static void test_export__outlives_the_environment(void **state)
{
    const struct lmn_env_options options = { .threads = 1 };
    const struct lmn__layout *type = FIXED(8);
    struct lmn__builder builder;
    struct ArrowArray array;
    struct lmn_env *env;
    uint8_t *at;

    (void)state;
    CHECK_OK(lmn_env_new(&options, &env, NULL));
    CHECK_OK(lmn__builder_init(&builder, env, type, NULL));
    CHECK_OK(lmn__builder_add_valid(&builder, 3, NULL));
    CHECK_OK(lmn__builder_extend(&builder, 3, &at, NULL));
    memcpy(at, "abc", 3);
    CHECK_OK(lmn__builder_finish(&builder, &array, NULL));
    lmn__builder_deinit(&builder);
    lmn_env_release(env);
    CHECK_BYTES(array.buffers[1], "abc", 3);
    array.release(&array);
}

/* The builder is empty after it, and can be filled again. */
static void test_export__leaves_an_empty_builder(void **state)
{
    const struct lmn__layout *type = LIST(32, FIXED(8));
    struct lmn__builder builder;

    (void)state;
    CHECK_OK(lmn__builder_init(&builder, test_env(), type, NULL));
    for (int64_t round = 1; round < 4; round++) {
        struct ArrowArray array;

        CHECK_OK(lmn__builder_add_null(&builder, (uint64_t)round, NULL));
        CHECK_OK(lmn__builder_put_empty(&builder, (uint64_t)round, NULL));
        CHECK_OK(lmn__builder_finish(&builder, &array, NULL));
        CHECK_EQ(builder.length, 0);
        CHECK_EQ(array.length, round);
        CHECK_EQ(array.null_count, round);
        array.release(&array);
    }
    lmn__builder_deinit(&builder);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_export__buffers_by_kind),
        cmocka_unit_test(test_export__is_valid_arrow),
        cmocka_unit_test(test_export__children_moved_out),
        cmocka_unit_test(test_export__dictionary_moved_out),
        cmocka_unit_test(test_export__moved_as_a_whole),
        cmocka_unit_test(test_export__outlives_the_environment),
        cmocka_unit_test(test_export__leaves_an_empty_builder),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
