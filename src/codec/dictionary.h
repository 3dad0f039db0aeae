/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dictionary.h - values by index into a page's dictionary.
 */
#ifndef LMN_CODEC_DICTIONARY_H
#define LMN_CODEC_DICTIONARY_H

#include "codec/values.h"

/*
 * Decode a page's dictionary of `count` values into an empty builder.
 *
 * `variable` is used when the builder holds strings or binaries.
 */
LMN_MUST_USE enum lmn_status lmn__dictionary_decode(struct lmn__scratch *scratch,
                                                    const struct lmn__encoding *encoding,
                                                    const struct lmn__variable *variable,
                                                    struct lmn__span bytes, uint64_t count,
                                                    struct lmn__builder *builder,
                                                    struct lmn_error *err);

/*
 * Append values by index (words of `index_bits`). The column itself is no dictionary column.
 *
 * LMN_E_CORRUPT  an index is out of range
 */
LMN_MUST_USE enum lmn_status lmn__dictionary_gather(const struct lmn__builder *dictionary,
                                                    const uint8_t *index, uint32_t index_bits,
                                                    uint64_t count, struct lmn__builder *builder,
                                                    struct lmn_error *err);

/*
 * Append indices to a dictionary column, whose builder gathers one dictionary from all the pages
 * it meets: values that it has already are shared, others are added.
 *
 * LMN_E_CORRUPT  an index is out of range
 * LMN_E_INVALID  more distinct values in one batch than the index type can tell apart
 */
LMN_MUST_USE enum lmn_status lmn__dictionary_append(const struct lmn__values *values,
                                                    struct lmn__leaf *leaf, const uint8_t *index,
                                                    uint32_t index_bits, uint64_t count,
                                                    struct lmn_error *err);

/*
 * Find or add every value of `from` in `into`; map[i] is the place of from's value i there. The
 * layouts are equal. Nulls of `from` are treated as the value they lie on.
 */
LMN_MUST_USE enum lmn_status lmn__dictionary_merge(const struct lmn__builder *from,
                                                   struct lmn__builder *into, uint32_t *map,
                                                   struct lmn_error *err);

#endif
