/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arithmetic.h - + - * / % and the sign, on values of one type.
 *
 * Whole numbers do not wrap: a result that does not fit, and a division by zero, are errors.
 */
#ifndef LMN_EXPR_ARITHMETIC_H
#define LMN_EXPR_ARITHMETIC_H

#include "expr/term.h"

/* term->choice is the operator's character; of two arguments, or '-' of one. */
enum lmn_status lmn__arithmetic_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                       const struct lmn__vector *arg, uint32_t rows,
                                       struct lmn__vector *out);

#endif
