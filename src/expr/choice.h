/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choice.h - CASE and COALESCE: each row's value from one of several terms.
 *
 * A term is evaluated only when a row needs it, and raises errors only for rows that do.
 */
#ifndef LMN_EXPR_CHOICE_H
#define LMN_EXPR_CHOICE_H

#include "expr/term.h"

LMN_MUST_USE enum lmn_status lmn__choice_eval(struct lmn__frame *frame,
                                              const struct lmn__term *term,
                                              struct lmn__vector *out);

#endif
