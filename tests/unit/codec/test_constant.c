/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of one value in the forms that this writer does not make, and contradictions in them.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec/constant.h"
#include "columns.h"

static struct lmn__scratch scratch;
static struct lmn__arena arena;

static int set_up(void **state)
{
    (void)state;
    lmn__scratch_init(&scratch, test_env());
    lmn__arena_init(&arena, test_env(), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmn__arena_deinit(&arena);
    lmn__scratch_deinit(&scratch);
    return live_allocations() == 0 ? 0 : -1;
}

static struct lmn__page_layout make_layout(uint8_t inner, uint8_t outer)
{
    struct lmn__page_layout layout = { .kind = LMN__PAGE_CONSTANT,
                                       .layer = { inner, outer },
                                       .layer_count = outer == 0 ? 1 : 2 };

    lmn__page_layout_derive(&layout);
    return layout;
}

/* Open the page and append rows [first, first + count) to a builder of the type. */
static enum lmn_status read_rows(const struct lmn__page_layout *layout,
                                 const struct lmn__layout *type, const struct lmn__span *buffer,
                                 uint32_t buffer_count, uint64_t rows, uint64_t first,
                                 uint64_t count, struct lmn__builder *builder,
                                 struct lmn_error *err)
{
    bool list = type->kind == LMN__LAYOUT_LIST;
    struct lmn__leaf leaf = { .scratch = &scratch };
    struct lmn__constant page;
    enum lmn_status st = lmn__constant_open(&page, layout, list ? type->child[0] : type, buffer,
                                            buffer_count, rows, &arena, &scratch, err);

    CHECK_OK(lmn__builder_init(builder, test_env(), type, NULL));
    if (st != LMN_OK)
        return st;
    leaf.builder = list ? builder->child : builder;
    leaf.path.count = 1 + list;
    leaf.path.step[0] = (struct lmn__path_step){ .builder = leaf.builder, .stride = 1 };
    leaf.path.step[1] = (struct lmn__path_step){ .builder = builder, .is_list = true, .stride = 1 };
    st = lmn__constant_append(&page, &leaf, first, count, err);
    lmn__constant_close(&page);
    return st == LMN_OK ? lmn__builder_check(builder, count, err) : st;
}

/* The Arrow buffers of one string: their number, their lengths, offsets, bytes. */
static const uint8_t hello[] = { 2, 0, 0, 0, 8, 0, 0, 0,   5,   0,   0,   0,  0,
                                 0, 0, 0, 5, 0, 0, 0, 'h', 'e', 'l', 'l', 'o' };

static void test_constant__string_in_a_buffer(void **state)
{
    const struct lmn__page_layout layout = make_layout(LMN__LAYER_ITEM, 0);
    const struct lmn__span buffer = { hello, sizeof hello };
    const struct lmn__layout *type = VARIABLE(32);
    struct lmn__builder builder;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(read_rows(&layout, type, &buffer, 1, 700, 5, 3, &builder, &err), LMN_OK, &err);
    CHECK_EQ(builder.values.len, 15);
    CHECK_BYTES(builder.values.data, "hellohellohello", 15);
    CHECK_EQ(lmn__load_u32(builder.offsets.data + 12), 15);
    lmn__builder_deinit(&builder);
}

static void test_constant__corrupt_value_buffers(void **state)
{
    const struct lmn__page_layout layout = make_layout(LMN__LAYER_ITEM, 0);
    const struct lmn__layout *type = VARIABLE(32), *number = FIXED(32);
    uint8_t changed[sizeof hello];
    struct lmn__builder builder;
    struct lmn_error err;

    (void)state;
    for (size_t len = 0; len < sizeof hello; len++) {
        struct lmn__span buffer = { malloc(len), len };

        memcpy((void *)buffer.data, hello, len);
        CHECK_STATUS(read_rows(&layout, type, &buffer, 1, 9, 0, 9, &builder, &err), LMN_E_CORRUPT,
                     &err);
        lmn__builder_deinit(&builder);
        free((void *)buffer.data);
    }
    for (size_t i = 0; i < 12; i++) {
        const struct lmn__span buffer = { changed, sizeof changed };

        memcpy(changed, hello, sizeof hello);
        changed[i] = (uint8_t)(changed[i] ^ 0x81);
        CHECK_STATUS(read_rows(&layout, type, &buffer, 1, 9, 0, 9, &builder, &err), LMN_E_CORRUPT,
                     &err);
        lmn__builder_deinit(&builder);
    }
    /* Two buffers are those of a string, not of a number. */
    CHECK_STATUS(read_rows(&layout, number, &(struct lmn__span){ hello, sizeof hello }, 1, 9, 0, 9,
                           &builder, &err),
                 LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
}

static void test_constant__inline_values(void **state)
{
    static const struct lmn__span none = { NULL, 0 };
    static const uint8_t one = 1;
    struct lmn__page_layout layout = make_layout(LMN__LAYER_ITEM, 0);
    const struct lmn__layout *flag = FIXED(1), *number = FIXED(16);
    struct lmn__builder builder;
    struct lmn_error err;

    (void)state;
    layout.inline_value = (struct lmn__span){ &one, 1 };
    CHECK_OK(read_rows(&layout, flag, &none, 0, 500, 0, 500, &builder, &err));
    CHECK_EQ(lmn__bits_count(builder.values.data, 0, 500), 500);
    lmn__builder_deinit(&builder);
    CHECK_STATUS(read_rows(&layout, number, &none, 0, 500, 0, 500, &builder, &err), LMN_E_CORRUPT,
                 &err);
    CHECK_HAS(err.message, "a constant of 1 bytes in a column of 16 bits");
    lmn__builder_deinit(&builder);
    /* A value of its own, and one in a buffer. */
    CHECK_STATUS(read_rows(&layout, flag, &(struct lmn__span){ hello, sizeof hello }, 1, 5, 0, 5,
                           &builder, &err),
                 LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
}

/* Levels around a value: [5 5] null [] [5], thousands of times; ranges find their rows. */
static void test_constant__value_in_lists(void **state)
{
    static const uint16_t rep_row[] = { 1, 0, 1, 1, 1 }, def_row[] = { 0, 0, 1, 2, 0 };
    enum { ROUNDS = 1500, ENTRIES = 5 * ROUNDS, ROWS = 4 * ROUNDS };
    struct lmn__page_layout layout = make_layout(LMN__LAYER_ITEM, LMN__LAYER_NULL_AND_EMPTY_LIST);
    static const uint8_t five = 5;
    const struct lmn__layout *type = LIST(32, FIXED(8));
    static uint16_t rep[ENTRIES], def[ENTRIES];
    const struct lmn__span buffer[] = { { (const uint8_t *)rep, sizeof rep },
                                        { (const uint8_t *)def, sizeof def } };
    struct lmn__builder builder;
    struct lmn_error err;

    (void)state;
    layout.inline_value = (struct lmn__span){ &five, 1 };
    for (int i = 0; i < ENTRIES; i++) {
        rep[i] = rep_row[i % 5];
        def[i] = def_row[i % 5];
    }
    for (uint64_t first = 0; first < ROWS; first += 997) {
        CHECK_STATUS(read_rows(&layout, type, buffer, 2, ROWS, first, 2, &builder, &err), LMN_OK,
                     &err);
        for (uint64_t i = 0; i < 2; i++)
            CHECK_EQ(builder.has_validity && !lmn__bit_get(builder.validity.data, i),
                     (first + i) % 4 == 1);
        CHECK_EQ(builder.child[0].length, (first % 4 == 0 ? 2 : first % 4 == 3) +
                                              ((first + 1) % 4 == 0 ? 2 : (first + 1) % 4 == 3));
        lmn__builder_deinit(&builder);
    }
    CHECK_STATUS(read_rows(&layout, type, buffer, 2, ROWS + 1, 0, 1, &builder, &err), LMN_E_CORRUPT,
                 &err);
    lmn__builder_deinit(&builder);
    CHECK_STATUS(read_rows(&layout, type, buffer, 2, ROWS - 1, 0, 1, &builder, &err), LMN_E_CORRUPT,
                 &err);
    lmn__builder_deinit(&builder);
}

static void test_constant__corrupt_levels(void **state)
{
    static const uint16_t levels[] = { 1, 1, 1, 1, 9 };
    const struct lmn__page_layout lists = make_layout(LMN__LAYER_ITEM, LMN__LAYER_EMPTYABLE_LIST);
    const struct lmn__page_layout plain = make_layout(LMN__LAYER_NULLABLE_ITEM, 0);
    const struct lmn__layout *type = LIST(32, FIXED(8)), *number = FIXED(8);
    const uint8_t *bytes = (const uint8_t *)levels;
    const struct lmn__span uneven[] = { { bytes, 8 }, { bytes, 6 } };
    const struct lmn__span without[] = { { NULL, 0 }, { bytes, 8 } };
    const struct lmn__span large[] = { { NULL, 0 }, { bytes, 10 } };
    const struct lmn__span odd[] = { { NULL, 0 }, { bytes, 9 } };
    struct lmn__builder builder;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(read_rows(&lists, type, uneven, 2, 4, 0, 4, &builder, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
    CHECK_STATUS(read_rows(&lists, type, without, 2, 4, 0, 4, &builder, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
    CHECK_STATUS(read_rows(&plain, number, without, 2, 4, 0, 4, &builder, &err), LMN_OK, &err);
    lmn__builder_deinit(&builder);
    CHECK_STATUS(read_rows(&plain, number, without, 2, 5, 0, 5, &builder, &err), LMN_E_CORRUPT,
                 &err);
    lmn__builder_deinit(&builder);
    CHECK_STATUS(read_rows(&plain, number, large, 2, 5, 0, 5, &builder, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
    CHECK_STATUS(read_rows(&plain, number, odd, 2, 4, 0, 4, &builder, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
    CHECK_STATUS(read_rows(&plain, number, odd, 4, 4, 0, 4, &builder, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_constant__string_in_a_buffer),
        cmocka_unit_test(test_constant__corrupt_value_buffers),
        cmocka_unit_test(test_constant__inline_values),
        cmocka_unit_test(test_constant__value_in_lists),
        cmocka_unit_test(test_constant__corrupt_levels),
    };

    return cmocka_run_group_tests(cases, set_up, tear_down);
}
