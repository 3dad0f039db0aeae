/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - an open data file: its tail, and its columns' metadata as far as it was needed.
 *
 * Column metadata is read when a column is first used and kept. Everything reachable from a
 * column is constant once lmn__file_column() has returned it.
 */
#ifndef LMN_FORMAT_FILE_H
#define LMN_FORMAT_FILE_H

#include <leman/file.h>

#include "codec/layout.h"
#include "format/footer.h"
#include "format/projection.h"
#include "format/stats.h"
#include "os/thread.h"
#include "store/object.h"

/* Where one buffer of a page is. */
struct lmn__extent {
    uint64_t position;
    uint64_t bytes;
};

/* A page as the column metadata describes it. */
struct lmn__page_info {
    uint64_t first_row; /* in the column */
    uint64_t row_count;
    uint32_t buffer_count;
    const struct lmn__extent *buffer;
    struct lmn__span description;            /* what the page says of its encoding */
    const struct lmn__page_layout *layout;   /* versions 2.1 and 2.2 */
    const struct lmn__array_encoding *array; /* version 2.0 */
};

struct lmn__column {
    uint32_t index;
    uint64_t row_count; /* of all pages; rows of fixed lists of structs count each item */
    uint32_t page_count;
    struct lmn__page_info *page;
    uint64_t bytes;        /* of all pages' buffers */
    uint32_t buffer_count; /* 2.0: buffers of the column as a whole */
    const struct lmn__extent *buffer;
    struct lmn__arena arena;
};

struct lmn__page_cache;

struct lmn_file {
    atomic_uint_fast64_t reference_count;
    struct lmn_env *env; /* counted */
    struct lmn__object object;
    char *path; /* in its store */
    struct lmn__footer footer;
    uint64_t row_count;
    struct lmn__arena arena; /* schema and tables */
    struct lmn__schema schema;
    struct lmn__projection all;        /* all columns; the nodes' layouts are its */
    struct lmn__extent *column_extent; /* of each column's metadata */
    struct lmn__extent *global_extent;
    struct lmn__span stats_bytes;  /* statistics that came with the tail; empty: they are read */
    struct lmn__page_cache *cache; /* counted */
    uint64_t cache_number;         /* the file's in it */
    struct lmn__mutex mutex;
    struct {
        struct lmn__column **column; /* NULL: not read yet */
        bool has_looked;             /* for statistics */
        uint8_t *stats_data;         /* their bytes, if they were read */
        struct lmn__stats *stats;    /* NULL: there are none */
    } locked;
};

/* lmn_file_open() with a cache that is shared with other files. */
LMN_MUST_USE enum lmn_status lmn__file_open_cached(struct lmn_store *store, const char *path,
                                                   struct lmn__page_cache *cache,
                                                   struct lmn_file **file_out,
                                                   struct lmn_error *err);

/*
 * The metadata of column number `index`, read if it was not yet.
 *
 * LMN_E_CORRUPT  it does not decode, or names bytes outside the file
 */
LMN_MUST_USE enum lmn_status lmn__file_column(struct lmn_file *file, uint32_t index,
                                              const struct lmn__column **column_out,
                                              struct lmn_error *err);

/*
 * The statistics of column number `index`, read if they were not yet; NULL when there are none.
 *
 * LMN_E_CORRUPT  they do not decode
 */
LMN_MUST_USE enum lmn_status lmn__file_stats(struct lmn_file *file, uint32_t index,
                                             const struct lmn__stats_column **column_out,
                                             struct lmn_error *err);

/* How many zones it has statistics of, and how many bytes those of all columns take; 0: none. */
LMN_MUST_USE enum lmn_status lmn__file_stats_size(struct lmn_file *file, uint32_t index,
                                                  uint64_t *zone_count_out, uint64_t *bytes_out,
                                                  struct lmn_error *err);

/* The page of a column that holds `row`; the row is inside the column. */
uint32_t lmn__column_find_page(const struct lmn__column *column, uint64_t row);

#endif
