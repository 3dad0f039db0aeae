/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In a mini-block chunk, offsets count from the start of the buffer, in which they stand first:
 *
 *     offset[0 .. n]   bytes   padding
 *
 * In a block they count from the start of the bytes:
 *
 *     width in bits   start of the bytes   offset[0 .. n]   bytes     (all numbers of that width)
 *     width in bits, one byte   n   start   offset[0 .. n]   bytes    (early writers of 2.1)
 *
 * With FSST the offsets count codes, not bytes.
 */
#include "codec/variable.h"

#include "base/math.h"
#include "codec/compress.h"

/* `count` + 1 offsets at `offset`, counting from `data`, which has `data_len` bytes. */
struct strings {
    const uint8_t *offset;
    uint32_t width;
    const uint8_t *data;
    uint64_t data_len;
};

enum lmn_status lmn__variable_init(struct lmn__variable *variable,
                                   const struct lmn__encoding *encoding, struct lmn__arena *arena,
                                   struct lmn_error *err)
{
    *variable = (struct lmn__variable){ 0 };
    if (encoding->kind == LMN__ENC_GENERAL) {
        variable->general = encoding;
        encoding = encoding->child;
    }
    if (encoding->kind == LMN__ENC_FSST) {
        enum lmn_status st;

        variable->fsst = lmn__arena_alloc(arena, sizeof *variable->fsst);
        if (variable->fsst == NULL)
            return lmn__arena_fail(arena, "a symbol table", err);
        st = lmn__fsst_init(variable->fsst, encoding->table, err);
        if (st != LMN_OK)
            return st;
        if (variable->fsst->plain)
            variable->fsst = NULL;
        encoding = encoding->child;
    }
    if (encoding->kind != LMN__ENC_VARIABLE)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "strings or binaries in an encoding of kind %d",
                        (int)encoding->kind);
    variable->plain = encoding;
    return LMN_OK;
}

static inline uint64_t offset_at(const struct strings *strings, uint64_t i)
{
    return strings->width == 4 ? lmn__load_u32(strings->offset + i * 4)
                               : lmn__load_u64(strings->offset + i * 8);
}

static enum lmn_status bad_offset(const struct strings *strings, uint64_t i, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CORRUPT, "offset %llu of the strings is %llu (%llu bytes in all)",
                    (unsigned long long)i, (unsigned long long)offset_at(strings, i),
                    (unsigned long long)strings->data_len);
}

/* Do offsets first .. first + take rise and stay inside? Checked before they are used. */
static enum lmn_status check_offsets(const struct strings *strings, uint64_t first, uint64_t take,
                                     struct lmn_error *err)
{
    uint64_t before = offset_at(strings, first);
    bool falls = false;

    if (strings->width == 4) {
        for (uint64_t i = first; i < first + take; i++)
            falls |= lmn__load_u32(strings->offset + i * 4 + 4) <
                     lmn__load_u32(strings->offset + i * 4);
    } else {
        for (uint64_t i = first; i < first + take; i++)
            falls |= lmn__load_u64(strings->offset + i * 8 + 8) <
                     lmn__load_u64(strings->offset + i * 8);
    }
    if (!falls && offset_at(strings, first + take) <= strings->data_len)
        return LMN_OK;
    for (uint64_t i = first + 1; i <= first + take; i++) {
        uint64_t now = offset_at(strings, i);

        if (now < before || now > strings->data_len)
            return bad_offset(strings, i, err);
        before = now;
    }
    return bad_offset(strings, first, err);
}

static void put_offsets(const struct strings *strings, uint64_t first, uint64_t take, uint64_t base,
                        uint32_t width, uint8_t *out)
{
    uint64_t shift = base - offset_at(strings, first);

    if (strings->width == 4 && width == 4) {
        const uint8_t *from = strings->offset + (first + 1) * 4;
        uint32_t shift32 = (uint32_t)shift;

        for (uint64_t i = 0; i < take; i++)
            lmn__store_u32(out + i * 4, lmn__load_u32(from + i * 4) + shift32);
        return;
    }
    for (uint64_t i = 0; i < take; i++)
        lmn__store_uint(out + i * width, width, offset_at(strings, first + 1 + i) + shift);
}

static enum lmn_status put_plain(const struct strings *strings, uint64_t first, uint64_t take,
                                 struct lmn__builder *builder, struct lmn_error *err)
{
    uint64_t start = offset_at(strings, first), bytes = offset_at(strings, first + take) - start;
    uint8_t *offsets, *data;
    uint64_t base;
    enum lmn_status st = lmn__builder_extend_variable(builder, take, bytes, &offsets, &data, &base,
                                                      err);

    if (st != LMN_OK)
        return st;
    if (bytes != 0)
        memcpy(data, strings->data + start, bytes);
    put_offsets(strings, first, take, base, builder->layout->bits / 8, offsets);
    return LMN_OK;
}

/*
 * Room is asked for the largest possible outcome and the rest given back. That is at most eight
 * times the codes of one chunk or value.
 */
static enum lmn_status put_fsst(const struct lmn__fsst *fsst, const struct strings *strings,
                                uint64_t first, uint64_t take, struct lmn__builder *builder,
                                struct lmn_error *err)
{
    uint64_t codes = offset_at(strings, first + take) - offset_at(strings, first), bound, base;
    uint32_t width = builder->layout->bits / 8;
    uint8_t *offsets, *data, *at;
    enum lmn_status st;

    if (!lmn__mul_u64(codes, LMN__FSST_EXPANSION_MAX, &bound))
        return lmn__no_memory(err, "strings", UINT64_MAX);
    st = lmn__builder_extend_variable(builder, take, bound, &offsets, &data, &base, err);
    if (st != LMN_OK)
        return st;
    at = data;
    for (uint64_t i = 0; i < take; i++) {
        uint64_t from = offset_at(strings, first + i), to = offset_at(strings, first + i + 1);

        at = lmn__fsst_decode(fsst, strings->data + from, to - from, at);
        if (at == NULL)
            return lmn_fail(err, LMN_E_CORRUPT, "FSST: string %llu ends in an escape",
                            (unsigned long long)(first + i));
        lmn__store_uint(offsets + i * width, width, base + (uint64_t)(at - data));
    }
    builder->values.len = base + (uint64_t)(at - data);
    return LMN_OK;
}

static enum lmn_status put_strings(const struct lmn__variable *variable,
                                   const struct strings *strings, uint64_t first, uint64_t take,
                                   struct lmn__builder *builder, struct lmn_error *err)
{
    enum lmn_status st;

    if (take == 0)
        return LMN_OK;
    st = check_offsets(strings, first, take, err);
    if (st != LMN_OK)
        return st;
    if (variable->fsst != NULL)
        return put_fsst(variable->fsst, strings, first, take, builder, err);
    return put_plain(strings, first, take, builder, err);
}

/* The bytes inside lz4 or zstd, if there is one. */
static enum lmn_status open_general(struct lmn__scratch *scratch,
                                    const struct lmn__variable *variable, struct lmn__span *bytes,
                                    struct lmn_error *err)
{
    enum lmn_status st;

    if (variable->general == NULL)
        return LMN_OK;
    st = lmn__decompress(scratch, variable->general->scheme, *bytes, &scratch->plain, err);
    *bytes = (struct lmn__span){ scratch->plain.data, scratch->plain.len };
    return st;
}

enum lmn_status lmn__variable_decode_chunk(struct lmn__scratch *scratch,
                                           const struct lmn__variable *variable,
                                           struct lmn__span buffer, uint64_t count, uint64_t first,
                                           uint64_t take, struct lmn__builder *builder,
                                           struct lmn_error *err)
{
    struct strings strings = { .width = variable->plain->bits / 8 };
    uint64_t offset_bytes;
    enum lmn_status st = open_general(scratch, variable, &buffer, err);

    if (st != LMN_OK)
        return st;
    if (!lmn__mul_u64(count + 1, strings.width, &offset_bytes) || offset_bytes > buffer.len)
        return lmn_fail(err, LMN_E_CORRUPT, "a chunk of %zu bytes has no room for %llu offsets",
                        buffer.len, (unsigned long long)count + 1);
    strings.offset = strings.data = buffer.data;
    strings.data_len = buffer.len;
    return put_strings(variable, &strings, first, take, builder, err);
}

/*
 * Where the offsets of a block begin, of which width they are, and where the bytes begin. The
 * early form has the number of strings in bytes 1 and on, the other one zeros.
 */
static enum lmn_status read_block_header(struct lmn__span block, struct strings *strings,
                                         uint64_t *start_out, struct lmn_error *err)
{
    bool early = block.len >= 4 && lmn__load_u32(block.data) >> 8 != 0;
    uint32_t bits = block.len >= 4 ? block.data[0] : 0, width = bits / 8;
    size_t head = early ? 1 + 2 * width : 2 * width;

    *start_out = 0;
    if (block.len < 4 || (bits != 32 && bits != 64))
        return lmn_fail(err, LMN_E_CORRUPT, "a block of strings of %zu bytes, offsets of %u bits",
                        block.len, bits);
    if (block.len < head)
        return lmn_fail(err, LMN_E_CORRUPT, "a block of strings of %zu bytes", block.len);
    strings->width = width;
    strings->offset = block.data + head;
    strings->data_len = block.len - head;
    *start_out = lmn__load_uint(block.data + head - width, width);
    return LMN_OK;
}

enum lmn_status lmn__variable_decode_block(struct lmn__scratch *scratch,
                                           const struct lmn__variable *variable,
                                           struct lmn__span block, uint64_t count,
                                           struct lmn__builder *builder, struct lmn_error *err)
{
    struct strings strings = { 0 };
    uint64_t start, offset_bytes;
    enum lmn_status st = open_general(scratch, variable, &block, err);

    if (st == LMN_OK)
        st = read_block_header(block, &strings, &start, err);
    if (st != LMN_OK)
        return st;
    if (count == UINT64_MAX || !lmn__mul_u64(count + 1, strings.width, &offset_bytes) ||
        offset_bytes > strings.data_len || start > block.len)
        return lmn_fail(err, LMN_E_CORRUPT, "a block of %zu bytes has no room for %llu strings",
                        block.len, (unsigned long long)count);
    strings.data = block.data + start;
    strings.data_len = block.len - start;
    return put_strings(variable, &strings, 0, count, builder, err);
}

enum lmn_status lmn__variable_decode_value(struct lmn__scratch *scratch,
                                           const struct lmn__variable *variable,
                                           struct lmn__span value, struct lmn__builder *builder,
                                           struct lmn_error *err)
{
    uint64_t bound = value.len, base, got = value.len;
    uint8_t *offsets, *data;
    enum lmn_status st = open_general(scratch, variable, &value, err);

    if (st != LMN_OK)
        return st;
    bound = value.len;
    if (variable->fsst != NULL && !lmn__mul_u64(value.len, LMN__FSST_EXPANSION_MAX, &bound))
        return lmn__no_memory(err, "a string", UINT64_MAX);
    st = lmn__builder_extend_variable(builder, 1, bound, &offsets, &data, &base, err);
    if (st != LMN_OK)
        return st;
    got = value.len;
    if (variable->fsst != NULL) {
        uint8_t *end = lmn__fsst_decode(variable->fsst, value.data, value.len, data);

        if (end == NULL)
            return lmn_fail(err, LMN_E_CORRUPT, "FSST: a string ends in an escape");
        got = (uint64_t)(end - data);
    } else if (value.len != 0) {
        memcpy(data, value.data, value.len);
    }
    builder->values.len = base + got;
    lmn__store_uint(offsets, builder->layout->bits / 8, base + got);
    return LMN_OK;
}

/* Short strings are copied in whole words; both vectors have slack for it. */
static inline void copy_short(uint8_t *to, const uint8_t *from, uint64_t len)
{
    memcpy(to, from, 16);
    if (len > 16)
        memcpy(to + 16, from + 16, len - 16);
}

enum lmn_status lmn__variable_gather(const struct lmn__builder *dictionary, const uint8_t *index,
                                     uint32_t index_bits, uint64_t count,
                                     struct lmn__builder *builder, struct lmn_error *err)
{
    struct strings strings = { dictionary->offsets.data, dictionary->layout->bits / 8,
                               dictionary->values.data, dictionary->values.len };
    uint32_t index_bytes = index_bits / 8, width = builder->layout->bits / 8;
    uint64_t bytes = 0, base, at;
    uint8_t *offsets, *data;
    enum lmn_status st;

    for (uint64_t i = 0; i < count; i++) {
        uint64_t k = lmn__load_uint(index + i * index_bytes, index_bytes);

        if (k >= dictionary->length)
            return lmn_fail(err, LMN_E_CORRUPT, "index %llu into a dictionary of %llu values",
                            (unsigned long long)k, (unsigned long long)dictionary->length);
        bytes += offset_at(&strings, k + 1) - offset_at(&strings, k);
    }
    st = lmn__builder_extend_variable(builder, count, bytes, &offsets, &data, &base, err);
    if (st != LMN_OK || count == 0)
        return st;
    at = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t k = lmn__load_uint(index + i * index_bytes, index_bytes);
        uint64_t from = offset_at(&strings, k), len = offset_at(&strings, k + 1) - from;

        copy_short(data + at, strings.data + from, len);
        at += len;
        lmn__store_uint(offsets + i * width, width, base + at);
    }
    return LMN_OK;
}
