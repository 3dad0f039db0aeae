/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "stores.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *test_dir_make(void)
{
    const char *base = getenv("TMPDIR");
    char path[512];

    snprintf(path, sizeof path, "%s/leman-test-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(path) == NULL)
        check_fail(__FILE__, __LINE__, "cannot make the directory %s", path);
    return strdup(path);
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
    (void)info;
    (void)type;
    (void)place;
    return remove(path);
}

void test_dir_remove(char *dir)
{
    if (dir != NULL)
        nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

struct lmn_store *test_store_memory(void)
{
    struct lmn_store *store;
    struct lmn_error err;
    enum lmn_status st = lmn_store_open_memory(test_env(), &store, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return store;
}

struct lmn_store *test_store_local(const char *root)
{
    struct lmn_store *store;
    struct lmn_error err;
    enum lmn_status st = lmn_store_open_local(test_env(), root, &store, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return store;
}

static enum lmn__fault_action step(void *context, enum lmn__store_op op, const char *path)
{
    (void)op;
    (void)path;
    return fault_step(FAULT_STORE) ? *(const enum lmn__fault_action *)context : LMN__FAULT_NONE;
}

struct lmn_store *test_store_faulty_with(struct lmn_store *inner, enum lmn__fault_action action)
{
    static enum lmn__fault_action actions[] = { LMN__FAULT_NONE, LMN__FAULT_FAIL, LMN__FAULT_TEAR,
                                                LMN__FAULT_AFTER };
    struct lmn_store *store;
    struct lmn_error err;
    enum lmn_status st = lmn__store_open_fault(inner, step, &actions[action], &store, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return store;
}

struct lmn_store *test_store_faulty(struct lmn_store *inner)
{
    return test_store_faulty_with(inner, LMN__FAULT_FAIL);
}

void test_store_write(struct lmn_store *store, const char *path, const void *data, size_t len)
{
    struct lmn__store_file *file;
    struct lmn_error err;
    enum lmn_status st = store->ops->create(store, path, &file, &err);
    char dir[256] = { 0 };

    CHECK_STATUS(st, LMN_OK, &err);
    st = store->ops->write_at(file, 0, data, len, &err);
    CHECK_STATUS(st, LMN_OK, &err);
    st = store->ops->sync(file, &err);
    CHECK_STATUS(st, LMN_OK, &err);
    store->ops->close(file);
    memcpy(dir, path, lmn__store_dir_len(path));
    st = store->ops->sync_dir(store, dir, &err);
    CHECK_STATUS(st, LMN_OK, &err);
}

int64_t test_store_read(struct lmn_store *store, const char *path, void *data, size_t cap)
{
    struct lmn__store_file *file;
    struct lmn_error err;
    enum lmn_status st = store->ops->open(store, path, &file, &err);
    int64_t bytes;

    if (st == LMN_E_NOT_FOUND)
        return -1;
    CHECK_STATUS(st, LMN_OK, &err);
    bytes = (int64_t)file->bytes;
    st = store->ops->read_at(file, 0, data, file->bytes < cap ? file->bytes : cap, &err);
    CHECK_STATUS(st, LMN_OK, &err);
    store->ops->close(file);
    return bytes;
}

bool test_store_holds(struct lmn_store *store, const char *path, const char *text)
{
    size_t len = strlen(text);
    char *data = malloc(len + 1);
    bool same = test_store_read(store, path, data, len + 1) == (int64_t)len &&
                memcmp(data, text, len) == 0;

    free(data);
    return same;
}

static enum lmn_status count_entry(void *context, const char *name, bool is_directory,
                                   struct lmn_error *err)
{
    (void)name;
    (void)is_directory;
    (void)err;
    ++*(size_t *)context;
    return LMN_OK;
}

size_t test_store_count(struct lmn_store *store, const char *dir)
{
    struct lmn_error err;
    size_t count = 0;
    enum lmn_status st = store->ops->list(store, dir, count_entry, &count, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return count;
}
