/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking into arrays of others: offsets, Arrow's own views, copies of ranges.
 */
#include <string.h>

#include "check.h"
#include "columns.h"

static const struct column_style style = { .null_one_in = 4, .full_null_lists = true };

static void test_view__validity(void **state)
{
    static const uint8_t bits = 0xe8;
    const void *buffers[] = { &bits, NULL };
    struct ArrowArray array = {
        .length = 5, .offset = 2, .null_count = -1, .n_buffers = 2, .buffers = buffers
    };
    static const bool nulls[] = { true, false, true, false, false };

    (void)state;
    for (uint64_t i = 0; i < 5; i++)
        CHECK_EQ(lmn__view_is_null(&array, i), nulls[i]);
    array.null_count = 0;
    CHECK(!lmn__view_is_null(&array, 0));
    array.null_count = -1;
    buffers[0] = NULL;
    CHECK(!lmn__view_is_null(&array, 0));
    array.n_buffers = 0;
    CHECK(!lmn__view_is_null(&array, 0));
}

/* Strings of 12 bytes and fewer lie in the view, longer ones in a buffer of their own. */
static void put_view(uint8_t *view, const char *text, uint32_t buffer, uint32_t offset)
{
    uint32_t len = (uint32_t)strlen(text);

    memset(view, 0, 16);
    lmn__store_u32(view, len);
    memcpy(view + 4, text, len <= 12 ? len : 4);
    if (len > 12) {
        lmn__store_u32(view + 8, buffer);
        lmn__store_u32(view + 12, offset);
    }
}

static void test_view__arrow_views(void **state)
{
    static const char *const text[] = {
        "", "short", "twelve bytes", "thirteen char", "", "a long one in another buffer"
    };
    static const uint8_t valid = 0x2f;
    const struct lmn__layout *type = LAYOUT(.kind = LMN__LAYOUT_VARIABLE, .bits = 32,
                                            .is_view = true);
    const struct lmn__layout *plain = VARIABLE(32);
    uint8_t views[6 * 16];
    const void *buffers[] = { &valid, views, "..thirteen char", "a long one in another buffer" };
    struct ArrowArray array = {
        .length = 5, .offset = 1, .null_count = 1, .n_buffers = 4, .buffers = buffers
    };
    struct lmn__builder builder;

    (void)state;
    for (int i = 0; i < 6; i++)
        put_view(views + i * 16, text[i], i == 5, i == 3 ? 2 : 0);
    memset(views + 4 * 16, 0xff, 16); /* null: nobody may look at it */
    CHECK_EQ(lmn__view_range_bytes(type, &array, 0, 5), 5 + 12 + 13 + 28 + 5 * 4);
    CHECK_OK(lmn__builder_init(&builder, test_env(), plain, NULL));
    CHECK_OK(lmn__view_append(type, &array, 0, 5, &builder, NULL));
    CHECK_OK(lmn__view_append(type, &array, 3, 0, &builder, NULL));
    CHECK_OK(lmn__builder_check(&builder, 5, NULL));
    CHECK_EQ(builder.null_count, 1);
    CHECK_EQ(builder.values.len, 58);
    CHECK_BYTES(builder.values.data, "shorttwelve bytesthirteen chara long one in another buffer",
                58);
    for (uint64_t i = 0; i < 5; i++) {
        struct lmn__span value = lmn__view_bytes(type, &array, i);

        CHECK_EQ(value.len, strlen(text[i + 1]));
    }
    lmn__builder_deinit(&builder);
    CHECK_EQ(live_allocations(), 0);
}

static const struct lmn__layout *const types[] = {
    NOTHING,
    FIXED(1),
    FIXED(64),
    FIXED(0),
    VARIABLE(32),
    VARIABLE(64),
    LIST(32, VARIABLE(32)),
    LIST(64, LIST(32, FIXED(1))),
    FIXED_LIST(3, FIXED(16)),
    FIXED_LIST(2, FIXED_LIST(5, FIXED(1))),
    PAIR(FIXED(8), PAIR(VARIABLE(32), LIST(32, FIXED(32)))),
};

enum { TYPES = sizeof types / sizeof types[0], ROWS = 200 };

/* Ranges of a slice, one after the other, are the slice again. */
static void test_view__appends_ranges(void **state)
{
    (void)state;
    for (int t = 0; t < TYPES; t++) {
        struct ArrowArray array, slice, copy;
        struct lmn__builder builder;
        uint64_t seed = 9, at = 0;

        column_random(types[t], &style, ROWS, 5, &array);
        slice = array;
        slice.offset = 13;
        slice.length = ROWS - 20;
        slice.null_count = array.null_count == 0 ? 0 : -1;
        CHECK_OK(lmn__builder_init(&builder, test_env(), types[t], NULL));
        while (at < (uint64_t)slice.length) {
            uint64_t left = (uint64_t)slice.length - at, count = test_random(&seed) % 40;

            count = count < left ? count : left;
            CHECK_OK(lmn__view_append(types[t], &slice, at, count, &builder, NULL));
            at += count;
        }
        CHECK_OK(lmn__builder_check(&builder, at, NULL));
        CHECK_OK(lmn__builder_finish(&builder, &copy, NULL));
        CHECK(column_same(types[t], &array, 13, &copy, 0, at));
        copy.release(&copy);
        lmn__builder_deinit(&builder);
        array.release(&array);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void test_view__range_bytes(void **state)
{
    const struct lmn__layout *words = FIXED(32), *texts = VARIABLE(64);
    struct ArrowArray array;

    (void)state;
    column_random(words, &style, 100, 1, &array);
    CHECK_EQ(lmn__view_range_bytes(words, &array, 10, 20), 80);
    array.release(&array);
    column_random(texts, &style, 100, 1, &array);
    CHECK_EQ(lmn__view_range_bytes(texts, &array, 0, 100),
             lmn__view_offset(&array, 8, 100) + 100 * 8);
    CHECK_EQ(lmn__view_range_bytes(texts, &array, 50, 0), 0);
    array.release(&array);
}

static void test_view__faults(void **state)
{
    const struct lmn__layout *type = types[TYPES - 1];
    struct ArrowArray array;
    struct lmn_error err;
    int64_t before;

    (void)state;
    column_random(type, &style, ROWS, 5, &array);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        struct lmn__builder builder;
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__builder_init(&builder, test_env(), type, &err);
        if (st == LMN_OK)
            st = lmn__view_append(type, &array, 0, ROWS, &builder, &err);
        fault_disarm();
        lmn__builder_deinit(&builder);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st != LMN_OK)
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
    array.release(&array);
}

/* Numbers of a batch that are no such are told before they become sizes. */
static void test_view__columns_of_a_batch(void **state)
{
    static const struct {
        int64_t length, offset, column_length, column_offset;
        const char *message; /* NULL: it is fine */
    } cases[] = {
        { 5, 2, 7, 3, NULL },
        { 5, 2, 6, 3, "column \"c\" has 6 rows, its batch 7" },
        { -1, 2, 7, 3, "a batch of -1 rows from 2 on" },
        { 5, -2, 7, 3, "a batch of 5 rows from -2 on" },
        { INT64_MAX, 1, 7, 3, "a batch of " },
        { 5, 2, 7, -1, "column \"c\" has 7 rows from -1 on" },
        { 5, 2, INT64_MAX, 1, "column \"c\" has " },
        { 0, 0, -1, 0, "column \"c\" has -1 rows, its batch 0" },
    };
    struct ArrowSchema type = { .format = "i", .name = "c" }, *column_type = &type;
    struct ArrowSchema schema = { .format = "+s", .n_children = 1, .children = &column_type };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ArrowArray column = { .length = cases[i].column_length,
                                     .offset = cases[i].column_offset };
        struct ArrowArray *columns = &column;
        struct ArrowArray batch = { .length = cases[i].length,
                                    .offset = cases[i].offset,
                                    .n_children = 1,
                                    .children = &columns };
        struct lmn_error err = { 0 };

        CHECK_STATUS(lmn__view_check_columns(&schema, &batch, &err),
                     cases[i].message == NULL ? LMN_OK : LMN_E_INVALID, &err);
        if (cases[i].message != NULL)
            CHECK_HAS(err.message, cases[i].message);
        batch.n_children = 0;
        CHECK_STATUS(lmn__view_check_columns(&schema, &batch, &err), LMN_E_INVALID, &err);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_view__validity),
        cmocka_unit_test(test_view__arrow_views),
        cmocka_unit_test(test_view__appends_ranges),
        cmocka_unit_test(test_view__range_bytes),
        cmocka_unit_test(test_view__faults),
        cmocka_unit_test(test_view__columns_of_a_batch),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
