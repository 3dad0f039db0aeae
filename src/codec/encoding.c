/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encoding.h"

#include "base/math.h"
#include "codec/encoding_pb.h"

static bool is_word(uint64_t bits)
{
    return bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

static enum lmn_status corrupt(struct lmn_error *err, const char *kind, const char *what)
{
    return lmn_fail(err, LMN_E_CORRUPT, "encoding %s: %s", kind, what);
}

/* A member that has to be flat, and its bits. */
static enum lmn_status flat_bits(const struct lmn__pb_encoding *pb, const char *kind,
                                 uint32_t *bits_out, struct lmn_error *err)
{
    if (pb == NULL)
        return corrupt(err, kind, "a member is missing");
    if (pb->flat == NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "encoding %s: a member is not flat", kind);
    if (pb->flat->bits_per_value > UINT32_MAX)
        return corrupt(err, kind, "too many bits per value");
    *bits_out = (uint32_t)pb->flat->bits_per_value;
    return LMN_OK;
}

static enum lmn_status check_flat(const struct lmn__pb_flat *pb, struct lmn__encoding *encoding,
                                  struct lmn_error *err)
{
    if (pb->data != NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "encoding flat: a compressed buffer");
    if (pb->bits_per_value > UINT32_MAX || (pb->bits_per_value != 1 && pb->bits_per_value % 8 != 0))
        return corrupt(err, "flat", "bits per value are neither 1 nor whole bytes");
    encoding->bits = (uint32_t)pb->bits_per_value;
    return LMN_OK;
}

static enum lmn_status check_variable(const struct lmn__pb_variable *pb,
                                      struct lmn__encoding *encoding, struct lmn_error *err)
{
    enum lmn_status st = flat_bits(pb->offsets, "variable", &encoding->bits, err);

    if (st != LMN_OK)
        return st;
    if (pb->values != NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "encoding variable: a compressed buffer");
    if (encoding->bits != 32 && encoding->bits != 64)
        return corrupt(err, "variable", "offsets have neither 32 nor 64 bits");
    return LMN_OK;
}

static enum lmn_status check_bitpacking(const struct lmn__pb_encoding *pb,
                                        struct lmn__encoding *encoding, struct lmn_error *err)
{
    bool in_line = pb->in_line != NULL;
    const struct lmn__pb_bitpacking *packing = in_line ? pb->in_line : pb->out_of_line;
    enum lmn_status st = LMN_OK;

    if (!is_word(packing->bits))
        return corrupt(err, "bitpacking", "values have none of 8, 16, 32 and 64 bits");
    if (packing->buffer != NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "encoding bitpacking: a compressed buffer");
    encoding->bits = (uint32_t)packing->bits;
    if (!in_line)
        st = flat_bits(packing->values, "bitpacking", &encoding->packed_bits, err);
    if (st == LMN_OK && encoding->packed_bits > encoding->bits)
        st = corrupt(err, "bitpacking", "packed values are wider than plain ones");
    return st;
}

static enum lmn_status check_rle(const struct lmn__pb_rle *pb, struct lmn__encoding *encoding,
                                 struct lmn_error *err)
{
    uint32_t length_bits = 0;
    enum lmn_status st = flat_bits(pb->values, "rle", &encoding->bits, err);

    if (st == LMN_OK)
        st = flat_bits(pb->run_lengths, "rle", &length_bits, err);
    if (st != LMN_OK)
        return st;
    if (!is_word(encoding->bits))
        return corrupt(err, "rle", "values have none of 8, 16, 32 and 64 bits");
    if (length_bits != 8)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "encoding rle: run lengths of %u bits",
                        length_bits);
    return LMN_OK;
}

static enum lmn_status check_packed(const struct lmn__pb_packed *pb, struct lmn__arena *arena,
                                    struct lmn__encoding *encoding, struct lmn_error *err)
{
    struct lmn__packed_field *field;
    uint64_t total = 0;
    enum lmn_status st = flat_bits(pb->values, "packed_struct", &encoding->bits, err);

    if (st != LMN_OK)
        return st;
    field = lmn__arena_array(arena, pb->bits_per_value.count, sizeof *field);
    if (field == NULL)
        return lmn__arena_fail(arena, "an encoding", err);
    for (size_t i = 0; i < pb->bits_per_value.count; i++) {
        uint64_t bits = pb->bits_per_value.item[i];

        if (bits == 0 || bits % 8 != 0 || bits > UINT32_MAX - total)
            return corrupt(err, "packed_struct", "bits of a field are not whole bytes");
        field[i].bits = (uint32_t)bits;
        total += bits;
    }
    if (total != encoding->bits)
        return corrupt(err, "packed_struct", "the fields' bits do not add up to the row's");
    encoding->field = field;
    encoding->field_count = (uint32_t)pb->bits_per_value.count;
    return LMN_OK;
}

static enum lmn_status check_variable_packed(const struct lmn__pb_variable_packed *pb,
                                             struct lmn__arena *arena,
                                             struct lmn__encoding *encoding, struct lmn_error *err)
{
    const struct lmn__pb_packed_field *from = pb->fields.item;
    struct lmn__packed_field *field = lmn__arena_array(arena, pb->fields.count, sizeof *field);

    if (field == NULL)
        return lmn__arena_fail(arena, "an encoding", err);
    for (size_t i = 0; i < pb->fields.count; i++) {
        uint64_t bits = from[i].bits_per_length != 0 ? from[i].bits_per_length
                                                     : from[i].bits_per_value;
        enum lmn_status st;

        field[i].variable = from[i].bits_per_length != 0;
        if (bits == 0 || bits % 8 != 0 || bits > UINT32_MAX ||
            (field[i].variable && !is_word(bits)))
            return corrupt(err, "variable_packed_struct", "bits of a field are not whole bytes");
        field[i].bits = (uint32_t)bits;
        if (from[i].value == NULL)
            return corrupt(err, "variable_packed_struct", "a field has no encoding");
        st = lmn__encoding_from_pb(from[i].value, arena, &field[i].encoding, err);
        if (st != LMN_OK)
            return st;
    }
    encoding->field = field;
    encoding->field_count = (uint32_t)pb->fields.count;
    return LMN_OK;
}

static enum lmn_status check_child(const struct lmn__pb_encoding *pb, const char *kind,
                                   struct lmn__arena *arena, struct lmn__encoding *encoding,
                                   struct lmn_error *err)
{
    if (pb == NULL)
        return corrupt(err, kind, "the inner encoding is missing");
    return lmn__encoding_from_pb(pb, arena, &encoding->child, err);
}

static enum lmn_status check_general(const struct lmn__pb_general *pb, struct lmn__arena *arena,
                                     struct lmn__encoding *encoding, struct lmn_error *err)
{
    if (pb->compression == NULL)
        return corrupt(err, "general", "the compression is missing");
    if (pb->compression->scheme != LMN__SCHEME_LZ4 && pb->compression->scheme != LMN__SCHEME_ZSTD)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "encoding general: compression scheme %u",
                        pb->compression->scheme);
    encoding->scheme = (enum lmn__scheme)pb->compression->scheme;
    return check_child(pb->values, "general", arena, encoding, err);
}

static enum lmn_status check_fixed_list(const struct lmn__pb_fixed_list *pb,
                                        struct lmn__arena *arena, struct lmn__encoding *encoding,
                                        struct lmn_error *err)
{
    if (pb->items_per_value == 0 || pb->items_per_value > INT32_MAX)
        return corrupt(err, "fixed_size_list", "items per value are out of range");
    encoding->dimension = pb->items_per_value;
    encoding->has_validity = pb->has_validity;
    return check_child(pb->values, "fixed_size_list", arena, encoding, err);
}

/* The member of the oneof that is set; 0 when none or several are. */
static uint32_t kind_of(const struct lmn__pb_encoding *pb)
{
    uint32_t kind = 0;

    for (uint32_t i = 0; i < lmn__pb_encoding_message.field_count; i++) {
        const struct lmn__pb_field *field = &lmn__pb_encoding_message.field[i];
        const void *member;

        memcpy(&member, (const uint8_t *)pb + field->offset, sizeof member);
        if (member == NULL)
            continue;
        if (kind != 0)
            return 0;
        kind = field->number;
    }
    return kind;
}

enum lmn_status lmn__encoding_from_pb(const struct lmn__pb_encoding *pb, struct lmn__arena *arena,
                                      const struct lmn__encoding **encoding_out,
                                      struct lmn_error *err)
{
    struct lmn__encoding *encoding = lmn__arena_alloc(arena, sizeof *encoding);

    *encoding_out = encoding;
    if (encoding == NULL)
        return lmn__arena_fail(arena, "an encoding", err);
    encoding->kind = (enum lmn__encoding_kind)kind_of(pb);
    switch (encoding->kind) {
    case LMN__ENC_FLAT:
        return check_flat(pb->flat, encoding, err);
    case LMN__ENC_VARIABLE:
        return check_variable(pb->variable, encoding, err);
    case LMN__ENC_CONSTANT:
        encoding->table = pb->constant->value;
        return LMN_OK;
    case LMN__ENC_OUT_OF_LINE:
    case LMN__ENC_INLINE:
        return check_bitpacking(pb, encoding, err);
    case LMN__ENC_FSST:
        encoding->table = pb->fsst->symbol_table;
        return check_child(pb->fsst->values, "fsst", arena, encoding, err);
    case LMN__ENC_RLE:
        return check_rle(pb->rle, encoding, err);
    case LMN__ENC_BYTE_SPLIT:
        if (flat_bits(pb->byte_split->values, "byte_stream_split", &encoding->bits, err) ==
                LMN_OK &&
            (encoding->bits == 32 || encoding->bits == 64))
            return LMN_OK;
        return corrupt(err, "byte_stream_split", "values have neither 32 nor 64 bits");
    case LMN__ENC_GENERAL:
        return check_general(pb->general, arena, encoding, err);
    case LMN__ENC_FIXED_LIST:
        return check_fixed_list(pb->fixed_list, arena, encoding, err);
    case LMN__ENC_PACKED:
        return check_packed(pb->packed, arena, encoding, err);
    case LMN__ENC_VARIABLE_PACKED:
        return check_variable_packed(pb->variable_packed, arena, encoding, err);
    case LMN__ENC_DICTIONARY:
        break;
    }
    return lmn_fail(err, LMN_E_UNSUPPORTED,
                    "an encoding that this version does not know (oneof member %u)",
                    (unsigned)encoding->kind);
}
