/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels: threads
 */
#include <stdlib.h>
#include <string.h>

#include "base/math.h"
#include "base/pool.h"
#include "check.h"
#include "os/thread.h"

enum { MIB = 1 << 20, THREADS = 4 };

/*
 * Regions that are counted, not mapped: no more than REGION_BYTES of one are there, however many
 * bytes it stands for. For tests that do not touch what they get.
 */
enum { REGION_BYTES = 64 };

static int64_t mapped_bytes;
static int64_t region_count;

static void *count_map(size_t bytes)
{
    if (fault_step(FAULT_ALLOC))
        return NULL;
    mapped_bytes += (int64_t)bytes;
    region_count++;
    return aligned_alloc(64, REGION_BYTES);
}

static void count_unmap(void *region, size_t bytes)
{
    mapped_bytes -= (int64_t)bytes;
    region_count--;
    free(region);
}

static struct lmn__pool *counted_pool(uint64_t bytes_max, uint64_t idle_bytes_max)
{
    struct lmn__pool_options options = { .allocator = test_env()->allocator,
                                         .region_map = count_map,
                                         .region_unmap = count_unmap,
                                         .bytes_max = bytes_max,
                                         .idle_bytes_max = idle_bytes_max };
    struct lmn__pool *pool;
    struct lmn_error err;
    enum lmn_status st = lmn__pool_new(&options, &pool, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return pool;
}

static struct lmn__block *take(struct lmn__pool *pool, size_t bytes)
{
    struct lmn__block *block;
    struct lmn_error err;
    enum lmn_status st = lmn__block_new(pool, bytes, &block, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return block;
}

static void refuse(struct lmn__pool *pool, size_t bytes)
{
    struct lmn__block *block = (void *)pool;
    struct lmn_error err;
    enum lmn_status st = lmn__block_new(pool, bytes, &block, &err);

    CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    CHECK(block == NULL);
}

static void check_all_back(void)
{
    CHECK_EQ(mapped_bytes, 0);
    CHECK_EQ(region_count, 0);
    CHECK_EQ(live_allocations(), 0);
}

static void check_size(struct lmn__pool *pool, size_t bytes)
{
    struct lmn__block *block = take(pool, bytes), *again;
    size_t cap = block->cap;

    CHECK(cap >= bytes);
    CHECK(bytes < 4096 ? cap == bytes : cap - bytes <= bytes / 4);
    CHECK_EQ((uintptr_t)block->data % LMN__BLOCK_ALIGN, 0);
    CHECK_EQ(lmn__pool_bytes(pool), cap);
    lmn__block_release(block);
    CHECK_EQ(lmn__pool_bytes(pool), 0);
    again = take(pool, cap); /* a class holds its own size */
    CHECK_EQ(again->cap, cap);
    lmn__block_release(again);
}

static void test_block__fits_around_every_power_of_two(void **state)
{
    (void)state;
    for (int keep = 0; keep < 2; keep++) {
        struct lmn__pool *pool = counted_pool(UINT64_MAX, keep ? UINT64_MAX / 2 : 0);

        check_size(pool, 0);
        for (uint32_t log = 0; log <= 42; log++) {
            size_t power = (size_t)1 << log;

            for (size_t quarter = 4; quarter <= 7; quarter++) {
                size_t bytes = power / 4 * quarter;

                check_size(pool, bytes - (bytes != 0));
                if (bytes <= (size_t)1 << 42)
                    check_size(pool, bytes);
                if (bytes < (size_t)1 << 42)
                    check_size(pool, bytes + 1);
                if (log == 42)
                    break;
            }
        }
        lmn__pool_release(pool);
        check_all_back();
    }
}

static void test_block__huge_requests_are_refused(void **state)
{
    struct lmn__pool *pool = counted_pool(UINT64_MAX, UINT64_MAX);
    struct lmn__block *block = take(pool, 100);

    (void)state;
    refuse(pool, ((size_t)1 << 42) + 1);
    for (uint32_t log = 43; log < 64; log++) {
        refuse(pool, (size_t)1 << log);
        refuse(pool, ((size_t)1 << log) - 1);
    }
    refuse(pool, SIZE_MAX);
    refuse(pool, SIZE_MAX - 63);
    CHECK_EQ(lmn__pool_bytes(pool), 100);
    lmn__block_release(block);
    lmn__pool_release(pool);
    check_all_back();
}

static void test_block__limit_counts_what_is_out(void **state)
{
    struct lmn__pool *pool = counted_pool(10 * MIB, 0);
    struct lmn__block *one = take(pool, 6 * MIB), *two = take(pool, 4 * MIB);

    (void)state;
    CHECK_EQ(lmn__pool_bytes(pool), 10 * MIB);
    refuse(pool, 1);
    refuse(pool, 10 * MIB + 1);
    lmn__block_release(two);
    refuse(pool, 5 * MIB);
    CHECK_EQ(lmn__pool_bytes(pool), 6 * MIB);
    two = take(pool, 2 * MIB);
    CHECK_EQ(lmn__pool_bytes_peak(pool), 10 * MIB);
    lmn__block_release(one);
    lmn__block_release(two);
    CHECK_EQ(lmn__pool_bytes(pool), 0);
    CHECK_EQ(lmn__pool_bytes_peak(pool), 10 * MIB);
    lmn__pool_release(pool);
    check_all_back();
}

static void test_block__counted_until_last_reference(void **state)
{
    struct lmn__pool *pool = counted_pool(MIB, 0);
    struct lmn__block *block = take(pool, 1000), *same = lmn__block_acquire(block);

    (void)state;
    CHECK(same == block);
    memset(block->data, 7, 1000);
    lmn__block_release(block);
    CHECK_EQ(same->data[999], 7);
    CHECK_EQ(lmn__pool_bytes(pool), 1000);
    lmn__block_release(same);
    lmn__block_release(NULL);
    CHECK_EQ(lmn__pool_bytes(pool), 0);
    lmn__pool_release(pool);
    check_all_back();
}

static void test_block__outlives_its_pool(void **state)
{
    size_t sizes[] = { 100, 5000, 3 * MIB };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct lmn__pool *pool = counted_pool(10 * MIB, 10 * MIB);
        struct lmn__block *block = take(pool, sizes[i]);

        lmn__pool_release(pool);
        CHECK(live_allocations() > 0);
        lmn__block_release(block);
        check_all_back();
    }
}

static void test_block__slab_places_do_not_overlap(void **state)
{
    struct lmn_env *env;
    struct lmn_env_options options = { .idle_bytes_max = 1 };
    struct lmn__block *block[900];
    uint64_t seed = 5;

    (void)state;
    CHECK_OK(lmn_env_new(&options, &env, NULL));
    for (size_t i = 0; i < 900; i++) {
        block[i] = take(env->pool, 4096 + test_random(&seed) % 30000);
        memset(block[i]->data, (int)i, block[i]->cap);
    }
    for (size_t round = 0; round < 2000; round++) {
        size_t i = test_random(&seed) % 900;

        for (size_t k = 0; k < block[i]->cap; k += 61)
            CHECK_EQ(block[i]->data[k], (uint8_t)i);
        lmn__block_release(block[i]);
        block[i] = take(env->pool, 4096 + test_random(&seed) % 30000);
        memset(block[i]->data, (int)i, block[i]->cap);
    }
    for (size_t i = 0; i < 900; i++) {
        for (size_t k = 0; k < block[i]->cap; k++)
            CHECK_EQ(block[i]->data[k], (uint8_t)i);
        lmn__block_release(block[i]);
    }
    CHECK_EQ(lmn_env_data_bytes(env), 0);
    lmn_env_release(env);
}

static void test_pool__keeps_idle_memory_up_to_its_limit(void **state)
{
    struct lmn__pool *pool = counted_pool(UINT64_MAX, 8 * MIB);
    struct lmn__block *block[4], *slab;

    (void)state;
    for (int i = 0; i < 4; i++)
        block[i] = take(pool, 3 * MIB);
    CHECK_EQ(region_count, 4);
    for (int i = 0; i < 4; i++)
        lmn__block_release(block[i]);
    CHECK_EQ(mapped_bytes, 6 * MIB);
    block[0] = take(pool, 3 * MIB); /* comes from the idle ones */
    CHECK_EQ(mapped_bytes, 6 * MIB);
    slab = take(pool, 5000);
    CHECK_EQ(mapped_bytes, 10 * MIB);
    lmn__block_release(slab); /* 3 MiB are idle, a slab of 4 MiB still fits */
    CHECK_EQ(mapped_bytes, 10 * MIB);
    lmn__block_release(block[0]); /* 10 MiB would be idle */
    CHECK_EQ(mapped_bytes, 7 * MIB);
    for (int i = 0; i < 5; i++) {
        slab = take(pool, 5000);
        lmn__block_release(slab);
        CHECK_EQ(mapped_bytes, 7 * MIB);
    }
    lmn__pool_release(pool);
    check_all_back();
}

static void test_pool__full_slab_comes_back(void **state)
{
    struct lmn__pool *pool = counted_pool(UINT64_MAX, 0);
    struct lmn__block *block[12];

    (void)state;
    for (int i = 0; i < 12; i++)
        block[i] = take(pool, MIB); /* four to a slab */
    CHECK_EQ(region_count, 3);
    lmn__block_release(block[1]);
    lmn__block_release(block[6]);
    block[1] = take(pool, MIB);
    block[6] = take(pool, MIB);
    CHECK_EQ(region_count, 3);
    for (int i = 0; i < 12; i++)
        lmn__block_release(block[i]);
    CHECK_EQ(region_count, 0);
    lmn__pool_release(pool);
    check_all_back();
}

static void test_block__faults_leave_nothing(void **state)
{
    size_t sizes[] = { 0, 100, 4096, 100000, MIB, 3 * MIB };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (uint64_t nth = 1;; nth++) {
            struct lmn__pool *pool = counted_pool(UINT64_MAX, 64 * MIB);
            struct lmn__block *block;
            struct lmn_error err = { 0 };
            enum lmn_status st;
            bool fired;

            fault_arm(FAULT_ALLOC, nth);
            st = lmn__block_new(pool, sizes[i], &block, &err);
            fired = fault_fired();
            fault_disarm();
            CHECK_STATUS(st, fired ? LMN_E_NO_MEMORY : LMN_OK, &err);
            CHECK_EQ(block == NULL, fired);
            CHECK_EQ(lmn__pool_bytes(pool), fired ? 0 : block->cap);
            lmn__block_release(block);
            lmn__pool_release(pool);
            check_all_back();
            if (!fired)
                break;
        }
    }
}

static void test_pool__fault_at_start(void **state)
{
    struct lmn__pool_options options = { .allocator = test_env()->allocator };
    struct lmn__pool *pool = (void *)&options;
    struct lmn_error err;
    enum lmn_status st;

    (void)state;
    fault_arm(FAULT_ALLOC, 1);
    st = lmn__pool_new(&options, &pool, &err);
    fault_disarm();
    CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    CHECK(pool == NULL);
    lmn__pool_release(NULL);
}

/* Each thread has at most one block of at most a quarter of the limit: none may be refused. */
static void take_and_give(void *context)
{
    struct lmn_env *env = context;
    uint64_t seed = (uintptr_t)&seed;

    for (int i = 0; i < 3000; i++) {
        size_t bytes = test_random(&seed) % (i % 10 == 0 ? 4 * MIB : 60000);
        struct lmn__block *block = take(env->pool, bytes);

        if (bytes != 0) {
            block->data[bytes - 1] = block->data[0] = 1;
            refuse(env->pool, THREADS * 4 * MIB); /* no room for it beside the block */
        }
        lmn__block_release(block);
    }
}

static void test_pool__threads_do_not_refuse_each_other(void **state)
{
    struct lmn_env_options options = { .data_bytes_max = THREADS * 4 * MIB,
                                       .idle_bytes_max = 6 * MIB };
    struct lmn__thread thread[THREADS];
    struct lmn_env *env;

    (void)state;
    CHECK_OK(lmn_env_new(&options, &env, NULL));
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(lmn__thread_start(env, take_and_give, env, &thread[i], NULL));
    for (int i = 0; i < THREADS; i++)
        lmn__thread_join(&thread[i]);
    CHECK_EQ(lmn_env_data_bytes(env), 0);
    CHECK(lmn_env_data_bytes_peak(env) <= options.data_bytes_max);
    lmn_env_release(env);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_block__fits_around_every_power_of_two),
        cmocka_unit_test(test_block__huge_requests_are_refused),
        cmocka_unit_test(test_block__limit_counts_what_is_out),
        cmocka_unit_test(test_block__counted_until_last_reference),
        cmocka_unit_test(test_block__outlives_its_pool),
        cmocka_unit_test(test_block__slab_places_do_not_overlap),
        cmocka_unit_test(test_pool__keeps_idle_memory_up_to_its_limit),
        cmocka_unit_test(test_pool__full_slab_comes_back),
        cmocka_unit_test(test_block__faults_leave_nothing),
        cmocka_unit_test(test_pool__fault_at_start),
        cmocka_unit_test(test_pool__threads_do_not_refuse_each_other),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
