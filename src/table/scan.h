/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h - a scan of a table, while its batches are read.
 *
 * A scan is a list of pieces, one per fragment that it reads; a piece is cut into batches of equal
 * physical rows. Batches are numbered through all pieces. Everything but `locked` is constant while
 * batches are read.
 */
#ifndef LMN_TABLE_SCAN_H
#define LMN_TABLE_SCAN_H

#include <leman/table_scan.h>

#include "table/fragment_columns.h"
#include "table/row_columns.h"
#include "table/row_list.h"
#include "table/scan_filter.h"
#include "table/scan_prune.h"
#include "table/snapshot.h"

/* What is open of a piece. */
struct lmn__scan_opened {
    struct lmn__fragment_reader *reader; /* of the filter's columns, or of all without a filter */
    struct lmn__fragment_columns *rest;  /* NULL: not asked for, or without a filter */
    struct lmn__scan_prune *prune;       /* opened with the reader; NULL: nothing is known */
};

/* Rows [row_start, row_start + row_count) of a fragment. */
struct lmn__scan_piece {
    uint64_t fragment; /* its number */
    uint64_t row_start;
    uint64_t row_count;
    uint64_t batch_rows;
    uint64_t batch_first; /* number of its first batch */
    struct {
        bool opening; /* somebody opens what is missing */
        uint64_t batches_left;
        struct lmn__scan_opened opened;
    } locked;
};

struct lmn__scan {
    struct lmn_table *table; /* counted */
    struct lmn__snapshot *snapshot;
    struct lmn__projection output;
    struct lmn__row_columns row_columns;
    struct lmn__scan_filter *filter; /* NULL: every row */
    uint64_t rows_needed;            /* of one batch at most, because of the limit */
    uint64_t piece_count;
    struct lmn__scan_piece *piece;
    uint64_t batch_count;
    struct lmn__mutex mutex; /* guards what is locked in the pieces */
    struct lmn__cond opened;
};

/* The columns that `options` select from a table's schema: all but hidden ones, unless named. */
LMN_MUST_USE enum lmn_status lmn__scan_project(struct lmn_env *env,
                                               const struct lmn__schema *schema,
                                               const struct lmn_scan_options *options,
                                               struct lmn__projection *projection_out,
                                               struct lmn_error *err);

/* A lmn__batch_read_fn; `context` is the scan. */
LMN_MUST_USE enum lmn_status lmn__scan_read(void *context, struct lmn__scratch *scratch,
                                            uint64_t index, struct ArrowArray *array_out,
                                            struct lmn_error *err);

void lmn__scan_opened_close(struct lmn__scan_opened *opened);

/* Open a piece as far as it is not; it stays open while batches of it are left. */
LMN_MUST_USE enum lmn_status lmn__scan_open_piece(struct lmn__scan *scan,
                                                  struct lmn__scan_piece *piece, bool with_rest,
                                                  struct lmn__scan_opened *opened_out,
                                                  struct lmn_error *err);

/*
 * Read those of `rows` of a piece for which the condition holds; with `all` it is known to hold for
 * each. None: *array_out is empty.
 */
LMN_MUST_USE enum lmn_status lmn__scan_read_chosen(struct lmn__scan *scan,
                                                   struct lmn__scan_piece *piece,
                                                   const struct lmn__fragment_reader *reader,
                                                   struct lmn__scratch *scratch,
                                                   const struct lmn__row_list *rows, bool all,
                                                   struct ArrowArray *array_out,
                                                   struct lmn_error *err);

#endif
