/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nested arrays to levels: an example by hand, and the way back through lmn__levels_append().
 */
#include <string.h>

#include "check.h"
#include "codec/levels.h"
#include "columns.h"

/* The levels and layers of all rows of an array's only leaf. */
static void shred(struct lmn__shred *shred, const struct column *column,
                  const struct ArrowArray *rows, uint64_t step, struct lmn__page_layout *layout)
{
    const struct lmn__layout *leaf = column->node[0][column->depth[0] - 1].layout;
    struct lmn_error err;

    *layout = (struct lmn__page_layout){ 0 };
    CHECK_OK(lmn__shred_init(shred, test_env(), column->node[0], column->depth[0], leaf, &err));
    for (uint64_t i = 0; i < (uint64_t)rows->length; i += step) {
        uint64_t count = (uint64_t)rows->length - i < step ? (uint64_t)rows->length - i : step;

        CHECK_STATUS(lmn__shred_append(shred, rows, i, count, &err), LMN_OK, &err);
    }
    lmn__shred_close(shred, layout);
}

static void check_levels(const uint16_t *actual, const uint16_t *expected, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ(actual[i], expected[i]);
}

/* [[1 2] []] [] [[3] null] null [[null]], with items below the null list. */
static void test_shred__lists_of_lists(void **state)
{
    static const uint16_t rep[] = { 2, 0, 1, 2, 2, 1, 2, 2 };
    static const uint16_t def[] = { 0, 0, 3, 5, 0, 2, 4, 1 };
    static const uint32_t outer[] = { 0, 2, 2, 4, 5, 6 }, inner[] = { 0, 2, 2, 3, 4, 5, 6 };
    static const uint8_t outer_valid = 0x17, inner_valid = 0x37, item_valid = 0x1f;
    static const uint8_t items[] = { 1, 2, 3, 66, 77, 0 };
    const struct lmn__layout *type = LIST(32, LIST(32, FIXED(8)));
    struct ArrowArray leaf = { .length = 6, .null_count = 1, .n_buffers = 2 };
    struct ArrowArray lists = { .length = 6, .null_count = 1, .n_buffers = 2, .n_children = 1 };
    struct ArrowArray rows = { .length = 5, .null_count = 1, .n_buffers = 2, .n_children = 1 };
    struct lmn__page_layout layout;
    struct lmn__shred shredded;
    struct column column;

    (void)state;
    leaf.buffers = (const void *[]){ &item_valid, items };
    lists.buffers = (const void *[]){ &inner_valid, inner };
    lists.children = (struct ArrowArray *[]){ &leaf };
    rows.buffers = (const void *[]){ &outer_valid, outer };
    rows.children = (struct ArrowArray *[]){ &lists };
    column_init(&column, type, false);
    for (uint64_t step = 1; step <= 5; step++) {
        shred(&shredded, &column, &rows, step, &layout);
        CHECK_EQ(shredded.entry_count, 8);
        CHECK_EQ(shredded.row_count, 5);
        CHECK_EQ(layout.layer_count, 3);
        CHECK_EQ(layout.layer[0], LMN__LAYER_NULLABLE_ITEM);
        CHECK_EQ(layout.layer[1], LMN__LAYER_NULL_AND_EMPTY_LIST);
        CHECK_EQ(layout.layer[2], LMN__LAYER_NULL_AND_EMPTY_LIST);
        check_levels(lmn__shred_rep(&shredded), rep, 8);
        check_levels(lmn__shred_def(&shredded), def, 8);
        CHECK_EQ(shredded.values.length, 4);
        CHECK_EQ(shredded.null_count, 1);
        CHECK_BYTES(shredded.values.values.data, "\1\2\3", 3);
        lmn__shred_deinit(&shredded);
    }
}

/* Layers say what occurs, not what the type allows. */
static void test_shred__layers_are_what_occurs(void **state)
{
    static const struct column_style full = { 0 }, all_null = { .null_one_in = 1 };
    const struct lmn__layout *type = STRUCT(FIXED(8));
    struct lmn__page_layout layout;
    struct lmn__shred shredded;
    struct ArrowArray rows;
    struct column column;

    (void)state;
    column_init(&column, type, false);
    column_random(type, &full, 10, 1, &rows);
    shred(&shredded, &column, &rows, 10, &layout);
    CHECK_EQ(layout.layer[0], LMN__LAYER_ITEM);
    CHECK_EQ(layout.layer[1], LMN__LAYER_ITEM);
    CHECK(lmn__shred_def(&shredded) == NULL);
    CHECK(lmn__shred_rep(&shredded) == NULL);
    lmn__shred_deinit(&shredded);
    rows.release(&rows);
    column_random(type, &all_null, 10, 1, &rows);
    shred(&shredded, &column, &rows, 10, &layout);
    /* What lies in a null struct is nullable, too: Lance's reader counts on it. */
    CHECK_EQ(layout.layer[0], LMN__LAYER_NULLABLE_ITEM);
    CHECK_EQ(layout.layer[1], LMN__LAYER_NULLABLE_ITEM);
    CHECK_EQ(lmn__shred_def(&shredded)[9], 2);
    lmn__shred_deinit(&shredded);
    rows.release(&rows);
}

/* Slots of a builder against an array, without the values of leaves. */
static void check_back(const struct lmn__builder *builder, const struct ArrowArray *array,
                       uint64_t first, uint64_t count, uint64_t at)
{
    const struct lmn__layout *layout = builder->layout;

    for (uint64_t i = 0; i < count; i++) {
        bool null = layout->kind != LMN__LAYOUT_NULL && lmn__view_is_null(array, first + i);
        uint32_t width = layout->bits / 8;

        if (builder->has_validity)
            CHECK_EQ(!lmn__bit_get(builder->validity.data, at + i), null);
        else
            CHECK(!null);
        if (null || layout->child_count == 0)
            continue;
        if (layout->kind == LMN__LAYOUT_STRUCT) {
            check_back(builder->child, array->children[0], first + i, 1, at + i);
        } else {
            uint64_t from = lmn__view_offset(array, width, first + i);
            uint64_t start = lmn__load_uint(builder->offsets.data + (at + i) * width, width);
            uint64_t end = at + i + 1 == builder->length
                               ? builder->child->length
                               : lmn__load_uint(builder->offsets.data + (at + i + 1) * width,
                                                width);

            CHECK_EQ(end - start, lmn__view_offset(array, width, first + i + 1) - from);
            check_back(builder->child, array->children[0], from, end - start, start);
        }
    }
}

static void check_way_back(const struct lmn__layout *type, const struct column_style *style,
                           uint64_t seed)
{
    struct lmn__path path = { 0 };
    struct lmn__page_layout layout;
    struct lmn__builder root, *builder = &root;
    struct lmn__levels levels;
    struct lmn__shred shredded;
    struct ArrowArray rows;
    struct column column;
    uint64_t visible;
    struct lmn_error err;

    column_init(&column, type, false);
    column_random(type, style, 200, seed, &rows);
    shred(&shredded, &column, &rows, 1 + seed * 7, &layout);
    CHECK_OK(lmn__builder_init(&root, test_env(), type, &err));
    path.count = column.depth[0];
    for (uint32_t i = path.count; i > 0; i--, builder = builder->child)
        path.step[i - 1] = (struct lmn__path_step){
            .builder = builder, .is_list = builder->layout->kind == LMN__LAYOUT_LIST, .stride = 1
        };
    levels = (struct lmn__levels){ lmn__shred_rep(&shredded), lmn__shred_def(&shredded),
                                   shredded.entry_count };
    CHECK_STATUS(lmn__levels_check(&layout, &path, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__levels_append(&layout, &path, &levels, &visible, &err), LMN_OK, &err);
    CHECK_EQ(visible, shredded.values.length);
    CHECK_EQ(root.length, 200);
    check_back(&root, &rows, 0, 200, 0);
    lmn__builder_deinit(&root);
    lmn__shred_deinit(&shredded);
    rows.release(&rows);
}

static void test_shred__is_undone_by_levels(void **state)
{
    static const struct column_style styles[] = { { 0 },
                                                  { .null_one_in = 2 },
                                                  { .null_one_in = 9, .full_null_lists = true },
                                                  { .null_one_in = 1 } };
    const struct lmn__layout *const types[] = {
        FIXED(8),
        STRUCT(STRUCT(FIXED(8))),
        LIST(32, FIXED(8)),
        LIST(64, STRUCT(VARIABLE(32))),
        LIST(32, LIST(32, LIST(64, FIXED(8)))),
        STRUCT(LIST(32, STRUCT(LIST(32, STRUCT(FIXED(16)))))),
    };

    (void)state;
    for (int t = 0; t < 6; t++) {
        for (int s = 0; s < 4; s++) {
            for (uint64_t seed = 0; seed < 8; seed++)
                check_way_back(types[t], &styles[s], seed);
        }
    }
    CHECK_EQ(live_allocations(), 0);
}

/* Batches with dictionaries of their own share one in the page, as far as its index can count. */
static void test_shred__dictionaries_are_merged(void **state)
{
    static const struct column_style style = { .null_one_in = 5 };
    const struct lmn__layout *type = DICTIONARY(8, 20, VARIABLE(32));
    struct lmn__shred shredded;
    struct ArrowArray one, two;
    struct column column;
    struct lmn_error err;

    (void)state;
    column_init(&column, type, false);
    column_random(type, &style, 50, 1, &one);
    column_random(type, &style, 50, 2, &two);
    CHECK_OK(lmn__shred_init(&shredded, test_env(), column.node[0], 1, type, &err));
    CHECK(!lmn__shred_must_close(&shredded, &one));
    CHECK_OK(lmn__shred_append(&shredded, &one, 0, 50, &err));
    CHECK_EQ(shredded.values.child[0].length, one.dictionary->length);
    CHECK_OK(lmn__shred_append(&shredded, &one, 0, 50, &err));
    CHECK_EQ(shredded.values.child[0].length, one.dictionary->length);
    CHECK(!lmn__shred_must_close(&shredded, &two));
    CHECK_OK(lmn__shred_append(&shredded, &two, 0, 50, &err));
    CHECK(shredded.values.child[0].length > (uint64_t)one.dictionary->length);
    CHECK(lmn__shred_must_close(&shredded, &two));
    CHECK_EQ(shredded.values.length, 150);
    lmn__shred_deinit(&shredded);
    one.release(&one);
    two.release(&two);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_shred__lists_of_lists),
        cmocka_unit_test(test_shred__layers_are_what_occurs),
        cmocka_unit_test(test_shred__is_undone_by_levels),
        cmocka_unit_test(test_shred__dictionaries_are_merged),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
