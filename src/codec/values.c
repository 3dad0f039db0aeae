/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/values.h"

#include "base/bits.h"
#include "base/math.h"
#include "codec/compress.h"
#include "codec/dictionary.h"
#include "codec/fixed.h"

/* One chunk's buffers, and which of its values are wanted. */
struct part {
    const struct lmn__span *buffer;
    uint32_t buffer_count;
    uint64_t count, first, take;
};

static const struct lmn__encoding *without_general(const struct lmn__encoding *encoding)
{
    return encoding->kind == LMN__ENC_GENERAL ? encoding->child : encoding;
}

/* The variable encoding's parts are looked up once; the others are read as they are. */
static enum lmn_status init_variable(struct lmn__values *values, const struct lmn__layout *layout,
                                     const struct lmn__encoding *encoding, struct lmn__arena *arena,
                                     struct lmn_error *err)
{
    if (layout->kind != LMN__LAYOUT_VARIABLE)
        return LMN_OK;
    return lmn__variable_init(&values->variable, encoding, arena, err);
}

static enum lmn_status init_dictionary(struct lmn__values *values, struct lmn_env *env,
                                       const struct lmn__page_layout *page, struct lmn__span bytes,
                                       struct lmn__arena *arena, struct lmn__scratch *scratch,
                                       struct lmn_error *err)
{
    struct lmn__variable variable = { 0 };
    enum lmn_status st;

    values->has_dictionary = true;
    if (values->dictionary_layout->kind == LMN__LAYOUT_VARIABLE) {
        st = lmn__variable_init(&variable, page->dictionary, arena, err);
        if (st != LMN_OK)
            return st;
    }
    st = lmn__builder_init(&values->dictionary, env, values->dictionary_layout, err);
    if (st != LMN_OK)
        return st;
    return lmn__dictionary_decode(scratch, page->dictionary, &variable, bytes,
                                  page->dictionary_count, &values->dictionary, err);
}

enum lmn_status lmn__values_init(struct lmn__values *values, struct lmn_env *env, uint64_t id,
                                 const struct lmn__page_layout *page,
                                 const struct lmn__layout *layout, struct lmn__span dictionary,
                                 struct lmn__arena *arena, struct lmn__scratch *scratch,
                                 struct lmn_error *err)
{
    *values = (struct lmn__values){ .id = id, .encoding = page->values, .layout = layout };
    values->dictionary_layout = layout->kind == LMN__LAYOUT_DICTIONARY ? layout->child[0] : layout;
    if (page->dictionary != NULL)
        return init_dictionary(values, env, page, dictionary, arena, scratch, err);
    if (layout->kind == LMN__LAYOUT_DICTIONARY)
        return lmn_fail(err, LMN_E_CORRUPT, "a page of a dictionary column without a dictionary");
    return init_variable(values, layout, page->values, arena, err);
}

void lmn__values_deinit(struct lmn__values *values)
{
    if (values->has_dictionary)
        lmn__builder_deinit(&values->dictionary);
    *values = (struct lmn__values){ 0 };
}

static enum lmn_status append_bits(const struct lmn__encoding *encoding, const struct part *part,
                                   struct lmn__scratch *scratch, struct lmn__builder *builder,
                                   struct lmn_error *err)
{
    const uint8_t *bits;
    enum lmn_status st;

    if (part->buffer_count != 1)
        return lmn_fail(err, LMN_E_CORRUPT, "%u buffers per chunk of booleans", part->buffer_count);
    st = lmn__fixed_open_bits(scratch, encoding, part->buffer[0], part->count, &bits, err);
    return st != LMN_OK ? st : lmn__builder_put_bits(builder, bits, part->first, part->take, err);
}

static enum lmn_status append_fixed(const struct lmn__encoding *encoding, const struct part *part,
                                    struct lmn__scratch *scratch, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    uint8_t *at;
    enum lmn_status st = lmn__builder_extend(builder, part->take, &at, err);

    if (st != LMN_OK)
        return st;
    return lmn__fixed_decode(scratch, encoding, part->buffer, part->buffer_count,
                             builder->layout->bits, part->count, part->first, part->take, at, err);
}

static enum lmn_status append_packed(const struct lmn__encoding *encoding, const struct part *part,
                                     struct lmn__scratch *scratch, struct lmn__builder *builder,
                                     struct lmn_error *err)
{
    const struct lmn__encoding *packed = without_general(encoding);
    struct lmn__encoding flat = { .kind = LMN__ENC_FLAT, .bits = packed->bits };
    struct lmn__encoding around = *encoding;
    uint64_t row_bytes = packed->bits / 8, at = 0;
    enum lmn_status st;

    if (packed->kind != LMN__ENC_PACKED || packed->field_count != builder->layout->child_count)
        return lmn_fail(err, LMN_E_CORRUPT, "a packed struct of %u fields where the schema has %u",
                        packed->field_count, builder->layout->child_count);
    around.child = &flat;
    st = lmn__scratch_need(scratch, &scratch->values, part->take * row_bytes, err);
    if (st != LMN_OK)
        return st;
    st = lmn__fixed_decode(scratch, encoding == packed ? &flat : &around, part->buffer,
                           part->buffer_count, packed->bits, part->count, part->first, part->take,
                           scratch->values.data, err);
    for (uint32_t i = 0; st == LMN_OK && i < packed->field_count; i++) {
        struct lmn__builder *child = &builder->child[i];
        uint32_t bytes = packed->field[i].bits / 8;
        uint8_t *out;

        if (child->layout->kind != LMN__LAYOUT_FIXED ||
            child->layout->bits != packed->field[i].bits)
            return lmn_fail(err, LMN_E_CORRUPT, "field %u of a packed struct has %u bits", i,
                            packed->field[i].bits);
        st = lmn__builder_add_valid(child, part->take, err);
        if (st == LMN_OK)
            st = lmn__builder_extend(child, part->take, &out, err);
        for (uint64_t k = 0; st == LMN_OK && k < part->take; k++)
            memcpy(out + k * bytes, scratch->values.data + k * row_bytes + at, bytes);
        at += bytes;
    }
    return st;
}

static enum lmn_status append_encoded(const struct lmn__encoding *encoding,
                                      const struct lmn__variable *variable, struct part part,
                                      struct lmn__scratch *scratch, struct lmn__builder *builder,
                                      struct lmn_error *err);

/*
 * The items of fixed lists: their validity, if they have one, is the first buffer; then their
 * values as if they were a column of count x dimension.
 */
static enum lmn_status append_items(const struct lmn__encoding *encoding, struct part part,
                                    struct lmn__scratch *scratch, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    struct lmn__builder *child = &builder->child[0];
    uint64_t dimension = encoding->dimension;
    struct lmn__span validity = { NULL, 0 };
    enum lmn_status st;

    if (dimension != builder->layout->dimension)
        return lmn_fail(err, LMN_E_CORRUPT, "fixed lists of %llu items where the schema has %u",
                        (unsigned long long)dimension, builder->layout->dimension);
    if (!lmn__mul_u64(part.count, dimension, &part.count))
        return lmn_fail(err, LMN_E_CORRUPT, "a chunk of too many items");
    part.first *= dimension;
    part.take *= dimension;
    if (encoding->has_validity) {
        if (part.buffer_count < 1 || part.buffer[0].len < lmn__bits_bytes(part.count))
            return lmn_fail(err, LMN_E_CORRUPT, "the validity of %llu items is cut short",
                            (unsigned long long)part.count);
        validity = part.buffer[0];
        part.buffer++;
        part.buffer_count--;
    }
    if (child->layout->kind == LMN__LAYOUT_NULL)
        return lmn__builder_add_null(child, part.take, err);
    st = encoding->has_validity
             ? lmn__builder_add_bits(child, validity.data, part.first, part.take, err)
             : lmn__builder_add_valid(child, part.take, err);
    if (st != LMN_OK)
        return st;
    if (encoding->child->kind == LMN__ENC_CONSTANT)
        return lmn__builder_put_empty(child, part.take, err);
    return append_encoded(encoding->child, NULL, part, scratch, child, err);
}

/* A general encoding around fixed lists compresses the first buffer, whatever it holds. */
static enum lmn_status append_fixed_list(const struct lmn__encoding *encoding, struct part part,
                                         struct lmn__scratch *scratch, struct lmn__builder *builder,
                                         struct lmn_error *err)
{
    struct lmn__span opened[64];
    enum lmn_status st;

    if (encoding->kind == LMN__ENC_GENERAL) {
        if (part.buffer_count < 1 || part.buffer_count > 64)
            return lmn_fail(err, LMN_E_CORRUPT, "a compressed chunk of %u buffers",
                            part.buffer_count);
        st = lmn__decompress(scratch, encoding->scheme, part.buffer[0], &scratch->plain, err);
        if (st != LMN_OK)
            return st;
        memcpy(opened, part.buffer, part.buffer_count * sizeof opened[0]);
        opened[0] = (struct lmn__span){ scratch->plain.data, scratch->plain.len };
        part.buffer = opened;
        encoding = encoding->child;
    }
    if (encoding->kind != LMN__ENC_FIXED_LIST)
        return lmn_fail(err, LMN_E_CORRUPT, "fixed lists in an encoding of kind %d",
                        (int)encoding->kind);
    return append_items(encoding, part, scratch, builder, err);
}

static enum lmn_status append_encoded(const struct lmn__encoding *encoding,
                                      const struct lmn__variable *variable, struct part part,
                                      struct lmn__scratch *scratch, struct lmn__builder *builder,
                                      struct lmn_error *err)
{
    switch (builder->layout->kind) {
    case LMN__LAYOUT_FIXED:
        if (builder->layout->bits == 1)
            return append_bits(encoding, &part, scratch, builder, err);
        return append_fixed(encoding, &part, scratch, builder, err);
    case LMN__LAYOUT_VARIABLE:
        if (part.buffer_count != 1 || variable == NULL)
            return lmn_fail(err, LMN_E_CORRUPT, "%u buffers per chunk of strings",
                            part.buffer_count);
        return lmn__variable_decode_chunk(scratch, variable, part.buffer[0], part.count, part.first,
                                          part.take, builder, err);
    case LMN__LAYOUT_FIXED_LIST:
        return append_fixed_list(encoding, part, scratch, builder, err);
    case LMN__LAYOUT_STRUCT:
        return append_packed(encoding, &part, scratch, builder, err);
    default:
        return lmn_fail(err, LMN_E_CORRUPT, "a mini-block page of a column that has no values");
    }
}

static enum lmn_status append_indexed(const struct lmn__values *values, struct lmn__leaf *leaf,
                                      const struct part *part, struct lmn_error *err)
{
    uint32_t bits = without_general(values->encoding)->bits;
    struct lmn__scratch *scratch = leaf->scratch;
    enum lmn_status st;

    if (bits != 8 && bits != 16 && bits != 32 && bits != 64)
        return lmn_fail(err, LMN_E_CORRUPT, "dictionary indices of %u bits", bits);
    st = lmn__scratch_need(scratch, &scratch->index, part->take * (bits / 8), err);
    if (st == LMN_OK)
        st = lmn__fixed_decode(scratch, values->encoding, part->buffer, part->buffer_count, bits,
                               part->count, part->first, part->take, scratch->index.data, err);
    if (st != LMN_OK)
        return st;
    if (values->layout->kind == LMN__LAYOUT_DICTIONARY)
        return lmn__dictionary_append(values, leaf, scratch->index.data, bits, part->take, err);
    return lmn__dictionary_gather(&values->dictionary, scratch->index.data, bits, part->take,
                                  leaf->builder, err);
}

enum lmn_status lmn__values_append(const struct lmn__values *values, struct lmn__leaf *leaf,
                                   const struct lmn__span *buffer, uint32_t buffer_count,
                                   uint64_t count, uint64_t first, uint64_t take,
                                   struct lmn_error *err)
{
    const struct part part = { buffer, buffer_count, count, first, take };

    if (take == 0)
        return LMN_OK;
    if (!lmn__range_fits(first, take, count))
        return lmn_fail(err, LMN_E_CORRUPT, "values %llu to %llu of a chunk of %llu",
                        (unsigned long long)first, (unsigned long long)(first + take),
                        (unsigned long long)count);
    if (values->has_dictionary)
        return append_indexed(values, leaf, &part, err);
    return append_encoded(values->encoding, &values->variable, part, leaf->scratch, leaf->builder,
                          err);
}

enum lmn_status lmn__values_repeat(struct lmn__builder *builder, struct lmn__span value,
                                   uint64_t count, struct lmn_error *err)
{
    const struct lmn__layout *layout = builder->layout;
    uint64_t start = builder->length - count;
    enum lmn_status st;
    uint8_t *at;

    if (layout->kind != LMN__LAYOUT_FIXED || value.len != lmn__bits_bytes(layout->bits))
        return lmn_fail(err, LMN_E_CORRUPT, "a constant of %zu bytes in a column of %u bits",
                        value.len, layout->bits);
    if (layout->bits == 1) {
        st = lmn__builder_put_bits(builder, NULL, 0, count, err);
        if (st == LMN_OK && (value.data[0] & 1))
            lmn__bits_fill(builder->values.data, start, count, true);
        return st;
    }
    st = lmn__builder_extend(builder, count, &at, err);
    for (uint64_t i = 0; st == LMN_OK && value.len != 0 && i < count; i++)
        memcpy(at + i * value.len, value.data, value.len);
    return st;
}
