/* SPDX-License-Identifier: Apache-2.0 */
/* Slots taken back from builders of every layout, also half-filled ones. */
#include <nanoarrow/nanoarrow.h>

#include "arrow/cut.h"
#include "base/bytes.h"
#include "check.h"

static const struct lmn__layout word = { .kind = LMN__LAYOUT_FIXED, .bits = 64 };
static const struct lmn__layout flag = { .kind = LMN__LAYOUT_FIXED, .bits = 1 };
static const struct lmn__layout text = { .kind = LMN__LAYOUT_VARIABLE, .bits = 32 };
static const struct lmn__layout *const items[] = { &text };
static const struct lmn__layout list = {
    .kind = LMN__LAYOUT_LIST, .bits = 32, .child_count = 1, .child = items
};
static const struct lmn__layout *const pair_items[] = { &word };
static const struct lmn__layout pair = {
    .kind = LMN__LAYOUT_FIXED_LIST, .dimension = 2, .child_count = 1, .child = pair_items
};
static const struct lmn__layout *const columns[] = { &word, &flag, &text, &list, &pair };
static const struct lmn__layout row = { .kind = LMN__LAYOUT_STRUCT,
                                        .child_count = 5,
                                        .child = columns };

static void put_word(struct lmn__builder *builder, uint64_t value)
{
    uint8_t *at;

    CHECK_OK(lmn__builder_add_valid(builder, 1, NULL));
    CHECK_OK(lmn__builder_extend(builder, 1, &at, NULL));
    lmn__store_u64(at, value);
}

static void put_text(struct lmn__builder *builder, const char *value)
{
    uint8_t *offset, *data;
    uint64_t base;

    CHECK_OK(lmn__builder_add_valid(builder, 1, NULL));
    CHECK_OK(lmn__builder_extend_variable(builder, 1, strlen(value), &offset, &data, &base, NULL));
    memcpy(data, value, strlen(value));
    lmn__store_u32(offset, (uint32_t)(base + strlen(value)));
}

/* The columns of row i; `count` of them. */
static void put_columns(struct lmn__builder *builder, uint64_t i, uint32_t count)
{
    struct lmn__builder *child = builder->child;
    uint32_t start = (uint32_t)child[3].child[0].length;
    uint8_t bit = i % 3 == 0;

    if (count > 0 && i % 4 == 3) {
        CHECK_OK(lmn__builder_add_null(&child[0], 1, NULL));
        CHECK_OK(lmn__builder_put_empty(&child[0], 1, NULL));
    } else if (count > 0) {
        put_word(&child[0], i);
    }
    if (count > 1) {
        CHECK_OK(lmn__builder_add_valid(&child[1], 1, NULL));
        CHECK_OK(lmn__builder_put_bits(&child[1], &bit, 0, 1, NULL));
    }
    if (count > 2)
        put_text(&child[2], i % 2 == 0 ? "even" : "");
    if (count > 3) {
        CHECK_OK(lmn__builder_add_valid(&child[3], 1, NULL));
        CHECK_OK(lmn__vec_put(&child[3].offsets, test_env()->pool, &start, 4, NULL));
        for (uint64_t k = 0; k < i % 3; k++)
            put_text(&child[3].child[0], "item");
    }
    if (count > 4) {
        CHECK_OK(lmn__builder_add_valid(&child[4], 1, NULL));
        put_word(&child[4].child[0], i);
        put_word(&child[4].child[0], i + 1);
    }
}

static void put_row(struct lmn__builder *builder, uint64_t i)
{
    put_columns(builder, i, 5);
    CHECK_OK(lmn__builder_add_valid(builder, 1, NULL));
}

static void check_rows(const struct ArrowArray *array, uint64_t count)
{
    const int32_t *offset = array->children[3]->buffers[1];

    CHECK_EQ(array->length, count);
    CHECK_EQ(array->children[0]->null_count, count / 4);
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t *pairs = array->children[4]->children[0]->buffers[1];
        const uint8_t *bits = array->children[1]->buffers[1];
        const int32_t *ends = array->children[2]->buffers[1];

        if (i % 4 != 3)
            CHECK_EQ(((const uint64_t *)array->children[0]->buffers[1])[i], i);
        CHECK_EQ(bits[i / 8] >> (i % 8) & 1, i % 3 == 0);
        CHECK_EQ(ends[i + 1] - ends[i], i % 2 == 0 ? 4 : 0);
        CHECK_EQ(offset[i + 1] - offset[i], i % 3);
        CHECK_EQ(pairs[2 * i + 1], i + 1);
    }
}

/* Rows that fail after any number of columns, at any row, leave no trace. */
static void test_cut__half_rows_leave_no_trace(void **state)
{
    struct lmn_error err;

    (void)state;
    for (uint64_t rows = 0; rows < 20; rows++) {
        for (uint32_t columns_done = 0; columns_done <= 5; columns_done++) {
            struct lmn__builder builder;
            struct ArrowArray array;

            CHECK_OK(lmn__builder_init(&builder, test_env(), &row, NULL));
            for (uint64_t i = 0; i < rows; i++)
                put_row(&builder, i);
            put_columns(&builder, rows + 2, columns_done);
            for (uint32_t i = 0; i < row.child_count; i++)
                lmn__builder_cut(&builder.child[i], rows);
            for (uint64_t i = rows; i < rows + 3; i++)
                put_row(&builder, i);
            CHECK_STATUS(lmn__builder_check(&builder, rows + 3, &err), LMN_OK, &err);
            CHECK_STATUS(lmn__builder_finish(&builder, &array, &err), LMN_OK, &err);
            check_rows(&array, rows + 3);
            array.release(&array);
            lmn__builder_deinit(&builder);
        }
    }
    CHECK_EQ(live_allocations(), 0);
}

/* A slot that was counted but has no value yet goes, too. */
static void test_cut__slots_without_values(void **state)
{
    struct lmn__builder builder;

    (void)state;
    CHECK_OK(lmn__builder_init(&builder, test_env(), &text, NULL));
    put_text(&builder, "one");
    CHECK_OK(lmn__builder_add_valid(&builder, 1, NULL));
    lmn__builder_cut(&builder, 1);
    CHECK_EQ(builder.length, 1);
    CHECK_OK(lmn__builder_check(&builder, 1, NULL));
    CHECK_OK(lmn__builder_add_null(&builder, 1, NULL));
    CHECK_OK(lmn__builder_put_empty(&builder, 1, NULL));
    lmn__builder_cut(&builder, 0);
    CHECK_EQ(builder.null_count, 0);
    put_text(&builder, "two");
    CHECK_OK(lmn__builder_check(&builder, 1, NULL));
    CHECK_BYTES(builder.values.data, "two", 3);
    lmn__builder_deinit(&builder);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cut__half_rows_leave_no_trace),
        cmocka_unit_test(test_cut__slots_without_values),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
