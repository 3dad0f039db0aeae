/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which layout and encoding a page gets, in this order:
 *
 *   nothing but nulls and empty lists              constant
 *   every value the same, 32 bytes at most, 2.2    constant with the value
 *   values of 256 bytes and more                   full-zip
 *   fixed-size lists of the null type              full-zip
 *   repeated strings                               mini-block with a dictionary
 *   words                                          mini-block: rle, bitpacking or flat, whichever
 *                                                  is smallest
 *   all else                                       mini-block: flat or variable
 */
#include "codec/encode.h"

#include "base/math.h"
#include "codec/bitpack.h"

/* Values from this size on are zipped with their levels instead of put into chunks. */
enum { LARGE_VALUE_BYTES = 256, INLINE_VALUE_BYTES_MAX = 32 };

/* Packed structs are always put into chunks; those of version 2.1 hold two of this size. */
enum { PACKED_ROW_BYTES_MAX = 8 << 10 };

void lmn__encoded_page_deinit(struct lmn__encoded_page *page)
{
    for (uint32_t i = 0; i < LMN__PAGE_BUFFER_COUNT_MAX; i++)
        lmn__vec_deinit(&page->buffer[i]);
    lmn__buf_deinit(&page->description);
}

struct lmn__encoding *lmn__encoder_encoding(struct lmn__encoder *encoder,
                                            enum lmn__encoding_kind kind, uint32_t bits)
{
    struct lmn__encoding *encoding = lmn__arena_alloc(&encoder->arena, sizeof *encoding);

    if (encoding != NULL) {
        encoding->kind = kind;
        encoding->bits = bits;
    }
    return encoding;
}

struct lmn__encoding *lmn__encoder_fixed(struct lmn__encoder *encoder,
                                         const struct lmn__builder *builder)
{
    struct lmn__encoding *encoding;

    if (builder->layout->kind == LMN__LAYOUT_NULL)
        return lmn__encoder_encoding(encoder, LMN__ENC_CONSTANT, 0);
    if (builder->layout->kind != LMN__LAYOUT_FIXED_LIST)
        return lmn__encoder_encoding(encoder, LMN__ENC_FLAT, builder->layout->bits);
    encoding = lmn__encoder_encoding(encoder, LMN__ENC_FIXED_LIST, 0);
    if (encoding == NULL)
        return NULL;
    encoding->dimension = builder->layout->dimension;
    encoding->has_validity = builder->child[0].null_count != 0;
    encoding->child = lmn__encoder_fixed(encoder, &builder->child[0]);
    return encoding->child != NULL ? encoding : NULL;
}

/* Compression is of a chunk's first buffer, which is a validity where items can be null. */
static bool begins_with_validity(const struct lmn__encoding *encoding)
{
    for (; encoding->kind == LMN__ENC_FIXED_LIST; encoding = encoding->child) {
        if (encoding->has_validity)
            return true;
    }
    return false;
}

struct lmn__encoding *lmn__encoder_compress(struct lmn__encoder *encoder,
                                            struct lmn__encoding *encoding)
{
    struct lmn__encoding *general;

    if (encoding == NULL || encoder->options->zstd_level == 0 || begins_with_validity(encoding))
        return encoding;
    general = lmn__encoder_encoding(encoder, LMN__ENC_GENERAL, 0);
    if (general != NULL) {
        general->scheme = LMN__SCHEME_ZSTD;
        general->child = encoding;
    }
    return general;
}

/* Runs of equal words, a run of more than 255 counted as several; stops at `limit`. */
#define DEFINE_COUNT_RUNS(bits, type)                                                              \
    static uint64_t count_runs##bits(const uint8_t *word, uint64_t count, uint64_t limit)          \
    {                                                                                              \
        uint64_t runs = 0;                                                                         \
        for (uint64_t i = 0; i < count && runs <= limit; runs++) {                                 \
            uint64_t start = i;                                                                    \
            type first, next;                                                                      \
            memcpy(&first, word + i * sizeof first, sizeof first);                                 \
            do {                                                                                   \
                i++;                                                                               \
                if (i == count || i - start == 255)                                                \
                    break;                                                                         \
                memcpy(&next, word + i * sizeof next, sizeof next);                                \
            } while (next == first);                                                               \
        }                                                                                          \
        return runs;                                                                               \
    }

DEFINE_COUNT_RUNS(8, uint8_t)
DEFINE_COUNT_RUNS(16, uint16_t)
DEFINE_COUNT_RUNS(32, uint32_t)
DEFINE_COUNT_RUNS(64, uint64_t)

static uint64_t count_runs(const uint8_t *word, uint32_t bits, uint64_t count, uint64_t limit)
{
    switch (bits) {
    case 8:
        return count_runs8(word, count, limit);
    case 16:
        return count_runs16(word, count, limit);
    case 32:
        return count_runs32(word, count, limit);
    default:
        return count_runs64(word, count, limit);
    }
}

/* Bytes of the words when each 1024 of them are packed as narrow as they allow. */
static uint64_t packed_bytes(const uint8_t *word, uint32_t bits, uint64_t count)
{
    uint64_t bytes = 0, width = bits / 8;

    for (uint64_t i = 0; i < count; i += LMN__PACK_COUNT) {
        uint64_t take = lmn__min_u64(count - i, LMN__PACK_COUNT);

        bytes += width +
                 lmn__packed_bytes(lmn__bit_width(lmn__words_or(word + i * width, bits, take)));
    }
    return bytes;
}

static enum lmn__encoding_kind choose_words(const uint8_t *word, uint32_t bits, uint64_t count)
{
    uint64_t flat = count * (bits / 8), packed = packed_bytes(word, bits, count);
    uint64_t best = lmn__min_u64(flat, packed);
    uint64_t run_bytes = bits / 8 + 1;

    /* Runs are decoded slower than packed words, so they have to save more. */
    if (count_runs(word, bits, count, best / 2 / run_bytes) * run_bytes < best / 2)
        return LMN__ENC_RLE;
    return packed < flat ? LMN__ENC_INLINE : LMN__ENC_FLAT;
}

static bool has_item_validity(const struct lmn__encoding *encoding)
{
    for (; encoding != NULL && encoding->kind == LMN__ENC_FIXED_LIST; encoding = encoding->child) {
        if (encoding->has_validity)
            return true;
    }
    return false;
}

static enum lmn_status encode_mini(struct lmn__encoder *encoder, struct lmn__mini_values *values,
                                   struct lmn_error *err)
{
    bool fits;
    enum lmn_status st;

    /* zstd would take the first buffer of a chunk, which is validity, and leave the values. */
    if (!has_item_validity(values->encoding))
        values->encoding = lmn__encoder_compress(encoder, values->encoding);
    if (values->encoding == NULL)
        return lmn__arena_fail(&encoder->arena, "an encoding", err);
    st = lmn__miniblock_encode(encoder, values, &fits, err);
    if (st != LMN_OK || fits)
        return st;
    if (encoder->shred->values.layout->kind == LMN__LAYOUT_DICTIONARY ||
        encoder->shred->values.layout->kind == LMN__LAYOUT_STRUCT)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "a row with so many empty lists around so few values has no place in a "
                        "column of dictionaries or packed structs");
    for (uint32_t i = 0; i < LMN__PAGE_BUFFER_COUNT_MAX; i++)
        lmn__vec_deinit(&encoder->page->buffer[i]);
    encoder->layout.dictionary = NULL;
    encoder->layout.rep = encoder->layout.def = NULL;
    return lmn__fullzip_encode(encoder, err);
}

/* Words of 8 to 64 bits; other widths are always flat. */
static enum lmn_status encode_fixed(struct lmn__encoder *encoder, struct lmn_error *err)
{
    const struct lmn__builder *builder = &encoder->shred->values;
    uint32_t bits = builder->layout->bits;
    struct lmn__mini_values values = { .builder = builder,
                                       .word = builder->values.data,
                                       .count = builder->length,
                                       .row_bytes = bits / 8 };
    bool word = bits == 8 || bits == 16 || bits == 32 || bits == 64;

    if (bits == 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "fixed-size binaries of no bytes have no place in file version 2.1; 2.2 "
                        "has one");
    values.encoding = lmn__encoder_encoding(
        encoder, word ? choose_words(values.word, bits, values.count) : LMN__ENC_FLAT, bits);
    return encode_mini(encoder, &values, err);
}

static enum lmn_status encode_indices(struct lmn__encoder *encoder, const uint8_t *index,
                                      uint32_t bits, const struct lmn__builder *dictionary,
                                      struct lmn_error *err)
{
    struct lmn__mini_values values = { .word = index,
                                       .count = encoder->shred->values.length,
                                       .row_bytes = bits / 8 };
    bool variable = dictionary->layout->kind == LMN__LAYOUT_VARIABLE;
    enum lmn_status st;

    encoder->layout.dictionary = lmn__encoder_encoding(
        encoder, variable ? LMN__ENC_VARIABLE : LMN__ENC_FLAT, dictionary->layout->bits);
    if (encoder->layout.dictionary == NULL)
        return lmn__arena_fail(&encoder->arena, "an encoding", err);
    encoder->layout.dictionary_count = dictionary->length;
    values.encoding = lmn__encoder_encoding(encoder, choose_words(index, bits, values.count), bits);
    /* Buffer 2 stands between the chunks and the repetition index. */
    st = lmn__dictionary_put_block(dictionary, &encoder->page->buffer[2], err);
    return st != LMN_OK ? st : encode_mini(encoder, &values, err);
}

static enum lmn_status encode_variable(struct lmn__encoder *encoder, struct lmn_error *err)
{
    struct lmn__builder *builder = &encoder->shred->values, dictionary;
    struct lmn__mini_values values = { .builder = builder, .count = builder->length };
    struct lmn__vec index = { 0 };
    bool worth = false;
    enum lmn_status st = lmn__builder_init(&dictionary, encoder->env, builder->layout, err);

    if (st != LMN_OK)
        return st;
    st = lmn__dictionary_encode(builder, &dictionary, &index, &worth, err);
    if (st == LMN_OK && worth) {
        st = encode_indices(encoder, index.data, 32, &dictionary, err);
    } else if (st == LMN_OK) {
        values.encoding = lmn__encoder_encoding(encoder, LMN__ENC_VARIABLE, builder->layout->bits);
        st = encode_mini(encoder, &values, err);
    }
    lmn__vec_deinit(&index);
    lmn__builder_deinit(&dictionary);
    return st;
}

static enum lmn_status encode_fixed_list(struct lmn__encoder *encoder, struct lmn_error *err)
{
    const struct lmn__builder *builder = &encoder->shred->values;
    struct lmn__mini_values values = { .builder = builder, .count = builder->length };

    values.encoding = lmn__encoder_fixed(encoder, builder);
    if (values.encoding == NULL)
        return lmn__arena_fail(&encoder->arena, "an encoding", err);
    return encode_mini(encoder, &values, err);
}

/* A packed struct: the fields of a row side by side. */
static enum lmn_status encode_packed(struct lmn__encoder *encoder, struct lmn_error *err)
{
    const struct lmn__builder *builder = &encoder->shred->values;
    uint32_t count = builder->layout->child_count;
    struct lmn__packed_field *field = lmn__arena_array(&encoder->arena, count, sizeof *field);
    struct lmn__mini_values values = { .builder = builder, .count = builder->length };
    struct lmn__vec rows = { 0 };
    uint64_t at = 0;
    uint8_t *row;
    enum lmn_status st;

    values.encoding = lmn__encoder_encoding(encoder, LMN__ENC_PACKED, 0);
    if (field == NULL || values.encoding == NULL)
        return lmn__arena_fail(&encoder->arena, "an encoding", err);
    for (uint32_t i = 0; i < count; i++) {
        const struct lmn__builder *child = &builder->child[i];

        if (child->layout->kind != LMN__LAYOUT_FIXED || child->layout->bits % 8 != 0 ||
            child->null_count != 0)
            return lmn_fail(err, LMN_E_UNSUPPORTED,
                            "field %u of a packed struct has nulls or no fixed size", i);
        field[i].bits = child->layout->bits;
        values.row_bytes += child->layout->bits / 8;
    }
    if (encoder->options->minor < 2 && values.row_bytes > PACKED_ROW_BYTES_MAX)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "packed structs of %llu bytes have no place in file version 2.1; 2.2 has "
                        "one",
                        (unsigned long long)values.row_bytes);
    values.encoding->field = field;
    values.encoding->field_count = count;
    values.encoding->bits = (uint32_t)values.row_bytes * 8;
    st = lmn__vec_extend(&rows, encoder->env->pool, values.count * values.row_bytes, &row, err);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        uint32_t bytes = field[i].bits / 8;

        for (uint64_t k = 0; k < values.count; k++)
            memcpy(row + k * values.row_bytes + at, builder->child[i].values.data + k * bytes,
                   bytes);
        at += bytes;
    }
    values.word = row;
    if (st == LMN_OK)
        st = encode_mini(encoder, &values, err);
    lmn__vec_deinit(&rows);
    return st;
}

static uint64_t longest_value(const struct lmn__builder *builder)
{
    uint32_t width = builder->layout->bits / 8;
    uint64_t longest = 0, before = 0;

    for (uint64_t i = 1; i <= builder->length; i++) {
        uint64_t end = lmn__load_uint(builder->offsets.data + i * width, width);

        longest = lmn__max_u64(longest, end - before);
        before = end;
    }
    return longest;
}

/* Is the page one of values that do not go into chunks? */
static bool is_zipped(const struct lmn__builder *builder)
{
    const struct lmn__layout *layout = builder->layout;
    uint64_t items = 1;

    if (layout->kind == LMN__LAYOUT_VARIABLE)
        return longest_value(builder) >= LARGE_VALUE_BYTES;
    for (; layout->kind == LMN__LAYOUT_FIXED_LIST; layout = layout->child[0])
        items *= layout->dimension;
    if (layout->kind == LMN__LAYOUT_NULL)
        return true;
    return layout->kind == LMN__LAYOUT_FIXED &&
           lmn__div_up(items * layout->bits, 8) >= LARGE_VALUE_BYTES;
}

/*
 * Is every value the same, and small? Nulls have values of no meaning, which may differ: then
 * the page is not seen as constant, which costs little.
 */
static bool find_constant(const struct lmn__encoder *encoder, struct lmn__span *value_out)
{
    const struct lmn__builder *builder = &encoder->shred->values;
    uint32_t bytes = builder->layout->bits / 8;
    const uint8_t *data = builder->values.data;

    if (encoder->options->minor < 2 || builder->layout->kind != LMN__LAYOUT_FIXED ||
        builder->layout->bits % 8 != 0 || bytes > INLINE_VALUE_BYTES_MAX || builder->length == 0)
        return false;
    *value_out = (struct lmn__span){ data, bytes };
    return builder->length == 1 || bytes == 0 ||
           memcmp(data, data + bytes, (builder->length - 1) * bytes) == 0;
}

static enum lmn_status encode_layout(struct lmn__encoder *encoder, struct lmn_error *err)
{
    struct lmn__builder *builder = &encoder->shred->values;
    struct lmn__span value;

    if (encoder->shred->null_count == builder->length)
        return lmn__constant_encode(encoder, NULL, err);
    if (find_constant(encoder, &value))
        return lmn__constant_encode(encoder, &value, err);
    if (is_zipped(builder))
        return lmn__fullzip_encode(encoder, err);
    switch (builder->layout->kind) {
    case LMN__LAYOUT_FIXED:
        return encode_fixed(encoder, err);
    case LMN__LAYOUT_VARIABLE:
        return encode_variable(encoder, err);
    case LMN__LAYOUT_FIXED_LIST:
        return encode_fixed_list(encoder, err);
    case LMN__LAYOUT_STRUCT:
        return encode_packed(encoder, err);
    case LMN__LAYOUT_DICTIONARY:
        return encode_indices(encoder, builder->values.data, builder->layout->bits,
                              &builder->child[0], err);
    default:
        return lmn__constant_encode(encoder, NULL, err);
    }
}

enum lmn_status lmn__page_encode(struct lmn__shred *shred,
                                 const struct lmn__encode_options *options,
                                 struct lmn__scratch *scratch, struct lmn__encoded_page *page_out,
                                 struct lmn_error *err)
{
    struct lmn__encoder encoder = {
        .env = shred->env, .shred = shred, .options = options, .scratch = scratch, .page = page_out
    };
    enum lmn_status st;

    *page_out = (struct lmn__encoded_page){ .row_count = shred->row_count };
    lmn__buf_init(&page_out->description, shred->env, 0);
    lmn__arena_init(&encoder.arena, shred->env, 0);
    lmn__shred_close(shred, &encoder.layout);
    st = encode_layout(&encoder, err);
    if (st == LMN_OK)
        st = lmn__page_layout_write(&encoder.layout, &encoder.arena, &page_out->description, err);
    lmn__arena_deinit(&encoder.arena);
    return st;
}
