/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream is a varint, the plain size, and elements, each with a tag byte:
 *
 *   xxxxxx00  literal of x + 1 bytes; x of 60 to 63: the length - 1 is in the next 1 to 4 bytes
 *   oooxxx01  copy of x + 4 bytes from o * 256 + next byte before
 *   xxxxxx10  copy of x + 1 bytes from as far before as the next 2 bytes say
 *   xxxxxx11  the same with 4 bytes
 *
 * The compressor looks at blocks of 64 KiB, so that its copies reach back less than that.
 */
#include "ingest/snappy.h"

#include "base/math.h"

enum { BLOCK = 1 << 16, TABLE_BITS = 14, COPY_MAX = 64, MATCH_MIN = 4, MARGIN = 8 };

size_t lmn__snappy_bound(size_t len)
{
    return 32 + len + len / 6;
}

static uint8_t *put_varint(uint8_t *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

static uint8_t *put_literal(uint8_t *out, const uint8_t *from, size_t len)
{
    size_t n = len - 1;

    if (len == 0)
        return out;
    if (n < 60) {
        *out++ = (uint8_t)(n << 2);
    } else if (n < 256) {
        *out++ = 60 << 2;
        *out++ = (uint8_t)n;
    } else { /* a block has at most 65,536 bytes */
        *out++ = 61 << 2;
        lmn__store_u16(out, (uint16_t)n);
        out += 2;
    }
    memcpy(out, from, len);
    return out + len;
}

static uint8_t *put_copy(uint8_t *out, size_t offset, size_t len)
{
    while (len != 0) {
        /* What is left over must not be too short for a copy. */
        size_t n = len > COPY_MAX && len < COPY_MAX + MATCH_MIN ? COPY_MAX - MATCH_MIN
                                                                : lmn__min_u64(len, COPY_MAX);

        *out++ = (uint8_t)((n - 1) << 2 | 2);
        lmn__store_u16(out, (uint16_t)offset);
        out += 2;
        len -= n;
    }
    return out;
}

static uint32_t slot_of(uint32_t bytes)
{
    return (bytes * 0x1e35a7bdu) >> (32 - TABLE_BITS);
}

static uint8_t *compress_block(const uint8_t *block, size_t len, uint8_t *out)
{
    uint16_t table[1 << TABLE_BITS] = { 0 };
    size_t at = 1, literal = 0, misses = 32;

    while (at + MARGIN < len) {
        uint32_t word = lmn__load_u32(block + at), slot = slot_of(word);
        size_t from = table[slot], match = MATCH_MIN;

        table[slot] = (uint16_t)at;
        if (from >= at || lmn__load_u32(block + from) != word) {
            at += misses++ >> 5; /* bytes that do not compress are passed faster and faster */
            continue;
        }
        while (at + match < len && block[from + match] == block[at + match])
            match++;
        out = put_literal(out, block + literal, at - literal);
        out = put_copy(out, at - from, match);
        at += match;
        literal = at;
        misses = 32;
    }
    return put_literal(out, block + literal, len - literal);
}

size_t lmn__snappy_compress(struct lmn__span bytes, uint8_t *out)
{
    uint8_t *at = put_varint(out, bytes.len);

    for (size_t done = 0; done < bytes.len; done += BLOCK)
        at = compress_block(bytes.data + done, lmn__min_u64(BLOCK, bytes.len - done), at);
    return (size_t)(at - out);
}

/* The length of a literal whose tag is `tag`; moves *at behind it. */
static bool literal_len(struct lmn__span in, size_t *at, uint8_t tag, size_t *len_out)
{
    size_t n = tag >> 2, more = n >= 60 ? n - 59 : 0;

    if (more > in.len - *at)
        return false;
    if (more != 0) {
        n = 0;
        for (size_t i = 0; i < more; i++)
            n |= (size_t)in.data[*at + i] << (8 * i);
        *at += more;
    }
    *len_out = n + 1;
    return true;
}

static bool copy_place(struct lmn__span in, size_t *at, uint8_t tag, size_t *len_out,
                       size_t *offset_out)
{
    size_t more = (tag & 3) == 1 ? 1 : (tag & 3) == 2 ? 2 : 4;

    if (more > in.len - *at)
        return false;
    *len_out = (tag & 3) == 1 ? (size_t)(tag >> 2 & 7) + 4 : (size_t)(tag >> 2) + 1;
    *offset_out = lmn__load_uint(in.data + *at, (uint32_t)more);
    if ((tag & 3) == 1)
        *offset_out |= (size_t)(tag >> 5) << 8;
    *at += more;
    return true;
}

bool lmn__snappy_decompress(struct lmn__span bytes, uint8_t *out, size_t len)
{
    uint64_t told = 0;
    size_t at = 0, done = 0, n, offset;

    for (int shift = 0; at < bytes.len && shift < 64; shift += 7) {
        told |= (uint64_t)(bytes.data[at] & 0x7f) << shift;
        if ((bytes.data[at++] & 0x80) == 0)
            break;
    }
    if (told != len || at == 0)
        return false;
    while (at < bytes.len) {
        uint8_t tag = bytes.data[at++];

        if ((tag & 3) == 0) {
            if (!literal_len(bytes, &at, tag, &n) || n > bytes.len - at || n > len - done)
                return false;
            memcpy(out + done, bytes.data + at, n);
            at += n;
        } else {
            if (!copy_place(bytes, &at, tag, &n, &offset) || offset == 0 || offset > done ||
                n > len - done)
                return false;
            for (size_t i = 0; i < n; i++) /* the parts may overlap: a run */
                out[done + i] = out[done + i - offset];
        }
        done += n;
    }
    return done == len;
}
