/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare_nested.h - comparisons of lists and structs.
 */
#ifndef LMN_EXPR_COMPARE_NESTED_H
#define LMN_EXPR_COMPARE_NESTED_H

#include "expr/bind.h"

/* Kernels: term->compare of both arguments, which are lists or structs of one type; IS [NOT]
 * DISTINCT FROM. */
enum lmn_status lmn__compare_nested(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out);
enum lmn_status lmn__compare_nested_distinct(struct lmn__frame *frame, const struct lmn__term *term,
                                             const struct lmn__vector *arg, uint32_t rows,
                                             struct lmn__vector *out);

/*
 * Before two terms are unified: lists as written take the type of the other side, and lists of one
 * type become lists of the other where that loses nothing.
 */
LMN_MUST_USE enum lmn_status lmn__bind_nested(struct lmn__binder *binder, struct lmn__term **pair);

#endif
