/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - the order of one epoch: which of the rows stands at a position.
 *
 * An order is computed, not stored: it takes the same memory for any number of rows, and any
 * position may be asked for. It does not change once it is made.
 */
#ifndef LMN_FEED_ORDER_H
#define LMN_FEED_ORDER_H

#include <leman/feed.h>

#include "feed/permutation.h"

/* What the orders of all epochs have in common. */
struct lmn__order_options {
    enum lmn_feed_shuffle shuffle;
    uint64_t row_count;
    uint64_t seed;
    uint64_t block_rows;  /* of LMN_SHUFFLE_BLOCK: rows that stay together ... */
    uint64_t window_rows; /* ... and positions within which rows are mixed */
};

struct lmn__order {
    struct lmn__order_options options;
    uint64_t key;
    struct lmn__permutation rows;  /* of all rows, or of the blocks */
    uint64_t short_at, short_rows; /* where among the blocks the short one stands, and its rows */
};

void lmn__order_init(struct lmn__order *order, const struct lmn__order_options *options,
                     uint64_t epoch);

/* The row at `position`; both are below row_count. */
uint64_t lmn__order_row(const struct lmn__order *order, uint64_t position);

/* A row that stands in for the one at `position`, another one for each `attempt`. */
uint64_t lmn__order_substitute(const struct lmn__order *order, uint64_t position, uint64_t attempt);

#endif
