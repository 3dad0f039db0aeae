/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_set.h - matched rows that stay where they are: the columns that a source brings, but for
 * its keys, which are equal, are set in them.
 */
#ifndef LMN_TABLE_MERGE_SET_H
#define LMN_TABLE_MERGE_SET_H

#include "table/conform.h"
#include "table/merge_source.h"
#include "table/set_columns.h"

struct lmn__merge_set {
    struct lmn__set_columns set;
    const struct lmn__merge_source *source; /* borrowed, as all below */
    struct lmn__conform *given;             /* the source's columns as the table wants them */
    const struct lmn__merge_pair *pair;     /* in the order of the table's rows */
    uint64_t pair_count;
    uint64_t next;                   /* the pair of the next row that is set */
    const struct lmn__node **column; /* that are set */
    uint32_t *child;                 /* which of given's columns each one is */
};

/*
 * Does it write less to set the columns than to move the rows of these pairs? `merge->set` is made,
 * the members below it up to `pair_count` are filled in. `key` are the columns that are equal.
 */
LMN_MUST_USE enum lmn_status lmn__merge_set_choose(struct lmn__merge_set *merge,
                                                   struct lmn_table *pinned, const char *const *key,
                                                   uint32_t key_count, bool *fits_out,
                                                   struct lmn_error *err);

#endif
