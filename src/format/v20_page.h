/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v20_page.h - values of one page of a 2.0 file.
 *
 * A page is a handful of plain arrays, so any range of its rows is read by itself.
 */
#ifndef LMN_FORMAT_V20_PAGE_H
#define LMN_FORMAT_V20_PAGE_H

#include "arrow/builder.h"
#include "codec/scratch.h"
#include "format/array_encoding.h"
#include "format/file.h"

/* A page while rows are read from it. */
struct lmn__v20_page {
    struct lmn_file *file; /* borrowed */
    struct lmn__scratch *scratch;
    const struct lmn__page_info *info;
    bool has_dictionary;
    struct lmn__builder dictionary; /* the page's, once it was needed */
};

void lmn__v20_page_init(struct lmn__v20_page *page, struct lmn_file *file,
                        struct lmn__scratch *scratch, const struct lmn__page_info *info);
void lmn__v20_page_deinit(struct lmn__v20_page *page);

/* Append rows [first, first + count): their slots and their values. */
LMN_MUST_USE enum lmn_status lmn__v20_append(struct lmn__v20_page *page,
                                             const struct lmn__array_encoding *encoding,
                                             uint64_t first, uint64_t count,
                                             struct lmn__builder *builder, struct lmn_error *err);

/*
 * Read `count` numbers from `first` on: ends of lists or strings, dictionary indices. *word_out
 * is an array of 64-bit words in *block_out, which the caller releases.
 */
LMN_MUST_USE enum lmn_status lmn__v20_read_words(struct lmn__v20_page *page,
                                                 const struct lmn__array_encoding *encoding,
                                                 uint64_t first, uint64_t count,
                                                 struct lmn__block **block_out, uint64_t **word_out,
                                                 struct lmn_error *err);

/*
 * The ends of `count` values from `first` on, as differences: *start_out is where the first
 * begins, word i its length, and null_out[i] whether it is null (an end at or above
 * `adjustment`).
 */
LMN_MUST_USE enum lmn_status lmn__v20_read_ends(struct lmn__v20_page *page,
                                                const struct lmn__array_encoding *encoding,
                                                uint64_t first, uint64_t count,
                                                struct lmn__block **block_out, uint64_t **len_out,
                                                uint8_t **null_out, uint64_t *start_out,
                                                uint64_t *total_out, struct lmn_error *err);

#endif
