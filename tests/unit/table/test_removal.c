/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are taken away by many threads: all of them, once, and counted.
 *
 * labels: threads
 */
#include "table/removal.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "store/draft.h"
#include "stores.h"

enum { FILES = 9000, FILE_BYTES = 3, PATH_BYTES = 64 };

static void path_of(int number, char *path)
{
    snprintf(path, PATH_BYTES, "data/%d/%d.lance", number % 3, number);
}

static void put_files(struct lmn_store *store, int count)
{
    char path[PATH_BYTES];
    struct lmn_error err;

    for (int i = 0; i < count; i++) {
        path_of(i, path);
        CHECK_STATUS(lmn__store_put(store, path, LMN__PUBLISH_IF_ABSENT, "abc", FILE_BYTES, &err),
                     LMN_OK, &err);
    }
}

static bool is_there(struct lmn_store *store, int number)
{
    struct lmn__store_stat stat;
    char path[PATH_BYTES];

    path_of(number, path);
    return store->ops->stat(store, path, &stat, NULL) == LMN_OK;
}

static void add_file(struct lmn__removal *removal, int number, bool certain)
{
    char path[PATH_BYTES];
    struct lmn_error err;

    path_of(number, path);
    CHECK_STATUS(lmn__removal_add(removal, path, certain, &err), LMN_OK, &err);
}

static void test_removal__takes_files_and_folders_away(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__removal removal;
    struct lmn_error err;

    (void)state;
    put_files(store, FILES);
    lmn__removal_init(&removal, store, 0, false);
    for (int i = 0; i < FILES; i++)
        add_file(&removal, i, i % 3 != 1); /* all are younger than `since_ns` */
    add_file(&removal, FILES, true);       /* which is not there */
    CHECK_STATUS(lmn__removal_add_dir(&removal, "data/0", &err), LMN_OK, &err);
    CHECK_STATUS(lmn__removal_add_dir(&removal, "data/1", &err), LMN_OK, &err);
    CHECK_STATUS(lmn__removal_run(&removal, &err), LMN_OK, &err);
    CHECK_EQ(removal.files, FILES / 3 * 2);
    CHECK_EQ(removal.bytes, FILES / 3 * 2 * FILE_BYTES);
    for (int i = 0; i < FILES; i++)
        CHECK_EQ(is_there(store, i), i % 3 == 1);
    CHECK_EQ(store->ops->remove_dir(store, "data/0", NULL), LMN_E_NOT_FOUND);
    lmn__removal_deinit(&removal);
    lmn_store_release(store);
}

static void test_removal__counts_only(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__removal removal;
    struct lmn_error err;

    (void)state;
    put_files(store, 100);
    lmn__removal_init(&removal, store, 0, true);
    for (int i = 0; i < 100; i++)
        add_file(&removal, i, true);
    CHECK_STATUS(lmn__removal_run(&removal, &err), LMN_OK, &err);
    CHECK_EQ(removal.files, 100);
    for (int i = 0; i < 100; i++)
        CHECK(is_there(store, i));
    lmn__removal_deinit(&removal);
    lmn_store_release(store);
}

static const struct lmn__store_ops *memory_ops;

/* As that of the store, but for one file. */
static enum lmn_status refuse_one(struct lmn_store *store, const char *path, struct lmn_error *err)
{
    char refused[PATH_BYTES];

    path_of(500, refused);
    if (strcmp(path, refused) == 0)
        return lmn_fail(err, LMN_E_IO, "%s stays", path);
    return memory_ops->remove(store, path, err);
}

static void test_removal__reports_what_a_thread_fails_at(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__store_ops ops = *store->ops;
    struct lmn__removal removal;
    struct lmn_error err = { 0 };
    uint64_t left = 0;

    (void)state;
    put_files(store, 1000);
    memory_ops = store->ops;
    ops.remove = refuse_one;
    store->ops = &ops;
    lmn__removal_init(&removal, store, 0, false);
    for (int i = 0; i < 1000; i++)
        add_file(&removal, i, true);
    CHECK_STATUS(lmn__removal_run(&removal, &err), LMN_E_IO, &err);
    CHECK_HAS(err.message, "500.lance stays");
    for (int i = 0; i < 1000; i++)
        left += is_there(store, i);
    CHECK(left != 0);
    CHECK_EQ(removal.files + left, 1000);
    lmn__removal_deinit(&removal);
    store->ops = memory_ops;
    lmn_store_release(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_removal__takes_files_and_folders_away),
        cmocka_unit_test(test_removal__counts_only),
        cmocka_unit_test(test_removal__reports_what_a_thread_fails_at),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
