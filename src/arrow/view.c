/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/view.h"

#include "base/math.h"

/* A view of Arrow: length, then up to 12 bytes themselves or prefix, buffer and offset. */
enum { VIEW_BYTES = 16, VIEW_INLINE_MAX = 12 };

static struct lmn__span view_at(const struct ArrowArray *array, uint64_t i)
{
    const uint8_t *view = (const uint8_t *)array->buffers[1] +
                          ((uint64_t)array->offset + i) * VIEW_BYTES;
    uint32_t len = lmn__load_u32(view);
    const uint8_t *data;

    if (len <= VIEW_INLINE_MAX)
        return (struct lmn__span){ view + 4, len };
    data = array->buffers[2 + lmn__load_u32(view + 8)];
    return (struct lmn__span){ data + lmn__load_u32(view + 12), len };
}

enum lmn_status lmn__view_check_columns(const struct ArrowSchema *schema,
                                        const struct ArrowArray *batch, struct lmn_error *err)
{
    if (batch->n_children != schema->n_children)
        return lmn_fail(err, LMN_E_INVALID, "a batch of %lld columns, its type has %lld",
                        (long long)batch->n_children, (long long)schema->n_children);
    if (batch->length < 0 || batch->offset < 0 || batch->length > INT64_MAX - batch->offset)
        return lmn_fail(err, LMN_E_INVALID, "a batch of %lld rows from %lld on",
                        (long long)batch->length, (long long)batch->offset);
    for (int64_t i = 0; i < batch->n_children; i++) {
        const struct ArrowArray *column = batch->children[i];
        const char *name = schema->children[i]->name != NULL ? schema->children[i]->name : "";

        if (column->offset < 0 || column->length > INT64_MAX - column->offset)
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" has %lld rows from %lld on",
                            name, (long long)column->length, (long long)column->offset);
        if (column->length < batch->offset + batch->length)
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" has %lld rows, its batch %lld",
                            name, (long long)column->length,
                            (long long)(batch->offset + batch->length));
    }
    return LMN_OK;
}

struct lmn__span lmn__view_bytes(const struct lmn__layout *layout, const struct ArrowArray *array,
                                 uint64_t i)
{
    uint32_t width = layout->bits / 8;
    uint64_t from, to;

    if (layout->is_view)
        return lmn__view_is_null(array, i) ? (struct lmn__span){ NULL, 0 } : view_at(array, i);
    from = lmn__view_offset(array, width, i);
    to = lmn__view_offset(array, width, i + 1);
    return (struct lmn__span){ (const uint8_t *)array->buffers[2] + from, to - from };
}

uint64_t lmn__view_range_bytes(const struct lmn__layout *layout, const struct ArrowArray *array,
                               uint64_t first, uint64_t count)
{
    uint64_t bytes = 0;

    switch (layout->kind) {
    case LMN__LAYOUT_NULL:
        return 0;
    case LMN__LAYOUT_FIXED:
    case LMN__LAYOUT_DICTIONARY:
        return count * layout->bits / 8;
    case LMN__LAYOUT_VARIABLE:
        if (!layout->is_view)
            return count == 0 ? 0
                              : lmn__view_offset(array, layout->bits / 8, first + count) -
                                    lmn__view_offset(array, layout->bits / 8, first) +
                                    count * (layout->bits / 8);
        for (uint64_t i = first; i < first + count; i++)
            bytes += lmn__view_bytes(layout, array, i).len + 4;
        return bytes;
    case LMN__LAYOUT_FIXED_LIST:
        return lmn__view_range_bytes(layout->child[0], array->children[0], 0,
                                     count * layout->dimension);
    case LMN__LAYOUT_STRUCT:
        for (uint32_t i = 0; i < layout->child_count; i++)
            bytes += lmn__view_range_bytes(layout->child[i], array->children[i],
                                           first + (uint64_t)array->offset, count);
        return bytes;
    case LMN__LAYOUT_LIST:
        return count * layout->bits / 8;
    }
    return 0;
}

static enum lmn_status append_slots(const struct ArrowArray *array, uint64_t first, uint64_t count,
                                    struct lmn__builder *builder, struct lmn_error *err)
{
    const uint8_t *validity = lmn__view_validity(array);

    if (builder->layout->kind == LMN__LAYOUT_NULL)
        return lmn__builder_add_null(builder, count, err);
    if (validity == NULL)
        return lmn__builder_add_valid(builder, count, err);
    return lmn__builder_add_bits(builder, validity, (uint64_t)array->offset + first, count, err);
}

static enum lmn_status append_views(const struct lmn__layout *layout,
                                    const struct ArrowArray *array, uint64_t first, uint64_t count,
                                    struct lmn__builder *builder, struct lmn_error *err)
{
    uint64_t bytes = 0, base;
    uint8_t *offsets, *data;
    enum lmn_status st;

    for (uint64_t i = 0; i < count; i++)
        bytes += lmn__view_bytes(layout, array, first + i).len;
    st = lmn__builder_extend_variable(builder, count, bytes, &offsets, &data, &base, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn__span value = lmn__view_bytes(layout, array, first + i);

        if (value.len != 0)
            memcpy(data, value.data, value.len);
        data += value.len;
        base += value.len;
        lmn__store_u32(offsets + i * 4, (uint32_t)base);
    }
    return st;
}

static enum lmn_status append_variable(const struct lmn__layout *layout,
                                       const struct ArrowArray *array, uint64_t first,
                                       uint64_t count, struct lmn__builder *builder,
                                       struct lmn_error *err)
{
    uint32_t width = layout->bits / 8;
    uint64_t start, bytes, base;
    uint8_t *offsets, *data;
    enum lmn_status st;

    if (count == 0)
        return LMN_OK;
    if (layout->is_view)
        return append_views(layout, array, first, count, builder, err);
    start = lmn__view_offset(array, width, first);
    bytes = lmn__view_offset(array, width, first + count) - start;
    st = lmn__builder_extend_variable(builder, count, bytes, &offsets, &data, &base, err);
    if (st != LMN_OK)
        return st;
    if (bytes != 0)
        memcpy(data, (const uint8_t *)array->buffers[2] + start, bytes);
    if (width == 4) {
        uint32_t shift = (uint32_t)(base - start);

        for (uint64_t i = 0; i < count; i++)
            lmn__store_u32(offsets + i * 4,
                           (uint32_t)lmn__view_offset(array, 4, first + 1 + i) + shift);
    } else {
        for (uint64_t i = 0; i < count; i++)
            lmn__store_u64(offsets + i * 8,
                           lmn__view_offset(array, 8, first + 1 + i) + (base - start));
    }
    return LMN_OK;
}

static enum lmn_status append_fixed(const struct lmn__layout *layout,
                                    const struct ArrowArray *array, uint64_t first, uint64_t count,
                                    struct lmn__builder *builder, struct lmn_error *err)
{
    const uint8_t *values = array->buffers[1];
    uint64_t from = (uint64_t)array->offset + first;

    if (layout->bits == 1)
        return lmn__builder_put_bits(builder, values, from, count, err);
    return lmn__vec_put(&builder->values, builder->env->pool, values + from * (layout->bits / 8),
                        count * (layout->bits / 8), err);
}

static enum lmn_status append_lists(const struct lmn__layout *layout,
                                    const struct ArrowArray *array, uint64_t first, uint64_t count,
                                    struct lmn__builder *builder, struct lmn_error *err)
{
    uint32_t width = layout->bits / 8;
    uint64_t start = count != 0 ? lmn__view_offset(array, width, first) : 0;
    uint64_t end = count != 0 ? lmn__view_offset(array, width, first + count) : 0;
    uint64_t base = builder->child[0].length;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t offset = base + lmn__view_offset(array, width, first + i) - start;

        st = lmn__vec_put(&builder->offsets, builder->env->pool, &offset, width, err);
    }
    return st != LMN_OK ? st
                        : lmn__view_append(layout->child[0], array->children[0], start, end - start,
                                           &builder->child[0], err);
}

enum lmn_status lmn__view_append(const struct lmn__layout *layout, const struct ArrowArray *array,
                                 uint64_t first, uint64_t count, struct lmn__builder *builder,
                                 struct lmn_error *err)
{
    enum lmn_status st = append_slots(array, first, count, builder, err);

    return st != LMN_OK ? st : lmn__view_append_values(layout, array, first, count, builder, err);
}

enum lmn_status lmn__view_append_values(const struct lmn__layout *layout,
                                        const struct ArrowArray *array, uint64_t first,
                                        uint64_t count, struct lmn__builder *builder,
                                        struct lmn_error *err)
{
    uint64_t from = (uint64_t)array->offset + first;
    enum lmn_status st = LMN_OK;

    switch (layout->kind) {
    case LMN__LAYOUT_FIXED:
        return append_fixed(layout, array, first, count, builder, err);
    case LMN__LAYOUT_VARIABLE:
        return append_variable(layout, array, first, count, builder, err);
    case LMN__LAYOUT_LIST:
        return append_lists(layout, array, first, count, builder, err);
    case LMN__LAYOUT_FIXED_LIST:
        return lmn__view_append(layout->child[0], array->children[0], from * layout->dimension,
                                count * layout->dimension, &builder->child[0], err);
    case LMN__LAYOUT_STRUCT:
        for (uint32_t i = 0; st == LMN_OK && i < layout->child_count; i++)
            st = lmn__view_append(layout->child[i], array->children[i], from, count,
                                  &builder->child[i], err);
        return st;
    default:
        return LMN_OK;
    }
}
