/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdbool.h>
#include <string.h>

#include "base/math.h"

enum { CHUNK_BYTES = 4096 - 64, CHUNK_BYTES_MAX = 1 << 20, ALIGN = 16 };

/* Far from the top of its range, so that rounding a request and adding a header cannot wrap. */
static const size_t REQUEST_BYTES_MAX = SIZE_MAX / 2;

struct lmn__arena_chunk {
    struct lmn__arena_chunk *next;
    size_t cap;
    _Alignas(ALIGN) uint8_t data[];
};

void lmn__arena_init(struct lmn__arena *arena, struct lmn_env *env, uint64_t bytes_max)
{
    *arena = (struct lmn__arena){ .env = env,
                                  .bytes_max = bytes_max != 0 ? bytes_max
                                                              : env->metadata_bytes_max };
}

void lmn__arena_deinit(struct lmn__arena *arena)
{
    while (arena->chunk != NULL) {
        struct lmn__arena_chunk *chunk = arena->chunk;

        arena->chunk = chunk->next;
        lmn__free(arena->env, chunk);
    }
    arena->used = 0;
    arena->bytes = 0;
}

/* A first chunk with room for `bytes`; chunks double up to a mebibyte. */
static bool grow(struct lmn__arena *arena, size_t bytes)
{
    struct lmn__arena_chunk *chunk;
    uint64_t cap = arena->chunk != NULL ? arena->chunk->cap * 2 : CHUNK_BYTES;

    cap = lmn__max_u64(lmn__min_u64(cap, CHUNK_BYTES_MAX), bytes);
    if (cap > arena->bytes_max - arena->bytes)
        cap = bytes;
    if (cap > arena->bytes_max - arena->bytes)
        return false;
    chunk = lmn__alloc(arena->env, sizeof *chunk + cap);
    if (chunk == NULL)
        return false;
    chunk->next = arena->chunk;
    chunk->cap = cap;
    arena->chunk = chunk;
    arena->used = 0;
    arena->bytes += cap;
    return true;
}

void *lmn__arena_alloc(struct lmn__arena *arena, size_t bytes)
{
    void *memory;

    if (bytes > arena->bytes_max || bytes > REQUEST_BYTES_MAX)
        return NULL;
    bytes = lmn__align_up(bytes != 0 ? bytes : 1, ALIGN);
    if (arena->chunk == NULL || bytes > arena->chunk->cap - arena->used) {
        if (!grow(arena, bytes))
            return NULL;
    }
    memory = arena->chunk->data + arena->used;
    arena->used += bytes;
    return memset(memory, 0, bytes);
}

void *lmn__arena_array(struct lmn__arena *arena, size_t count, size_t bytes)
{
    uint64_t total;

    if (!lmn__mul_u64(count, bytes, &total))
        return NULL;
    return lmn__arena_alloc(arena, total);
}

char *lmn__arena_strndup(struct lmn__arena *arena, const void *text, size_t len)
{
    char *copy = len < SIZE_MAX ? lmn__arena_alloc(arena, len + 1) : NULL;

    if (copy != NULL && len != 0)
        memcpy(copy, text, len);
    return copy;
}

enum lmn_status lmn__arena_fail(const struct lmn__arena *arena, const char *what,
                                struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_NO_MEMORY, "no memory for %s (%llu of at most %llu bytes used)",
                    what, (unsigned long long)arena->bytes, (unsigned long long)arena->bytes_max);
}

struct lmn__arena *lmn__arena_new(struct lmn_env *env)
{
    struct lmn__arena *arena = lmn__alloc(env, sizeof *arena);

    if (arena != NULL)
        lmn__arena_init(arena, lmn_env_acquire(env), 0);
    return arena;
}

void lmn__arena_free(struct lmn__arena *arena)
{
    struct lmn_env *env;

    if (arena == NULL)
        return;
    env = arena->env;
    lmn__arena_deinit(arena);
    lmn__free(env, arena);
    lmn_env_release(env);
}

enum lmn_status lmn__arena_keep(struct lmn__arena *arena, struct lmn__buf *buf, const char *what,
                                struct lmn__span *bytes_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__buf_status(buf, what, err);

    *bytes_out = (struct lmn__span){ NULL, 0 };
    if (st == LMN_OK) {
        bytes_out->data = (const uint8_t *)lmn__arena_strndup(arena, buf->data, buf->len);
        bytes_out->len = buf->len;
        if (bytes_out->data == NULL)
            st = lmn__arena_fail(arena, what, err);
    }
    lmn__buf_deinit(buf);
    return st;
}
