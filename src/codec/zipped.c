/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a value that is a fixed list, each layer of lists whose items can be null has its validity
 * first, one bit per item in whole bytes, from the outside in; then come the innermost items.
 * Booleans take a bit inside of lists, and a byte by themselves.
 */
#include "codec/zipped.h"

#include "base/bits.h"
#include "base/math.h"

enum lmn_status lmn__zipped_init(struct lmn__zipped *zipped, const struct lmn__encoding *encoding,
                                 const struct lmn__layout *layout, struct lmn_error *err)
{
    const struct lmn__layout *leaf = layout;
    uint64_t validity = 0, items = 1;

    *zipped = (struct lmn__zipped){ .encoding = encoding };
    while (encoding->kind == LMN__ENC_FIXED_LIST && leaf->kind == LMN__LAYOUT_FIXED_LIST &&
           encoding->dimension == leaf->dimension) {
        if (!lmn__mul_u64(items, encoding->dimension, &items) || items > UINT32_MAX)
            break;
        if (encoding->has_validity)
            validity += lmn__bits_bytes(items);
        encoding = encoding->child;
        leaf = leaf->child[0];
    }
    zipped->bytes = validity;
    if (encoding->kind == LMN__ENC_CONSTANT && layout->kind == LMN__LAYOUT_FIXED_LIST)
        return LMN_OK;
    if (encoding->kind != LMN__ENC_FLAT || leaf->kind != LMN__LAYOUT_FIXED ||
        (encoding->bits != leaf->bits && !(leaf->bits == 1 && encoding->bits == 8)))
        return lmn_fail(err, LMN_E_CORRUPT,
                        "values in a row of their own are not those of the column's type");
    zipped->bytes += encoding->bits == 1 ? lmn__bits_bytes(items) : items * (encoding->bits / 8);
    zipped->plain = validity == 0 && leaf->bits != 1;
    return LMN_OK;
}

/* `items` booleans, in bytes or in bits, for the builder's last slots. */
static enum lmn_status append_bools(const uint8_t *value, uint32_t bits, uint64_t items,
                                    struct lmn__builder *builder, struct lmn_error *err)
{
    uint64_t start = builder->length - items;
    enum lmn_status st = lmn__builder_put_bits(builder, bits == 1 ? value : NULL, 0, items, err);

    for (uint64_t i = 0; st == LMN_OK && bits != 1 && i < items; i++)
        lmn__bit_put(builder->values.data, start + i, value[i] & 1);
    return st;
}

enum lmn_status lmn__zipped_append(const struct lmn__zipped *zipped, const uint8_t *value,
                                   struct lmn__builder *builder, struct lmn_error *err)
{
    const struct lmn__encoding *encoding = zipped->encoding;
    uint64_t items = 1;
    enum lmn_status st;

    for (; encoding->kind == LMN__ENC_FIXED_LIST; encoding = encoding->child) {
        builder = &builder->child[0];
        items *= encoding->dimension;
        if (builder->layout->kind == LMN__LAYOUT_NULL)
            st = lmn__builder_add_null(builder, items, err);
        else if (encoding->has_validity)
            st = lmn__builder_add_bits(builder, value, 0, items, err);
        else
            st = lmn__builder_add_valid(builder, items, err);
        if (st != LMN_OK)
            return st;
        if (encoding->has_validity)
            value += lmn__bits_bytes(items);
    }
    if (encoding->kind == LMN__ENC_CONSTANT)
        return lmn__builder_put_empty(builder, items, err);
    if (builder->layout->bits == 1)
        return append_bools(value, encoding->bits, items, builder, err);
    return lmn__vec_put(&builder->values, builder->env->pool, value, items * (encoding->bits / 8),
                        err);
}
