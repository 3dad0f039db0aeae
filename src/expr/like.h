/* SPDX-License-Identifier: Apache-2.0 */
/*
 * like.h - LIKE and ILIKE.
 */
#ifndef LMN_EXPR_LIKE_H
#define LMN_EXPR_LIKE_H

#include "expr/bind.h"

LMN_MUST_USE enum lmn_status lmn__bind_like(struct lmn__binder *binder,
                                            const struct lmn__syntax *syntax,
                                            struct lmn__term **term_out);

/* Is it a LIKE that only asks how strings start? Then with what. */
bool lmn__like_prefix(const struct lmn__term *term, struct lmn__span *prefix_out);

/* The place of `needle` in `text`, or NULL. */
const uint8_t *lmn__find_bytes(struct lmn__span text, struct lmn__span needle);

#endif
