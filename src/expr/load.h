/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - values of Arrow arrays as vectors.
 */
#ifndef LMN_EXPR_LOAD_H
#define LMN_EXPR_LOAD_H

#include "expr/term.h"

/*
 * Slots [first, first + rows) of `array`, whose Arrow type is `schema`, as values of the type that
 * lmn__type_from_schema() gives. What need not be copied points into the array.
 */
LMN_MUST_USE enum lmn_status lmn__load_range(struct lmn__frame *frame,
                                             const struct ArrowSchema *schema,
                                             const struct ArrowArray *array, uint64_t first,
                                             uint32_t rows, struct lmn__vector *out);

/*
 * Slots slot[0], slot[1], ... of `array`. Rows that are not in `validity` (NULL: all are) are null
 * and their slots are not looked at.
 */
LMN_MUST_USE enum lmn_status lmn__load_slots(struct lmn__frame *frame,
                                             const struct ArrowSchema *schema,
                                             const struct ArrowArray *array, const uint64_t *slot,
                                             const uint8_t *validity, uint32_t rows,
                                             struct lmn__vector *out);

/* Items [*from_out, *to_out) of list slot `slot` in the first child of `array`. */
void lmn__load_list(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t slot,
                    uint64_t *from_out, uint64_t *to_out);

/* Bits [first, first + rows) of a bitmap from bit 0 on, copied only where they must be. */
LMN_MUST_USE enum lmn_status lmn__load_bits(struct lmn__frame *frame, const uint8_t *bits,
                                            uint64_t first, uint32_t rows,
                                            const uint8_t **bits_out);

/* A half as a float, and back, to the nearest, ties to even. */
float lmn__half_to_float(uint16_t half);
uint16_t lmn__float_to_half(float value);

#endif
