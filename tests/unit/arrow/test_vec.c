/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vectors: growth, the slack behind them, sharing of blocks, limits.
 */
#include <string.h>

#include "arrow/vec.h"
#include "check.h"

static void test_vec__grows_and_keeps_its_bytes(void **state)
{
    struct lmn__pool *pool = test_env()->pool;
    struct lmn__vec vec = { 0 };

    (void)state;
    for (uint32_t i = 0; i < 20000; i++) {
        CHECK_OK(lmn__vec_put(&vec, pool, &i, sizeof i, NULL));
        CHECK(vec.block->cap >= vec.len + LMN__VEC_SLACK);
    }
    CHECK_EQ(vec.len, 80000);
    for (uint32_t i = 0; i < 20000; i++)
        CHECK_BYTES(vec.data + (size_t)i * 4, &i, 4);
    lmn__vec_deinit(&vec);
    CHECK_EQ(vec.len, 0);
    lmn__vec_deinit(&vec);
    CHECK_EQ(live_allocations(), 0);
}

static void test_vec__slack_may_be_overwritten(void **state)
{
    struct lmn__pool *pool = test_env()->pool;
    struct lmn__vec vec = { 0 };
    uint8_t *at;

    (void)state;
    for (size_t size = 1; size < 5000; size += 613) {
        CHECK_OK(lmn__vec_extend(&vec, pool, size, &at, NULL));
        memset(at, 7, size + LMN__VEC_SLACK);
    }
    lmn__vec_deinit(&vec);
}

static void test_vec__of_nothing(void **state)
{
    struct lmn__pool *pool = test_env()->pool;
    struct lmn__vec vec = { 0 };
    uint8_t *at;

    (void)state;
    CHECK_OK(lmn__vec_put(&vec, pool, NULL, 0, NULL));
    CHECK_EQ(vec.len, 0);
    CHECK_OK(lmn__vec_extend(&vec, pool, 0, &at, NULL));
    CHECK(at != NULL);
    lmn__vec_deinit(&vec);
    CHECK_EQ(live_allocations(), 0);
}

/* Sizes that overflow, or go over the pool's limit, leave the vector as it is. */
static void test_vec__limits(void **state)
{
    static const size_t sizes[] = { SIZE_MAX, SIZE_MAX - LMN__VEC_SLACK, SIZE_MAX / 2,
                                    (size_t)1 << 40, ((size_t)1 << 30) + 1 };
    struct lmn__pool *pool = test_env()->pool;
    struct lmn__vec vec = { 0 };
    struct lmn_error err;
    uint8_t *at;

    (void)state;
    CHECK_OK(lmn__vec_put(&vec, pool, "keep", 4, NULL));
    for (int i = 0; i < 5; i++) {
        CHECK_STATUS(lmn__vec_reserve(&vec, pool, sizes[i], &err), LMN_E_NO_MEMORY, &err);
        CHECK_STATUS(lmn__vec_extend(&vec, pool, sizes[i], &at, &err), LMN_E_NO_MEMORY, &err);
        CHECK(at == NULL);
        CHECK_EQ(vec.len, 4);
        CHECK_BYTES(vec.data, "keep", 4);
    }
    lmn__vec_deinit(&vec);
    CHECK_EQ(live_allocations(), 0);
}

/* Near the limit, twice the size is not to be had; what is needed is. */
static void test_vec__grows_by_less_near_the_limit(void **state)
{
    const struct lmn_env_options options = { .data_bytes_max = 3 << 20, .threads = 1 };
    struct lmn__vec vec = { 0 };
    struct lmn_env *env;
    uint8_t *at;

    (void)state;
    CHECK_OK(lmn_env_new(&options, &env, NULL));
    CHECK_OK(lmn__vec_extend(&vec, env->pool, 1 << 20, &at, NULL));
    CHECK_OK(lmn__vec_extend(&vec, env->pool, 256 << 10, &at, NULL));
    CHECK_EQ(vec.len, (1 << 20) + (256 << 10));
    CHECK_EQ(lmn__vec_extend(&vec, env->pool, 2 << 20, &at, NULL), LMN_E_NO_MEMORY);
    lmn__vec_deinit(&vec);
    lmn_env_release(env);
}

static void test_vec__faults(void **state)
{
    struct lmn_error err;

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn__vec vec = { 0 };
        enum lmn_status st = LMN_OK;

        fault_arm(FAULT_ALLOC, nth);
        for (int i = 0; st == LMN_OK && i < 500; i++)
            st = lmn__vec_put(&vec, test_env()->pool, "a kilobyte, soon", 16, &err);
        fault_disarm();
        lmn__vec_deinit(&vec);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st != LMN_OK)
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_vec__grows_and_keeps_its_bytes),
        cmocka_unit_test(test_vec__slack_may_be_overwritten),
        cmocka_unit_test(test_vec__of_nothing),
        cmocka_unit_test(test_vec__limits),
        cmocka_unit_test(test_vec__grows_by_less_near_the_limit),
        cmocka_unit_test(test_vec__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
