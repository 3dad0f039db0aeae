/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/gather.h"

#include <string.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "base/math.h"

/* What is copied: `count` slots of `array`, numbered by `index`. */
struct gather {
    const struct ArrowArray *array;
    const uint64_t *index;
    uint64_t count;
};

static enum lmn_status gather_into(struct gather gather, struct lmn__builder *builder,
                                   struct lmn_error *err);

static enum lmn_status gather_slots(const struct gather *gather, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    const struct ArrowArray *array = gather->array;
    const uint8_t *validity = array->n_buffers > 0 ? array->buffers[0] : NULL;
    uint64_t nulls = 0;
    enum lmn_status st;

    if (builder->layout->kind == LMN__LAYOUT_NULL)
        return lmn__builder_add_null(builder, gather->count, err);
    if (validity == NULL || array->null_count == 0)
        return lmn__builder_add_valid(builder, gather->count, err);
    st = lmn__builder_need_validity(builder, gather->count, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < gather->count; i++) {
        bool valid = lmn__bit_get(validity, (uint64_t)array->offset + gather->index[i]);

        lmn__bit_put(builder->validity.data, builder->length + i, valid);
        nulls += !valid;
    }
    builder->length += gather->count;
    builder->null_count += nulls;
    return LMN_OK;
}

static enum lmn_status gather_fixed(const struct gather *gather, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    uint32_t bits = builder->layout->bits, bytes = bits / 8;
    const uint8_t *values = gather->array->buffers[1];
    uint64_t offset = (uint64_t)gather->array->offset;
    uint8_t *at;
    enum lmn_status st;

    if (bits == 1) {
        st = lmn__builder_put_bits(builder, NULL, 0, gather->count, err);
        for (uint64_t i = 0; st == LMN_OK && i < gather->count; i++)
            lmn__bit_put(builder->values.data, builder->length - gather->count + i,
                         lmn__bit_get(values, offset + gather->index[i]));
        return st;
    }
    st = lmn__builder_extend(builder, gather->count, &at, err);
    for (uint64_t i = 0; st == LMN_OK && i < gather->count; i++, at += bytes) {
        const uint8_t *from = values + (offset + gather->index[i]) * bytes;

        if (bytes == 8)
            memcpy(at, from, 8);
        else if (bytes == 4)
            memcpy(at, from, 4);
        else
            memcpy(at, from, bytes);
    }
    return st;
}

/* Offset number i of a variable or list array. */
static uint64_t offset_at(const struct ArrowArray *array, uint32_t width, uint64_t i)
{
    return lmn__load_uint(
        (const uint8_t *)array->buffers[1] + ((uint64_t)array->offset + i) * width, width);
}

static enum lmn_status gather_variable(const struct gather *gather, struct lmn__builder *builder,
                                       struct lmn_error *err)
{
    uint32_t width = builder->layout->bits / 8;
    const uint8_t *values = gather->array->buffers[2];
    uint64_t bytes = 0, base;
    uint8_t *offsets, *data;
    enum lmn_status st;

    for (uint64_t i = 0; i < gather->count; i++)
        bytes += offset_at(gather->array, width, gather->index[i] + 1) -
                 offset_at(gather->array, width, gather->index[i]);
    st = lmn__builder_extend_variable(builder, gather->count, bytes, &offsets, &data, &base, err);
    for (uint64_t i = 0; st == LMN_OK && i < gather->count; i++) {
        uint64_t from = offset_at(gather->array, width, gather->index[i]);
        uint64_t len = offset_at(gather->array, width, gather->index[i] + 1) - from;

        if (len != 0)
            memcpy(data, values + from, len);
        data += len;
        base += len;
        lmn__store_uint(offsets + i * width, width, base);
    }
    return st;
}

/* The children of `count` runs of items: run i is [start[i], start[i] + len[i]). */
static enum lmn_status gather_items(const struct gather *gather, uint64_t total,
                                    const uint64_t *start, const uint64_t *len,
                                    struct lmn__builder *child, struct lmn_error *err)
{
    struct lmn_env *env = child->env;
    uint64_t *index = lmn__calloc(env, total, sizeof *index), at = 0;
    enum lmn_status st;

    if (index == NULL)
        return lmn__no_memory(err, "items to gather", total * sizeof *index);
    for (uint64_t i = 0; i < gather->count; i++) {
        for (uint64_t k = 0; k < len[i]; k++)
            index[at++] = start[i] + k;
    }
    st = gather_into((struct gather){ gather->array->children[0], index, total }, child, err);
    lmn__free(env, index);
    return st;
}

static enum lmn_status gather_lists(const struct gather *gather, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    const struct lmn__layout *layout = builder->layout;
    bool fixed = layout->kind == LMN__LAYOUT_FIXED_LIST;
    uint32_t width = layout->bits / 8;
    uint64_t *start = lmn__calloc(builder->env, gather->count, 2 * sizeof *start);
    uint64_t *len, total = 0, base;
    enum lmn_status st = LMN_OK;

    if (start == NULL)
        return lmn__no_memory(err, "lists to gather", gather->count * 2 * sizeof *start);
    len = start + gather->count;
    for (uint64_t i = 0; st == LMN_OK && i < gather->count; i++) {
        uint64_t k = gather->index[i];

        start[i] = fixed ? ((uint64_t)gather->array->offset + k) * layout->dimension
                         : offset_at(gather->array, width, k);
        len[i] = fixed ? layout->dimension : offset_at(gather->array, width, k + 1) - start[i];
        base = builder->child[0].length + total;
        if (!fixed)
            st = lmn__vec_put(&builder->offsets, builder->env->pool, &base, width, err);
        total += len[i];
    }
    if (st == LMN_OK)
        st = gather_items(gather, total, start, len, &builder->child[0], err);
    lmn__free(builder->env, start);
    return st;
}

static enum lmn_status gather_children(const struct gather *gather, struct lmn__builder *builder,
                                       struct lmn_error *err)
{
    struct lmn_env *env = builder->env;
    const uint64_t *index = gather->index;
    uint64_t *shifted = NULL;
    enum lmn_status st = LMN_OK;

    if (gather->array->offset != 0) {
        shifted = lmn__calloc(env, gather->count, sizeof *shifted);
        if (shifted == NULL)
            return lmn__no_memory(err, "rows to gather", gather->count * sizeof *shifted);
        for (uint64_t i = 0; i < gather->count; i++)
            shifted[i] = gather->index[i] + (uint64_t)gather->array->offset;
        index = shifted;
    }
    for (uint32_t i = 0; st == LMN_OK && i < builder->layout->child_count; i++)
        st = gather_into((struct gather){ gather->array->children[i], index, gather->count },
                         &builder->child[i], err);
    lmn__free(env, shifted);
    return st;
}

/* A dictionary stays as it is; only the indices are gathered. */
static enum lmn_status copy_dictionary(const struct ArrowArray *dictionary,
                                       struct lmn__builder *builder, struct lmn_error *err)
{
    uint64_t count = (uint64_t)dictionary->length;
    uint64_t *index = lmn__calloc(builder->env, count, sizeof *index);
    enum lmn_status st;

    if (index == NULL)
        return lmn__no_memory(err, "a dictionary", count * sizeof *index);
    for (uint64_t i = 0; i < count; i++)
        index[i] = i;
    st = gather_into((struct gather){ dictionary, index, count }, builder, err);
    lmn__free(builder->env, index);
    return st;
}

static enum lmn_status gather_into(struct gather gather, struct lmn__builder *builder,
                                   struct lmn_error *err)
{
    enum lmn_status st = gather_slots(&gather, builder, err);

    if (st != LMN_OK)
        return st;
    switch (builder->layout->kind) {
    case LMN__LAYOUT_NULL:
        return LMN_OK;
    case LMN__LAYOUT_FIXED:
        return gather_fixed(&gather, builder, err);
    case LMN__LAYOUT_VARIABLE:
        return gather_variable(&gather, builder, err);
    case LMN__LAYOUT_LIST:
    case LMN__LAYOUT_FIXED_LIST:
        return gather_lists(&gather, builder, err);
    case LMN__LAYOUT_STRUCT:
        return gather_children(&gather, builder, err);
    case LMN__LAYOUT_DICTIONARY:
        st = gather_fixed(&gather, builder, err);
        return st != LMN_OK ? st
                            : copy_dictionary(gather.array->dictionary, &builder->child[0], err);
    }
    return LMN_OK;
}

enum lmn_status lmn__array_gather(struct lmn_env *env, const struct lmn__layout *layout,
                                  const struct ArrowArray *array, const uint64_t *index,
                                  uint64_t count, struct ArrowArray *array_out,
                                  struct lmn_error *err)
{
    struct lmn__builder builder;
    enum lmn_status st = lmn__builder_init(&builder, env, layout, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    st = gather_into((struct gather){ array, index, count }, &builder, err);
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__builder_deinit(&builder);
    return st;
}
