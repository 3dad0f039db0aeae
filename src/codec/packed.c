/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row is its fields in order: fixed ones as they are, variable ones as a length and as many
 * bytes. Both may be encoded, each value by itself.
 */
#include "codec/packed.h"

#include "base/error.h"

struct lmn__packed_part {
    uint32_t length_bytes;         /* of a variable field's length; 0: the field is fixed */
    struct lmn__zipped fixed;      /* fixed fields */
    struct lmn__variable variable; /* variable fields */
};

static enum lmn_status part_init(struct lmn__packed_part *part,
                                 const struct lmn__packed_field *field,
                                 const struct lmn__layout *layout, struct lmn__arena *arena,
                                 struct lmn_error *err)
{
    enum lmn_status st;

    if (field->variable) {
        if (layout->kind != LMN__LAYOUT_VARIABLE)
            return lmn_fail(err, LMN_E_CORRUPT, "it is variable, its type is not");
        part->length_bytes = field->bits / 8;
        return lmn__variable_init(&part->variable, field->encoding, arena, err);
    }
    st = lmn__zipped_init(&part->fixed, field->encoding, layout, err);
    if (st == LMN_OK && part->fixed.bytes != field->bits / 8)
        return lmn_fail(err, LMN_E_CORRUPT, "values of %llu bytes where %u are said to be",
                        (unsigned long long)part->fixed.bytes, field->bits / 8);
    return st;
}

enum lmn_status lmn__packed_init(struct lmn__packed *packed, const struct lmn__encoding *encoding,
                                 const struct lmn__layout *layout, struct lmn__arena *arena,
                                 struct lmn_error *err)
{
    *packed = (struct lmn__packed){ 0 };
    if (encoding->kind != LMN__ENC_VARIABLE_PACKED || encoding->field_count != layout->child_count)
        return lmn_fail(err, LMN_E_CORRUPT, "a packed struct of %u fields where the schema has %u",
                        encoding->field_count, layout->child_count);
    packed->part = lmn__arena_array(arena, encoding->field_count, sizeof *packed->part);
    if (packed->part == NULL)
        return lmn__arena_fail(arena, "a packed struct", err);
    packed->part_count = encoding->field_count;
    for (uint32_t i = 0; i < packed->part_count; i++) {
        enum lmn_status st = part_init(&packed->part[i], &encoding->field[i], layout->child[i],
                                       arena, err);

        if (st != LMN_OK)
            return lmn__fail_within(err, st, "field %u of a packed struct", i);
    }
    return LMN_OK;
}

static enum lmn_status append_part(const struct lmn__packed_part *part,
                                   struct lmn__scratch *scratch, struct lmn__span *row,
                                   struct lmn__builder *child, struct lmn_error *err)
{
    uint32_t head = part->length_bytes;
    uint64_t len = part->fixed.bytes;
    struct lmn__span value;
    enum lmn_status st;

    if (head != 0)
        len = row->len >= head ? lmn__load_uint(row->data, head) : UINT64_MAX;
    if (row->len < head || row->len - head < len)
        return lmn_fail(err, LMN_E_CORRUPT, "a packed struct is cut short");
    value = (struct lmn__span){ row->data + head, len };
    row->data += head + len;
    row->len -= head + len;
    st = lmn__builder_add_valid(child, 1, err);
    if (st != LMN_OK)
        return st;
    return head != 0 ? lmn__variable_decode_value(scratch, &part->variable, value, child, err)
                     : lmn__zipped_append(&part->fixed, value.data, child, err);
}

enum lmn_status lmn__packed_append(const struct lmn__packed *packed, struct lmn__scratch *scratch,
                                   struct lmn__span row, struct lmn__builder *builder,
                                   struct lmn_error *err)
{
    for (uint32_t i = 0; i < packed->part_count; i++) {
        enum lmn_status st = append_part(&packed->part[i], scratch, &row, &builder->child[i], err);

        if (st != LMN_OK)
            return st;
    }
    if (row.len != 0)
        return lmn_fail(err, LMN_E_CORRUPT, "a packed struct leaves %zu bytes of its row", row.len);
    return LMN_OK;
}
