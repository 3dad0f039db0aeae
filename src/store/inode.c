/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Readers copy without the lock, from a content that they count and up to the size they saw.
 * Writers hold it: they put new bytes behind that size before they publish a larger one; when one
 * needs more room it swaps in a larger content and leaves readers the one before.
 */
#include "store/inode.h"

#include <string.h>

#include "base/math.h"
#include "os/clock.h"
#include "os/thread.h"

enum { CONTENT_BYTES_MIN = 256 };

struct content {
    atomic_uint_fast64_t reference_count;
    size_t cap;
    uint8_t data[];
};

struct lmn__inode {
    struct lmn_env *env; /* borrowed */
    atomic_uint_fast64_t reference_count;
    struct lmn__mutex mutex;
    struct {
        struct content *content; /* NULL while empty */
        uint64_t bytes;
        int64_t modified_ns;
        const void *owner; /* who has the file's lock; NULL: nobody */
    } locked;
};

enum lmn_status lmn__inode_new(struct lmn_env *env, struct lmn__inode **inode_out,
                               struct lmn_error *err)
{
    struct lmn__inode *inode = lmn__calloc(env, 1, sizeof *inode);
    enum lmn_status st;

    *inode_out = NULL;
    if (inode == NULL)
        return lmn__no_memory(err, "a file in memory", sizeof *inode);
    st = lmn__mutex_init(&inode->mutex, err);
    if (st != LMN_OK) {
        lmn__free(env, inode);
        return st;
    }
    inode->env = env;
    inode->locked.modified_ns = lmn__clock_now_ns();
    atomic_init(&inode->reference_count, 1);
    *inode_out = inode;
    return LMN_OK;
}

struct lmn__inode *lmn__inode_acquire(struct lmn__inode *inode)
{
    atomic_fetch_add(&inode->reference_count, 1);
    return inode;
}

static void content_release(struct lmn_env *env, struct content *content)
{
    if (content != NULL && atomic_fetch_sub(&content->reference_count, 1) == 1)
        lmn__free(env, content);
}

void lmn__inode_release(struct lmn__inode *inode)
{
    if (inode == NULL || atomic_fetch_sub(&inode->reference_count, 1) != 1)
        return;
    content_release(inode->env, inode->locked.content);
    lmn__mutex_deinit(&inode->mutex);
    lmn__free(inode->env, inode);
}

uint64_t lmn__inode_bytes(struct lmn__inode *inode)
{
    uint64_t bytes;

    lmn__mutex_lock(&inode->mutex);
    bytes = inode->locked.bytes;
    lmn__mutex_unlock(&inode->mutex);
    return bytes;
}

int64_t lmn__inode_modified_ns(struct lmn__inode *inode)
{
    int64_t modified;

    lmn__mutex_lock(&inode->mutex);
    modified = inode->locked.modified_ns;
    lmn__mutex_unlock(&inode->mutex);
    return modified;
}

bool lmn__inode_lock(struct lmn__inode *inode, const void *owner)
{
    bool taken;

    lmn__mutex_lock(&inode->mutex);
    taken = inode->locked.owner == NULL || inode->locked.owner == owner;
    if (taken)
        inode->locked.owner = owner;
    lmn__mutex_unlock(&inode->mutex);
    return taken;
}

void lmn__inode_unlock(struct lmn__inode *inode, const void *owner)
{
    lmn__mutex_lock(&inode->mutex);
    if (inode->locked.owner == owner)
        inode->locked.owner = NULL;
    lmn__mutex_unlock(&inode->mutex);
}

enum lmn_status lmn__inode_read(struct lmn__inode *inode, const char *name, uint64_t offset,
                                void *data, size_t len, struct lmn_error *err)
{
    struct content *content;
    uint64_t bytes;
    bool inside;

    if (len == 0)
        return LMN_OK;
    lmn__mutex_lock(&inode->mutex);
    bytes = inode->locked.bytes;
    content = inode->locked.content;
    if (content != NULL)
        atomic_fetch_add(&content->reference_count, 1);
    lmn__mutex_unlock(&inode->mutex);
    inside = content != NULL && lmn__range_fits(offset, len, bytes);
    if (inside)
        memcpy(data, content->data + offset, len);
    content_release(inode->env, content);
    if (!inside)
        return lmn_fail(err, LMN_E_CORRUPT, "%s has %llu bytes; %zu from byte %llu are wanted",
                        name, (unsigned long long)bytes, len, (unsigned long long)offset);
    return LMN_OK;
}

/* Room for `bytes` bytes. Readers keep the content they have. */
static enum lmn_status grow_locked(struct lmn__inode *inode, uint64_t bytes, struct lmn_error *err)
{
    struct content *before = inode->locked.content, *content;
    uint64_t cap = before != NULL ? before->cap : 0;

    if (bytes <= cap)
        return LMN_OK;
    if (bytes > SIZE_MAX / 2)
        return lmn__no_memory(err, "a file in memory", bytes);
    cap = lmn__max_u64(lmn__max_u64(bytes, cap * 2), CONTENT_BYTES_MIN);
    content = lmn__alloc(inode->env, sizeof *content + cap);
    if (content == NULL)
        return lmn__no_memory(err, "a file in memory", cap);
    atomic_init(&content->reference_count, 1);
    content->cap = cap;
    if (before != NULL)
        memcpy(content->data, before->data, inode->locked.bytes);
    inode->locked.content = content;
    content_release(inode->env, before);
    return LMN_OK;
}

enum lmn_status lmn__inode_write(struct lmn__inode *inode, uint64_t offset, const void *data,
                                 size_t len, struct lmn_error *err)
{
    uint64_t end, bytes;
    enum lmn_status st;

    if (len == 0)
        return LMN_OK;
    if (!lmn__add_u64(offset, len, &end))
        return lmn__no_memory(err, "a file in memory", UINT64_MAX);
    lmn__mutex_lock(&inode->mutex);
    st = grow_locked(inode, end, err);
    if (st == LMN_OK) {
        bytes = inode->locked.bytes;
        if (offset > bytes)
            memset(inode->locked.content->data + bytes, 0, offset - bytes);
        memcpy(inode->locked.content->data + offset, data, len);
        inode->locked.bytes = lmn__max_u64(bytes, end);
        inode->locked.modified_ns = lmn__clock_now_ns();
    }
    lmn__mutex_unlock(&inode->mutex);
    return st;
}
