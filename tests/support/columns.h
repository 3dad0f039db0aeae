/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h - columns of random values, by layout, and their pages.
 *
 * What the writer and the reader of files do with one column, without a file: rows are shredded
 * and encoded leaf by leaf, and pages are decoded into one array. An encoded page may be damaged
 * in between; its bytes are given to the decoder in memory of their exact size.
 */
#ifndef LMN_TESTS_COLUMNS_H
#define LMN_TESTS_COLUMNS_H

#include "codec/encode.h"

/* Layouts for tests: static initializers, and a pointer to one with static lifetime. */
#define LAYOUT(...)      ((const struct lmn__layout[]){ { __VA_ARGS__ } })
#define CHILDREN(...)    ((const struct lmn__layout *const[]){ __VA_ARGS__ })
#define NOTHING          LAYOUT(.kind = LMN__LAYOUT_NULL)
#define FIXED(n)         LAYOUT(.kind = LMN__LAYOUT_FIXED, .bits = (n))
#define VARIABLE(n)      LAYOUT(.kind = LMN__LAYOUT_VARIABLE, .bits = (n))
#define WITH_CHILD(c)    .child_count = 1, .child = CHILDREN(c)
#define LIST(n, c)       LAYOUT(.kind = LMN__LAYOUT_LIST, .bits = (n), WITH_CHILD(c))
#define FIXED_LIST(n, c) LAYOUT(.kind = LMN__LAYOUT_FIXED_LIST, .dimension = (n), WITH_CHILD(c))
#define PAIR(a, b)       LAYOUT(.kind = LMN__LAYOUT_STRUCT, .child_count = 2, .child = CHILDREN(a, b))
#define STRUCT(c)        LAYOUT(.kind = LMN__LAYOUT_STRUCT, WITH_CHILD(c))
#define DICTIONARY(n, max, c)                                                                      \
    LAYOUT(.kind = LMN__LAYOUT_DICTIONARY, .bits = (n), .dimension = (max), WITH_CHILD(c))

/* How random values are; a zeroed struct asks for none of it. */
struct column_style {
    uint32_t null_one_in;  /* one slot in so many is null; 0: none, 1: all */
    uint32_t value_bits;   /* numbers below 2^this; 0: of all sizes */
    uint32_t run;          /* numbers come in runs of this many */
    uint32_t bytes_max;    /* of a string; 0: 20 */
    uint32_t distinct;     /* strings to choose from; 0: no limit */
    uint32_t items_max;    /* of a list; 0: 4 */
    bool full_null_lists;  /* null lists have items, too */
    bool items_never_null; /* nulls are at the top only */
};

/* `rows` slots of the layout. The caller releases *array_out. */
void column_random(const struct lmn__layout *layout, const struct column_style *style,
                   uint64_t rows, uint64_t seed, struct ArrowArray *array_out);

/*
 * Are slots [first_a, ...) of `a` and [first_b, ...) of `b` the same? Prints where they differ.
 * What lies below a null does not count.
 */
bool column_same(const struct lmn__layout *layout, const struct ArrowArray *a, uint64_t first_a,
                 const struct ArrowArray *b, uint64_t first_b, uint64_t count);

enum { COLUMN_LEAVES_MAX = 4, COLUMN_DEPTH_MAX = 8 };

/* The leaves of a column, each with the nodes that lead to it. */
struct column {
    const struct lmn__layout *layout;
    bool packed; /* a struct is a leaf */
    uint32_t leaf_count;
    uint32_t depth[COLUMN_LEAVES_MAX];
    struct lmn__shred_node node[COLUMN_LEAVES_MAX][COLUMN_DEPTH_MAX];
};

/* The pages of a column's leaves. */
struct column_pages {
    uint64_t rows;
    struct lmn__encoded_page page[COLUMN_LEAVES_MAX];
};

void column_init(struct column *column, const struct lmn__layout *layout, bool packed);

/* Encode rows [first, first + count). The caller frees *pages_out, also after a failure. */
enum lmn_status column_encode(const struct column *column, const struct ArrowArray *array,
                              uint64_t first, uint64_t count,
                              const struct lmn__encode_options *options,
                              struct column_pages *pages_out, struct lmn_error *err);
void column_pages_deinit(struct column_pages *pages);

/* Decode rows [first, first + count) of the pages. The caller releases *array_out. */
enum lmn_status column_decode(const struct column *column, const struct column_pages *pages,
                              uint64_t first, uint64_t count, struct ArrowArray *array_out,
                              struct lmn_error *err);

#endif
