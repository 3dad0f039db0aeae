/* SPDX-License-Identifier: Apache-2.0 */
#include "table/value_size.h"

#include <leman/table_scan.h>

#include "arrow/view.h"
#include "base/math.h"
#include "format/blob.h"

/* Bits of every value, if they are the same for all. */
static bool fixed_bits(const struct lmn__layout *layout, uint64_t *bits_out)
{
    uint64_t bits;

    *bits_out = 0;
    switch (layout->kind) {
    case LMN__LAYOUT_NULL:
        return true;
    case LMN__LAYOUT_FIXED:
        *bits_out = layout->bits;
        return true;
    case LMN__LAYOUT_FIXED_LIST:
        return fixed_bits(layout->child[0], &bits) &&
               lmn__mul_u64(bits, layout->dimension, bits_out);
    case LMN__LAYOUT_STRUCT:
        for (uint32_t i = 0; i < layout->child_count; i++) {
            if (!fixed_bits(layout->child[i], &bits))
                return false;
            *bits_out += bits;
        }
        return true;
    default:
        return false;
    }
}

static bool holds_blobs(const struct lmn__node *node)
{
    if (node->blob != LMN__BLOB_NONE)
        return true;
    for (const struct lmn__node *child = node->child; child != NULL; child = child->next) {
        if (holds_blobs(child))
            return true;
    }
    return false;
}

bool lmn__value_size_fixed(const struct lmn__node *column, const struct lmn__layout *layout,
                           uint64_t *bytes_out)
{
    uint64_t bits;

    *bytes_out = 0;
    if (holds_blobs(column) || !fixed_bits(layout, &bits))
        return false;
    *bytes_out = lmn__bits_bytes(bits);
    return true;
}

/* The index of a dictionary's slot. */
static uint64_t index_at(const struct lmn__layout *layout, const struct ArrowArray *array,
                         uint64_t slot)
{
    uint32_t width = layout->bits / 8;
    const uint8_t *indices = array->buffers[1];

    return lmn__load_uint(indices + ((uint64_t)array->offset + slot) * width, width);
}

static uint64_t slots_bytes(const struct lmn__node *node, const struct lmn__layout *layout,
                            const struct ArrowArray *array, uint64_t first, uint64_t count,
                            struct lmn__value_sizes *sizes);

/* The size that a descriptor of a blob names. */
static uint64_t blob_bytes(const struct lmn__node *node, const struct ArrowArray *array,
                           uint64_t slot, struct lmn__value_sizes *sizes)
{
    bool first = node->blob == LMN__BLOB_V1;
    const struct ArrowArray *kinds = array->children[0], *lens = array->children[first ? 1 : 2];
    uint64_t at = slot + (uint64_t)array->offset, bytes;
    uint8_t place = LMN__BLOB_INLINE;

    if (lmn__view_is_null(array, slot) || lmn__view_is_null(lens, at))
        return 0;
    bytes = lmn__load_u64((const uint8_t *)lens->buffers[1] + ((uint64_t)lens->offset + at) * 8);
    if (!first && !lmn__view_is_null(kinds, at))
        place = ((const uint8_t *)kinds->buffers[1])[(uint64_t)kinds->offset + at];
    sizes->blobs += place != LMN__BLOB_EXTERNAL ? bytes : 0;
    sizes->side_files += place == LMN__BLOB_PACKED || place == LMN__BLOB_DEDICATED ? bytes : 0;
    return bytes;
}

/* One value. `node` is NULL where the type has no node of its own: there are no blobs below. */
static uint64_t slot_bytes(const struct lmn__node *node, const struct lmn__layout *layout,
                           const struct ArrowArray *array, uint64_t slot,
                           struct lmn__value_sizes *sizes)
{
    const struct lmn__node *child = node != NULL ? node->child : NULL;
    uint64_t from = slot + (uint64_t)array->offset, to, bytes = 0;

    if (node != NULL && node->blob != LMN__BLOB_NONE)
        return blob_bytes(node, array, slot, sizes);
    if (layout->kind == LMN__LAYOUT_NULL || lmn__view_is_null(array, slot))
        return 0;
    switch (layout->kind) {
    case LMN__LAYOUT_VARIABLE:
        return lmn__view_bytes(layout, array, slot).len;
    case LMN__LAYOUT_DICTIONARY:
        return slot_bytes(NULL, layout->child[0], array->dictionary, index_at(layout, array, slot),
                          sizes);
    case LMN__LAYOUT_LIST:
        from = lmn__view_offset(array, layout->bits / 8, slot);
        to = lmn__view_offset(array, layout->bits / 8, slot + 1);
        return slots_bytes(child, layout->child[0], array->children[0], from, to - from, sizes);
    case LMN__LAYOUT_FIXED_LIST:
        return slots_bytes(child, layout->child[0], array->children[0], from * layout->dimension,
                           layout->dimension, sizes);
    case LMN__LAYOUT_STRUCT:
        for (uint32_t i = 0; i < layout->child_count; i++) {
            bytes += slots_bytes(child, layout->child[i], array->children[i], from, 1, sizes);
            child = child != NULL ? child->next : NULL;
        }
        return bytes;
    default:
        return lmn__bits_bytes(layout->bits);
    }
}

/* The sum of some values. */
static uint64_t slots_bytes(const struct lmn__node *node, const struct lmn__layout *layout,
                            const struct ArrowArray *array, uint64_t first, uint64_t count,
                            struct lmn__value_sizes *sizes)
{
    uint64_t bits, bytes = 0;

    if ((node == NULL || !holds_blobs(node)) && fixed_bits(layout, &bits))
        return lmn__bits_bytes(bits * count);
    for (uint64_t i = 0; i < count; i++)
        bytes += slot_bytes(node, layout, array, first + i, sizes);
    return bytes;
}

enum lmn_status lmn__value_size_scan(struct lmn_table *table, const struct lmn__node *column,
                                     const struct lmn__layout *layout, uint64_t fragment_id,
                                     struct lmn__value_sizes *sizes_out, struct lmn_error *err)
{
    const struct lmn_scan_options options = { .column = &column->name,
                                              .column_count = 1,
                                              .blobs = LMN_BLOB_DESCRIPTORS,
                                              .fragment = &fragment_id,
                                              .fragment_count = 1 };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = lmn_table_scan(table, &options, &stream, err);

    *sizes_out = (struct lmn__value_sizes){ 0 };
    if (st != LMN_OK)
        return st;
    for (;;) {
        st = lmn_table_scan_next(&stream, &batch, err);
        if (st != LMN_OK || batch.release == NULL)
            break;
        for (uint64_t i = 0; i < (uint64_t)batch.length; i++)
            sizes_out->largest = lmn__max_u64(sizes_out->largest,
                                              slot_bytes(column, layout, batch.children[0],
                                                         i + (uint64_t)batch.offset, sizes_out));
        batch.release(&batch);
    }
    stream.release(&stream);
    return st;
}
