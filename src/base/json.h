/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - the members of a small JSON object, for files of a few hundred bytes.
 */
#ifndef LMN_BASE_JSON_H
#define LMN_BASE_JSON_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * The value of member `key` of the object `text`, as it stands there; .data is NULL when there is
 * no such member.
 *
 * LMN_E_CORRUPT  `text` is not an object; the message names the place
 */
LMN_MUST_USE enum lmn_status lmn__json_member(struct lmn__span text, const char *key,
                                              struct lmn__span *value_out, struct lmn_error *err);

/*
 * The items of an array, one after the other: *rest is the array at first, and what is left of it
 * afterwards. False behind the last item, or where it is no array.
 */
bool lmn__json_next_item(struct lmn__span *rest, struct lmn__span *value_out);

/* A value that is a whole number that is not negative. */
bool lmn__json_to_u64(struct lmn__span value, uint64_t *number_out);

/* A value that is a string, without its quotes and escapes; false when it is none or too long. */
bool lmn__json_to_text(struct lmn__span value, char *text_out, size_t text_bytes);

/*
 * Append what a string says to `buf`, all escapes resolved: UTF-8, with U+FFFD for half a
 * surrogate. False when it is no string; a lack of memory shows in the buffer.
 */
bool lmn__json_unescape(struct lmn__span value, struct lmn__buf *buf);

#endif
