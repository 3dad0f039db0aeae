/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.h - comparisons of values of one type.
 *
 * Floating-point numbers have a total order: NaN equals itself and is greater than all others, and
 * the two zeros are equal.
 */
#ifndef LMN_EXPR_COMPARE_H
#define LMN_EXPR_COMPARE_H

#include "expr/term.h"

/*
 * Bit i of `bits_out` (room in whole words of 64 rows): does a[i] `compare` b[i] hold? Nulls are
 * the caller's business.
 */
LMN_MUST_USE enum lmn_status lmn__compare_rows(struct lmn__frame *frame, enum lmn__form form,
                                               enum lmn__compare compare,
                                               const struct lmn__vector *a,
                                               const struct lmn__vector *b, uint32_t rows,
                                               uint8_t *bits_out);

/* -1, 0 or 1 for values `a` and `b` of a form that is no slot. */
int lmn__compare_values(enum lmn__form form, const void *a, const void *b);

/* Kernels: term->compare of both arguments; IS [NOT] DISTINCT FROM. */
enum lmn_status lmn__compare_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out);
enum lmn_status lmn__compare_distinct(struct lmn__frame *frame, const struct lmn__term *term,
                                      const struct lmn__vector *arg, uint32_t rows,
                                      struct lmn__vector *out);

#endif
