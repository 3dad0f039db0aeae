/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fragments that are joined and cleared of deleted rows: which ones, what their rows keep, and what
 * happens when others commit meanwhile.
 */
#include <stdio.h>
#include <string.h>

#include "sample_tables.h"
#include "stores.h"
#include "table/manifest.h"
#include "table/row_ids.h"
#include "table/table.h"

enum { ROWS = 600 };

static struct sample sample;
static uint8_t seen[ROWS];

static int setup(void **state)
{
    (void)state;
    sample_init(&sample, ROWS, 7);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sample_deinit(&sample);
    return 0;
}

/* Six fragments of 100 rows, made by versions 1 to 6. */
static struct lmn_table *make(struct lmn_store *store, bool unstable)
{
    struct lmn_write_options options = { .unstable_row_ids = unstable };
    struct lmn_table *table = sample_table_make(store, &sample, 100, &options);

    for (uint64_t i = 1; i < 6; i++)
        sample_table_append(table, &sample, i * 100, 100);
    return table;
}

static uint64_t delete_rows(struct lmn_table *table, const char *where)
{
    struct lmn_error err;
    uint64_t count;

    CHECK_STATUS(lmn_table_delete(table, where, &count, &err), LMN_OK, &err);
    return count;
}

static struct lmn_compact_result compact(struct lmn_table *table, uint64_t target)
{
    struct lmn_compact_options options = { .target_rows_per_fragment = target };
    struct lmn_compact_result result;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_compact(table, &options, &result, &err), LMN_OK, &err);
    return result;
}

static uint64_t fragments(struct lmn_table *table)
{
    struct lmn_table_info info;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_info(table, &info, &err), LMN_OK, &err);
    return info.fragment_count;
}

/* Every row says that the version that appended it made it and changed it last. */
static void check_versions(struct lmn_table *table)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn__arena arena;
    struct lmn_error err;

    lmn__arena_init(&arena, test_env(), 0);
    for (uint64_t i = 0; i < lmn__manifest_fragment_count(manifest); i++) {
        struct lmn__pb_fragment fragment;
        struct lmn__row_versions created, updated;
        struct lmn__row_ids ids;

        CHECK_OK(lmn__manifest_fragment(manifest, i, &arena, &fragment, &err));
        CHECK_OK(lmn__row_ids_read(fragment.row_ids, fragment.row_count, &arena, &ids, &err));
        CHECK_OK(lmn__row_versions_read(fragment.created_at, fragment.row_count, &arena, &created,
                                        &err));
        CHECK_OK(lmn__row_versions_read(fragment.updated_at, fragment.row_count, &arena, &updated,
                                        &err));
        for (uint64_t row = 0; row < fragment.row_count; row++) {
            CHECK_EQ(lmn__row_versions_get(&created, row), lmn__row_ids_get(&ids, row) / 100 + 1);
            CHECK_EQ(lmn__row_versions_get(&updated, row), lmn__row_ids_get(&ids, row) / 100 + 1);
        }
    }
    lmn__arena_deinit(&arena);
    lmn__manifest_release(manifest);
}

static void test_compact__joins_neighbours_up_to_the_target(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store, false);
    struct lmn_compact_result result = compact(table, 250);

    (void)state;
    CHECK_EQ(result.fragments_removed, 6);
    CHECK_EQ(result.fragments_added, 3);
    CHECK_EQ(result.rows_rewritten, ROWS);
    CHECK_EQ(fragments(table), 3);
    CHECK_EQ(sample_table_check(table, &sample, seen, ROWS), ROWS);
    for (int i = 0; i < ROWS; i++)
        CHECK_EQ(seen[i], 1);
    check_versions(table);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_compact__has_nothing_to_do(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store, false);
    uint64_t version = lmn_table_version(table);
    struct lmn_compact_result result;

    (void)state;
    /* Fragments that are full, and then pairs that are too large together. */
    result = compact(table, 100);
    CHECK_EQ(result.fragments_removed, 0);
    result = compact(table, 199);
    CHECK_EQ(result.fragments_removed, 0);
    CHECK_EQ(lmn_table_version(table), version);
    compact(table, ROWS);
    version = lmn_table_version(table);
    result = compact(table, ROWS);
    CHECK_EQ(result.fragments_removed, 0);
    CHECK_EQ(lmn_table_version(table), version);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_compact__drops_deleted_rows(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store, false);
    uint64_t deleted = delete_rows(table, "_rowid >= 120 and _rowid < 160");
    struct lmn_table_info info;
    struct lmn_compact_result result;
    struct lmn_error err;

    (void)state;
    CHECK_EQ(deleted, 40);
    /* A few rows are left alone. */
    CHECK_EQ(delete_rows(table, "_rowid = 300"), 1);
    result = compact(table, 100);
    CHECK_EQ(result.fragments_removed, 1);
    CHECK_EQ(result.fragments_added, 1);
    CHECK_EQ(result.rows_rewritten, 60);
    CHECK_EQ(sample_table_check(table, &sample, seen, ROWS), ROWS - 41);
    for (int i = 0; i < ROWS; i++)
        CHECK_EQ(seen[i], !((i >= 120 && i < 160) || i == 300));
    check_versions(table);
    CHECK_OK(lmn_table_info(table, &info, &err));
    CHECK_EQ(info.deleted_count, 1);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_compact__gives_rows_without_stable_ids_new_addresses(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store, true);
    struct lmn_compact_result result;
    uint64_t count;
    struct lmn_error err;

    (void)state;
    delete_rows(table, "number < 150");
    result = compact(table, ROWS);
    CHECK_EQ(result.fragments_added, 1);
    CHECK_OK(lmn_table_count(table, NULL, &count, &err));
    CHECK_EQ(count, ROWS - 50);
    CHECK_OK(lmn_table_count(table, "number >= 150", &count, &err));
    CHECK_EQ(count, ROWS - 50);
    lmn_table_release(table);
    lmn_store_release(store);
}

/* Commits of others, just before that of the compaction. */
struct meanwhile {
    struct lmn_store *inner;
    const char *where;
    bool append;
    bool armed;
};

static enum lmn__fault_action intervene(void *context, enum lmn__store_op op, const char *path)
{
    struct meanwhile *meanwhile = context;
    struct lmn_table *other;

    if (op != LMN__OP_LINK || strncmp(path, "_versions/", 10) != 0 || !meanwhile->armed)
        return LMN__FAULT_NONE;
    meanwhile->armed = false;
    other = sample_table_open(meanwhile->inner);
    if (meanwhile->append)
        sample_table_append(other, &sample, 500, 100);
    else
        delete_rows(other, meanwhile->where);
    lmn_table_release(other);
    return LMN__FAULT_NONE;
}

static void test_compact__keeps_what_others_commit_meanwhile(void **state)
{
    struct lmn_store *inner = test_store_memory(), *store;
    struct meanwhile meanwhile = { .inner = inner, .where = "_rowid = 210" };
    struct lmn_table *table;
    struct lmn_compact_result result;
    struct lmn_error err;
    uint64_t version;

    (void)state;
    CHECK_OK(lmn__store_open_fault(inner, intervene, &meanwhile, &store, &err));
    lmn_table_release(make(inner, false));
    table = sample_table_open(store);
    version = lmn_table_version(table);
    meanwhile.armed = true;
    result = compact(table, 200);
    CHECK(!meanwhile.armed);
    CHECK_EQ(lmn_table_version(table), version + 2);
    CHECK_EQ(result.fragments_removed, 6);
    CHECK_EQ(result.fragments_added, 3);
    CHECK_EQ(result.rows_rewritten, ROWS - 1);
    CHECK_EQ(sample_table_check(table, &sample, seen, ROWS), ROWS - 1);
    CHECK_EQ(seen[210], 0);
    /* Six files of the appends and three of the compaction: the group that lost is gone. */
    CHECK_EQ(test_store_count(inner, "data"), 9);
    lmn_table_release(table);
    lmn_store_release(store);
    lmn_store_release(inner);
}

static void test_compact__fits_after_an_append(void **state)
{
    struct lmn_store *inner = test_store_memory(), *store;
    struct meanwhile meanwhile = { .inner = inner, .append = true };
    struct lmn_write_options options = { 0 };
    struct lmn_table *table;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__store_open_fault(inner, intervene, &meanwhile, &store, &err));
    table = sample_table_make(inner, &sample, 100, &options);
    for (uint64_t i = 1; i < 5; i++)
        sample_table_append(table, &sample, i * 100, 100);
    lmn_table_release(table);
    table = sample_table_open(store);
    meanwhile.armed = true;
    compact(table, 1000);
    CHECK_EQ(fragments(table), 2);
    CHECK_EQ(sample_table_check(table, &sample, seen, ROWS), ROWS);
    lmn_table_release(table);
    lmn_store_release(store);
    lmn_store_release(inner);
}

/* Whatever fails, the table has its rows, and a compaction that failed leaves no file behind. */
static void test_compact__faults(void **state)
{
    struct lmn_compact_options options = { .target_rows_per_fragment = 300 };
    int64_t before = live_allocations();

    (void)state;
    for (uint64_t nth = 1;; nth += nth < 40 ? 1 : 29) {
        struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
        struct lmn_table *table = make(inner, false);
        struct lmn_compact_result result;
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        delete_rows(table, "_rowid % 100 < 20");
        lmn_table_release(table);
        table = sample_table_open(store);
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_compact(table, &options, &result, &err);
        fired = fault_fired();
        fault_disarm();
        lmn_table_release(table);
        table = sample_table_open(inner);
        if (st != LMN_OK) {
            CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
            CHECK(err.message[0] != '\0');
        }
        CHECK_EQ(sample_table_check(table, &sample, NULL, 0), ROWS - 120);
        if (st == LMN_E_NO_MEMORY)
            CHECK_EQ(test_store_count(inner, "data"), fragments(table) == 6 ? 6 : 8);
        lmn_table_release(table);
        lmn_store_release(store);
        lmn_store_release(inner);
        CHECK_EQ(live_allocations(), before);
        if (!fired) {
            CHECK_OK(st);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compact__joins_neighbours_up_to_the_target),
        cmocka_unit_test(test_compact__has_nothing_to_do),
        cmocka_unit_test(test_compact__drops_deleted_rows),
        cmocka_unit_test(test_compact__gives_rows_without_stable_ids_new_addresses),
        cmocka_unit_test(test_compact__keeps_what_others_commit_meanwhile),
        cmocka_unit_test(test_compact__fits_after_an_append),
        cmocka_unit_test(test_compact__faults),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
