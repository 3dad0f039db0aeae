/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Old versions go, with the files that only they name; nothing else does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "sample_tables.h"
#include "stores.h"

enum { ROWS = 300 };
static const int64_t everything = INT64_MAX; /* every version is older than this */

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

/*
 * Versions 1 to 3 append 100 rows each, 4 deletes 10 of them, 5 joins the fragments: data files 3
 * and 1, one deletion file.
 */
static struct lmn_table *make(struct lmn_store *store)
{
    struct lmn_table *table = sample_table_make(store, &sample, 100, NULL);
    struct lmn_error err;

    sample_table_append(table, &sample, 100, 100);
    sample_table_append(table, &sample, 200, 100);
    CHECK_STATUS(lmn_table_delete(table, "_rowid >= 150 and _rowid < 160", NULL, &err), LMN_OK,
                 &err);
    CHECK_STATUS(lmn_table_compact(table, NULL, NULL, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), 5);
    CHECK_EQ(test_store_count(store, "data"), 4);
    CHECK_EQ(test_store_count(store, "_deletions"), 1);
    return table;
}

static struct lmn_cleanup_result clean(struct lmn_table *table,
                                       const struct lmn_cleanup_options *options)
{
    struct lmn_cleanup_result result;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_cleanup(table, options, &result, &err), LMN_OK, &err);
    return result;
}

static uint64_t version_count(struct lmn_table *table)
{
    struct lmn_version_list list;
    struct lmn_error err;
    uint64_t count;

    CHECK_STATUS(lmn_table_versions(table, &list, &err), LMN_OK, &err);
    count = list.count;
    lmn_version_list_free(&list);
    return count;
}

/* Every version that is left can be read as a whole. */
static void check_versions(struct lmn_store *store)
{
    struct lmn_table *table = sample_table_open(store);
    struct lmn_version_list list;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_versions(table, &list, &err), LMN_OK, &err);
    CHECK(list.count > 0);
    for (uint64_t i = 0; i < list.count; i++) {
        struct lmn_table_options options = { .version = list.entry[i].version };

        CHECK_STATUS(lmn_table_checkout(table, &options, &err), LMN_OK, &err);
        CHECK_EQ(sample_table_check(table, &sample, NULL, 0), list.entry[i].row_count);
    }
    lmn_version_list_free(&list);
    lmn_table_release(table);
}

static void test_cleanup__removes_old_versions_and_their_files(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);
    struct lmn_cleanup_options options = { .older_than_us = everything, .dry_run = true };
    struct lmn_cleanup_result planned = clean(table, &options), result;

    (void)state;
    CHECK_EQ(version_count(table), 5);
    CHECK_EQ(planned.versions_removed, 4);
    CHECK_EQ(planned.files_removed, 4 + 3 + 1);
    CHECK(planned.bytes_removed > 10000);
    options.dry_run = false;
    result = clean(table, &options);
    CHECK_EQ(result.versions_removed, planned.versions_removed);
    CHECK_EQ(result.files_removed, planned.files_removed);
    CHECK_EQ(result.bytes_removed, planned.bytes_removed);
    CHECK_EQ(version_count(table), 1);
    CHECK_EQ(test_store_count(store, "data"), 1);
    CHECK_EQ(test_store_count(store, "_deletions"), 0);
    check_versions(store);
    result = clean(table, &options);
    CHECK_EQ(result.files_removed, 0);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_cleanup__keeps_young_versions(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);

    (void)state;
    CHECK_EQ(clean(table, NULL).files_removed, 0);
    CHECK_EQ(version_count(table), 5);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_cleanup__keeps_versions_with_a_tag(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);
    struct lmn_cleanup_options options = { .older_than_us = everything };
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_tag(table, "one", 2, false, &err), LMN_OK, &err);
    CHECK_EQ(clean(table, &options).versions_removed, 3);
    CHECK_EQ(version_count(table), 2);
    CHECK_EQ(test_store_count(store, "data"), 3);
    check_versions(store);
    CHECK_STATUS(lmn_table_tag(table, "newest", 5, false, &err), LMN_OK, &err);
    options.ignore_tags = options.dry_run = true;
    CHECK_EQ(clean(table, &options).versions_removed, 1);
    CHECK_EQ(test_store_count(store, "_refs/tags"), 2);
    options.dry_run = false;
    CHECK_EQ(clean(table, &options).versions_removed, 1);
    CHECK_EQ(test_store_count(store, "data"), 1);
    CHECK_EQ(test_store_count(store, "_refs/tags"), 1); /* that of the newest */
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_cleanup__keeps_the_start_of_a_branch(void **state)
{
    static const char good[] = "{\"parentBranch\":null,\"parentVersion\":4,\"createAt\":1}";
    static const char bad[] = "{\"parentBranch\":null}";
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);
    struct lmn_cleanup_options options = { .older_than_us = everything };
    struct lmn_cleanup_result result;
    struct lmn_error err;

    (void)state;
    test_store_write(store, "_refs/branches/bad.json", bad, sizeof bad - 1);
    CHECK_STATUS(lmn_table_cleanup(table, &options, &result, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "bad.json");
    CHECK_EQ(version_count(table), 5);
    CHECK_OK(store->ops->remove(store, "_refs/branches/bad.json", &err));
    test_store_write(store, "_refs/branches/work.json", good, sizeof good - 1);
    CHECK_EQ(clean(table, &options).versions_removed, 3);
    CHECK_EQ(test_store_count(store, "data"), 4);
    check_versions(store);
    lmn_table_release(table);
    lmn_store_release(store);
}

static const char *const orphan[] = {
    "data/x.lance",         "data/y.lance.abc.tmp",       "data/x/1010.blob",
    "_deletions/0-1-2.bin", "_transactions/1-u.txn",      "_versions/1.manifest.abc.tmp",
    "_indices/u/index.idx", "_indices/u/deep/part.lance", "_refs/tags/x.json.abc.tmp",
};
static const char *const stranger[] = { "data/notes.txt", "_leman/fills/x.lance", "readme.md",
                                        "_refs/tags/notes", "_versions/notes" };
enum {
    ORPHANS = sizeof orphan / sizeof orphan[0],
    STRANGERS = sizeof stranger / sizeof stranger[0]
};

static uint64_t there(struct lmn_store *store, const char *const *path, size_t count)
{
    uint64_t found = 0;
    char byte;

    for (size_t i = 0; i < count; i++)
        found += test_store_read(store, path[i], &byte, 1) >= 0;
    return found;
}

static void test_cleanup__leaves_young_files_to_their_writers(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make(store);
    struct lmn_cleanup_options options = { .older_than_us = everything };

    (void)state;
    for (size_t i = 0; i < ORPHANS; i++)
        test_store_write(store, orphan[i], "x", 1);
    for (size_t i = 0; i < STRANGERS; i++)
        test_store_write(store, stranger[i], "x", 1);
    clean(table, &options);
    CHECK_EQ(there(store, orphan, ORPHANS), ORPHANS);
    options.remove_unverified = true;
    CHECK_EQ(clean(table, &options).files_removed, ORPHANS);
    CHECK_EQ(there(store, orphan, ORPHANS), 0);
    /* Their folders are gone with them. */
    CHECK_EQ(test_store_count(store, "_indices"), 0);
    CHECK_EQ(test_store_count(store, "data"), 2);
    CHECK_EQ(there(store, stranger, STRANGERS), STRANGERS);
    check_versions(store);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_cleanup__removes_files_that_nobody_came_back_for(void **state)
{
    char *dir = test_dir_make(), path[512];
    struct lmn_store *store = test_store_local(dir);
    struct lmn_table *table = make(store);
    struct timespec times[2] = { { 0 } };
    struct timespec now;

    (void)state;
    for (size_t i = 0; i < ORPHANS; i++)
        test_store_write(store, orphan[i], "x", 1);
    timespec_get(&now, TIME_UTC);
    /* One of them eight days old, another six. */
    times[0].tv_sec = times[1].tv_sec = now.tv_sec - 8 * 24 * 3600;
    snprintf(path, sizeof path, "%s/%s", dir, orphan[0]);
    CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
    times[0].tv_sec = times[1].tv_sec = now.tv_sec - 6 * 24 * 3600;
    snprintf(path, sizeof path, "%s/%s", dir, orphan[1]);
    CHECK_EQ(utimensat(AT_FDCWD, path, times, 0), 0);
    CHECK_EQ(clean(table, NULL).files_removed, 1);
    CHECK_EQ(there(store, orphan, 1), 0);
    CHECK_EQ(there(store, orphan, ORPHANS), ORPHANS - 1);
    lmn_table_release(table);
    lmn_store_release(store);
    test_dir_remove(dir);
}

/* A commit between the removal of manifests and that of files. */
struct meanwhile {
    struct lmn_store *inner;
    bool armed;
};

static enum lmn__fault_action intervene(void *context, enum lmn__store_op op, const char *path)
{
    struct meanwhile *meanwhile = context;
    struct lmn_table *other;

    if (op != LMN__OP_SYNC_DIR || strcmp(path, "_versions") != 0 || !meanwhile->armed)
        return LMN__FAULT_NONE;
    meanwhile->armed = false;
    other = sample_table_open(meanwhile->inner);
    sample_table_append(other, &sample, 290, 10);
    lmn_table_release(other);
    return LMN__FAULT_NONE;
}

static void test_cleanup__keeps_what_is_committed_meanwhile(void **state)
{
    struct lmn_store *inner = test_store_memory(), *store;
    struct meanwhile meanwhile = { inner, false };
    struct lmn_cleanup_options options = { .older_than_us = everything, .remove_unverified = true };
    struct lmn_table *table;
    struct lmn_error err;
    uint64_t count;

    (void)state;
    CHECK_OK(lmn__store_open_fault(inner, intervene, &meanwhile, &store, &err));
    table = make(store);
    meanwhile.armed = true;
    CHECK_EQ(clean(table, &options).versions_removed, 4);
    CHECK(!meanwhile.armed);
    CHECK_EQ(test_store_count(inner, "data"), 2);
    CHECK_OK(lmn_table_refresh(table, &err));
    CHECK_OK(lmn_table_count(table, "number >= 0", &count, &err));
    CHECK_EQ(count, ROWS - 10 + 10);
    lmn_table_release(table);
    lmn_store_release(store);
    lmn_store_release(inner);
}

static void test_cleanup__faults(void **state)
{
    struct lmn_cleanup_options options = { .older_than_us = everything };
    int64_t before = live_allocations();

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
        struct lmn_table *table;
        struct lmn_cleanup_result result;
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        lmn_table_release(make(inner));
        table = sample_table_open(store);
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_cleanup(table, &options, &result, &err);
        fired = fault_fired();
        fault_disarm();
        lmn_table_release(table);
        if (st != LMN_OK) {
            CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
            CHECK(err.message[0] != '\0');
        }
        check_versions(inner);
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
        cmocka_unit_test(test_cleanup__removes_old_versions_and_their_files),
        cmocka_unit_test(test_cleanup__keeps_young_versions),
        cmocka_unit_test(test_cleanup__keeps_versions_with_a_tag),
        cmocka_unit_test(test_cleanup__keeps_the_start_of_a_branch),
        cmocka_unit_test(test_cleanup__leaves_young_files_to_their_writers),
        cmocka_unit_test(test_cleanup__removes_files_that_nobody_came_back_for),
        cmocka_unit_test(test_cleanup__keeps_what_is_committed_meanwhile),
        cmocka_unit_test(test_cleanup__faults),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
