/* SPDX-License-Identifier: Apache-2.0 */
/*
 * utf8.h - is it text?
 */
#ifndef LMN_BASE_UTF8_H
#define LMN_BASE_UTF8_H

#include <stdbool.h>

#include <leman/status.h>

#include "base/bytes.h"

/*
 * Bytes from the front that are UTF-8: whole characters in their shortest form, without surrogates.
 * NUL is one.
 */
size_t lmn__utf8_bytes(struct lmn__span text);

/* Is this UTF-8 as a whole, without NULs? */
bool lmn__utf8_valid(struct lmn__span text);

/*
 * Is this UTF-8, so that everybody reads it? `what` is what the text is, "a column's name".
 *
 * LMN_E_INVALID  no; the message has the text, its other bytes as \xff
 */
LMN_MUST_USE enum lmn_status lmn__utf8_check(struct lmn__span text, const char *what,
                                             struct lmn_error *err);

#endif
