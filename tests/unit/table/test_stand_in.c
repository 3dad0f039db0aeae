/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables whose newest manifest is damaged: what is said, what is opened, what a restore builds on.
 */
#include <stdio.h>
#include <string.h>

#include "sample_tables.h"
#include "stores.h"
#include "table/stand_in.h"
#include "table/versions.h"

enum { ROWS = 40, EACH = 10 };

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

static void damage(struct lmn_store *store, uint64_t version)
{
    char path[LMN__VERSION_PATH_BYTES];

    lmn__version_path(version, false, path);
    CHECK_OK(store->ops->remove(store, path, NULL));
    test_store_write(store, path, "", 0);
}

/* Three versions of 10, 20 and 30 rows. */
static void make(struct lmn_store *store)
{
    struct lmn_table *table = sample_table_make(store, &sample, EACH, NULL);

    for (uint64_t i = 1; i < 3; i++)
        sample_table_append(table, &sample, i * EACH, EACH);
    lmn_table_release(table);
}

static struct lmn_table *open_readable(struct lmn_store *store)
{
    const struct lmn_table_options options = { .readable = true };
    struct lmn_table *table;

    CHECK_OK(lmn_table_open(store, &options, &table, NULL));
    return table;
}

static void test_stand_in__the_newest_where_it_is_whole(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table;
    struct lmn__manifest *manifest;

    (void)state;
    make(store);
    table = open_readable(store);
    CHECK_EQ(lmn_table_version(table), 3);
    CHECK_OK(lmn__table_stand_in(table, &manifest, NULL));
    CHECK_EQ(manifest->pb.version, 3);
    CHECK_EQ(manifest->pb.fragment_id_max, 2);
    CHECK_EQ(manifest->pb.next_row_id, 3 * EACH);
    lmn__manifest_release(manifest);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_stand_in__restore(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table;
    struct lmn__manifest *manifest;
    struct lmn_error err;

    (void)state;
    make(store);
    damage(store, 3);
    CHECK_EQ(lmn_table_open(store, NULL, &table, &err), LMN_E_CORRUPT);
    CHECK_HAS(err.message, "version 2 can be read");
    table = open_readable(store);
    CHECK_EQ(lmn_table_version(table), 2);
    CHECK_STATUS(lmn_table_restore(table, 1, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 4);
    manifest = lmn__table_manifest(table);
    CHECK_EQ(lmn__manifest_fragment_count(manifest), 1);
    CHECK(manifest->pb.fragment_id_max > 1000);
    CHECK(manifest->pb.next_row_id > 1u << 30);
    lmn__manifest_release(manifest);
    lmn_table_release(table);
    table = sample_table_open(store);
    CHECK_EQ(sample_table_check(table, &sample, NULL, ROWS), EACH);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* Versions that were made by repairs, and damaged too, have given ids as well. */
static void test_stand_in__each_repair_has_ids_of_its_own(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table;
    struct lmn__manifest *manifest;
    uint32_t before = 0;

    (void)state;
    make(store);
    damage(store, 3);
    for (uint64_t version = 4; version < 12; version++) {
        table = open_readable(store);
        CHECK_OK(lmn__table_stand_in(table, &manifest, NULL));
        CHECK(manifest->pb.fragment_id_max > before);
        before = manifest->pb.fragment_id_max;
        lmn__manifest_release(manifest);
        CHECK_OK(lmn_table_restore(table, 1, NULL));
        CHECK_EQ(lmn_table_version(table), version);
        lmn_table_release(table);
        damage(store, version);
    }
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_stand_in__nothing_to_be_read(void **state)
{
    struct lmn_store *store = test_store_memory();
    const struct lmn_table_options options = { .readable = true };
    struct lmn_table *table;
    struct lmn_error err;

    (void)state;
    make(store);
    for (uint64_t version = 1; version <= 3; version++)
        damage(store, version);
    CHECK_EQ(lmn_table_open(store, NULL, &table, &err), LMN_E_CORRUPT);
    CHECK_HAS(err.message, "no other version can be read");
    CHECK_EQ(lmn_table_open(store, &options, &table, &err), LMN_E_NOT_FOUND);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_stand_in__faults(void **state)
{
    struct lmn_store *store = test_store_memory(), *faulty;
    struct lmn_table *table;
    bool fired = true;

    (void)state;
    make(store);
    damage(store, 3);
    faulty = test_store_faulty(store);
    table = open_readable(faulty);
    for (uint64_t nth = 1; fired; nth++) {
        int64_t alive = live_allocations();
        struct lmn__manifest *manifest;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn__table_stand_in(table, &manifest, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || (fired && manifest == NULL && err.message[0] != '\0'));
        lmn__manifest_release(manifest);
        CHECK_EQ(live_allocations(), alive);
    }
    lmn_table_release(table);
    lmn_store_release(faulty);
    lmn_store_release(store);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_stand_in__the_newest_where_it_is_whole),
        cmocka_unit_test(test_stand_in__restore),
        cmocka_unit_test(test_stand_in__each_repair_has_ids_of_its_own),
        cmocka_unit_test(test_stand_in__nothing_to_be_read),
        cmocka_unit_test(test_stand_in__faults),
    };

    return cmocka_run_group_tests(cases, setup, teardown);
}
