/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A part is a tree of Arrow structs of its own; every one of them holds a reference to the share,
 * because a consumer may move a child out and release it by itself.
 */
#include "arrow/share.h"

#include <string.h>

#include <nanoarrow/nanoarrow.h>

#include "base/bits.h"
#include "base/bytes.h"

struct lmn__share {
    atomic_uint_fast64_t reference_count;
    struct lmn_env *env; /* counted */
    struct ArrowArray array;
};

struct part {
    struct lmn__share *share;
    struct lmn__block *validity;
    struct ArrowArray **children;
    const void **buffers;
    struct ArrowArray array[]; /* the children's structs, then the dictionary's */
};

enum lmn_status lmn__share_new(struct lmn_env *env, struct ArrowArray *array,
                               struct lmn__share **share_out, struct lmn_error *err)
{
    struct lmn__share *share = lmn__alloc(env, sizeof *share);

    *share_out = NULL;
    if (share == NULL)
        return lmn__no_memory(err, "a shared array", sizeof *share);
    atomic_init(&share->reference_count, 1);
    share->env = lmn_env_acquire(env);
    share->array = *array;
    *array = (struct ArrowArray){ 0 };
    *share_out = share;
    return LMN_OK;
}

void lmn__share_release(struct lmn__share *share)
{
    struct lmn_env *env;

    if (share == NULL || atomic_fetch_sub(&share->reference_count, 1) != 1)
        return;
    env = share->env;
    if (share->array.release != NULL)
        share->array.release(&share->array);
    lmn__free(env, share);
    lmn_env_release(env);
}

const struct ArrowArray *lmn__share_array(const struct lmn__share *share)
{
    return &share->array;
}

static void part_release(struct ArrowArray *array)
{
    struct part *part = array->private_data;
    struct lmn__share *share = part->share;

    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL)
            array->children[i]->release(array->children[i]);
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL)
        array->dictionary->release(array->dictionary);
    lmn__block_release(part->validity);
    array->release = NULL;
    lmn__free(share->env, part);
    lmn__share_release(share);
}

/* A copy of the struct alone; children and dictionary are to be made. */
static enum lmn_status part_new(struct lmn__share *share, const struct ArrowArray *from,
                                struct ArrowArray *array_out, struct lmn_error *err)
{
    uint64_t children = (uint64_t)from->n_children, buffers = (uint64_t)from->n_buffers;
    uint64_t structs = children + (from->dictionary != NULL);
    size_t bytes = sizeof(struct part) + structs * sizeof(struct ArrowArray) +
                   (children + buffers) * sizeof(void *);
    struct part *part = lmn__calloc(share->env, 1, bytes);

    if (part == NULL)
        return lmn__no_memory(err, "a part of an array", bytes);
    part->children = (struct ArrowArray **)(part->array + structs);
    part->buffers = (const void **)(part->children + children);
    for (uint64_t i = 0; i < children; i++)
        part->children[i] = &part->array[i];
    if (buffers > 0)
        memcpy(part->buffers, from->buffers, buffers * sizeof *part->buffers);
    atomic_fetch_add(&share->reference_count, 1);
    part->share = share;
    *array_out = *from;
    array_out->buffers = part->buffers;
    array_out->children = children > 0 ? part->children : NULL;
    array_out->dictionary = from->dictionary != NULL ? &part->array[children] : NULL;
    array_out->private_data = part;
    array_out->release = part_release;
    return LMN_OK;
}

static enum lmn_status part_copy(struct lmn__share *share, const struct ArrowArray *from,
                                 struct ArrowArray *array_out, struct lmn_error *err)
{
    enum lmn_status st = part_new(share, from, array_out, err);

    if (st != LMN_OK)
        return st;
    for (int64_t i = 0; st == LMN_OK && i < from->n_children; i++)
        st = part_copy(share, from->children[i], array_out->children[i], err);
    if (st == LMN_OK && from->dictionary != NULL)
        st = part_copy(share, from->dictionary, array_out->dictionary, err);
    if (st != LMN_OK)
        array_out->release(array_out);
    return st;
}

enum lmn_status lmn__share_part(struct lmn__share *share, const struct ArrowArray *part,
                                uint64_t offset, uint64_t count, struct lmn__block *validity,
                                struct ArrowArray *array_out, struct lmn_error *err)
{
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    st = part_copy(share, part, array_out, err);
    if (st != LMN_OK)
        return st;
    if (validity != NULL && part->n_buffers > 0) {
        ((struct part *)array_out->private_data)->validity = lmn__block_acquire(validity);
        array_out->buffers[0] = validity->data;
        array_out->null_count = -1;
    }
    array_out->offset = (int64_t)offset;
    array_out->length = (int64_t)count;
    if (part->n_buffers == 0)
        array_out->null_count = (int64_t)count;
    else if (array_out->buffers[0] == NULL)
        array_out->null_count = 0;
    else if (array_out->null_count != 0)
        array_out->null_count = (int64_t)(count -
                                          lmn__bits_count(array_out->buffers[0], offset, count));
    return LMN_OK;
}

static uint64_t offsets_bytes(const struct ArrowArray *array, bool wide, uint64_t first,
                              uint64_t count, uint64_t *start_out)
{
    const uint8_t *offsets = array->buffers[1];
    uint64_t width = wide ? 8 : 4;

    *start_out = 0;
    if (offsets == NULL || count == 0)
        return 0;
    *start_out = wide ? lmn__load_u64(offsets + first * 8) : lmn__load_u32(offsets + first * 4);
    offsets += (first + count) * width;
    return (wide ? lmn__load_u64(offsets) : lmn__load_u32(offsets)) - *start_out;
}

/* Slots [first, first + count), counted from the start of the buffers. */
static uint64_t range_bytes(const struct ArrowArray *array, const struct ArrowSchema *schema,
                            uint64_t first, uint64_t count)
{
    struct ArrowSchemaView view;
    uint64_t bytes = count / 8, start, items;
    bool wide;

    if (ArrowSchemaViewInit(&view, schema, NULL) != NANOARROW_OK)
        return bytes;
    switch (view.storage_type) {
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_LARGE_BINARY:
        wide = view.storage_type == NANOARROW_TYPE_LARGE_STRING ||
               view.storage_type == NANOARROW_TYPE_LARGE_BINARY;
        return bytes + count * 4 + offsets_bytes(array, wide, first, count, &start);
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_MAP:
    case NANOARROW_TYPE_LARGE_LIST:
        wide = view.storage_type == NANOARROW_TYPE_LARGE_LIST;
        items = offsets_bytes(array, wide, first, count, &start);
        return bytes + count * 4 +
               range_bytes(array->children[0], schema->children[0],
                           start + (uint64_t)array->children[0]->offset, items);
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        items = (uint64_t)view.fixed_size;
        return bytes +
               range_bytes(array->children[0], schema->children[0], first * items, count * items);
    case NANOARROW_TYPE_STRUCT:
        for (int64_t i = 0; i < array->n_children; i++)
            bytes += range_bytes(array->children[i], schema->children[i],
                                 first + (uint64_t)array->children[i]->offset, count);
        return bytes;
    default:
        return bytes + count * (uint64_t)view.layout.element_size_bits[1] / 8;
    }
}

uint64_t lmn__array_bytes(const struct ArrowArray *array, const struct ArrowSchema *schema)
{
    return range_bytes(array, schema, (uint64_t)array->offset, (uint64_t)array->length);
}
