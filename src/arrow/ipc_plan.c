/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk is that of ipc_batch.c. A slice is cut to its rows: children of lists are entered with
 * the range that the offsets name, and offsets are written from 0.
 */
#include "arrow/ipc_plan.h"

#include "arrow/view.h"
#include "base/bits.h"
#include "base/hash.h"
#include "base/math.h"

enum { VIEW_BYTES = 16 };

void lmn__ipc_plan_init(struct lmn__ipc_plan *plan, struct lmn_env *env)
{
    *plan = (struct lmn__ipc_plan){ .env = env };
    lmn__buf_init(&plan->nodes, env, 0);
    lmn__buf_init(&plan->buffers, env, 0);
    lmn__buf_init(&plan->variadic, env, 0);
    lmn__buf_init(&plan->pieces, env, 0);
    lmn__buf_init(&plan->copies, env, 0);
}

void lmn__ipc_plan_deinit(struct lmn__ipc_plan *plan)
{
    for (size_t at = 0; at < plan->copies.len; at += sizeof(struct lmn__block *)) {
        struct lmn__block *block;

        memcpy(&block, plan->copies.data + at, sizeof block);
        lmn__block_release(block);
    }
    lmn__buf_deinit(&plan->nodes);
    lmn__buf_deinit(&plan->buffers);
    lmn__buf_deinit(&plan->variadic);
    lmn__buf_deinit(&plan->pieces);
    lmn__buf_deinit(&plan->copies);
}

static void add_piece(struct lmn__ipc_plan *plan, const void *data, uint64_t len)
{
    struct lmn__span piece = { data, len };

    lmn__buf_put_u64(&plan->buffers, plan->body_bytes);
    lmn__buf_put_u64(&plan->buffers, len);
    lmn__buf_put(&plan->pieces, &piece, sizeof piece);
    plan->body_bytes += lmn__align_up(len, LMN__IPC_ALIGN);
}

/* Memory that lives as long as the plan. */
static enum lmn_status make_copy(struct lmn__ipc_plan *plan, uint64_t bytes, uint8_t **data_out,
                                 struct lmn_error *err)
{
    struct lmn__block *block;
    enum lmn_status st = lmn__block_new(plan->env->pool, bytes, &block, err);

    *data_out = NULL;
    if (st != LMN_OK)
        return st;
    lmn__buf_put(&plan->copies, &block, sizeof block);
    if (plan->copies.failed) {
        lmn__block_release(block);
        return lmn__buf_status(&plan->copies, "a batch", err);
    }
    *data_out = block->data;
    return LMN_OK;
}

static enum lmn_status add_bits(struct lmn__ipc_plan *plan, const uint8_t *bits, uint64_t first,
                                uint64_t count, struct lmn_error *err)
{
    uint64_t bytes = lmn__bits_bytes(count);
    uint8_t *copy;
    enum lmn_status st;

    if (first % 8 == 0) {
        add_piece(plan, bits + first / 8, bytes);
        return LMN_OK;
    }
    st = make_copy(plan, bytes, &copy, err);
    if (st != LMN_OK)
        return st;
    copy[bytes - 1] = 0;
    lmn__bits_copy(copy, 0, bits, first, count);
    add_piece(plan, copy, bytes);
    return LMN_OK;
}

static enum lmn_status add_validity(struct lmn__ipc_plan *plan, const struct ArrowArray *array,
                                    uint64_t at, uint64_t count, struct lmn_error *err)
{
    const uint8_t *bits = lmn__view_validity(array);
    uint64_t nulls = bits != NULL ? count - lmn__bits_count(bits, at, count) : 0;

    lmn__buf_put_u64(&plan->nodes, count);
    lmn__buf_put_u64(&plan->nodes, nulls);
    if (nulls != 0)
        return add_bits(plan, bits, at, count, err);
    add_piece(plan, NULL, 0);
    return LMN_OK;
}

static enum lmn_status add_fixed(struct lmn__ipc_plan *plan, const struct lmn__layout *layout,
                                 const struct ArrowArray *array, uint64_t at, uint64_t count,
                                 struct lmn_error *err)
{
    const uint8_t *values = array->buffers[1];
    uint64_t width = layout->bits / 8;

    if (count == 0 || layout->bits == 0) {
        add_piece(plan, NULL, 0);
        return LMN_OK;
    }
    if (layout->bits == 1)
        return add_bits(plan, values, at, count, err);
    add_piece(plan, values + at * width, count * width);
    return LMN_OK;
}

/* Offsets of slots from `first` on; [*from_out, *to_out) is what they enclose. */
static enum lmn_status add_offsets(struct lmn__ipc_plan *plan, const struct lmn__layout *layout,
                                   const struct ArrowArray *array, uint64_t first, uint64_t count,
                                   uint64_t *from_out, uint64_t *to_out, struct lmn_error *err)
{
    static const uint64_t zero;
    uint32_t width = layout->bits / 8;
    const uint8_t *offsets = array->buffers[1];
    uint8_t *copy;
    enum lmn_status st;

    *from_out = *to_out = 0;
    if (count == 0) {
        add_piece(plan, &zero, width);
        return LMN_OK;
    }
    *from_out = lmn__view_offset(array, width, first);
    *to_out = lmn__view_offset(array, width, first + count);
    if (*from_out == 0) {
        add_piece(plan, offsets + ((uint64_t)array->offset + first) * width, (count + 1) * width);
        return LMN_OK;
    }
    st = make_copy(plan, (count + 1) * width, &copy, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i <= count; i++)
        lmn__store_uint(copy + i * width, width,
                        lmn__view_offset(array, width, first + i) - *from_out);
    add_piece(plan, copy, (count + 1) * width);
    return LMN_OK;
}

static enum lmn_status add_variable(struct lmn__ipc_plan *plan, const struct lmn__layout *layout,
                                    const struct ArrowArray *array, uint64_t first, uint64_t count,
                                    struct lmn_error *err)
{
    uint64_t from, to;
    enum lmn_status st = add_offsets(plan, layout, array, first, count, &from, &to, err);

    if (st != LMN_OK)
        return st;
    if (from == to)
        add_piece(plan, NULL, 0);
    else
        add_piece(plan, (const uint8_t *)array->buffers[2] + from, to - from);
    return LMN_OK;
}

/* The views of the slots, and all the buffers they may point into. */
static void add_views(struct lmn__ipc_plan *plan, const struct ArrowArray *array, uint64_t at,
                      uint64_t count)
{
    uint64_t buffers = (uint64_t)array->n_buffers - 3;
    const int64_t *sizes = array->buffers[array->n_buffers - 1];

    add_piece(plan, count != 0 ? (const uint8_t *)array->buffers[1] + at * VIEW_BYTES : NULL,
              count * VIEW_BYTES);
    lmn__buf_put_u64(&plan->variadic, buffers);
    for (uint64_t i = 0; i < buffers; i++)
        add_piece(plan, array->buffers[2 + i], (uint64_t)sizes[i]);
}

static enum lmn_status add_values(struct lmn__ipc_plan *plan, const struct lmn__ipc_type *type,
                                  const struct ArrowArray *array, uint64_t first, uint64_t count,
                                  struct lmn_error *err)
{
    const struct lmn__layout *layout = type->layout;
    uint64_t at = (uint64_t)array->offset + first, from, to;
    enum lmn_status st = LMN_OK;

    switch (layout->kind) {
    case LMN__LAYOUT_NULL:
        return LMN_OK;
    case LMN__LAYOUT_FIXED:
    case LMN__LAYOUT_DICTIONARY:
        return add_fixed(plan, layout, array, at, count, err);
    case LMN__LAYOUT_VARIABLE:
        if (!layout->is_view)
            return add_variable(plan, layout, array, first, count, err);
        add_views(plan, array, at, count);
        return LMN_OK;
    case LMN__LAYOUT_LIST:
        st = add_offsets(plan, layout, array, first, count, &from, &to, err);
        if (st == LMN_OK)
            st = lmn__ipc_plan_add(plan, &type->child[0], array->children[0], from, to - from, err);
        return st;
    case LMN__LAYOUT_FIXED_LIST:
        return lmn__ipc_plan_add(plan, &type->child[0], array->children[0], at * layout->dimension,
                                 count * layout->dimension, err);
    case LMN__LAYOUT_STRUCT:
        for (uint32_t i = 0; st == LMN_OK && i < type->child_count; i++)
            st = lmn__ipc_plan_add(plan, &type->child[i], array->children[i], at, count, err);
        return st;
    }
    return st;
}

enum lmn_status lmn__ipc_plan_add(struct lmn__ipc_plan *plan, const struct lmn__ipc_type *type,
                                  const struct ArrowArray *array, uint64_t first, uint64_t count,
                                  struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (type->layout->kind == LMN__LAYOUT_NULL) {
        lmn__buf_put_u64(&plan->nodes, count);
        lmn__buf_put_u64(&plan->nodes, count);
    } else {
        st = add_validity(plan, array, (uint64_t)array->offset + first, count, err);
    }
    if (st == LMN_OK)
        st = add_values(plan, type, array, first, count, err);
    if (st == LMN_OK)
        st = lmn__buf_status(&plan->nodes, "a batch", err);
    if (st == LMN_OK)
        st = lmn__buf_status(&plan->buffers, "a batch", err);
    if (st == LMN_OK)
        st = lmn__buf_status(&plan->variadic, "a batch", err);
    if (st == LMN_OK)
        st = lmn__buf_status(&plan->pieces, "a batch", err);
    return st;
}

uint64_t lmn__ipc_plan_hash(const struct lmn__ipc_plan *plan)
{
    uint64_t hash = lmn__hash64(plan->nodes.data, plan->nodes.len);

    for (size_t at = 0; at < plan->pieces.len; at += sizeof(struct lmn__span)) {
        struct lmn__span piece;
        uint64_t pair[3];

        memcpy(&piece, plan->pieces.data + at, sizeof piece);
        pair[0] = hash;
        pair[1] = piece.len;
        pair[2] = lmn__hash64(piece.data != NULL ? (const void *)piece.data : "", piece.len);
        hash = lmn__hash64(pair, sizeof pair);
    }
    return hash != 0 ? hash : 1;
}
