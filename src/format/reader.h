/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader.h - rows of the selected columns of one file, as an Arrow array.
 *
 * A reader is made once for a projection; it does not change and any number of threads may read
 * through it, each with working memory of its own.
 */
#ifndef LMN_FORMAT_READER_H
#define LMN_FORMAT_READER_H

#include "arrow/builder.h"
#include "codec/scratch.h"
#include "format/file.h"
#include "format/projection.h"

/* Rows [first, first + count). */
struct lmn__row_range {
    uint64_t first;
    uint64_t count;
};

/* A leaf of the projection: its column, and the way to its builder. */
struct lmn__leaf_plan {
    const struct lmn__node *node;
    const struct lmn__column *column;
    uint64_t stride;                      /* rows of the column per row of the file */
    uint32_t depth;                       /* builders on the way, the column's own included */
    uint32_t child[LMN__LAYER_COUNT_MAX]; /* which child to go to, from the root */
    bool fills[LMN__LAYER_COUNT_MAX];     /* is it this leaf that fills the node? */
};

struct lmn__reader {
    struct lmn_file *file; /* counted */
    struct lmn__projection projection;
    uint32_t leaf_count;
    struct lmn__leaf_plan *leaf; /* in the projection's arena */
    uint64_t v20_bytes;          /* of the columns of a 2.0 file, which has no plans */
};

/*
 * Prepare reading; column metadata is loaded here. The caller frees the reader.
 *
 * LMN_E_NOT_FOUND, LMN_E_INVALID  as lmn__projection_init()
 * LMN_E_CORRUPT                   column metadata does not decode, or columns differ in length
 */
LMN_MUST_USE enum lmn_status lmn__reader_init(struct lmn__reader *reader, struct lmn_file *file,
                                              const char *const *column, uint32_t column_count,
                                              enum lmn_blob_mode blobs, struct lmn_error *err);

/* The same for nodes of the file's schema; answers as lmn__projection_init_nodes(). */
LMN_MUST_USE enum lmn_status lmn__reader_init_nodes(struct lmn__reader *reader,
                                                    struct lmn_file *file,
                                                    const struct lmn__node *const *node,
                                                    uint32_t node_count, enum lmn_blob_mode blobs,
                                                    struct lmn_error *err);
void lmn__reader_deinit(struct lmn__reader *reader);

/*
 * Read ranges of rows, one after the other. They rise and do not overlap; in files from 2.1 on
 * they may come in any order, which reads small values more than once.
 *
 * The caller releases *array_out: a struct array as long as the ranges together.
 */
LMN_MUST_USE enum lmn_status lmn__reader_read(const struct lmn__reader *reader,
                                              struct lmn__scratch *scratch,
                                              const struct lmn__row_range *range,
                                              uint64_t range_count, struct ArrowArray *array_out,
                                              struct lmn_error *err);

/*
 * Bytes that an average row takes in the file, over all selected columns; at least 1. Blobs that
 * lie beside their column are not in it.
 */
uint64_t lmn__reader_row_bytes(const struct lmn__reader *reader);

/* Bytes of the blobs that are read with a row: the average of some, whose descriptors it reads. */
LMN_MUST_USE enum lmn_status lmn__reader_blob_bytes(const struct lmn__reader *reader,
                                                    uint64_t *bytes_out, struct lmn_error *err);

#endif
