/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_rows.h - functions that give a string or binary, written for one row.
 */
#ifndef LMN_EXPR_TEXT_ROWS_H
#define LMN_EXPR_TEXT_ROWS_H

#include "expr/term.h"

/* A row may become no longer than this, so that no number in a text exhausts the memory. */
enum { LMN__TEXT_BYTES_MAX = 16 << 20 };

/* Kernel: term->text_of_row of every row that is asked for and not null. */
enum lmn_status lmn__text_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t rows,
                                 struct lmn__vector *out);

/*
 * Memory for the string of a row.
 *
 * LMN_E_INVALID  that is more than LMN__TEXT_BYTES_MAX
 */
LMN_MUST_USE enum lmn_status lmn__text_take(struct lmn__frame *frame, const struct lmn__term *term,
                                            uint32_t row, uint64_t bytes, uint8_t **text_out);

/* A row's whole number. */
static inline int64_t lmn__vector_i64(const struct lmn__vector *vector, uint32_t row)
{
    return ((const int64_t *)vector->values)[lmn__vector_at(vector, row)];
}

#endif
