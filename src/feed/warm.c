/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan through the cache leaves in it what the scan has read; its rows are thrown away. It ends
 * where the cache has no room left: what is read from there on would be read for nothing.
 */
#include <leman/feed_cache.h>
#include <leman/table_scan.h>

#include "base/error.h"
#include "feed/access.h"

static enum lmn_status drain(struct ArrowArrayStream *stream, struct lmn__cache *cache,
                             uint64_t rows, lmn_cache_progress_fn progress, void *context,
                             uint64_t *done_out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *done_out = 0;
    while (st == LMN_OK && !lmn__cache_is_full(cache)) {
        struct ArrowArray batch;

        st = lmn_table_scan_next(stream, &batch, err);
        if (st != LMN_OK || batch.release == NULL)
            return st;
        *done_out += (uint64_t)batch.length;
        batch.release(&batch);
        if (progress != NULL && !progress(context, *done_out, rows))
            st = lmn_fail(err, LMN_E_CANCELLED, "stopped after %llu of %llu rows",
                          (unsigned long long)*done_out, (unsigned long long)rows);
    }
    return st;
}

enum lmn_status lmn_cache_warm(struct lmn_table *table, const char *dir,
                               const struct lmn_cache_options *options,
                               lmn_cache_progress_fn progress, void *context,
                               struct lmn_cache_result *result_out, struct lmn_error *err)
{
    static const struct lmn_cache_options defaults = { 0 };
    /* Blobs that the table refers to are not in the cache. */
    struct lmn_scan_options scan = { .blobs = LMN_BLOB_EITHER };
    struct lmn__access access = { 0 };
    struct ArrowArrayStream stream;
    uint64_t rows;
    enum lmn_status st;

    *result_out = (struct lmn_cache_result){ 0 };
    if (options == NULL)
        options = &defaults;
    scan.column = options->column;
    scan.column_count = options->column_count;
    scan.threads = options->threads;
    st = lmn__access_open(&access, table, dir, options->bytes_max, err);
    if (st == LMN_OK)
        st = lmn_table_count(access.table, NULL, &rows, err);
    if (st == LMN_OK)
        st = lmn_table_scan(access.table, &scan, &stream, err);
    if (st == LMN_OK) {
        st = drain(&stream, access.cache, rows, progress, context, &result_out->rows, err);
        result_out->full = lmn__cache_is_full(access.cache); /* a file that closes changes that */
        stream.release(&stream);
    }
    if (st == LMN_OK) {
        result_out->store_bytes = atomic_load(&access.counts.store_bytes);
        result_out->hit_bytes = lmn__cache_found_bytes(access.cache);
        result_out->cache_bytes = lmn__cache_bytes(access.cache);
    }
    lmn__access_close(&access);
    return st;
}
