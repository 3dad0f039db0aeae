/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json.h - the members of a small JSON object, for files of a few hundred bytes.
 */
#ifndef LMN_BASE_JSON_H
#define LMN_BASE_JSON_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/env.h"

/*
 * The value of member `key` of the object `text`, as it stands there; .data is NULL when there is
 * no such member.
 *
 * LMN_E_CORRUPT  `text` is not an object; the message names the place
 */
LMN_MUST_USE enum lmn_status lmn__json_member(struct lmn__span text, const char *key,
                                              struct lmn__span *value_out, struct lmn_error *err);

/* A value that is a whole number that is not negative. */
bool lmn__json_to_u64(struct lmn__span value, uint64_t *number_out);

/* A value that is a string, without its quotes and escapes; false when it is none or too long. */
bool lmn__json_to_text(struct lmn__span value, char *text_out, size_t text_bytes);

#endif
