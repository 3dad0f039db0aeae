/* SPDX-License-Identifier: Apache-2.0 */
#include "format/page_cache.h"

#include "base/error.h"
#include "base/math.h"

enum { SLOT_COUNT = 1024 };

struct lmn__page_cache {
    struct lmn_env *env; /* borrowed */
    uint64_t bytes_max;
    struct lmn__mutex mutex;
    struct {
        struct lmn__cached_page *slot[SLOT_COUNT];
        struct lmn__cached_page *newest, *oldest;
        uint64_t bytes;
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
    cache->env = env;
    cache->bytes_max = bytes_max;
    st = lmn__mutex_init(&cache->mutex, err);
    if (st != LMN_OK) {
        lmn__free(env, cache);
        return st;
    }
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

static struct lmn__cached_page **slot_of(struct lmn__page_cache *cache, uint32_t column,
                                         uint32_t page)
{
    uint64_t key = ((uint64_t)column << 32 | page) * 0x9e3779b97f4a7c15u;

    return &cache->locked.slot[key >> 54];
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

static void evict_oldest_locked(struct lmn__page_cache *cache)
{
    struct lmn__cached_page *page = cache->locked.oldest;
    struct lmn__cached_page **link = slot_of(cache, page->column_index, page->page_index);

    while (*link != page)
        link = &(*link)->next_in_slot;
    *link = page->next_in_slot;
    unlink_age_locked(cache, page);
    cache->locked.bytes -= page->bytes;
    lmn__cached_page_release(page);
}

void lmn__page_cache_free(struct lmn__page_cache *cache)
{
    if (cache == NULL)
        return;
    while (cache->locked.oldest != NULL)
        evict_oldest_locked(cache);
    lmn__mutex_deinit(&cache->mutex);
    lmn__free(cache->env, cache);
}

/* The page with a new reference, if it is there. */
static struct lmn__cached_page *find_locked(struct lmn__page_cache *cache, uint32_t column,
                                            uint32_t page_index)
{
    struct lmn__cached_page *page = *slot_of(cache, column, page_index);

    while (page != NULL && (page->column_index != column || page->page_index != page_index))
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
    other = find_locked(cache, page->column_index, page->page_index);
    if (other == NULL) {
        slot = slot_of(cache, page->column_index, page->page_index);
        page->next_in_slot = *slot;
        *slot = page;
        atomic_fetch_add(&page->reference_count, 1);
        link_newest_locked(cache, page);
        cache->locked.bytes += page->bytes;
        while (cache->locked.bytes > cache->bytes_max && cache->locked.oldest != page)
            evict_oldest_locked(cache);
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
    page = find_locked(cache, column->index, page_index);
    lmn__mutex_unlock(&cache->mutex);
    *page_out = page;
    if (page != NULL)
        return LMN_OK;
    page = lmn__calloc(file->env, 1, sizeof *page);
    if (page == NULL)
        return lmn__no_memory(err, "a page", sizeof *page);
    page->env = file->env;
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
