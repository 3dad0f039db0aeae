/* SPDX-License-Identifier: Apache-2.0 */
/* A pin is there while it is held, and a cleanup keeps its version and later ones. */
#include <stdio.h>
#include <string.h>

#include "sample_tables.h"
#include "stores.h"
#include "table/pin.h"

enum { ROWS = 40 };

static uint64_t oldest(struct lmn_store *store)
{
    struct lmn_error err;
    uint64_t version;

    CHECK_STATUS(lmn__pins_oldest(store, &version, &err), LMN_OK, &err);
    return version;
}

static void check_held(struct lmn_store *store)
{
    struct lmn__pin a, b, none = { 0 };
    struct lmn_error err;

    CHECK_EQ(oldest(store), UINT64_MAX);
    CHECK_STATUS(lmn__pin_take(&a, store, 7, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__pin_take(&b, store, 5, &err), LMN_OK, &err);
    CHECK_EQ(oldest(store), 5);
    lmn__pin_release(&b);
    CHECK_EQ(oldest(store), 7);
    lmn__pin_release(&a);
    lmn__pin_release(&none);
    CHECK_EQ(oldest(store), UINT64_MAX);
    CHECK_EQ(test_store_count(store, "_leman/pins"), 0);
}

static void test_pin__is_there_while_it_is_held(void **state)
{
    char *dir = test_dir_make();
    struct lmn_store *store = test_store_local(dir);

    (void)state;
    check_held(store);
    lmn_store_release(store);
    test_dir_remove(dir);
    store = test_store_memory();
    check_held(store);
    lmn_store_release(store);
}

static void test_pin__of_a_process_that_died(void **state)
{
    struct lmn_store *store = test_store_memory();

    (void)state;
    test_store_write(store, "_leman/pins/3-abc", "", 0);
    test_store_write(store, "_leman/pins/new-abc", "", 0);
    test_store_write(store, "_leman/pins/4", "", 0);
    CHECK_EQ(oldest(store), UINT64_MAX);
    CHECK_EQ(test_store_count(store, "_leman/pins"), 2); /* those that are no pins */
    lmn_store_release(store);
}

static void test_pin__keeps_versions(void **state)
{
    struct lmn_cleanup_options options = { .older_than_us = INT64_MAX };
    struct lmn_store *store = test_store_memory();
    struct lmn_cleanup_result result;
    struct lmn_table *table;
    struct sample sample;
    struct lmn__pin pin;
    struct lmn_error err;

    (void)state;
    sample_init(&sample, ROWS, 3);
    table = sample_table_make(store, &sample, 10, NULL);
    for (uint64_t i = 1; i < 4; i++)
        sample_table_append(table, &sample, 10 * i, 10);
    CHECK_STATUS(lmn_table_compact(table, NULL, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__pin_take(&pin, store, 3, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_cleanup(table, &options, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.versions_removed, 2);
    CHECK_EQ(test_store_count(store, "data"), 5);
    lmn__pin_release(&pin);
    CHECK_STATUS(lmn_table_cleanup(table, &options, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.versions_removed, 2);
    CHECK_EQ(test_store_count(store, "data"), 1);
    lmn_table_release(table);
    sample_deinit(&sample);
    lmn_store_release(store);
}

static void test_pin__faults(void **state)
{
    int64_t before = live_allocations();

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
        struct lmn__pin pin;
        struct lmn_error err = { 0 };
        uint64_t version;
        enum lmn_status st;
        bool fired;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn__pin_take(&pin, store, 5, &err);
        if (st == LMN_OK)
            st = lmn__pins_oldest(store, &version, &err);
        fired = fault_fired();
        fault_disarm();
        lmn__pin_release(&pin);
        lmn_store_release(store);
        lmn_store_release(inner);
        CHECK_EQ(live_allocations(), before);
        if (!fired) {
            CHECK_OK(st);
            CHECK_EQ(version, 5);
            break;
        }
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_pin__is_there_while_it_is_held),
        cmocka_unit_test(test_pin__of_a_process_that_died),
        cmocka_unit_test(test_pin__keeps_versions),
        cmocka_unit_test(test_pin__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
