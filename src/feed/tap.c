/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only data and deletion files are kept in the cache: they never change, so that one of the same
 * name and size in the same place is the same file.
 */
#include "feed/tap.h"

#include <string.h>

#include "feed/cache.h"
#include "os/clock.h"

struct tap_store {
    struct lmn_store base;
    struct lmn_store *inner; /* counted */
    struct lmn__cache *cache;
    struct lmn__tap_counts *counts;
};

struct tap_file {
    struct lmn__store_file base;
    struct lmn__store_file *inner;
    struct lmn__cached_file *cached; /* NULL: it is not kept */
};

static struct tap_store *tap_of(struct lmn_store *store)
{
    return (struct tap_store *)store;
}

static struct lmn_store *inner_of(struct lmn_store *store)
{
    return tap_of(store)->inner;
}

static void tap_close(struct lmn__store_file *base)
{
    struct tap_file *file = (struct tap_file *)base;

    lmn__cached_file_close(file->cached);
    if (file->inner != NULL)
        inner_of(base->store)->ops->close(file->inner);
    lmn__store_file_free(base);
}

static bool is_constant(const char *path)
{
    return strncmp(path, "data/", sizeof "data/" - 1) == 0 ||
           strncmp(path, "_deletions/", sizeof "_deletions/" - 1) == 0;
}

static enum lmn_status tap_open(struct lmn_store *store, const char *path,
                                struct lmn__store_file **file_out, struct lmn_error *err)
{
    struct tap_store *tap = tap_of(store);
    struct tap_file *file;
    enum lmn_status st = lmn__store_file_new(store, sizeof *file, file_out, err);

    if (st != LMN_OK)
        return st;
    file = (struct tap_file *)*file_out;
    st = tap->inner->ops->open(tap->inner, path, &file->inner, err);
    if (st == LMN_OK) {
        file->base.bytes = file->inner->bytes;
        if (tap->cache != NULL && is_constant(path))
            st = lmn__cached_file_open(tap->cache, store->name, path, file->base.bytes,
                                       &file->cached, err);
    }
    if (st != LMN_OK) {
        tap_close(*file_out);
        *file_out = NULL;
    }
    return st;
}

static enum lmn_status tap_create(struct lmn_store *store, const char *path,
                                  struct lmn__store_file **file_out, struct lmn_error *err)
{
    struct lmn_store *inner = inner_of(store);
    struct tap_file *file;
    enum lmn_status st = lmn__store_file_new(store, sizeof *file, file_out, err);

    if (st != LMN_OK)
        return st;
    file = (struct tap_file *)*file_out;
    st = inner->ops->create(inner, path, &file->inner, err);
    if (st != LMN_OK) {
        tap_close(*file_out);
        *file_out = NULL;
    }
    return st;
}

/* A read of the inner file, counted; `context` is the tap's file. */
static enum lmn_status read_inner(void *context, uint64_t offset, void *data, size_t len,
                                  struct lmn_error *err)
{
    struct tap_file *file = context;
    struct tap_store *tap = tap_of(file->base.store);
    int64_t start = lmn__clock_now_ns();
    enum lmn_status st = tap->inner->ops->read_at(file->inner, offset, data, len, err);

    atomic_fetch_add(&tap->counts->store_ns, (uint64_t)(lmn__clock_now_ns() - start));
    atomic_fetch_add(&tap->counts->store_requests, 1);
    atomic_fetch_add(&tap->counts->store_bytes, len);
    return st;
}

static enum lmn_status tap_read_at(struct lmn__store_file *base, uint64_t offset, void *data,
                                   size_t len, struct lmn_error *err)
{
    struct tap_file *file = (struct tap_file *)base;
    struct lmn__tap_counts *counts = tap_of(base->store)->counts;
    uint64_t store_ns, hit_bytes = 0;
    int64_t start;
    enum lmn_status st;

    if (file->cached == NULL)
        return read_inner(file, offset, data, len, err);
    start = lmn__clock_now_ns();
    store_ns = 0;
    st = lmn__cached_file_read(file->cached, offset, data, len, read_inner, file, &store_ns,
                               &hit_bytes, err);
    atomic_fetch_add(&counts->cache_ns, (uint64_t)(lmn__clock_now_ns() - start) - store_ns);
    atomic_fetch_add(&counts->cache_hit_bytes, hit_bytes);
    return st;
}

/*
 * A feed reads many batches at a time, which keeps a device busy: what was fetched beside them
 * would hold up the next ones.
 */
static void tap_will_read(struct lmn__store_file *base, const struct lmn__file_range *range,
                          size_t count, bool only)
{
    struct tap_file *file = (struct tap_file *)base;
    struct lmn_store *inner = inner_of(base->store);

    (void)only;
    if (file->cached == NULL && inner->ops->will_read != NULL)
        inner->ops->will_read(file->inner, range, count, true);
}

static enum lmn_status tap_write_at(struct lmn__store_file *base, uint64_t offset, const void *data,
                                    size_t len, struct lmn_error *err)
{
    return inner_of(base->store)
        ->ops->write_at(((struct tap_file *)base)->inner, offset, data, len, err);
}

static enum lmn_status tap_sync(struct lmn__store_file *base, struct lmn_error *err)
{
    return inner_of(base->store)->ops->sync(((struct tap_file *)base)->inner, err);
}

static enum lmn_status tap_rename(struct lmn_store *store, const char *from, const char *to,
                                  struct lmn_error *err)
{
    return inner_of(store)->ops->rename(inner_of(store), from, to, err);
}

static enum lmn_status tap_link(struct lmn_store *store, const char *from, const char *to,
                                struct lmn_error *err)
{
    return inner_of(store)->ops->link(inner_of(store), from, to, err);
}

static enum lmn_status tap_remove(struct lmn_store *store, const char *path, struct lmn_error *err)
{
    return inner_of(store)->ops->remove(inner_of(store), path, err);
}

static enum lmn_status tap_remove_dir(struct lmn_store *store, const char *path,
                                      struct lmn_error *err)
{
    return inner_of(store)->ops->remove_dir(inner_of(store), path, err);
}

static enum lmn_status tap_sync_dir(struct lmn_store *store, const char *path,
                                    struct lmn_error *err)
{
    return inner_of(store)->ops->sync_dir(inner_of(store), path, err);
}

static enum lmn_status tap_list(struct lmn_store *store, const char *path,
                                lmn__store_entry_fn entry, void *context, struct lmn_error *err)
{
    return inner_of(store)->ops->list(inner_of(store), path, entry, context, err);
}

static enum lmn_status tap_stat(struct lmn_store *store, const char *path,
                                struct lmn__store_stat *stat_out, struct lmn_error *err)
{
    return inner_of(store)->ops->stat(inner_of(store), path, stat_out, err);
}

static void tap_destroy(struct lmn_store *store)
{
    lmn_store_release(inner_of(store));
}

static const struct lmn__store_ops tap_ops = {
    .kind = "tap",
    .open = tap_open,
    .create = tap_create,
    .read_at = tap_read_at,
    .will_read = tap_will_read,
    .write_at = tap_write_at,
    .sync = tap_sync,
    .close = tap_close,
    .rename = tap_rename,
    .link = tap_link,
    .remove = tap_remove,
    .remove_dir = tap_remove_dir,
    .sync_dir = tap_sync_dir,
    .list = tap_list,
    .stat = tap_stat,
    .destroy = tap_destroy,
};

enum lmn_status lmn__store_open_tap(struct lmn_store *inner, struct lmn__cache *cache,
                                    struct lmn__tap_counts *counts, struct lmn_store **store_out,
                                    struct lmn_error *err)
{
    struct tap_store *tap;
    enum lmn_status st = lmn__store_new(inner->env, &tap_ops, inner->name, sizeof *tap, store_out,
                                        err);

    if (st != LMN_OK)
        return st;
    tap = (struct tap_store *)*store_out;
    tap->inner = lmn_store_acquire(inner);
    tap->cache = cache;
    tap->counts = counts;
    return LMN_OK;
}
