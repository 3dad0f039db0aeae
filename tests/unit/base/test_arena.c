/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/arena.h"
#include "check.h"

static void test_arena__memory_is_zeroed_aligned_and_apart(void **state)
{
    struct lmn__arena arena;
    uint8_t *memory[300];

    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    for (size_t i = 0; i < 300; i++) {
        size_t bytes = i * 37 % 5000;

        memory[i] = lmn__arena_alloc(&arena, bytes);
        CHECK(memory[i] != NULL);
        CHECK_EQ((uintptr_t)memory[i] % 16, 0);
        for (size_t k = 0; k < bytes; k++)
            CHECK_EQ(memory[i][k], 0);
        memset(memory[i], (int)i, bytes);
    }
    for (size_t i = 0; i < 300; i++) {
        for (size_t k = 0; k < i * 37 % 5000; k++)
            CHECK_EQ(memory[i][k], (uint8_t)i);
    }
    lmn__arena_deinit(&arena);
    CHECK_EQ(live_allocations(), 0);
    CHECK(lmn__arena_alloc(&arena, 1) != NULL); /* an emptied one may be used again */
    lmn__arena_deinit(&arena);
    CHECK_EQ(live_allocations(), 0);
}

static void test_arena__refuses_to_pass_its_limit(void **state)
{
    struct lmn__arena arena;
    struct lmn_error err;
    size_t given = 0;

    (void)state;
    lmn__arena_init(&arena, test_env(), 10000);
    CHECK(lmn__arena_alloc(&arena, 10001) == NULL);
    while (lmn__arena_alloc(&arena, 16) != NULL)
        given += 16;
    CHECK(given > 9900 && given <= 10000);
    CHECK(arena.bytes <= 10000);
    CHECK_EQ(lmn__arena_fail(&arena, "a manifest", &err), LMN_E_NO_MEMORY);
    CHECK_HAS(err.message, "a manifest");
    CHECK_HAS(err.message, "10000");
    lmn__arena_deinit(&arena);
}

static void test_arena__large_request_gets_its_own_chunk(void **state)
{
    struct lmn__arena arena;

    (void)state;
    lmn__arena_init(&arena, test_env(), 5 << 20);
    CHECK(lmn__arena_alloc(&arena, 1) != NULL);
    CHECK(lmn__arena_alloc(&arena, 4 << 20) != NULL);
    CHECK(lmn__arena_alloc(&arena, 4 << 20) == NULL);
    CHECK(lmn__arena_alloc(&arena, 1000) != NULL);
    lmn__arena_deinit(&arena);
    CHECK_EQ(live_allocations(), 0);
}

static void test_arena__huge_request_does_not_wrap(void **state)
{
    struct lmn__arena arena;

    (void)state;
    lmn__arena_init(&arena, test_env(), UINT64_MAX);
    CHECK(lmn__arena_alloc(&arena, SIZE_MAX) == NULL);
    CHECK(lmn__arena_alloc(&arena, SIZE_MAX - 14) == NULL);
    CHECK(lmn__arena_alloc(&arena, SIZE_MAX - 40) == NULL);
    CHECK(lmn__arena_array(&arena, SIZE_MAX / 8, 16) == NULL);
    CHECK(lmn__arena_array(&arena, 3, SIZE_MAX / 2) == NULL);
    CHECK(lmn__arena_strndup(&arena, "x", SIZE_MAX) == NULL);
    CHECK(lmn__arena_alloc(&arena, 0) != NULL);
    lmn__arena_deinit(&arena);
    CHECK_EQ(live_allocations(), 0);
}

static void test_arena__takes_the_limit_of_its_environment(void **state)
{
    struct lmn__arena arena;

    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_EQ(arena.bytes_max, test_env()->metadata_bytes_max);
    CHECK(lmn__arena_alloc(&arena, test_env()->metadata_bytes_max + 1) == NULL);
    lmn__arena_deinit(&arena);
}

static void test_arena__copies_text(void **state)
{
    struct lmn__arena arena;
    char *text;

    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    text = lmn__arena_strndup(&arena, "hello", 4);
    CHECK_STR(text, "hell");
    CHECK_STR(lmn__arena_strndup(&arena, NULL, 0), "");
    lmn__arena_deinit(&arena);
}

static void test_arena__faults_leave_nothing(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn__arena arena;
        bool fired, complete = true;

        fault_arm(FAULT_ALLOC, nth);
        lmn__arena_init(&arena, test_env(), 0);
        for (size_t i = 0; i < 100 && complete; i++)
            complete = lmn__arena_alloc(&arena, 1000) != NULL;
        fired = fault_fired();
        fault_disarm();
        CHECK_EQ(complete, !fired);
        CHECK(lmn__arena_alloc(&arena, 1000) != NULL); /* a failure does no lasting harm */
        lmn__arena_deinit(&arena);
        CHECK_EQ(live_allocations(), 0);
        if (!fired)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_arena__memory_is_zeroed_aligned_and_apart),
        cmocka_unit_test(test_arena__refuses_to_pass_its_limit),
        cmocka_unit_test(test_arena__large_request_gets_its_own_chunk),
        cmocka_unit_test(test_arena__huge_request_does_not_wrap),
        cmocka_unit_test(test_arena__takes_the_limit_of_its_environment),
        cmocka_unit_test(test_arena__copies_text),
        cmocka_unit_test(test_arena__faults_leave_nothing),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
