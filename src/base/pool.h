/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - counted buffers of column data.
 *
 * A block is a counted, 64-byte aligned piece of memory. It may be shared by many Arrow arrays
 * and given back from any thread, also after the environment that made it is gone. The pool
 * keeps given-back memory for the next batch, so that a scan does not fault in new pages for
 * every batch, and refuses to have more than `bytes_max` out at once.
 *
 * A placed pool asks memory of the caller's for each block and keeps nothing back; blocks that it
 * has no room for come from another pool, which counts all of them.
 */
#ifndef LMN_BASE_POOL_H
#define LMN_BASE_POOL_H

#include <stdatomic.h>

#include "base/env.h"

enum { LMN__BLOCK_ALIGN = 64 };

struct lmn__pool;
struct lmn__slab;

struct lmn__block {
    uint8_t *data;
    size_t cap; /* at least what was asked for */
    struct lmn__pool *pool;
    struct lmn__slab *slab; /* NULL: the block has a region or other memory of its own */
    void *base;             /* what to give back when slab is NULL */
    atomic_uint_fast32_t reference_count;
};

struct lmn__pool_options {
    struct lmn_allocator allocator;
    void *(*region_map)(size_t bytes);                /* zeroed pages, or NULL */
    void (*region_unmap)(void *region, size_t bytes); /* as given to region_map */
    uint64_t bytes_max;
    uint64_t idle_bytes_max;
};

/* Make a pool; `options` is copied. The caller releases *pool_out. */
LMN_MUST_USE enum lmn_status lmn__pool_new(const struct lmn__pool_options *options,
                                           struct lmn__pool **pool_out, struct lmn_error *err);

/*
 * Make a pool over `memory`, which it owns from then on, and `rest`, an ordinary pool that it keeps
 * a reference to. The caller releases *pool_out.
 */
LMN_MUST_USE enum lmn_status lmn__pool_new_placed(struct lmn__pool *rest,
                                                  const struct lmn_memory *memory,
                                                  struct lmn__pool **pool_out,
                                                  struct lmn_error *err);

/* What a placed pool has got from its memory since it was made, and how often it got nothing. */
struct lmn__pool_placed {
    uint64_t blocks, bytes, refused;
};

struct lmn__pool_placed lmn__pool_placed(const struct lmn__pool *pool);

/* Drop the owner's reference. The pool itself ends with its last block. */
void lmn__pool_release(struct lmn__pool *pool);

uint64_t lmn__pool_bytes(const struct lmn__pool *pool);
uint64_t lmn__pool_bytes_peak(const struct lmn__pool *pool);

/*
 * Get a block of at least `bytes` bytes with one reference. Its content is undefined.
 *
 * LMN_E_NO_MEMORY  the heap is exhausted, or the pool's limit is reached
 */
LMN_MUST_USE enum lmn_status lmn__block_new(struct lmn__pool *pool, size_t bytes,
                                            struct lmn__block **block_out, struct lmn_error *err);

struct lmn__block *lmn__block_acquire(struct lmn__block *block);

/* Give a reference back; NULL is ignored. */
void lmn__block_release(struct lmn__block *block);

/*
 * Hold the pool still while the process forks: between the two calls nobody else uses it, so that
 * the child finds it whole and free.
 */
void lmn__pool_freeze(struct lmn__pool *pool);
void lmn__pool_thaw(struct lmn__pool *pool);

#endif
