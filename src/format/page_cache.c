/* SPDX-License-Identifier: Apache-2.0 */
#include "format/page_cache.h"

#include "base/error.h"
#include "base/math.h"

enum { SLOT_BITS = 10, SLOT_COUNT = 1 << SLOT_BITS };

struct lmn__page_cache {
    atomic_uint_fast64_t reference_count;
    struct lmn_env *env; /* counted */
    uint64_t bytes_max;
    struct lmn__mutex mutex;
    struct {
        struct lmn__cached_page *slot[SLOT_COUNT];
        struct lmn__cached_page *newest, *oldest;
        uint64_t bytes;
        uint64_t file_count; /* that have joined */
    } locked;
};

enum lmn_status lmn__page_cache_new(struct lmn_env *env, uint64_t bytes_max,
                                    struct lmn__page_cache **cache_out, struct lmn_error *err)
{
    struct lmn__page_cache *cache = lmn__calloc(env, 1, sizeof *cache);
    enum lmn_status st;

    *cache_out = NULL;
    if (cache == NULL)
        return lmn__no_memory(err, "a page cache", sizeof *cache);
    cache->bytes_max = bytes_max;
    st = lmn__mutex_init(&cache->mutex, err);
    if (st != LMN_OK) {
        lmn__free(env, cache);
        return st;
    }
    atomic_init(&cache->reference_count, 1);
    cache->env = lmn_env_acquire(env);
    *cache_out = cache;
    return LMN_OK;
}

void lmn__cached_page_release(struct lmn__cached_page *page)
{
    if (page == NULL || atomic_fetch_sub(&page->reference_count, 1) != 1)
        return;
    lmn__page_close(&page->page);
    lmn__free(page->env, page);
}

/* Does the page stand under this key? */
static bool is_page(const struct lmn__cached_page *page, uint64_t file_number, uint32_t column,
                    uint32_t page_index)
{
    return page->page_index == page_index && page->column_index == column &&
           page->file_number == file_number;
}

static struct lmn__cached_page **slot_of(struct lmn__page_cache *cache, uint64_t file_number,
                                         uint32_t column, uint32_t page)
{
    uint64_t key = ((uint64_t)column << 32 | page) + file_number * 0xd6e8feb86659fd93u;

    return &cache->locked.slot[key * 0x9e3779b97f4a7c15u >> (64 - SLOT_BITS)];
}

static void unlink_age_locked(struct lmn__page_cache *cache, struct lmn__cached_page *page)
{
    *(page->newer != NULL ? &page->newer->older : &cache->locked.newest) = page->older;
    *(page->older != NULL ? &page->older->newer : &cache->locked.oldest) = page->newer;
}

static void link_newest_locked(struct lmn__page_cache *cache, struct lmn__cached_page *page)
{
    page->newer = NULL;
    page->older = cache->locked.newest;
    *(page->older != NULL ? &page->older->newer : &cache->locked.oldest) = page;
    cache->locked.newest = page;
}

static void evict_locked(struct lmn__page_cache *cache, struct lmn__cached_page *page)
{
    struct lmn__cached_page **link = slot_of(cache, page->file_number, page->column_index,
                                             page->page_index);

    while (*link != page)
        link = &(*link)->next_in_slot;
    *link = page->next_in_slot;
    unlink_age_locked(cache, page);
    cache->locked.bytes -= page->bytes;
    lmn__cached_page_release(page);
}

void lmn__page_cache_release(struct lmn__page_cache *cache)
{
    struct lmn_env *env;

    if (cache == NULL || atomic_fetch_sub(&cache->reference_count, 1) != 1)
        return;
    env = cache->env;
    lmn__mutex_deinit(&cache->mutex);
    lmn__free(env, cache);
    lmn_env_release(env);
}

uint64_t lmn__page_cache_bytes(struct lmn__page_cache *cache)
{
    uint64_t bytes;

    lmn__mutex_lock(&cache->mutex);
    bytes = cache->locked.bytes;
    lmn__mutex_unlock(&cache->mutex);
    return bytes;
}

uint64_t lmn__page_cache_join(struct lmn__page_cache *cache)
{
    uint64_t number;

    atomic_fetch_add(&cache->reference_count, 1);
    lmn__mutex_lock(&cache->mutex);
    number = cache->locked.file_count++;
    lmn__mutex_unlock(&cache->mutex);
    return number;
}

void lmn__page_cache_leave(struct lmn__page_cache *cache, uint64_t file_number)
{
    struct lmn__cached_page *page, *older;

    if (cache == NULL)
        return;
    lmn__mutex_lock(&cache->mutex);
    for (page = cache->locked.newest; page != NULL; page = older) {
        older = page->older;
        if (page->file_number == file_number)
            evict_locked(cache, page);
    }
    lmn__mutex_unlock(&cache->mutex);
    lmn__page_cache_release(cache);
}

/* The page with a new reference, if it is there. */
static struct lmn__cached_page *find_locked(struct lmn__page_cache *cache, uint64_t file_number,
                                            uint32_t column, uint32_t page_index)
{
    struct lmn__cached_page *page = *slot_of(cache, file_number, column, page_index);

    while (page != NULL && !is_page(page, file_number, column, page_index))
        page = page->next_in_slot;
    if (page != NULL) {
        atomic_fetch_add(&page->reference_count, 1);
        if (cache->locked.newest != page) {
            unlink_age_locked(cache, page);
            link_newest_locked(cache, page);
        }
    }
    return page;
}

/* Keep `page`, unless another thread was first: then the caller gets that one instead. */
static struct lmn__cached_page *insert(struct lmn__page_cache *cache, struct lmn__cached_page *page)
{
    struct lmn__cached_page *other, **slot;

    lmn__mutex_lock(&cache->mutex);
    other = find_locked(cache, page->file_number, page->column_index, page->page_index);
    if (other == NULL) {
        slot = slot_of(cache, page->file_number, page->column_index, page->page_index);
        page->next_in_slot = *slot;
        *slot = page;
        atomic_fetch_add(&page->reference_count, 1);
        link_newest_locked(cache, page);
        cache->locked.bytes += page->bytes;
        while (cache->locked.bytes > cache->bytes_max && cache->locked.oldest != page)
            evict_locked(cache, cache->locked.oldest);
    }
    lmn__mutex_unlock(&cache->mutex);
    if (other == NULL)
        return page;
    lmn__cached_page_release(page);
    return other;
}

/* Read all buffers of a page but its data, and open it. */
static enum lmn_status open_page(struct lmn_file *file, const struct lmn__page_info *info,
                                 const struct lmn__layout *leaf_layout,
                                 struct lmn__scratch *scratch, struct lmn__cached_page *cached,
                                 struct lmn_error *err)
{
    const struct lmn__page_layout *layout = info->layout->kind == LMN__PAGE_BLOB
                                                ? info->layout->inner
                                                : info->layout;
    int data = lmn__page_data_buffer(layout);
    struct lmn__block *block[LMN__PAGE_BUFFER_COUNT_MAX] = { NULL };
    struct lmn__span buffer[LMN__PAGE_BUFFER_COUNT_MAX] = { { NULL, 0 } };
    enum lmn_status st = LMN_OK;

    if (info->buffer_count > LMN__PAGE_BUFFER_COUNT_MAX ||
        (data >= 0 && (uint32_t)data >= info->buffer_count))
        return lmn_fail(err, LMN_E_CORRUPT, "a page of %u buffers", info->buffer_count);
    for (uint32_t i = 0; st == LMN_OK && i < info->buffer_count; i++) {
        if ((int)i == data || info->buffer[i].bytes == 0)
            continue;
        st = lmn__object_read_block(&file->object, info->buffer[i].position, info->buffer[i].bytes,
                                    &block[i], err);
        if (st == LMN_OK)
            buffer[i] = (struct lmn__span){ block[i]->data, info->buffer[i].bytes };
    }
    if (data >= 0)
        cached->data = info->buffer[data];
    if (st == LMN_OK)
        st = lmn__page_open(&cached->page, file->env, (uint64_t)cached->page_index + 1, layout,
                            leaf_layout, buffer, block, info->buffer_count, cached->data.bytes,
                            info->row_count, scratch, err);
    for (uint32_t i = 0; i < info->buffer_count; i++)
        lmn__block_release(block[i]);
    return st;
}

enum lmn_status lmn__page_get(struct lmn_file *file, const struct lmn__column *column,
                              uint32_t page_index, const struct lmn__layout *leaf_layout,
                              struct lmn__scratch *scratch, struct lmn__cached_page **page_out,
                              struct lmn_error *err)
{
    struct lmn__page_cache *cache = file->cache;
    struct lmn__cached_page *page;
    enum lmn_status st;

    lmn__mutex_lock(&cache->mutex);
    page = find_locked(cache, file->cache_number, column->index, page_index);
    lmn__mutex_unlock(&cache->mutex);
    *page_out = page;
    if (page != NULL)
        return LMN_OK;
    page = lmn__calloc(file->env, 1, sizeof *page);
    if (page == NULL)
        return lmn__no_memory(err, "a page", sizeof *page);
    page->env = file->env;
    page->file_number = file->cache_number;
    page->column_index = column->index;
    page->page_index = page_index;
    atomic_init(&page->reference_count, 1);
    st = open_page(file, &column->page[page_index], leaf_layout, scratch, page, err);
    if (st != LMN_OK) {
        lmn__free(file->env, page);
        return st;
    }
    page->bytes = lmn__page_bytes(&page->page);
    *page_out = insert(cache, page);
    return LMN_OK;
}
