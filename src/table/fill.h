/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill.h - further columns for the rows that a table has: one more data file for each fragment.
 *
 * Rows are read and columns computed in batches, so memory does not grow with the table. Files of
 * fragments that are filled stay with the fill from one attempt to the next: after a conflict only
 * those fragments are computed again that others have added, or changed in what is read of them.
 */
#ifndef LMN_TABLE_FILL_H
#define LMN_TABLE_FILL_H

#include <stdatomic.h>

#include "format/projection.h"
#include "table/change.h"

/*
 * Compute the columns for `rows`, a struct array of the projection's type with at least one row,
 * whose children may be moved out. *columns_out is a struct array of fill->schema with as many; the
 * caller releases it. Called from several threads, unless the fill is in order.
 */
typedef enum lmn_status (*lmn__fill_fn)(void *context, struct ArrowArray *rows,
                                        struct ArrowArray *columns_out, struct lmn_error *err);

/* How many of `count` physical rows from `first` on are computed at once: 1 or more. */
typedef uint64_t (*lmn__fill_fitting_fn)(void *context, uint64_t first, uint64_t count);

/* Where a leaf that is read lies in a fragment. */
struct lmn__fill_source {
    struct lmn__span path; /* .len 0: in no file */
    uint64_t column;
};

/* A fragment that has got its file. */
struct lmn__filled {
    uint64_t fragment_id;
    uint64_t row_count;
    struct lmn__fill_source *source; /* what it was computed from */
    uint32_t source_count;
    int32_t first_id; /* of the columns' fields, by which those of the file are counted */
    struct lmn__pb_data_file file;
    bool used; /* in the attempt */
};

struct lmn__fill {
    struct lmn_table *table; /* borrowed */
    struct lmn__arena arena; /* of `done` */
    struct lmn__filled *done;
    uint64_t done_count, done_room;
    uint64_t kept_version; /* that the first of them was made at */

    /* Of one attempt; set before lmn__fill_commit(). All of it is borrowed. */
    struct lmn__manifest *manifest;           /* the version that is read */
    const struct lmn__projection *projection; /* of its schema: what is read of each row */
    const struct ArrowSchema *schema;         /* of the columns, a struct of them */
    const struct lmn__pb_list *fields;        /* of the columns */
    const struct lmn__pb_list *all_fields;    /* of the table with them */
    lmn__fill_fn fn;
    lmn__fill_fitting_fn fitting; /* NULL: as many as are read at once */
    void *context;
    bool with_deleted; /* fn sees deleted rows, too; otherwise they get nulls */
    bool in_order;     /* fn sees all rows in the order of the table, from one thread */
    atomic_bool over;  /* one thread has failed: the others need not go on */
};

/* `table` lives on. The caller frees the fill. */
void lmn__fill_init(struct lmn__fill *fill, struct lmn_table *table);

/* Frees memory, and removes the files that were written unless they are committed. */
void lmn__fill_deinit(struct lmn__fill *fill);

/* Fill every fragment, so that it can be committed. */
LMN_MUST_USE enum lmn_status lmn__fill_write(struct lmn__fill *fill, struct lmn_error *err);

/* Commit what was written; answers as lmn__change_commit(). */
LMN_MUST_USE enum lmn_status lmn__fill_commit(struct lmn__fill *fill, bool *again_out,
                                              struct lmn_error *err);

#endif
