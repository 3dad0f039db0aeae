/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h - memory for the metadata of one operation, freed all at once.
 *
 * Not for column data. An arena belongs to one thread at a time.
 */
#ifndef LMN_BASE_ARENA_H
#define LMN_BASE_ARENA_H

#include "base/buf.h"
#include "base/env.h"

struct lmn__arena_chunk;

struct lmn__arena {
    struct lmn_env *env; /* borrowed */
    struct lmn__arena_chunk *chunk;
    size_t used;        /* of the first chunk */
    uint64_t bytes;     /* of all chunks */
    uint64_t bytes_max; /* a request beyond this is refused */
};

/* `bytes_max` 0 takes the environment's metadata limit. */
void lmn__arena_init(struct lmn__arena *arena, struct lmn_env *env, uint64_t bytes_max);
void lmn__arena_deinit(struct lmn__arena *arena);

/* An arena that owns itself and keeps its environment alive; NULL when the heap is exhausted. */
struct lmn__arena *lmn__arena_new(struct lmn_env *env);
/* NULL is ignored. */
void lmn__arena_free(struct lmn__arena *arena);

/* Zeroed memory, aligned for any object; NULL when the heap or the limit is exhausted. */
void *lmn__arena_alloc(struct lmn__arena *arena, size_t bytes);

/* As lmn__arena_alloc() for `count` objects; checks the product. */
void *lmn__arena_array(struct lmn__arena *arena, size_t count, size_t bytes);

/* A copy with a terminating NUL. */
char *lmn__arena_strndup(struct lmn__arena *arena, const void *text, size_t len);

/*
 * Move what a buffer holds into the arena and free the buffer, also on failure. `what` names it in
 * the message.
 */
LMN_MUST_USE enum lmn_status lmn__arena_keep(struct lmn__arena *arena, struct lmn__buf *buf,
                                             const char *what, struct lmn__span *bytes_out,
                                             struct lmn_error *err);

/* The status and message of a failed request. */
enum lmn_status lmn__arena_fail(const struct lmn__arena *arena, const char *what,
                                struct lmn_error *err);

#endif
