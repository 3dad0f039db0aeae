/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pages.h - pages of one column, apart from any file, from arrays that lie one behind the other.
 */
#ifndef LMN_FORMAT_PAGES_H
#define LMN_FORMAT_PAGES_H

#include <leman/page.h>

#include "format/blob_page.h"
#include "format/tail.h"
#include "format/write_plan.h"

/* From this size on, buffers of pages begin at blocks of a file (os/file.h). */
enum { LMN__PAGES_LARGE_BYTES = 1 << 20 };

/*
 * Encode column number `column` of the plan's rows from `count` arrays of its type, whose offsets
 * count. Pages go over the bounds of arrays. All else is as lmn_pages_encode().
 */
LMN_MUST_USE enum lmn_status lmn__pages_encode_column(
    const struct lmn__write_plan *plan, uint32_t column, const struct ArrowArray *const *array,
    uint64_t count, uint64_t row_start, struct lmn_pages **pages_out, struct lmn_error *err);

/*
 * Add a page that is in its place to a tail; extents and description are copied.
 *
 * LMN_E_CORRUPT  the tail has no such column, or the page no rows, or a place that is not aligned
 */
LMN_MUST_USE enum lmn_status lmn__pages_tail_add(struct lmn_tail *tail, uint32_t column,
                                                 const struct lmn__placed_page *page,
                                                 struct lmn_error *err);

/* The first place behind all pages of a tail, where it may be written. */
uint64_t lmn__pages_tail_end(const struct lmn_tail *tail);

/*
 * Make a page of column number `column`, of blobs whose payloads have their places in the file,
 * from entries that are at most LMN__BLOB_PAGE_ROWS_MAX. The caller frees *pages_out.
 */
LMN_MUST_USE enum lmn_status lmn__pages_encode_blobs(
    const struct lmn__write_plan *plan, uint32_t column, const struct lmn__blob_entries *entries,
    uint64_t row_start, struct lmn_pages **pages_out, struct lmn_error *err);

/*
 * Append a descriptor to `out` that is that of `descriptor`, of pages of one column of rows without
 * gaps, as if these were the first rows, and the only column, of a file whose byte 0 is byte
 * `position` of the one that they were placed in.
 *
 * LMN_E_CORRUPT  it is no descriptor, or of pages before that position
 */
LMN_MUST_USE enum lmn_status lmn__pages_move_first(struct lmn_env *env, struct lmn__span descriptor,
                                                   uint64_t position, struct lmn__buf *out,
                                                   struct lmn_error *err);

#endif
