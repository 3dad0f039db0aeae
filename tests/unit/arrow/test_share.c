/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a shared array: their values, their lives, what they hold when memory runs out. */
#include <string.h>

#include "arrays.h"
#include "arrow/share.h"
#include "check.h"

enum { ROWS = 200 };

static struct sample sample;

static int setup(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 3);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

/* Every column of the sample, sliced, has the values that it has in the whole. */
static void test_share__parts_hold_their_values(void **state)
{
    struct ArrowArray copy, part;
    struct lmn__share *share;
    const struct ArrowArray *whole;

    (void)state;
    sample_rows(ROWS, 3, &copy);
    CHECK_OK(lmn__share_new(test_env(), &copy, &share, NULL));
    CHECK(copy.release == NULL);
    whole = lmn__share_array(share);
    for (int i = 0; i < sample_column_count(); i++) {
        const struct ArrowArray *column = whole->children[i];

        CHECK_OK(lmn__share_part(share, column, 50, 30, NULL, &part, NULL));
        CHECK_EQ(part.length, 30);
        CHECK(same_slots(sample.schema.children[i], &part, 0, sample.rows.children[i], 50, 30));
        part.release(&part);
    }
    lmn__share_release(share);
    CHECK_EQ(live_allocations(), 0);
}

/* A part outlives the share; a child that is moved out outlives its parent. */
static void test_share__parts_live_on(void **state)
{
    struct ArrowArray copy, part, child = { 0 };
    struct lmn__share *share;
    int nested = -1;

    (void)state;
    sample_rows(ROWS, 3, &copy);
    CHECK_OK(lmn__share_new(test_env(), &copy, &share, NULL));
    for (int i = 0; i < sample_column_count(); i++) {
        if (lmn__share_array(share)->children[i]->n_children > 0)
            nested = i;
    }
    CHECK(nested >= 0);
    CHECK_OK(lmn__share_part(share, lmn__share_array(share)->children[nested], 0, ROWS, NULL, &part,
                             NULL));
    lmn__share_release(share);
    child = *part.children[0];
    part.children[0]->release = NULL;
    part.release(&part);
    CHECK(same_slots(sample.schema.children[nested]->children[0], &child, 0,
                     sample.rows.children[nested]->children[0], 0, 20));
    child.release(&child);
    CHECK_EQ(live_allocations(), 0);
}

static void test_share__another_validity(void **state)
{
    struct ArrowArray copy, part;
    struct lmn__share *share;
    struct lmn__block *validity;

    (void)state;
    sample_rows(ROWS, 3, &copy);
    CHECK_OK(lmn__share_new(test_env(), &copy, &share, NULL));
    CHECK_OK(lmn__block_new(test_env()->pool, ROWS / 8, &validity, NULL));
    memset(validity->data, 0x0f, ROWS / 8);
    CHECK_OK(
        lmn__share_part(share, lmn__share_array(share)->children[0], 8, 16, validity, &part, NULL));
    lmn__block_release(validity);
    CHECK_EQ(part.null_count, 8);
    lmn__share_release(share);
    part.release(&part);
    CHECK_EQ(live_allocations(), 0);
}

static void test_share__bytes(void **state)
{
    uint64_t bytes = lmn__array_bytes(&sample.rows, &sample.schema);
    struct ArrowArray copy, part;
    struct lmn__share *share;
    uint64_t half = 0;

    (void)state;
    CHECK(bytes > ROWS * 8);
    sample_rows(ROWS, 3, &copy);
    CHECK_OK(lmn__share_new(test_env(), &copy, &share, NULL));
    for (int i = 0; i < sample_column_count(); i++) {
        CHECK_OK(lmn__share_part(share, lmn__share_array(share)->children[i], 0, ROWS / 2, NULL,
                                 &part, NULL));
        half += lmn__array_bytes(&part, sample.schema.children[i]);
        part.release(&part);
    }
    CHECK(half > bytes / 4 && half < bytes * 3 / 4);
    lmn__share_release(share);
}

static void test_share__faults(void **state)
{
    struct ArrowArray copy, part = { 0 };
    struct lmn__share *share;
    struct lmn_error err;
    int last = sample_column_count() - 1;

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        enum lmn_status st;

        sample_rows(ROWS, 3, &copy);
        fault_arm(FAULT_ALLOC, nth);
        st = lmn__share_new(test_env(), &copy, &share, &err);
        if (st == LMN_OK)
            st = lmn__share_part(share, lmn__share_array(share)->children[last], 0, 10, NULL, &part,
                                 &err);
        lmn__share_release(share);
        if (copy.release != NULL)
            copy.release(&copy);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            part.release(&part);
            break;
        }
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
        CHECK_EQ(live_allocations(), 0);
    }
    fault_disarm();
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_share__parts_hold_their_values),
        cmocka_unit_test(test_share__parts_live_on),
        cmocka_unit_test(test_share__another_validity),
        cmocka_unit_test(test_share__bytes),
        cmocka_unit_test(test_share__faults),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
