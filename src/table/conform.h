/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conform.h - rows that come in, as the table wants them.
 *
 * Columns are matched by name and put into the table's order. Those that may be null may be
 * missing. Types have to be the same; nothing is cast here.
 */
#ifndef LMN_TABLE_CONFORM_H
#define LMN_TABLE_CONFORM_H

#include "format/projection.h"
#include "table/manifest.h"

struct lmn__conform {
    struct lmn_env *env;                  /* borrowed */
    const struct lmn__manifest *manifest; /* that rows come to; set by the caller, borrowed */
    struct lmn__arena arena;
    uint32_t column_count;
    const struct lmn__node **column; /* the table's, on top level */
    int64_t *child;                  /* which child of the rows each one is */
    const char *missing;             /* a column that has no nulls, and the rows have not; NULL */
    const char *missing_struct;      /* one of structs that may be null; NULL */
    struct lmn__pb_list fields;      /* of these columns */
    struct ArrowArray **array;       /* children of the view */
    const void *no_buffer[1];        /* its validity */
    struct ArrowSchema schema;       /* what the rows become: a struct of these columns */
};

/*
 * Match rows of type `given` to the columns of `schema`, which lives on. `partial` allows columns
 * without nulls to be missing, too. The caller frees it.
 *
 * LMN_E_INVALID  a column is missing, unknown, there twice, or of another type; it is named
 */
LMN_MUST_USE enum lmn_status lmn__conform_init(struct lmn__conform *conform, struct lmn_env *env,
                                               const struct lmn__schema *schema,
                                               const struct ArrowSchema *given, bool partial,
                                               struct lmn_error *err);
void lmn__conform_deinit(struct lmn__conform *conform);

/* Have the rows all columns that a new row needs? LMN_E_INVALID names one that is missing. */
LMN_MUST_USE enum lmn_status lmn__conform_check_whole(const struct lmn__conform *conform,
                                                      struct lmn_error *err);

/*
 * The rows of `batch` in the table's order. *view_out borrows from `batch`, and its list of
 * children from `conform`, so there is one view at a time.
 *
 * LMN_E_INVALID  rows of the batch are null themselves
 */
LMN_MUST_USE enum lmn_status lmn__conform_batch(struct lmn__conform *conform,
                                                const struct ArrowArray *batch,
                                                struct ArrowArray *view_out, struct lmn_error *err);

/*
 * May a table of the version conform->manifest have the values of `rows`, a view? LMN_E_UNSUPPORTED
 * where its files have no place for them; see old_version.h.
 */
LMN_MUST_USE enum lmn_status lmn__conform_check_values(const struct lmn__conform *conform,
                                                       const struct ArrowArray *rows,
                                                       struct lmn_error *err);

/* The same of rows that are new, and null in columns that they have not. */
LMN_MUST_USE enum lmn_status lmn__conform_check_new(const struct lmn__conform *conform,
                                                    const struct ArrowArray *rows,
                                                    struct lmn_error *err);

#endif
