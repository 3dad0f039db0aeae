/* SPDX-License-Identifier: Apache-2.0 */
/*
 * result.h - vectors back to Arrow arrays.
 */
#ifndef LMN_EXPR_RESULT_H
#define LMN_EXPR_RESULT_H

#include "arrow/builder.h"
#include "expr/term.h"

/* Make room for `rows` rows, so that the result does not move while it grows. */
LMN_MUST_USE enum lmn_status lmn__result_reserve(struct lmn__builder *builder, uint64_t rows,
                                                 struct lmn_error *err);

/* Append the frame's rows to a builder of the type's layout. */
LMN_MUST_USE enum lmn_status lmn__result_append(struct lmn__frame *frame,
                                                const struct lmn__type *type,
                                                const struct lmn__vector *vector,
                                                struct lmn__builder *builder);

#endif
