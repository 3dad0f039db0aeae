/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_pages.h - pages of the table's own file whose rows a fill leaves as they are: they are
 * copied, not read and encoded again.
 *
 * Columns of one leaf have such pages, in a file of the version that is written; the pages of blobs
 * hold positions and are never copied.
 */
#ifndef LMN_JOB_KEPT_PAGES_H
#define LMN_JOB_KEPT_PAGES_H

#include <leman/page.h>

#include "format/file.h"
#include "job/columns.h"
#include "job/receipt.h"
#include "table/table.h"

struct lmn__kept_pages {
    struct lmn_env *env;              /* borrowed; NULL: not made */
    struct lmn_file *file;            /* counted; NULL: no page can be copied */
    const struct lmn__column *column; /* of it */
    struct lmn__row_range *changed;   /* rows that have receipts, rising */
    uint64_t changed_count;
};

/*
 * The pages of column number `column` of the fill in fragment number `index` of columns->manifest,
 * for receipts of some of its rows. The caller frees them.
 */
LMN_MUST_USE enum lmn_status lmn__kept_pages_init(struct lmn__kept_pages *kept,
                                                  struct lmn_table *table,
                                                  const struct lmn__fill_columns *columns,
                                                  uint64_t index, uint32_t column,
                                                  const struct lmn__receipt *receipt,
                                                  uint64_t receipt_count, struct lmn_error *err);
/* Zeroed ones are allowed. */
void lmn__kept_pages_deinit(struct lmn__kept_pages *kept);

/* The first page from row `row` on that no receipt has a row of; NULL: none is left. */
const struct lmn__page_info *lmn__kept_pages_next(const struct lmn__kept_pages *kept, uint64_t row);

/* Bytes that a page takes when it is placed; and those of all that can be copied. */
uint64_t lmn__kept_page_bytes(const struct lmn__page_info *page);
uint64_t lmn__kept_pages_bytes(const struct lmn__kept_pages *kept);

/* Copy a page to `position` of a file and tell its tail; `leaf` is its column there. */
LMN_MUST_USE enum lmn_status lmn__kept_page_copy(const struct lmn__kept_pages *kept,
                                                 const struct lmn__page_info *page,
                                                 struct lmn__store_file *to, uint64_t position,
                                                 struct lmn_tail *tail, uint32_t leaf,
                                                 struct lmn_error *err);

#endif
