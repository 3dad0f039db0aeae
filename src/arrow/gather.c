/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/gather.h"

#include <string.h>

#include "arrow/dictionaries.h"
#include "arrow/view.h"
#include "base/math.h"

/* What is copied: slot index[i] of array[part[i]], for `count` of them. */
struct gather {
    const struct ArrowArray *const *array;
    uint32_t array_count;
    const uint32_t *part; /* NULL: all from array[0] */
    const uint64_t *index;
    uint64_t count;
};

static inline const struct ArrowArray *array_of(const struct gather *gather, uint64_t i)
{
    return gather->array[gather->part != NULL ? gather->part[i] : 0];
}

static enum lmn_status gather_into(struct gather gather, struct lmn__builder *builder,
                                   struct lmn_error *err);

static bool has_nulls(const struct gather *gather)
{
    for (uint32_t i = 0; i < gather->array_count; i++) {
        if (lmn__view_validity(gather->array[i]) != NULL)
            return true;
    }
    return false;
}

static enum lmn_status gather_slots(const struct gather *gather, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    uint64_t nulls = 0;
    enum lmn_status st;

    if (builder->layout->kind == LMN__LAYOUT_NULL)
        return lmn__builder_add_null(builder, gather->count, err);
    if (!has_nulls(gather))
        return lmn__builder_add_valid(builder, gather->count, err);
    st = lmn__builder_need_validity(builder, gather->count, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < gather->count; i++) {
        bool valid = !lmn__view_is_null(array_of(gather, i), gather->index[i]);

        lmn__bit_put(builder->validity.data, builder->length + i, valid);
        nulls += !valid;
    }
    builder->length += gather->count;
    builder->null_count += nulls;
    return LMN_OK;
}

static enum lmn_status gather_bits(const struct gather *gather, struct lmn__builder *builder,
                                   struct lmn_error *err)
{
    enum lmn_status st = lmn__builder_put_bits(builder, NULL, 0, gather->count, err);

    for (uint64_t i = 0; st == LMN_OK && i < gather->count; i++) {
        const struct ArrowArray *array = array_of(gather, i);

        lmn__bit_put(builder->values.data, builder->length - gather->count + i,
                     lmn__bit_get(array->buffers[1], (uint64_t)array->offset + gather->index[i]));
    }
    return st;
}

static enum lmn_status gather_fixed(const struct gather *gather, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    uint32_t bytes = builder->layout->bits / 8;
    uint8_t *at;
    enum lmn_status st;

    if (builder->layout->bits == 1)
        return gather_bits(gather, builder, err);
    st = lmn__builder_extend(builder, gather->count, &at, err);
    for (uint64_t i = 0; st == LMN_OK && i < gather->count; i++, at += bytes) {
        const struct ArrowArray *array = array_of(gather, i);
        const uint8_t *from = (const uint8_t *)array->buffers[1] +
                              ((uint64_t)array->offset + gather->index[i]) * bytes;

        if (bytes == 8)
            memcpy(at, from, 8);
        else if (bytes == 4)
            memcpy(at, from, 4);
        else
            memcpy(at, from, bytes);
    }
    return st;
}

/* Views, as plain strings. */
static enum lmn_status gather_views(const struct gather *gather, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    const struct lmn__layout *layout = builder->layout;
    uint64_t bytes = 0, base;
    uint8_t *offsets, *data;
    enum lmn_status st;

    for (uint64_t i = 0; i < gather->count; i++)
        bytes += lmn__view_bytes(layout, array_of(gather, i), gather->index[i]).len;
    st = lmn__builder_extend_variable(builder, gather->count, bytes, &offsets, &data, &base, err);
    for (uint64_t i = 0; st == LMN_OK && i < gather->count; i++) {
        struct lmn__span from = lmn__view_bytes(layout, array_of(gather, i), gather->index[i]);

        if (from.len != 0)
            memcpy(data, from.data, from.len);
        data += from.len;
        base += from.len;
        lmn__store_u32(offsets + i * 4, (uint32_t)base);
    }
    return st;
}

static enum lmn_status gather_variable(const struct gather *gather, struct lmn__builder *builder,
                                       struct lmn_error *err)
{
    uint32_t width = builder->layout->bits / 8;
    uint64_t bytes = 0, base;
    uint8_t *offsets, *data;
    enum lmn_status st;

    if (builder->layout->is_view)
        return gather_views(gather, builder, err);
    for (uint64_t i = 0; i < gather->count; i++)
        bytes += lmn__view_offset(array_of(gather, i), width, gather->index[i] + 1) -
                 lmn__view_offset(array_of(gather, i), width, gather->index[i]);
    st = lmn__builder_extend_variable(builder, gather->count, bytes, &offsets, &data, &base, err);
    for (uint64_t i = 0; st == LMN_OK && i < gather->count; i++) {
        const struct ArrowArray *array = array_of(gather, i);
        uint64_t from = lmn__view_offset(array, width, gather->index[i]);
        uint64_t len = lmn__view_offset(array, width, gather->index[i] + 1) - from;

        if (len != 0)
            memcpy(data, (const uint8_t *)array->buffers[2] + from, len);
        data += len;
        base += len;
        lmn__store_uint(offsets + i * width, width, base);
    }
    return st;
}

/* The same child of all arrays; the caller frees it. */
static const struct ArrowArray **child_of_all(const struct gather *gather, struct lmn_env *env,
                                              int64_t child)
{
    const struct ArrowArray **all = lmn__calloc(env, gather->array_count, sizeof *all);

    for (uint32_t i = 0; all != NULL && i < gather->array_count; i++)
        all[i] = gather->array[i]->children[child];
    return all;
}

/* The children of `count` runs of items: run i is [start[i], start[i] + len[i]). */
static enum lmn_status gather_items(const struct gather *gather, uint64_t total,
                                    const uint64_t *start, const uint64_t *len,
                                    struct lmn__builder *child, struct lmn_error *err)
{
    struct lmn_env *env = child->env;
    const struct ArrowArray **array = child_of_all(gather, env, 0);
    uint64_t *index = lmn__calloc(env, total, sizeof *index), at = 0;
    uint32_t *part = gather->part != NULL ? lmn__calloc(env, total, sizeof *part) : NULL;
    enum lmn_status st;

    if (array == NULL || index == NULL || (gather->part != NULL && part == NULL)) {
        st = lmn__no_memory(err, "items to gather", total * sizeof *index);
        goto done;
    }
    for (uint64_t i = 0; i < gather->count; i++) {
        for (uint64_t k = 0; k < len[i]; k++) {
            if (part != NULL)
                part[at] = gather->part[i];
            index[at++] = start[i] + k;
        }
    }
    st = gather_into((struct gather){ array, gather->array_count, part, index, total }, child, err);
done:
    lmn__free(env, array);
    lmn__free(env, index);
    lmn__free(env, part);
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
        const struct ArrowArray *array = array_of(gather, i);
        uint64_t k = gather->index[i];

        start[i] = fixed ? ((uint64_t)array->offset + k) * layout->dimension
                         : lmn__view_offset(array, width, k);
        len[i] = fixed ? layout->dimension : lmn__view_offset(array, width, k + 1) - start[i];
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

static bool has_offset(const struct gather *gather)
{
    for (uint32_t i = 0; i < gather->array_count; i++) {
        if (gather->array[i]->offset != 0)
            return true;
    }
    return false;
}

static enum lmn_status gather_children(const struct gather *gather, struct lmn__builder *builder,
                                       struct lmn_error *err)
{
    struct lmn_env *env = builder->env;
    struct gather below = *gather;
    uint64_t *shifted = NULL;
    enum lmn_status st = LMN_OK;

    if (has_offset(gather)) {
        shifted = lmn__calloc(env, gather->count, sizeof *shifted);
        if (shifted == NULL)
            return lmn__no_memory(err, "rows to gather", gather->count * sizeof *shifted);
        for (uint64_t i = 0; i < gather->count; i++)
            shifted[i] = gather->index[i] + (uint64_t)array_of(gather, i)->offset;
        below.index = shifted;
    }
    for (uint32_t i = 0; st == LMN_OK && i < builder->layout->child_count; i++) {
        const struct ArrowArray **array = child_of_all(gather, env, i);

        below.array = array;
        st = array != NULL ? gather_into(below, &builder->child[i], err)
                           : lmn__no_memory(err, "arrays to gather", gather->array_count);
        lmn__free(env, array);
    }
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
    st = gather_into((struct gather){ &dictionary, 1, NULL, index, count }, builder, err);
    lmn__free(builder->env, index);
    return st;
}

static enum lmn_status gather_dictionary(const struct gather *gather, struct lmn__builder *builder,
                                         struct lmn_error *err)
{
    enum lmn_status st;

    if (gather->array_count != 1)
        return lmn__dictionaries_gather(gather->array, gather->array_count, gather->part,
                                        gather->index, gather->count, builder, err);
    st = gather_fixed(gather, builder, err);
    return st != LMN_OK ? st
                        : copy_dictionary(gather->array[0]->dictionary, &builder->child[0], err);
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
        return gather_dictionary(&gather, builder, err);
    }
    return LMN_OK;
}

enum lmn_status lmn__arrays_gather(struct lmn_env *env, const struct lmn__layout *layout,
                                   const struct ArrowArray *const *array, uint32_t array_count,
                                   const uint32_t *part, const uint64_t *index, uint64_t count,
                                   struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn__builder builder;
    enum lmn_status st = lmn__builder_init(&builder, env, layout, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    st = gather_into((struct gather){ array, array_count, part, index, count }, &builder, err);
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__builder_deinit(&builder);
    return st;
}

enum lmn_status lmn__array_gather(struct lmn_env *env, const struct lmn__layout *layout,
                                  const struct ArrowArray *array, const uint64_t *index,
                                  uint64_t count, struct ArrowArray *array_out,
                                  struct lmn_error *err)
{
    return lmn__arrays_gather(env, layout, &array, 1, NULL, index, count, array_out, err);
}
