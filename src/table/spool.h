/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - the rows of a stream that are come back to, by number and in any order.
 *
 * They stay in memory while they are few. When they are more than that all of them go into a file
 * beside the table's data, and memory has their keys alone. The file loses its name before rows are
 * come back to; one that a killed process leaves is found by cleanup.
 *
 * A spool is filled by one thread, then read by any number.
 */
#ifndef LMN_TABLE_SPOOL_H
#define LMN_TABLE_SPOOL_H

#include "arrow/layout.h"
#include "store/store.h"

struct lmn_file;
struct lmn_file_writer;

struct lmn__spool {
    struct lmn_store *store; /* borrowed */
    struct lmn_env *env;     /* the store's */
    struct lmn__arena arena;
    const struct ArrowSchema *schema; /* of the rows; borrowed */
    const struct lmn__layout *layout;
    uint32_t key_count;
    int64_t *key;             /* which children of the rows are keys */
    struct ArrowArray *batch; /* rows; when these are in a file, their keys alone */
    int64_t *batch_key;       /* which children of these are keys */
    uint64_t *first;          /* number of the first row of each */
    uint64_t batch_count, batch_room;
    uint64_t row_count;
    uint64_t bytes; /* of the rows in memory */
    char *path;
    struct ArrowSchema file_schema;
    struct lmn_file_writer *writer; /* NULL: none is open */
    struct lmn_file *file;          /* NULL: the rows are in memory */
    bool stays;                     /* they are of a type that has no place in a file */
};

/*
 * Start a spool of rows of type `schema`, a struct that lives on; its children `key` (copied) are
 * the keys. The caller frees it.
 */
LMN_MUST_USE enum lmn_status lmn__spool_init(struct lmn__spool *spool, struct lmn_store *store,
                                             const struct ArrowSchema *schema, const int64_t *key,
                                             uint32_t key_count, struct lmn_error *err);
/* A zeroed one is fine. */
void lmn__spool_deinit(struct lmn__spool *spool);

/* Append the rows of `batch`, which moves here on success. */
LMN_MUST_USE enum lmn_status lmn__spool_add(struct lmn__spool *spool, struct ArrowArray *batch,
                                            struct lmn_error *err);

/* All rows are there; from here on they can be picked. */
LMN_MUST_USE enum lmn_status lmn__spool_end(struct lmn__spool *spool, struct lmn_error *err);

/* The number of the batch that has a row. */
uint64_t lmn__spool_batch_of(const struct lmn__spool *spool, uint64_t row);

/* Some rows, as one batch; the caller releases it. */
LMN_MUST_USE enum lmn_status lmn__spool_pick(const struct lmn__spool *spool, const uint64_t *row,
                                             uint64_t count, struct ArrowArray *rows_out,
                                             struct lmn_error *err);

/* Bytes of an average row. */
uint64_t lmn__spool_row_bytes(const struct lmn__spool *spool);

#endif
