/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fullzip.h - pages of large values: levels and values lie together, value by value.
 *
 * Used as miniblock.h: opened from the index, asked which bytes hold rows, given those bytes.
 */
#ifndef LMN_CODEC_FULLZIP_H
#define LMN_CODEC_FULLZIP_H

#include "codec/packed.h"
#include "codec/values.h"

struct lmn__fullzip {
    const struct lmn__page_layout *layout;
    const struct lmn__layout *leaf_layout;
    struct lmn__zipped fixed;      /* values of one size */
    struct lmn__variable variable; /* strings and binaries; .plain NULL: none */
    struct lmn__packed packed;     /* structs */
    uint64_t row_count;
    uint64_t data_bytes;
    uint32_t control_bytes;
    uint32_t index_bytes;           /* width of an offset in the index; 0: rows are of one size */
    struct lmn__block *index_block; /* keeps the index alive; NULL: none */
    const uint8_t *index;           /* row_count + 1 offsets */
};

/*
 * Open a page of `row_count` rows. `index` is the repetition index in `index_block`, both NULL
 * for pages without one; a reference is taken. The caller closes the page.
 *
 * LMN_E_CORRUPT  the numbers contradict each other
 */
LMN_MUST_USE enum lmn_status lmn__fullzip_open(
    struct lmn__fullzip *page, const struct lmn__page_layout *layout,
    const struct lmn__layout *leaf_layout, struct lmn__block *index_block, struct lmn__span index,
    uint64_t data_bytes, uint64_t row_count, struct lmn__arena *arena, struct lmn_error *err);
void lmn__fullzip_close(struct lmn__fullzip *page);

/* Does a page of this layout have a repetition index? */
bool lmn__fullzip_has_index(const struct lmn__page_layout *layout);

/*
 * Which bytes [*from_out, *to_out) of the data buffer hold rows [first, first + count)?
 *
 * LMN_E_CORRUPT  the index does not rise or leaves the buffer
 */
LMN_MUST_USE enum lmn_status lmn__fullzip_find(const struct lmn__fullzip *page, uint64_t first,
                                               uint64_t count, uint64_t *from_out, uint64_t *to_out,
                                               struct lmn_error *err);

/*
 * A place at the end of a leaf's values where bytes of a page may be read to, so that the first
 * value among them comes to lie where it stays.
 */
struct lmn__landing {
    uint8_t *at;       /* NULL: there is none, the bytes go elsewhere */
    uint8_t saved[16]; /* the end of the value before, which the first header covers */
    uint32_t saved_bytes;
};

/*
 * Make a landing for `bytes` bytes. What is read there is then appended, as `data` from anywhere
 * else would be, and the landing closed, before anything else happens to the leaf.
 */
LMN_MUST_USE enum lmn_status lmn__fullzip_land(const struct lmn__fullzip *page,
                                               struct lmn__leaf *leaf, uint64_t bytes,
                                               struct lmn__landing *landing, struct lmn_error *err);
void lmn__landing_close(struct lmn__landing *landing);

/* Append `count` rows that fill `data` exactly. */
LMN_MUST_USE enum lmn_status lmn__fullzip_append(const struct lmn__fullzip *page,
                                                 struct lmn__leaf *leaf, struct lmn__span data,
                                                 uint64_t count, struct lmn_error *err);

#endif
