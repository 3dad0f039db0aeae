/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See fullzip.c for the bytes. Pages of fixed values without levels are the column itself: their
 * buffer is taken over without a copy.
 */
#include "codec/encode.h"

#include "base/math.h"
#include "codec/compress.h"

struct writer {
    struct lmn__encoder *encoder;
    const struct lmn__builder *values;
    const uint16_t *rep, *def;
    struct lmn__vec *data;
    uint32_t control_bytes;
    uint64_t value_bytes; /* fixed values with the validity of their items; 0: variable */
    uint64_t *row_start;  /* of each row, and the end; NULL: no index */
    uint64_t rows;
};

/* Bytes of a fixed value: bits of the items' validity first, then the items. */
static uint64_t fixed_bytes(const struct lmn__encoding *encoding)
{
    uint64_t items = 1, bytes = 0;

    for (; encoding->kind == LMN__ENC_FIXED_LIST; encoding = encoding->child) {
        items *= encoding->dimension;
        if (encoding->has_validity)
            bytes += lmn__bits_bytes(items);
    }
    if (encoding->kind == LMN__ENC_FLAT)
        bytes += lmn__bits_bytes(items * encoding->bits);
    return bytes;
}

static void put_fixed(const struct writer *writer, uint64_t value, uint8_t *at)
{
    const struct lmn__encoding *encoding = writer->encoder->layout.values;
    const struct lmn__builder *items = writer->values;
    uint64_t many = 1;

    for (; encoding->kind == LMN__ENC_FIXED_LIST; encoding = encoding->child) {
        many *= encoding->dimension;
        items = &items->child[0];
        if (!encoding->has_validity)
            continue;
        memset(at, 0, lmn__bits_bytes(many));
        if (items->has_validity)
            lmn__bits_copy(at, 0, items->validity.data, value * many, many);
        at += lmn__bits_bytes(many);
    }
    if (encoding->kind != LMN__ENC_FLAT)
        return;
    if (encoding->bits == 1) {
        memset(at, 0, lmn__bits_bytes(many));
        lmn__bits_copy(at, 0, items->values.data, value * many, many);
    } else {
        memcpy(at, items->values.data + value * many * (encoding->bits / 8),
               many * (encoding->bits / 8));
    }
}

static struct lmn__span variable_at(const struct writer *writer, uint64_t value)
{
    uint32_t width = writer->values->layout->bits / 8;
    uint64_t from = lmn__load_uint(writer->values->offsets.data + value * width, width);
    uint64_t to = lmn__load_uint(writer->values->offsets.data + (value + 1) * width, width);

    return (struct lmn__span){ writer->values->values.data + from, to - from };
}

static enum lmn_status put_variable(struct writer *writer, uint64_t value, struct lmn_error *err)
{
    uint32_t width = writer->encoder->layout.length_bits / 8;
    struct lmn__span bytes = variable_at(writer, value);
    uint64_t place = writer->data->len;
    uint8_t *at;
    enum lmn_status st;

    if (writer->encoder->options->zstd_level == 0) {
        st = lmn__vec_extend(writer->data, writer->encoder->env->pool, width + bytes.len, &at, err);
        if (st != LMN_OK)
            return st;
        lmn__store_uint(at, width, bytes.len);
        if (bytes.len != 0)
            memcpy(at + width, bytes.data, bytes.len);
        return LMN_OK;
    }
    st = lmn__vec_extend(writer->data, writer->encoder->env->pool, width, &at, err);
    if (st == LMN_OK)
        st = lmn__compress_zstd(writer->encoder->scratch, writer->encoder->options->zstd_level,
                                bytes, writer->data, err);
    if (st == LMN_OK)
        lmn__store_uint(writer->data->data + place, width, writer->data->len - place - width);
    return st;
}

static enum lmn_status put_entry(struct writer *writer, uint64_t entry, uint64_t *value,
                                 struct lmn_error *err)
{
    const struct lmn__page_layout *layout = &writer->encoder->layout;
    uint32_t rep = writer->rep != NULL ? writer->rep[entry] : 0;
    uint32_t def = writer->def != NULL ? writer->def[entry] : 0;
    uint64_t word = (uint64_t)rep << layout->def_bits | def;
    enum lmn_status st;
    uint8_t *at;

    if (writer->row_start != NULL && (writer->rep == NULL || rep == layout->list_count))
        writer->row_start[writer->rows++] = writer->data->len;
    st = lmn__vec_put(writer->data, writer->encoder->env->pool, &word, writer->control_bytes, err);
    if (st != LMN_OK || def > layout->def_visible_max)
        return st;
    if (writer->value_bytes == 0) {
        st = def == 0 ? put_variable(writer, *value, err) : LMN_OK;
    } else {
        st = lmn__vec_extend(writer->data, writer->encoder->env->pool, writer->value_bytes, &at,
                             err);
        if (st == LMN_OK)
            put_fixed(writer, *value, at);
    }
    (*value)++;
    return st;
}

/* Offsets as narrow as the page's size allows. */
static enum lmn_status put_index(struct writer *writer, struct lmn_error *err)
{
    uint64_t end = writer->data->len, count = writer->rows + 1;
    uint32_t width = end <= UINT8_MAX ? 1 : end <= UINT16_MAX ? 2 : end <= UINT32_MAX ? 4 : 8;
    uint8_t *at;
    enum lmn_status st;

    writer->row_start[writer->rows] = end;
    st = lmn__vec_extend(&writer->encoder->page->buffer[1], writer->encoder->env->pool,
                         count * width, &at, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++)
        lmn__store_uint(at + i * width, width, writer->row_start[i]);
    return st;
}

static enum lmn_status set_layout(struct writer *writer, struct lmn_error *err)
{
    struct lmn__encoder *encoder = writer->encoder;
    struct lmn__page_layout *layout = &encoder->layout;
    struct lmn__encoding *encoding;
    uint32_t bits;

    layout->kind = LMN__PAGE_FULL_ZIP;
    layout->rep_bits = writer->rep != NULL ? lmn__bit_width(layout->list_count) : 0;
    layout->def_bits = writer->def != NULL ? lmn__bit_width(layout->def_max) : 0;
    layout->item_count = encoder->shred->entry_count;
    layout->visible_count = writer->values->length;
    bits = layout->rep_bits + layout->def_bits;
    writer->control_bytes = bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
    if (writer->values->layout->kind == LMN__LAYOUT_VARIABLE) {
        layout->length_bits = writer->values->layout->bits;
        encoding = lmn__encoder_compress(
            encoder, lmn__encoder_encoding(encoder, LMN__ENC_VARIABLE, layout->length_bits));
    } else {
        encoding = lmn__encoder_fixed(encoder, writer->values);
        if (encoding != NULL && encoding->kind == LMN__ENC_FLAT && encoding->bits == 1)
            encoding->bits = 8;
        if (encoding != NULL)
            writer->value_bytes = fixed_bytes(encoding);
        layout->value_bits = (uint32_t)(writer->value_bytes * 8);
    }
    layout->values = encoding;
    return encoding != NULL ? LMN_OK : lmn__arena_fail(&encoder->arena, "an encoding", err);
}

/* Nothing but values, one after the other: the column's own memory serves. */
static bool take_over(struct writer *writer)
{
    struct lmn__builder *builder = &writer->encoder->shred->values;

    if (writer->control_bytes != 0 || writer->value_bytes == 0 ||
        lmn__layout_value_bytes(builder->layout) != writer->value_bytes)
        return false;
    while (builder->layout->kind == LMN__LAYOUT_FIXED_LIST)
        builder = &builder->child[0];
    *writer->data = builder->values;
    builder->values = (struct lmn__vec){ 0 };
    return true;
}

/* Booleans are a byte each here. */
static enum lmn_status widen_booleans(struct writer *writer, struct lmn_error *err)
{
    struct lmn__builder *builder = &writer->encoder->shred->values;
    struct lmn__vec bytes = { 0 };
    uint8_t *at;
    enum lmn_status st;

    if (builder->layout->kind != LMN__LAYOUT_FIXED || builder->layout->bits != 1)
        return LMN_OK;
    st = lmn__vec_extend(&bytes, writer->encoder->env->pool, builder->length, &at, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < builder->length; i++)
        at[i] = lmn__bit_get(builder->values.data, i);
    lmn__vec_deinit(&builder->values);
    builder->values = bytes;
    return LMN_OK;
}

enum lmn_status lmn__fullzip_encode(struct lmn__encoder *encoder, struct lmn_error *err)
{
    struct lmn__shred *shred = encoder->shred;
    struct writer writer = { .encoder = encoder,
                             .values = &shred->values,
                             .rep = lmn__shred_rep(shred),
                             .def = lmn__shred_def(shred),
                             .data = &encoder->page->buffer[0] };
    uint64_t value = 0;
    enum lmn_status st = set_layout(&writer, err);

    encoder->page->buffer_count = 1;
    if (st != LMN_OK || take_over(&writer))
        return st;
    st = widen_booleans(&writer, err);
    if (st == LMN_OK && lmn__fullzip_has_index(&encoder->layout)) {
        encoder->page->buffer_count = 2;
        writer.row_start = lmn__calloc(encoder->env, shred->row_count + 1,
                                       sizeof *writer.row_start);
        if (writer.row_start == NULL)
            return lmn__no_memory(err, "a page's rows", (shred->row_count + 1) * 8);
    }
    if (st == LMN_OK)
        st = lmn__vec_reserve(writer.data, encoder->env->pool,
                              shred->bytes + shred->entry_count * (writer.control_bytes + 4), err);
    for (uint64_t i = 0; st == LMN_OK && i < shred->entry_count; i++)
        st = put_entry(&writer, i, &value, err);
    if (st == LMN_OK && writer.row_start != NULL)
        st = put_index(&writer, err);
    lmn__free(encoder->env, writer.row_start);
    return st;
}
