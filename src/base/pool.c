/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Size classes are four per power of two (1.25, 1.5, 1.75, 2 x 2^k), so at most a fifth of a
 * block is unused. The first class is SMALL_BYTES, the last BLOCK_BYTES_MAX: a larger request is
 * refused whatever the limit. Three ways to get memory, by size:
 *
 *   below SMALL_BYTES    the environment's heap; not kept
 *   up to SLAB_BYTES/4   a place in a slab: one region cut into equal blocks of one class
 *   larger               a region of its own
 *
 * Regions are mapped in one piece and advised to use huge pages, which is what makes a fresh
 * batch cheap. A region that is given back stays mapped for the next who asks for its size;
 * beyond the limit of idle bytes the longest idle ones go. A slab whose last block is back is
 * idle, too: it stays cut as it is for its own class until its region is wanted otherwise.
 *
 * A spin lock guards the lists; it is held for a few instructions. The counters are atomic.
 */
#include "base/pool.h"

#include <stdbool.h>

#include "base/math.h"

enum {
    SMALL_BYTES = 4096,
    SLAB_BYTES = 4 << 20,
    SLAB_BLOCK_BYTES_MAX = SLAB_BYTES / 4,
    SLAB_BLOCKS_MAX = SLAB_BYTES / SMALL_BYTES,
    SMALL_LOG = 12,
    BLOCK_LOG_MAX = 42,
    CLASS_COUNT = (BLOCK_LOG_MAX - SMALL_LOG) * 4 + 1
};

static const uint64_t BLOCK_BYTES_MAX = (uint64_t)1 << BLOCK_LOG_MAX;

struct lmn__slab {
    struct lmn__slab *next, *prev; /* in the class's list, while it has free places */
    void *region;
    uint32_t class_index;
    uint32_t block_count;
    uint32_t free_count; /* free_place[0 .. free_count) are the free places */
    uint16_t free_place[SLAB_BLOCKS_MAX];
    struct lmn__block block[]; /* block_count of them */
};

/* Lies at the start of an idle region. */
struct idle_region {
    struct idle_region *next_in_class, *prev_in_class;
    struct idle_region *newer, *older;
    size_t bytes;
    struct lmn__slab *slab; /* that the region is cut for; NULL: none */
};

struct lmn__pool {
    struct lmn__pool_options options;
    struct lmn_memory memory; /* of a placed pool, which has no lists */
    struct lmn__pool *rest;   /* counted; NULL: the pool is an ordinary one */
    atomic_uint_fast64_t placed_blocks, placed_bytes, refused;
    atomic_uint_fast64_t bytes;
    atomic_uint_fast64_t bytes_peak;
    atomic_uint_fast64_t reference_count; /* the owner and every live block */
    atomic_flag lock;
    struct {
        struct lmn__slab *slab[CLASS_COUNT];
        struct idle_region *region[CLASS_COUNT];
        struct idle_region *newest, *oldest;
        uint64_t idle_bytes;
    } locked;
};

static void pool_lock(struct lmn__pool *pool)
{
    while (atomic_flag_test_and_set_explicit(&pool->lock, memory_order_acquire))
        ;
}

static void pool_unlock(struct lmn__pool *pool)
{
    atomic_flag_clear_explicit(&pool->lock, memory_order_release);
}

void lmn__pool_freeze(struct lmn__pool *pool)
{
    pool_lock(pool);
}

void lmn__pool_thaw(struct lmn__pool *pool)
{
    pool_unlock(pool);
}

/*
 * The class that holds `bytes`, SMALL_BYTES <= bytes <= BLOCK_BYTES_MAX, and the class's own
 * size. With 2^log < bytes <= 2^(log + 1), the quarters of 2^log that are needed are 5 to 8.
 */
static uint32_t class_of(size_t bytes, size_t *class_bytes_out)
{
    uint32_t log = lmn__bit_width(bytes - 1) - 1;
    size_t step = (size_t)1 << (log - 2);
    size_t quarters = lmn__div_up(bytes, step);

    *class_bytes_out = quarters * step;
    return (log + 1 - SMALL_LOG) * 4 + (uint32_t)quarters - 8;
}

enum lmn_status lmn__pool_new(const struct lmn__pool_options *options, struct lmn__pool **pool_out,
                              struct lmn_error *err)
{
    struct lmn__pool *pool;

    *pool_out = NULL;
    pool = options->allocator.alloc(options->allocator.self, sizeof *pool);
    if (pool == NULL)
        return lmn__no_memory(err, "a buffer pool", sizeof *pool);
    *pool = (struct lmn__pool){ .options = *options };
    atomic_init(&pool->placed_blocks, 0);
    atomic_init(&pool->placed_bytes, 0);
    atomic_init(&pool->refused, 0);
    atomic_init(&pool->bytes, 0);
    atomic_init(&pool->bytes_peak, 0);
    atomic_init(&pool->reference_count, 1);
    atomic_flag_clear(&pool->lock);
    *pool_out = pool;
    return LMN_OK;
}

enum lmn_status lmn__pool_new_placed(struct lmn__pool *rest, const struct lmn_memory *memory,
                                     struct lmn__pool **pool_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__pool_new(&rest->options, pool_out, err);

    if (st != LMN_OK)
        return st;
    (*pool_out)->memory = *memory;
    (*pool_out)->rest = rest;
    atomic_fetch_add(&rest->reference_count, 1);
    return LMN_OK;
}

struct lmn__pool_placed lmn__pool_placed(const struct lmn__pool *pool)
{
    return (struct lmn__pool_placed){ atomic_load(&pool->placed_blocks),
                                      atomic_load(&pool->placed_bytes),
                                      atomic_load(&pool->refused) };
}

static void region_unlink_locked(struct lmn__pool *pool, struct idle_region *region)
{
    struct idle_region **head = &pool->locked.region[class_of(region->bytes, &region->bytes)];

    *(region->prev_in_class != NULL ? &region->prev_in_class->next_in_class
                                    : head) = region->next_in_class;
    if (region->next_in_class != NULL)
        region->next_in_class->prev_in_class = region->prev_in_class;
    *(region->newer != NULL ? &region->newer->older : &pool->locked.newest) = region->older;
    *(region->older != NULL ? &region->older->newer : &pool->locked.oldest) = region->newer;
    pool->locked.idle_bytes -= region->bytes;
}

static void region_link_locked(struct lmn__pool *pool, struct idle_region *region, size_t bytes,
                               struct lmn__slab *slab)
{
    struct idle_region **head = &pool->locked.region[class_of(bytes, &bytes)];

    *region = (struct idle_region){
        .next_in_class = *head, .older = pool->locked.newest, .bytes = bytes, .slab = slab
    };
    if (*head != NULL)
        (*head)->prev_in_class = region;
    *head = region;
    *(region->older != NULL ? &region->older->newer : &pool->locked.oldest) = region;
    pool->locked.newest = region;
    pool->locked.idle_bytes += bytes;
}

static void slab_unlink_locked(struct lmn__pool *pool, struct lmn__slab *slab)
{
    if (slab->prev != NULL)
        slab->prev->next = slab->next;
    else
        pool->locked.slab[slab->class_index] = slab->next;
    if (slab->next != NULL)
        slab->next->prev = slab->prev;
}

static void slab_link_locked(struct lmn__pool *pool, struct lmn__slab *slab)
{
    struct lmn__slab **head = &pool->locked.slab[slab->class_index];

    slab->prev = NULL;
    slab->next = *head;
    if (*head != NULL)
        (*head)->prev = slab;
    *head = slab;
}

/* Take an idle region out of the lists; the slab it was cut for, if any, is the caller's to free.
 */
static struct lmn__slab *region_claim_locked(struct lmn__pool *pool, struct idle_region *region)
{
    region_unlink_locked(pool, region);
    if (region->slab != NULL)
        slab_unlink_locked(pool, region->slab);
    return region->slab;
}

static void heap_release(struct lmn__pool *pool, void *memory)
{
    if (memory != NULL)
        pool->options.allocator.release(pool->options.allocator.self, memory);
}

/* A region of a class's size: an idle one, or a new one. */
static void *region_take(struct lmn__pool *pool, size_t bytes)
{
    struct idle_region *region;
    struct lmn__slab *slab = NULL;

    pool_lock(pool);
    region = pool->locked.region[class_of(bytes, &bytes)];
    if (region != NULL)
        slab = region_claim_locked(pool, region);
    pool_unlock(pool);
    heap_release(pool, slab);
    return region != NULL ? region : pool->options.region_map(bytes);
}

/* Unmap the longest idle regions while there are too many idle bytes. */
static void trim(struct lmn__pool *pool, uint64_t idle_bytes_max)
{
    pool_lock(pool);
    while (pool->locked.idle_bytes > idle_bytes_max) {
        struct idle_region *region = pool->locked.oldest;
        struct lmn__slab *slab = region_claim_locked(pool, region);

        pool_unlock(pool);
        heap_release(pool, slab);
        pool->options.region_unmap(region, region->bytes);
        pool_lock(pool);
    }
    pool_unlock(pool);
}

/* The last reference is gone: no block is out. */
static void pool_free(struct lmn__pool *pool)
{
    struct lmn__pool *rest = pool->rest;

    if (rest != NULL && pool->memory.close != NULL)
        pool->memory.close(pool->memory.self);
    trim(pool, 0);
    heap_release(pool, pool);
    lmn__pool_release(rest);
}

void lmn__pool_release(struct lmn__pool *pool)
{
    if (pool != NULL && atomic_fetch_sub(&pool->reference_count, 1) == 1)
        pool_free(pool);
}

uint64_t lmn__pool_bytes(const struct lmn__pool *pool)
{
    return atomic_load(&pool->bytes);
}

uint64_t lmn__pool_bytes_peak(const struct lmn__pool *pool)
{
    return atomic_load(&pool->bytes_peak);
}

static struct lmn__slab *slab_new(struct lmn__pool *pool, uint32_t class_index, size_t class_bytes)
{
    const struct lmn_allocator *heap = &pool->options.allocator;
    uint32_t count = (uint32_t)(SLAB_BYTES / class_bytes);
    struct lmn__slab *slab = heap->alloc(heap->self,
                                         sizeof *slab + count * sizeof(struct lmn__block));

    if (slab == NULL)
        return NULL;
    slab->region = region_take(pool, SLAB_BYTES);
    if (slab->region == NULL) {
        heap->release(heap->self, slab);
        return NULL;
    }
    slab->class_index = class_index;
    slab->block_count = slab->free_count = count;
    for (uint32_t i = 0; i < count; i++) {
        slab->free_place[i] = (uint16_t)(count - 1 - i);
        slab->block[i] = (struct lmn__block){ .data = (uint8_t *)slab->region + i * class_bytes,
                                              .cap = class_bytes,
                                              .pool = pool,
                                              .slab = slab };
    }
    return slab;
}

static struct lmn__block *slab_take(struct lmn__pool *pool, size_t bytes)
{
    size_t class_bytes;
    uint32_t class_index = class_of(bytes, &class_bytes);
    struct lmn__slab *slab;
    struct lmn__block *block;

    pool_lock(pool);
    slab = pool->locked.slab[class_index];
    if (slab == NULL) {
        pool_unlock(pool);
        slab = slab_new(pool, class_index, class_bytes);
        if (slab == NULL)
            return NULL;
        pool_lock(pool);
        slab_link_locked(pool, slab);
    } else if (slab->free_count == slab->block_count) {
        region_unlink_locked(pool, slab->region);
    }
    block = &slab->block[slab->free_place[--slab->free_count]];
    if (slab->free_count == 0)
        slab_unlink_locked(pool, slab);
    pool_unlock(pool);
    return block;
}

static void slab_give(struct lmn__pool *pool, struct lmn__block *block)
{
    struct lmn__slab *slab = block->slab;
    bool idle;

    pool_lock(pool);
    slab->free_place[slab->free_count++] = (uint16_t)(block - slab->block);
    if (slab->free_count == 1)
        slab_link_locked(pool, slab);
    idle = slab->free_count == slab->block_count;
    if (idle)
        region_link_locked(pool, slab->region, SLAB_BYTES, slab);
    pool_unlock(pool);
    if (idle)
        trim(pool, pool->options.idle_bytes_max);
}

/* A block with memory of its own: a region, or heap memory. */
static struct lmn__block *own_take(struct lmn__pool *pool, size_t bytes)
{
    const struct lmn_allocator *heap = &pool->options.allocator;
    struct lmn__block *block = heap->alloc(heap->self, sizeof *block);

    if (block == NULL)
        return NULL;
    *block = (struct lmn__block){ .pool = pool, .cap = bytes };
    if (bytes < SMALL_BYTES) {
        block->base = heap->alloc(heap->self, bytes + LMN__BLOCK_ALIGN);
        block->data = (uint8_t *)lmn__align_up((uintptr_t)block->base, LMN__BLOCK_ALIGN);
    } else {
        class_of(bytes, &block->cap);
        block->base = block->data = region_take(pool, block->cap);
    }
    if (block->base == NULL) {
        heap->release(heap->self, block);
        return NULL;
    }
    return block;
}

static void own_give(struct lmn__pool *pool, struct lmn__block *block)
{
    if (block->cap < SMALL_BYTES) {
        heap_release(pool, block->base);
    } else {
        pool_lock(pool);
        region_link_locked(pool, block->base, block->cap, NULL);
        pool_unlock(pool);
        trim(pool, pool->options.idle_bytes_max);
    }
    heap_release(pool, block);
}

/*
 * Count `bytes` as live, unless that would pass the limit. A request that is refused is never
 * counted, not even for a moment: it could push another thread's request over the limit.
 */
static bool charge(struct lmn__pool *pool, uint64_t bytes)
{
    uint_fast64_t before = atomic_load(&pool->bytes);
    uint_fast64_t peak = atomic_load(&pool->bytes_peak);

    do {
        if (!lmn__range_fits(before, bytes, pool->options.bytes_max))
            return false;
    } while (!atomic_compare_exchange_weak(&pool->bytes, &before, before + bytes));
    while (before + bytes > peak &&
           !atomic_compare_exchange_weak(&pool->bytes_peak, &peak, before + bytes))
        ;
    return true;
}

/* Memory of the caller's, as the pool may use it. */
static void *placed_get(struct lmn__pool *pool, size_t bytes)
{
    void *memory = bytes != 0 ? pool->memory.get(pool->memory.self, bytes) : NULL;

    if (memory != NULL && (uintptr_t)memory % LMN__BLOCK_ALIGN != 0) {
        pool->memory.put(pool->memory.self, memory, bytes);
        memory = NULL;
    }
    return memory;
}

/* A block in the caller's memory; NULL: there is none now. */
static struct lmn__block *placed_take(struct lmn__pool *pool, size_t bytes)
{
    const struct lmn_allocator *heap = &pool->options.allocator;
    struct lmn__block *block;
    void *memory;

    if (!charge(pool->rest, bytes))
        return NULL;
    memory = placed_get(pool, bytes);
    block = memory != NULL ? heap->alloc(heap->self, sizeof *block) : NULL;
    if (block == NULL) {
        if (memory != NULL)
            pool->memory.put(pool->memory.self, memory, bytes);
        atomic_fetch_sub(&pool->rest->bytes, bytes);
        atomic_fetch_add(&pool->refused, 1);
        return NULL;
    }
    *block = (struct lmn__block){ .data = memory, .cap = bytes, .pool = pool, .base = memory };
    atomic_init(&block->reference_count, 1);
    atomic_fetch_add(&pool->reference_count, 1);
    atomic_fetch_add(&pool->placed_blocks, 1);
    atomic_fetch_add(&pool->placed_bytes, bytes);
    return block;
}

static void placed_give(struct lmn__pool *pool, struct lmn__block *block)
{
    atomic_fetch_sub(&pool->rest->bytes, block->cap);
    pool->memory.put(pool->memory.self, block->base, block->cap);
    heap_release(pool, block);
}

enum lmn_status lmn__block_new(struct lmn__pool *pool, size_t bytes, struct lmn__block **block_out,
                               struct lmn_error *err)
{
    struct lmn__block *block = NULL;
    size_t live_bytes = bytes;

    *block_out = NULL;
    if (pool->rest != NULL) {
        *block_out = placed_take(pool, bytes);
        return *block_out != NULL ? LMN_OK : lmn__block_new(pool->rest, bytes, block_out, err);
    }
    if (bytes > lmn__min_u64(pool->options.bytes_max, BLOCK_BYTES_MAX))
        return lmn_fail(err, LMN_E_NO_MEMORY,
                        "a buffer of %zu bytes is over the limit of %llu bytes of data", bytes,
                        (unsigned long long)lmn__min_u64(pool->options.bytes_max, BLOCK_BYTES_MAX));
    if (bytes >= SMALL_BYTES)
        class_of(bytes, &live_bytes);
    if (!charge(pool, live_bytes))
        return lmn_fail(err, LMN_E_NO_MEMORY,
                        "no room for a buffer of %zu bytes: %llu of %llu bytes of data are in use",
                        bytes, (unsigned long long)lmn__pool_bytes(pool),
                        (unsigned long long)pool->options.bytes_max);
    if (bytes < SMALL_BYTES || bytes > SLAB_BLOCK_BYTES_MAX)
        block = own_take(pool, bytes);
    else
        block = slab_take(pool, bytes);
    if (block == NULL) {
        atomic_fetch_sub(&pool->bytes, live_bytes);
        return lmn__no_memory(err, "a data buffer", bytes);
    }
    atomic_init(&block->reference_count, 1);
    atomic_fetch_add(&pool->reference_count, 1);
    *block_out = block;
    return LMN_OK;
}

struct lmn__block *lmn__block_acquire(struct lmn__block *block)
{
    atomic_fetch_add_explicit(&block->reference_count, 1, memory_order_relaxed);
    return block;
}

void lmn__block_release(struct lmn__block *block)
{
    struct lmn__pool *pool;

    if (block == NULL ||
        atomic_fetch_sub_explicit(&block->reference_count, 1, memory_order_acq_rel) != 1)
        return;
    pool = block->pool;
    if (pool->rest != NULL) {
        placed_give(pool, block);
    } else {
        atomic_fetch_sub(&pool->bytes, block->cap);
        if (block->slab != NULL)
            slab_give(pool, block);
        else
            own_give(pool, block);
    }
    lmn__pool_release(pool);
}
