/* SPDX-License-Identifier: Apache-2.0 */
/*
 * casing.h - letters in lower and upper case.
 *
 * Letters map one to one, by the simple mappings of Unicode for the Latin, Greek, Cyrillic,
 * Armenian and full-width alphabets; all others stay as they are.
 */
#ifndef LMN_EXPR_CASING_H
#define LMN_EXPR_CASING_H

#include "expr/bind.h"

/* One letter in the other case, or itself. */
uint32_t lmn__letter_lower(uint32_t character);
uint32_t lmn__letter_upper(uint32_t character);

/* Kernels of one string. */
enum lmn_status lmn__lower_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t rows,
                                  struct lmn__vector *out);
enum lmn_status lmn__upper_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t rows,
                                  struct lmn__vector *out);

/* Wrap a string term in lower(). */
LMN_MUST_USE enum lmn_status lmn__bind_lower(struct lmn__binder *binder, struct lmn__term **term);

/* The character at the start of `text`, which is UTF-8 and not empty, and its bytes. */
uint32_t lmn__utf8_decode(struct lmn__span text, uint32_t *bytes_out);
/* Returns the number of bytes written, at most 4. */
uint32_t lmn__utf8_encode(uint32_t character, uint8_t *bytes_out);

#endif
