/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tail.h - the end of a file: schema, column metadata, tables, footer.
 *
 * Pages are added in any order; the tail puts them in the order of their rows.
 */
#ifndef LMN_FORMAT_TAIL_H
#define LMN_FORMAT_TAIL_H

#include "format/file.h"

/* A page that is in its place. */
struct lmn__placed_page {
    uint64_t row_start;
    uint64_t row_count;
    uint32_t buffer_count;
    const struct lmn__extent *buffer;
    struct lmn__span description; /* a PageLayout message */
    bool has_checksum;
    uint64_t checksum; /* see checksum.h */
};

struct lmn__placed_column {
    uint64_t stride; /* rows of the column per row of the file */
    struct lmn__placed_page *page;
    uint64_t count, cap;
};

struct lmn__tail {
    struct lmn_env *env; /* borrowed */
    struct lmn__arena arena;
    uint32_t minor;
    const struct lmn__pb_schema *schema; /* borrowed */
    uint32_t column_count;
    struct lmn__placed_column *column;
    struct lmn__extent stats; /* the global buffer with statistics; no bytes: none */
};

LMN_MUST_USE enum lmn_status lmn__tail_init(struct lmn__tail *tail, struct lmn_env *env,
                                            uint32_t minor, const struct lmn__pb_schema *pb,
                                            const struct lmn__schema *schema,
                                            struct lmn_error *err);
void lmn__tail_deinit(struct lmn__tail *tail);

/* Add a page; extents and description are copied. */
LMN_MUST_USE enum lmn_status lmn__tail_add(struct lmn__tail *tail, uint32_t column,
                                           const struct lmn__placed_page *page,
                                           struct lmn_error *err);

/*
 * Append the tail of a file of `row_count` rows to `out`; it is to be written at `position`.
 *
 * LMN_E_INVALID  the pages of a column are not those rows, each once
 */
LMN_MUST_USE enum lmn_status lmn__tail_encode(struct lmn__tail *tail, uint64_t row_count,
                                              uint64_t position, struct lmn__buf *out,
                                              struct lmn_error *err);

#endif
