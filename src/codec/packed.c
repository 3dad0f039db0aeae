/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/packed.h"

enum lmn_status lmn__packed_check(const struct lmn__encoding *encoding,
                                  const struct lmn__layout *layout, struct lmn_error *err)
{
    if (encoding->kind != LMN__ENC_VARIABLE_PACKED || encoding->field_count != layout->child_count)
        return lmn_fail(err, LMN_E_CORRUPT, "a packed struct of %u fields where the schema has %u",
                        encoding->field_count, layout->child_count);
    for (uint32_t i = 0; i < encoding->field_count; i++) {
        const struct lmn__packed_field *field = &encoding->field[i];
        const struct lmn__layout *child = layout->child[i];
        bool fits = field->variable
                        ? child->kind == LMN__LAYOUT_VARIABLE &&
                              field->encoding->kind == LMN__ENC_VARIABLE
                        : child->kind == LMN__LAYOUT_FIXED && child->bits == field->bits &&
                              field->encoding->kind == LMN__ENC_FLAT;

        if (!fits)
            return lmn_fail(err, LMN_E_UNSUPPORTED,
                            "field %u of a packed struct is stored in an unexpected way", i);
    }
    return LMN_OK;
}

static enum lmn_status append_field(const struct lmn__packed_field *field, struct lmn__span *row,
                                    struct lmn__builder *child, struct lmn_error *err)
{
    uint32_t width = field->bits / 8;
    uint64_t len = width, base;
    uint8_t *offsets, *data;
    enum lmn_status st;

    if (row->len < width)
        return lmn_fail(err, LMN_E_CORRUPT, "a packed struct is cut short");
    st = lmn__builder_add_valid(child, 1, err);
    if (st != LMN_OK)
        return st;
    if (field->variable) {
        len = lmn__load_uint(row->data, width);
        row->data += width;
        row->len -= width;
        if (row->len < len)
            return lmn_fail(err, LMN_E_CORRUPT, "a packed struct is cut short");
        st = lmn__builder_extend_variable(child, 1, len, &offsets, &data, &base, err);
        if (st != LMN_OK)
            return st;
        lmn__store_uint(offsets, child->layout->bits / 8, base + len);
        if (len != 0)
            memcpy(data, row->data, len);
    } else {
        st = lmn__vec_put(&child->values, child->env->pool, row->data, width, err);
        if (st != LMN_OK)
            return st;
    }
    row->data += len;
    row->len -= len;
    return LMN_OK;
}

enum lmn_status lmn__packed_append(const struct lmn__encoding *encoding, struct lmn__span row,
                                   struct lmn__builder *builder, struct lmn_error *err)
{
    for (uint32_t i = 0; i < encoding->field_count; i++) {
        enum lmn_status st = append_field(&encoding->field[i], &row, &builder->child[i], err);

        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}
