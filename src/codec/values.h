/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values.h - the values of one page, chunk by chunk, into the builder of a leaf.
 *
 * A struct lmn__values is made once per page: it matches the page's encoding with the leaf's
 * layout and holds the page's dictionary. It does not change afterwards and may be used by many
 * threads. What belongs to the reading of one leaf by one thread is in struct lmn__leaf.
 */
#ifndef LMN_CODEC_VALUES_H
#define LMN_CODEC_VALUES_H

#include "codec/layout.h"
#include "codec/levels.h"
#include "codec/variable.h"

struct lmn__values {
    uint64_t id; /* tells the pages of a column apart; not 0 */
    const struct lmn__encoding *encoding;
    const struct lmn__layout *layout; /* of the leaf */
    struct lmn__variable variable;    /* .plain NULL: not variable */
    bool has_dictionary;
    struct lmn__builder dictionary; /* decoded */
    const struct lmn__layout *dictionary_layout;
};

/* A leaf while rows of its column are read. */
struct lmn__leaf {
    struct lmn__path path;        /* path.step[0].builder is the leaf's own builder */
    struct lmn__builder *builder; /* the same */
    struct lmn__scratch *scratch; /* borrowed */
    uint64_t merged_id;           /* whose dictionary `merge` maps; 0: none */
    bool merge_identity;
    struct lmn__vec merge; /* 32-bit index in the builder's dictionary, by index in the page's */
};

/*
 * Match `layout` with a page of values of a leaf.
 *
 * `id` is not 0 and other for each page of the column. `dictionary` is the page's dictionary
 * buffer, empty without one. Everything the result points
 * to lives in the arena or in the arguments. lmn__values_deinit() frees the dictionary.
 */
LMN_MUST_USE enum lmn_status lmn__values_init(struct lmn__values *values, struct lmn_env *env,
                                              uint64_t id, const struct lmn__page_layout *page,
                                              const struct lmn__layout *layout,
                                              struct lmn__span dictionary, struct lmn__arena *arena,
                                              struct lmn__scratch *scratch, struct lmn_error *err);
void lmn__values_deinit(struct lmn__values *values);

/*
 * Append values [first, first + take) of the `count` in a mini-block chunk.
 *
 * The leaf's slots have been counted already (lmn__levels_append), nulls included: they have
 * values too, of no meaning.
 */
LMN_MUST_USE enum lmn_status lmn__values_append(
    const struct lmn__values *values, struct lmn__leaf *leaf, const struct lmn__span *buffer,
    uint32_t buffer_count, uint64_t count, uint64_t first, uint64_t take, struct lmn_error *err);

/* Append `count` copies of one fixed-width value of whole bytes, or of one bit. */
LMN_MUST_USE enum lmn_status lmn__values_repeat(struct lmn__builder *builder,
                                                struct lmn__span value, uint64_t count,
                                                struct lmn_error *err);

#endif
