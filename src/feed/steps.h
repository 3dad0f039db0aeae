/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps.h - how the positions of an epoch are shared out: to steps, and in a step to ranks.
 *
 * Step s of an epoch that is entered at position `start` has the positions
 * [start + s * rank_count * batch_rows, ...), rank r the r-th part of them. Only the last step of
 * an epoch may be another: see enum lmn_feed_remainder.
 */
#ifndef LMN_FEED_STEPS_H
#define LMN_FEED_STEPS_H

#include <leman/feed.h>

struct lmn__steps {
    uint64_t row_count;
    uint64_t batch_rows;
    uint64_t rank_count;
    enum lmn_feed_remainder remainder;
};

/* Positions [first, first + count); from row_count on they begin again at 0. */
struct lmn__share {
    uint64_t first, count;
};

/* Steps of an epoch from `start` on: of all ranks together, and those in which `rank` has rows. */
uint64_t lmn__steps_count(const struct lmn__steps *steps, uint64_t start);
uint64_t lmn__steps_of_rank(const struct lmn__steps *steps, uint64_t start, uint64_t rank);

/* What `rank` has in step number `step` of an epoch entered at `start`. */
struct lmn__share lmn__steps_share(const struct lmn__steps *steps, uint64_t start, uint64_t step,
                                   uint64_t rank);

/* A place in the endless sequence of epochs. */
struct lmn__place {
    uint64_t epoch;
    uint64_t position; /* at which the epoch is entered */
    uint64_t step;     /* of the epoch, counted from there */
};

/* Where step number `number` is, counted from the start of epoch `epoch` entered at `position`. */
struct lmn__place lmn__steps_find(const struct lmn__steps *steps, uint64_t epoch, uint64_t position,
                                  uint64_t number);
/* The same for steps of which `rank` has rows. */
struct lmn__place lmn__steps_find_of_rank(const struct lmn__steps *steps, uint64_t epoch,
                                          uint64_t position, uint64_t rank, uint64_t number);

/* The number of a step, counted as lmn__steps_find() does. */
uint64_t lmn__steps_number(const struct lmn__steps *steps, uint64_t epoch, uint64_t position,
                           struct lmn__place place);

/* Where a run goes on after a step: epoch and position; .step is 0. */
struct lmn__place lmn__steps_after(const struct lmn__steps *steps, struct lmn__place place);

#endif
