/* SPDX-License-Identifier: Apache-2.0 */
/*
 * struct_make.h - structs that named_struct() and its kin make.
 */
#ifndef LMN_EXPR_STRUCT_MAKE_H
#define LMN_EXPR_STRUCT_MAKE_H

#include "expr/bind.h"

/* Is the term such a call? */
bool lmn__struct_is_made(const struct lmn__term *term);

/*
 * Make the struct of such a call one of `type`, a struct, too: field by field, by their names. What
 * it lacks is null.
 *
 * LMN_E_INVALID      a field that `type` has not, or no conversion of one
 * LMN_E_UNSUPPORTED  there are dictionaries or views inside
 */
LMN_MUST_USE enum lmn_status lmn__struct_convert(struct lmn__binder *binder,
                                                 struct lmn__term **term,
                                                 const struct lmn__type *type,
                                                 enum lmn__conversion how);

#endif
