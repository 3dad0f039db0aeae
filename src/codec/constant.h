/* SPDX-License-Identifier: Apache-2.0 */
/*
 * constant.h - pages without values, or with one value for all.
 *
 * Everything is known when the page is open; reading rows needs no more bytes.
 */
#ifndef LMN_CODEC_CONSTANT_H
#define LMN_CODEC_CONSTANT_H

#include "codec/values.h"

struct lmn__constant {
    const struct lmn__page_layout *layout;
    uint64_t row_count;
    struct lmn__vec rep, def; /* 16-bit levels; empty: none */
    uint64_t entry_count;     /* with levels */
    struct lmn__vec value;    /* one value's bytes */
    bool has_value;
    uint64_t *row_mark; /* with rep: the entry where every 1024th row begins */
};

/*
 * Open a page of `row_count` rows from all its buffers. They need not live on; layout and arena
 * must. The caller closes the page.
 *
 * LMN_E_CORRUPT  the numbers contradict each other
 */
LMN_MUST_USE enum lmn_status lmn__constant_open(
    struct lmn__constant *page, const struct lmn__page_layout *layout,
    const struct lmn__layout *leaf_layout, const struct lmn__span *buffer, uint32_t buffer_count,
    uint64_t row_count, struct lmn__arena *arena, struct lmn__scratch *scratch,
    struct lmn_error *err);
void lmn__constant_close(struct lmn__constant *page);

/* Append rows [first, first + count). */
LMN_MUST_USE enum lmn_status lmn__constant_append(const struct lmn__constant *page,
                                                  struct lmn__leaf *leaf, uint64_t first,
                                                  uint64_t count, struct lmn_error *err);

#endif
