/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bitpack.h - 1024 unsigned words of 8, 16, 32 or 64 bits in W bits each (FastLanes order).
 */
#ifndef LMN_CODEC_BITPACK_H
#define LMN_CODEC_BITPACK_H

#include "base/bytes.h"

enum { LMN__PACK_COUNT = 1024 };

/* Bytes of 1024 packed values. */
static inline size_t lmn__packed_bytes(uint32_t width)
{
    return (size_t)width * (LMN__PACK_COUNT / 8);
}

/*
 * Unpack 1024 values of `width` bits from lmn__packed_bytes(width) bytes into words of `bits`
 * bits. Neither side needs alignment; width <= bits.
 */
void lmn__bits_unpack(const uint8_t *packed, uint32_t width, uint32_t bits, uint8_t *out);

/* The reverse; values must fit in `width` bits. */
void lmn__bits_pack(const uint8_t *values, uint32_t width, uint32_t bits, uint8_t *packed_out);

/* Unpack values [first, first + count) of the 1024 only. */
void lmn__bits_unpack_part(const uint8_t *packed, uint32_t width, uint32_t bits, uint32_t first,
                           uint32_t count, uint8_t *out);

/* All bits that occur in `count` words, or-ed together. */
uint64_t lmn__words_or(const uint8_t *words, uint32_t bits, uint64_t count);

#endif
