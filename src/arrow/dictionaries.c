/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values are looked up in the dictionary that is made by hash, the first time that one of them is
 * used; from then on a table per array says what its index became.
 */
#include "arrow/dictionaries.h"

#include <string.h>

#include "arrow/view.h"
#include "base/hash.h"
#include "base/math.h"

enum { UNKNOWN = 0xffffffff };

struct joined {
    struct lmn__builder *builder;
    const struct lmn__layout *layout; /* of the values */
    uint32_t **map;                   /* for each array: what an index became */
    uint32_t *bucket;                 /* an index of the new dictionary; a power of two of them */
    uint64_t bucket_count;
};

/* A value's bytes; those of a bit are in *bit. */
static struct lmn__span value_of(const struct lmn__layout *layout, const struct ArrowArray *array,
                                 uint64_t i, uint8_t *bit)
{
    uint32_t bytes = layout->bits / 8;

    if (layout->kind == LMN__LAYOUT_VARIABLE)
        return lmn__view_bytes(layout, array, i);
    if (layout->bits != 1)
        return (struct lmn__span){
            (const uint8_t *)array->buffers[1] + ((uint64_t)array->offset + i) * bytes, bytes
        };
    *bit = lmn__bit_get(array->buffers[1], (uint64_t)array->offset + i);
    return (struct lmn__span){ bit, 1 };
}

/* Value number `i` of the dictionary that is made. */
static struct lmn__span made_value(const struct joined *joined, uint64_t i, uint8_t *bit)
{
    const struct lmn__builder *made = &joined->builder->child[0];
    uint32_t bytes = joined->layout->bits / 8;

    if (joined->layout->kind == LMN__LAYOUT_VARIABLE) {
        uint64_t from = lmn__load_uint(made->offsets.data + i * bytes, bytes);

        return (struct lmn__span){ made->values.data + from,
                                   lmn__load_uint(made->offsets.data + (i + 1) * bytes, bytes) -
                                       from };
    }
    if (joined->layout->bits != 1)
        return (struct lmn__span){ made->values.data + i * bytes, bytes };
    *bit = lmn__bit_get(made->values.data, i);
    return (struct lmn__span){ bit, 1 };
}

/* The index of a value in the new dictionary, to which it is added if it is not there. */
static enum lmn_status find_value(struct joined *joined, const struct ArrowArray *dictionary,
                                  uint64_t i, uint32_t *index_out, struct lmn_error *err)
{
    struct lmn__builder *made = &joined->builder->child[0];
    bool is_null = lmn__view_is_null(dictionary, i);
    uint8_t bit, other_bit;
    struct lmn__span value = is_null ? (struct lmn__span){ NULL, 0 }
                                     : value_of(joined->layout, dictionary, i, &bit);
    uint64_t at = is_null ? 0 : lmn__hash64(value.data, value.len);

    for (;; at++) {
        uint32_t *bucket = &joined->bucket[at & (joined->bucket_count - 1)];
        struct lmn__span other;

        if (*bucket == UNKNOWN) {
            *bucket = *index_out = (uint32_t)made->length;
            if (made->length == joined->builder->layout->dimension)
                return lmn_fail(err, LMN_E_INVALID,
                                "more than %u values in the dictionary of a batch: ask for fewer "
                                "rows at once",
                                joined->builder->layout->dimension);
            return lmn__view_append(joined->layout, dictionary, i, 1, made, err);
        }
        if (is_null != (made->has_validity && !lmn__bit_get(made->validity.data, *bucket)))
            continue;
        other = is_null ? value : made_value(joined, *bucket, &other_bit);
        if (other.len == value.len &&
            (value.len == 0 || memcmp(other.data, value.data, value.len) == 0)) {
            *index_out = *bucket;
            return LMN_OK;
        }
    }
}

static enum lmn_status gather_indices(struct joined *joined, const struct ArrowArray *const *array,
                                      const uint32_t *part, const uint64_t *index, uint64_t count,
                                      struct lmn_error *err)
{
    uint32_t width = joined->builder->layout->bits / 8;
    uint8_t *at;
    enum lmn_status st = lmn__builder_extend(joined->builder, count, &at, err);

    for (uint64_t i = 0; st == LMN_OK && i < count; i++, at += width) {
        const struct ArrowArray *from = array[part[i]];
        uint64_t slot = (uint64_t)from->offset + index[i];
        uint32_t *known;

        lmn__store_uint(at, width, 0);
        if (lmn__view_is_null(from, index[i]))
            continue;
        known = &joined->map[part[i]][lmn__load_uint(
            (const uint8_t *)from->buffers[1] + slot * width, width)];
        if (*known == UNKNOWN)
            st = find_value(joined, from->dictionary, (uint64_t)(known - joined->map[part[i]]),
                            known, err);
        lmn__store_uint(at, width, *known);
    }
    return st;
}

/* Tables in one piece of memory, all of them empty. */
static enum lmn_status make_tables(struct joined *joined, const struct ArrowArray *const *array,
                                   uint32_t array_count, uint64_t count, struct lmn_error *err)
{
    struct lmn_env *env = joined->builder->env;
    uint64_t total = 0;
    uint32_t *at;

    for (uint32_t i = 0; i < array_count; i++)
        total += (uint64_t)array[i]->dictionary->length;
    joined->bucket_count = 16;
    while (joined->bucket_count < 2 * lmn__min_u64(total, count))
        joined->bucket_count *= 2;
    joined->map = lmn__calloc(env, array_count, sizeof *joined->map);
    joined->bucket = lmn__calloc(env, joined->bucket_count + total, sizeof *joined->bucket);
    if (joined->map == NULL || joined->bucket == NULL)
        return lmn__no_memory(err, "a dictionary", total * sizeof *joined->bucket);
    memset(joined->bucket, 0xff, (joined->bucket_count + total) * sizeof *joined->bucket);
    at = joined->bucket + joined->bucket_count;
    for (uint32_t i = 0; i < array_count; i++) {
        joined->map[i] = at;
        at += array[i]->dictionary->length;
    }
    return LMN_OK;
}

enum lmn_status lmn__dictionaries_gather(const struct ArrowArray *const *array,
                                         uint32_t array_count, const uint32_t *part,
                                         const uint64_t *index, uint64_t count,
                                         struct lmn__builder *builder, struct lmn_error *err)
{
    struct joined joined = { .builder = builder, .layout = builder->layout->child[0] };
    enum lmn_status st;

    if (joined.layout->kind != LMN__LAYOUT_VARIABLE && joined.layout->kind != LMN__LAYOUT_FIXED)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "a dictionary of lists or structs");
    st = make_tables(&joined, array, array_count, count, err);
    if (st == LMN_OK)
        st = gather_indices(&joined, array, part, index, count, err);
    lmn__free(builder->env, joined.map);
    lmn__free(builder->env, joined.bucket);
    return st;
}

/* The index of every value; nulls have none. */
static enum lmn_status index_values(struct joined *joined, const struct ArrowArray *values,
                                    struct lmn_error *err)
{
    uint64_t count = (uint64_t)values->length;
    const uint8_t *validity = lmn__view_validity(values);
    uint32_t width = joined->builder->layout->bits / 8, index = 0;
    uint8_t *at = NULL;
    enum lmn_status st = validity != NULL
                             ? lmn__builder_add_bits(joined->builder, validity,
                                                     (uint64_t)values->offset, count, err)
                             : lmn__builder_add_valid(joined->builder, count, err);

    if (st == LMN_OK)
        st = lmn__builder_extend(joined->builder, count, &at, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++, at += width) {
        bool is_null = lmn__view_is_null(values, i);

        if (!is_null)
            st = find_value(joined, values, i, &index, err);
        lmn__store_uint(at, width, is_null ? 0 : index);
    }
    return st;
}

enum lmn_status lmn__dictionary_make(struct lmn_env *env, const struct lmn__layout *layout,
                                     const struct ArrowArray *values, struct ArrowArray *array_out,
                                     struct lmn_error *err)
{
    struct lmn__builder builder;
    struct joined joined = { .builder = &builder, .layout = layout->child[0], .bucket_count = 16 };
    enum lmn_status st = lmn__builder_init(&builder, env, layout, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    while (joined.bucket_count < 2 * (uint64_t)values->length)
        joined.bucket_count *= 2;
    joined.bucket = lmn__alloc(env, joined.bucket_count * sizeof *joined.bucket);
    if (joined.bucket == NULL) {
        st = lmn__no_memory(err, "a dictionary", joined.bucket_count * sizeof *joined.bucket);
    } else {
        memset(joined.bucket, 0xff, joined.bucket_count * sizeof *joined.bucket);
        st = index_values(&joined, values, err);
    }
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__free(env, joined.bucket);
    lmn__builder_deinit(&builder);
    return st;
}
