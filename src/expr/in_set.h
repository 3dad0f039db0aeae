/* SPDX-License-Identifier: Apache-2.0 */
/*
 * in_set.h - x IN (a, b, ...): a table of the constants, or a comparison with each.
 */
#ifndef LMN_EXPR_IN_SET_H
#define LMN_EXPR_IN_SET_H

#include "expr/bind.h"

/* Prepare a term whose child[0] is the value and whose other children are the items. */
LMN_MUST_USE enum lmn_status lmn__in_set_prepare(struct lmn__binder *binder,
                                                 struct lmn__term *term);

enum lmn_status lmn__in_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                               const struct lmn__vector *arg, uint32_t rows,
                               struct lmn__vector *out);

/*
 * Is any item between `min` and `max`, both of the items' form? *null_out: an item is null;
 * *constant_out: all items are constants, without which the answer means nothing.
 */
bool lmn__in_set_within(const struct lmn__term *term, const void *min, const void *max,
                        bool *null_out, bool *constant_out);

#endif
