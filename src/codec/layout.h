/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - how one page arranges levels and values (PageLayout of Lance 2.1 and 2.2).
 *
 * Like encodings, a layout is checked once, when it is read.
 */
#ifndef LMN_CODEC_LAYOUT_H
#define LMN_CODEC_LAYOUT_H

#include "codec/encoding.h"

/* The numbers are those of the oneof in the file format. */
enum lmn__page_kind {
    LMN__PAGE_MINI_BLOCK = 1,
    LMN__PAGE_CONSTANT = 2,
    LMN__PAGE_FULL_ZIP = 3,
    LMN__PAGE_BLOB = 4
};

/* What one layer of nesting can be in a page; layers are listed from the inside out. */
enum lmn__layer {
    LMN__LAYER_ITEM = 1,
    LMN__LAYER_LIST = 2,
    LMN__LAYER_NULLABLE_ITEM = 3,
    LMN__LAYER_NULLABLE_LIST = 4,
    LMN__LAYER_EMPTYABLE_LIST = 5,
    LMN__LAYER_NULL_AND_EMPTY_LIST = 6
};

enum { LMN__LAYER_COUNT_MAX = 64 };

struct lmn__page_layout {
    enum lmn__page_kind kind;
    uint8_t layer[LMN__LAYER_COUNT_MAX];
    uint32_t layer_count;
    uint32_t list_count;      /* layers that are lists: the largest repetition level */
    uint32_t def_max;         /* the largest definition level */
    uint32_t def_visible_max; /* entries above it have no place among the values */

    const struct lmn__encoding *rep, *def; /* mini-block, constant; NULL: none */
    const struct lmn__encoding *values;    /* mini-block, full-zip */
    uint64_t item_count;                   /* mini-block: values; full-zip: entries */

    const struct lmn__encoding *dictionary; /* mini-block; NULL: none */
    uint64_t dictionary_count;
    uint32_t buffer_count; /* mini-block: value buffers per chunk */
    bool large_chunks;     /* mini-block: 2.2 sizes */
    bool has_row_index;    /* mini-block: a repetition index is the last buffer */

    uint32_t rep_bits, def_bits; /* full-zip: of the control word */
    uint32_t value_bits;         /* full-zip: of a fixed value; 0 when all its items are null */
    uint32_t length_bits;        /* full-zip: of a variable value's length; 0: values are fixed */
    uint64_t visible_count;      /* full-zip: values */

    struct lmn__span inline_value;        /* constant; .data NULL: none */
    uint64_t rep_count, def_count;        /* constant, with rep or def encodings */
    const struct lmn__page_layout *inner; /* blob: of the descriptors */
};

static inline bool lmn__layer_is_list(uint8_t layer)
{
    return layer == LMN__LAYER_LIST || layer >= LMN__LAYER_NULLABLE_LIST;
}

/* Definition levels that a layer uses. */
static inline uint32_t lmn__layer_def_count(uint8_t layer)
{
    return layer == LMN__LAYER_NULL_AND_EMPTY_LIST ? 2 : layer >= LMN__LAYER_NULLABLE_ITEM;
}

/* Fill list_count, def_max and def_visible_max from the layers. */
void lmn__page_layout_derive(struct lmn__page_layout *layout);

/*
 * Read a page's description, which must live as long as the result.
 *
 * LMN_E_CORRUPT      it does not decode, or its members contradict each other
 * LMN_E_UNSUPPORTED  a layout of a later format
 */
LMN_MUST_USE enum lmn_status lmn__page_layout_read(struct lmn__span bytes, struct lmn__arena *arena,
                                                   const struct lmn__page_layout **layout_out,
                                                   struct lmn_error *err);

/* Append the description of `layout` to `buf`. `arena` is used for the time of the call. */
LMN_MUST_USE enum lmn_status lmn__page_layout_write(const struct lmn__page_layout *layout,
                                                    struct lmn__arena *arena, struct lmn__buf *buf,
                                                    struct lmn_error *err);

#endif
