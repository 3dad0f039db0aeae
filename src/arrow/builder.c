/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/builder.h"

#include <string.h>

#include "base/bits.h"
#include "base/bytes.h"
#include "base/math.h"

enum lmn_status lmn__builder_init(struct lmn__builder *builder, struct lmn_env *env,
                                  const struct lmn__layout *layout, struct lmn_error *err)
{
    *builder = (struct lmn__builder){ .env = env, .layout = layout };
    if (layout->child_count == 0)
        return LMN_OK;
    builder->child = lmn__calloc(env, layout->child_count, sizeof *builder->child);
    if (builder->child == NULL)
        return lmn__no_memory(err, "a column", layout->child_count * sizeof *builder->child);
    for (uint32_t i = 0; i < layout->child_count; i++) {
        enum lmn_status st = lmn__builder_init(&builder->child[i], env, layout->child[i], err);

        if (st != LMN_OK) {
            lmn__builder_deinit(builder);
            return st;
        }
    }
    return LMN_OK;
}

void lmn__builder_deinit(struct lmn__builder *builder)
{
    if (builder->child != NULL) {
        for (uint32_t i = 0; i < builder->layout->child_count; i++)
            lmn__builder_deinit(&builder->child[i]);
        lmn__free(builder->env, builder->child);
    }
    lmn__vec_deinit(&builder->validity);
    lmn__vec_deinit(&builder->offsets);
    lmn__vec_deinit(&builder->values);
    *builder = (struct lmn__builder){ 0 };
}

enum lmn_status lmn__builder_need_validity(struct lmn__builder *builder, uint64_t count,
                                           struct lmn_error *err)
{
    uint64_t bytes = lmn__bits_bytes(builder->length + count);
    uint64_t have = builder->validity.len;
    enum lmn_status st;

    if (bytes > have) {
        uint8_t *at;

        st = lmn__vec_extend(&builder->validity, builder->env->pool, bytes - have, &at, err);
        if (st != LMN_OK)
            return st;
    }
    if (!builder->has_validity) {
        builder->has_validity = true;
        lmn__bits_fill(builder->validity.data, 0, builder->length, true);
    }
    return LMN_OK;
}

enum lmn_status lmn__builder_add_valid(struct lmn__builder *builder, uint64_t count,
                                       struct lmn_error *err)
{
    if (builder->has_validity) {
        enum lmn_status st = lmn__builder_need_validity(builder, count, err);

        if (st != LMN_OK)
            return st;
        lmn__bits_fill(builder->validity.data, builder->length, count, true);
    }
    builder->length += count;
    return LMN_OK;
}

enum lmn_status lmn__builder_add_null(struct lmn__builder *builder, uint64_t count,
                                      struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (count == 0)
        return LMN_OK;
    if (builder->layout->kind != LMN__LAYOUT_NULL) {
        st = lmn__builder_need_validity(builder, count, err);
        if (st != LMN_OK)
            return st;
        lmn__bits_fill(builder->validity.data, builder->length, count, false);
    }
    builder->length += count;
    builder->null_count += count;
    return LMN_OK;
}

enum lmn_status lmn__builder_add_bits(struct lmn__builder *builder, const uint8_t *bits,
                                      uint64_t first, uint64_t count, struct lmn_error *err)
{
    uint64_t valid = lmn__bits_count(bits, first, count);
    enum lmn_status st;

    if (valid == count)
        return lmn__builder_add_valid(builder, count, err);
    st = lmn__builder_need_validity(builder, count, err);
    if (st != LMN_OK)
        return st;
    lmn__bits_copy(builder->validity.data, builder->length, bits, first, count);
    builder->length += count;
    builder->null_count += count - valid;
    return LMN_OK;
}

enum lmn_status lmn__builder_extend(struct lmn__builder *builder, uint64_t count, uint8_t **at_out,
                                    struct lmn_error *err)
{
    uint64_t bytes;

    *at_out = NULL;
    if (!lmn__mul_u64(count, builder->layout->bits / 8, &bytes))
        return lmn__no_memory(err, "a column", UINT64_MAX);
    return lmn__vec_extend(&builder->values, builder->env->pool, bytes, at_out, err);
}

enum lmn_status lmn__builder_put_bits(struct lmn__builder *builder, const uint8_t *bits,
                                      uint64_t first, uint64_t count, struct lmn_error *err)
{
    uint64_t bytes = lmn__bits_bytes(builder->length), start = builder->length - count;

    if (bytes > builder->values.len) {
        uint8_t *at;
        enum lmn_status st = lmn__vec_extend(&builder->values, builder->env->pool,
                                             bytes - builder->values.len, &at, err);

        if (st != LMN_OK)
            return st;
    }
    if (bits != NULL)
        lmn__bits_copy(builder->values.data, start, bits, first, count);
    else
        lmn__bits_fill(builder->values.data, start, count, false);
    return LMN_OK;
}

enum lmn_status lmn__builder_extend_variable(struct lmn__builder *builder, uint64_t count,
                                             uint64_t bytes, uint8_t **offsets_out,
                                             uint8_t **data_out, uint64_t *base_out,
                                             struct lmn_error *err)
{
    struct lmn__pool *pool = builder->env->pool;
    uint32_t width = builder->layout->bits / 8;
    uint64_t base = builder->values.len, end, offset_bytes;
    enum lmn_status st;

    *offsets_out = *data_out = NULL;
    *base_out = base;
    if (!lmn__add_u64(base, bytes, &end) || end > (width == 4 ? INT32_MAX : INT64_MAX))
        return lmn_fail(err, LMN_E_INVALID,
                        "more than %s bytes of strings or binaries in one batch: ask for fewer "
                        "rows at once",
                        width == 4 ? "2 GiB" : "8 EiB");
    if (!lmn__mul_u64(count, width, &offset_bytes))
        return lmn__no_memory(err, "offsets", UINT64_MAX);
    if (builder->offsets.len == 0) {
        const uint64_t zero = 0;

        st = lmn__vec_reserve(&builder->offsets, pool, offset_bytes + width, err);
        if (st == LMN_OK)
            st = lmn__vec_put(&builder->offsets, pool, &zero, width, err);
        if (st != LMN_OK)
            return st;
    }
    st = lmn__vec_reserve(&builder->values, pool, bytes, err);
    if (st == LMN_OK)
        st = lmn__vec_extend(&builder->offsets, pool, offset_bytes, offsets_out, err);
    if (st != LMN_OK)
        return st;
    *data_out = builder->values.data + base;
    builder->values.len = end;
    return LMN_OK;
}

static enum lmn_status put_empty_variable(struct lmn__builder *builder, uint64_t count,
                                          struct lmn_error *err)
{
    uint32_t width = builder->layout->bits / 8;
    uint8_t *offsets, *data;
    uint64_t base;
    enum lmn_status st = lmn__builder_extend_variable(builder, count, 0, &offsets, &data, &base,
                                                      err);

    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < count; i++)
        lmn__store_uint(offsets + i * width, width, base);
    return LMN_OK;
}

/* Whole slots of a child that stand for nothing: null, with empty values. */
static enum lmn_status put_null_child(struct lmn__builder *child, uint64_t count,
                                      struct lmn_error *err)
{
    enum lmn_status st = lmn__builder_add_null(child, count, err);

    return st != LMN_OK ? st : lmn__builder_put_empty(child, count, err);
}

enum lmn_status lmn__builder_put_empty(struct lmn__builder *builder, uint64_t count,
                                       struct lmn_error *err)
{
    const struct lmn__layout *layout = builder->layout;
    uint64_t bytes;
    uint8_t *at;
    enum lmn_status st = LMN_OK;

    switch (layout->kind) {
    case LMN__LAYOUT_NULL:
        return LMN_OK;
    case LMN__LAYOUT_DICTIONARY:
    case LMN__LAYOUT_FIXED:
        if (layout->bits == 1)
            return lmn__builder_put_bits(builder, NULL, 0, count, err);
        st = lmn__builder_extend(builder, count, &at, err);
        if (st == LMN_OK)
            memset(at, 0, count * (layout->bits / 8));
        return st;
    case LMN__LAYOUT_VARIABLE:
        return put_empty_variable(builder, count, err);
    case LMN__LAYOUT_LIST:
        st = lmn__vec_extend(&builder->offsets, builder->env->pool, count * (layout->bits / 8), &at,
                             err);
        for (uint64_t i = 0; st == LMN_OK && i < count; i++)
            lmn__store_uint(at + i * (layout->bits / 8), layout->bits / 8,
                            builder->child[0].length);
        return st;
    case LMN__LAYOUT_FIXED_LIST:
        if (!lmn__mul_u64(count, layout->dimension, &bytes))
            return lmn__no_memory(err, "a column", UINT64_MAX);
        return put_null_child(&builder->child[0], bytes, err);
    case LMN__LAYOUT_STRUCT:
        for (uint32_t i = 0; st == LMN_OK && i < layout->child_count; i++)
            st = put_null_child(&builder->child[i], count, err);
        return st;
    }
    return LMN_OK;
}

static enum lmn_status bad_builder(const struct lmn__builder *builder, uint64_t length,
                                   struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CORRUPT,
                    "%llu slots with %zu bytes of offsets and %zu bytes of values where %llu were "
                    "expected",
                    (unsigned long long)builder->length, builder->offsets.len, builder->values.len,
                    (unsigned long long)length);
}

/* Are the vectors of this node as long as its slots need? */
static bool vectors_fit(const struct lmn__builder *builder)
{
    const struct lmn__layout *layout = builder->layout;
    uint64_t length = builder->length, bytes;

    switch (layout->kind) {
    case LMN__LAYOUT_FIXED:
    case LMN__LAYOUT_DICTIONARY:
        if (layout->bits == 1)
            return builder->values.len >= lmn__bits_bytes(length);
        return lmn__mul_u64(length, layout->bits / 8, &bytes) && builder->values.len == bytes;
    case LMN__LAYOUT_VARIABLE:
        if (length == 0)
            return builder->offsets.len <= layout->bits / 8;
        return lmn__mul_u64(length + 1, layout->bits / 8, &bytes) && builder->offsets.len == bytes;
    case LMN__LAYOUT_LIST:
        return lmn__mul_u64(length, layout->bits / 8, &bytes) && builder->offsets.len == bytes;
    default:
        return true;
    }
}

enum lmn_status lmn__builder_check(const struct lmn__builder *builder, uint64_t length,
                                   struct lmn_error *err)
{
    const struct lmn__layout *layout = builder->layout;
    uint64_t child_length = length;
    enum lmn_status st = LMN_OK;

    if (builder->length != length || !vectors_fit(builder))
        return bad_builder(builder, length, err);
    if (layout->kind == LMN__LAYOUT_FIXED_LIST &&
        !lmn__mul_u64(length, layout->dimension, &child_length))
        return bad_builder(builder, length, err);
    for (uint32_t i = 0; st == LMN_OK && i < layout->child_count; i++) {
        if (layout->kind == LMN__LAYOUT_LIST || layout->kind == LMN__LAYOUT_DICTIONARY)
            child_length = builder->child[i].length;
        st = lmn__builder_check(&builder->child[i], child_length, err);
    }
    return st;
}
