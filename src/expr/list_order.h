/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_order.h - the items of one or two lists, sorted, so that equal ones stand together.
 *
 * Items have numbers: those of the first list from 0 on, then those of the second. Nulls are equal
 * to each other. All of it lies in the slate of the run.
 */
#ifndef LMN_EXPR_LIST_ORDER_H
#define LMN_EXPR_LIST_ORDER_H

#include "expr/term.h"

struct lmn__list_items {
    struct lmn__vector value;
    uint32_t count;
};

struct lmn__list_order {
    enum lmn__form form; /* of the items; no slot */
    bool descending, nulls_last;
    struct lmn__list_items list[2];
    uint32_t *number; /* of the items, sorted; equal ones in their order */
    uint32_t *first;  /* of each item: the number of the first one that is equal */
    uint8_t *shared;  /* of a first item: the second list has one, too */
};

/* Sort the items of both lists, of which the second may be empty. */
LMN_MUST_USE enum lmn_status lmn__list_order_sort(struct lmn__frame *frame,
                                                  struct lmn__list_order *order);

/* Find out which of the sorted items are equal: `first` and `shared`. */
LMN_MUST_USE enum lmn_status lmn__list_order_classify(struct lmn__frame *frame,
                                                      struct lmn__list_order *order);

#endif
