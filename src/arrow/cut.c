/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/cut.h"

#include "base/bits.h"
#include "base/bytes.h"
#include "base/math.h"

static uint64_t offset_at(const struct lmn__builder *builder, uint64_t i)
{
    uint32_t width = builder->layout->bits / 8;

    return (i + 1) * width <= builder->offsets.len
               ? lmn__load_uint(builder->offsets.data + i * width, width)
               : 0;
}

static void shorten(struct lmn__vec *vec, uint64_t bytes)
{
    if (vec->len > bytes)
        vec->len = bytes;
}

static uint64_t count_nulls(const struct lmn__builder *builder, uint64_t length)
{
    uint64_t nulls = 0;

    for (uint64_t i = 0; i < length; i++)
        nulls += !lmn__bit_get(builder->validity.data, i);
    return nulls;
}

static void cut_children(struct lmn__builder *builder, uint64_t length)
{
    for (uint32_t i = 0; i < builder->layout->child_count; i++)
        lmn__builder_cut(&builder->child[i], length);
}

void lmn__builder_cut(struct lmn__builder *builder, uint64_t length)
{
    const struct lmn__layout *layout = builder->layout;
    uint64_t items;

    if (builder->has_validity && builder->length > length) {
        builder->null_count = count_nulls(builder, length);
        shorten(&builder->validity, lmn__div_up(length, 8));
    }
    switch (layout->kind) {
    case LMN__LAYOUT_NULL:
        break;
    case LMN__LAYOUT_FIXED:
    case LMN__LAYOUT_DICTIONARY:
        shorten(&builder->values, lmn__div_up(length * layout->bits, 8));
        break;
    case LMN__LAYOUT_VARIABLE:
        shorten(&builder->values, length == 0 ? 0 : offset_at(builder, length));
        shorten(&builder->offsets, length == 0 ? 0 : (length + 1) * (layout->bits / 8));
        break;
    case LMN__LAYOUT_LIST:
        /* Without a list behind the cut, there are no items behind it either. */
        items = offset_at(builder, length);
        if (builder->offsets.len > length * (layout->bits / 8))
            cut_children(builder, items);
        shorten(&builder->offsets, length * (layout->bits / 8));
        break;
    case LMN__LAYOUT_FIXED_LIST:
        cut_children(builder, length * layout->dimension);
        break;
    case LMN__LAYOUT_STRUCT:
        cut_children(builder, length);
        break;
    }
    if (builder->length > length)
        builder->length = length;
}
