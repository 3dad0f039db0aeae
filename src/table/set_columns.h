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

/*
 * The values of some rows of a batch: `rows` is a struct array of the columns that are read,
 * chosen[] says which of its rows are set. *values_out is a struct array of the columns that are
 * set, with `count` rows; the caller releases it. Fragments come in the order of the touched ones,
 * their rows in order, from one thread.
 */
typedef enum lmn_status (*lmn__set_values_fn)(void *context, const struct ArrowArray *rows,
                                              const uint64_t *chosen, uint64_t count,
                                              struct ArrowArray *values_out, struct lmn_error *err);

struct lmn__set_columns {
    struct lmn_table *table;        /* borrowed */
    struct lmn__manifest *manifest; /* the version that is read; borrowed */
    const struct lmn_write_options *options;
    struct lmn__arena arena;
    const struct lmn__node *const *column; /* that are set; borrowed */
    uint32_t count;
    struct lmn__projection projection; /* these columns, and those that values are computed from */
    lmn__set_values_fn fn;
    void *context;
    uint64_t value_bytes;            /* of the values of a row, about; 0: as many as it has */
    struct lmn__touched_set touched; /* rows that are set */
    bool searched;                   /* `touched` has all of them */
    struct lmn__pb_fragment *added;  /* rows that are inserted with it, by key; borrowed */
    uint64_t added_count;
    struct lmn__change change;
    uint64_t written; /* files that are not committed: the last of each replaced fragment */
};

/* All of it lives on. The caller frees the set, and says in it where values come from. */
void lmn__set_columns_init(struct lmn__set_columns *set, struct lmn_table *table,
                           struct lmn__manifest *manifest, const struct lmn_write_options *options);

/* Frees memory, and the files that were written unless they are committed. */
void lmn__set_columns_deinit(struct lmn__set_columns *set);

/*
 * The first `count` of these columns are set, all `read_count` of them are read. `column` lives on.
 *
 * LMN_E_UNSUPPORTED  one of them has blobs, which lie beside the columns of a file: rows have to
 * move
 */
LMN_MUST_USE enum lmn_status lmn__set_columns_project(struct lmn__set_columns *set,
                                                      const struct lmn__node *const *column,
                                                      uint32_t count, uint32_t read_count,
                                                      struct lmn_error *err);

/*
 * Does it write less than moving the rows would? `pinned` stands at the version that is read. Rows
 * that match `where` are searched, if they are not known, and only where it may be so.
 */
LMN_MUST_USE enum lmn_status lmn__set_columns_choose(struct lmn__set_columns *set,
                                                     struct lmn_table *pinned, const char *where,
                                                     bool *fits_out, struct lmn_error *err);

/* Write the files and commit them; answers as lmn__change_commit(). */
LMN_MUST_USE enum lmn_status lmn__set_columns_commit(struct lmn__set_columns *set, bool *again_out,
                                                     struct lmn_error *err);

#endif
