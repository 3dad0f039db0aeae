/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver that ends before every operation of its store, for every operation: by a fault, as a
 * killed process does, and with a loss of power. The one that comes after it finishes the fill,
 * and computes nothing that was synced.
 *
 * labels: slow
 */
#include <string.h>

#include "fills.h"
#include "store/powerloss.h"
#include "stores.h"

enum { ROWS = 60, FRAGMENT_ROWS = 30, STEP = 15, FRAGMENTS = 2 };

/* Bytes of a value: results of a step are held, or are pages of a megabyte. */
enum { SMALL = 10, LARGE = 100000 };

/* The column is one of blobs. */
static bool blobs;

/* How many operations are left until nothing works any more. */
struct stop {
    uint64_t left;
};

static enum lmn__fault_action stop_at(void *context, enum lmn__store_op op, const char *path)
{
    struct stop *stop = context;

    (void)op;
    (void)path;
    if (stop->left == 0)
        return LMN__FAULT_FAIL;
    stop->left--;
    return LMN__FAULT_NONE;
}

/* Rows of the table: two fragments, or one of large values. */
static uint64_t rows_of(uint32_t value_bytes)
{
    return value_bytes == LARGE ? FRAGMENT_ROWS : ROWS;
}

struct counts {
    uint32_t computed[FRAGMENTS * FILL_STEPS_MAX];
    uint32_t synced[FRAGMENTS * FILL_STEPS_MAX];
};

/* The stores of one run, one around the other, and the table in them. */
struct stack {
    struct lmn_store *inner, *lossy, *faulty;
    struct stop stop;
};

static void stack_open(struct stack *stack, uint32_t value_bytes)
{
    struct lmn_error err;
    struct fill fill;

    stack->stop.left = UINT64_MAX;
    stack->inner = test_store_memory();
    (blobs ? fill_make_blobs : fill_make)(&fill, stack->inner, rows_of(value_bytes), FRAGMENT_ROWS,
                                          value_bytes);
    fill_end(&fill);
    CHECK_OK(lmn__store_open_powerloss(stack->inner, &stack->lossy, &err));
    CHECK_OK(lmn__store_open_fault(stack->lossy, stop_at, &stack->stop, &stack->faulty, &err));
}

static void stack_close(struct stack *stack)
{
    lmn_store_release(stack->faulty);
    lmn_store_release(stack->lossy);
    lmn_store_release(stack->inner);
    CHECK_EQ(live_allocations(), 0);
}

/* Drive until the stop; true when it ended by itself. */
static bool drive_until(struct stack *stack, uint64_t step, uint32_t value_bytes, bool segments,
                        struct counts *counts)
{
    struct lmn_error err = { 0 };
    struct fill fill;
    enum lmn_status st;

    fill_attach(&fill, stack->faulty, "v", value_bytes);
    fill.segments = segments;
    stack->stop.left = step;
    st = fill_drive(&fill, STEP, counts->computed, counts->synced, &err);
    CHECK(st == LMN_OK || err.message[0] != '\0');
    stack->stop.left = UINT64_MAX;
    fill_end(&fill);
    return st == LMN_OK;
}

/* The driver that comes after. */
static void finish(struct lmn_store *store, uint32_t value_bytes, const struct counts *before)
{
    struct counts counts = { 0 };
    struct lmn_error err = { 0 };
    struct fill fill;

    fill_attach(&fill, store, "v", value_bytes);
    CHECK_STATUS(fill_drive(&fill, STEP, counts.computed, counts.synced, &err), LMN_OK, &err);
    for (int i = 0; i < FRAGMENTS * FILL_STEPS_MAX; i++)
        CHECK(before->synced[i] == 0 || counts.computed[i] == 0);
    fill_end(&fill);
    CHECK_EQ(fill_check(store, "v", value_bytes), rows_of(value_bytes) - 1);
    CHECK_EQ(test_store_count(store, "_leman/fills"), 1);
}

/* Files in data/ are those of the table and of the fill, and nothing else. */
static void check_files(struct lmn_store *store)
{
    CHECK_EQ(test_store_count(store, "data"), 2 * FRAGMENTS);
}

static void stop_everywhere(uint32_t value_bytes, bool segments)
{
    bool ended = false;

    for (uint64_t step = 0; !ended; step++) {
        struct counts counts = { 0 };
        struct stack stack;

        stack_open(&stack, value_bytes);
        ended = drive_until(&stack, step, value_bytes, segments, &counts);
        finish(stack.lossy, value_bytes, &counts);
        stack_close(&stack);
    }
}

static void lose_power_everywhere(uint32_t value_bytes, bool segments, uint64_t seeds)
{
    bool ended = false;

    for (uint64_t step = 0; !ended; step++) {
        for (uint64_t seed = 0; seed < seeds; seed++) {
            struct counts counts = { 0 };
            struct lmn_error err;
            struct stack stack;

            stack_open(&stack, value_bytes);
            ended = drive_until(&stack, step, value_bytes, segments, &counts);
            CHECK_STATUS(lmn__powerloss_crash(stack.lossy, seed, &err), LMN_OK, &err);
            finish(stack.lossy, value_bytes, &counts);
            stack_close(&stack);
        }
    }
}

static void test_fill__stopped_anywhere_held(void **state)
{
    (void)state;
    stop_everywhere(SMALL, false);
}

static void test_fill__stopped_anywhere_direct(void **state)
{
    (void)state;
    stop_everywhere(LARGE, false);
}

static void test_fill__power_lost_anywhere_held(void **state)
{
    (void)state;
    lose_power_everywhere(SMALL, false, 2);
}

static void test_fill__power_lost_anywhere_direct(void **state)
{
    (void)state;
    lose_power_everywhere(LARGE, false, 1);
}

static void test_fill__power_lost_anywhere_segments(void **state)
{
    (void)state;
    lose_power_everywhere(LARGE, true, 1);
    lose_power_everywhere(SMALL, true, 1);
}

static void test_fill__stopped_anywhere_with_blobs(void **state)
{
    (void)state;
    blobs = true;
    stop_everywhere(SMALL, true);
    blobs = false;
}

static void test_fill__power_lost_anywhere_with_blobs(void **state)
{
    (void)state;
    blobs = true;
    lose_power_everywhere(SMALL, false, 1);
    blobs = false;
}

/* Compacted between the crash and the next driver, who carries what was computed. */
static void test_fill__stopped_anywhere_then_compacted(void **state)
{
    bool ended = false;

    (void)state;
    for (uint64_t step = 0; !ended; step++) {
        struct counts counts = { 0 };
        struct lmn_table *table;
        struct lmn_error err;
        struct stack stack;
        struct fill fill;
        uint64_t kept = 0;

        stack_open(&stack, SMALL);
        ended = drive_until(&stack, step, SMALL, false, &counts);
        CHECK_OK(lmn_table_open(stack.lossy, NULL, &table, &err));
        CHECK_STATUS(lmn_table_compact(table, NULL, NULL, &err), LMN_OK, &err);
        lmn_table_release(table);
        fill_attach(&fill, stack.lossy, "v", SMALL);
        CHECK_STATUS(fill_open(&fill, &err), LMN_OK, &err);
        CHECK_STATUS(fill_rebase(&fill, &err), LMN_OK, &err);
        fill_end(&fill);
        for (int i = 0; i < FRAGMENTS * FILL_STEPS_MAX; i++)
            kept += counts.synced[i];
        /* Row 3 is deleted. */
        CHECK(fill_check(stack.lossy, "v", SMALL) + 1 >= kept * STEP);
        stack_close(&stack);
    }
}

/* Everything fails once: nothing leaks, and it can be driven again. */
static void test_fill__faults(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
        struct counts counts = { 0 };
        struct lmn_error err = { 0 };
        struct fill fill;
        enum lmn_status st;
        bool fired;

        fill_make(&fill, store, ROWS, FRAGMENT_ROWS, SMALL);
        fill_prepare(&fill, 0, 0, FRAGMENT_ROWS);
        fill_prepare(&fill, 1, 0, FRAGMENT_ROWS);
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = fill_drive(&fill, FRAGMENT_ROWS, counts.computed, counts.synced, &err);
        fired = fault_fired();
        fault_disarm();
        fill_forget();
        fill_end(&fill);
        CHECK(fired || st == LMN_OK);
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(st == LMN_OK || err.message[0] != '\0');
        if (st != LMN_OK) {
            fill_attach(&fill, inner, "v", SMALL);
            CHECK_STATUS(fill_drive(&fill, FRAGMENT_ROWS, counts.computed, counts.synced, &err),
                         LMN_OK, &err);
            fill_end(&fill);
        }
        CHECK_EQ(fill_check(inner, "v", SMALL), ROWS - 1);
        check_files(inner);
        lmn_store_release(store);
        lmn_store_release(inner);
        CHECK_EQ(live_allocations(), 0);
        if (!fired)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fill__stopped_anywhere_held),
        cmocka_unit_test(test_fill__stopped_anywhere_direct),
        cmocka_unit_test(test_fill__power_lost_anywhere_held),
        cmocka_unit_test(test_fill__power_lost_anywhere_direct),
        cmocka_unit_test(test_fill__power_lost_anywhere_segments),
        cmocka_unit_test(test_fill__stopped_anywhere_with_blobs),
        cmocka_unit_test(test_fill__power_lost_anywhere_with_blobs),
        cmocka_unit_test(test_fill__stopped_anywhere_then_compacted),
        cmocka_unit_test(test_fill__faults),
    };

    return cmocka_run_group_tests_name("fill crash", tests, NULL, NULL);
}
