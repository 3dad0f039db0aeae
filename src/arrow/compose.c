/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/compose.h"

#include "arrow/builder.h"

struct composed {
    struct lmn_env *env;    /* counted */
    struct ArrowArray base; /* keeps the buffers; its children that were not moved out go with it */
    const void *buffer[1];  /* without a base */
    struct ArrowArray **children;
    struct ArrowArray child[];
};

static void composed_release(struct ArrowArray *array)
{
    struct composed *composed = array->private_data;
    struct lmn_env *env = composed->env;

    for (int64_t i = 0; i < array->n_children; i++)
        lmn__array_release(array->children[i]);
    lmn__array_release(&composed->base);
    lmn__free(env, composed->children);
    lmn__free(env, composed);
    array->release = NULL;
    lmn_env_release(env);
}

enum lmn_status lmn__array_compose(struct lmn_env *env, uint64_t length, uint32_t child_count,
                                   struct ArrowArray *array_out, struct lmn_error *err)
{
    struct composed *composed = lmn__calloc(
        env, 1, sizeof *composed + child_count * sizeof composed->child[0]);
    struct ArrowArray **children = lmn__calloc(env, child_count, sizeof *children);

    *array_out = (struct ArrowArray){ 0 };
    if (composed == NULL || children == NULL) {
        lmn__free(env, composed);
        lmn__free(env, children);
        return lmn__no_memory(err, "an array", child_count * sizeof composed->child[0]);
    }
    composed->env = lmn_env_acquire(env);
    composed->children = children;
    for (uint32_t i = 0; i < child_count; i++)
        children[i] = &composed->child[i];
    *array_out = (struct ArrowArray){ .length = (int64_t)length,
                                      .n_buffers = 1,
                                      .n_children = child_count,
                                      .buffers = composed->buffer,
                                      .children = children,
                                      .release = composed_release,
                                      .private_data = composed };
    return LMN_OK;
}

void lmn__array_compose_onto(struct ArrowArray *array, struct ArrowArray *base)
{
    struct composed *composed = array->private_data;

    array->length = base->length;
    array->null_count = base->null_count;
    array->offset = base->offset;
    array->n_buffers = base->n_buffers;
    array->buffers = base->buffers;
    lmn__array_move(base, &composed->base);
}

enum lmn_status lmn__array_nulls(struct lmn_env *env, const struct lmn__layout *layout,
                                 uint64_t length, struct ArrowArray *array_out,
                                 struct lmn_error *err)
{
    struct lmn__builder builder;
    enum lmn_status st = lmn__builder_init(&builder, env, layout, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    st = lmn__builder_add_null(&builder, length, err);
    if (st == LMN_OK)
        st = lmn__builder_put_empty(&builder, length, err);
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__builder_deinit(&builder);
    return st;
}
