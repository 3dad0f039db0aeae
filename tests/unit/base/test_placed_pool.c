/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks in memory of the caller's: they lie there, what does not fit lies elsewhere, and all is
 * counted and put back.
 *
 * labels: threads
 */
#include <string.h>

#include "base/pool.h"
#include "slots.h"

enum { SLOT_BYTES = 1024, SLOT_COUNT = 4, THREADS = 4 };

/* Slots, and a pool over them; the other blocks are those of the test environment. */
struct subject {
    struct slots slots;
    struct lmn_env *env;
};

static void subject_make(struct subject *subject, size_t shift)
{
    struct lmn_memory memory;
    struct lmn_error err;

    slots_init(&subject->slots, SLOT_BYTES, SLOT_COUNT);
    subject->slots.shift = shift;
    memory = slots_memory(&subject->slots);
    CHECK_STATUS(lmn__env_new_placed(test_env(), &memory, &subject->env, &err), LMN_OK, &err);
}

static struct lmn__block *take(struct subject *subject, size_t bytes)
{
    struct lmn__block *block;
    struct lmn_error err;

    CHECK_STATUS(lmn__block_new(subject->env->pool, bytes, &block, &err), LMN_OK, &err);
    memset(block->data, 1, bytes);
    return block;
}

static void subject_free(struct subject *subject)
{
    lmn_env_release(subject->env);
    CHECK_EQ(slots_closed(&subject->slots), 1);
    slots_deinit(&subject->slots);
    CHECK_EQ(lmn_env_data_bytes(test_env()), 0);
    CHECK_EQ(live_allocations(), 0);
}

static void test_placed__blocks_lie_in_the_memory(void **state)
{
    struct lmn__block *block[SLOT_COUNT + 1];
    struct lmn__pool_placed placed;
    struct subject subject;

    (void)state;
    subject_make(&subject, 0);
    for (size_t i = 0; i <= SLOT_COUNT; i++) {
        block[i] = take(&subject, SLOT_BYTES - i);
        CHECK_EQ(slots_have(&subject.slots, block[i]->data), i < SLOT_COUNT);
        CHECK_EQ((uintptr_t)block[i]->data % LMN__BLOCK_ALIGN, 0);
    }
    CHECK_EQ(slots_used(&subject.slots), SLOT_COUNT);
    CHECK(lmn_env_data_bytes(test_env()) >= SLOT_COUNT * SLOT_BYTES); /* counted with the others */
    placed = lmn__pool_placed(subject.env->pool);
    CHECK_EQ(placed.blocks, SLOT_COUNT);
    CHECK_EQ(placed.bytes, 4 * SLOT_BYTES - 0 - 1 - 2 - 3);
    CHECK_EQ(placed.refused, 1);
    lmn__block_release(block[2]); /* put back at once: the next one has it */
    CHECK_EQ(slots_used(&subject.slots), SLOT_COUNT - 1);
    block[2] = take(&subject, 1);
    CHECK(slots_have(&subject.slots, block[2]->data));
    for (size_t i = 0; i <= SLOT_COUNT; i++)
        lmn__block_release(block[i]);
    subject_free(&subject);
}

static void test_placed__too_large_and_empty(void **state)
{
    struct subject subject;
    struct lmn__block *block;

    (void)state;
    subject_make(&subject, 0);
    block = take(&subject, SLOT_BYTES + 1);
    CHECK(!slots_have(&subject.slots, block->data));
    lmn__block_release(block);
    block = take(&subject, 0);
    CHECK(!slots_have(&subject.slots, block->data));
    lmn__block_release(block);
    subject_free(&subject);
}

static void test_placed__memory_that_is_not_aligned(void **state)
{
    struct subject subject;
    struct lmn__block *block;

    (void)state;
    subject_make(&subject, 8);
    block = take(&subject, 100);
    CHECK(!slots_have(&subject.slots, block->data));
    CHECK_EQ(slots_used(&subject.slots), 0);
    lmn__block_release(block);
    subject_free(&subject);
}

static void test_placed__closes_with_the_last_block(void **state)
{
    struct subject subject;
    struct lmn__block *block;

    (void)state;
    subject_make(&subject, 0);
    block = take(&subject, 100);
    lmn_env_release(subject.env);
    CHECK_EQ(slots_closed(&subject.slots), 0);
    lmn__block_release(lmn__block_acquire(block));
    CHECK_EQ(slots_used(&subject.slots), 1);
    lmn__block_release(block);
    CHECK_EQ(slots_closed(&subject.slots), 1);
    slots_deinit(&subject.slots);
    CHECK_EQ(live_allocations(), 0);
}

static void test_placed__counts_against_the_limit(void **state)
{
    const struct lmn_env_options options = { .data_bytes_max = 2 * SLOT_BYTES };
    struct lmn__block *first, *second = NULL;
    struct lmn_env *base, *env;
    struct slots slots;
    struct lmn_memory memory;
    struct lmn_error err;

    (void)state;
    slots_init(&slots, SLOT_BYTES, SLOT_COUNT);
    memory = slots_memory(&slots);
    CHECK_OK(lmn_env_new(&options, &base, &err));
    CHECK_OK(lmn__env_new_placed(base, &memory, &env, &err));
    lmn_env_release(base); /* its pool stays */
    CHECK_OK(lmn__block_new(env->pool, SLOT_BYTES + 1, &first, &err));
    CHECK_STATUS(lmn__block_new(env->pool, SLOT_BYTES, &second, &err), LMN_E_NO_MEMORY, &err);
    CHECK_HAS(err.message, "1024 bytes");
    CHECK(second == NULL);
    CHECK_EQ(slots_used(&slots), 0);
    lmn__block_release(first);
    lmn_env_release(env);
    slots_deinit(&slots);
}

/* A failure on the way leaves the memory the caller's, or takes another block. */
static void test_placed__faults_leave_nothing(void **state)
{
    bool fired = true;

    (void)state;
    for (uint64_t nth = 1; fired; nth++) {
        struct lmn__block *block = NULL;
        struct lmn_env *env = NULL;
        struct lmn_error err = { 0 };
        struct lmn_memory memory;
        struct slots slots;
        enum lmn_status st;

        slots_init(&slots, SLOT_BYTES, SLOT_COUNT);
        memory = slots_memory(&slots);
        fault_arm(FAULT_ALLOC, nth);
        st = lmn__env_new_placed(test_env(), &memory, &env, &err);
        if (st == LMN_OK)
            st = lmn__block_new(env->pool, 100, &block, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY);
        CHECK_EQ(env == NULL, st != LMN_OK);
        lmn__block_release(block);
        lmn_env_release(env);
        CHECK_EQ(slots_closed(&slots), st == LMN_OK);
        slots_deinit(&slots);
        CHECK_EQ(live_allocations(), 0);
    }
}

static void take_and_give(void *context)
{
    struct subject *subject = context;

    for (int i = 0; i < 2000; i++) {
        struct lmn__block *block = take(subject, 1 + (size_t)i % (SLOT_BYTES + 10));

        CHECK_EQ(block->data[0], 1);
        lmn__block_release(block);
    }
}

static void test_placed__threads(void **state)
{
    struct lmn__thread thread[THREADS];
    struct subject subject;

    (void)state;
    subject_make(&subject, 0);
    for (int i = 0; i < THREADS; i++)
        CHECK_OK(lmn__thread_start(test_env(), take_and_give, &subject, &thread[i], NULL));
    for (int i = 0; i < THREADS; i++)
        lmn__thread_join(&thread[i]);
    subject_free(&subject);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_placed__blocks_lie_in_the_memory),
        cmocka_unit_test(test_placed__too_large_and_empty),
        cmocka_unit_test(test_placed__memory_that_is_not_aligned),
        cmocka_unit_test(test_placed__closes_with_the_last_block),
        cmocka_unit_test(test_placed__counts_against_the_limit),
        cmocka_unit_test(test_placed__faults_leave_nothing),
        cmocka_unit_test(test_placed__threads),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
