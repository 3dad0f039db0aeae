/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_make.h - lists made of the items of other lists: sorted, cut, put together, compared as
 * sets.
 */
#ifndef LMN_EXPR_LIST_MAKE_H
#define LMN_EXPR_LIST_MAKE_H

#include "expr/bind.h"

/* What a call makes of its lists: `choice` of the binders below. */
enum {
    LMN__LIST_CONCAT,
    LMN__LIST_REVERSE,
    LMN__LIST_SLICE,      /* from one place to another, both included */
    LMN__LIST_POP_FRONT,  /* without the first item */
    LMN__LIST_POP_BACK,   /* without the last */
    LMN__LIST_SORT,       /* 'ASC' or 'DESC', 'NULLS FIRST' or 'NULLS LAST' */
    LMN__LIST_DISTINCT,   /* each value once, where it stands first */
    LMN__LIST_UNION,      /* the same of both lists */
    LMN__LIST_INTERSECT,  /* of the first list, values that the second has, too */
    LMN__LIST_EXCEPT,     /* ... that it has not */
    LMN__LIST_REMOVE,     /* without the first item that is in the second list */
    LMN__LIST_REMOVE_ALL, /* without all of them */
    LMN__LIST_HAS_ANY,    /* conditions: is an item of the second list in the first, are all */
    LMN__LIST_HAS_ALL
};

/* A call on lists. */
LMN_MUST_USE enum lmn_status lmn__bind_list_make(struct lmn__binder *binder, uint32_t place,
                                                 int32_t choice, struct lmn__term **arg,
                                                 uint32_t count, struct lmn__term **term_out);

/* The same with an item in the place of one list: array_append(l, x), array_remove(l, x). */
LMN_MUST_USE enum lmn_status lmn__bind_list_make_item(struct lmn__binder *binder, uint32_t place,
                                                      int32_t choice, struct lmn__term **arg,
                                                      uint32_t count, struct lmn__term **term_out);

/* array_prepend(x, l) */
LMN_MUST_USE enum lmn_status lmn__bind_list_prepend(struct lmn__binder *binder, uint32_t place,
                                                    int32_t choice, struct lmn__term **arg,
                                                    uint32_t count, struct lmn__term **term_out);

/* The least item (`choice` 0) or the greatest (1) that is not null. */
LMN_MUST_USE enum lmn_status lmn__bind_list_extreme(struct lmn__binder *binder, uint32_t place,
                                                    int32_t choice, struct lmn__term **arg,
                                                    uint32_t count, struct lmn__term **term_out);

#endif
