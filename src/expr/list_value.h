/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_value.h - lists that are written out, and lists of one type as lists of another.
 *
 * A list as written, [1, 2.5, null], has no type of its own until it meets one: its items are
 * converted one by one to the items of the type it becomes.
 */
#ifndef LMN_EXPR_LIST_VALUE_H
#define LMN_EXPR_LIST_VALUE_H

#include "expr/bind.h"

/* [a, b, ...], whose type has no schema yet. */
LMN_MUST_USE enum lmn_status lmn__list_literal(struct lmn__binder *binder,
                                               const struct lmn__syntax *syntax,
                                               struct lmn__term **term_out);

/* The same of terms. */
LMN_MUST_USE enum lmn_status lmn__list_written(struct lmn__binder *binder, uint32_t place,
                                               struct lmn__term *const *item, uint32_t count,
                                               struct lmn__term **term_out);

/* Is it a list as written, with its items as children? */
bool lmn__list_is_literal(const struct lmn__term *term);

/* Give a list as written the type that its items have in common. Other terms stay. */
LMN_MUST_USE enum lmn_status lmn__list_settle(struct lmn__binder *binder, struct lmn__term **term);

/* Are both lists, of which the first may be converted to the second if its items may? */
bool lmn__list_converts(const struct lmn__type *from, const struct lmn__type *to);

/*
 * lmn__bind_convert() for such a pair.
 *
 * LMN_E_INVALID  the items have no conversion, or a list as written has not the size of the type's
 */
LMN_MUST_USE enum lmn_status lmn__list_convert(struct lmn__binder *binder, struct lmn__term **term,
                                               const struct lmn__type *type,
                                               enum lmn__conversion how);

#endif
