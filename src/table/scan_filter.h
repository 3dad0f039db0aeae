/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_filter.h - the condition of a scan: which columns it reads, and which are read for the rows
 * that it chose.
 */
#ifndef LMN_TABLE_SCAN_FILTER_H
#define LMN_TABLE_SCAN_FILTER_H

#include "expr/expr.h"
#include "table/cell_states.h"
#include "table/row_columns.h"

/* Where a column of the result comes from. */
struct lmn__scan_column {
    bool from_filter; /* the filter has read it; otherwise it is of the rest */
    uint32_t index;   /* which child there */
};

struct lmn__scan_filter {
    struct lmn_env *env; /* borrowed */
    struct lmn__arena arena;
    struct lmn__expr *expr;
    struct lmn__projection columns; /* what the condition reads ... */
    struct lmn__row_columns row_columns;
    struct lmn__cell_states states;
    struct lmn__projection rest;     /* ... and what the result needs beside */
    struct lmn__scan_column *source; /* for each column of the result */
};

/*
 * Parse `where` and find out what it needs of the rows of `manifest`; `output` is the projection of
 * the result. All three live on. The caller frees *filter_out.
 *
 * LMN_E_INVALID, LMN_E_NOT_FOUND  the expression is wrong
 */
LMN_MUST_USE enum lmn_status lmn__scan_filter_new(struct lmn_table *table,
                                                  struct lmn__manifest *manifest, const char *where,
                                                  const struct lmn__projection *output,
                                                  struct lmn__scan_filter **filter_out,
                                                  struct lmn_error *err);
/* NULL is ignored. */
void lmn__scan_filter_free(struct lmn__scan_filter *filter);

#endif
