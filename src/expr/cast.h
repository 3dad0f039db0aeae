/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cast.h - values of one type as values of another.
 *
 * A value that has no counterpart is an error, or null where the term is `lenient`. Floats lose
 * what is behind the point on the way to whole numbers, times what is finer than the unit, decimals
 * are rounded; where the term is `exact` such a value has no counterpart.
 */
#ifndef LMN_EXPR_CAST_H
#define LMN_EXPR_CAST_H

#include "expr/term.h"
#include "expr/zone.h"

/* Is there a conversion at all? */
bool lmn__cast_exists(const struct lmn__type *from, const struct lmn__type *to);

/* From the child's type to the term's; term->data is the zone of struct lmn__cast. */
enum lmn_status lmn__cast_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t rows,
                                 struct lmn__vector *out);

/* The parts of it: bad[i] is set for values without a counterpart. */
struct lmn__cast {
    struct lmn__frame *frame;
    const struct lmn__type *from, *to;
    const struct lmn__vector *arg;
    uint32_t rows;
    bool exact;
    const struct lmn__zone *zone; /* of the side that has one when the other has none; NULL: UTC */
    void *values;                 /* of the form of `to` */
    uint8_t *bad;
};

void lmn__cast_numbers(struct lmn__cast *cast);
void lmn__cast_times(struct lmn__cast *cast);
/* Durations and intervals; one with months is no duration. */
void lmn__cast_intervals(struct lmn__cast *cast);
void lmn__cast_from_text(struct lmn__cast *cast);
LMN_MUST_USE enum lmn_status lmn__cast_to_text(struct lmn__cast *cast);

enum { LMN__VALUE_TEXT_BYTES = 400 };

/* Value number `i` as text, for casts and messages. Returns the length. */
size_t lmn__value_print(const struct lmn__type *type, const void *values, uint32_t i,
                        char text_out[LMN__VALUE_TEXT_BYTES]);

#endif
