/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/layout.h"

struct pb_mini_block {
    struct lmn__pb_encoding *rep_compression;
    struct lmn__pb_encoding *def_compression;
    struct lmn__pb_encoding *value_compression;
    struct lmn__pb_encoding *dictionary;
    uint64_t num_dictionary_items;
    struct lmn__pb_u64s layers;
    uint64_t num_buffers;
    uint32_t repetition_index_depth;
    uint64_t num_items;
    bool has_large_chunk;
};

struct pb_constant {
    struct lmn__pb_u64s layers;
    struct lmn__span inline_value;
    struct lmn__pb_encoding *rep_compression;
    struct lmn__pb_encoding *def_compression;
    uint64_t num_rep_values;
    uint64_t num_def_values;
};

struct pb_full_zip {
    uint32_t bits_rep;
    uint32_t bits_def;
    uint32_t bits_per_value;
    uint32_t bits_per_offset;
    uint32_t num_items;
    uint32_t num_visible_items;
    struct lmn__pb_encoding *value_compression;
    struct lmn__pb_u64s layers;
};

struct pb_blob {
    struct pb_layout *inner_layout;
    struct lmn__pb_u64s layers;
};

struct pb_layout {
    struct pb_mini_block *mini_block;
    struct pb_constant *constant;
    struct pb_full_zip *full_zip;
    struct pb_blob *blob;
};

#define SCALAR(number, kind, type, member)                                                         \
    { number, kind, 0, offsetof(struct type, member), 0, NULL }
#define REPEATED(number, kind, type, member)                                                       \
    { number, kind, LMN__PB_REPEATED, offsetof(struct type, member), 0, NULL }
#define MESSAGE(number, type, member, message)                                                     \
    { number, LMN__PB_MESSAGE, 0, offsetof(struct type, member), 0, &message }
#define TABLE(name, type, fields)                                                                  \
    { name, fields, sizeof fields / sizeof fields[0], sizeof(struct type), 0, false }

static const struct lmn__pb_field mini_block_fields[] = {
    MESSAGE(1, pb_mini_block, rep_compression, lmn__pb_encoding_message),
    MESSAGE(2, pb_mini_block, def_compression, lmn__pb_encoding_message),
    MESSAGE(3, pb_mini_block, value_compression, lmn__pb_encoding_message),
    MESSAGE(4, pb_mini_block, dictionary, lmn__pb_encoding_message),
    SCALAR(5, LMN__PB_U64, pb_mini_block, num_dictionary_items),
    REPEATED(6, LMN__PB_U32, pb_mini_block, layers),
    SCALAR(7, LMN__PB_U64, pb_mini_block, num_buffers),
    SCALAR(8, LMN__PB_U32, pb_mini_block, repetition_index_depth),
    SCALAR(9, LMN__PB_U64, pb_mini_block, num_items),
    SCALAR(10, LMN__PB_BOOL, pb_mini_block, has_large_chunk),
};
static const struct lmn__pb_message mini_block_message = TABLE("MiniBlockLayout", pb_mini_block,
                                                               mini_block_fields);

static const struct lmn__pb_field constant_fields[] = {
    REPEATED(5, LMN__PB_U32, pb_constant, layers),
    { 6, LMN__PB_BYTES, LMN__PB_PRESENCE, offsetof(struct pb_constant, inline_value), 0, NULL },
    MESSAGE(7, pb_constant, rep_compression, lmn__pb_encoding_message),
    MESSAGE(8, pb_constant, def_compression, lmn__pb_encoding_message),
    SCALAR(9, LMN__PB_U64, pb_constant, num_rep_values),
    SCALAR(10, LMN__PB_U64, pb_constant, num_def_values),
};
static const struct lmn__pb_message constant_message = TABLE("ConstantLayout", pb_constant,
                                                             constant_fields);

static const struct lmn__pb_field full_zip_fields[] = {
    SCALAR(1, LMN__PB_U32, pb_full_zip, bits_rep),
    SCALAR(2, LMN__PB_U32, pb_full_zip, bits_def),
    SCALAR(3, LMN__PB_U32, pb_full_zip, bits_per_value),
    SCALAR(4, LMN__PB_U32, pb_full_zip, bits_per_offset),
    SCALAR(5, LMN__PB_U32, pb_full_zip, num_items),
    SCALAR(6, LMN__PB_U32, pb_full_zip, num_visible_items),
    MESSAGE(7, pb_full_zip, value_compression, lmn__pb_encoding_message),
    REPEATED(8, LMN__PB_U32, pb_full_zip, layers),
};
static const struct lmn__pb_message full_zip_message = TABLE("FullZipLayout", pb_full_zip,
                                                             full_zip_fields);

static const struct lmn__pb_message layout_message;

static const struct lmn__pb_field blob_fields[] = {
    MESSAGE(1, pb_blob, inner_layout, layout_message),
    REPEATED(2, LMN__PB_U32, pb_blob, layers),
};
static const struct lmn__pb_message blob_message = TABLE("BlobLayout", pb_blob, blob_fields);

static const struct lmn__pb_field layout_fields[] = {
    MESSAGE(1, pb_layout, mini_block, mini_block_message),
    MESSAGE(2, pb_layout, constant, constant_message),
    MESSAGE(3, pb_layout, full_zip, full_zip_message),
    MESSAGE(4, pb_layout, blob, blob_message),
};
static const struct lmn__pb_message layout_message = TABLE("PageLayout", pb_layout, layout_fields);

void lmn__page_layout_derive(struct lmn__page_layout *layout)
{
    layout->list_count = layout->def_max = layout->def_visible_max = 0;
    for (uint32_t i = 0; i < layout->layer_count; i++) {
        layout->list_count += lmn__layer_is_list(layout->layer[i]);
        layout->def_max += lmn__layer_def_count(layout->layer[i]);
        if (layout->list_count == 0)
            layout->def_visible_max = layout->def_max;
    }
}

static enum lmn_status read_layers(const struct lmn__pb_u64s *layers,
                                   struct lmn__page_layout *layout, struct lmn_error *err)
{
    if (layers->count == 0 || layers->count > LMN__LAYER_COUNT_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "a page of %zu layers (1 to %d are possible)",
                        layers->count, LMN__LAYER_COUNT_MAX);
    for (size_t i = 0; i < layers->count; i++) {
        if (layers->item[i] < LMN__LAYER_ITEM || layers->item[i] > LMN__LAYER_NULL_AND_EMPTY_LIST)
            return lmn_fail(err, LMN_E_CORRUPT, "layer %zu has the unknown kind %llu", i,
                            (unsigned long long)layers->item[i]);
        layout->layer[i] = (uint8_t)layers->item[i];
    }
    layout->layer_count = (uint32_t)layers->count;
    lmn__page_layout_derive(layout);
    return LMN_OK;
}

/* An encoding that may be absent. */
static enum lmn_status read_encoding(const struct lmn__pb_encoding *pb, struct lmn__arena *arena,
                                     const struct lmn__encoding **encoding_out,
                                     struct lmn_error *err)
{
    return pb != NULL ? lmn__encoding_from_pb(pb, arena, encoding_out, err) : LMN_OK;
}

static enum lmn_status read_mini_block(const struct pb_mini_block *pb, struct lmn__arena *arena,
                                       struct lmn__page_layout *layout, struct lmn_error *err)
{
    enum lmn_status st = read_layers(&pb->layers, layout, err);

    if (st == LMN_OK)
        st = read_encoding(pb->rep_compression, arena, &layout->rep, err);
    if (st == LMN_OK)
        st = read_encoding(pb->def_compression, arena, &layout->def, err);
    if (st == LMN_OK)
        st = read_encoding(pb->value_compression, arena, &layout->values, err);
    if (st == LMN_OK)
        st = read_encoding(pb->dictionary, arena, &layout->dictionary, err);
    if (st != LMN_OK)
        return st;
    if (layout->values == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "a mini-block page without a value encoding");
    if (pb->num_buffers > 64)
        return lmn_fail(err, LMN_E_CORRUPT, "a mini-block page of %llu buffers per chunk",
                        (unsigned long long)pb->num_buffers);
    if (pb->repetition_index_depth > 1)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "a repetition index of depth %u",
                        pb->repetition_index_depth);
    if ((layout->rep != NULL) != (pb->repetition_index_depth != 0))
        return lmn_fail(err, LMN_E_CORRUPT, "repetition levels and index do not go together");
    layout->dictionary_count = pb->num_dictionary_items;
    layout->buffer_count = (uint32_t)pb->num_buffers;
    layout->has_row_index = pb->repetition_index_depth != 0;
    layout->item_count = pb->num_items;
    layout->large_chunks = pb->has_large_chunk;
    return LMN_OK;
}

static enum lmn_status read_constant(const struct pb_constant *pb, struct lmn__arena *arena,
                                     struct lmn__page_layout *layout, struct lmn_error *err)
{
    enum lmn_status st = read_layers(&pb->layers, layout, err);

    if (st == LMN_OK)
        st = read_encoding(pb->rep_compression, arena, &layout->rep, err);
    if (st == LMN_OK)
        st = read_encoding(pb->def_compression, arena, &layout->def, err);
    layout->inline_value = pb->inline_value;
    layout->rep_count = pb->num_rep_values;
    layout->def_count = pb->num_def_values;
    return st;
}

static enum lmn_status read_full_zip(const struct pb_full_zip *pb, struct lmn__arena *arena,
                                     struct lmn__page_layout *layout, struct lmn_error *err)
{
    enum lmn_status st = read_layers(&pb->layers, layout, err);

    if (st == LMN_OK)
        st = read_encoding(pb->value_compression, arena, &layout->values, err);
    if (st != LMN_OK)
        return st;
    if (layout->values == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "a full-zip page without a value encoding");
    if (pb->bits_rep > 16 || pb->bits_def > 16)
        return lmn_fail(err, LMN_E_CORRUPT, "a full-zip page with levels of %u and %u bits",
                        pb->bits_rep, pb->bits_def);
    if ((pb->bits_per_value != 0 && pb->bits_per_offset != 0) || pb->bits_per_value % 8 != 0 ||
        (pb->bits_per_value == 0 && pb->bits_per_offset == 0 &&
         layout->values->kind != LMN__ENC_CONSTANT) ||
        (pb->bits_per_offset != 0 && pb->bits_per_offset != 32 && pb->bits_per_offset != 64))
        return lmn_fail(err, LMN_E_CORRUPT, "a full-zip page of %u bits per value, %u per length",
                        pb->bits_per_value, pb->bits_per_offset);
    layout->rep_bits = pb->bits_rep;
    layout->def_bits = pb->bits_def;
    layout->value_bits = pb->bits_per_value;
    layout->length_bits = pb->bits_per_offset;
    layout->item_count = pb->num_items;
    layout->visible_count = pb->num_visible_items;
    return LMN_OK;
}

static enum lmn_status layout_from_pb(const struct pb_layout *pb, bool inside_blob,
                                      struct lmn__arena *arena,
                                      const struct lmn__page_layout **layout_out,
                                      struct lmn_error *err)
{
    struct lmn__page_layout *layout = lmn__arena_alloc(arena, sizeof *layout);
    int members = (pb->mini_block != NULL) + (pb->constant != NULL) + (pb->full_zip != NULL) +
                  (pb->blob != NULL);
    enum lmn_status st;

    *layout_out = layout;
    if (layout == NULL)
        return lmn__arena_fail(arena, "a page layout", err);
    if (members != 1 || (inside_blob && pb->blob != NULL))
        return lmn_fail(err, LMN_E_UNSUPPORTED, "a page layout that this version does not know");
    if (pb->mini_block != NULL) {
        layout->kind = LMN__PAGE_MINI_BLOCK;
        return read_mini_block(pb->mini_block, arena, layout, err);
    }
    if (pb->constant != NULL) {
        layout->kind = LMN__PAGE_CONSTANT;
        return read_constant(pb->constant, arena, layout, err);
    }
    if (pb->full_zip != NULL) {
        layout->kind = LMN__PAGE_FULL_ZIP;
        return read_full_zip(pb->full_zip, arena, layout, err);
    }
    layout->kind = LMN__PAGE_BLOB;
    if (pb->blob->inner_layout == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "a blob page without an inner layout");
    st = read_layers(&pb->blob->layers, layout, err);
    if (st == LMN_OK)
        st = layout_from_pb(pb->blob->inner_layout, true, arena, &layout->inner, err);
    return st;
}

enum lmn_status lmn__page_layout_read(struct lmn__span bytes, struct lmn__arena *arena,
                                      const struct lmn__page_layout **layout_out,
                                      struct lmn_error *err)
{
    struct pb_layout pb = { 0 };
    enum lmn_status st = lmn__pb_decode(&layout_message, bytes, arena, &pb, err);

    *layout_out = NULL;
    return st != LMN_OK ? st : layout_from_pb(&pb, false, arena, layout_out, err);
}

static bool write_layers(const struct lmn__page_layout *layout, struct lmn__arena *arena,
                         struct lmn__pb_u64s *layers)
{
    layers->item = lmn__arena_array(arena, layout->layer_count, sizeof *layers->item);
    if (layers->item == NULL)
        return false;
    layers->count = layout->layer_count;
    for (uint32_t i = 0; i < layout->layer_count; i++)
        layers->item[i] = layout->layer[i];
    return true;
}

static bool write_encoding(const struct lmn__encoding *encoding, struct lmn__arena *arena,
                           struct lmn__pb_encoding **pb_out)
{
    if (encoding == NULL)
        return true;
    *pb_out = (struct lmn__pb_encoding *)lmn__encoding_to_pb(encoding, arena);
    return *pb_out != NULL;
}

static struct pb_mini_block *mini_block_to_pb(const struct lmn__page_layout *layout,
                                              struct lmn__arena *arena)
{
    struct pb_mini_block *pb = lmn__arena_alloc(arena, sizeof *pb);

    if (pb == NULL || !write_layers(layout, arena, &pb->layers) ||
        !write_encoding(layout->rep, arena, &pb->rep_compression) ||
        !write_encoding(layout->def, arena, &pb->def_compression) ||
        !write_encoding(layout->values, arena, &pb->value_compression) ||
        !write_encoding(layout->dictionary, arena, &pb->dictionary))
        return NULL;
    pb->num_dictionary_items = layout->dictionary_count;
    pb->num_buffers = layout->buffer_count;
    pb->repetition_index_depth = layout->has_row_index;
    pb->num_items = layout->item_count;
    pb->has_large_chunk = layout->large_chunks;
    return pb;
}

static struct pb_constant *constant_to_pb(const struct lmn__page_layout *layout,
                                          struct lmn__arena *arena)
{
    struct pb_constant *pb = lmn__arena_alloc(arena, sizeof *pb);

    if (pb == NULL || !write_layers(layout, arena, &pb->layers) ||
        !write_encoding(layout->rep, arena, &pb->rep_compression) ||
        !write_encoding(layout->def, arena, &pb->def_compression))
        return NULL;
    pb->inline_value = layout->inline_value;
    pb->num_rep_values = layout->rep_count;
    pb->num_def_values = layout->def_count;
    return pb;
}

static struct pb_full_zip *full_zip_to_pb(const struct lmn__page_layout *layout,
                                          struct lmn__arena *arena)
{
    struct pb_full_zip *pb = lmn__arena_alloc(arena, sizeof *pb);

    if (pb == NULL || !write_layers(layout, arena, &pb->layers) ||
        !write_encoding(layout->values, arena, &pb->value_compression))
        return NULL;
    pb->bits_rep = layout->rep_bits;
    pb->bits_def = layout->def_bits;
    pb->bits_per_value = layout->value_bits;
    pb->bits_per_offset = layout->length_bits;
    pb->num_items = (uint32_t)layout->item_count;
    pb->num_visible_items = (uint32_t)layout->visible_count;
    return pb;
}

static struct pb_layout *layout_to_pb(const struct lmn__page_layout *layout,
                                      struct lmn__arena *arena)
{
    struct pb_layout *pb = lmn__arena_alloc(arena, sizeof *pb);
    bool made = false;

    if (pb == NULL)
        return NULL;
    switch (layout->kind) {
    case LMN__PAGE_MINI_BLOCK:
        made = (pb->mini_block = mini_block_to_pb(layout, arena)) != NULL;
        break;
    case LMN__PAGE_CONSTANT:
        made = (pb->constant = constant_to_pb(layout, arena)) != NULL;
        break;
    case LMN__PAGE_FULL_ZIP:
        made = (pb->full_zip = full_zip_to_pb(layout, arena)) != NULL;
        break;
    case LMN__PAGE_BLOB:
        pb->blob = lmn__arena_alloc(arena, sizeof *pb->blob);
        made = pb->blob != NULL && write_layers(layout, arena, &pb->blob->layers) &&
               (pb->blob->inner_layout = layout_to_pb(layout->inner, arena)) != NULL;
        break;
    }
    return made ? pb : NULL;
}

enum lmn_status lmn__page_layout_write(const struct lmn__page_layout *layout,
                                       struct lmn__arena *arena, struct lmn__buf *buf,
                                       struct lmn_error *err)
{
    struct pb_layout *pb = layout_to_pb(layout, arena);

    if (pb == NULL)
        return lmn__arena_fail(arena, "a page's description", err);
    lmn__pb_encode(&layout_message, pb, buf);
    return lmn__buf_status(buf, "a page's description", err);
}
