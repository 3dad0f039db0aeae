/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/adopt.h"

#include <string.h>

/* One piece of memory: this, the child pointers, the buffers, the blocks. */
struct adopted {
    struct lmn_env *env; /* counted */
    struct lmn__block **block;
    struct ArrowArray child[]; /* and the dictionary behind them */
};

static void adopted_release(struct ArrowArray *array)
{
    struct adopted *adopted = array->private_data;
    struct lmn_env *env = adopted->env;

    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL)
        array->dictionary->release(array->dictionary);
    for (int64_t i = 0; i < array->n_buffers; i++)
        lmn__block_release(adopted->block[i]);
    array->release = NULL;
    lmn__free(env, adopted);
    lmn_env_release(env);
}

enum lmn_status lmn__adopt_new(struct lmn_env *env, uint32_t buffer_count, uint32_t child_count,
                               bool has_dictionary, struct ArrowArray *array_out,
                               struct lmn_error *err)
{
    uint64_t structs = (uint64_t)child_count + has_dictionary;
    uint64_t bytes = sizeof(struct adopted) + structs * sizeof(struct ArrowArray) +
                     child_count * sizeof(void *) + (uint64_t)buffer_count * 2 * sizeof(void *);
    struct adopted *adopted = lmn__calloc(env, 1, bytes);
    struct ArrowArray **children;

    *array_out = (struct ArrowArray){ 0 };
    if (adopted == NULL)
        return lmn__no_memory(err, "an Arrow array", bytes);
    children = (struct ArrowArray **)(adopted->child + structs);
    for (uint32_t i = 0; i < child_count; i++)
        children[i] = &adopted->child[i];
    adopted->env = lmn_env_acquire(env);
    adopted->block = (struct lmn__block **)(children + child_count);
    array_out->n_buffers = buffer_count;
    array_out->buffers = (const void **)(adopted->block + buffer_count);
    array_out->n_children = child_count;
    array_out->children = child_count != 0 ? children : NULL;
    array_out->dictionary = has_dictionary ? &adopted->child[child_count] : NULL;
    array_out->release = adopted_release;
    array_out->private_data = adopted;
    return LMN_OK;
}

void lmn__adopt_buffer(struct ArrowArray *array, uint32_t i, struct lmn__block *block,
                       const void *data)
{
    struct adopted *adopted = array->private_data;

    adopted->block[i] = block;
    array->buffers[i] = data;
}

enum lmn_status lmn__adopt_zeros(struct lmn_env *env, struct ArrowArray *array, uint32_t i,
                                 size_t bytes, struct lmn_error *err)
{
    struct lmn__block *block;
    enum lmn_status st = lmn__block_new(env->pool, bytes + 1, &block, err);

    if (st != LMN_OK)
        return st;
    memset(block->data, 0, bytes + 1);
    lmn__adopt_buffer(array, i, block, block->data);
    return LMN_OK;
}

enum lmn_status lmn__adopt_share(const struct ArrowArray *array, struct ArrowArray *array_out,
                                 struct lmn_error *err)
{
    const struct adopted *adopted = array->private_data;
    enum lmn_status st = lmn__adopt_new(adopted->env, (uint32_t)array->n_buffers,
                                        (uint32_t)array->n_children, array->dictionary != NULL,
                                        array_out, err);

    if (st != LMN_OK)
        return st;
    array_out->length = array->length;
    array_out->null_count = array->null_count;
    array_out->offset = array->offset;
    for (uint32_t i = 0; i < (uint32_t)array->n_buffers; i++)
        lmn__adopt_buffer(array_out, i,
                          adopted->block[i] != NULL ? lmn__block_acquire(adopted->block[i]) : NULL,
                          array->buffers[i]);
    for (int64_t i = 0; st == LMN_OK && i < array->n_children; i++)
        st = lmn__adopt_share(array->children[i], array_out->children[i], err);
    if (st == LMN_OK && array->dictionary != NULL)
        st = lmn__adopt_share(array->dictionary, array_out->dictionary, err);
    if (st != LMN_OK)
        array_out->release(array_out);
    return st;
}
