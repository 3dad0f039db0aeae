/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logic.h - AND, OR, NOT and IS with SQL's three values.
 */
#ifndef LMN_EXPR_LOGIC_H
#define LMN_EXPR_LOGIC_H

#include "expr/term.h"

/*
 * AND or OR of all children. A child is evaluated only when rows are left that those before it did
 * not decide, and rows that are decided raise no errors in it.
 */
LMN_MUST_USE enum lmn_status lmn__logic_chain(struct lmn__frame *frame,
                                              const struct lmn__term *term,
                                              struct lmn__vector *out);

/* Kernels. */
enum lmn_status lmn__logic_not(struct lmn__frame *frame, const struct lmn__term *term,
                               const struct lmn__vector *arg, uint32_t rows,
                               struct lmn__vector *out);
enum lmn_status lmn__logic_is_null(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out);
enum lmn_status lmn__logic_is(struct lmn__frame *frame, const struct lmn__term *term,
                              const struct lmn__vector *arg, uint32_t rows,
                              struct lmn__vector *out);

#endif
