/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `_leman/fills/<field id>-<version>/` is a fill, see docs/format/fills.md. While its column is
 * there a job may take it up again, so it stays, however old. Its driver has `<...>.lock` locked;
 * that file stays, because a lock on a file without a name would keep nobody out.
 */
#include "table/cleanup_fills.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 256 };
static const char root[] = "_leman/fills";

struct cleaning {
    struct lmn_store *store;
    const struct lmn__manifest *manifest;
    int64_t since_ns;
    bool dry_run;
    struct lmn_cleanup_result *result;
};

/* One directory: what is in it, then what is taken away. */
struct fill {
    struct cleaning *cleaning;
    const char *dir;
    uint64_t files, bytes;
    int64_t modified_ns; /* the youngest file */
};

static bool has_field(const struct lmn__manifest *manifest, long id)
{
    for (uint32_t i = 0; i < manifest->schema.node_count; i++) {
        if (manifest->schema.node[i].field->id == id)
            return true;
    }
    return false;
}

static enum lmn_status look(void *context, const char *name, bool is_directory,
                            struct lmn_error *err)
{
    struct fill *fill = context;
    struct lmn_store *store = fill->cleaning->store;
    struct lmn__store_stat stat;
    char path[PATH_BYTES];
    enum lmn_status st;

    if (is_directory ||
        (size_t)snprintf(path, sizeof path, "%s/%s", fill->dir, name) >= sizeof path)
        return LMN_OK;
    st = store->ops->stat(store, path, &stat, err);
    if (st != LMN_OK)
        return st == LMN_E_NOT_FOUND ? LMN_OK : st;
    fill->files++;
    fill->bytes += stat.bytes;
    if (stat.modified_ns > fill->modified_ns)
        fill->modified_ns = stat.modified_ns;
    return LMN_OK;
}

static enum lmn_status take_away(void *context, const char *name, bool is_directory,
                                 struct lmn_error *err)
{
    struct fill *fill = context;
    struct lmn_store *store = fill->cleaning->store;
    char path[PATH_BYTES];
    enum lmn_status st;

    if (is_directory ||
        (size_t)snprintf(path, sizeof path, "%s/%s", fill->dir, name) >= sizeof path)
        return LMN_OK;
    st = store->ops->remove(store, path, err);
    return st == LMN_E_NOT_FOUND ? LMN_OK : st;
}

/* The lock is held meanwhile. The journal goes first: without it nothing else is looked at. */
static enum lmn_status remove_fill(struct fill *fill, struct lmn_error *err)
{
    struct lmn_store *store = fill->cleaning->store;
    enum lmn_status st = take_away(fill, "journal", false, err);

    if (st == LMN_OK)
        st = store->ops->list(store, fill->dir, take_away, fill, err);
    if (st == LMN_OK)
        st = store->ops->remove_dir(store, fill->dir, err);
    if (st == LMN_OK || st == LMN_E_NOT_FOUND) {
        fill->cleaning->result->files_removed += fill->files;
        fill->cleaning->result->bytes_removed += fill->bytes;
        st = LMN_OK;
    }
    return st;
}

static enum lmn_status lock_and_remove(struct fill *fill, struct lmn_error *err)
{
    struct lmn_store *store = fill->cleaning->store;
    struct lmn__store_file *lock;
    char path[PATH_BYTES];
    enum lmn_status st;

    snprintf(path, sizeof path, "%s.lock", fill->dir);
    st = store->ops->open_update(store, path, &lock, err);
    if (st == LMN_E_NOT_FOUND) /* nobody can have driven it */
        return LMN_OK;
    if (st != LMN_OK)
        return st;
    st = store->ops->lock(lock, err);
    if (st == LMN_OK)
        st = remove_fill(fill, err);
    store->ops->close(lock);
    return st == LMN_E_UNAVAILABLE ? LMN_OK : st;
}

static enum lmn_status see_fill(void *context, const char *name, bool is_directory,
                                struct lmn_error *err)
{
    struct cleaning *cleaning = context;
    char dir[PATH_BYTES - 64], *end;
    struct fill fill = { .cleaning = cleaning, .dir = dir };
    long id = strtol(name, &end, 10);
    enum lmn_status st;

    if (!is_directory || end == name || *end != '-' || has_field(cleaning->manifest, id) ||
        (size_t)snprintf(dir, sizeof dir, "%s/%s", root, name) >= sizeof dir)
        return LMN_OK;
    st = cleaning->store->ops->list(cleaning->store, dir, look, &fill, err);
    if (st != LMN_OK || fill.modified_ns > cleaning->since_ns)
        return st;
    if (!cleaning->dry_run)
        return lock_and_remove(&fill, err);
    cleaning->result->files_removed += fill.files;
    cleaning->result->bytes_removed += fill.bytes;
    return LMN_OK;
}

enum lmn_status lmn__cleanup_fills(struct lmn_store *store, const struct lmn__manifest *manifest,
                                   int64_t since_ns, bool dry_run,
                                   struct lmn_cleanup_result *result, struct lmn_error *err)
{
    struct cleaning cleaning = { store, manifest, since_ns, dry_run, result };

    return store->ops->list(store, root, see_fill, &cleaning, err);
}
