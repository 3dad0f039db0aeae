/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows in another order: any order, rows twice and not at all, of every type.
 */
#include "arrow/gather.h"
#include "check.h"
#include "columns.h"

static const struct lmn__layout *const types[] = {
    NOTHING,
    FIXED(1),
    FIXED(8),
    FIXED(32),
    FIXED(64),
    FIXED(40),
    FIXED(0),
    VARIABLE(32),
    VARIABLE(64),
    LIST(32, VARIABLE(32)),
    LIST(64, LIST(32, STRUCT(FIXED(1)))),
    FIXED_LIST(3, FIXED(16)),
    FIXED_LIST(2, FIXED_LIST(5, FIXED(1))),
    FIXED_LIST(2, STRUCT(VARIABLE(32))),
    PAIR(FIXED(8), PAIR(VARIABLE(32), LIST(32, FIXED(32)))),
    DICTIONARY(8, 128, VARIABLE(32)),
    LIST(32, DICTIONARY(32, INT32_MAX, FIXED(64))),
};

enum { TYPES = sizeof types / sizeof types[0], ROWS = 150, WANTED = 200 };

static const struct column_style style = { .null_one_in = 4, .full_null_lists = true };

static void check_gather(const struct lmn__layout *type, const struct ArrowArray *array,
                         const uint64_t *index, uint64_t count)
{
    struct ArrowArray rows;
    struct lmn_error err;

    CHECK_STATUS(lmn__array_gather(test_env(), type, array, index, count, &rows, &err), LMN_OK,
                 &err);
    CHECK_EQ(rows.length, count);
    for (uint64_t i = 0; i < count; i++)
        CHECK(column_same(type, array, index[i], &rows, i, 1));
    rows.release(&rows);
}

static void test_gather__any_order(void **state)
{
    uint64_t index[WANTED], seed = 1;

    (void)state;
    for (int t = 0; t < TYPES; t++) {
        struct ArrowArray array;

        column_random(types[t], &style, ROWS, (uint64_t)t, &array);
        for (int i = 0; i < WANTED; i++)
            index[i] = test_random(&seed) % ROWS;
        check_gather(types[t], &array, index, WANTED);
        check_gather(types[t], &array, index, 1);
        check_gather(types[t], &array, index, 0);
        array.release(&array);
        CHECK_EQ(live_allocations(), 0);
    }
}

static void test_gather__of_slices(void **state)
{
    uint64_t index[WANTED], seed = 2;

    (void)state;
    for (int t = 0; t < TYPES; t++) {
        struct ArrowArray array, slice;

        column_random(types[t], &style, ROWS, (uint64_t)t, &array);
        slice = array;
        slice.offset = 21;
        slice.length = 100;
        slice.null_count = -1;
        for (int i = 0; i < WANTED; i++)
            index[i] = test_random(&seed) % 100;
        check_gather(types[t], &slice, index, WANTED);
        array.release(&array);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void test_gather__without_nulls(void **state)
{
    static const struct column_style full = { 0 };
    const uint64_t index[] = { 3, 1, 1, 0, 4 };

    (void)state;
    for (int t = 0; t < TYPES; t++) {
        struct ArrowArray array;

        column_random(types[t], &full, 5, (uint64_t)t, &array);
        check_gather(types[t], &array, index, 5);
        array.release(&array);
    }
    CHECK_EQ(live_allocations(), 0);
}

/* Rows of three arrays: with nulls, without, and a slice; and no rows. */
static void test_gather__of_several(void **state)
{
    enum { ARRAYS = 3 };
    static const struct column_style full = { 0 };
    uint64_t index[WANTED], seed = 3;
    uint32_t part[WANTED];

    (void)state;
    for (int t = 0; t < TYPES; t++) {
        struct ArrowArray array[ARRAYS], rows;
        const struct ArrowArray *all[ARRAYS] = { &array[0], &array[1], &array[2] };
        struct lmn_error err;

        for (int k = 0; k < ARRAYS; k++)
            column_random(types[t], k == 1 ? &full : &style, ROWS, (uint64_t)(t * 7 + k),
                          &array[k]);
        array[2].offset = 13;
        array[2].length = 90;
        array[2].null_count = -1;
        for (int i = 0; i < WANTED; i++) {
            part[i] = (uint32_t)(test_random(&seed) % ARRAYS);
            index[i] = test_random(&seed) % (uint64_t)array[part[i]].length;
        }
        CHECK_STATUS(
            lmn__arrays_gather(test_env(), types[t], all, ARRAYS, part, index, WANTED, &rows, &err),
            LMN_OK, &err);
        for (uint64_t i = 0; i < WANTED; i++)
            CHECK(column_same(types[t], all[part[i]], index[i], &rows, i, 1));
        rows.release(&rows);
        CHECK_STATUS(
            lmn__arrays_gather(test_env(), types[t], all, ARRAYS, part, index, 0, &rows, &err),
            LMN_OK, &err);
        CHECK_EQ(rows.length, 0);
        rows.release(&rows);
        for (int k = 0; k < ARRAYS; k++)
            array[k].release(&array[k]);
        CHECK_EQ(live_allocations(), 0);
    }
}

static void test_gather__faults(void **state)
{
    const uint64_t index[] = { 100, 7, 7, 149, 0 };
    struct lmn_error err;

    (void)state;
    for (int t = 0; t < TYPES; t++) {
        struct ArrowArray array;
        int64_t before;

        column_random(types[t], &style, ROWS, 3, &array);
        before = live_allocations();
        for (uint64_t nth = 1;; nth++) {
            struct ArrowArray rows;
            enum lmn_status st;

            fault_arm(FAULT_ALLOC, nth);
            st = lmn__array_gather(test_env(), types[t], &array, index, 5, &rows, &err);
            fault_disarm();
            CHECK_EQ(rows.release != NULL, st == LMN_OK);
            if (rows.release != NULL)
                rows.release(&rows);
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
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_gather__any_order),     cmocka_unit_test(test_gather__of_slices),
        cmocka_unit_test(test_gather__without_nulls), cmocka_unit_test(test_gather__of_several),
        cmocka_unit_test(test_gather__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
