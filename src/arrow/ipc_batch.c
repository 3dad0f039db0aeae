/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A RecordBatch lists, in the order of a walk that meets parents before children, a node
 * (length, nulls) for every field and its buffers. The walk below takes them in that order:
 *
 *   null                     no buffers
 *   fixed width, dictionary  validity, values
 *   strings, binaries        validity, offsets, bytes
 *   views                    validity, views, and as many buffers as the variadic counts say
 *   lists, maps              validity, offsets; the child
 *   fixed lists, structs     validity; the children
 *
 * Arrow's own validation multiplies lengths without care, so every check is made here.
 *
 * A string that is no text is told with its row: on the way up from its slot, each node that has
 * lists in between turns the slot of its child into its own.
 */
#include "arrow/ipc_batch.h"

#include "arrow/adopt.h"
#include "arrow/view.h"
#include "base/bits.h"
#include "base/error.h"
#include "base/math.h"
#include "base/utf8.h"

enum { VIEW_BYTES = 16, VIEW_INLINE_MAX = 12, VARIADIC_MAX = 1 << 20 };

struct walk {
    const struct lmn__ipc_body *body;
    const struct lmn__ipc_dictionaries *dictionaries;
    const uint8_t *nodes, *buffers, *variadic;
    uint32_t nodes_left, buffers_left, variadic_left;
    uint64_t slot; /* of the node at hand, whose string is no text; or LMN__IPC_NO_ROW */
    struct lmn_error *err;
};

struct lmn__ipc_dictionary *lmn__ipc_dictionary_find(
    const struct lmn__ipc_dictionaries *dictionaries, int64_t id)
{
    for (uint32_t i = 0; i < dictionaries->count; i++) {
        if (dictionaries->item[i].id == id)
            return &dictionaries->item[i];
    }
    return NULL;
}

static enum lmn_status take_buffer(struct walk *walk, struct lmn__ipc_buffer *buffer_out)
{
    const uint8_t *at = walk->buffers;

    *buffer_out = (struct lmn__ipc_buffer){ 0 };
    if (walk->buffers_left == 0)
        return lmn_fail(walk->err, LMN_E_CORRUPT, "the batch has fewer buffers than its type");
    walk->buffers_left--;
    walk->buffers += LMN__IPC_BUFFER_BYTES;
    return lmn__ipc_buffer_read(walk->body, (int64_t)lmn__load_u64(at),
                                (int64_t)lmn__load_u64(at + 8), buffer_out, walk->err);
}

/* Buffer `i` of the array: at least `bytes` long. *len_out (may be NULL) is its length. */
static enum lmn_status put_buffer(struct walk *walk, struct ArrowArray *array, uint32_t i,
                                  uint64_t bytes, uint64_t *len_out)
{
    static const uint64_t nothing[2]; /* consumers want a pointer even where nothing is read */
    struct lmn__ipc_buffer buffer;
    enum lmn_status st = take_buffer(walk, &buffer);

    if (st != LMN_OK)
        return st;
    if (len_out != NULL)
        *len_out = buffer.len;
    if (buffer.len < bytes) {
        lmn__block_release(buffer.block);
        return lmn_fail(walk->err, LMN_E_CORRUPT, "a buffer of %zu bytes where %llu are needed",
                        buffer.len, (unsigned long long)bytes);
    }
    lmn__adopt_buffer(array, i, buffer.block, buffer.data != NULL ? buffer.data : (void *)nothing);
    return LMN_OK;
}

static enum lmn_status put_validity(struct walk *walk, struct ArrowArray *array, int64_t nulls)
{
    uint64_t length = (uint64_t)array->length;
    struct lmn__ipc_buffer buffer;
    enum lmn_status st = take_buffer(walk, &buffer);

    if (st != LMN_OK)
        return st;
    if (nulls == 0 || length == 0) {
        lmn__block_release(buffer.block);
        return LMN_OK;
    }
    if (buffer.len < lmn__bits_bytes(length)) {
        lmn__block_release(buffer.block);
        return lmn_fail(walk->err, LMN_E_CORRUPT, "a validity bitmap of %zu bytes for %llu values",
                        buffer.len, (unsigned long long)length);
    }
    array->null_count = (int64_t)(length - lmn__bits_count(buffer.data, 0, length));
    lmn__adopt_buffer(array, 0, buffer.block, buffer.data);
    return LMN_OK;
}

/* Offsets in buffer 1: from 0 up, never back. *end_out is the last one. */
static enum lmn_status put_offsets(struct walk *walk, uint32_t width, struct ArrowArray *array,
                                   uint64_t *end_out)
{
    uint64_t length = (uint64_t)array->length, bytes, before = 0;
    const uint8_t *offsets;
    enum lmn_status st;

    *end_out = 0;
    if (!lmn__mul_u64(length + 1, width, &bytes))
        return lmn_fail(walk->err, LMN_E_CORRUPT, "%llu offsets", (unsigned long long)length);
    /* A batch of no rows may leave its only offset away. */
    st = put_buffer(walk, array, 1, length != 0 ? bytes : 0, NULL);
    if (st != LMN_OK || length == 0)
        return st;
    offsets = array->buffers[1];
    for (uint64_t i = 0; i <= length; i++) {
        uint64_t offset = width == 4 ? lmn__load_u32(offsets + i * 4)
                                     : lmn__load_u64(offsets + i * 8);

        if (offset < before || offset > INT64_MAX)
            return lmn_fail(walk->err, LMN_E_CORRUPT, "offset %llu is %llu, after %llu",
                            (unsigned long long)i, (unsigned long long)offset,
                            (unsigned long long)before);
        before = offset;
    }
    *end_out = before;
    return LMN_OK;
}

static enum lmn_status put_fixed(struct walk *walk, const struct lmn__layout *layout,
                                 struct ArrowArray *array)
{
    uint64_t bits;

    if (!lmn__mul_u64((uint64_t)array->length, layout->bits, &bits))
        return lmn_fail(walk->err, LMN_E_CORRUPT, "%lld values", (long long)array->length);
    return put_buffer(walk, array, 1, lmn__bits_bytes(bits), NULL);
}

static bool is_valid(const struct ArrowArray *array, uint64_t i)
{
    return array->buffers[0] == NULL || lmn__bit_get(array->buffers[0], i);
}

/* Look at strings one by one; what lies under a null does not count. */
static enum lmn_status check_slots(struct walk *walk, const struct lmn__layout *layout,
                                   const struct ArrowArray *array)
{
    for (uint64_t i = 0; i < (uint64_t)array->length; i++) {
        struct lmn__span text = lmn__view_bytes(layout, array, i);
        char shown[LMN__UTF8_SHOWN_BYTES];

        if (!is_valid(array, i) || lmn__utf8_bytes(text) == text.len)
            continue;
        walk->slot = i;
        lmn__utf8_show(text, shown);
        return lmn_fail(walk->err, LMN_E_CORRUPT, "a string that is not UTF-8: \"%s\"", shown);
    }
    return LMN_OK;
}

/* All strings at once are UTF-8, as is each by itself that does not begin inside of a character. */
static bool is_text(const struct lmn__layout *layout, const struct ArrowArray *array, uint64_t end)
{
    const uint8_t *offsets = array->buffers[1], *data = array->buffers[2];
    uint32_t width = layout->bits / 8;
    uint64_t first = array->length != 0 ? lmn__load_uint(offsets, width) : end;

    if (lmn__utf8_bytes((struct lmn__span){ data + first, end - first }) != end - first)
        return false;
    for (uint64_t i = 0; i < (uint64_t)array->length; i++) {
        uint64_t at = lmn__load_uint(offsets + i * width, width);

        if (at < end && (data[at] & 0xc0) == 0x80)
            return false;
    }
    return true;
}

static enum lmn_status put_variable(struct walk *walk, const struct lmn__ipc_type *type,
                                    struct ArrowArray *array)
{
    uint64_t end;
    enum lmn_status st = put_offsets(walk, type->layout->bits / 8, array, &end);

    if (st == LMN_OK)
        st = put_buffer(walk, array, 2, end, NULL);
    if (st != LMN_OK || !walk->body->check_text || !type->is_text ||
        is_text(type->layout, array, end))
        return st;
    return check_slots(walk, type->layout, array);
}

static enum lmn_status check_views(struct walk *walk, const struct ArrowArray *array,
                                   const uint64_t *sizes, uint64_t size_count)
{
    const uint8_t *views = array->buffers[1];

    for (uint64_t i = 0; i < (uint64_t)array->length; i++) {
        const uint8_t *view = views + i * VIEW_BYTES;
        uint32_t len = lmn__load_u32(view);

        if (!is_valid(array, i) || len <= VIEW_INLINE_MAX)
            continue;
        if (len > INT32_MAX || lmn__load_u32(view + 8) >= size_count ||
            !lmn__range_fits(lmn__load_u32(view + 12), len, sizes[lmn__load_u32(view + 8)]))
            return lmn_fail(walk->err, LMN_E_CORRUPT, "view %llu points outside its buffers",
                            (unsigned long long)i);
    }
    return LMN_OK;
}

/* Views have a last buffer in memory that says how long the others are. */
static enum lmn_status put_views(struct walk *walk, const struct lmn__ipc_type *type,
                                 struct ArrowArray *array, uint32_t count)
{
    struct lmn__block *block;
    uint64_t bytes, *sizes;
    enum lmn_status st;

    if (!lmn__mul_u64((uint64_t)array->length, VIEW_BYTES, &bytes))
        return lmn_fail(walk->err, LMN_E_CORRUPT, "%lld views", (long long)array->length);
    st = put_buffer(walk, array, 1, bytes, NULL);
    if (st == LMN_OK)
        st = lmn__block_new(walk->body->env->pool, (count + 1) * sizeof *sizes, &block, walk->err);
    if (st != LMN_OK)
        return st;
    sizes = (uint64_t *)(void *)block->data;
    lmn__adopt_buffer(array, 2 + count, block, sizes);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = put_buffer(walk, array, 2 + i, 0, &sizes[i]);
    if (st == LMN_OK)
        st = check_views(walk, array, sizes, count);
    return st == LMN_OK && walk->body->check_text && type->is_text
               ? check_slots(walk, type->layout, array)
               : st;
}

static enum lmn_status check_indices(struct walk *walk, const struct lmn__layout *layout,
                                     const struct ArrowArray *array)
{
    uint64_t limit = lmn__min_u64((uint64_t)array->dictionary->length, layout->dimension);
    const uint8_t *values = array->buffers[1];
    uint32_t width = layout->bits / 8;

    for (uint64_t i = 0; i < (uint64_t)array->length; i++) {
        uint64_t index = lmn__load_uint(values + i * width, width);

        if (index >= limit && is_valid(array, i))
            return lmn_fail(walk->err, LMN_E_CORRUPT, "index %llu in a dictionary of %llu values",
                            (unsigned long long)index, (unsigned long long)limit);
    }
    return LMN_OK;
}

static enum lmn_status put_dictionary(struct walk *walk, const struct lmn__ipc_type *type,
                                      struct ArrowArray *array)
{
    const struct lmn__ipc_dictionary *dictionary = lmn__ipc_dictionary_find(walk->dictionaries,
                                                                            type->dictionary_id);
    enum lmn_status st = put_fixed(walk, type->layout, array);

    if (st != LMN_OK)
        return st;
    if (dictionary == NULL || dictionary->array.release == NULL)
        return lmn_fail(walk->err, LMN_E_CORRUPT, "dictionary %lld is used before it is given",
                        (long long)type->dictionary_id);
    st = lmn__adopt_share(&dictionary->array, array->dictionary, walk->err);
    return st != LMN_OK ? st : check_indices(walk, type->layout, array);
}

static enum lmn_status node_read(struct walk *walk, const struct lmn__ipc_type *type,
                                 struct ArrowArray *array);

/* Child `i`, which must have at least `length` slots. */
static enum lmn_status put_child(struct walk *walk, const struct lmn__ipc_type *type, uint32_t i,
                                 uint64_t length, struct ArrowArray *array)
{
    enum lmn_status st = node_read(walk, &type->child[i], array->children[i]);

    if (st != LMN_OK)
        return st;
    if ((uint64_t)array->children[i]->length < length)
        return lmn_fail(walk->err, LMN_E_CORRUPT, "%lld values where its parent has %llu",
                        (long long)array->children[i]->length, (unsigned long long)length);
    return LMN_OK;
}

/* The list that has slot `slot` of its child; the first behind it where none has. */
static uint64_t list_of(const struct lmn__layout *layout, const struct ArrowArray *array,
                        uint64_t slot)
{
    uint32_t width = layout->bits / 8;
    uint64_t i = 0;

    while (i + 1 < (uint64_t)array->length &&
           lmn__load_uint((const uint8_t *)array->buffers[1] + (i + 1) * width, width) <= slot)
        i++;
    return i;
}

static enum lmn_status put_values(struct walk *walk, const struct lmn__ipc_type *type,
                                  uint32_t variadic, struct ArrowArray *array)
{
    uint64_t length = (uint64_t)array->length;
    enum lmn_status st = LMN_OK;

    switch (type->layout->kind) {
    case LMN__LAYOUT_NULL:
        return LMN_OK;
    case LMN__LAYOUT_FIXED:
        return put_fixed(walk, type->layout, array);
    case LMN__LAYOUT_VARIABLE:
        return type->layout->is_view ? put_views(walk, type, array, variadic)
                                     : put_variable(walk, type, array);
    case LMN__LAYOUT_DICTIONARY:
        return put_dictionary(walk, type, array);
    case LMN__LAYOUT_LIST:
        st = put_offsets(walk, type->layout->bits / 8, array, &length);
        if (st == LMN_OK)
            st = put_child(walk, type, 0, length, array);
        if (walk->slot != LMN__IPC_NO_ROW)
            walk->slot = list_of(type->layout, array, walk->slot);
        return st;
    case LMN__LAYOUT_FIXED_LIST:
        if (!lmn__mul_u64(length, type->layout->dimension, &length))
            return lmn_fail(walk->err, LMN_E_CORRUPT, "%lld lists", (long long)array->length);
        st = put_child(walk, type, 0, length, array);
        if (walk->slot != LMN__IPC_NO_ROW)
            walk->slot = type->layout->dimension != 0 ? walk->slot / type->layout->dimension
                                                      : LMN__IPC_NO_ROW; /* in no list */
        return st;
    case LMN__LAYOUT_STRUCT:
        for (uint32_t i = 0; st == LMN_OK && i < type->child_count; i++)
            st = put_child(walk, type, i, length, array);
        return st;
    }
    return st;
}

static uint32_t buffer_count(const struct lmn__layout *layout, uint32_t variadic)
{
    switch (layout->kind) {
    case LMN__LAYOUT_NULL:
        return 0;
    case LMN__LAYOUT_VARIABLE:
        return layout->is_view ? 3 + variadic : 3;
    case LMN__LAYOUT_FIXED_LIST:
    case LMN__LAYOUT_STRUCT:
        return 1;
    default:
        return 2;
    }
}

static enum lmn_status take_variadic(struct walk *walk, uint32_t *count_out)
{
    uint64_t count;

    *count_out = 0;
    if (walk->variadic_left == 0)
        return lmn_fail(walk->err, LMN_E_CORRUPT, "the batch does not count the buffers of a view");
    count = lmn__load_u64(walk->variadic);
    walk->variadic += 8;
    walk->variadic_left--;
    if (count > walk->buffers_left || count > VARIADIC_MAX)
        return lmn_fail(walk->err, LMN_E_CORRUPT, "a view of %llu buffers",
                        (unsigned long long)count);
    *count_out = (uint32_t)count;
    return LMN_OK;
}

static enum lmn_status node_fill(struct walk *walk, const struct lmn__ipc_type *type,
                                 struct ArrowArray *array)
{
    bool dictionary = type->layout->kind == LMN__LAYOUT_DICTIONARY;
    int64_t length, nulls;
    uint32_t variadic = 0;
    enum lmn_status st = LMN_OK;

    if (walk->nodes_left == 0)
        return lmn_fail(walk->err, LMN_E_CORRUPT, "the batch has fewer nodes than its type");
    length = (int64_t)lmn__load_u64(walk->nodes);
    nulls = (int64_t)lmn__load_u64(walk->nodes + 8);
    walk->nodes += LMN__IPC_NODE_BYTES;
    walk->nodes_left--;
    if (length < 0 || length == INT64_MAX)
        return lmn_fail(walk->err, LMN_E_CORRUPT, "%lld values", (long long)length);
    if (type->layout->is_view)
        st = take_variadic(walk, &variadic);
    if (st == LMN_OK)
        st = lmn__adopt_new(walk->body->env, buffer_count(type->layout, variadic),
                            dictionary ? 0 : type->child_count, dictionary, array, walk->err);
    if (st != LMN_OK)
        return st;
    array->length = length;
    if (type->layout->kind == LMN__LAYOUT_NULL)
        array->null_count = length;
    else
        st = put_validity(walk, array, nulls);
    return st != LMN_OK ? st : put_values(walk, type, variadic, array);
}

/* What is made of the array stays in it, for the caller to release, also on failure. */
static enum lmn_status node_read(struct walk *walk, const struct lmn__ipc_type *type,
                                 struct ArrowArray *array)
{
    enum lmn_status st = node_fill(walk, type, array);

    return st == LMN_OK ? st : lmn__fail_within(walk->err, st, "\"%s\"", type->name);
}

static enum lmn_status read_codec(const struct lmn__flat_table *table, struct lmn__ipc_body *body,
                                  struct lmn_error *err)
{
    struct lmn__flat_table compression = lmn__flat_table(table, LMN__IPC_BATCH_COMPRESSION);
    int64_t codec = lmn__flat_int(&compression, 0, 1, LMN__IPC_LZ4_FRAME);

    if (compression.flat == NULL) {
        body->codec = LMN__IPC_PLAIN;
        return LMN_OK;
    }
    body->codec = (enum lmn__ipc_codec)codec;
    if ((codec != LMN__IPC_LZ4_FRAME && codec != LMN__IPC_ZSTD) ||
        lmn__flat_int(&compression, 1, 1, 0) != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "compression %lld, method %lld", (long long)codec,
                        (long long)lmn__flat_int(&compression, 1, 1, 0));
    return LMN_OK;
}

enum lmn_status lmn__ipc_batch_read(const struct lmn__flat_table *table,
                                    const struct lmn__ipc_type *type, uint32_t count,
                                    const struct lmn__ipc_dictionaries *dictionaries,
                                    struct lmn__ipc_body *body, struct ArrowArray *array_out,
                                    uint64_t *row_out, struct lmn_error *err)
{
    struct lmn__flat_vector nodes = lmn__flat_vector(table, LMN__IPC_BATCH_NODES,
                                                     LMN__IPC_NODE_BYTES);
    struct lmn__flat_vector buffers = lmn__flat_vector(table, LMN__IPC_BATCH_BUFFERS,
                                                       LMN__IPC_BUFFER_BYTES);
    struct lmn__flat_vector variadic = lmn__flat_vector(table, LMN__IPC_BATCH_VARIADIC, 8);
    int64_t length = lmn__flat_int(table, LMN__IPC_BATCH_LENGTH, 8, 0);
    struct walk walk = { body,
                         dictionaries,
                         lmn__flat_items(&nodes),
                         lmn__flat_items(&buffers),
                         lmn__flat_items(&variadic),
                         nodes.count,
                         buffers.count,
                         variadic.count,
                         LMN__IPC_NO_ROW,
                         err };
    enum lmn_status st = read_codec(table, body, err);

    *array_out = (struct ArrowArray){ 0 };
    *row_out = LMN__IPC_NO_ROW;
    if (table->flat == NULL || table->flat->bad || length < 0)
        return lmn_fail(err, LMN_E_CORRUPT, "the batch does not decode");
    if (st == LMN_OK)
        st = lmn__adopt_new(body->env, 1, count, false, array_out, err);
    if (st != LMN_OK)
        return st;
    array_out->length = length;
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        st = node_read(&walk, &type[i], array_out->children[i]);
        if (st == LMN_OK && array_out->children[i]->length != length)
            st = lmn_fail(err, LMN_E_CORRUPT, "\"%s\" has %lld values in a batch of %lld rows",
                          type[i].name, (long long)array_out->children[i]->length,
                          (long long)length);
    }
    *row_out = walk.slot;
    if (st != LMN_OK)
        array_out->release(array_out);
    return st;
}
