/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns of every type through pages and back: all rows, ranges of them, one by one.
 */
#include "check.h"
#include "columns.h"

static const struct lmn__layout *const types[] = {
    NOTHING,
    FIXED(1),
    FIXED(8),
    FIXED(16),
    FIXED(32),
    FIXED(64),
    FIXED(128),
    FIXED(40),
    FIXED(2400),
    VARIABLE(32),
    VARIABLE(64),
    FIXED_LIST(3, FIXED(32)),
    FIXED_LIST(5, FIXED(1)),
    FIXED_LIST(2, FIXED_LIST(3, FIXED(16))),
    FIXED_LIST(96, FIXED(32)),
    FIXED_LIST(2, NOTHING),
    LIST(32, FIXED_LIST(3, NOTHING)),
    FIXED_LIST(9000, NOTHING),
    FIXED_LIST(8, FIXED_LIST(1, FIXED_LIST(1, FIXED(1)))),
    FIXED_LIST(700, FIXED_LIST(4, FIXED(1))),
    DICTIONARY(8, 128, VARIABLE(32)),
    DICTIONARY(32, INT32_MAX, VARIABLE(64)),
    DICTIONARY(16, 1 << 15, FIXED(64)),
    LIST(32, FIXED(32)),
    LIST(64, VARIABLE(32)),
    LIST(32, FIXED(1)),
    LIST(32, FIXED(2400)),
    LIST(32, NOTHING),
    LIST(32, FIXED_LIST(3, FIXED(8))),
    LIST(32, DICTIONARY(8, 128, VARIABLE(32))),
    LIST(32, LIST(64, FIXED(16))),
    LIST(32, LIST(32, LIST(32, VARIABLE(32)))),
    STRUCT(FIXED(32)),
    PAIR(FIXED(64), VARIABLE(32)),
    PAIR(FIXED(1), LIST(32, FIXED(32))),
    STRUCT(STRUCT(LIST(32, STRUCT(FIXED(8))))),
    LIST(32, PAIR(FIXED(32), STRUCT(VARIABLE(64)))),
    LIST(32, STRUCT(LIST(32, STRUCT(FIXED(16))))),
    PAIR(PAIR(FIXED(8), FIXED(8)), PAIR(LIST(32, FIXED(8)), VARIABLE(32))),
};

static const struct column_style styles[] = {
    { 0 },
    { .null_one_in = 1 },
    { .null_one_in = 4 },
    { .null_one_in = 3, .value_bits = 5, .full_null_lists = true },
    { .null_one_in = 50, .run = 90, .distinct = 12, .items_max = 40 },
    { .run = 5000, .value_bits = 3, .distinct = 1 },
    { .null_one_in = 9, .bytes_max = 700, .items_never_null = true },
    { .bytes_max = 300, .items_max = 1 },
};

static const struct lmn__encode_options versions[] = {
    { .minor = 1 },
    { .minor = 2 },
    { .minor = 1, .zstd_level = 1 },
    { .minor = 2, .zstd_level = 3 },
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void check_range(const struct column *column, const struct column_pages *pages,
                        const struct ArrowArray *rows, uint64_t offset, uint64_t first,
                        uint64_t count)
{
    struct ArrowArray back;
    struct lmn_error err;

    CHECK_STATUS(column_decode(column, pages, first, count, &back, &err), LMN_OK, &err);
    CHECK_EQ(back.length, count);
    CHECK(column_same(column->layout, rows, offset + first, &back, 0, count));
    back.release(&back);
}

/* Rows [first, first + count) of an array through pages and back, in several ways. */
static void check_rows(const struct lmn__layout *layout, const struct ArrowArray *rows,
                       uint64_t first, uint64_t count, const struct lmn__encode_options *options,
                       uint64_t seed)
{
    struct column column;
    struct column_pages pages;
    struct lmn_error err;

    column_init(&column, layout, false);
    CHECK_STATUS(column_encode(&column, rows, first, count, options, &pages, &err), LMN_OK, &err);
    check_range(&column, &pages, rows, first, 0, count);
    for (int i = 0; i < 3; i++) {
        uint64_t from = test_random(&seed) % count;

        check_range(&column, &pages, rows, first, from, 1);
        check_range(&column, &pages, rows, first, from, 1 + test_random(&seed) % (count - from));
    }
    column_pages_deinit(&pages);
}

static void check_type(const struct lmn__layout *layout, uint64_t count)
{
    for (uint64_t s = 0; s < COUNT(styles); s++) {
        struct ArrowArray rows;

        column_random(layout, &styles[s], count, s + count, &rows);
        for (uint64_t v = 0; v < COUNT(versions); v++)
            check_rows(layout, &rows, v == 0 ? 0 : 1, v == 0 ? count : count - 1, &versions[v],
                       s * 31 + v);
        rows.release(&rows);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void test_page__round_trip_of_every_type(void **state)
{
    (void)state;
    for (uint64_t t = 0; t < COUNT(types); t++)
        check_type(types[t], 150);
}

static void test_page__round_trip_of_few_rows(void **state)
{
    (void)state;
    for (uint64_t t = 0; t < COUNT(types); t++) {
        check_type(types[t], 2);
        check_type(types[t], 3);
    }
}

/* Several chunks: types whose values are in mini-blocks. */
static void test_page__round_trip_of_many_chunks(void **state)
{
    const struct lmn__layout *const large[] = {
        FIXED(1), FIXED(8), FIXED(64), VARIABLE(32), LIST(32, FIXED(32)), LIST(32, VARIABLE(64)),
    };

    (void)state;
    for (uint64_t t = 0; t < COUNT(large); t++)
        check_type(large[t], 9000);
}

/* Slices: arrays that begin at an offset, also in their children. */
static void test_page__round_trip_of_slices(void **state)
{
    static const struct lmn__encode_options options = { .minor = 2 };
    static const struct column_style style = { .null_one_in = 3 };

    (void)state;
    for (uint64_t t = 0; t < COUNT(types); t++) {
        struct ArrowArray rows, slice;

        column_random(types[t], &style, 200, t, &rows);
        slice = rows;
        slice.offset = 37;
        slice.length = 130;
        slice.null_count = -1;
        check_rows(types[t], &slice, 0, 130, &options, t);
        check_rows(types[t], &slice, 11, 90, &options, t);
        rows.release(&rows);
    }
}

/* Structs in fixed lists have a leaf each, with as many entries as there are items. */
static void test_page__round_trip_of_fixed_lists_of_structs(void **state)
{
    const struct lmn__layout *const nested[] = {
        FIXED_LIST(3, STRUCT(FIXED(32))),
        FIXED_LIST(2, PAIR(VARIABLE(32), FIXED(8))),
        STRUCT(FIXED_LIST(2, FIXED_LIST(3, STRUCT(FIXED(16))))),
    };

    (void)state;
    for (uint64_t t = 0; t < COUNT(nested); t++)
        check_type(nested[t], 100);
}

static void test_page__round_trip_of_packed_structs(void **state)
{
    static const struct column_style style = { .null_one_in = 4, .items_never_null = true };
    const struct lmn__layout *layout = PAIR(FIXED(64), FIXED(16));
    struct column column;
    struct ArrowArray rows;
    struct lmn_error err;

    (void)state;
    column_random(layout, &style, 3000, 1, &rows);
    column_init(&column, layout, true);
    CHECK_EQ(column.leaf_count, 1);
    for (uint64_t v = 0; v < COUNT(versions); v++) {
        struct column_pages pages;

        CHECK_STATUS(column_encode(&column, &rows, 0, 3000, &versions[v], &pages, &err), LMN_OK,
                     &err);
        check_range(&column, &pages, &rows, 0, 0, 3000);
        check_range(&column, &pages, &rows, 0, 1500, 700);
        column_pages_deinit(&pages);
    }
    rows.release(&rows);
}

/* A packed struct has no place for nulls of its fields. */
static void test_page__refuses_nulls_in_packed_structs(void **state)
{
    static const struct column_style style = { .null_one_in = 4 };
    const struct lmn__layout *layout = PAIR(FIXED(64), FIXED(16));
    struct column column;
    struct column_pages pages;
    struct ArrowArray rows;
    struct lmn_error err;

    (void)state;
    column_random(layout, &style, 100, 1, &rows);
    column_init(&column, layout, true);
    CHECK_STATUS(column_encode(&column, &rows, 0, 100, &versions[0], &pages, &err),
                 LMN_E_UNSUPPORTED, &err);
    column_pages_deinit(&pages);
    rows.release(&rows);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_page__round_trip_of_every_type),
        cmocka_unit_test(test_page__round_trip_of_few_rows),
        cmocka_unit_test(test_page__round_trip_of_many_chunks),
        cmocka_unit_test(test_page__round_trip_of_slices),
        cmocka_unit_test(test_page__round_trip_of_fixed_lists_of_structs),
        cmocka_unit_test(test_page__round_trip_of_packed_structs),
        cmocka_unit_test(test_page__refuses_nulls_in_packed_structs),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
