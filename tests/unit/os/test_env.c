/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/env.h"
#include "base/pool.h"
#include "check.h"
#include "os/processor.h"
#include "os/region.h"
#include "os/thread.h"

enum { MIB = 1 << 20 };

/* The first case: no default environment is there yet. */
static void test_env__default_counts_before_its_first_use(void **state)
{
    (void)state;
    CHECK_EQ(lmn_env_data_bytes(NULL), 0);
    CHECK_EQ(lmn_env_data_bytes_peak(NULL), 0);
}

static void test_env__null_is_the_default(void **state)
{
    struct lmn_env *env, *again;
    struct lmn__block *block;
    struct lmn_error err;

    (void)state;
    CHECK(lmn_env_acquire(NULL) == NULL);
    lmn_env_release(NULL);
    CHECK_OK(lmn__env_resolve(NULL, &env, &err));
    CHECK_OK(lmn__env_resolve(NULL, &again, &err));
    CHECK(env != NULL && env == again);
    CHECK_OK(lmn__block_new(env->pool, 5000, &block, &err));
    CHECK_EQ(lmn_env_data_bytes(NULL), block->cap);
    lmn__block_release(block);
    CHECK_EQ(lmn_env_data_bytes(NULL), 0);
    CHECK(lmn_env_data_bytes_peak(NULL) >= 5000);
    for (int i = 0; i < 10; i++)
        lmn_env_release(env); /* it lives as long as the process */
    CHECK_EQ(lmn_env_data_bytes(env), 0);
}

static void test_env__zeroed_options_are_the_defaults(void **state)
{
    struct lmn_env_options options = { 0 };
    struct lmn_env *env;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn_env_new(&options, &env, &err));
    CHECK_EQ(env->threads, lmn__processor_count());
    CHECK_EQ(env->metadata_bytes_max, 1 << 30);
    lmn_env_release(env);
    CHECK_OK(lmn_env_new(NULL, &env, &err));
    lmn_env_release(env);
}

static void test_env__options_are_taken(void **state)
{
    struct lmn_env_options options = { .data_bytes_max = 10 * MIB,
                                       .metadata_bytes_max = 5000,
                                       .threads = 7 };
    struct lmn__block *block;
    struct lmn_env *env;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn_env_new(&options, &env, &err));
    CHECK_EQ(env->threads, 7);
    CHECK_EQ(env->metadata_bytes_max, 5000);
    CHECK_STATUS(lmn__block_new(env->pool, 11 * MIB, &block, &err), LMN_E_NO_MEMORY, &err);
    CHECK_OK(lmn__block_new(env->pool, 10 * MIB, &block, &err));
    CHECK_EQ(lmn_env_data_bytes(env), 10 * MIB);
    lmn__block_release(block);
    CHECK_EQ(lmn_env_data_bytes(env), 0);
    CHECK_EQ(lmn_env_data_bytes_peak(env), 10 * MIB);
    lmn_env_release(env);
}

static void test_env__data_outlives_it(void **state)
{
    struct lmn_env_options options = { .allocator = &test_env()->allocator };
    struct lmn__block *block;
    struct lmn_env *env;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn_env_new(&options, &env, &err));
    CHECK_OK(lmn__block_new(env->pool, 3 * MIB, &block, &err));
    CHECK(lmn_env_acquire(env) == env);
    lmn_env_release(env);
    lmn_env_release(env);
    memset(block->data, 1, 3 * MIB);
    lmn__block_release(block);
    CHECK_EQ(live_allocations(), 0);
}

static void test_env__faults_leave_nothing(void **state)
{
    struct lmn_env_options options = { .allocator = &test_env()->allocator };

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_env *env = (void *)&options;
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn_env_new(&options, &env, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK_STATUS(st, fired ? LMN_E_NO_MEMORY : LMN_OK, &err);
        CHECK_EQ(env == NULL, fired);
        lmn_env_release(env);
        CHECK_EQ(live_allocations(), 0);
        if (!fired)
            break;
    }
}

static void test_env__heap_calls(void **state)
{
    struct lmn_env *env = test_env();
    uint8_t *bytes;
    char *text;

    (void)state;
    CHECK(lmn__calloc(env, SIZE_MAX / 2, 3) == NULL);
    CHECK(lmn__strndup(env, "x", SIZE_MAX) == NULL);
    bytes = lmn__calloc(env, 10, 10);
    for (int i = 0; i < 100; i++)
        CHECK_EQ(bytes[i], 0);
    bytes = lmn__realloc(env, bytes, 0);
    CHECK(bytes != NULL);
    lmn__free(env, bytes);
    lmn__free(env, NULL);
    bytes = lmn__alloc(env, 0);
    CHECK(bytes != NULL);
    lmn__free(env, bytes);
    text = lmn__strndup(env, NULL, 0);
    CHECK_STR(text, "");
    lmn__free(env, text);
    text = lmn__strndup(env, "hello", 3);
    CHECK_STR(text, "hel");
    lmn__free(env, text);
    CHECK_EQ(live_allocations(), 0);
}

static void test_region__is_zeroed_and_aligned(void **state)
{
    size_t sizes[] = { 1, 4096, 2 * MIB - 1, 2 * MIB, 5 * MIB + 1 };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint8_t *region = lmn__region_map(sizes[i]);

        CHECK(region != NULL);
        CHECK_EQ((uintptr_t)region % (sizes[i] >= 2 * MIB ? 2 * MIB : 4096), 0);
        for (size_t k = 0; k < sizes[i]; k += 511)
            CHECK_EQ(region[k], 0);
        memset(region, 1, sizes[i]);
        lmn__region_unmap(region, sizes[i]);
    }
    CHECK(lmn__region_map(SIZE_MAX) == NULL);
    CHECK(lmn__region_map(SIZE_MAX - MIB) == NULL);
    CHECK(lmn__region_map((size_t)1 << 50) == NULL);
}

static void test_processor__count_is_positive(void **state)
{
    (void)state;
    CHECK(lmn__processor_count() >= 1);
}

static void resolve_and_count(void *context)
{
    struct lmn_env *env;

    CHECK_OK(lmn__env_resolve(NULL, &env, NULL));
    CHECK_EQ(lmn_env_data_bytes(NULL), 0);
    *(struct lmn_env **)context = env;
}

static void test_env__threads_share_the_default(void **state)
{
    struct lmn__thread thread[4];
    struct lmn_env *env[4];
    struct lmn_error err;

    (void)state;
    for (int i = 0; i < 4; i++)
        CHECK_OK(lmn__thread_start(test_env(), resolve_and_count, &env[i], &thread[i], &err));
    for (int i = 0; i < 4; i++) {
        lmn__thread_join(&thread[i]);
        CHECK(env[i] == env[0]);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_env__default_counts_before_its_first_use),
        cmocka_unit_test(test_env__null_is_the_default),
        cmocka_unit_test(test_env__zeroed_options_are_the_defaults),
        cmocka_unit_test(test_env__options_are_taken),
        cmocka_unit_test(test_env__data_outlives_it),
        cmocka_unit_test(test_env__faults_leave_nothing),
        cmocka_unit_test(test_env__heap_calls),
        cmocka_unit_test(test_region__is_zeroed_and_aligned),
        cmocka_unit_test(test_processor__count_is_positive),
        cmocka_unit_test(test_env__threads_share_the_default),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
