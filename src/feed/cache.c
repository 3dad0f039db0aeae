/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file is kept in a directory named by the hash of its place, path and size, in pieces of
 * PIECE_BYTES (the last one shorter), each followed by its XXH3:
 *
 *   <16 hexadecimal digits>/<number of the piece>   the piece and 8 bytes of checksum
 *   <16 hexadecimal digits>/used                    empty; its time says when the file was last
 *                                                   opened
 *
 * When there is no room, files that this process has not opened make some, the longest unused one
 * first. Those that it has opened stay: of a table that does not fit, a part that stays is worth
 * more to reads in random order than one that changes all the time.
 *
 * One mutex guards the list of open files and every count of what is there (room.h).
 */
#include "feed/cache.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "base/pool.h"
#include "feed/room.h"
#include "os/clock.h"
#include "os/thread.h"
#include "store/draft.h"
#include "store/object.h"

enum {
    PIECE_BYTES = 1 << 20,
    SUM_BYTES = 8,
    PATH_BYTES = 64,
};

struct lmn__cached_file {
    struct lmn__cache *cache;
    struct lmn__cached_file *next; /* guarded by the cache's mutex */
    uint64_t key;
    uint64_t bytes;
    atomic_uchar *known; /* of each piece: it is there and its checksum was right */
};

struct lmn__cache {
    struct lmn_env *env;     /* counted */
    struct lmn_store *store; /* counted */
    atomic_uint_fast64_t found_bytes;
    atomic_bool full; /* nothing can make room */
    struct lmn__mutex mutex;
    struct {
        struct lmn__cached_file *file;
        struct lmn__room room;
    } locked;
};

static void piece_path(const struct lmn__cached_file *file, uint64_t piece, char *path_out)
{
    snprintf(path_out, PATH_BYTES, "%016" PRIx64 "/%" PRIx64, file->key, piece);
}

static uint64_t piece_bytes(const struct lmn__cached_file *file, uint64_t piece)
{
    return lmn__min_u64(PIECE_BYTES, file->bytes - piece * PIECE_BYTES);
}

/* Files that are open here stay. */
static bool is_open_locked(void *context, uint64_t key)
{
    const struct lmn__cache *cache = context;
    const struct lmn__cached_file *file = cache->locked.file;

    while (file != NULL && file->key != key)
        file = file->next;
    return file != NULL;
}

/* Is there room for so many bytes more, or can some be made? */
static bool take_room(struct lmn__cache *cache, uint64_t bytes)
{
    enum lmn__room_answer answer;

    lmn__mutex_lock(&cache->mutex);
    answer = lmn__room_take(&cache->locked.room, bytes);
    if (answer == LMN__ROOM_NONE)
        atomic_store(&cache->full, true);
    lmn__mutex_unlock(&cache->mutex);
    return answer == LMN__ROOM_TAKEN;
}

enum lmn_status lmn__cache_open(struct lmn_store *store, uint64_t bytes_max,
                                struct lmn__cache **cache_out, struct lmn_error *err)
{
    struct lmn__cache *cache;
    enum lmn_status st;

    *cache_out = NULL;
    if (bytes_max < PIECE_BYTES + SUM_BYTES)
        return lmn_fail(err, LMN_E_INVALID,
                        "%.200s: a cache of %llu bytes has no room for a piece, which has %d",
                        store->name, (unsigned long long)bytes_max, PIECE_BYTES + SUM_BYTES);
    cache = lmn__calloc(store->env, 1, sizeof *cache);
    if (cache == NULL)
        return lmn__no_memory(err, "a cache", sizeof *cache);
    st = lmn__mutex_init(&cache->mutex, err);
    if (st != LMN_OK) {
        lmn__free(store->env, cache);
        return st;
    }
    cache->env = lmn_env_acquire(store->env);
    cache->store = lmn_store_acquire(store);
    cache->locked.room = (struct lmn__room){ .store = store,
                                             .bytes_max = bytes_max,
                                             .piece_bytes_max = PIECE_BYTES + SUM_BYTES,
                                             .stays = is_open_locked,
                                             .context = cache };
    st = lmn__room_open(&cache->locked.room, err);
    if (st == LMN_OK)
        *cache_out = cache;
    else
        lmn__cache_close(cache);
    return st;
}

void lmn__cache_close(struct lmn__cache *cache)
{
    struct lmn_env *env;

    if (cache == NULL)
        return;
    env = cache->env;
    lmn_store_release(cache->store);
    lmn__mutex_deinit(&cache->mutex);
    lmn__free(env, cache);
    lmn_env_release(env);
}

uint64_t lmn__cache_bytes(struct lmn__cache *cache)
{
    uint64_t bytes;

    lmn__mutex_lock(&cache->mutex);
    bytes = lmn__room_bytes(&cache->locked.room);
    lmn__mutex_unlock(&cache->mutex);
    return bytes;
}

uint64_t lmn__cache_found_bytes(struct lmn__cache *cache)
{
    return atomic_load(&cache->found_bytes);
}

bool lmn__cache_is_full(struct lmn__cache *cache)
{
    return atomic_load(&cache->full);
}

/* Note that the file is used now; a cache that cannot be written is read all the same. */
static void mark_used(struct lmn__cached_file *file)
{
    struct lmn_store *store = file->cache->store;
    struct lmn__draft draft;
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%016" PRIx64 "/used", file->key);
    if (lmn__draft_open(store, path, &draft, NULL) != LMN_OK)
        return;
    if (lmn__draft_publish(&draft, LMN__PUBLISH_REPLACE, false, NULL) != LMN_OK)
        return;
}

static uint64_t file_key(const char *root, const char *path, uint64_t bytes)
{
    uint64_t part[3] = { lmn__hash64(root, strlen(root)), lmn__hash64(path, strlen(path)), bytes };

    return lmn__hash64(part, sizeof part);
}

enum lmn_status lmn__cached_file_open(struct lmn__cache *cache, const char *root, const char *path,
                                      uint64_t bytes, struct lmn__cached_file **file_out,
                                      struct lmn_error *err)
{
    uint64_t pieces = lmn__div_up(bytes, PIECE_BYTES);
    struct lmn__cached_file *file = lmn__calloc(cache->env, 1, sizeof *file);

    *file_out = NULL;
    if (file != NULL)
        file->known = lmn__calloc(cache->env, lmn__max_u64(pieces, 1), sizeof *file->known);
    if (file == NULL || file->known == NULL) {
        lmn__free(cache->env, file);
        return lmn__no_memory(err, "a cached file", pieces);
    }
    file->cache = cache;
    file->key = file_key(root, path, bytes);
    file->bytes = bytes;
    mark_used(file);
    lmn__mutex_lock(&cache->mutex);
    file->next = cache->locked.file;
    cache->locked.file = file;
    lmn__mutex_unlock(&cache->mutex);
    *file_out = file;
    return LMN_OK;
}

void lmn__cached_file_close(struct lmn__cached_file *file)
{
    struct lmn__cached_file **link;
    struct lmn__cache *cache;

    if (file == NULL)
        return;
    cache = file->cache;
    lmn__mutex_lock(&cache->mutex);
    for (link = &cache->locked.file; *link != file; link = &(*link)->next)
        ;
    *link = file->next;
    atomic_store(&cache->full, false);
    lmn__mutex_unlock(&cache->mutex);
    lmn__free(cache->env, file->known);
    lmn__free(cache->env, file);
}

/* Read a part of a piece from the cache; false when it does not have it. */
static bool read_kept(struct lmn__cached_file *file, uint64_t piece, uint64_t from, void *data,
                      size_t len)
{
    struct lmn_store *store = file->cache->store;
    uint64_t bytes = piece_bytes(file, piece);
    struct lmn__block *block = NULL;
    struct lmn__object object;
    char path[PATH_BYTES];
    enum lmn_status st;

    piece_path(file, piece, path);
    if (lmn__object_open(store, path, &object, NULL) != LMN_OK)
        return false;
    if (object.bytes != bytes + SUM_BYTES) {
        st = LMN_E_CORRUPT;
    } else if (atomic_load(&file->known[piece])) {
        st = lmn__object_read(&object, from, data, len, NULL);
    } else {
        st = lmn__object_read_block(&object, 0, bytes + SUM_BYTES, &block, NULL);
        if (st == LMN_OK && lmn__load_u64(block->data + bytes) != lmn__hash64(block->data, bytes))
            st = LMN_E_CORRUPT;
        if (st == LMN_OK) {
            memcpy(data, block->data + from, len);
            atomic_fetch_add(&file->cache->found_bytes, bytes);
        }
        lmn__block_release(block);
    }
    lmn__object_close(&object);
    atomic_store(&file->known[piece], st == LMN_OK);
    return st == LMN_OK;
}

/* Keep a piece with room for its checksum behind it. What goes wrong is left to the next read. */
static void keep(struct lmn__cached_file *file, uint64_t piece, uint8_t *data)
{
    uint64_t bytes = piece_bytes(file, piece);
    struct lmn__draft draft;
    char path[PATH_BYTES];

    lmn__store_u64(data + bytes, lmn__hash64(data, bytes));
    piece_path(file, piece, path);
    if (!take_room(file->cache, bytes + SUM_BYTES))
        return;
    if (lmn__draft_open(file->cache->store, path, &draft, NULL) != LMN_OK)
        return;
    if (lmn__draft_write_at(&draft, 0, data, bytes + SUM_BYTES, NULL) != LMN_OK) {
        lmn__draft_abort(&draft);
        atomic_store(&file->cache->full, true);
        return;
    }
    if (lmn__draft_publish(&draft, LMN__PUBLISH_REPLACE, false, NULL) != LMN_OK)
        return;
    atomic_store(&file->known[piece], 1);
}

/* A read of the file itself, with its time. */
struct origin {
    lmn__cache_read_fn read;
    void *context;
    uint64_t *ns;
};

static enum lmn_status read_origin(const struct origin *origin, uint64_t offset, void *data,
                                   size_t len, struct lmn_error *err)
{
    int64_t start = lmn__clock_now_ns();
    enum lmn_status st = origin->read(origin->context, offset, data, len, err);

    *origin->ns += (uint64_t)(lmn__clock_now_ns() - start);
    return st;
}

/* Read a part of a piece that the cache does not have. */
static enum lmn_status read_missing(struct lmn__cached_file *file, uint64_t piece, uint64_t from,
                                    void *data, size_t len, const struct origin *origin,
                                    struct lmn_error *err)
{
    struct lmn__block *block = NULL;
    enum lmn_status st;

    if (atomic_load(&file->cache->full) ||
        lmn__block_new(file->cache->env->pool, PIECE_BYTES + SUM_BYTES, &block, NULL) != LMN_OK)
        return read_origin(origin, piece * PIECE_BYTES + from, data, len, err);
    st = read_origin(origin, piece * PIECE_BYTES, block->data, piece_bytes(file, piece), err);
    if (st == LMN_OK) {
        memcpy(data, block->data + from, len);
        keep(file, piece, block->data);
    }
    lmn__block_release(block);
    return st;
}

enum lmn_status lmn__cached_file_read(struct lmn__cached_file *file, uint64_t offset, void *data,
                                      size_t len, lmn__cache_read_fn read, void *context,
                                      uint64_t *store_ns, uint64_t *hit_bytes,
                                      struct lmn_error *err)
{
    const struct origin origin = { read, context, store_ns };
    uint8_t *to = data;
    enum lmn_status st = LMN_OK;

    /* A range that leaves the file is the store's to refuse. */
    if (!lmn__range_fits(offset, len, file->bytes))
        return read_origin(&origin, offset, data, len, err);
    while (st == LMN_OK && len != 0) {
        uint64_t piece = offset / PIECE_BYTES, from = offset % PIECE_BYTES;
        size_t here = (size_t)lmn__min_u64(len, piece_bytes(file, piece) - from);

        if (read_kept(file, piece, from, to, here))
            *hit_bytes += here;
        else
            st = read_missing(file, piece, from, to, here, &origin, err);
        to += here;
        offset += here;
        len -= here;
    }
    return st;
}
