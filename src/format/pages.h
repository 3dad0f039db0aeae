/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - pages of one column, apart from any file, from arrays that lie one behind the other.
 */
#ifndef LMN_FORMAT_PAGES_H
#define LMN_FORMAT_PAGES_H

#include <leman/page.h>

#include "format/write_plan.h"

/*
 * Encode column number `column` of the plan's rows from `count` arrays of its type, whose offsets
 * count. Pages go over the bounds of arrays. All else is as lmn_pages_encode().
 */
LMN_MUST_USE enum lmn_status lmn__pages_encode_column(
    const struct lmn__write_plan *plan, uint32_t column, const struct ArrowArray *const *array,
    uint64_t count, uint64_t row_start, struct lmn_pages **pages_out, struct lmn_error *err);

#endif
