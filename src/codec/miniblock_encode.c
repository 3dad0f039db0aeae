/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks hold 2^k values each (the last one what is left) and are cut where a value ends, so
 * that entries without a value open the next chunk. See miniblock.c for the bytes.
 *
 * A chunk of version 2.1 has at most 32 KiB. Values take about 8 KiB of it, runs that are no runs
 * 18 KiB, and levels may take LEVELS_BYTES_MAX and the packed group that they end in: where more
 * entries without values lie between two values the page does not fit this layout.
 */
#include "codec/encode.h"

#include "base/math.h"
#include "codec/bitpack.h"
#include "codec/compress.h"

enum {
    CHUNK_BYTES_MAX = 8186,      /* of flat values */
    VARIABLE_CHUNK_BYTES = 4096, /* of strings with their offsets */
    CHUNK_VALUES_MAX = 4096,
    RLE_CHUNK_VALUES = 2048,
    LEVELS_BYTES_MAX = 12 << 10,
    LEVELS_MAX = 60000,
    BUFFER_CHUNKS = 0,
    BUFFER_DATA = 1,
    BUFFER_DICTIONARY = 2
};

struct writer {
    struct lmn__encoder *encoder;
    const struct lmn__mini_values *values;
    const struct lmn__encoding *plain; /* inside zstd, if that is used */
    struct lmn__vec *data, *words, *rows;
    uint32_t rep_width, def_width;
    uint64_t levels_max;
    uint64_t value_bytes; /* of one flat value, items and validity included; 0: bits or variable */
    uint64_t items;       /* flat items per value */
    uint64_t previous;    /* values of the chunk before: a first guess for strings */
    bool row_open;        /* the last row of the chunk before may go on */
};

static enum lmn_status pad8(struct writer *writer, struct lmn_error *err)
{
    static const uint8_t padding[8];

    return lmn__vec_put(writer->data, writer->encoder->env->pool, padding, -writer->data->len & 7,
                        err);
}

/* Values [first, first + n) of strings: bytes that they take in a chunk. */
static uint64_t variable_bytes(const struct writer *writer, uint64_t first, uint64_t n)
{
    const struct lmn__builder *builder = writer->values->builder;
    uint32_t width = builder->layout->bits / 8;

    return lmn__load_uint(builder->offsets.data + (first + n) * width, width) -
           lmn__load_uint(builder->offsets.data + first * width, width) + (n + 1) * width;
}

/* How many values the chunk at `first` should have: all that are left, or a power of two. */
static uint64_t chunk_values(struct writer *writer, uint64_t first)
{
    uint64_t left = writer->values->count - first, n = CHUNK_VALUES_MAX;

    switch (writer->plain->kind) {
    case LMN__ENC_INLINE:
        n = LMN__PACK_COUNT;
        break;
    case LMN__ENC_RLE:
        n = RLE_CHUNK_VALUES;
        break;
    case LMN__ENC_VARIABLE:
        n = writer->previous;
        while (n * 2 <= left && n * 2 <= CHUNK_VALUES_MAX &&
               variable_bytes(writer, first, n * 2) <= VARIABLE_CHUNK_BYTES)
            n *= 2;
        while (n > 2 && (n > left || variable_bytes(writer, first, n) > VARIABLE_CHUNK_BYTES))
            n /= 2;
        writer->previous = n;
        if (left <= CHUNK_VALUES_MAX && variable_bytes(writer, first, left) <= VARIABLE_CHUNK_BYTES)
            return left;
        break;
    default:
        while (n > 2 && n * writer->value_bytes >= CHUNK_BYTES_MAX)
            n /= 2;
    }
    return left <= n ? left : n;
}

/*
 * The entries of a chunk of `n` values from entry `first` on. False when they are too many; the
 * last chunk takes all that are left.
 */
static bool chunk_entries(const struct writer *writer, uint64_t first, uint64_t n, bool last,
                          uint64_t *count_out)
{
    const struct lmn__encoder *encoder = writer->encoder;
    const uint16_t *def = lmn__shred_def(encoder->shred);
    uint64_t left = encoder->shred->entry_count - first, count = 0;

    if (last) {
        *count_out = left;
        return left <= writer->levels_max || !encoder->shred->has_rep;
    }
    if (def == NULL || encoder->layout.def_max == encoder->layout.def_visible_max) {
        *count_out = n;
        return n <= writer->levels_max;
    }
    while (n > 0 && count < left && count <= writer->levels_max)
        n -= def[first + count++] <= encoder->layout.def_visible_max;
    *count_out = count;
    return n == 0 && count <= writer->levels_max;
}

static enum lmn_status put_variable(struct writer *writer, uint64_t first, uint64_t count,
                                    struct lmn__vec *out, struct lmn_error *err)
{
    const struct lmn__builder *builder = writer->values->builder;
    uint32_t width = builder->layout->bits / 8;
    const uint8_t *offsets = builder->offsets.data + first * width;
    uint64_t start = lmn__load_uint(offsets, width);
    uint64_t bytes = lmn__load_uint(offsets + count * width, width) - start;
    uint64_t head = (count + 1) * width, total = lmn__align_up(head + bytes, width);
    uint8_t *at;
    enum lmn_status st = lmn__vec_extend(out, writer->encoder->env->pool, total, &at, err);

    if (st != LMN_OK)
        return st;
    if (width == 4) {
        uint32_t shift = (uint32_t)(head - start);

        for (uint64_t i = 0; i <= count; i++)
            lmn__store_u32(at + i * 4, lmn__load_u32(offsets + i * 4) + shift);
    } else {
        for (uint64_t i = 0; i <= count; i++)
            lmn__store_u64(at + i * 8, lmn__load_u64(offsets + i * 8) + (head - start));
    }
    if (bytes != 0)
        memcpy(at + head, builder->values.data + start, bytes);
    memset(at + head + bytes, 0, total - head - bytes);
    return LMN_OK;
}

static enum lmn_status put_packed(struct writer *writer, uint64_t first, uint64_t count,
                                  struct lmn__vec *out, struct lmn_error *err)
{
    uint32_t bits = writer->plain->bits, bytes = bits / 8;
    const uint8_t *word = writer->values->word + first * bytes;
    uint32_t width = lmn__bit_width(lmn__words_or(word, bits, count));
    uint8_t group[LMN__PACK_COUNT * 8], *at;
    enum lmn_status st = lmn__vec_extend(out, writer->encoder->env->pool,
                                         bytes + lmn__packed_bytes(width), &at, err);

    if (st != LMN_OK)
        return st;
    lmn__store_uint(at, bytes, width);
    if (count < LMN__PACK_COUNT) {
        memcpy(group, word, count * bytes);
        memset(group + count * bytes, 0, (LMN__PACK_COUNT - count) * bytes);
        word = group;
    }
    lmn__bits_pack(word, width, bits, at + bytes);
    return LMN_OK;
}

/* Runs: their values in one buffer, their lengths (at most 255) in another. */
static enum lmn_status put_runs(struct writer *writer, uint64_t first, uint64_t count,
                                struct lmn__vec *out, uint8_t *length, uint64_t *runs_out,
                                struct lmn_error *err)
{
    uint32_t bytes = writer->plain->bits / 8;
    const uint8_t *word = writer->values->word + first * bytes;
    uint64_t runs = 0, i = 0;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && i < count) {
        uint64_t start = i;

        while (i < count && i - start < 255 &&
               memcmp(word + i * bytes, word + start * bytes, bytes) == 0)
            i++;
        length[runs++] = (uint8_t)(i - start);
        st = lmn__vec_put(out, writer->encoder->env->pool, word + start * bytes, bytes, err);
    }
    *runs_out = runs;
    return st;
}

/* Flat items, whole bytes or bits, of the builder at the end of a chain of fixed lists. */
static enum lmn_status put_flat(struct writer *writer, uint64_t first, uint64_t count,
                                struct lmn__vec *out, struct lmn_error *err)
{
    const struct lmn__builder *builder = writer->values->builder;
    struct lmn__pool *pool = writer->encoder->env->pool;
    uint8_t *at;
    enum lmn_status st;

    if (writer->values->word != NULL && writer->values->row_bytes != 0)
        return lmn__vec_put(out, pool, writer->values->word + first * writer->values->row_bytes,
                            count * writer->values->row_bytes, err);
    while (builder->layout->kind == LMN__LAYOUT_FIXED_LIST)
        builder = &builder->child[0];
    first *= writer->items;
    count *= writer->items;
    if (builder->layout->bits != 1)
        return lmn__vec_put(out, pool, builder->values.data + first * (builder->layout->bits / 8),
                            count * (builder->layout->bits / 8), err);
    st = lmn__vec_extend(out, pool, lmn__bits_bytes(count), &at, err);
    if (st != LMN_OK)
        return st;
    memset(at, 0, lmn__bits_bytes(count));
    lmn__bits_copy(at, 0, builder->values.data, first, count);
    return LMN_OK;
}

/* The validity of the items of one level of fixed lists; that of nothing but nulls is no bitmap. */
static enum lmn_status put_validity(struct writer *writer, const struct lmn__builder *items,
                                    uint64_t first, uint64_t count, struct lmn__vec *out,
                                    struct lmn_error *err)
{
    uint8_t *at;
    enum lmn_status st = lmn__vec_extend(out, writer->encoder->env->pool, lmn__bits_bytes(count),
                                         &at, err);

    if (st != LMN_OK)
        return st;
    memset(at, 0, lmn__bits_bytes(count));
    if (items->has_validity)
        lmn__bits_copy(at, 0, items->validity.data, first, count);
    return LMN_OK;
}

/* Where the size of value buffer number `i` of the current chunk stands, and writing it. */
static void set_size(struct writer *writer, uint64_t place, uint32_t i, uint64_t bytes)
{
    if (writer->encoder->layout.large_chunks)
        lmn__store_u32(writer->data->data + place + i * 4, (uint32_t)bytes);
    else
        lmn__store_u16(writer->data->data + place + i * 2, (uint16_t)bytes);
}

/* The first value buffer, through zstd if that is asked for. */
static enum lmn_status put_first(struct writer *writer, uint64_t first, uint64_t count,
                                 uint8_t *length, uint64_t *runs, struct lmn_error *err)
{
    bool zstd = writer->values->encoding->kind == LMN__ENC_GENERAL;
    struct lmn__scratch *scratch = writer->encoder->scratch;
    struct lmn__vec *out = zstd ? &scratch->plain : writer->data;
    enum lmn_status st = LMN_OK;

    if (zstd)
        st = lmn__scratch_need(scratch, out, 0, err);
    if (st != LMN_OK)
        return st;
    switch (writer->plain->kind) {
    case LMN__ENC_VARIABLE:
        st = put_variable(writer, first, count, out, err);
        break;
    case LMN__ENC_INLINE:
        st = put_packed(writer, first, count, out, err);
        break;
    case LMN__ENC_RLE:
        st = put_runs(writer, first, count, out, length, runs, err);
        break;
    default:
        st = put_flat(writer, first, count, out, err);
    }
    if (st != LMN_OK || !zstd)
        return st;
    return lmn__compress_zstd(scratch, writer->encoder->options->zstd_level,
                              (struct lmn__span){ out->data, out->len }, writer->data, err);
}

/* All value buffers of a chunk; their sizes go to `place`. */
static enum lmn_status put_values(struct writer *writer, uint64_t first, uint64_t count,
                                  uint64_t place, struct lmn_error *err)
{
    const struct lmn__encoding *encoding = writer->plain;
    const struct lmn__builder *items = writer->values->builder;
    uint8_t length[CHUNK_VALUES_MAX];
    uint64_t runs = 0, many = 1, start = writer->data->len;
    uint32_t buffer = 0;
    enum lmn_status st = LMN_OK;

    for (; st == LMN_OK && encoding->kind == LMN__ENC_FIXED_LIST; encoding = encoding->child) {
        many *= encoding->dimension;
        items = &items->child[0];
        if (!encoding->has_validity)
            continue;
        st = put_validity(writer, items, first * many, count * many, writer->data, err);
        set_size(writer, place, buffer++, writer->data->len - start);
        if (st == LMN_OK)
            st = pad8(writer, err);
        start = writer->data->len;
    }
    if (st != LMN_OK)
        return st;
    st = put_first(writer, first, count, length, &runs, err);
    if (st != LMN_OK)
        return st;
    set_size(writer, place, buffer++, writer->data->len - start);
    st = pad8(writer, err);
    if (st != LMN_OK || encoding->kind != LMN__ENC_RLE)
        return st;
    set_size(writer, place, buffer, runs);
    st = lmn__vec_put(writer->data, writer->encoder->env->pool, length, runs, err);
    return st != LMN_OK ? st : pad8(writer, err);
}

static enum lmn_status put_levels(struct writer *writer, const uint16_t *level, uint64_t first,
                                  uint64_t count, uint32_t width, uint64_t place,
                                  struct lmn_error *err)
{
    uint64_t start = writer->data->len;
    enum lmn_status st = lmn__levels_pack(level + first, count, width, writer->encoder->env->pool,
                                          writer->data, err);

    if (st != LMN_OK)
        return st;
    lmn__store_u16(writer->data->data + place, (uint16_t)(writer->data->len - start));
    return pad8(writer, err);
}

/*
 * The two words of the repetition index: rows that end in the chunk, entries of one that goes
 * on. Whether the last row goes on is known when the next chunk begins.
 */
static enum lmn_status put_row_index(struct writer *writer, uint64_t first, uint64_t count,
                                     bool last, struct lmn_error *err)
{
    const uint16_t *rep = lmn__shred_rep(writer->encoder->shred) + first;
    uint64_t row_start = writer->encoder->layout.list_count;
    uint64_t ended = 0, open = count, pair[2];

    for (uint64_t i = 0; i < count; i++) {
        if (rep[i] != row_start)
            continue;
        ended += i != 0;
        open = count - i;
    }
    if (writer->row_open && rep[0] == row_start) {
        uint8_t *before = writer->rows->data + writer->rows->len - 16;

        lmn__store_u64(before, lmn__load_u64(before) + 1);
        lmn__store_u64(before + 8, 0);
    }
    writer->row_open = true;
    pair[0] = ended + last;
    pair[1] = last ? 0 : open;
    return lmn__vec_put(writer->rows, writer->encoder->env->pool, pair, sizeof pair, err);
}

static enum lmn_status put_chunk(struct writer *writer, uint64_t value, uint64_t count,
                                 uint64_t entry, uint64_t entries, bool last, struct lmn_error *err)
{
    const struct lmn__page_layout *layout = &writer->encoder->layout;
    const struct lmn__shred *shred = writer->encoder->shred;
    uint32_t size_bytes = layout->large_chunks ? 4 : 2;
    uint64_t start = writer->data->len, place = start + 2, word;
    uint8_t *head;
    enum lmn_status st = lmn__vec_extend(writer->data, writer->encoder->env->pool,
                                         lmn__align_up(2u + 2u * (layout->rep != NULL) +
                                                           2u * (layout->def != NULL) +
                                                           layout->buffer_count * size_bytes,
                                                       8),
                                         &head, err);

    if (st != LMN_OK)
        return st;
    memset(head, 0, writer->data->len - start);
    if (layout->rep != NULL || layout->def != NULL)
        lmn__store_u16(head, (uint16_t)entries);
    if (layout->rep != NULL) {
        st = put_levels(writer, lmn__shred_rep(shred), entry, entries, writer->rep_width, place,
                        err);
        place += 2;
    }
    if (st == LMN_OK && layout->def != NULL) {
        st = put_levels(writer, lmn__shred_def(shred), entry, entries, writer->def_width, place,
                        err);
        place += 2;
    }
    if (st == LMN_OK)
        st = put_values(writer, value, count, place, err);
    if (st != LMN_OK)
        return st;
    word = ((writer->data->len - start) / 8 - 1) << 4;
    if (!last)
        word |= lmn__bit_width(count) - 1;
    st = lmn__vec_put(writer->words, writer->encoder->env->pool, &word, size_bytes, err);
    if (st == LMN_OK && layout->rep != NULL)
        st = put_row_index(writer, entry, entries, last, err);
    return st;
}

/* All chunks; false in *fits_out when a chunk's levels are too many. */
static enum lmn_status put_chunks(struct writer *writer, bool *fits_out, struct lmn_error *err)
{
    uint64_t value = 0, entry = 0;

    *fits_out = true;
    while (value < writer->values->count) {
        uint64_t n = chunk_values(writer, value), entries;
        bool last = n == writer->values->count - value, fits;
        enum lmn_status st;

        while (!(fits = chunk_entries(writer, entry, n, last, &entries)) && n > 2) {
            last = false;
            n = (uint64_t)1 << (lmn__bit_width(n - 1) - 1);
        }
        *fits_out = fits;
        if (!fits)
            return LMN_OK;
        st = put_chunk(writer, value, n, entry, entries, last, err);
        if (st != LMN_OK)
            return st;
        value += n;
        entry += entries;
    }
    return LMN_OK;
}

static enum lmn_status set_level_encodings(struct writer *writer, struct lmn_error *err)
{
    struct lmn__encoder *encoder = writer->encoder;
    struct lmn__page_layout *layout = &encoder->layout;
    struct lmn__encoding *rep, *def;

    writer->rep_width = encoder->shred->has_rep ? lmn__bit_width(layout->list_count) : 0;
    writer->def_width = encoder->shred->def.len != 0 ? lmn__bit_width(layout->def_max) : 0;
    writer->levels_max = LEVELS_MAX;
    if (writer->rep_width + writer->def_width != 0)
        writer->levels_max = lmn__min_u64(LEVELS_MAX, (uint64_t)LEVELS_BYTES_MAX * 8 /
                                                          (writer->rep_width + writer->def_width));
    if (writer->rep_width != 0) {
        rep = lmn__encoder_encoding(encoder, LMN__ENC_OUT_OF_LINE, 16);
        if (rep == NULL)
            return lmn__arena_fail(&encoder->arena, "an encoding", err);
        rep->packed_bits = writer->rep_width;
        layout->rep = rep;
        layout->has_row_index = true;
    }
    if (writer->def_width != 0) {
        def = lmn__encoder_encoding(encoder, LMN__ENC_OUT_OF_LINE, 16);
        if (def == NULL)
            return lmn__arena_fail(&encoder->arena, "an encoding", err);
        def->packed_bits = writer->def_width;
        layout->def = def;
    }
    return LMN_OK;
}

/* Value buffers per chunk, and the size of a flat value. */
static void measure_values(struct writer *writer)
{
    const struct lmn__encoding *encoding = writer->plain;
    struct lmn__page_layout *layout = &writer->encoder->layout;
    uint64_t bits = 0;

    writer->items = 1;
    writer->previous = 2;
    for (; encoding->kind == LMN__ENC_FIXED_LIST; encoding = encoding->child) {
        layout->buffer_count += encoding->has_validity;
        writer->items *= encoding->dimension;
        bits += encoding->has_validity ? writer->items : 0;
    }
    layout->buffer_count += encoding->kind == LMN__ENC_RLE ? 2 : 1;
    if (encoding->kind == LMN__ENC_FLAT || encoding->kind == LMN__ENC_PACKED)
        bits += writer->items * encoding->bits;
    writer->value_bytes = lmn__div_up(bits, 8);
    if (encoding->kind == LMN__ENC_FLAT && encoding->bits == 1 && writer->items == 1)
        writer->value_bytes = 0;
}

enum lmn_status lmn__miniblock_encode(struct lmn__encoder *encoder,
                                      const struct lmn__mini_values *values, bool *fits_out,
                                      struct lmn_error *err)
{
    struct lmn__page_layout *layout = &encoder->layout;
    struct lmn__vec *buffer = encoder->page->buffer;
    bool dictionary = layout->dictionary != NULL;
    struct writer writer = { .encoder = encoder,
                             .values = values,
                             .plain = values->encoding,
                             .words = &buffer[BUFFER_CHUNKS],
                             .data = &buffer[BUFFER_DATA],
                             .rows = &buffer[BUFFER_DICTIONARY + dictionary] };
    enum lmn_status st;

    if (values->encoding->kind == LMN__ENC_GENERAL)
        writer.plain = values->encoding->child;
    layout->kind = LMN__PAGE_MINI_BLOCK;
    layout->values = values->encoding;
    layout->item_count = values->count;
    layout->large_chunks = encoder->options->minor >= 2;
    layout->buffer_count = 0;
    measure_values(&writer);
    st = set_level_encodings(&writer, err);
    if (st == LMN_OK)
        st = put_chunks(&writer, fits_out, err);
    encoder->page->buffer_count = 2u + dictionary + layout->has_row_index;
    return st;
}
