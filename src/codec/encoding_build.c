/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From struct lmn__encoding to the message, and to words. Only the kinds that the writer
 * produces are turned into messages.
 */
#include "codec/encoding.h"
#include "codec/encoding_pb.h"

static struct lmn__pb_encoding *build_flat(struct lmn__arena *arena, uint32_t bits)
{
    struct lmn__pb_encoding *pb = lmn__arena_alloc(arena, sizeof *pb);

    if (pb == NULL)
        return NULL;
    pb->flat = lmn__arena_alloc(arena, sizeof *pb->flat);
    if (pb->flat == NULL)
        return NULL;
    pb->flat->bits_per_value = bits;
    return pb;
}

static bool build_general(const struct lmn__encoding *encoding, struct lmn__arena *arena,
                          struct lmn__pb_encoding *pb)
{
    struct lmn__pb_compression *compression = lmn__arena_alloc(arena, sizeof *compression);

    pb->general = lmn__arena_alloc(arena, sizeof *pb->general);
    if (pb->general == NULL || compression == NULL)
        return false;
    compression->scheme = encoding->scheme;
    pb->general->compression = compression;
    pb->general->values = (struct lmn__pb_encoding *)lmn__encoding_to_pb(encoding->child, arena);
    return pb->general->values != NULL;
}

static bool build_fixed_list(const struct lmn__encoding *encoding, struct lmn__arena *arena,
                             struct lmn__pb_encoding *pb)
{
    pb->fixed_list = lmn__arena_alloc(arena, sizeof *pb->fixed_list);
    if (pb->fixed_list == NULL)
        return false;
    pb->fixed_list->items_per_value = encoding->dimension;
    pb->fixed_list->has_validity = encoding->has_validity;
    pb->fixed_list->values = (struct lmn__pb_encoding *)lmn__encoding_to_pb(encoding->child, arena);
    return pb->fixed_list->values != NULL;
}

static bool build_bitpacking(const struct lmn__encoding *encoding, struct lmn__arena *arena,
                             struct lmn__pb_encoding *pb)
{
    struct lmn__pb_bitpacking *packing = lmn__arena_alloc(arena, sizeof *packing);

    if (packing == NULL)
        return false;
    packing->bits = encoding->bits;
    if (encoding->kind == LMN__ENC_INLINE) {
        pb->in_line = packing;
        return true;
    }
    pb->out_of_line = packing;
    packing->values = build_flat(arena, encoding->packed_bits);
    return packing->values != NULL;
}

static bool build_packed(const struct lmn__encoding *encoding, struct lmn__arena *arena,
                         struct lmn__pb_encoding *pb)
{
    pb->packed = lmn__arena_alloc(arena, sizeof *pb->packed);
    if (pb->packed == NULL)
        return false;
    pb->packed->values = build_flat(arena, encoding->bits);
    pb->packed->bits_per_value.item = lmn__arena_array(arena, encoding->field_count,
                                                       sizeof(uint64_t));
    if (pb->packed->values == NULL || pb->packed->bits_per_value.item == NULL)
        return false;
    pb->packed->bits_per_value.count = encoding->field_count;
    for (uint32_t i = 0; i < encoding->field_count; i++)
        pb->packed->bits_per_value.item[i] = encoding->field[i].bits;
    return true;
}

static bool build_variable_packed(const struct lmn__encoding *encoding, struct lmn__arena *arena,
                                  struct lmn__pb_encoding *pb)
{
    struct lmn__pb_packed_field *field = lmn__arena_array(arena, encoding->field_count,
                                                          sizeof *field);

    pb->variable_packed = lmn__arena_alloc(arena, sizeof *pb->variable_packed);
    if (field == NULL || pb->variable_packed == NULL)
        return false;
    pb->variable_packed->fields.item = field;
    pb->variable_packed->fields.count = encoding->field_count;
    for (uint32_t i = 0; i < encoding->field_count; i++) {
        field[i].value = (struct lmn__pb_encoding *)lmn__encoding_to_pb(encoding->field[i].encoding,
                                                                        arena);
        if (field[i].value == NULL)
            return false;
        if (encoding->field[i].variable)
            field[i].bits_per_length = encoding->field[i].bits;
        else
            field[i].bits_per_value = encoding->field[i].bits;
    }
    return true;
}

static bool build_leaf(const struct lmn__encoding *encoding, struct lmn__arena *arena,
                       struct lmn__pb_encoding *pb)
{
    switch (encoding->kind) {
    case LMN__ENC_VARIABLE:
        pb->variable = lmn__arena_alloc(arena, sizeof *pb->variable);
        if (pb->variable != NULL)
            pb->variable->offsets = build_flat(arena, encoding->bits);
        return pb->variable != NULL && pb->variable->offsets != NULL;
    case LMN__ENC_CONSTANT:
        pb->constant = lmn__arena_alloc(arena, sizeof *pb->constant);
        if (pb->constant != NULL)
            pb->constant->value = encoding->table;
        return pb->constant != NULL;
    case LMN__ENC_FSST:
        pb->fsst = lmn__arena_alloc(arena, sizeof *pb->fsst);
        if (pb->fsst == NULL)
            return false;
        pb->fsst->symbol_table = encoding->table;
        pb->fsst->values = (struct lmn__pb_encoding *)lmn__encoding_to_pb(encoding->child, arena);
        return pb->fsst->values != NULL;
    case LMN__ENC_RLE:
        pb->rle = lmn__arena_alloc(arena, sizeof *pb->rle);
        if (pb->rle == NULL)
            return false;
        pb->rle->values = build_flat(arena, encoding->bits);
        pb->rle->run_lengths = build_flat(arena, 8);
        return pb->rle->values != NULL && pb->rle->run_lengths != NULL;
    default:
        return false;
    }
}

const struct lmn__pb_encoding *lmn__encoding_to_pb(const struct lmn__encoding *encoding,
                                                   struct lmn__arena *arena)
{
    struct lmn__pb_encoding *pb;
    bool built;

    if (encoding->kind == LMN__ENC_FLAT)
        return build_flat(arena, encoding->bits);
    pb = lmn__arena_alloc(arena, sizeof *pb);
    if (pb == NULL)
        return NULL;
    switch (encoding->kind) {
    case LMN__ENC_GENERAL:
        built = build_general(encoding, arena, pb);
        break;
    case LMN__ENC_FIXED_LIST:
        built = build_fixed_list(encoding, arena, pb);
        break;
    case LMN__ENC_OUT_OF_LINE:
    case LMN__ENC_INLINE:
        built = build_bitpacking(encoding, arena, pb);
        break;
    case LMN__ENC_PACKED:
        built = build_packed(encoding, arena, pb);
        break;
    case LMN__ENC_VARIABLE_PACKED:
        built = build_variable_packed(encoding, arena, pb);
        break;
    default:
        built = build_leaf(encoding, arena, pb);
    }
    return built ? pb : NULL;
}

void lmn__encoding_print(const struct lmn__encoding *encoding, struct lmn__buf *buf)
{
    switch (encoding->kind) {
    case LMN__ENC_FLAT:
        lmn__buf_printf(buf, "flat%u", encoding->bits);
        return;
    case LMN__ENC_VARIABLE:
        lmn__buf_printf(buf, "variable%u", encoding->bits);
        return;
    case LMN__ENC_CONSTANT:
        lmn__buf_printf(buf, "constant");
        return;
    case LMN__ENC_OUT_OF_LINE:
        lmn__buf_printf(buf, "bitpack%u<%u", encoding->packed_bits, encoding->bits);
        return;
    case LMN__ENC_INLINE:
        lmn__buf_printf(buf, "bitpack<%u", encoding->bits);
        return;
    case LMN__ENC_RLE:
        lmn__buf_printf(buf, "rle%u", encoding->bits);
        return;
    case LMN__ENC_BYTE_SPLIT:
        lmn__buf_printf(buf, "bytesplit%u", encoding->bits);
        return;
    case LMN__ENC_PACKED:
    case LMN__ENC_VARIABLE_PACKED:
        lmn__buf_printf(buf, "packed[%u]", encoding->field_count);
        return;
    case LMN__ENC_DICTIONARY:
        return;
    case LMN__ENC_FSST:
        lmn__buf_printf(buf, "fsst(");
        break;
    case LMN__ENC_GENERAL:
        lmn__buf_printf(buf, encoding->scheme == LMN__SCHEME_LZ4 ? "lz4(" : "zstd(");
        break;
    case LMN__ENC_FIXED_LIST:
        lmn__buf_printf(buf, "%llu%s x (", (unsigned long long)encoding->dimension,
                        encoding->has_validity ? " nullable" : "");
        break;
    }
    lmn__encoding_print(encoding->child, buf);
    lmn__buf_printf(buf, ")");
}
