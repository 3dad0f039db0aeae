/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mover.h - dates and timestamps moved by intervals.
 *
 * A timestamp moves by months first, whose last day it does not leave, then by days, both on the
 * clock of its zone, then by nanoseconds, which all clocks count alike.
 */
#ifndef LMN_EXPR_MOVER_H
#define LMN_EXPR_MOVER_H

#include "expr/interval.h"
#include "expr/zone.h"

/* What moves: counts of `rate` per second, or days where it is 0, on the clock of a zone. */
struct lmn__mover {
    int64_t rate;
    int64_t sign;                 /* of the interval: -1 moves backwards */
    const struct lmn__zone *zone; /* NULL: UTC */
};

/* False: the result does not fit. */
bool lmn__mover_move(const struct lmn__mover *mover, int64_t value,
                     const struct lmn__interval *interval, int64_t *value_out);

#endif
