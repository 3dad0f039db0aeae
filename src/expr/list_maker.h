/* SPDX-License-Identifier: Apache-2.0 */
/*
 * list_maker.h - lists that a kernel makes: their type, and the array that holds those of a run.
 *
 * A kernel opens a builder of maker->layout, adds for each row a null, or a list and its items to
 * builder.child[0], and hands the lists over with finish. They live in the slate of the run.
 */
#ifndef LMN_EXPR_LIST_MAKER_H
#define LMN_EXPR_LIST_MAKER_H

#include "arrow/builder.h"
#include "expr/bind.h"

/* What makes the lists of a type. */
struct lmn__list_maker {
    const struct lmn__layout *layout; /* of the lists */
    struct lmn__type item;
    const struct lmn__term *convert; /* of items; NULL: they are of the type already */
};

/*
 * A maker of lists of `type`, which lives as long as the binding.
 *
 * LMN_E_UNSUPPORTED  there are dictionaries or views inside
 */
LMN_MUST_USE enum lmn_status lmn__list_maker_new(struct lmn__binder *binder, uint32_t place,
                                                 const struct lmn__type *type,
                                                 struct lmn__list_maker **maker_out);

/* The type of lists of `item`, which lives as long as the binding. */
LMN_MUST_USE enum lmn_status lmn__list_type_of(struct lmn__binder *binder,
                                               const struct lmn__type *item,
                                               struct lmn__type *type_out);

/*
 * A list of `count` items starts behind the `before` items that were added so far.
 *
 * LMN_E_INVALID  32-bit offsets cannot reach that far
 */
LMN_MUST_USE enum lmn_status lmn__list_open(struct lmn__frame *frame, const struct lmn__term *term,
                                            struct lmn__builder *builder, uint32_t row,
                                            uint64_t before, uint64_t count);

LMN_MUST_USE enum lmn_status lmn__list_add_null(struct lmn__frame *frame,
                                                struct lmn__builder *builder);

/* The lists of `rows` rows as a vector. */
LMN_MUST_USE enum lmn_status lmn__list_finish(struct lmn__frame *frame,
                                              struct lmn__builder *builder, uint32_t rows,
                                              struct lmn__vector *out);

#endif
