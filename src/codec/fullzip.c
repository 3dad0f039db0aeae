/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One entry of the data buffer:
 *
 *     control word | value                    values of one size
 *     control word | length | bytes           variable values
 *
 * The control word, of 0, 1, 2 or 4 bytes, holds rep << def_bits | def. An entry that stands for
 * an empty or null list has the control word alone; so has a null of a variable column, while a
 * null of a fixed column has bytes of no meaning. What is inside a value is told in zipped.c and
 * packed.c.
 */
#include "codec/fullzip.h"

#include "base/bits.h"
#include "base/math.h"

static uint32_t control_width(const struct lmn__page_layout *layout)
{
    uint32_t bits = layout->rep_bits + layout->def_bits;

    return bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
}

bool lmn__fullzip_has_index(const struct lmn__page_layout *layout)
{
    return layout->length_bits != 0 || layout->rep_bits != 0;
}

static enum lmn_status check_page(struct lmn__fullzip *page, struct lmn__arena *arena,
                                  struct lmn_error *err)
{
    const struct lmn__page_layout *layout = page->layout;

    if (layout->length_bits == 0) {
        enum lmn_status st = lmn__zipped_init(&page->fixed, layout->values, page->leaf_layout, err);

        if (st == LMN_OK && page->fixed.bytes != layout->value_bits / 8)
            return lmn_fail(err, LMN_E_CORRUPT, "values of %llu bytes in a page that says %u",
                            (unsigned long long)page->fixed.bytes, layout->value_bits / 8);
        return st;
    }
    if (page->leaf_layout->kind == LMN__LAYOUT_STRUCT)
        return lmn__packed_init(&page->packed, layout->values, page->leaf_layout, arena, err);
    if (page->leaf_layout->kind != LMN__LAYOUT_VARIABLE)
        return lmn_fail(err, LMN_E_CORRUPT, "variable values in a column of fixed ones");
    return lmn__variable_init(&page->variable, layout->values, arena, err);
}

static enum lmn_status check_index(struct lmn__fullzip *page, struct lmn__span index,
                                   struct lmn_error *err)
{
    uint64_t row_bytes = page->control_bytes + page->fixed.bytes, need;

    if (!lmn__fullzip_has_index(page->layout)) {
        if (page->layout->item_count != page->row_count ||
            !lmn__mul_u64(page->row_count, row_bytes, &need) || need > page->data_bytes)
            return lmn_fail(err, LMN_E_CORRUPT, "%llu rows of %llu bytes in a page of %llu bytes",
                            (unsigned long long)page->row_count, (unsigned long long)row_bytes,
                            (unsigned long long)page->data_bytes);
        return LMN_OK;
    }
    if (page->row_count < UINT64_MAX)
        page->index_bytes = (uint32_t)lmn__min_u64(index.len / (page->row_count + 1), 16);
    if (page->index_bytes != 1 && page->index_bytes != 2 && page->index_bytes != 4 &&
        page->index_bytes != 8)
        return lmn_fail(err, LMN_E_CORRUPT, "a repetition index of %zu bytes for %llu rows",
                        index.len, (unsigned long long)page->row_count);
    page->index = index.data;
    return LMN_OK;
}

enum lmn_status lmn__fullzip_open(struct lmn__fullzip *page, const struct lmn__page_layout *layout,
                                  const struct lmn__layout *leaf_layout,
                                  struct lmn__block *index_block, struct lmn__span index,
                                  uint64_t data_bytes, uint64_t row_count, struct lmn__arena *arena,
                                  struct lmn_error *err)
{
    enum lmn_status st;

    *page = (struct lmn__fullzip){ .layout = layout,
                                   .leaf_layout = leaf_layout,
                                   .row_count = row_count,
                                   .data_bytes = data_bytes,
                                   .control_bytes = control_width(layout) };
    if (layout->list_count != 0 && layout->rep_bits == 0)
        return lmn_fail(err, LMN_E_CORRUPT, "a full-zip page of lists without repetition levels");
    st = check_page(page, arena, err);
    if (st == LMN_OK)
        st = check_index(page, index, err);
    if (st == LMN_OK && index_block != NULL)
        page->index_block = lmn__block_acquire(index_block);
    return st;
}

void lmn__fullzip_close(struct lmn__fullzip *page)
{
    lmn__block_release(page->index_block);
    page->index_block = NULL;
}

enum lmn_status lmn__fullzip_find(const struct lmn__fullzip *page, uint64_t first, uint64_t count,
                                  uint64_t *from_out, uint64_t *to_out, struct lmn_error *err)
{
    uint64_t row_bytes = page->control_bytes + page->fixed.bytes;
    uint32_t width = page->index_bytes;

    if (width == 0) {
        *from_out = first * row_bytes;
        *to_out = (first + count) * row_bytes;
        return LMN_OK;
    }
    *from_out = lmn__load_uint(page->index + first * width, width);
    *to_out = lmn__load_uint(page->index + (first + count) * width, width);
    if (*from_out > *to_out || *to_out > page->data_bytes)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "rows %llu to %llu are said to lie at %llu to %llu of %llu bytes",
                        (unsigned long long)first, (unsigned long long)(first + count),
                        (unsigned long long)*from_out, (unsigned long long)*to_out,
                        (unsigned long long)page->data_bytes);
    return LMN_OK;
}

/* The builder at the end of a chain of fixed lists; slots on the way are counted as valid. */
static enum lmn_status count_items(struct lmn__builder **builder, uint64_t *count,
                                   struct lmn_error *err)
{
    while ((*builder)->layout->kind == LMN__LAYOUT_FIXED_LIST) {
        enum lmn_status st;

        *count *= (*builder)->layout->dimension;
        *builder = &(*builder)->child[0];
        st = lmn__builder_add_valid(*builder, *count, err);
        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

/* Are the values strings or binaries that lie in the page as they are? */
static bool is_plain_variable(const struct lmn__fullzip *page)
{
    return page->variable.plain != NULL && page->variable.general == NULL &&
           page->variable.fsst == NULL;
}

/* Are the page's bytes the column's, without a header anywhere? */
static bool is_plain_fixed(const struct lmn__fullzip *page)
{
    return page->control_bytes == 0 && page->layout->length_bits == 0 && page->fixed.plain &&
           page->fixed.bytes != 0;
}

enum lmn_status lmn__fullzip_land(const struct lmn__fullzip *page, struct lmn__leaf *leaf,
                                  uint64_t bytes, struct lmn__landing *landing,
                                  struct lmn_error *err)
{
    uint32_t head = page->control_bytes + page->layout->length_bits / 8;
    struct lmn__builder *builder = leaf->builder;
    enum lmn_status st;

    *landing = (struct lmn__landing){ 0 };
    if (!is_plain_variable(page) && !is_plain_fixed(page))
        return LMN_OK;
    while (builder->layout->kind == LMN__LAYOUT_FIXED_LIST)
        builder = &builder->child[0];
    st = lmn__vec_reserve(&builder->values, builder->env->pool, bytes, err);
    if (st != LMN_OK)
        return st;
    if (builder->values.len >= head)
        landing->saved_bytes = head;
    landing->at = builder->values.data + builder->values.len - landing->saved_bytes;
    memcpy(landing->saved, landing->at, landing->saved_bytes);
    return LMN_OK;
}

void lmn__landing_close(struct lmn__landing *landing)
{
    if (landing->at != NULL)
        memcpy(landing->at, landing->saved, landing->saved_bytes);
}

/* Rows without control words: the buffer is the column, or holds nothing. */
static enum lmn_status append_plain(const struct lmn__fullzip *page, struct lmn__leaf *leaf,
                                    struct lmn__span data, uint64_t count, struct lmn_error *err)
{
    const struct lmn__levels levels = { NULL, NULL, count };
    struct lmn__builder *builder = leaf->builder;
    uint64_t visible;
    uint8_t *at;
    enum lmn_status st = lmn__levels_append(page->layout, &leaf->path, &levels, &visible, err);

    if (st == LMN_OK && page->fixed.bytes == 0)
        return lmn__builder_put_empty(builder, count, err);
    if (st == LMN_OK)
        st = count_items(&builder, &count, err);
    if (st == LMN_OK)
        st = lmn__vec_extend(&builder->values, builder->env->pool, data.len, &at, err);
    if (st == LMN_OK && data.len != 0 && data.data != at)
        memcpy(at, data.data, data.len);
    return st;
}

/* Entries on their way from the page to the builders. */
enum { BATCH_MAX = 512 };

struct batch {
    uint16_t rep[BATCH_MAX], def[BATCH_MAX];
    struct lmn__span value[BATCH_MAX]; /* of the visible entries; .data NULL: a null */
    uint64_t count, visible;
};

/* Take one entry from the front of `data`. */
static enum lmn_status take_entry(const struct lmn__fullzip *page, struct lmn__span *data,
                                  struct batch *batch, struct lmn_error *err)
{
    const struct lmn__page_layout *layout = page->layout;
    uint32_t control = page->control_bytes, width = layout->length_bits / 8;
    uint64_t word = 0, len = page->fixed.bytes, head = 0;
    uint32_t def;

    if (data->len < control)
        return lmn_fail(err, LMN_E_CORRUPT, "a control word runs over the end of its row");
    if (control != 0)
        word = lmn__load_uint(data->data, control);
    data->data += control;
    data->len -= control;
    def = (uint32_t)(word & (((uint64_t)1 << layout->def_bits) - 1));
    batch->def[batch->count] = (uint16_t)def;
    batch->rep[batch->count++] = (uint16_t)(word >> layout->def_bits);
    if (def > layout->def_visible_max)
        return LMN_OK;
    if (width != 0) {
        if (def != 0) {
            batch->value[batch->visible++] = (struct lmn__span){ NULL, 0 };
            return LMN_OK;
        }
        head = width;
        len = data->len >= width ? lmn__load_uint(data->data, width) : UINT64_MAX;
    }
    if (data->len < head || len > data->len - head)
        return lmn_fail(err, LMN_E_CORRUPT, "a value runs over the end of its row");
    batch->value[batch->visible++] = (struct lmn__span){ data->data + head, len };
    data->data += head + len;
    data->len -= head + len;
    return LMN_OK;
}

/*
 * Strings and binaries as they are: room for all of them at once. They may lie in that room
 * already (lmn__fullzip_land()), each at or behind its place.
 */
static enum lmn_status put_variable(struct lmn__builder *builder, const struct batch *batch,
                                    struct lmn_error *err)
{
    uint32_t width = builder->layout->bits / 8;
    uint64_t bytes = 0, base;
    uint8_t *offsets, *data;
    enum lmn_status st;

    for (uint64_t i = 0; i < batch->visible; i++)
        bytes += batch->value[i].len;
    st = lmn__builder_extend_variable(builder, batch->visible, bytes, &offsets, &data, &base, err);
    for (uint64_t i = 0; st == LMN_OK && i < batch->visible; i++) {
        if (batch->value[i].len != 0 && batch->value[i].data != data)
            memmove(data, batch->value[i].data, batch->value[i].len);
        data += batch->value[i].len;
        base += batch->value[i].len;
        lmn__store_uint(offsets + i * width, width, base);
    }
    return st;
}

/* Fixed values whose items are all valid. */
static enum lmn_status put_fixed(const struct lmn__fullzip *page, struct lmn__leaf *leaf,
                                 const struct batch *batch, struct lmn_error *err)
{
    struct lmn__builder *builder = leaf->builder;
    uint64_t items = batch->visible;
    uint8_t *at;
    enum lmn_status st = count_items(&builder, &items, err);

    if (st == LMN_OK)
        st = lmn__vec_extend(&builder->values, builder->env->pool,
                             batch->visible * page->fixed.bytes, &at, err);
    for (uint64_t i = 0; st == LMN_OK && i < batch->visible; i++)
        memcpy(at + i * page->fixed.bytes, batch->value[i].data, page->fixed.bytes);
    return st;
}

/* Booleans, a byte each. */
static enum lmn_status put_bools(struct lmn__builder *builder, const struct batch *batch,
                                 struct lmn_error *err)
{
    uint64_t start = builder->length - batch->visible;
    enum lmn_status st = lmn__builder_put_bits(builder, NULL, 0, batch->visible, err);

    for (uint64_t i = 0; st == LMN_OK && i < batch->visible; i++)
        lmn__bit_put(builder->values.data, start + i, batch->value[i].data[0] & 1);
    return st;
}

/* A packed struct, or a value that has to be decoded. */
static enum lmn_status put_one(const struct lmn__fullzip *page, struct lmn__leaf *leaf,
                               struct lmn__span value, struct lmn_error *err)
{
    if (page->layout->length_bits == 0)
        return lmn__zipped_append(&page->fixed, value.data, leaf->builder, err);
    if (value.data == NULL)
        return lmn__builder_put_empty(leaf->builder, 1, err);
    if (leaf->builder->layout->kind == LMN__LAYOUT_STRUCT)
        return lmn__packed_append(&page->packed, leaf->scratch, value, leaf->builder, err);
    return lmn__variable_decode_value(leaf->scratch, &page->variable, value, leaf->builder, err);
}

static enum lmn_status put_batch(const struct lmn__fullzip *page, struct lmn__leaf *leaf,
                                 const struct batch *batch, struct lmn_error *err)
{
    const struct lmn__levels levels = { batch->rep, batch->def, batch->count };
    uint64_t visible;
    enum lmn_status st = lmn__levels_append(page->layout, &leaf->path, &levels, &visible, err);

    if (st != LMN_OK)
        return st;
    if (is_plain_variable(page))
        return put_variable(leaf->builder, batch, err);
    if (page->fixed.plain)
        return put_fixed(page, leaf, batch, err);
    if (page->leaf_layout->kind == LMN__LAYOUT_FIXED)
        return put_bools(leaf->builder, batch, err);
    for (uint64_t i = 0; st == LMN_OK && i < batch->visible; i++)
        st = put_one(page, leaf, batch->value[i], err);
    return st;
}

enum lmn_status lmn__fullzip_append(const struct lmn__fullzip *page, struct lmn__leaf *leaf,
                                    struct lmn__span data, uint64_t count, struct lmn_error *err)
{
    struct batch batch;
    enum lmn_status st = LMN_OK;

    if (is_plain_fixed(page) ||
        (page->control_bytes == 0 && page->layout->length_bits == 0 && page->fixed.bytes == 0))
        return append_plain(page, leaf, data, count, err);
    while (st == LMN_OK && data.len != 0) {
        batch.count = batch.visible = 0;
        while (st == LMN_OK && data.len != 0 && batch.count < BATCH_MAX)
            st = take_entry(page, &data, &batch, err);
        if (st == LMN_OK)
            st = put_batch(page, leaf, &batch, err);
    }
    return st;
}
