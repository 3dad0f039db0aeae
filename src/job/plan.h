/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h - which rows of a table a fill has to compute, and why.
 *
 * A row is taken when its cell is pending, failed (unless told not to retry), or stale: its inputs
 * have other values than those the cell was computed from. `where` narrows that; `recompute` takes
 * finished rows as well. Rows that have a receipt are planned and done at once. A row waits while
 * an input that a function fills is pending or failed in it.
 *
 * The layout of a fragment is a hash of everything that receipts depend on beside its id: its
 * number of physical rows, the ids of its rows, and the data files (path and column) that hold the
 * inputs. Deleting rows does not change it.
 */
#ifndef LMN_JOB_PLAN_H
#define LMN_JOB_PLAN_H

#include "format/reader.h"
#include "table/table.h"

/* What to fill. All of it is borrowed. */
struct lmn__plan_options {
    const char *const *output; /* columns to fill, each with a ledger */
    uint32_t output_count;
    const char *const *input; /* names and paths of what the function reads */
    uint32_t input_count;
    uint64_t function; /* first 8 bytes of the version hash */
    const char *where; /* NULL: all rows */
    bool recompute;    /* finished rows, too */
    bool leave_failed; /* do not try failed rows again */
    bool leave_stale;  /* do not look for stale rows */
    bool limited;      /* at most `rows_max` rows */
    uint64_t rows_max;
};

struct lmn__plan_fragment {
    uint64_t id;
    uint64_t row_count; /* physical */
    uint64_t layout;
    const struct lmn__row_range *todo; /* live rows to compute, rising */
    uint64_t todo_count;               /* ranges */
    uint64_t todo_rows;
    uint64_t input_bytes; /* what reading them is expected to cost; 0: not known */
    bool whole;           /* every live row is in `todo`: nothing of the old column is kept */
};

/* Rows by reason. Pending, failed, stale, finished and kept are the rows that match. */
struct lmn__plan_counts {
    uint64_t rows;                             /* live rows of the table */
    uint64_t matching;                         /* of which `where` holds */
    uint64_t pending, failed, stale, finished; /* taken ones */
    uint64_t kept;    /* matching rows that are not taken: finished already, or waiting */
    uint64_t waiting; /* of the kept ones: an input that a function fills has no value yet */
    uint64_t other;   /* matching rows that another version of the function has finished */
};

struct lmn__plan {
    uint64_t version; /* of the table */
    struct lmn__plan_counts counts;
    const struct lmn__plan_fragment *fragment; /* only those with rows to compute, by rising id */
    uint64_t fragment_count;
    void *memory;
};

/*
 * Plan against the version that `table` stands at. The caller frees the plan.
 *
 * LMN_E_NOT_FOUND  a column is not there, or one to be filled has no ledger
 * LMN_E_INVALID    a wrong `where`
 */
LMN_MUST_USE enum lmn_status lmn__plan_make(struct lmn_table *table,
                                            const struct lmn__plan_options *options,
                                            struct lmn__plan *plan_out, struct lmn_error *err);
/* A zeroed plan is allowed. */
void lmn__plan_free(struct lmn__plan *plan);

#endif
