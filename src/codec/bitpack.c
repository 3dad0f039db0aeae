/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of FastLanes, for words of T bits in L = 1024 / T lanes. Row r (0 .. T-1) of lane l
 * holds the value number
 *
 *     order[r / 8] * 16 + (r % 8) * 128 + l       order = 0 4 2 6 1 5 3 7
 *
 * and its W bits start at bit r * W of the lane: in word k = r * W / T of the lane, which lies at
 * packed[k * L + l]. A row is L neighbouring values, and L words of T bits are 128 bytes for every
 * T. So one kernel serves all word sizes: it moves a row as 16 words of 64 bits, and masks that
 * repeat every T bits cut off what a shift drags over from the lane beside.
 */
#include "codec/bitpack.h"

#include "codec/simd.h"
#include "os/processor.h"

enum { ROW_BYTES = 128 };

static const uint8_t row_order[8] = { 0, 4, 2, 6, 1, 5, 3, 7 };

static inline size_t row_offset(uint32_t row, uint32_t bits)
{
    return (row_order[row / 8] * 16u + (row % 8) * 128u) * (size_t)(bits / 8);
}

static inline uint64_t low_bits(uint32_t count)
{
    return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

/* `mask` in every lane of `bits` bits. */
static inline uint64_t in_lanes(uint64_t mask, uint32_t bits)
{
    for (; bits < 64; bits *= 2)
        mask |= mask << bits;
    return mask;
}

/* How values of `width` bits lie in words of `bits` bits, a power of two. */
struct packing {
    uint32_t width, bits, bits_log;
    uint64_t ones; /* the lowest bit of each lane */
};

static inline struct packing packing_of(uint32_t width, uint32_t bits)
{
    return (struct packing){ width, bits, (uint32_t)__builtin_ctz(bits), in_lanes(1, bits) };
}

LMN__KERNEL void unpack_row(const uint8_t *restrict packed, struct packing packing, uint32_t row,
                            uint8_t *restrict to)
{
    uint32_t start = row * packing.width, shift = start & (packing.bits - 1);
    uint32_t have = packing.bits - shift;
    const uint8_t *low = packed + (size_t)(start >> packing.bits_log) * ROW_BYTES;

    if (packing.width > have) {
        uint64_t low_mask = low_bits(have) * packing.ones;
        uint64_t high_mask = (low_bits(packing.width) & ~low_bits(have)) * packing.ones;

        for (size_t i = 0; i < ROW_BYTES; i += 8)
            lmn__store_u64(to + i, ((lmn__load_u64(low + i) >> shift) & low_mask) |
                                       ((lmn__load_u64(low + ROW_BYTES + i) << have) & high_mask));
    } else {
        uint64_t mask = low_bits(packing.width) * packing.ones;

        for (size_t i = 0; i < ROW_BYTES; i += 8)
            lmn__store_u64(to + i, (lmn__load_u64(low + i) >> shift) & mask);
    }
}

LMN__KERNEL void unpack_rows_body(const uint8_t *packed, uint32_t width, uint32_t bits,
                                  uint8_t *out)
{
    const struct packing packing = packing_of(width, bits);

    for (uint32_t row = 0; row < bits; row++)
        unpack_row(packed, packing, row, out + row_offset(row, bits));
}

LMN__WIDE static void unpack_rows_wide(const uint8_t *packed, uint32_t width, uint32_t bits,
                                       uint8_t *out)
{
    unpack_rows_body(packed, width, bits, out);
}

static void unpack_rows(const uint8_t *packed, uint32_t width, uint32_t bits, uint8_t *out)
{
    if (lmn__processor_is_wide())
        unpack_rows_wide(packed, width, bits, out);
    else
        unpack_rows_body(packed, width, bits, out);
}

/* The row that begins with value number `index`. The order is its own inverse. */
static inline uint32_t row_at(uint32_t index)
{
    return row_order[index % 128 / 16] * 8u + index / 128;
}

LMN__KERNEL void unpack_part_body(const uint8_t *packed, uint32_t width, uint32_t bits,
                                  uint32_t first, uint32_t count, uint8_t *out)
{
    const struct packing packing = packing_of(width, bits);
    uint32_t lanes = (uint32_t)LMN__PACK_COUNT >> packing.bits_log, bytes = bits / 8;
    uint8_t row[ROW_BYTES];

    while (count > 0) {
        uint32_t lane = first & (lanes - 1);
        uint32_t part = count < lanes - lane ? count : lanes - lane;

        unpack_row(packed, packing, row_at(first - lane), row);
        memcpy(out, row + (size_t)lane * bytes, (size_t)part * bytes);
        out += (size_t)part * bytes;
        first += part;
        count -= part;
    }
}

LMN__WIDE static void unpack_part_wide(const uint8_t *packed, uint32_t width, uint32_t bits,
                                       uint32_t first, uint32_t count, uint8_t *out)
{
    unpack_part_body(packed, width, bits, first, count, out);
}

LMN__KERNEL void pack_rows_body(const uint8_t *restrict values, uint32_t width, uint32_t bits,
                                uint8_t *restrict packed)
{
    for (uint32_t row = 0; row < bits; row++) {
        uint32_t start = row * width, shift = start % bits, have = bits - shift;
        const uint8_t *from = values + row_offset(row, bits);
        uint8_t *low = packed + (size_t)(start / bits) * ROW_BYTES;
        uint64_t mask = in_lanes(low_bits(have), bits);

        if (shift == 0)
            memcpy(low, from, ROW_BYTES);
        for (size_t i = 0; shift != 0 && i < ROW_BYTES; i += 8)
            lmn__store_u64(low + i,
                           lmn__load_u64(low + i) | ((lmn__load_u64(from + i) & mask) << shift));
        if (width > have) {
            mask = in_lanes(low_bits(width - have), bits);
            for (size_t i = 0; i < ROW_BYTES; i += 8)
                lmn__store_u64(low + ROW_BYTES + i, (lmn__load_u64(from + i) >> have) & mask);
        }
    }
}

LMN__WIDE static void pack_rows_wide(const uint8_t *values, uint32_t width, uint32_t bits,
                                     uint8_t *packed)
{
    pack_rows_body(values, width, bits, packed);
}

static void pack_rows(const uint8_t *values, uint32_t width, uint32_t bits, uint8_t *packed)
{
    if (lmn__processor_is_wide())
        pack_rows_wide(values, width, bits, packed);
    else
        pack_rows_body(values, width, bits, packed);
}

LMN__KERNEL uint64_t or_words_body(const uint8_t *words, size_t count)
{
    uint64_t all[8] = { 0 };

    for (; count >= 8; count -= 8, words += 64) {
        for (size_t i = 0; i < 8; i++)
            all[i] |= lmn__load_u64(words + i * 8);
    }
    for (; count > 0; count--, words += 8)
        all[0] |= lmn__load_u64(words);
    return all[0] | all[1] | all[2] | all[3] | all[4] | all[5] | all[6] | all[7];
}

LMN__WIDE static uint64_t or_words_wide(const uint8_t *words, size_t count)
{
    return or_words_body(words, count);
}

static uint64_t or_words(const uint8_t *words, size_t count)
{
    return lmn__processor_is_wide() ? or_words_wide(words, count) : or_words_body(words, count);
}

void lmn__bits_unpack(const uint8_t *packed, uint32_t width, uint32_t bits, uint8_t *out)
{
    if (width == 0)
        memset(out, 0, LMN__PACK_COUNT * (bits / 8));
    else
        unpack_rows(packed, width, bits, out);
}

void lmn__bits_pack(const uint8_t *values, uint32_t width, uint32_t bits, uint8_t *packed_out)
{
    if (width != 0)
        pack_rows(values, width, bits, packed_out);
}

void lmn__bits_unpack_part(const uint8_t *packed, uint32_t width, uint32_t bits, uint32_t first,
                           uint32_t count, uint8_t *out)
{
    if (width == 0)
        memset(out, 0, (size_t)count * (bits / 8));
    else if (lmn__processor_is_wide())
        unpack_part_wide(packed, width, bits, first, count, out);
    else
        unpack_part_body(packed, width, bits, first, count, out);
}

uint64_t lmn__words_or(const uint8_t *words, uint32_t bits, uint64_t count)
{
    size_t bytes = (size_t)count * (bits / 8);
    uint64_t all = or_words(words, bytes / 8), rest = 0;

    for (uint32_t half = 32; half >= bits; half /= 2)
        all |= all >> half;
    memcpy(&rest, words + bytes / 8 * 8, bytes % 8);
    for (uint32_t i = 0; i < 64 / bits; i++)
        all |= rest >> (i * bits % 64);
    return all & low_bits(bits);
}
