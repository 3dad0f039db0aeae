/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bits.h - bitmaps in Arrow's order: bit i is bit (i mod 8) of byte i / 8.
 */
#ifndef LMN_BASE_BITS_H
#define LMN_BASE_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool lmn__bit_get(const uint8_t *bits, uint64_t i)
{
    return (bits[i >> 3] >> (i & 7)) & 1;
}

static inline void lmn__bit_set(uint8_t *bits, uint64_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] | (1u << (i & 7)));
}

static inline void lmn__bit_clear(uint8_t *bits, uint64_t i)
{
    bits[i >> 3] = (uint8_t)(bits[i >> 3] & ~(1u << (i & 7)));
}

static inline void lmn__bit_put(uint8_t *bits, uint64_t i, bool value)
{
    uint32_t shift = i & 7;

    bits[i >> 3] = (uint8_t)((bits[i >> 3] & ~(1u << shift)) | ((uint32_t)value << shift));
}

/* Bytes that hold `count` bits. */
static inline uint64_t lmn__bits_bytes(uint64_t count)
{
    return count / 8 + (count % 8 != 0);
}

/* Set bits [first, first + count) to `value`. */
void lmn__bits_fill(uint8_t *bits, uint64_t first, uint64_t count, bool value);

/*
 * Copy `count` bits from src[src_first..] to dst[dst_first..]; the two do not overlap. Bits of
 * dst outside the range keep their value.
 */
void lmn__bits_copy(uint8_t *dst, uint64_t dst_first, const uint8_t *src, uint64_t src_first,
                    uint64_t count);

/*
 * The next bits from `at` on and not beyond `end`, the first one lowest, the others 0; *count_out
 * is how many they are, 57 at least unless `end` comes first. at < end.
 */
uint64_t lmn__bits_next(const uint8_t *bits, uint64_t at, uint64_t end, uint64_t *count_out);

/* Length of the run of bits that equal `value`, from `at` on and not beyond `end`. */
uint64_t lmn__bits_run(const uint8_t *bits, uint64_t at, uint64_t end, bool value);

/* Number of set bits in [first, first + count). */
uint64_t lmn__bits_count(const uint8_t *bits, uint64_t first, uint64_t count);

#endif
