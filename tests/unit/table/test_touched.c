/* SPDX-License-Identifier: Apache-2.0 */
/* Fragments by id, and rows gathered from them, in manifests of any order. */
#include <string.h>

#include "stores.h"
#include "table/touched.h"

enum { FRAGMENTS = 300, ROWS = 40 };

/* A manifest of FRAGMENTS fragments with the ids 0, 3, 6 ... */
struct made {
    struct lmn__manifest manifest;
    struct lmn__span item[FRAGMENTS];
    struct lmn__buf buf[FRAGMENTS];
};

static struct made *make(bool reversed)
{
    struct made *made = lmn__calloc(test_env(), 1, sizeof *made);

    for (uint64_t i = 0; i < FRAGMENTS; i++) {
        struct lmn__pb_fragment fragment = { .id = 3 * (reversed ? FRAGMENTS - 1 - i : i),
                                             .row_count = ROWS };

        lmn__buf_init(&made->buf[i], test_env(), 0);
        lmn__pb_encode(&lmn__pb_fragment_message, &fragment, &made->buf[i]);
        made->item[i] = (struct lmn__span){ made->buf[i].data, made->buf[i].len };
    }
    made->manifest.pb.version = 5;
    made->manifest.pb.fragments.item = made->item;
    made->manifest.pb.fragments.count = FRAGMENTS;
    return made;
}

static void made_free(struct made *made)
{
    for (uint64_t i = 0; i < FRAGMENTS; i++)
        lmn__buf_deinit(&made->buf[i]);
    lmn__free(test_env(), made);
}

static void test_manifest__finds_fragments_in_any_order(void **state)
{
    (void)state;
    for (int reversed = 0; reversed < 2; reversed++) {
        struct made *made = make(reversed);
        struct lmn__arena arena;
        struct lmn_error err;
        uint64_t index;

        lmn__arena_init(&arena, test_env(), 0);
        for (uint64_t i = 0; i < FRAGMENTS; i++) {
            CHECK_OK(lmn__manifest_find(&made->manifest, 3 * i, &arena, &index, &err));
            CHECK_EQ(index, reversed ? FRAGMENTS - 1 - i : i);
        }
        CHECK_STATUS(lmn__manifest_find(&made->manifest, 4, &arena, &index, &err), LMN_E_NOT_FOUND,
                     &err);
        CHECK_HAS(err.message, "version 5 has no fragment 4");
        lmn__arena_deinit(&arena);
        made_free(made);
    }
}

static void test_touched__gathers_rows_in_any_order(void **state)
{
    struct made *made = make(false);
    struct lmn__touched_set set;
    struct lmn_error err;
    uint64_t seed = 9, rows = 0;
    bool there[FRAGMENTS][ROWS] = { 0 };

    (void)state;
    lmn__touched_init(&set, test_env(), &made->manifest);
    CHECK(!lmn__touched_has(&set, 0));
    for (int i = 0; i < 4000; i++) {
        uint64_t fragment = test_random(&seed) % (FRAGMENTS - 10), row = test_random(&seed) % ROWS;
        uint64_t address = 3 * fragment << 32 | row;

        rows += !there[fragment][row];
        there[fragment][row] = true;
        CHECK_OK(lmn__touched_add(&set, &address, 1, &err));
    }
    CHECK_EQ(set.row_count, rows);
    for (uint64_t fragment = 0; fragment < FRAGMENTS; fragment++) {
        uint64_t number = lmn__touched_number(&set, 3 * fragment);

        CHECK_EQ(number == set.count, fragment >= FRAGMENTS - 10);
        CHECK(number == set.count || set.item[number].fragment_id == 3 * fragment);
        for (uint64_t row = 0; row < ROWS; row++)
            CHECK_EQ(lmn__touched_has(&set, 3 * fragment << 32 | row), there[fragment][row]);
    }
    lmn__touched_deinit(&set);
    made_free(made);
}

static void test_touched__refuses_rows_that_are_not_there(void **state)
{
    struct made *made = make(false);
    uint64_t no_fragment = UINT64_C(1) << 32, no_row = UINT64_C(3) << 32 | ROWS;
    struct lmn__touched_set set;
    struct lmn_error err;

    (void)state;
    lmn__touched_init(&set, test_env(), &made->manifest);
    CHECK_STATUS(lmn__touched_add(&set, &no_fragment, 1, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn__touched_add(&set, &no_row, 1, &err), LMN_E_INVALID, &err);
    CHECK_EQ(set.row_count, 0);
    lmn__touched_deinit(&set);
    made_free(made);
}

static void test_touched__faults_leave_nothing(void **state)
{
    struct made *made = make(false);
    uint64_t address[FRAGMENTS], nth;
    int64_t before = live_allocations();

    (void)state;
    for (uint64_t i = 0; i < FRAGMENTS; i++)
        address[i] = 3 * i << 32;
    for (nth = 1;; nth += 1 + nth / 20) {
        struct lmn__touched_set set;
        struct lmn_error err;
        enum lmn_status st;

        lmn__touched_init(&set, test_env(), &made->manifest);
        fault_arm(FAULT_ALLOC, nth);
        st = lmn__touched_add(&set, address, FRAGMENTS, &err);
        lmn__touched_deinit(&set);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_OK(st);
            break;
        }
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
    fault_disarm();
    CHECK(nth > FRAGMENTS);
    made_free(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_manifest__finds_fragments_in_any_order),
        cmocka_unit_test(test_touched__gathers_rows_in_any_order),
        cmocka_unit_test(test_touched__refuses_rows_that_are_not_there),
        cmocka_unit_test(test_touched__faults_leave_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
