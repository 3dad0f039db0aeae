/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exported array keeps its blocks in private data and gives them back when it is released.
 * The structs of its children lie in the same piece of memory; a consumer that moves a child out
 * marks it released in its place, as the Arrow interface asks.
 */
#include <string.h>

#include "arrow/builder.h"
#include "base/bits.h"
#include "base/bytes.h"

enum { BUFFER_COUNT_MAX = 3 };

struct export_data {
    struct lmn_env *env; /* counted */
    struct lmn__block *block[BUFFER_COUNT_MAX];
    const void *buffers[BUFFER_COUNT_MAX];
    struct ArrowArray **children;
    struct ArrowArray array[]; /* the children's structs */
};

/* Consumers want a pointer even where there is nothing to read. */
static const uint64_t nothing[8];

static void export_release(struct ArrowArray *array)
{
    struct export_data *data = array->private_data;
    struct lmn_env *env = data->env;

    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL)
        array->dictionary->release(array->dictionary);
    for (int i = 0; i < BUFFER_COUNT_MAX; i++)
        lmn__block_release(data->block[i]);
    lmn__free(env, data->children);
    lmn__free(env, data);
    array->release = NULL;
    lmn_env_release(env);
}

static void move_vec(struct export_data *data, int index, struct lmn__vec *vec, bool required)
{
    data->block[index] = vec->block;
    data->buffers[index] = vec->block != NULL ? vec->data : required ? (const void *)nothing : NULL;
    *vec = (struct lmn__vec){ 0 };
}

static void move_buffers(struct lmn__builder *builder, struct export_data *data,
                         struct ArrowArray *array)
{
    array->n_buffers = 1;
    if (builder->has_validity && builder->null_count != 0)
        move_vec(data, 0, &builder->validity, false);
    switch (builder->layout->kind) {
    case LMN__LAYOUT_NULL:
        array->n_buffers = 0;
        array->null_count = array->length;
        break;
    case LMN__LAYOUT_FIXED:
    case LMN__LAYOUT_DICTIONARY:
        array->n_buffers = 2;
        move_vec(data, 1, &builder->values, true);
        break;
    case LMN__LAYOUT_VARIABLE:
        array->n_buffers = 3;
        move_vec(data, 1, &builder->offsets, true);
        move_vec(data, 2, &builder->values, true);
        break;
    case LMN__LAYOUT_LIST:
        array->n_buffers = 2;
        move_vec(data, 1, &builder->offsets, true);
        break;
    case LMN__LAYOUT_FIXED_LIST:
    case LMN__LAYOUT_STRUCT:
        break;
    }
}

/* The end of the last list; without it Arrow does not know how long that one is. */
static enum lmn_status close_lists(struct lmn__builder *builder, struct lmn_error *err)
{
    uint32_t width = builder->layout->bits / 8;
    uint64_t end = builder->child[0].length;

    if (width == 4 && end > INT32_MAX)
        return lmn_fail(err, LMN_E_INVALID,
                        "a batch of lists holds %llu items, over the limit of 32-bit offsets: ask "
                        "for fewer rows at once",
                        (unsigned long long)end);
    return lmn__vec_put(&builder->offsets, builder->env->pool, &end, width, err);
}

static struct export_data *export_new(struct lmn__builder *builder)
{
    uint32_t count = builder->layout->child_count;
    struct export_data *data = lmn__calloc(builder->env, 1,
                                           sizeof *data + count * sizeof data->array[0]);

    if (data == NULL)
        return NULL;
    data->children = lmn__calloc(builder->env, count, sizeof *data->children);
    if (data->children == NULL) {
        lmn__free(builder->env, data);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++)
        data->children[i] = &data->array[i];
    data->env = lmn_env_acquire(builder->env);
    return data;
}

enum lmn_status lmn__builder_finish(struct lmn__builder *builder, struct ArrowArray *array_out,
                                    struct lmn_error *err)
{
    const struct lmn__layout *layout = builder->layout;
    bool dictionary = layout->kind == LMN__LAYOUT_DICTIONARY;
    struct export_data *data;
    enum lmn_status st = LMN_OK;

    *array_out = (struct ArrowArray){ 0 };
    if (layout->kind == LMN__LAYOUT_LIST)
        st = close_lists(builder, err);
    if (st != LMN_OK)
        return st;
    data = export_new(builder);
    if (data == NULL)
        return lmn__no_memory(err, "an exported array", sizeof *data);
    array_out->length = (int64_t)builder->length;
    array_out->null_count = (int64_t)builder->null_count;
    array_out->buffers = data->buffers;
    array_out->release = export_release;
    array_out->private_data = data;
    move_buffers(builder, data, array_out);
    if (dictionary) {
        array_out->dictionary = &data->array[0];
    } else {
        array_out->children = data->children;
        array_out->n_children = layout->child_count;
    }
    for (uint32_t i = 0; st == LMN_OK && i < layout->child_count; i++)
        st = lmn__builder_finish(&builder->child[i], &data->array[i], err);
    if (st != LMN_OK)
        array_out->release(array_out);
    builder->length = builder->null_count = 0;
    builder->has_validity = false;
    lmn__vec_deinit(&builder->validity);
    return st;
}
