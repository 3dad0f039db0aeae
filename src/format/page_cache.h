/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_cache.h - open pages of one file or of several, kept as long as they fit.
 *
 * A page is opened once and shared by counted references; the least recently used ones are
 * dropped when the bytes of all exceed the limit. The cache is counted, too: each of its files has
 * a reference. Usable from many threads.
 */
#ifndef LMN_FORMAT_PAGE_CACHE_H
#define LMN_FORMAT_PAGE_CACHE_H

#include "codec/page.h"
#include "format/file.h"

/* An open page with the place of its data. */
struct lmn__cached_page {
    struct lmn__page page;
    struct lmn__extent data; /* its data buffer; no bytes for pages without one */
    uint64_t file_number;    /* among the cache's */
    uint32_t column_index, page_index;
    struct lmn_env *env; /* borrowed from the file */
    atomic_uint_fast32_t reference_count;
    struct lmn__cached_page *next_in_slot, *newer, *older;
    uint64_t bytes;
};

struct lmn__page_cache;

/* The caller releases it. */
LMN_MUST_USE enum lmn_status lmn__page_cache_new(struct lmn_env *env, uint64_t bytes_max,
                                                 struct lmn__page_cache **cache_out,
                                                 struct lmn_error *err);
/* NULL is ignored. */
void lmn__page_cache_release(struct lmn__page_cache *cache);

/* Bytes that the pages have which it keeps. */
uint64_t lmn__page_cache_bytes(struct lmn__page_cache *cache);

/* Take a reference for a file, which gets a number of its own. */
uint64_t lmn__page_cache_join(struct lmn__page_cache *cache);
/* Drop the pages of a file and its reference. Pages that are still referenced live on. */
void lmn__page_cache_leave(struct lmn__page_cache *cache, uint64_t file_number);

/*
 * The open page number `page_index` of `column`, from the cache or read from the file.
 *
 * `leaf_layout` is that of the column's leaf and lives as long as the file. The caller releases
 * *page_out.
 */
LMN_MUST_USE enum lmn_status lmn__page_get(struct lmn_file *file, const struct lmn__column *column,
                                           uint32_t page_index,
                                           const struct lmn__layout *leaf_layout,
                                           struct lmn__scratch *scratch,
                                           struct lmn__cached_page **page_out,
                                           struct lmn_error *err);
void lmn__cached_page_release(struct lmn__cached_page *page);

#endif
