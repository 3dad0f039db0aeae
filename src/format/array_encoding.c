/* SPDX-License-Identifier: Apache-2.0 */
#include "format/array_encoding.h"

struct pb_array;

struct pb_buffer {
    uint32_t buffer_index;
    uint32_t buffer_type; /* 0: of the page */
};

struct pb_compression {
    struct lmn__span scheme;
};

struct pb_flat {
    uint64_t bits_per_value;
    struct pb_buffer *buffer;
    struct pb_compression *compression;
};

struct pb_no_null {
    struct pb_array *values;
};

struct pb_some_null {
    struct pb_array *validity;
    struct pb_array *values;
};

struct pb_empty {
    bool unused;
};

struct pb_nullable {
    struct pb_no_null *no_nulls;
    struct pb_some_null *some_nulls;
    struct pb_empty *all_nulls;
};

struct pb_fixed_list {
    uint32_t dimension;
    struct pb_array *items;
    bool has_validity;
};

struct pb_list {
    struct pb_array *offsets;
    uint64_t null_offset_adjustment;
    uint64_t num_items;
};

struct pb_binary {
    struct pb_array *indices;
    struct pb_array *bytes;
    uint64_t null_adjustment;
};

struct pb_dictionary {
    struct pb_array *indices;
    struct pb_array *items;
    uint32_t num_dictionary_items;
};

struct pb_fsst {
    struct pb_array *binary;
    struct lmn__span symbol_table;
};

struct pb_packed {
    struct lmn__pb_list inner; /* struct pb_array */
    struct pb_buffer *buffer;
};

struct pb_array {
    struct pb_flat *flat;
    struct pb_nullable *nullable;
    struct pb_fixed_list *fixed_size_list;
    struct pb_list *list;
    struct pb_empty *structure;
    struct pb_binary *binary;
    struct pb_dictionary *dictionary;
    struct pb_fsst *fsst;
    struct pb_packed *packed_struct;
};

#define SCALAR(number, kind, type, member)                                                         \
    { number, kind, 0, offsetof(struct type, member), 0, NULL }
#define MESSAGE(number, type, member, message)                                                     \
    { number, LMN__PB_MESSAGE, 0, offsetof(struct type, member), 0, &message }
#define TABLE(name, type, fields)                                                                  \
    { name, fields, sizeof fields / sizeof fields[0], sizeof(struct type), 0, false }

static const struct lmn__pb_message array_message;

static const struct lmn__pb_field buffer_fields[] = {
    SCALAR(1, LMN__PB_U32, pb_buffer, buffer_index),
    SCALAR(2, LMN__PB_U32, pb_buffer, buffer_type),
};
static const struct lmn__pb_message buffer_message = TABLE("Buffer", pb_buffer, buffer_fields);

static const struct lmn__pb_field compression_fields[] = {
    SCALAR(1, LMN__PB_BYTES, pb_compression, scheme),
};
static const struct lmn__pb_message compression_message = TABLE("Compression", pb_compression,
                                                                compression_fields);

static const struct lmn__pb_field flat_fields[] = {
    SCALAR(1, LMN__PB_U64, pb_flat, bits_per_value),
    MESSAGE(2, pb_flat, buffer, buffer_message),
    MESSAGE(3, pb_flat, compression, compression_message),
};
static const struct lmn__pb_message flat_message = TABLE("Flat", pb_flat, flat_fields);

static const struct lmn__pb_field no_null_fields[] = {
    MESSAGE(1, pb_no_null, values, array_message),
};
static const struct lmn__pb_message no_null_message = TABLE("NoNull", pb_no_null, no_null_fields);

static const struct lmn__pb_field some_null_fields[] = {
    MESSAGE(1, pb_some_null, validity, array_message),
    MESSAGE(2, pb_some_null, values, array_message),
};
static const struct lmn__pb_message some_null_message = TABLE("SomeNull", pb_some_null,
                                                              some_null_fields);

static const struct lmn__pb_message empty_message = { "Empty", NULL, 0, sizeof(struct pb_empty),
                                                      0,       false };

static const struct lmn__pb_field nullable_fields[] = {
    MESSAGE(1, pb_nullable, no_nulls, no_null_message),
    MESSAGE(2, pb_nullable, some_nulls, some_null_message),
    MESSAGE(3, pb_nullable, all_nulls, empty_message),
};
static const struct lmn__pb_message nullable_message = TABLE("Nullable", pb_nullable,
                                                             nullable_fields);

static const struct lmn__pb_field fixed_list_fields[] = {
    SCALAR(1, LMN__PB_U32, pb_fixed_list, dimension),
    MESSAGE(2, pb_fixed_list, items, array_message),
    SCALAR(3, LMN__PB_BOOL, pb_fixed_list, has_validity),
};
static const struct lmn__pb_message fixed_list_message = TABLE("FixedSizeList", pb_fixed_list,
                                                               fixed_list_fields);

static const struct lmn__pb_field list_fields[] = {
    MESSAGE(1, pb_list, offsets, array_message),
    SCALAR(2, LMN__PB_U64, pb_list, null_offset_adjustment),
    SCALAR(3, LMN__PB_U64, pb_list, num_items),
};
static const struct lmn__pb_message list_message = TABLE("List", pb_list, list_fields);

static const struct lmn__pb_field binary_fields[] = {
    MESSAGE(1, pb_binary, indices, array_message),
    MESSAGE(2, pb_binary, bytes, array_message),
    SCALAR(3, LMN__PB_U64, pb_binary, null_adjustment),
};
static const struct lmn__pb_message binary_message = TABLE("Binary", pb_binary, binary_fields);

static const struct lmn__pb_field dictionary_fields[] = {
    MESSAGE(1, pb_dictionary, indices, array_message),
    MESSAGE(2, pb_dictionary, items, array_message),
    SCALAR(3, LMN__PB_U32, pb_dictionary, num_dictionary_items),
};
static const struct lmn__pb_message dictionary_message = TABLE("Dictionary", pb_dictionary,
                                                               dictionary_fields);

static const struct lmn__pb_field fsst_fields[] = {
    MESSAGE(1, pb_fsst, binary, array_message),
    SCALAR(2, LMN__PB_BYTES, pb_fsst, symbol_table),
};
static const struct lmn__pb_message fsst_message = TABLE("Fsst", pb_fsst, fsst_fields);

static const struct lmn__pb_field packed_fields[] = {
    { 1, LMN__PB_MESSAGE, LMN__PB_REPEATED, offsetof(struct pb_packed, inner), 0, &array_message },
    MESSAGE(2, pb_packed, buffer, buffer_message),
};
static const struct lmn__pb_message packed_message = TABLE("PackedStruct", pb_packed,
                                                           packed_fields);

static const struct lmn__pb_field array_fields[] = {
    MESSAGE(1, pb_array, flat, flat_message),
    MESSAGE(2, pb_array, nullable, nullable_message),
    MESSAGE(3, pb_array, fixed_size_list, fixed_list_message),
    MESSAGE(4, pb_array, list, list_message),
    MESSAGE(5, pb_array, structure, empty_message),
    MESSAGE(6, pb_array, binary, binary_message),
    MESSAGE(7, pb_array, dictionary, dictionary_message),
    MESSAGE(8, pb_array, fsst, fsst_message),
    MESSAGE(9, pb_array, packed_struct, packed_message),
};
static const struct lmn__pb_message array_message = TABLE("ArrayEncoding", pb_array, array_fields);

static enum lmn_status from_pb(const struct pb_array *pb, struct lmn__arena *arena,
                               const struct lmn__array_encoding **out, struct lmn_error *err);

static enum lmn_status corrupt(struct lmn_error *err, const char *kind, const char *what)
{
    return lmn_fail(err, LMN_E_CORRUPT, "2.0 encoding %s: %s", kind, what);
}

/* A child that must be there. */
static enum lmn_status read_child(const struct pb_array *pb, const char *kind,
                                  struct lmn__arena *arena, const struct lmn__array_encoding **out,
                                  struct lmn_error *err)
{
    return pb != NULL ? from_pb(pb, arena, out, err) : corrupt(err, kind, "a member is missing");
}

static enum lmn_status read_buffer(const struct pb_buffer *pb, const char *kind, uint32_t *out,
                                   struct lmn_error *err)
{
    if (pb == NULL)
        return corrupt(err, kind, "the buffer is missing");
    if (pb->buffer_type != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "2.0 encoding %s: a buffer outside the page", kind);
    *out = pb->buffer_index;
    return LMN_OK;
}

static enum lmn_status read_flat(const struct pb_flat *pb, struct lmn__array_encoding *encoding,
                                 struct lmn_error *err)
{
    if (pb->bits_per_value > UINT32_MAX || (pb->bits_per_value != 1 && pb->bits_per_value % 8 != 0))
        return corrupt(err, "flat", "bits per value are neither 1 nor whole bytes");
    encoding->bits = (uint32_t)pb->bits_per_value;
    if (pb->compression != NULL && pb->compression->scheme.len != 0 &&
        !lmn__span_equal(pb->compression->scheme, "none")) {
        if (lmn__span_equal(pb->compression->scheme, "zstd"))
            encoding->scheme = LMN__SCHEME_ZSTD;
        else if (lmn__span_equal(pb->compression->scheme, "lz4"))
            encoding->scheme = LMN__SCHEME_LZ4;
        else
            return lmn_fail(
                err, LMN_E_UNSUPPORTED, "2.0 encoding flat: compression \"%.*s\"",
                (int)(pb->compression->scheme.len < 32 ? pb->compression->scheme.len : 32),
                (const char *)pb->compression->scheme.data);
    }
    return read_buffer(pb->buffer, "flat", &encoding->buffer, err);
}

static enum lmn_status read_nullable(const struct pb_nullable *pb, struct lmn__arena *arena,
                                     struct lmn__array_encoding *encoding, struct lmn_error *err)
{
    enum lmn_status st;

    if (pb->all_nulls != NULL) {
        encoding->all_null = true;
        return LMN_OK;
    }
    if (pb->no_nulls != NULL)
        return read_child(pb->no_nulls->values, "nullable", arena, &encoding->values, err);
    if (pb->some_nulls == NULL)
        return corrupt(err, "nullable", "it says nothing of nulls");
    st = read_child(pb->some_nulls->validity, "nullable", arena, &encoding->validity, err);
    if (st == LMN_OK &&
        (encoding->validity->kind != LMN__ARRAY_FLAT || encoding->validity->bits != 1))
        return corrupt(err, "nullable", "the validity is not one bit per value");
    if (st == LMN_OK)
        st = read_child(pb->some_nulls->values, "nullable", arena, &encoding->values, err);
    return st;
}

/* The field widths of a packed struct; only plain fields without nulls occur. */
static enum lmn_status read_packed(const struct pb_packed *pb, struct lmn__arena *arena,
                                   struct lmn__array_encoding *encoding, struct lmn_error *err)
{
    const struct pb_array *inner = pb->inner.item;
    uint32_t *bits = lmn__arena_array(arena, pb->inner.count, sizeof *bits);

    if (bits == NULL)
        return lmn__arena_fail(arena, "an encoding", err);
    for (size_t i = 0; i < pb->inner.count; i++) {
        const struct pb_array *field = &inner[i];

        if (field->nullable != NULL && field->nullable->no_nulls != NULL &&
            field->nullable->no_nulls->values != NULL)
            field = field->nullable->no_nulls->values;
        if (field->flat == NULL || field->flat->bits_per_value % 8 != 0 ||
            field->flat->bits_per_value == 0 || field->flat->bits_per_value > 1 << 16)
            return lmn_fail(err, LMN_E_UNSUPPORTED,
                            "2.0 encoding packed_struct: field %zu is not plain", i);
        bits[i] = (uint32_t)field->flat->bits_per_value;
    }
    encoding->field_bits = bits;
    encoding->field_count = (uint32_t)pb->inner.count;
    return read_buffer(pb->buffer, "packed_struct", &encoding->buffer, err);
}

static enum lmn_status read_indexed(const struct pb_array *indices, const struct pb_array *values,
                                    const char *kind, struct lmn__arena *arena,
                                    struct lmn__array_encoding *encoding, struct lmn_error *err)
{
    enum lmn_status st = read_child(indices, kind, arena, &encoding->indices, err);

    if (st == LMN_OK && values != NULL)
        st = read_child(values, kind, arena, &encoding->values, err);
    return st;
}

static enum lmn_status read_members(const struct pb_array *pb, struct lmn__arena *arena,
                                    struct lmn__array_encoding *encoding, struct lmn_error *err)
{
    switch (encoding->kind) {
    case LMN__ARRAY_FLAT:
        return read_flat(pb->flat, encoding, err);
    case LMN__ARRAY_NULLABLE:
        return read_nullable(pb->nullable, arena, encoding, err);
    case LMN__ARRAY_FIXED_LIST:
        encoding->dimension = pb->fixed_size_list->dimension;
        if (encoding->dimension == 0)
            return corrupt(err, "fixed_size_list", "lists of no items");
        return read_child(pb->fixed_size_list->items, "fixed_size_list", arena, &encoding->values,
                          err);
    case LMN__ARRAY_LIST:
        encoding->adjustment = pb->list->null_offset_adjustment;
        encoding->item_count = pb->list->num_items;
        return read_indexed(pb->list->offsets, NULL, "list", arena, encoding, err);
    case LMN__ARRAY_STRUCT:
        return LMN_OK;
    case LMN__ARRAY_BINARY:
        encoding->adjustment = pb->binary->null_adjustment;
        if (pb->binary->bytes == NULL)
            return corrupt(err, "binary", "the bytes are missing");
        return read_indexed(pb->binary->indices, pb->binary->bytes, "binary", arena, encoding, err);
    case LMN__ARRAY_DICTIONARY:
        encoding->item_count = pb->dictionary->num_dictionary_items;
        if (pb->dictionary->items == NULL)
            return corrupt(err, "dictionary", "the items are missing");
        return read_indexed(pb->dictionary->indices, pb->dictionary->items, "dictionary", arena,
                            encoding, err);
    case LMN__ARRAY_FSST:
        encoding->table = pb->fsst->symbol_table;
        return read_child(pb->fsst->binary, "fsst", arena, &encoding->values, err);
    case LMN__ARRAY_PACKED:
        return read_packed(pb->packed_struct, arena, encoding, err);
    }
    return lmn_fail(err, LMN_E_UNSUPPORTED, "an encoding that 2.0 files do not have");
}

static enum lmn_status from_pb(const struct pb_array *pb, struct lmn__arena *arena,
                               const struct lmn__array_encoding **out, struct lmn_error *err)
{
    struct lmn__array_encoding *encoding = lmn__arena_alloc(arena, sizeof *encoding);
    uint32_t kind = 0;

    *out = encoding;
    if (encoding == NULL)
        return lmn__arena_fail(arena, "an encoding", err);
    for (uint16_t i = 0; i < array_message.field_count; i++) {
        const void *member;

        memcpy(&member, (const uint8_t *)pb + array_message.field[i].offset, sizeof member);
        if (member == NULL)
            continue;
        if (kind != 0)
            return corrupt(err, "array", "two kinds at once");
        kind = array_message.field[i].number;
    }
    encoding->kind = (enum lmn__array_kind)kind;
    return read_members(pb, arena, encoding, err);
}

enum lmn_status lmn__array_encoding_read(struct lmn__span bytes, struct lmn__arena *arena,
                                         const struct lmn__array_encoding **out,
                                         struct lmn_error *err)
{
    struct pb_array pb = { 0 };
    enum lmn_status st = lmn__pb_decode(&array_message, bytes, arena, &pb, err);

    *out = NULL;
    return st != LMN_OK ? st : from_pb(&pb, arena, out, err);
}

void lmn__array_encoding_print(const struct lmn__array_encoding *encoding, struct lmn__buf *buf)
{
    switch (encoding->kind) {
    case LMN__ARRAY_FLAT:
        lmn__buf_printf(buf, "%sflat%u",
                        encoding->scheme == LMN__SCHEME_ZSTD  ? "zstd "
                        : encoding->scheme == LMN__SCHEME_LZ4 ? "lz4 "
                                                              : "",
                        encoding->bits);
        return;
    case LMN__ARRAY_STRUCT:
        lmn__buf_printf(buf, "struct");
        return;
    case LMN__ARRAY_PACKED:
        lmn__buf_printf(buf, "packed[%u]", encoding->field_count);
        return;
    case LMN__ARRAY_LIST:
        lmn__buf_printf(buf, "list(");
        lmn__array_encoding_print(encoding->indices, buf);
        break;
    case LMN__ARRAY_NULLABLE:
        if (encoding->all_null) {
            lmn__buf_printf(buf, "all null");
            return;
        }
        lmn__buf_printf(buf, encoding->validity != NULL ? "nullable(" : "(");
        lmn__array_encoding_print(encoding->values, buf);
        break;
    case LMN__ARRAY_FIXED_LIST:
        lmn__buf_printf(buf, "%llu x (", (unsigned long long)encoding->dimension);
        lmn__array_encoding_print(encoding->values, buf);
        break;
    case LMN__ARRAY_BINARY:
    case LMN__ARRAY_DICTIONARY:
        lmn__buf_printf(buf, encoding->kind == LMN__ARRAY_BINARY ? "binary(" : "dictionary(");
        lmn__array_encoding_print(encoding->indices, buf);
        lmn__buf_printf(buf, ", ");
        lmn__array_encoding_print(encoding->values, buf);
        break;
    case LMN__ARRAY_FSST:
        lmn__buf_printf(buf, "fsst(");
        lmn__array_encoding_print(encoding->values, buf);
        break;
    }
    lmn__buf_printf(buf, ")");
}
