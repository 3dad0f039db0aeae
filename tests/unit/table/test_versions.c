/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Versions by number, by name of their manifests, and by time.
 */
#include "table/versions.h"

#include <string.h>

#include "keyed_rows.h"
#include "stores.h"
#include "table/table.h"

static const struct keyed_row rows[] = { { 1, 10, "a" }, { 2, 20, "b" }, { 3, 30, "c" } };

static void put_empty(struct lmn_store *store, const char *path)
{
    test_store_write(store, path, "", 0);
}

static void put_version(struct lmn_store *store, uint64_t version, bool plain)
{
    char path[LMN__VERSION_PATH_BYTES];

    lmn__version_path(version, plain, path);
    put_empty(store, path);
}

static void test_versions__paths(void **state)
{
    char path[LMN__VERSION_PATH_BYTES];

    (void)state;
    lmn__version_path(1, false, path);
    CHECK_STR(path, "_versions/18446744073709551614.manifest");
    lmn__version_path(UINT64_MAX - 5, false, path);
    CHECK_STR(path, "_versions/00000000000000000005.manifest");
    lmn__version_path(1, true, path);
    CHECK_STR(path, "_versions/1.manifest");
    lmn__version_path(1234567, true, path);
    CHECK_STR(path, "_versions/1234567.manifest");
}

/* Files beside manifests: of other programs, of detached versions, of writers under way. */
static void put_others(struct lmn_store *store)
{
    put_empty(store, "_versions/d77.manifest");
    put_empty(store, "_versions/.manifest");
    put_empty(store, "_versions/99.manifest.tmp");
    put_empty(store, "_versions/99manifest");
    put_empty(store, "_versions/-1.manifest");
    put_empty(store, "_versions/latest_version_hint.json");
    put_empty(store, "_versions/99999999999999999999.manifest"); /* above 64 bits */
    put_empty(store, "_versions/88.manifest/file");              /* a directory */
}

static void test_versions__newest_and_list(void **state)
{
    static const uint64_t number[] = { 9, 10, 2, 300, 11, 1 }, rising[] = { 1, 2, 9, 10, 11, 300 };

    (void)state;
    for (int plain = 0; plain < 2; plain++) {
        struct lmn_store *store = test_store_memory();
        uint64_t newest, *version, count;
        struct lmn__arena arena;
        struct lmn_error err = { 0 };
        bool is_plain = plain == 0;

        put_others(store);
        for (int i = 0; i < 6; i++)
            put_version(store, number[i], plain != 0);
        CHECK_STATUS(lmn__versions_newest(store, &newest, &is_plain, &err), LMN_OK, &err);
        CHECK_EQ(newest, 300);
        CHECK_EQ(is_plain, plain);
        lmn__arena_init(&arena, test_env(), 0);
        is_plain = plain == 0;
        CHECK_STATUS(lmn__versions_list(store, &arena, &version, &count, &is_plain, &err), LMN_OK,
                     &err);
        CHECK_EQ(is_plain, plain);
        CHECK_EQ(count, 6);
        CHECK_BYTES(version, rising, sizeof rising);
        lmn__arena_deinit(&arena);
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), 0);
    }
}

/* More versions than the list has room for at first. */
static void test_versions__many(void **state)
{
    enum { MANY = 200 };
    struct lmn_store *store = test_store_memory();
    uint64_t *version, count;
    struct lmn__arena arena;
    bool plain;

    (void)state;
    for (uint64_t i = MANY; i > 0; i--)
        put_version(store, i * 7 % 211, false);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_OK(lmn__versions_list(store, &arena, &version, &count, &plain, NULL));
    CHECK_EQ(count, MANY);
    for (uint64_t i = 1; i < count; i++)
        CHECK(version[i - 1] < version[i]);
    lmn__arena_deinit(&arena);
    lmn_store_release(store);
}

static void test_versions__none(void **state)
{
    struct lmn_store *store = test_store_memory();
    uint64_t newest, *version, count;
    struct lmn__arena arena;
    struct lmn_error err = { 0 };
    bool plain;

    (void)state;
    put_others(store);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn__versions_newest(store, &newest, &plain, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "is no table");
    CHECK_STATUS(lmn__versions_list(store, &arena, &version, &count, &plain, &err), LMN_E_NOT_FOUND,
                 &err);
    CHECK(version == NULL);
    lmn__arena_deinit(&arena);
    lmn_store_release(store);
}

static void test_versions__corrupt_mixed_names(void **state)
{
    struct lmn_store *store = test_store_memory();
    uint64_t newest, *version, count;
    struct lmn__arena arena;
    struct lmn_error err = { 0 };
    bool plain;

    (void)state;
    put_version(store, 1, true);
    put_version(store, 2, false);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn__versions_newest(store, &newest, &plain, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "names of two kinds");
    CHECK_STATUS(lmn__versions_list(store, &arena, &version, &count, &plain, &err), LMN_E_CORRUPT,
                 &err);
    lmn__arena_deinit(&arena);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* A table of early writers gets further manifests of plain names. */
static void test_versions__plain_names_stay(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table;
    struct lmn_error err = { 0 };
    char path[LMN__VERSION_PATH_BYTES];
    uint8_t byte;

    (void)state;
    lmn_table_release(keyed_table(store, rows, 3, NULL));
    lmn__version_path(1, false, path);
    CHECK_OK(store->ops->rename(store, path, "_versions/1.manifest", &err));
    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 1);
    CHECK_STATUS(lmn_table_delete(table, "id = 2", NULL, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 2);
    CHECK(test_store_read(store, "_versions/2.manifest", &byte, 1) > 0);
    lmn__version_path(2, false, path);
    CHECK_EQ(test_store_read(store, path, &byte, 1), -1);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static struct lmn_table *three_versions(struct lmn_store *store)
{
    const struct lmn_write_options told = { .message = "first" };
    struct lmn_table *table = keyed_table(store, rows, 3, &told);
    struct ArrowArrayStream stream;
    struct lmn_error err = { 0 };

    keyed_stream(KEYED_ALL, rows, 2, 1, &stream);
    CHECK_STATUS(lmn_table_append(table, &stream, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_delete(table, "id = 1", NULL, &err), LMN_OK, &err);
    return table;
}

static void test_versions__are_described(void **state)
{
    static const char *const operation[] = { "overwrite", "append", "delete" };
    static const uint64_t row_count[] = { 3, 5, 3 };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = three_versions(store);
    struct lmn_version_list list;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_versions(table, &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 3);
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ(list.entry[i].version, i + 1);
        CHECK_STR(list.entry[i].operation, operation[i]);
        CHECK_STR(list.entry[i].message, i == 0 ? "first" : "");
        CHECK_EQ(list.entry[i].row_count, row_count[i]);
        CHECK_EQ(list.entry[i].fragment_count, i == 0 ? 1 : 2);
    }
    lmn_version_list_free(&list);
    CHECK(list.memory == NULL);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* One manifest is damaged; the versions beside it are listed as ever. */
static void test_versions__corrupt_one_is_listed(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = three_versions(store);
    struct lmn_version_list list;
    struct lmn_error err = { 0 };
    char path[LMN__VERSION_PATH_BYTES];

    (void)state;
    lmn__version_path(2, false, path);
    CHECK_OK(store->ops->remove(store, path, &err));
    test_store_write(store, path, "damaged", 7);
    CHECK_STATUS(lmn_table_versions(table, &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 3);
    CHECK_STR(list.entry[0].message, "first");
    CHECK_EQ(list.entry[1].version, 2);
    CHECK_STR(list.entry[1].operation, "unreadable");
    CHECK_HAS(list.entry[1].message, path);
    CHECK(list.entry[1].timestamp_us != 0);
    CHECK_STR(list.entry[2].operation, "delete");
    lmn_version_list_free(&list);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* The newest version that is not after a time; versions of one microsecond count as one. */
static void test_versions__by_time(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = three_versions(store), *then;
    struct lmn_version_list list;
    struct lmn_table_options options = { 0 };
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_OK(lmn_table_versions(table, &list, &err));
    for (uint64_t i = 0; i < list.count; i++) {
        uint64_t expected = i;

        while (expected + 1 < list.count &&
               list.entry[expected + 1].timestamp_us <= list.entry[i].timestamp_us)
            expected++;
        options.timestamp_us = list.entry[i].timestamp_us;
        CHECK_STATUS(lmn_table_open(store, &options, &then, &err), LMN_OK, &err);
        CHECK_EQ(lmn_table_version(then), list.entry[expected].version);
        lmn_table_release(then);
    }
    options.timestamp_us = INT64_MAX;
    CHECK_OK(lmn_table_open(store, &options, &then, &err));
    CHECK_EQ(lmn_table_version(then), 3);
    lmn_table_release(then);
    options.timestamp_us = list.entry[0].timestamp_us - 1;
    CHECK_STATUS(lmn_table_open(store, &options, &then, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "old enough");
    options.version = 1;
    CHECK_STATUS(lmn_table_open(store, &options, &then, &err), LMN_E_INVALID, &err);
    lmn_version_list_free(&list);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* Times that no clock shows are the first or the last ones. */
static void test_versions__times_without_bounds(void **state)
{
    struct lmn__pb_timestamp time = { .seconds = INT64_MAX, .nanos = 999999999 };
    struct lmn__manifest manifest = { .pb.timestamp = &time };

    (void)state;
    CHECK_EQ(lmn__manifest_time_us(&manifest), INT64_MAX);
    time = (struct lmn__pb_timestamp){ INT64_MIN, -1 };
    CHECK_EQ(lmn__manifest_time_us(&manifest), INT64_MIN);
    time = (struct lmn__pb_timestamp){ INT64_MAX / 1000000, INT32_MAX };
    CHECK_EQ(lmn__manifest_time_us(&manifest), INT64_MAX);
    time = (struct lmn__pb_timestamp){ 7, 5000999 };
    CHECK_EQ(lmn__manifest_time_us(&manifest), 7005000);
    time = (struct lmn__pb_timestamp){ -1, 5000 };
    CHECK_EQ(lmn__manifest_time_us(&manifest), -999995);
    manifest.pb.timestamp = NULL;
    CHECK_EQ(lmn__manifest_time_us(&manifest), 0);
}

static void test_versions__faults(void **state)
{
    struct lmn_store *store = test_store_memory(), *faulty;
    struct lmn_table *table;
    struct lmn_version_list list;
    struct lmn_error err = { 0 };
    bool fired = true;

    (void)state;
    lmn_table_release(three_versions(store));
    faulty = test_store_faulty(store);
    CHECK_OK(lmn_table_open(faulty, NULL, &table, &err));
    for (uint64_t nth = 1; fired; nth++) {
        int64_t alive = live_allocations();
        enum lmn_status st;

        err.message[0] = '\0';
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_versions(table, &list, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == LMN_OK || (fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO)));
        CHECK(st == LMN_OK ? list.count == 3 : list.count == 0 && err.message[0] != '\0');
        lmn_version_list_free(&list);
        CHECK_EQ(live_allocations(), alive);
    }
    lmn_table_release(table);
    lmn_store_release(faulty);
    lmn_store_release(store);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_versions__paths),
        cmocka_unit_test(test_versions__newest_and_list),
        cmocka_unit_test(test_versions__many),
        cmocka_unit_test(test_versions__none),
        cmocka_unit_test(test_versions__corrupt_mixed_names),
        cmocka_unit_test(test_versions__plain_names_stay),
        cmocka_unit_test(test_versions__are_described),
        cmocka_unit_test(test_versions__corrupt_one_is_listed),
        cmocka_unit_test(test_versions__by_time),
        cmocka_unit_test(test_versions__times_without_bounds),
        cmocka_unit_test(test_versions__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
