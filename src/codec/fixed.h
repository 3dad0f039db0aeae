/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fixed.h - values of a fixed number of whole bytes, out of the buffers of one mini-block chunk
 * or out of a single block.
 */
#ifndef LMN_CODEC_FIXED_H
#define LMN_CODEC_FIXED_H

#include "codec/encoding.h"
#include "codec/scratch.h"

/*
 * Decode values [first, first + take) of the `count` in a chunk to `out`.
 *
 * The encoding is flat, bitpacking, rle or byte split of `bits` bits per value, or one of them
 * inside lz4 or zstd. `out` has room for take values and LMN__VEC_SLACK bytes.
 *
 * LMN_E_CORRUPT      the buffers are too short, or the encoding is of another width
 * LMN_E_UNSUPPORTED  an encoding that has no place here
 */
LMN_MUST_USE enum lmn_status lmn__fixed_decode(struct lmn__scratch *scratch,
                                               const struct lmn__encoding *encoding,
                                               const struct lmn__span *buffer,
                                               uint32_t buffer_count, uint32_t bits, uint64_t count,
                                               uint64_t first, uint64_t take, uint8_t *out,
                                               struct lmn_error *err);

/* Buffers per chunk that `encoding` has. */
uint32_t lmn__fixed_buffer_count(const struct lmn__encoding *encoding);

/* The same of a block of `count` values: levels, dictionaries. */
LMN_MUST_USE enum lmn_status lmn__fixed_decode_block(struct lmn__scratch *scratch,
                                                     const struct lmn__encoding *encoding,
                                                     struct lmn__span block, uint32_t bits,
                                                     uint64_t count, uint64_t first, uint64_t take,
                                                     uint8_t *out, struct lmn_error *err);

/*
 * How many levels a block holds whose number is known modulo 65536 only: chunks of early writers
 * can have more than the 16 bits of their header count. The block's own size tells; where it does
 * not, the answer is `count`.
 */
uint64_t lmn__fixed_level_count(const struct lmn__encoding *encoding, struct lmn__span block,
                                uint16_t count);

/*
 * The `count` bits of booleans in a buffer or block: flat, or flat inside lz4 or zstd. They stay
 * in `buffer`, or lie in the scratch until its next use.
 *
 * LMN_E_CORRUPT      there are fewer bits
 * LMN_E_UNSUPPORTED  an encoding that has no place here
 */
LMN_MUST_USE enum lmn_status lmn__fixed_open_bits(struct lmn__scratch *scratch,
                                                  const struct lmn__encoding *encoding,
                                                  struct lmn__span buffer, uint64_t count,
                                                  const uint8_t **bits_out, struct lmn_error *err);

#endif
