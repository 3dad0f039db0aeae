/* SPDX-License-Identifier: Apache-2.0 */
/*
 * miniblock.h - pages of small values in chunks of a few KiB.
 *
 * A page is opened from its index buffers (chunk words, dictionary, repetition index); its data
 * buffer stays where it is until rows are wanted. lmn__miniblock_find() says which bytes of it
 * hold a range of rows, lmn__miniblock_append() decodes them. An open page does not change and
 * may be used by many threads.
 */
#ifndef LMN_CODEC_MINIBLOCK_H
#define LMN_CODEC_MINIBLOCK_H

#include "codec/values.h"

struct lmn__mini_chunk {
    uint64_t offset;      /* in the data buffer */
    uint64_t first_value; /* values in the chunks before */
    uint64_t first_row;   /* rows that begin in the chunks before */
    bool continues;       /* its first entries belong to a row that began before */
};

struct lmn__miniblock {
    const struct lmn__page_layout *layout;
    struct lmn__values values;
    uint64_t row_count;
    uint64_t chunk_count;
    struct lmn__mini_chunk *chunk; /* chunk_count + 1; the last one holds the totals */
};

/*
 * Open a page of `row_count` rows.
 *
 * `buffer` has the page's buffers except the data, in order: chunk words, dictionary (if the
 * layout has one), repetition index (if it has one). `data_bytes` is the size of the data
 * buffer. Buffers need not live on; layout and arena must. The caller closes the page.
 *
 * LMN_E_CORRUPT  the numbers contradict each other
 */
LMN_MUST_USE enum lmn_status lmn__miniblock_open(
    struct lmn__miniblock *page, struct lmn_env *env, uint64_t id,
    const struct lmn__page_layout *layout, const struct lmn__layout *leaf_layout,
    const struct lmn__span *buffer, uint64_t data_bytes, uint64_t row_count,
    struct lmn__arena *arena, struct lmn__scratch *scratch, struct lmn_error *err);
void lmn__miniblock_close(struct lmn__miniblock *page);

/*
 * Which chunks hold rows [first, first + count)? `count` is at least 1.
 *
 * The bytes are [chunk[*from_out].offset, chunk[*to_out].offset) of the data buffer.
 */
void lmn__miniblock_find(const struct lmn__miniblock *page, uint64_t first, uint64_t count,
                         uint64_t *from_out, uint64_t *to_out);

/*
 * Append rows [first, first + count), whose chunks are in `data`: the bytes that
 * lmn__miniblock_find() named.
 */
LMN_MUST_USE enum lmn_status lmn__miniblock_append(const struct lmn__miniblock *page,
                                                   struct lmn__leaf *leaf, struct lmn__span data,
                                                   uint64_t first, uint64_t count,
                                                   struct lmn_error *err);

#endif
