/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variable.h - strings and binaries: out of mini-block chunks, blocks, and one by one.
 */
#ifndef LMN_CODEC_VARIABLE_H
#define LMN_CODEC_VARIABLE_H

#include "arrow/builder.h"
#include "codec/encoding.h"
#include "codec/fsst.h"
#include "codec/scratch.h"

/*
 * How values of one page are decoded: the encoding with its symbol table read. Made once per
 * page by lmn__variable_init(); used by any number of threads.
 */
struct lmn__variable {
    const struct lmn__encoding *general; /* lz4 or zstd around all, or NULL */
    const struct lmn__encoding *plain;   /* the variable encoding itself */
    struct lmn__fsst *fsst;              /* NULL: values are stored as they are */
};

/* Understand `encoding`; the symbol table lies in the arena. LMN_E_UNSUPPORTED for other kinds. */
LMN_MUST_USE enum lmn_status lmn__variable_init(struct lmn__variable *variable,
                                                const struct lmn__encoding *encoding,
                                                struct lmn__arena *arena, struct lmn_error *err);

/* Append values [first, first + take) of the `count` in a chunk to a VARIABLE builder. */
LMN_MUST_USE enum lmn_status lmn__variable_decode_chunk(struct lmn__scratch *scratch,
                                                        const struct lmn__variable *variable,
                                                        struct lmn__span buffer, uint64_t count,
                                                        uint64_t first, uint64_t take,
                                                        struct lmn__builder *builder,
                                                        struct lmn_error *err);

/* Append all `count` values of a block (a page's dictionary). */
LMN_MUST_USE enum lmn_status lmn__variable_decode_block(struct lmn__scratch *scratch,
                                                        const struct lmn__variable *variable,
                                                        struct lmn__span block, uint64_t count,
                                                        struct lmn__builder *builder,
                                                        struct lmn_error *err);

/* Append one value that stands by itself. */
LMN_MUST_USE enum lmn_status lmn__variable_decode_value(struct lmn__scratch *scratch,
                                                        const struct lmn__variable *variable,
                                                        struct lmn__span value,
                                                        struct lmn__builder *builder,
                                                        struct lmn_error *err);

/*
 * Append values by index into the values of another builder; indices are words of `index_bits`.
 *
 * LMN_E_CORRUPT  an index is out of range
 */
LMN_MUST_USE enum lmn_status lmn__variable_gather(const struct lmn__builder *dictionary,
                                                  const uint8_t *index, uint32_t index_bits,
                                                  uint64_t count, struct lmn__builder *builder,
                                                  struct lmn_error *err);

#endif
