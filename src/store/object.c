/* SPDX-License-Identifier: Apache-2.0 */
#include "store/object.h"

#include <stdio.h>
#include <string.h>

#include "base/math.h"

enum lmn_status lmn__object_open(struct lmn_store *store, const char *path,
                                 struct lmn__object *object_out, struct lmn_error *err)
{
    size_t root_bytes = strlen(store->name), name_bytes = root_bytes + 1 + strlen(path) + 1;
    bool slash = root_bytes != 0 && store->name[root_bytes - 1] == '/';
    struct lmn__object object = { 0 };
    enum lmn_status st;

    *object_out = object;
    object.name = lmn__alloc(store->env, name_bytes);
    if (object.name == NULL)
        return lmn__no_memory(err, "the name of a file", name_bytes);
    snprintf(object.name, name_bytes, "%s%s%s", store->name, slash ? "" : "/", path);
    st = store->ops->open(store, path, &object.file, err);
    if (st != LMN_OK) {
        lmn__free(store->env, object.name);
        return st;
    }
    object.store = lmn_store_acquire(store);
    object.bytes = object.file->bytes;
    *object_out = object;
    return LMN_OK;
}

void lmn__object_close(struct lmn__object *object)
{
    struct lmn_store *store = object->store;

    if (store == NULL)
        return;
    store->ops->close(object->file);
    lmn__free(store->env, object->name);
    *object = (struct lmn__object){ 0 };
    lmn_store_release(store);
}

static enum lmn_status check_range(const struct lmn__object *object, uint64_t offset, size_t len,
                                   struct lmn_error *err)
{
    if (lmn__range_fits(offset, len, object->bytes))
        return LMN_OK;
    return lmn_fail(err, LMN_E_CORRUPT, "%s has %llu bytes; %zu bytes from byte %llu are wanted",
                    object->name, (unsigned long long)object->bytes, len,
                    (unsigned long long)offset);
}

enum lmn_status lmn__object_read(const struct lmn__object *object, uint64_t offset, void *data,
                                 size_t len, struct lmn_error *err)
{
    enum lmn_status st = check_range(object, offset, len, err);

    if (st != LMN_OK || len == 0)
        return st;
    return object->store->ops->read_at(object->file, offset, data, len, err);
}

void lmn__object_will_read(const struct lmn__object *object, struct lmn__file_range *range,
                           size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (lmn__range_fits(range[i].offset, range[i].len, object->bytes))
            range[kept++] = range[i];
    }
    if (kept != 0 && object->store->ops->will_read != NULL)
        object->store->ops->will_read(object->file, range, kept, false);
}

enum lmn_status lmn__object_read_block(const struct lmn__object *object, uint64_t offset,
                                       size_t len, struct lmn__block **block_out,
                                       struct lmn_error *err)
{
    struct lmn__block *block;
    enum lmn_status st;

    *block_out = NULL;
    st = check_range(object, offset, len, err); /* before memory is asked for */
    if (st != LMN_OK)
        return st;
    st = lmn__block_new(object->store->env->pool, len, &block, err);
    if (st != LMN_OK)
        return st;
    st = lmn__object_read(object, offset, block->data, len, err);
    if (st != LMN_OK) {
        lmn__block_release(block);
        return st;
    }
    *block_out = block;
    return LMN_OK;
}
