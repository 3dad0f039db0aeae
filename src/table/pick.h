/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pick.h - rows of one version, each named by its fragment and its place there, read in the order
 * in which they lie and handed out in the order in which they were asked for.
 *
 * A pick belongs to one thread; it may let others help it.
 */
#ifndef LMN_TABLE_PICK_H
#define LMN_TABLE_PICK_H

#include "table/reader_set.h"
#include "table/row_columns.h"

/* A row that is asked for. */
struct lmn__pick_row {
    uint64_t fragment; /* its number */
    uint64_t row;      /* in it; see struct lmn__pick */
    uint64_t place;    /* in the request */
};

struct lmn__pick_group;

/* The caller sets what stands before `count` and gives the rest to lmn__pick_init(). */
struct lmn__pick {
    struct lmn__snapshot *snapshot;  /* borrowed */
    struct lmn__reader_set *readers; /* borrowed */
    struct lmn__row_columns row_columns;
    bool live;             /* `row` counts the live rows of a fragment, not all of them */
    bool close;            /* many of the rows lie side by side */
    bool whole;            /* the rows are gathered in one piece, so what is read may be that */
    struct lmn_env *place; /* borrowed; where what is gathered lies. NULL: the snapshot's */
    const uint64_t *asked; /* how messages call the rows, by place; NULL: by their place */
    uint64_t count;
    struct lmn__pick_row *row; /* the caller fills all of them, places included */
    uint32_t *part;            /* for each row of the request: its group ... */
    uint64_t *index;           /* ... and where it is in that group's array */
    uint32_t group_count;
    struct lmn__pick_group *group;
    bool is_in_order; /* what the only group reads is the result as it is */
};

/* Make room for `count` rows. The caller calls lmn__pick_deinit(), also after a failure. */
LMN_MUST_USE enum lmn_status lmn__pick_init(struct lmn__pick *pick, uint64_t count,
                                            struct lmn_error *err);
void lmn__pick_deinit(struct lmn__pick *pick);

/*
 * Read the rows, with up to `threads` threads when there is enough to read; `scratch` is the
 * caller's.
 *
 * LMN_E_NOT_FOUND  a row is deleted
 */
LMN_MUST_USE enum lmn_status lmn__pick_read(struct lmn__pick *pick, uint32_t threads,
                                            struct lmn__scratch *scratch, struct lmn_error *err);

/*
 * Rows [first, first + count) of the request as a struct array, with `whole` all of them, once; the
 * caller releases it.
 */
LMN_MUST_USE enum lmn_status lmn__pick_gather(struct lmn__pick *pick, uint64_t first,
                                              uint64_t count, struct ArrowArray *array_out,
                                              struct lmn_error *err);

#endif
