/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_columns.h - rows that get other values and stay where they are: every fragment that has such
 * rows gets one more data file, with the columns that are set, for all of its rows.
 *
 * No other column is read or written, so this suits many rows and few bytes in each; where rows are
 * few it writes more than moving them does; see move.h.
 */
#ifndef LMN_TABLE_SET_COLUMNS_H
#define LMN_TABLE_SET_COLUMNS_H

#include <leman/table_write.h>

#include "format/projection.h"
#include "table/touched.h"

struct lmn__set_columns {
    struct lmn_table *table;        /* borrowed */
    struct lmn__manifest *manifest; /* the version that is read; borrowed */
    const struct lmn_assignment *assignment;
    uint32_t count;
    struct lmn__arena arena;
    const struct lmn__node **column;   /* that are set */
    struct lmn__expr **value;          /* of each */
    struct lmn__projection projection; /* these columns, and those that values are computed from */
    struct lmn__touched_set touched;   /* rows that are set */
    bool searched;                     /* `touched` has all of them */
    struct lmn__change change;
    uint64_t written; /* files that are not committed: the last of each replaced fragment */
};

/* All of it lives on. The caller frees the set. */
void lmn__set_columns_init(struct lmn__set_columns *set, struct lmn_table *table,
                           struct lmn__manifest *manifest, const struct lmn_assignment *assignment,
                           uint32_t count);

/* Frees memory, and the files that were written unless they are committed. */
void lmn__set_columns_deinit(struct lmn__set_columns *set);

/*
 * Does it write less than moving the rows that match? `pinned` stands at the version that is read.
 * Rows are searched only where it may be so. An assignment that is wrong is none that fits.
 */
LMN_MUST_USE enum lmn_status lmn__set_columns_choose(struct lmn__set_columns *set,
                                                     struct lmn_table *pinned, const char *where,
                                                     bool *fits_out, struct lmn_error *err);

/* Write the files and commit them; answers as lmn__change_commit(). */
LMN_MUST_USE enum lmn_status lmn__set_columns_commit(struct lmn__set_columns *set, bool *again_out,
                                                     struct lmn_error *err);

#endif
