/* SPDX-License-Identifier: Apache-2.0 */
#include "format/v20_page.h"

#include "base/bits.h"
#include "base/math.h"
#include "codec/compress.h"
#include "codec/dictionary.h"
#include "codec/fsst.h"

void lmn__v20_page_init(struct lmn__v20_page *page, struct lmn_file *file,
                        struct lmn__scratch *scratch, const struct lmn__page_info *info)
{
    *page = (struct lmn__v20_page){ .file = file, .scratch = scratch, .info = info };
}

void lmn__v20_page_deinit(struct lmn__v20_page *page)
{
    if (page->has_dictionary)
        lmn__builder_deinit(&page->dictionary);
}

static enum lmn_status outside(struct lmn_error *err, uint32_t buffer, uint64_t first,
                               uint64_t count)
{
    return lmn_fail(err, LMN_E_CORRUPT, "values %llu to %llu are outside buffer %u of the page",
                    (unsigned long long)first, (unsigned long long)(first + count), buffer);
}

/* The whole of a compressed buffer, in the scratch. */
static enum lmn_status open_compressed(struct lmn__v20_page *page,
                                       const struct lmn__array_encoding *flat,
                                       struct lmn__extent extent, struct lmn_error *err)
{
    struct lmn__block *block;
    enum lmn_status st = lmn__object_read_block(&page->file->object, extent.position, extent.bytes,
                                                &block, err);

    if (st != LMN_OK)
        return st;
    st = lmn__decompress(page->scratch, flat->scheme,
                         (struct lmn__span){ block->data, extent.bytes }, &page->scratch->plain,
                         err);
    lmn__block_release(block);
    return st;
}

/*
 * The bytes that hold values [first, first + count) of a flat array, in a block of their own
 * that the caller releases. Values of one bit begin at bit first % 8.
 */
static enum lmn_status read_flat(struct lmn__v20_page *page, const struct lmn__array_encoding *flat,
                                 uint64_t first, uint64_t count, struct lmn__block **block_out,
                                 struct lmn_error *err)
{
    struct lmn__extent extent;
    uint64_t from, to;
    enum lmn_status st;

    *block_out = NULL;
    if (flat->kind != LMN__ARRAY_FLAT)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "plain values in an encoding of kind %d",
                        (int)flat->kind);
    if (flat->buffer >= page->info->buffer_count)
        return lmn_fail(err, LMN_E_CORRUPT, "buffer %u of a page that has %u", flat->buffer,
                        page->info->buffer_count);
    extent = page->info->buffer[flat->buffer];
    if (flat->bits == 1) {
        from = first / 8;
        to = lmn__bits_bytes(first + count);
    } else if (!lmn__mul_u64(first, flat->bits / 8, &from) ||
               !lmn__mul_u64(first + count, flat->bits / 8, &to)) {
        return outside(err, flat->buffer, first, count);
    }
    if (flat->scheme == 0) {
        if (to > extent.bytes)
            return outside(err, flat->buffer, first, count);
        return lmn__object_read_block(&page->file->object, extent.position + from, to - from,
                                      block_out, err);
    }
    st = open_compressed(page, flat, extent, err);
    if (st == LMN_OK && to > page->scratch->plain.len)
        st = outside(err, flat->buffer, first, count);
    if (st == LMN_OK)
        st = lmn__block_new(page->file->env->pool, to - from + LMN__VEC_SLACK, block_out, err);
    if (st == LMN_OK && to > from)
        memcpy((*block_out)->data, page->scratch->plain.data + from, to - from);
    return st;
}

/* The array inside nullable ones that have no nulls. */
static const struct lmn__array_encoding *without_nullable(
    const struct lmn__array_encoding *encoding)
{
    while (encoding->kind == LMN__ARRAY_NULLABLE && encoding->values != NULL)
        encoding = encoding->values;
    return encoding;
}

enum lmn_status lmn__v20_read_words(struct lmn__v20_page *page,
                                    const struct lmn__array_encoding *encoding, uint64_t first,
                                    uint64_t count, struct lmn__block **block_out,
                                    uint64_t **word_out, struct lmn_error *err)
{
    const struct lmn__array_encoding *flat = without_nullable(encoding);
    uint32_t width = flat->bits / 8;
    struct lmn__block *narrow;
    uint64_t bytes;
    enum lmn_status st;

    *block_out = NULL;
    *word_out = NULL;
    if (width != 1 && width != 2 && width != 4 && width != 8)
        return lmn_fail(err, LMN_E_CORRUPT, "numbers of %u bits", flat->bits);
    st = read_flat(page, flat, first, count, &narrow, err);
    if (st == LMN_OK && !lmn__mul_u64(count, 8, &bytes))
        st = lmn__no_memory(err, "numbers", UINT64_MAX);
    if (st == LMN_OK)
        st = lmn__block_new(page->file->env->pool, bytes, block_out, err);
    if (st == LMN_OK) {
        *word_out = (uint64_t *)(void *)(*block_out)->data;
        for (uint64_t i = 0; i < count; i++)
            (*word_out)[i] = lmn__load_uint(narrow->data + i * width, width);
    }
    lmn__block_release(narrow);
    return st;
}

/* Turn ends into lengths in place; `null` takes one byte each. */
static enum lmn_status ends_to_lengths(uint64_t *word, uint8_t *null, uint64_t count,
                                       uint64_t before, uint64_t adjustment, struct lmn_error *err)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t end = word[i];

        null[i] = end >= adjustment;
        if (null[i])
            end -= adjustment;
        if (end < before)
            return lmn_fail(err, LMN_E_CORRUPT, "value %llu ends at %llu, before it begins at %llu",
                            (unsigned long long)i, (unsigned long long)end,
                            (unsigned long long)before);
        word[i] = end - before;
        before = end;
    }
    return LMN_OK;
}

enum lmn_status lmn__v20_read_ends(struct lmn__v20_page *page,
                                   const struct lmn__array_encoding *encoding, uint64_t first,
                                   uint64_t count, struct lmn__block **block_out,
                                   uint64_t **len_out, uint8_t **null_out, uint64_t *start_out,
                                   uint64_t *total_out, struct lmn_error *err)
{
    uint64_t lead = first != 0, adjustment = encoding->adjustment, *word, start = 0;
    struct lmn__block *words, *block = NULL;
    enum lmn_status st = lmn__v20_read_words(page, encoding->indices, first - lead, count + lead,
                                             &words, &word, err);

    *block_out = NULL;
    if (st == LMN_OK && adjustment == 0)
        st = lmn_fail(err, LMN_E_CORRUPT, "ends without a mark for nulls");
    if (st == LMN_OK)
        st = lmn__block_new(page->file->env->pool, count * 9 + 1, &block, err);
    if (st == LMN_OK) {
        *len_out = (uint64_t *)(void *)block->data;
        *null_out = block->data + count * 8;
        if (lead != 0)
            start = word[0] >= adjustment ? word[0] - adjustment : word[0];
        memcpy(*len_out, word + lead, count * 8);
        st = ends_to_lengths(*len_out, *null_out, count, start, adjustment, err);
    }
    *start_out = start;
    *total_out = 0;
    for (uint64_t i = 0; st == LMN_OK && i < count; i++)
        *total_out += (*len_out)[i];
    lmn__block_release(words);
    if (st != LMN_OK)
        lmn__block_release(block);
    else
        *block_out = block;
    return st;
}

/* Strings and binaries. With `counted`, their slots are there already and nulls have no say. */
static enum lmn_status append_binary(struct lmn__v20_page *page,
                                     const struct lmn__array_encoding *encoding, uint64_t first,
                                     uint64_t count, bool counted, struct lmn__builder *builder,
                                     struct lmn_error *err)
{
    uint32_t width = builder->layout->bits / 8;
    struct lmn__block *ends, *bytes = NULL;
    uint64_t *len, start, total, base;
    uint8_t *null, *offsets, *data;
    enum lmn_status st;

    if (builder->layout->kind != LMN__LAYOUT_VARIABLE)
        return lmn_fail(err, LMN_E_CORRUPT, "strings in a column of another type");
    st = lmn__v20_read_ends(page, encoding, first, count, &ends, &len, &null, &start, &total, err);
    if (st == LMN_OK)
        st = read_flat(page, without_nullable(encoding->values), start, total, &bytes, err);
    if (st == LMN_OK)
        st = lmn__builder_extend_variable(builder, count, total, &offsets, &data, &base, err);
    if (st == LMN_OK && total != 0)
        memcpy(data, bytes->data, total);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        base += len[i];
        lmn__store_uint(offsets + i * width, width, base);
        if (!counted)
            st = null[i] ? lmn__builder_add_null(builder, 1, err)
                         : lmn__builder_add_valid(builder, 1, err);
    }
    lmn__block_release(bytes);
    lmn__block_release(ends);
    return st;
}

/* Compressed strings: read as binaries, then decoded one by one. */
static enum lmn_status append_fsst(struct lmn__v20_page *page,
                                   const struct lmn__array_encoding *encoding, uint64_t first,
                                   uint64_t count, struct lmn__builder *builder,
                                   struct lmn_error *err)
{
    struct lmn__variable variable = { 0 };
    struct lmn__fsst fsst;
    struct lmn__builder codes;
    enum lmn_status st = lmn__fsst_init(&fsst, encoding->table, err);

    if (st != LMN_OK)
        return st;
    variable.fsst = fsst.plain ? NULL : &fsst;
    st = lmn__builder_init(&codes, page->file->env, builder->layout, err);
    if (st != LMN_OK)
        return st;
    st = lmn__v20_append(page, encoding->values, first, count, &codes, err);
    if (st == LMN_OK)
        st = lmn__builder_check(&codes, count, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint32_t width = builder->layout->bits / 8;
        uint64_t from = lmn__load_uint(codes.offsets.data + i * width, width);
        uint64_t to = lmn__load_uint(codes.offsets.data + (i + 1) * width, width);

        if (codes.has_validity && !lmn__bit_get(codes.validity.data, i))
            st = lmn__builder_add_null(builder, 1, err);
        else
            st = lmn__builder_add_valid(builder, 1, err);
        if (st == LMN_OK)
            st = lmn__variable_decode_value(
                page->scratch, &variable, (struct lmn__span){ codes.values.data + from, to - from },
                builder, err);
    }
    lmn__builder_deinit(&codes);
    return st;
}

static enum lmn_status need_dictionary(struct lmn__v20_page *page,
                                       const struct lmn__array_encoding *encoding,
                                       const struct lmn__layout *layout, struct lmn_error *err)
{
    enum lmn_status st;

    if (page->has_dictionary)
        return LMN_OK;
    st = lmn__builder_init(&page->dictionary, page->file->env, layout, err);
    if (st != LMN_OK)
        return st;
    page->has_dictionary = true;
    st = lmn__v20_append(page, encoding->values, 0, encoding->item_count, &page->dictionary, err);
    return st != LMN_OK ? st : lmn__builder_check(&page->dictionary, encoding->item_count, err);
}

/* Strings that the writer gave numbers to: 0 is null, i + 1 the ith item. */
static enum lmn_status append_numbered(struct lmn__v20_page *page,
                                       const struct lmn__array_encoding *encoding, uint64_t first,
                                       uint64_t count, struct lmn__builder *builder,
                                       struct lmn_error *err)
{
    struct lmn__block *block;
    uint64_t *word;
    enum lmn_status st = need_dictionary(page, encoding, builder->layout, err);

    if (st == LMN_OK)
        st = lmn__v20_read_words(page, encoding->indices, first, count, &block, &word, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        if (word[i] == 0) {
            st = lmn__builder_add_null(builder, 1, err);
            if (st == LMN_OK)
                st = lmn__builder_put_empty(builder, 1, err);
            continue;
        }
        word[i]--;
        st = lmn__builder_add_valid(builder, 1, err);
        if (st == LMN_OK)
            st = lmn__dictionary_gather(&page->dictionary, (const uint8_t *)&word[i], 64, 1,
                                        builder, err);
    }
    lmn__block_release(block);
    return st;
}

/* A slot is null by its own bit, or because the item it names is. */
static enum lmn_status add_indexed_slots(struct lmn__v20_page *page,
                                         const struct lmn__array_encoding *indices, uint64_t first,
                                         uint64_t count, const uint64_t *word,
                                         struct lmn__builder *builder, struct lmn_error *err)
{
    const struct lmn__builder *items = &page->dictionary;
    struct lmn__block *bits = NULL;
    enum lmn_status st = LMN_OK;

    if (indices->kind == LMN__ARRAY_NULLABLE && indices->validity != NULL)
        st = read_flat(page, indices->validity, first, count, &bits, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        bool null = bits != NULL && !lmn__bit_get(bits->data, first % 8 + i);

        if (items->has_validity && word[i] < items->length)
            null |= !lmn__bit_get(items->validity.data, word[i]);
        st = null ? lmn__builder_add_null(builder, 1, err)
                  : lmn__builder_add_valid(builder, 1, err);
    }
    lmn__block_release(bits);
    return st;
}

/* A dictionary column: indices with their own nulls; the page's dictionary is merged in. */
static enum lmn_status append_dictionary(struct lmn__v20_page *page,
                                         const struct lmn__array_encoding *encoding, uint64_t first,
                                         uint64_t count, struct lmn__builder *builder,
                                         struct lmn_error *err)
{
    const struct lmn__array_encoding *indices = encoding->indices;
    struct lmn__values values = { .id = 1, .layout = builder->layout };
    struct lmn__leaf leaf = { .builder = builder, .scratch = page->scratch };
    struct lmn__block *block;
    uint64_t *word;
    enum lmn_status st = need_dictionary(page, encoding, builder->layout->child[0], err);

    if (st != LMN_OK)
        return st;
    if (indices->kind == LMN__ARRAY_NULLABLE && indices->all_null) {
        st = lmn__builder_add_null(builder, count, err);
        return st != LMN_OK ? st : lmn__builder_put_empty(builder, count, err);
    }
    st = lmn__v20_read_words(page, indices, first, count, &block, &word, err);
    if (st != LMN_OK)
        return st;
    st = add_indexed_slots(page, indices, first, count, word, builder, err);
    values.dictionary = page->dictionary;
    if (st == LMN_OK)
        st = lmn__dictionary_append(&values, &leaf, (const uint8_t *)word, 64, count, err);
    lmn__vec_deinit(&leaf.merge);
    lmn__block_release(block);
    return st;
}

/* Rows of a packed struct, field by field. */
static enum lmn_status append_packed(struct lmn__v20_page *page,
                                     const struct lmn__array_encoding *encoding, uint64_t first,
                                     uint64_t count, struct lmn__builder *builder,
                                     struct lmn_error *err)
{
    struct lmn__array_encoding rows = { .kind = LMN__ARRAY_FLAT, .buffer = encoding->buffer };
    struct lmn__block *block;
    uint64_t at = 0;
    enum lmn_status st;

    if (builder->layout->kind != LMN__LAYOUT_STRUCT ||
        builder->layout->child_count != encoding->field_count)
        return lmn_fail(err, LMN_E_CORRUPT, "a packed struct of %u fields where the schema has %u",
                        encoding->field_count, builder->layout->child_count);
    for (uint32_t i = 0; i < encoding->field_count; i++)
        rows.bits += encoding->field_bits[i];
    st = read_flat(page, &rows, first, count, &block, err);
    for (uint32_t i = 0; st == LMN_OK && i < encoding->field_count; i++) {
        struct lmn__builder *child = &builder->child[i];
        uint32_t bytes = encoding->field_bits[i] / 8;
        uint8_t *out;

        if (child->layout->kind != LMN__LAYOUT_FIXED ||
            child->layout->bits != encoding->field_bits[i]) {
            st = lmn_fail(err, LMN_E_CORRUPT, "field %u of a packed struct has %u bits", i,
                          encoding->field_bits[i]);
            break;
        }
        st = lmn__builder_add_valid(child, count, err);
        if (st == LMN_OK)
            st = lmn__builder_extend(child, count, &out, err);
        for (uint64_t k = 0; st == LMN_OK && k < count; k++)
            memcpy(out + k * bytes, block->data + k * (rows.bits / 8) + at, bytes);
        at += bytes;
    }
    lmn__block_release(block);
    return st;
}

/* Values of slots that are counted already. */
static enum lmn_status append_values(struct lmn__v20_page *page,
                                     const struct lmn__array_encoding *encoding, uint64_t first,
                                     uint64_t count, struct lmn__builder *builder,
                                     struct lmn_error *err)
{
    const struct lmn__layout *layout = builder->layout;
    struct lmn__block *block;
    uint64_t item_first, item_count;
    enum lmn_status st;

    if (encoding->kind == LMN__ARRAY_FIXED_LIST) {
        if (layout->kind != LMN__LAYOUT_FIXED_LIST || layout->dimension != encoding->dimension ||
            !lmn__mul_u64(first, encoding->dimension, &item_first) ||
            !lmn__mul_u64(count, encoding->dimension, &item_count))
            return lmn_fail(err, LMN_E_CORRUPT, "fixed lists that the schema does not have");
        return lmn__v20_append(page, encoding->values, item_first, item_count, &builder->child[0],
                               err);
    }
    if (encoding->kind == LMN__ARRAY_BINARY)
        return append_binary(page, encoding, first, count, true, builder, err);
    if (encoding->kind == LMN__ARRAY_PACKED)
        return append_packed(page, encoding, first, count, builder, err);
    if (encoding->kind != LMN__ARRAY_FLAT || layout->kind != LMN__LAYOUT_FIXED ||
        layout->bits != encoding->bits)
        return lmn_fail(err, LMN_E_CORRUPT, "values of %u bits (kind %d) where the column has %u",
                        encoding->bits, (int)encoding->kind, layout->bits);
    st = read_flat(page, encoding, first, count, &block, err);
    if (st == LMN_OK && encoding->bits == 1)
        st = lmn__builder_put_bits(builder, block->data, first % 8, count, err);
    else if (st == LMN_OK)
        st = lmn__vec_put(&builder->values, builder->env->pool, block->data,
                          count * (encoding->bits / 8), err);
    lmn__block_release(block);
    return st;
}

static enum lmn_status append_nullable(struct lmn__v20_page *page,
                                       const struct lmn__array_encoding *encoding, uint64_t first,
                                       uint64_t count, struct lmn__builder *builder,
                                       struct lmn_error *err)
{
    struct lmn__block *bits;
    enum lmn_status st;

    if (encoding->all_null) {
        st = lmn__builder_add_null(builder, count, err);
        return st != LMN_OK ? st : lmn__builder_put_empty(builder, count, err);
    }
    if (encoding->validity == NULL)
        return lmn__v20_append(page, encoding->values, first, count, builder, err);
    st = read_flat(page, encoding->validity, first, count, &bits, err);
    if (st == LMN_OK)
        st = lmn__builder_add_bits(builder, bits->data, first % 8, count, err);
    lmn__block_release(bits);
    return st != LMN_OK ? st : append_values(page, encoding->values, first, count, builder, err);
}

enum lmn_status lmn__v20_append(struct lmn__v20_page *page,
                                const struct lmn__array_encoding *encoding, uint64_t first,
                                uint64_t count, struct lmn__builder *builder, struct lmn_error *err)
{
    enum lmn_status st;

    switch (encoding->kind) {
    case LMN__ARRAY_NULLABLE:
        return append_nullable(page, encoding, first, count, builder, err);
    case LMN__ARRAY_BINARY:
        return append_binary(page, encoding, first, count, false, builder, err);
    case LMN__ARRAY_FSST:
        if (builder->layout->kind != LMN__LAYOUT_VARIABLE)
            return lmn_fail(err, LMN_E_CORRUPT, "strings in a column of another type");
        return append_fsst(page, encoding, first, count, builder, err);
    case LMN__ARRAY_DICTIONARY:
        if (builder->layout->kind == LMN__LAYOUT_DICTIONARY)
            return append_dictionary(page, encoding, first, count, builder, err);
        if (builder->layout->kind == LMN__LAYOUT_VARIABLE)
            return append_numbered(page, encoding, first, count, builder, err);
        return lmn_fail(err, LMN_E_CORRUPT, "a dictionary in a column of another type");
    default:
        st = lmn__builder_add_valid(builder, count, err);
        return st != LMN_OK ? st : append_values(page, encoding, first, count, builder, err);
    }
}
