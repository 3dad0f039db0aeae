/* SPDX-License-Identifier: Apache-2.0 */
#include "store/store.h"

#include <string.h>

enum lmn_status lmn__store_new(struct lmn_env *env, const struct lmn__store_ops *ops,
                               const char *name, size_t bytes, struct lmn_store **store_out,
                               struct lmn_error *err)
{
    struct lmn_store *store;
    enum lmn_status st;

    *store_out = NULL;
    st = lmn__env_resolve(env, &env, err);
    if (st != LMN_OK)
        return st;
    store = lmn__calloc(env, 1, bytes);
    if (store == NULL) {
        lmn_env_release(env);
        return lmn__no_memory(err, "a store", bytes);
    }
    store->name = lmn__strndup(env, name, strlen(name));
    if (store->name == NULL) {
        lmn__free(env, store);
        lmn_env_release(env);
        return lmn__no_memory(err, "the name of a store", strlen(name) + 1);
    }
    store->ops = ops;
    store->env = env;
    atomic_init(&store->reference_count, 1);
    *store_out = store;
    return LMN_OK;
}

struct lmn_store *lmn_store_acquire(struct lmn_store *store)
{
    atomic_fetch_add(&store->reference_count, 1);
    return store;
}

void lmn_store_release(struct lmn_store *store)
{
    struct lmn_env *env;

    if (store == NULL || atomic_fetch_sub(&store->reference_count, 1) != 1)
        return;
    env = store->env;
    store->ops->destroy(store);
    lmn__free(env, store->name);
    lmn__free(env, store);
    lmn_env_release(env);
}

enum lmn_status lmn__store_file_new(struct lmn_store *store, size_t bytes,
                                    struct lmn__store_file **file_out, struct lmn_error *err)
{
    struct lmn__store_file *file = lmn__calloc(store->env, 1, bytes);

    *file_out = NULL;
    if (file == NULL)
        return lmn__no_memory(err, "an open file", bytes);
    file->store = lmn_store_acquire(store);
    *file_out = file;
    return LMN_OK;
}

void lmn__store_file_free(struct lmn__store_file *file)
{
    struct lmn_store *store;

    if (file == NULL)
        return;
    store = file->store;
    lmn__free(store->env, file);
    lmn_store_release(store);
}

static bool part_is_plain(const char *part, size_t len)
{
    if (len == 0 || (len == 1 && part[0] == '.'))
        return false;
    return !(len == 2 && part[0] == '.' && part[1] == '.');
}

enum lmn_status lmn__store_check_path(const struct lmn_store *store, const char *path,
                                      struct lmn_error *err)
{
    for (const char *part = path;; part++) {
        size_t len = strcspn(part, "/");

        if (!part_is_plain(part, len))
            return lmn_fail(err, LMN_E_INVALID,
                            "%s: \"%s\" is not a path inside a store: it is empty or absolute, or "
                            "has an empty, \".\" or \"..\" part",
                            store->name, path);
        part += len;
        if (*part == '\0')
            return LMN_OK;
    }
}

size_t lmn__store_dir_len(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? (size_t)(slash - path) : 0;
}

enum lmn_status lmn__store_write_past(struct lmn__store_file *file, uint64_t offset,
                                      const void *data, size_t len, struct lmn_error *err)
{
    const struct lmn__store_ops *ops = file->store->ops;

    return (ops->write_past != NULL ? ops->write_past : ops->write_at)(file, offset, data, len,
                                                                       err);
}
