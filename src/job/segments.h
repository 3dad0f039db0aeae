/* SPDX-License-Identifier: Apache-2.0 */
/*
 * segments.h - where each row of a fragment comes from when a fill is assembled.
 */
#ifndef LMN_JOB_SEGMENTS_H
#define LMN_JOB_SEGMENTS_H

#include "job/columns.h"
#include "job/receipt.h"
#include "table/fragment_reader.h"

enum lmn__rows_place {
    LMN__ROWS_HELD, /* a receipt has them */
    LMN__ROWS_KEPT, /* they stay as the table has them */
    LMN__ROWS_DEAD  /* null: deleted, or never filled */
};

/* Rows [first, first + count) are rows [from, from + count) of a receipt, or of none. */
struct lmn__segment {
    uint64_t first, count;
    enum lmn__rows_place place;
    uint64_t receipt, from;
};

/* All rows of a fragment, by rising row. */
struct lmn__segments {
    struct lmn_env *env; /* borrowed */
    struct lmn__segment *item;
    uint64_t count, cap;
};

static inline void lmn__segments_init(struct lmn__segments *segments, struct lmn_env *env)
{
    *segments = (struct lmn__segments){ .env = env };
}

void lmn__segments_deinit(struct lmn__segments *segments);

/*
 * Cut the rows of the reader's fragment into segments.
 *
 * LMN_E_CORRUPT  receipts of rows that the fragment does not have
 */
LMN_MUST_USE enum lmn_status lmn__segments_make(struct lmn__segments *segments,
                                                const struct lmn__fragment_reader *reader,
                                                const struct lmn__fill_columns *columns,
                                                const struct lmn__receipt *receipt,
                                                uint64_t receipt_count, struct lmn_error *err);

/* The number of segments that end at or before `row`. */
uint64_t lmn__segments_find(const struct lmn__segments *segments, uint64_t row);

#endif
