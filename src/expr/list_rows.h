/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_rows.h - functions that give a list, written for one row.
 */
#ifndef LMN_EXPR_LIST_ROWS_H
#define LMN_EXPR_LIST_ROWS_H

#include "expr/list_maker.h"
#include "expr/list_order.h"

/* A row may get no more items than this, so that no number in a text exhausts the memory. */
enum { LMN__LIST_ITEMS_MAX = 16 << 20 };

/* The list of a row: the items of both parts, of which a constant stands for `count` equal ones. */
struct lmn__list_made {
    bool is_null;
    struct lmn__list_items part[2];
};

/*
 * Make the list of one row, which is asked for and, unless the term has `own_nulls`, has no null
 * argument. *made_out is empty on entry; it points into the slate or an argument.
 */
typedef enum lmn_status (*lmn__list_fn)(struct lmn__frame *frame, const struct lmn__term *term,
                                        const struct lmn__vector *arg, uint32_t row,
                                        struct lmn__list_made *made_out);

/* What such a call was bound to: `data` of its term. */
struct lmn__list_call {
    struct lmn__list_maker *maker;
    lmn__list_fn list_of_row;
    const void *data; /* of the function */
};

/* A call that gives lists of `item`. */
LMN_MUST_USE enum lmn_status lmn__list_rows_bind(struct lmn__binder *binder, uint32_t place,
                                                 lmn__list_fn list_of_row,
                                                 const struct lmn__type *item,
                                                 struct lmn__term *const *arg, uint32_t count,
                                                 struct lmn__term **term_out);

/*
 * The items of argument number `k`, a list, in a row; none for a null.
 *
 * LMN_E_INVALID  there are more than LMN__LIST_ITEMS_MAX
 */
LMN_MUST_USE enum lmn_status lmn__list_items(struct lmn__frame *frame, const struct lmn__term *term,
                                             const struct lmn__vector *arg, uint32_t k,
                                             uint32_t row, struct lmn__list_items *items_out);

/* LMN_E_INVALID: a row may not get so many items. */
LMN_MUST_USE enum lmn_status lmn__list_check(struct lmn__frame *frame, const struct lmn__term *term,
                                             uint32_t row, uint64_t count);

/*
 * Make *term a list with a type, and tell that of its items.
 *
 * LMN_E_INVALID  it is no list
 */
LMN_MUST_USE enum lmn_status lmn__list_bind_items(struct lmn__binder *binder,
                                                  struct lmn__term **term,
                                                  struct lmn__type *item_out);

/* Make *term a value of `item` without loss. */
LMN_MUST_USE enum lmn_status lmn__list_bind_item(struct lmn__binder *binder,
                                                 struct lmn__term **term,
                                                 const struct lmn__type *item);

#endif
