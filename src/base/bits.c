/* SPDX-License-Identifier: Apache-2.0 */
#include "base/bits.h"

#include <string.h>

#include "base/bytes.h"

void lmn__bits_fill(uint8_t *bits, uint64_t first, uint64_t count, bool value)
{
    uint64_t end = first + count;

    for (; first < end && (first & 7) != 0; first++)
        lmn__bit_put(bits, first, value);
    if (first < end) {
        memset(bits + first / 8, value ? 0xff : 0, (end - first) / 8);
        first += (end - first) / 8 * 8;
    }
    for (; first < end; first++)
        lmn__bit_put(bits, first, value);
}

/* 64 bits from bit `first`; the caller knows that nine bytes from first / 8 are readable. */
static uint64_t load_bits(const uint8_t *bits, uint64_t first)
{
    const uint8_t *p = bits + first / 8;
    uint32_t shift = first & 7;
    uint64_t word = lmn__load_u64(p) >> shift;

    return shift == 0 ? word : word | (uint64_t)p[8] << (64 - shift);
}

void lmn__bits_copy(uint8_t *dst, uint64_t dst_first, const uint8_t *src, uint64_t src_first,
                    uint64_t count)
{
    uint64_t i = 0;

    for (; i < count && ((dst_first + i) & 7) != 0; i++)
        lmn__bit_put(dst, dst_first + i, lmn__bit_get(src, src_first + i));
    if (((src_first + i) & 7) == 0) {
        uint64_t bytes = (count - i) / 8;

        if (bytes != 0)
            memcpy(dst + (dst_first + i) / 8, src + (src_first + i) / 8, bytes);
        i += bytes * 8;
    }
    for (; i + 72 <= count; i += 64)
        lmn__store_u64(dst + (dst_first + i) / 8, load_bits(src, src_first + i));
    for (; i < count; i++)
        lmn__bit_put(dst, dst_first + i, lmn__bit_get(src, src_first + i));
}

uint64_t lmn__bits_count(const uint8_t *bits, uint64_t first, uint64_t count)
{
    uint64_t end = first + count;
    uint64_t set = 0;

    for (; first < end && (first & 7) != 0; first++)
        set += lmn__bit_get(bits, first);
    for (; first + 64 <= end; first += 64)
        set += (uint64_t)__builtin_popcountll(lmn__load_u64(bits + first / 8));
    for (; first < end; first++)
        set += lmn__bit_get(bits, first);
    return set;
}

uint64_t lmn__bits_next(const uint8_t *bits, uint64_t at, uint64_t end, uint64_t *count_out)
{
    uint64_t shift = at & 7, bytes = lmn__bits_bytes(shift + (end - at)), word = 0, count;

    if (bytes >= 8)
        memcpy(&word, bits + at / 8, 8);
    else
        memcpy(&word, bits + at / 8, bytes);
    count = end - at < 64 - shift ? end - at : 64 - shift;
    *count_out = count;
    return (word >> shift) & (UINT64_MAX >> (64 - count));
}

uint64_t lmn__bits_run(const uint8_t *bits, uint64_t at, uint64_t end, bool value)
{
    uint64_t from = at, count;

    for (; at < end; at += count) {
        uint64_t word = lmn__bits_next(bits, at, end, &count);
        uint64_t other = value ? ~word : word; /* bits that end the run */

        if (other != 0 && (uint64_t)__builtin_ctzll(other) < count)
            return at + (uint64_t)__builtin_ctzll(other) - from;
    }
    return end - from;
}
