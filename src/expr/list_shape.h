/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_shape.h - lists of lists: how deep they are, and the items of all of them in one list.
 */
#ifndef LMN_EXPR_LIST_SHAPE_H
#define LMN_EXPR_LIST_SHAPE_H

#include "expr/bind.h"

/* Replace *term, lists of lists, by lists of the items of the inner ones. Other lists stay. */
LMN_MUST_USE enum lmn_status lmn__list_flatten(struct lmn__binder *binder, uint32_t place,
                                               struct lmn__term **term);

#endif
