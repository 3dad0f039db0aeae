/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed_cache.h - a directory on a quick disk that keeps what feeds read of tables on slow ones.
 *
 * Any number of processes may use one directory at once, for any number of tables, and may be
 * killed at any time. All together keep to the limit, but for a piece of 1 MiB of each thread that
 * is just putting one. When the directory is full, files of tables that this process is not reading
 * make room, the longest unused first.
 */
#ifndef LEMAN_FEED_CACHE_H
#define LEMAN_FEED_CACHE_H

#include <leman/table.h>

/* A zeroed struct asks for the defaults. */
struct lmn_cache_options {
    const char *const *column; /* names and paths; NULL: all, without hidden ones */
    uint32_t column_count;
    uint64_t bytes_max; /* of the directory; default 64 GiB, at least 1 MiB + 8 */
    uint32_t threads;   /* 0: the environment's */
};

struct lmn_cache_result {
    uint64_t rows;        /* whose columns were read */
    uint64_t store_bytes; /* that were read from the table's store ... */
    uint64_t hit_bytes;   /* ... and those of pieces that were in the cache already */
    uint64_t cache_bytes; /* in the directory now */
    bool full;            /* there is no room for more: it ended there */
};

/* Called now and then with the number of rows that are done; false stops. */
typedef bool (*lmn_cache_progress_fn)(void *context, uint64_t rows_done, uint64_t rows);

/*
 * Fill the cache in directory `dir` with the columns of the version that `table` stands at, so that
 * a feed with this cache_dir finds them there. What is there already is not read again from the
 * table's store: a call that was killed is simply made again. `options` and `progress` may be NULL.
 *
 * LMN_E_NOT_FOUND  a column is not in the table
 * LMN_E_INVALID    a piece has no room in bytes_max
 * LMN_E_IO         `dir` cannot be written, and holds no cache
 * LMN_E_CANCELLED  `progress` said so
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_cache_warm(struct lmn_table *table, const char *dir,
                                                    const struct lmn_cache_options *options,
                                                    lmn_cache_progress_fn progress, void *context,
                                                    struct lmn_cache_result *result_out,
                                                    struct lmn_error *err);

#endif
