/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cover.h - values that nobody shall see, replaced by their names.
 */
#ifndef LMN_ENGINE_COVER_H
#define LMN_ENGINE_COVER_H

#include "base/buf.h"
#include "base/bytes.h"

/*
 * Append `text` with "[NAME]" in the place of each value. `secret` are texts "NAME=value", ending
 * with NULL; NULL are none. Of values that begin at one place the longest counts. Failure shows in
 * the buffer.
 */
void lmn__cover_put(const char *const *secret, struct lmn__span text, struct lmn__buf *buf);

#endif
