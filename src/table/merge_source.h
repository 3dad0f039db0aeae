/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_source.h - the rows that are merged into a table: a stream, read to its end and kept.
 */
#ifndef LMN_TABLE_MERGE_SOURCE_H
#define LMN_TABLE_MERGE_SOURCE_H

#include <leman/arrow_abi.h>

#include "base/env.h"

/* A row of the source and one of the table with the same key. */
struct lmn__merge_pair {
    uint64_t source;
    uint64_t address;
    uint64_t id;
};

struct lmn__merge_source {
    struct lmn_env *env; /* borrowed */
    struct ArrowSchema schema;
    struct ArrowArray *batch;
    uint64_t *first; /* number of each batch's first row */
    uint64_t count, room;
    uint64_t row_count;
    uint8_t *matched; /* one bit per row; the merge's */
};

/* Read the stream into a source that has its environment only. The caller frees it in any case. */
LMN_MUST_USE enum lmn_status lmn__merge_source_read(struct lmn__merge_source *source,
                                                    struct ArrowArrayStream *stream,
                                                    struct lmn_error *err);
void lmn__merge_source_deinit(struct lmn__merge_source *source);

/* The number of the batch that has a row. */
uint64_t lmn__merge_source_batch(const struct lmn__merge_source *source, uint64_t row);

/* Some rows by number, in any order, as one batch; the caller releases it. */
LMN_MUST_USE enum lmn_status lmn__merge_source_pick(const struct lmn__merge_source *source,
                                                    const uint64_t *row, uint64_t count,
                                                    struct ArrowArray *rows_out,
                                                    struct lmn_error *err);

#endif
