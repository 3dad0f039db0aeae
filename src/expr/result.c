/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/result.h"

#include "arrow/view.h"
#include "base/math.h"
#include "expr/load.h"
#include "expr/wide.h"

enum lmn_status lmn__result_reserve(struct lmn__builder *builder, uint64_t rows,
                                    struct lmn_error *err)
{
    uint64_t bits;

    if (!lmn__mul_u64(rows, builder->layout->bits, &bits))
        return lmn__no_memory(err, "an expression's values", UINT64_MAX);
    switch (builder->layout->kind) {
    case LMN__LAYOUT_FIXED:
        return lmn__vec_reserve(&builder->values, builder->env->pool, lmn__bits_bytes(bits), err);
    case LMN__LAYOUT_VARIABLE:
    case LMN__LAYOUT_LIST:
        return lmn__vec_reserve(&builder->offsets, builder->env->pool, bits / 8 + sizeof(uint64_t),
                                err);
    default:
        return LMN_OK;
    }
}

static enum lmn_status append_slots(struct lmn__frame *frame, const struct lmn__vector *vector,
                                    struct lmn__builder *builder)
{
    if (vector->validity == NULL)
        return lmn__builder_add_valid(builder, frame->count, frame->err);
    if (vector->constant)
        return lmn__vector_is_null(vector, 0)
                   ? lmn__builder_add_null(builder, frame->count, frame->err)
                   : lmn__builder_add_valid(builder, frame->count, frame->err);
    return lmn__builder_add_bits(builder, vector->validity, 0, frame->count, frame->err);
}

static enum lmn_status append_bits(struct lmn__frame *frame, const struct lmn__vector *vector,
                                   struct lmn__builder *builder)
{
    uint8_t spread[LMN__RUN_ROWS / 8];
    const uint8_t *bits = vector->values;

    if (vector->constant) {
        memset(spread, bits[0] & 1 ? 0xff : 0, sizeof spread);
        bits = spread;
    }
    return lmn__builder_put_bits(builder, bits, 0, frame->count, frame->err);
}

static enum lmn_status append_numbers(struct lmn__frame *frame, const struct lmn__type *type,
                                      const struct lmn__vector *vector,
                                      struct lmn__builder *builder)
{
    enum lmn__form form = lmn__type_form(type);
    uint32_t from = lmn__form_bytes(form), to = builder->layout->bits / 8;
    const uint8_t *values = vector->values;
    uint8_t *at;
    enum lmn_status st = lmn__builder_extend(builder, frame->count, &at, frame->err);

    if (st != LMN_OK)
        return st;
    if (!vector->constant && from == to) {
        memcpy(at, values, (size_t)frame->count * to);
        return LMN_OK;
    }
    /* Halves are computed as floats; the low bytes of a 256-bit decimal are the 128-bit one. */
    for (uint32_t i = 0; i < frame->count; i++) {
        const uint8_t *value = values + (size_t)lmn__vector_at(vector, i) * from;
        float single;

        if (type->kind == LMN__KIND_F16) {
            memcpy(&single, value, sizeof single);
            lmn__store_u16(at + (size_t)i * 2, lmn__float_to_half(single));
        } else {
            memcpy(at + (size_t)i * to, value, to);
        }
    }
    return LMN_OK;
}

/* Binaries of fixed size; null ones are zeros. */
static enum lmn_status append_fixed(struct lmn__frame *frame, const struct lmn__vector *vector,
                                    struct lmn__builder *builder)
{
    uint32_t width = builder->layout->bits / 8;
    uint8_t *at;
    enum lmn_status st = lmn__builder_extend(builder, frame->count, &at, frame->err);

    for (uint32_t i = 0; st == LMN_OK && width != 0 && i < frame->count; i++, at += width) {
        struct lmn__span span = lmn__vector_span(vector, i);

        if (!lmn__vector_is_null(vector, i) && span.len == width)
            memcpy(at, span.data, width);
        else
            memset(at, 0, width);
    }
    return st;
}

static enum lmn_status append_spans(struct lmn__frame *frame, const struct lmn__vector *vector,
                                    struct lmn__builder *builder)
{
    uint32_t width = builder->layout->bits / 8;
    uint64_t bytes = 0, base;
    uint8_t *offsets, *data;
    enum lmn_status st;

    for (uint32_t i = 0; i < frame->count; i++)
        bytes += lmn__vector_is_null(vector, i) ? 0 : lmn__vector_span(vector, i).len;
    st = lmn__builder_extend_variable(builder, frame->count, bytes, &offsets, &data, &base,
                                      frame->err);
    for (uint32_t i = 0; st == LMN_OK && i < frame->count; i++) {
        struct lmn__span span = lmn__vector_span(vector, i);

        if (!lmn__vector_is_null(vector, i) && span.len != 0) {
            memcpy(data, span.data, span.len);
            data += span.len;
            base += span.len;
        }
        lmn__store_uint(offsets + (size_t)i * width, width, base);
    }
    return st;
}

/* Nested values, as many consecutive slots at once as there are. */
static enum lmn_status append_nested(struct lmn__frame *frame, const struct lmn__vector *vector,
                                     struct lmn__builder *builder)
{
    const uint64_t *slot = vector->values;
    enum lmn_status st = LMN_OK;
    uint32_t i = 0;

    /* A constant has one slot, which every row repeats. */
    if (vector->constant && !lmn__vector_is_null(vector, 0)) {
        for (; st == LMN_OK && i < frame->count; i++)
            st = lmn__view_append(builder->layout, vector->array, slot[0], 1, builder, frame->err);
        return st;
    }
    while (st == LMN_OK && i < frame->count) {
        bool is_null = lmn__vector_is_null(vector, i);
        uint32_t start = i++;

        while (i < frame->count && lmn__vector_is_null(vector, i) == is_null &&
               (is_null || slot[i] == slot[i - 1] + 1))
            i++;
        if (!is_null) {
            st = lmn__view_append(builder->layout, vector->array, slot[start], i - start, builder,
                                  frame->err);
            continue;
        }
        st = lmn__builder_add_null(builder, i - start, frame->err);
        if (st == LMN_OK)
            st = lmn__builder_put_empty(builder, i - start, frame->err);
    }
    return st;
}

enum lmn_status lmn__result_append(struct lmn__frame *frame, const struct lmn__type *type,
                                   const struct lmn__vector *vector, struct lmn__builder *builder)
{
    enum lmn__form form = lmn__type_form(type);
    enum lmn_status st;

    if (form == LMN__FORM_NULL)
        return lmn__builder_add_null(builder, frame->count, frame->err);
    if (form == LMN__FORM_SLOT)
        return append_nested(frame, vector, builder);
    st = append_slots(frame, vector, builder);
    if (st != LMN_OK)
        return st;
    if (form == LMN__FORM_BITS)
        return append_bits(frame, vector, builder);
    if (form != LMN__FORM_SPAN)
        return append_numbers(frame, type, vector, builder);
    if (builder->layout->kind == LMN__LAYOUT_FIXED)
        return append_fixed(frame, vector, builder);
    return append_spans(frame, vector, builder);
}
