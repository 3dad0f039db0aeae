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

/* The text for a message, cut where it is long: bytes that are no UTF-8 are shown as \xff. */
enum { LMN__UTF8_SHOWN_BYTES = 200 };
void lmn__utf8_show(struct lmn__span text, char shown[LMN__UTF8_SHOWN_BYTES]);

/*
 * Is this UTF-8, so that everybody reads it? `what` is what the text is, "a column's name".
 *
 * LMN_E_INVALID  no; the message has the text as it is shown
 */
LMN_MUST_USE enum lmn_status lmn__utf8_check(struct lmn__span text, const char *what,
                                             struct lmn_error *err);

#endif
