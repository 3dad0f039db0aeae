/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "stores.h"

#define STORE_SUITE_SETUP store_suite_memory
#include "store_suite.h"

static void test_memory__stores_are_apart(void **state)
{
    struct lmn_store *one = test_store_memory(), *two = test_store_memory();

    (void)state;
    test_store_write(one, "a", "one", 3);
    CHECK_EQ(test_store_count(two, ""), 0);
    CHECK_STR(one->name, "memory");
    lmn_store_release(one);
    lmn_store_release(two);
    lmn_store_release(NULL);
    CHECK_EQ(live_allocations(), 0);
}

static void test_memory__opens_with_the_default_environment(void **state)
{
    struct lmn_store *store;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn_store_open_memory(NULL, &store, &err));
    test_store_write(store, "a", "one", 3);
    lmn_store_release(store);
}

static void test_memory__write_out_of_range_is_refused(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__store_file *file;
    struct lmn_error err;

    (void)state;
    CHECK_OK(store->ops->create(store, "a", &file, &err));
    CHECK_STATUS(store->ops->write_at(file, UINT64_MAX, "xy", 2, &err), LMN_E_NO_MEMORY, &err);
    CHECK_STATUS(store->ops->write_at(file, (uint64_t)1 << 63, "x", 1, &err), LMN_E_NO_MEMORY,
                 &err);
    store->ops->close(file);
    CHECK_EQ(test_store_read(store, "a", NULL, 0), 0);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* Names that sort around the separator, found and listed by the same search. */
static void test_memory__finds_among_many_names(void **state)
{
    struct lmn_store *store = test_store_memory();
    char path[64];

    (void)state;
    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof path, "%c%s%d", 'a' + i % 3, i % 2 ? "/" : "-", i * 7919 % 1000);
        test_store_write(store, path, path, strlen(path));
    }
    for (int i = 0; i < 1000; i++) {
        snprintf(path, sizeof path, "%c%s%d", 'a' + i % 3, i % 2 ? "/" : "-", i * 7919 % 1000);
        CHECK(test_store_holds(store, path, path));
    }
    CHECK_EQ(test_store_count(store, ""), 500 + 3);
    CHECK_EQ(test_store_count(store, "a") + test_store_count(store, "b") +
                 test_store_count(store, "c"),
             500);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_memory__open_faults_leave_nothing(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *store = (void *)state;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn_store_open_memory(test_env(), &store, &err);
        CHECK_STATUS(st, fault_fired() ? LMN_E_NO_MEMORY : LMN_OK, &err);
        CHECK_EQ(store == NULL, fault_fired());
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired())
            break;
    }
    fault_disarm();
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_memory__stores_are_apart),
        cmocka_unit_test(test_memory__opens_with_the_default_environment),
        cmocka_unit_test(test_memory__write_out_of_range_is_refused),
        cmocka_unit_test(test_memory__finds_among_many_names),
        cmocka_unit_test(test_memory__open_faults_leave_nothing),
        STORE_SUITE()
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
