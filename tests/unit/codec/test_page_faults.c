/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoding and decoding of pages while every allocation fails in its turn.
 */
#include "check.h"
#include "columns.h"

static const struct lmn__layout *const types[] = {
    FIXED(1),
    FIXED(64),
    VARIABLE(32),
    FIXED_LIST(3, FIXED(16)),
    FIXED_LIST(96, FIXED(32)),
    DICTIONARY(8, 128, VARIABLE(32)),
    LIST(32, VARIABLE(64)),
    PAIR(FIXED(8), LIST(32, STRUCT(LIST(32, FIXED(32))))),
};

static const struct column_style styles[] = {
    { .null_one_in = 4 },
    { .null_one_in = 1 },
    { .run = 300, .distinct = 5 },
    { .null_one_in = 5, .bytes_max = 400 },
};

enum {
    TYPES = sizeof types / sizeof types[0],
    STYLES = sizeof styles / sizeof styles[0],
    ROWS = 300
};

static const struct lmn__encode_options options = { .minor = 2 };

static void check_encode(const struct column *column, const struct ArrowArray *rows)
{
    int64_t before = live_allocations();

    for (uint64_t nth = 1;; nth++) {
        struct column_pages pages;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = column_encode(column, rows, 0, ROWS, &options, &pages, &err);
        fault_disarm();
        column_pages_deinit(&pages);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st != LMN_OK) /* otherwise a smaller block was to be had */
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
}

static void check_decode(const struct column *column, const struct ArrowArray *rows)
{
    struct column_pages pages;
    struct lmn_error err = { 0 };
    int64_t before;

    CHECK_STATUS(column_encode(column, rows, 0, ROWS, &options, &pages, &err), LMN_OK, &err);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        struct ArrowArray back;
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = column_decode(column, &pages, 0, ROWS, &back, &err);
        fault_disarm();
        if (st == LMN_OK) {
            CHECK(column_same(column->layout, rows, 0, &back, 0, ROWS));
            back.release(&back);
        } else {
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
            CHECK(back.release == NULL);
        }
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
    }
    column_pages_deinit(&pages);
}

static void for_every_type(void (*check)(const struct column *, const struct ArrowArray *))
{
    for (int t = 0; t < TYPES; t++) {
        for (int s = 0; s < STYLES; s++) {
            struct column column;
            struct ArrowArray rows;

            column_init(&column, types[t], false);
            column_random(types[t], &styles[s], ROWS, (uint64_t)s, &rows);
            check(&column, &rows);
            rows.release(&rows);
            CHECK_EQ(live_allocations(), 0);
        }
    }
}

static void test_page__encode_faults(void **state)
{
    (void)state;
    for_every_type(check_encode);
}

static void test_page__decode_faults(void **state)
{
    (void)state;
    for_every_type(check_decode);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_page__encode_faults),
        cmocka_unit_test(test_page__decode_faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
