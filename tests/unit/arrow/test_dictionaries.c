/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dictionaries of plain values: each value once, nulls without one, no more than indices can tell
 * apart. Those of several arrays are tested with what gathers them.
 */
#include "arrow/dictionaries.h"
#include "arrow/view.h"
#include "base/math.h"
#include "check.h"
#include "columns.h"

enum { ROWS = 300 };

static const struct column_style few = { .null_one_in = 4, .distinct = 20, .value_bits = 4 };

/* Are the values those of the plain array, and is none of the dictionary there twice? */
static void check_made(const struct lmn__layout *type, const struct ArrowArray *plain,
                       const struct ArrowArray *made)
{
    const struct ArrowArray *dictionary = made->dictionary;
    uint32_t width = type->bits / 8;

    CHECK_EQ(made->length, plain->length);
    for (uint64_t i = 0; i < (uint64_t)plain->length; i++) {
        uint64_t index = lmn__load_uint((const uint8_t *)made->buffers[1] + i * width, width);

        CHECK_EQ(lmn__view_is_null(made, i), lmn__view_is_null(plain, i));
        if (!lmn__view_is_null(plain, i))
            CHECK(column_same(type->child[0], plain, i, dictionary, index, 1));
    }
    CHECK(dictionary->length <= 20);
}

static void test_dictionary_make__values(void **state)
{
    const struct lmn__layout *const types[] = { DICTIONARY(8, 128, VARIABLE(32)),
                                                DICTIONARY(32, INT32_MAX, VARIABLE(64)),
                                                DICTIONARY(16, 32768, FIXED(64)),
                                                DICTIONARY(8, 128, FIXED(1)) };
    struct lmn_error err;

    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        struct ArrowArray plain, slice, made;

        column_random(types[t]->child[0], &few, ROWS, t, &plain);
        slice = plain;
        for (int i = 0; i < 2; i++) {
            CHECK_STATUS(lmn__dictionary_make(test_env(), types[t], &slice, &made, &err), LMN_OK,
                         &err);
            check_made(types[t], &slice, &made);
            made.release(&made);
            slice.offset = 21;
            slice.length = 100;
            slice.null_count = -1;
        }
        plain.release(&plain);
    }
    CHECK_EQ(live_allocations(), 0);
}

static void test_dictionary_make__more_values_than_indices(void **state)
{
    static const struct column_style all_sizes = { 0 };
    struct ArrowArray plain, made;
    struct lmn_error err;

    (void)state;
    column_random(FIXED(64), &all_sizes, ROWS, 1, &plain);
    CHECK_STATUS(
        lmn__dictionary_make(test_env(), DICTIONARY(8, 128, FIXED(64)), &plain, &made, &err),
        LMN_E_INVALID, &err);
    plain.release(&plain);
    CHECK_EQ(live_allocations(), 0);
}

static void test_dictionary_make__faults(void **state)
{
    const struct lmn__layout *type = DICTIONARY(8, 128, VARIABLE(32));
    struct ArrowArray plain, made;
    struct lmn_error err;
    int64_t before;

    (void)state;
    column_random(type->child[0], &few, ROWS, 3, &plain);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__dictionary_make(test_env(), type, &plain, &made, &err);
        fault_disarm();
        CHECK_EQ(made.release != NULL, st == LMN_OK);
        if (made.release != NULL)
            made.release(&made);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st != LMN_OK)
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
    plain.release(&plain);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_dictionary_make__values),
        cmocka_unit_test(test_dictionary_make__more_values_than_indices),
        cmocka_unit_test(test_dictionary_make__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
