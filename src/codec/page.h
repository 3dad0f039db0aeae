/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.h - one open page of a leaf's column, whatever its layout.
 *
 * Opening needs the page's index buffers: all but its data buffer (lmn__page_data_buffer()).
 * Rows are then read in three steps: which bytes of the data buffer, fetch them (the caller
 * does), append. An open page does not change and may be used by many threads.
 */
#ifndef LMN_CODEC_PAGE_H
#define LMN_CODEC_PAGE_H

#include "codec/constant.h"
#include "codec/fullzip.h"
#include "codec/miniblock.h"

enum { LMN__PAGE_BUFFER_COUNT_MAX = 8, LMN__PAGE_NO_DATA = -1 };

struct lmn__page {
    const struct lmn__page_layout *layout;
    uint64_t row_count;
    struct lmn__arena arena;
    union {
        struct lmn__miniblock mini;
        struct lmn__fullzip zip;
        struct lmn__constant constant;
    };
};

/* Which of a page's buffers holds its values; LMN__PAGE_NO_DATA: none does. */
int lmn__page_data_buffer(const struct lmn__page_layout *layout);

/*
 * Open a page. `buffer` and `block` have all its buffers, that of the data empty;
 * `data_bytes` is the size of the data buffer. A blob page is opened with its inner layout.
 *
 * The caller closes the page. Blocks that the page needs later are kept by reference.
 */
LMN_MUST_USE enum lmn_status lmn__page_open(struct lmn__page *page, struct lmn_env *env,
                                            uint64_t id, const struct lmn__page_layout *layout,
                                            const struct lmn__layout *leaf_layout,
                                            const struct lmn__span *buffer,
                                            struct lmn__block *const *block, uint32_t buffer_count,
                                            uint64_t data_bytes, uint64_t row_count,
                                            struct lmn__scratch *scratch, struct lmn_error *err);
void lmn__page_close(struct lmn__page *page);

/*
 * Which bytes [*from_out, *to_out) of the data buffer hold rows [first, first + count)? Both are
 * 0 for pages without data. The range lies in the page; count is at least 1.
 */
LMN_MUST_USE enum lmn_status lmn__page_find(const struct lmn__page *page, uint64_t first,
                                            uint64_t count, uint64_t *from_out, uint64_t *to_out,
                                            struct lmn_error *err);

/*
 * Make a landing for `bytes` bytes of the data buffer, see fullzip.h. Pages whose values are
 * decoded have none.
 */
LMN_MUST_USE enum lmn_status lmn__page_land(const struct lmn__page *page, struct lmn__leaf *leaf,
                                            uint64_t bytes, struct lmn__landing *landing,
                                            struct lmn_error *err);

/*
 * Append rows [first, first + count) to the leaf's builders. `data` are the bytes that
 * lmn__page_find() named.
 */
LMN_MUST_USE enum lmn_status lmn__page_append(const struct lmn__page *page, struct lmn__leaf *leaf,
                                              struct lmn__span data, uint64_t first, uint64_t count,
                                              struct lmn_error *err);

/* Bytes the open page holds in memory, for caches. */
uint64_t lmn__page_bytes(const struct lmn__page *page);

#endif
