/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/gather.h"

#include <string.h>

#include "arrow/dictionaries.h"
#include "arrow/view.h"
#include "base/math.h"

/*
 * What is copied: runs of neighbouring slots. The rows that are asked for are runs of one slot;
 * the items of a list are one run, and so are those of lists that stand side by side.
 */
struct gather {
    const struct ArrowArray *const *array;
    uint32_t array_count;
    const uint32_t *part;  /* the array of each run; NULL: all from array[0] */
    const uint64_t *first; /* its first slot */
    const uint64_t *len;   /* how many slots it has; NULL: `each` */
    uint64_t each;
    uint64_t run_count;
    uint64_t count; /* slots of all runs */
};

static inline const struct ArrowArray *array_of(const struct gather *gather, uint64_t i)
{
    return gather->array[gather->part != NULL ? gather->part[i] : 0];
}

static inline uint64_t len_of(const struct gather *gather, uint64_t i)
{
    return gather->len != NULL ? gather->len[i] : gather->each;
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

/* Copy bits of each run to `bits`, from bit `to` on; no bits (NULL) are ones. */
static inline void copy_bits(uint8_t *bits, uint64_t to, const uint8_t *from, uint64_t first,
                             uint64_t count)
{
    if (count == 1)
        lmn__bit_put(bits, to, from == NULL || lmn__bit_get(from, first));
    else if (from == NULL)
        lmn__bits_fill(bits, to, count, true);
    else
        lmn__bits_copy(bits, to, from, first, count);
}

static enum lmn_status gather_slots(const struct gather *gather, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    uint64_t at = builder->length;
    enum lmn_status st;

    if (builder->layout->kind == LMN__LAYOUT_NULL)
        return lmn__builder_add_null(builder, gather->count, err);
    if (!has_nulls(gather))
        return lmn__builder_add_valid(builder, gather->count, err);
    st = lmn__builder_need_validity(builder, gather->count, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < gather->run_count; i++) {
        const struct ArrowArray *array = array_of(gather, i);

        copy_bits(builder->validity.data, at, lmn__view_validity(array),
                  (uint64_t)array->offset + gather->first[i], len_of(gather, i));
        at += len_of(gather, i);
    }
    builder->null_count += gather->count -
                           lmn__bits_count(builder->validity.data, builder->length, gather->count);
    builder->length = at;
    return LMN_OK;
}

static enum lmn_status gather_bits(const struct gather *gather, struct lmn__builder *builder,
                                   struct lmn_error *err)
{
    uint64_t at = builder->length - gather->count;
    enum lmn_status st = lmn__builder_put_bits(builder, NULL, 0, gather->count, err);

    for (uint64_t i = 0; st == LMN_OK && i < gather->run_count; i++) {
        const struct ArrowArray *array = array_of(gather, i);
        uint64_t len = len_of(gather, i);

        if (len != 0)
            copy_bits(builder->values.data, at, array->buffers[1],
                      (uint64_t)array->offset + gather->first[i], len);
        at += len;
    }
    return st;
}

static enum lmn_status gather_fixed(const struct gather *gather, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    uint64_t bytes = builder->layout->bits / 8;
    uint8_t *at;
    enum lmn_status st;

    if (builder->layout->bits == 1)
        return gather_bits(gather, builder, err);
    st = lmn__builder_extend(builder, gather->count, &at, err);
    for (uint64_t i = 0; st == LMN_OK && i < gather->run_count; i++) {
        const struct ArrowArray *array = array_of(gather, i);
        uint64_t len = len_of(gather, i) * bytes;
        const uint8_t *from = (const uint8_t *)array->buffers[1] +
                              ((uint64_t)array->offset + gather->first[i]) * bytes;

        if (len == 8)
            memcpy(at, from, 8);
        else if (len == 4)
            memcpy(at, from, 4);
        else if (len != 0)
            memcpy(at, from, len);
        at += len;
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

    for (uint64_t i = 0; i < gather->run_count; i++) {
        for (uint64_t k = 0; k < len_of(gather, i); k++)
            bytes += lmn__view_bytes(layout, array_of(gather, i), gather->first[i] + k).len;
    }
    st = lmn__builder_extend_variable(builder, gather->count, bytes, &offsets, &data, &base, err);
    for (uint64_t i = 0; st == LMN_OK && i < gather->run_count; i++) {
        for (uint64_t k = 0; k < len_of(gather, i); k++, offsets += 4) {
            struct lmn__span from = lmn__view_bytes(layout, array_of(gather, i),
                                                    gather->first[i] + k);

            if (from.len != 0)
                memcpy(data, from.data, from.len);
            data += from.len;
            base += from.len;
            lmn__store_u32(offsets, (uint32_t)base);
        }
    }
    return st;
}

/* Where run i of strings or lists has its bytes or items. */
static void find_items(const struct gather *gather, uint64_t i, uint32_t width, uint64_t *first_out,
                       uint64_t *len_out)
{
    const struct ArrowArray *array = array_of(gather, i);
    uint64_t len = len_of(gather, i);

    *first_out = *len_out = 0;
    if (len == 0)
        return;
    *first_out = lmn__view_offset(array, width, gather->first[i]);
    *len_out = lmn__view_offset(array, width, gather->first[i] + len) - *first_out;
}

static enum lmn_status gather_variable(const struct gather *gather, struct lmn__builder *builder,
                                       struct lmn_error *err)
{
    uint32_t width = builder->layout->bits / 8;
    uint64_t bytes = 0, base, from, len;
    uint8_t *offsets, *data;
    enum lmn_status st;

    if (builder->layout->is_view)
        return gather_views(gather, builder, err);
    for (uint64_t i = 0; i < gather->run_count; i++) {
        find_items(gather, i, width, &from, &len);
        bytes += len;
    }
    st = lmn__builder_extend_variable(builder, gather->count, bytes, &offsets, &data, &base, err);
    for (uint64_t i = 0; st == LMN_OK && i < gather->run_count; i++) {
        const struct ArrowArray *array = array_of(gather, i);

        find_items(gather, i, width, &from, &len);
        if (len != 0)
            memcpy(data, (const uint8_t *)array->buffers[2] + from, len);
        for (uint64_t k = 1; k <= len_of(gather, i); k++, offsets += width)
            lmn__store_uint(offsets, width,
                            base + lmn__view_offset(array, width, gather->first[i] + k) - from);
        data += len;
        base += len;
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

/* The items of fixed lists. */
static enum lmn_status gather_fixed_lists(const struct gather *gather, struct lmn__builder *builder,
                                          struct lmn_error *err)
{
    uint64_t dimension = builder->layout->dimension;
    struct lmn_env *env = builder->env;
    const struct ArrowArray **array = child_of_all(gather, env, 0);
    uint64_t *first = lmn__calloc(env, gather->run_count, sizeof *first);
    uint64_t *len = lmn__calloc(env, gather->run_count, sizeof *len);
    enum lmn_status st = LMN_OK;

    if (array == NULL || first == NULL || len == NULL)
        st = lmn__no_memory(err, "lists to gather", gather->run_count * sizeof *first);
    for (uint64_t i = 0; st == LMN_OK && i < gather->run_count; i++) {
        first[i] = ((uint64_t)array_of(gather, i)->offset + gather->first[i]) * dimension;
        len[i] = len_of(gather, i) * dimension;
    }
    if (st == LMN_OK)
        st = gather_into((struct gather){ .array = array,
                                          .array_count = gather->array_count,
                                          .part = gather->part,
                                          .first = first,
                                          .len = gather->len != NULL ? len : NULL,
                                          .each = gather->each * dimension,
                                          .run_count = gather->run_count,
                                          .count = gather->count * dimension },
                         &builder->child[0], err);
    lmn__free(env, array);
    lmn__free(env, first);
    lmn__free(env, len);
    return st;
}

/* The starts of the lists, which other lists stand before, and the runs of their items. */
static enum lmn_status put_starts(const struct gather *gather, struct lmn__builder *builder,
                                  uint64_t *first, uint64_t *len, uint64_t *total_out,
                                  struct lmn_error *err)
{
    uint32_t width = builder->layout->bits / 8;
    enum lmn_status st = LMN_OK;

    *total_out = 0;
    for (uint64_t i = 0; st == LMN_OK && i < gather->run_count; i++) {
        uint64_t base = builder->child[0].length + *total_out;

        find_items(gather, i, width, &first[i], &len[i]);
        for (uint64_t k = 0; st == LMN_OK && k < len_of(gather, i); k++) {
            uint64_t start = base - first[i] +
                             lmn__view_offset(array_of(gather, i), width, gather->first[i] + k);

            st = lmn__vec_put(&builder->offsets, builder->env->pool, &start, width, err);
        }
        *total_out += len[i];
    }
    return st;
}

static enum lmn_status gather_lists(const struct gather *gather, struct lmn__builder *builder,
                                    struct lmn_error *err)
{
    struct lmn_env *env = builder->env;
    const struct ArrowArray **array = child_of_all(gather, env, 0);
    uint64_t *first = lmn__calloc(env, gather->run_count, sizeof *first);
    uint64_t *len = lmn__calloc(env, gather->run_count, sizeof *len), total = 0;
    enum lmn_status st = array != NULL && first != NULL && len != NULL
                             ? put_starts(gather, builder, first, len, &total, err)
                             : lmn__no_memory(err, "lists to gather",
                                              gather->run_count * sizeof *first);

    if (st == LMN_OK)
        st = gather_into((struct gather){ .array = array,
                                          .array_count = gather->array_count,
                                          .part = gather->part,
                                          .first = first,
                                          .len = len,
                                          .run_count = gather->run_count,
                                          .count = total },
                         &builder->child[0], err);
    lmn__free(env, array);
    lmn__free(env, first);
    lmn__free(env, len);
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
        shifted = lmn__calloc(env, gather->run_count, sizeof *shifted);
        if (shifted == NULL)
            return lmn__no_memory(err, "rows to gather", gather->run_count * sizeof *shifted);
        for (uint64_t i = 0; i < gather->run_count; i++)
            shifted[i] = gather->first[i] + (uint64_t)array_of(gather, i)->offset;
        below.first = shifted;
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
    const uint64_t first = 0;

    return gather_into((struct gather){ .array = &dictionary,
                                        .array_count = 1,
                                        .first = &first,
                                        .each = (uint64_t)dictionary->length,
                                        .run_count = 1,
                                        .count = (uint64_t)dictionary->length },
                       builder, err);
}

/* Dictionaries become one, which looks at every slot. */
static enum lmn_status join_dictionaries(const struct gather *gather, struct lmn__builder *builder,
                                         struct lmn_error *err)
{
    struct lmn_env *env = builder->env;
    uint64_t *index = lmn__calloc(env, gather->count, sizeof *index), at = 0;
    uint32_t *part = lmn__calloc(env, gather->count, sizeof *part);
    enum lmn_status st = LMN_OK;

    if (index == NULL || part == NULL)
        st = lmn__no_memory(err, "rows to gather", gather->count * sizeof *index);
    for (uint64_t i = 0; st == LMN_OK && i < gather->run_count; i++) {
        for (uint64_t k = 0; k < len_of(gather, i); k++, at++) {
            index[at] = gather->first[i] + k;
            part[at] = gather->part[i];
        }
    }
    if (st == LMN_OK)
        st = lmn__dictionaries_gather(gather->array, gather->array_count, part, index,
                                      gather->count, builder, err);
    lmn__free(env, index);
    lmn__free(env, part);
    return st;
}

static enum lmn_status gather_dictionary(const struct gather *gather, struct lmn__builder *builder,
                                         struct lmn_error *err)
{
    enum lmn_status st;

    if (gather->array_count != 1)
        return join_dictionaries(gather, builder, err);
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
        return gather_lists(&gather, builder, err);
    case LMN__LAYOUT_FIXED_LIST:
        return gather_fixed_lists(&gather, builder, err);
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
    st = gather_into((struct gather){ .array = array,
                                      .array_count = array_count,
                                      .part = part,
                                      .first = index,
                                      .each = 1,
                                      .run_count = count,
                                      .count = count },
                     &builder, err);
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
