/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/fixed.h"

#include "base/bits.h"
#include "base/math.h"
#include "codec/bitpack.h"
#include "codec/compress.h"

enum { ZERO_GROUPS_MAX = 1024, LEVELS_LOST = 1 << 16 };

struct part {
    uint64_t count, first, take;
    uint32_t bits;
    uint8_t *out;
};

static enum lmn_status too_short(struct lmn_error *err, const char *kind, size_t len,
                                 uint64_t count)
{
    return lmn_fail(err, LMN_E_CORRUPT, "%s: a buffer of %zu bytes is too short for %llu values",
                    kind, len, (unsigned long long)count);
}

static enum lmn_status decode_flat(struct lmn__span buffer, const struct part *part,
                                   struct lmn_error *err)
{
    uint64_t width = part->bits / 8, need;

    if (!lmn__mul_u64(part->count, width, &need) || buffer.len < need)
        return too_short(err, "flat", buffer.len, part->count);
    if (part->take != 0)
        memcpy(part->out, buffer.data + part->first * width, part->take * width);
    return LMN_OK;
}

/* Values [first, first + take) of one packed group of 1024. */
static void unpack_part(const uint8_t *packed, uint32_t width, const struct part *part)
{
    if (part->take == LMN__PACK_COUNT)
        lmn__bits_unpack(packed, width, part->bits, part->out);
    else
        lmn__bits_unpack_part(packed, width, part->bits, (uint32_t)part->first,
                              (uint32_t)part->take, part->out);
}

static enum lmn_status decode_inline(struct lmn__span buffer, const struct part *part,
                                     struct lmn_error *err)
{
    uint32_t bytes = part->bits / 8;
    uint64_t width;

    if (part->count > LMN__PACK_COUNT || buffer.len < bytes)
        return too_short(err, "bitpacking", buffer.len, part->count);
    width = lmn__load_uint(buffer.data, bytes);
    if (width > part->bits || buffer.len - bytes < lmn__packed_bytes((uint32_t)width))
        return lmn_fail(err, LMN_E_CORRUPT,
                        "bitpacking: %llu bits per value do not fit in a buffer of %zu bytes",
                        (unsigned long long)width, buffer.len);
    unpack_part(buffer.data + bytes, (uint32_t)width, part);
    return LMN_OK;
}

/*
 * Groups of 1024 back to back. A tail of fewer values is plain words or one more packed group;
 * what is left of the buffer tells which.
 */
static enum lmn_status decode_out_of_line(const struct lmn__encoding *encoding,
                                          struct lmn__span buffer, const struct part *part,
                                          struct lmn_error *err)
{
    size_t group_bytes = lmn__packed_bytes(encoding->packed_bits);
    uint64_t groups = part->count / LMN__PACK_COUNT, tail = part->count % LMN__PACK_COUNT;
    uint64_t end = part->first + part->take, used, tail_bytes;
    struct part one = *part;

    /* Values of no bits need no bytes; no writer has many of them. */
    if (!lmn__mul_u64(groups, group_bytes, &used) || used > buffer.len ||
        (group_bytes == 0 && groups > ZERO_GROUPS_MAX))
        return too_short(err, "bitpacking", buffer.len, part->count);
    tail_bytes = buffer.len - used;
    if (tail != 0 && tail_bytes != tail * (part->bits / 8) && tail_bytes < group_bytes)
        return too_short(err, "bitpacking", buffer.len, part->count);
    for (uint64_t at = part->first; at < end; at += one.take) {
        uint64_t group = at / LMN__PACK_COUNT;

        one.first = at % LMN__PACK_COUNT;
        one.take = lmn__min_u64(end - at, LMN__PACK_COUNT - one.first);
        if (group == groups && tail_bytes == tail * (part->bits / 8))
            memcpy(one.out, buffer.data + used + one.first * (part->bits / 8),
                   one.take * (part->bits / 8));
        else
            unpack_part(buffer.data + group * group_bytes, encoding->packed_bits, &one);
        one.out += one.take * (part->bits / 8);
    }
    return LMN_OK;
}

static inline void fill_words(uint8_t *out, uint64_t count, uint32_t bytes, const uint8_t *value)
{
    if (bytes == 1) {
        memset(out, *value, count);
    } else if (bytes == 2) {
        for (uint64_t i = 0; i < count; i++)
            memcpy(out + i * 2, value, 2);
    } else if (bytes == 4) {
        for (uint64_t i = 0; i < count; i++)
            memcpy(out + i * 4, value, 4);
    } else {
        for (uint64_t i = 0; i < count; i++)
            memcpy(out + i * 8, value, 8);
    }
}

static enum lmn_status decode_rle(struct lmn__span values, struct lmn__span lengths,
                                  const struct part *part, struct lmn_error *err)
{
    uint32_t bytes = part->bits / 8;
    uint64_t runs = values.len / bytes, at = 0, end = part->first + part->take;
    uint8_t *out = part->out;

    if (runs > lengths.len)
        runs = lengths.len;
    for (uint64_t i = 0; i < runs && at < end; i++) {
        uint64_t from = lmn__max_u64(at, part->first);
        uint64_t to = lmn__min_u64(at + lengths.data[i], end);

        at += lengths.data[i];
        if (from < to) {
            fill_words(out, to - from, bytes, values.data + i * bytes);
            out += (to - from) * bytes;
        }
    }
    if (at < end)
        return lmn_fail(err, LMN_E_CORRUPT, "rle: %llu runs give %llu of %llu values",
                        (unsigned long long)runs, (unsigned long long)at,
                        (unsigned long long)part->count);
    return LMN_OK;
}

static enum lmn_status decode_byte_split(struct lmn__span buffer, const struct part *part,
                                         struct lmn_error *err)
{
    uint64_t width = part->bits / 8, need;

    if (!lmn__mul_u64(part->count, width, &need) || buffer.len < need)
        return too_short(err, "byte_stream_split", buffer.len, part->count);
    for (uint64_t j = 0; j < width; j++) {
        const uint8_t *from = buffer.data + j * part->count + part->first;

        for (uint64_t i = 0; i < part->take; i++)
            part->out[i * width + j] = from[i];
    }
    return LMN_OK;
}

uint32_t lmn__fixed_buffer_count(const struct lmn__encoding *encoding)
{
    while (encoding->kind == LMN__ENC_GENERAL)
        encoding = encoding->child;
    return encoding->kind == LMN__ENC_RLE ? 2 : 1;
}

static enum lmn_status decode_plain(const struct lmn__encoding *encoding,
                                    const struct lmn__span *buffer, uint32_t buffer_count,
                                    const struct part *part, struct lmn_error *err)
{
    if (encoding->bits != part->bits)
        return lmn_fail(err, LMN_E_CORRUPT, "values of %u bits where the column has %u",
                        encoding->bits, part->bits);
    if (buffer_count != lmn__fixed_buffer_count(encoding))
        return lmn_fail(err, LMN_E_CORRUPT, "%u buffers per chunk do not fit the encoding",
                        buffer_count);
    switch (encoding->kind) {
    case LMN__ENC_FLAT:
        return decode_flat(buffer[0], part, err);
    case LMN__ENC_INLINE:
        return decode_inline(buffer[0], part, err);
    case LMN__ENC_OUT_OF_LINE:
        return decode_out_of_line(encoding, buffer[0], part, err);
    case LMN__ENC_RLE:
        return decode_rle(buffer[0], buffer[1], part, err);
    case LMN__ENC_BYTE_SPLIT:
        return decode_byte_split(buffer[0], part, err);
    default:
        return lmn_fail(err, LMN_E_UNSUPPORTED, "fixed-width values in an encoding of kind %d",
                        (int)encoding->kind);
    }
}

enum lmn_status lmn__fixed_decode(struct lmn__scratch *scratch,
                                  const struct lmn__encoding *encoding,
                                  const struct lmn__span *buffer, uint32_t buffer_count,
                                  uint32_t bits, uint64_t count, uint64_t first, uint64_t take,
                                  uint8_t *out, struct lmn_error *err)
{
    const struct part part = { count, first, take, bits, out };
    struct lmn__span opened[2];
    enum lmn_status st;

    if (encoding->kind != LMN__ENC_GENERAL)
        return decode_plain(encoding, buffer, buffer_count, &part, err);
    if (buffer_count < 1 || buffer_count > 2)
        return lmn_fail(err, LMN_E_CORRUPT, "%u compressed buffers per chunk", buffer_count);
    st = lmn__decompress(scratch, encoding->scheme, buffer[0], &scratch->plain, err);
    if (st != LMN_OK)
        return st;
    opened[0] = (struct lmn__span){ scratch->plain.data, scratch->plain.len };
    opened[1] = buffer[buffer_count - 1];
    return decode_plain(encoding->child, opened, buffer_count, &part, err);
}

enum lmn_status lmn__fixed_decode_block(struct lmn__scratch *scratch,
                                        const struct lmn__encoding *encoding,
                                        struct lmn__span block, uint32_t bits, uint64_t count,
                                        uint64_t first, uint64_t take, uint8_t *out,
                                        struct lmn_error *err)
{
    const struct part part = { count, first, take, bits, out };
    struct lmn__span buffer[2] = { block, { NULL, 0 } };
    uint64_t values_bytes;
    enum lmn_status st;

    if (encoding->kind == LMN__ENC_GENERAL) {
        st = lmn__decompress(scratch, encoding->scheme, block, &scratch->plain, err);
        if (st != LMN_OK)
            return st;
        buffer[0] = (struct lmn__span){ scratch->plain.data, scratch->plain.len };
        encoding = encoding->child;
    }
    if (encoding->kind != LMN__ENC_RLE)
        return decode_plain(encoding, buffer, 1, &part, err);
    if (buffer[0].len < 8)
        return too_short(err, "rle", buffer[0].len, count);
    values_bytes = lmn__load_u64(buffer[0].data);
    if (values_bytes > buffer[0].len - 8)
        return too_short(err, "rle", buffer[0].len, count);
    buffer[1] = (struct lmn__span){ buffer[0].data + 8 + values_bytes,
                                    buffer[0].len - 8 - values_bytes };
    buffer[0] = (struct lmn__span){ buffer[0].data + 8, values_bytes };
    return decode_plain(encoding, buffer, 2, &part, err);
}

/* Run lengths of an RLE block, added up. */
static uint64_t rle_count(struct lmn__span block)
{
    uint64_t values_bytes = block.len >= 8 ? lmn__load_u64(block.data) : UINT64_MAX, sum = 0;

    if (values_bytes == UINT64_MAX || values_bytes > block.len - 8)
        return 0;
    for (uint64_t i = 8 + values_bytes; i < block.len; i++)
        sum += block.data[i];
    return sum;
}

uint64_t lmn__fixed_level_count(const struct lmn__encoding *encoding, struct lmn__span block,
                                uint16_t count)
{
    size_t group_bytes = lmn__packed_bytes(encoding->packed_bits);
    uint64_t found = count;

    if (encoding->kind == LMN__ENC_RLE) {
        found = rle_count(block);
    } else if (encoding->kind == LMN__ENC_FLAT) {
        found = block.len / sizeof count;
    } else if (encoding->kind == LMN__ENC_OUT_OF_LINE && group_bytes != 0) {
        while ((found + LEVELS_LOST) / LMN__PACK_COUNT * group_bytes <= block.len)
            found += LEVELS_LOST;
    }
    return found % LEVELS_LOST == count ? found : count;
}

enum lmn_status lmn__fixed_open_bits(struct lmn__scratch *scratch,
                                     const struct lmn__encoding *encoding, struct lmn__span buffer,
                                     uint64_t count, const uint8_t **bits_out,
                                     struct lmn_error *err)
{
    *bits_out = NULL;
    if (encoding->kind == LMN__ENC_GENERAL) {
        enum lmn_status st = lmn__decompress(scratch, encoding->scheme, buffer, &scratch->plain,
                                             err);

        if (st != LMN_OK)
            return st;
        buffer = (struct lmn__span){ scratch->plain.data, scratch->plain.len };
        encoding = encoding->child;
    }
    if (encoding->kind != LMN__ENC_FLAT || encoding->bits != 1)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "booleans in an encoding of kind %d",
                        (int)encoding->kind);
    if (buffer.len < lmn__bits_bytes(count))
        return too_short(err, "booleans", buffer.len, count);
    *bits_out = buffer.data;
    return LMN_OK;
}
