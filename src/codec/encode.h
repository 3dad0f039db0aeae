/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encode.h - from a shredded leaf to the finished buffers and the description of a page.
 *
 * Nothing in a page says where in a file it lies, so its buffers may be written to any place
 * that is a multiple of 64 bytes. (Blobs, whose pages hold positions, are not made here.)
 */
#ifndef LMN_CODEC_ENCODE_H
#define LMN_CODEC_ENCODE_H

#include "codec/page.h"
#include "codec/scratch.h"
#include "codec/shred.h"

struct lmn__encode_options {
    uint32_t minor; /* of the file version: 1 or 2 */
    int zstd_level; /* 0: no general compression */
};

struct lmn__encoded_page {
    uint64_t row_count;
    uint32_t buffer_count;
    struct lmn__vec buffer[LMN__PAGE_BUFFER_COUNT_MAX];
    struct lmn__buf description; /* a PageLayout message */
};

/*
 * Encode what `shred` has gathered; it is closed by this and of no use afterwards.
 *
 * The caller frees *page_out, also after a failure.
 *
 * LMN_E_UNSUPPORTED  nulls where the format has no place for them
 */
LMN_MUST_USE enum lmn_status lmn__page_encode(struct lmn__shred *shred,
                                              const struct lmn__encode_options *options,
                                              struct lmn__scratch *scratch,
                                              struct lmn__encoded_page *page_out,
                                              struct lmn_error *err);
void lmn__encoded_page_deinit(struct lmn__encoded_page *page);

/* What the encoders of the layouts share. */
struct lmn__encoder {
    struct lmn_env *env;
    struct lmn__shred *shred;
    const struct lmn__encode_options *options;
    struct lmn__scratch *scratch;
    struct lmn__arena arena; /* the encoding trees */
    struct lmn__page_layout layout;
    struct lmn__encoded_page *page;
};

/* An encoding of one kind in the encoder's arena; NULL when that is full. */
struct lmn__encoding *lmn__encoder_encoding(struct lmn__encoder *encoder,
                                            enum lmn__encoding_kind kind, uint32_t bits);

/* The chain of fixed lists down to flat values; items that have nulls get a validity. */
struct lmn__encoding *lmn__encoder_fixed(struct lmn__encoder *encoder,
                                         const struct lmn__builder *builder);

/*
 * `encoding`, inside zstd if the options ask for that and the values would be compressed by it;
 * NULL for NULL.
 */
struct lmn__encoding *lmn__encoder_compress(struct lmn__encoder *encoder,
                                            struct lmn__encoding *encoding);

/*
 * The values of a mini-block page: what was gathered, or indices into a dictionary, with the
 * encoding that was chosen for them.
 */
struct lmn__mini_values {
    const struct lmn__builder *builder; /* FIXED, VARIABLE, FIXED_LIST or a packed STRUCT */
    const uint8_t *word;                /* flat values: words, or packed rows */
    uint64_t count;
    struct lmn__encoding *encoding;
    uint64_t row_bytes; /* of flat values; 0: bits */
};

/*
 * Write a mini-block page. False in *fits_out when levels do not fit into chunks: a page of few
 * values among very many empty lists.
 */
LMN_MUST_USE enum lmn_status lmn__miniblock_encode(struct lmn__encoder *encoder,
                                                   const struct lmn__mini_values *values,
                                                   bool *fits_out, struct lmn_error *err);

/* Write a full-zip page. */
LMN_MUST_USE enum lmn_status lmn__fullzip_encode(struct lmn__encoder *encoder,
                                                 struct lmn_error *err);

/*
 * Write a page without values: all null, or empty lists. With `value`, a page of one value
 * (version 2.2).
 */
LMN_MUST_USE enum lmn_status lmn__constant_encode(struct lmn__encoder *encoder,
                                                  const struct lmn__span *value,
                                                  struct lmn_error *err);

/*
 * Number the distinct strings of `values`: *dictionary is filled and `index` holds a 32-bit word
 * per value. False in *worth_out when a dictionary would not save a fifth.
 */
LMN_MUST_USE enum lmn_status lmn__dictionary_encode(const struct lmn__builder *values,
                                                    struct lmn__builder *dictionary,
                                                    struct lmn__vec *index, bool *worth_out,
                                                    struct lmn_error *err);

/* Append the block form of a dictionary's values. */
LMN_MUST_USE enum lmn_status lmn__dictionary_put_block(const struct lmn__builder *dictionary,
                                                       struct lmn__vec *out, struct lmn_error *err);

/* Append `count` levels in `width` bits each, as out-of-line bitpacking has them. */
LMN_MUST_USE enum lmn_status lmn__levels_pack(const uint16_t *level, uint64_t count, uint32_t width,
                                              struct lmn__pool *pool, struct lmn__vec *out,
                                              struct lmn_error *err);

#endif
