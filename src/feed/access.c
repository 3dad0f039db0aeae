/* SPDX-License-Identifier: Apache-2.0 */
#include "feed/access.h"

static const uint64_t cache_bytes_default = (uint64_t)64 << 30;

static enum lmn_status open_cache(struct lmn__access *access, struct lmn_env *env, const char *dir,
                                  uint64_t bytes_max, struct lmn_error *err)
{
    struct lmn_store *store;
    enum lmn_status st = lmn_store_open_local(env, dir, &store, err);

    if (st != LMN_OK)
        return st;
    st = lmn__cache_open(store, bytes_max != 0 ? bytes_max : cache_bytes_default, &access->cache,
                         err);
    lmn_store_release(store);
    return st;
}

enum lmn_status lmn__access_open(struct lmn__access *access, struct lmn_table *table,
                                 const char *cache_dir, uint64_t cache_bytes_max,
                                 struct lmn_error *err)
{
    struct lmn__manifest *manifest;
    struct lmn_store *store = NULL;
    enum lmn_status st = LMN_OK;

    access->cache = NULL;
    access->table = NULL;
    if (cache_dir != NULL)
        st = open_cache(access, table->env, cache_dir, cache_bytes_max, err);
    if (st == LMN_OK)
        st = lmn__store_open_tap(table->store, access->cache, &access->counts, &store, err);
    if (st != LMN_OK)
        return st;
    manifest = lmn__table_manifest(table);
    st = lmn__table_new(store, manifest, &access->table, err);
    lmn__manifest_release(manifest);
    lmn_store_release(store);
    return st;
}

void lmn__access_close(struct lmn__access *access)
{
    lmn_table_release(access->table);
    lmn__cache_close(access->cache);
}
