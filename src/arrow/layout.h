/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layout.h - how values of a type lie in memory: all that encodings need to know of a type.
 *
 * int32, float and date32 have the same layout; so have list<...> and map<...>.
 */
#ifndef LMN_ARROW_LAYOUT_H
#define LMN_ARROW_LAYOUT_H

#include <stdbool.h>

#include <leman/arrow_abi.h>

#include "base/arena.h"

enum lmn__layout_kind {
    LMN__LAYOUT_NULL,       /* no buffers */
    LMN__LAYOUT_FIXED,      /* `bits` per value; 1 is a bitmap */
    LMN__LAYOUT_VARIABLE,   /* offsets of `bits` (32, 64), bytes */
    LMN__LAYOUT_FIXED_LIST, /* child of `dimension` items per value */
    LMN__LAYOUT_LIST,       /* offsets of `bits`, child; maps too */
    LMN__LAYOUT_STRUCT,     /* children */
    LMN__LAYOUT_DICTIONARY  /* indices of `bits` into child[0], of at most `dimension` values */
};

struct lmn__layout {
    enum lmn__layout_kind kind;
    uint32_t bits;
    uint32_t dimension;
    bool is_view; /* VARIABLE: handed in as Arrow views; never made by this library */
    uint32_t child_count;
    const struct lmn__layout *const *child;
};

/*
 * The layout of `schema`, in the arena.
 *
 * LMN_E_UNSUPPORTED  a type the library does not hold (union, view, run-end, interval)
 */
LMN_MUST_USE enum lmn_status lmn__layout_from_schema(const struct ArrowSchema *schema,
                                                     struct lmn__arena *arena,
                                                     const struct lmn__layout **layout_out,
                                                     struct lmn_error *err);

/* Bytes of one value of a chain of fixed lists that ends in whole-byte values; 0 for others. */
uint64_t lmn__layout_value_bytes(const struct lmn__layout *layout);

#endif
