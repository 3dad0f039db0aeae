/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list.h - lists and structs inside values: items, fields, and what a list contains.
 */
#ifndef LMN_EXPR_LIST_H
#define LMN_EXPR_LIST_H

#include "expr/bind.h"

/* [a, b, ...] and x[i]. Items count from 1, from -1 at the end; there is none at 0. */
LMN_MUST_USE enum lmn_status lmn__bind_list(struct lmn__binder *binder,
                                            const struct lmn__syntax *syntax,
                                            struct lmn__term **term_out);

/* x[i] as a function. */
LMN_MUST_USE enum lmn_status lmn__bind_list_item(struct lmn__binder *binder, uint32_t place,
                                                 int32_t choice, struct lmn__term **arg,
                                                 uint32_t count, struct lmn__term **term_out);

/* x.field where x is no column. */
LMN_MUST_USE enum lmn_status lmn__bind_list_field(struct lmn__binder *binder,
                                                  const struct lmn__syntax *syntax,
                                                  struct lmn__term **term_out);

/* The field `name` of `value`. */
LMN_MUST_USE enum lmn_status lmn__bind_struct_field(struct lmn__binder *binder, uint32_t place,
                                                    struct lmn__term *value, const char *name,
                                                    struct lmn__term **term_out);

/*
 * array_has, array_has_any, array_has_all (`choice` 0, 1, 2), array_position (3); array_length, and
 * whether that is 0 (`choice` 1).
 */
LMN_MUST_USE enum lmn_status lmn__bind_list_has(struct lmn__binder *binder, uint32_t place,
                                                int32_t choice, struct lmn__term **arg,
                                                uint32_t count, struct lmn__term **term_out);
LMN_MUST_USE enum lmn_status lmn__bind_list_length(struct lmn__binder *binder, uint32_t place,
                                                   int32_t choice, struct lmn__term **arg,
                                                   uint32_t count, struct lmn__term **term_out);

#endif
