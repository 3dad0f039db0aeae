/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.h - an open feed.
 *
 * Everything but the counters is constant while threads read ahead; what changes (the cursor, the
 * way steps are shared out) changes while there are none.
 */
#ifndef LMN_FEED_FEED_H
#define LMN_FEED_FEED_H

#include <leman/feed.h>

#include "feed/access.h"
#include "feed/cursor.h"
#include "feed/order.h"
#include "feed/prefetch.h"
#include "feed/selection.h"
#include "feed/steps.h"
#include "table/pick.h"

struct lmn_feed {
    struct lmn_env *env;   /* counted */
    struct lmn_env *place; /* counted; where batches lie. NULL: in the memory of env */
    uint64_t process;      /* that opened it; see os/fork.h */
    struct lmn__access access;
    struct lmn__snapshot *snapshot;
    struct lmn__reader_set *readers;
    struct lmn__row_columns row_columns;
    bool is_filtered;
    struct lmn__selection selection; /* if it is */
    bool is_pinned;
    uint64_t epochs; /* 0: without end */
    uint32_t rank;
    uint32_t worker, worker_count;
    uint32_t threads, prefetch_batches;
    bool replaces; /* rows that cannot be read */
    struct lmn__order_options order;
    struct lmn__steps steps; /* the present way to share out */
    struct lmn__arena arena; /* of the cursor's texts */
    struct lmn__cursor cursor;
    struct lmn__arena *segments; /* memory of the cursor's segments */
    struct lmn__buf text;        /* of the last state */

    uint64_t first;                 /* of the rank's batches since the last segment began: ours */
    uint64_t given;                 /* batches of this feed from there */
    struct lmn__prefetch *prefetch; /* NULL: not started */
    uint64_t prefetch_first;        /* `given` when it was started */
    uint32_t unit_batches;

    uint64_t batches, rows, wait_ns;
    int64_t started_ns; /* when the first batch was asked for; 0: not yet */
    atomic_uint_fast64_t busy_ns, bytes, replaced;
};

/* The segment that holds now. */
static inline const struct lmn__segment *lmn__feed_segment(const struct lmn_feed *feed)
{
    return &feed->cursor.segment[feed->cursor.segment_count - 1];
}

/* Where batch number `number` of this feed is, counted from `first`. */
static inline struct lmn__place lmn__feed_place(const struct lmn_feed *feed, uint64_t number)
{
    const struct lmn__segment *segment = lmn__feed_segment(feed);

    return lmn__steps_find_of_rank(&feed->steps, segment->epoch, segment->position, feed->rank,
                                   feed->first + number * feed->worker_count);
}

/* Point `pick_row` at row number `row` of the epoch. */
void lmn__feed_locate(const struct lmn_feed *feed, uint64_t row, struct lmn__pick_row *pick_row);

/* A lmn__unit_read_fn; `context` is the feed. */
LMN_MUST_USE enum lmn_status lmn__feed_read_unit(void *context, struct lmn__scratch *scratch,
                                                 uint64_t unit, struct ArrowArray *batch_out,
                                                 uint32_t *count_out, struct lmn_error *err);

/* Free what the feed holds beside itself, as far as it was made. */
void lmn__feed_deinit(struct lmn_feed *feed);

/* LMN_E_UNSUPPORTED in a process that was forked since the feed was opened. */
LMN_MUST_USE enum lmn_status lmn__feed_check_process(const struct lmn_feed *feed,
                                                     struct lmn_error *err);

/* Stop reading ahead. */
void lmn__feed_stop(struct lmn_feed *feed);

#endif
