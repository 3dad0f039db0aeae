/* SPDX-License-Identifier: Apache-2.0 */
#include "format/v20_reader.h"

#include "base/error.h"
#include "base/math.h"
#include "format/blob.h"
#include "format/v20_page.h"

/* Ranges of rows of one node's column, made while its parent list is read. */
struct ranges {
    struct lmn_env *env;
    struct lmn__row_range *item;
    uint64_t count, cap;
};

/* Add [first, first + count), joined to the last range where they touch. */
static enum lmn_status ranges_add(struct ranges *ranges, uint64_t first, uint64_t count,
                                  struct lmn_error *err)
{
    struct lmn__row_range *last = ranges->count != 0 ? &ranges->item[ranges->count - 1] : NULL;

    if (count == 0)
        return LMN_OK;
    if (last != NULL && last->first + last->count == first) {
        last->count += count;
        return LMN_OK;
    }
    if (ranges->count == ranges->cap) {
        uint64_t cap = ranges->cap != 0 ? ranges->cap * 2 : 64;
        struct lmn__row_range *item = lmn__realloc(ranges->env, ranges->item,
                                                   cap * sizeof *ranges->item);

        if (item == NULL)
            return lmn__no_memory(err, "ranges of rows", cap * sizeof *ranges->item);
        ranges->item = item;
        ranges->cap = cap;
    }
    ranges->item[ranges->count++] = (struct lmn__row_range){ first, count };
    return LMN_OK;
}

/* One piece of a range inside one page. */
typedef enum lmn_status (*piece_fn)(void *context, struct lmn__v20_page *page, uint64_t first,
                                    uint64_t count, struct lmn_error *err);

/* Cut ranges at page borders and hand the pieces to `fn`. */
static enum lmn_status each_piece(struct lmn_file *file, struct lmn__scratch *scratch,
                                  const struct lmn__column *column,
                                  const struct lmn__row_range *range, uint64_t range_count,
                                  piece_fn fn, void *context, struct lmn_error *err)
{
    struct lmn__v20_page page = { 0 };
    uint32_t open = UINT32_MAX;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < range_count; i++) {
        uint64_t at = range[i].first, end = at + range[i].count;

        if (end > column->row_count)
            st = lmn_fail(err, LMN_E_CORRUPT, "row %llu of a column of %llu rows",
                          (unsigned long long)end, (unsigned long long)column->row_count);
        while (st == LMN_OK && at < end) {
            uint32_t index = lmn__column_find_page(column, at);
            const struct lmn__page_info *info = &column->page[index];
            uint64_t count = lmn__min_u64(end, info->first_row + info->row_count) - at;

            if (index != open) {
                lmn__v20_page_deinit(&page);
                lmn__v20_page_init(&page, file, scratch, info);
                open = index;
            }
            st = fn(context, &page, at - info->first_row, count, err);
            if (st != LMN_OK)
                lmn__fail_within(err, st, "column %u, page %u", column->index, index);
            at += count;
        }
    }
    lmn__v20_page_deinit(&page);
    return st;
}

static enum lmn_status append_piece(void *context, struct lmn__v20_page *page, uint64_t first,
                                    uint64_t count, struct lmn_error *err)
{
    struct lmn__builder *builder = context;

    if (builder->layout->kind == LMN__LAYOUT_NULL)
        return lmn__builder_add_null(builder, count, err);
    return lmn__v20_append(page, page->info->array, first, count, builder, err);
}

/* A piece of a list column: slots and starts for the lists, ranges of items for the child. */
struct list_read {
    const struct lmn__column *column;
    struct lmn__builder *builder;
    struct ranges items;
    uint64_t item_total; /* items of the lists read so far */
    uint64_t page_items; /* items of the pages before `page_seen` */
    const struct lmn__page_info *page_seen;
};

/* Number of items that the pages before `info` have. */
static enum lmn_status items_before(struct list_read *read, const struct lmn__page_info *info,
                                    struct lmn_error *err)
{
    const struct lmn__page_info *page = read->page_seen != NULL ? read->page_seen
                                                                : read->column->page;

    for (; page < info; page++) {
        if (page->array->kind != LMN__ARRAY_LIST ||
            !lmn__add_u64(read->page_items, page->array->item_count, &read->page_items))
            return lmn_fail(err, LMN_E_CORRUPT, "a page of lists that is none");
    }
    read->page_seen = info;
    return LMN_OK;
}

static enum lmn_status list_piece(void *context, struct lmn__v20_page *page, uint64_t first,
                                  uint64_t count, struct lmn_error *err)
{
    struct list_read *read = context;
    const struct lmn__array_encoding *list = page->info->array;
    struct lmn__builder *builder = read->builder;
    uint32_t width = builder->layout->bits / 8;
    struct lmn__block *block = NULL;
    uint64_t *len, start, total;
    uint8_t *null;
    enum lmn_status st = items_before(read, page->info, err);

    if (st == LMN_OK && list->kind != LMN__ARRAY_LIST)
        st = lmn_fail(err, LMN_E_CORRUPT, "a page of lists that is none");
    if (st == LMN_OK)
        st = lmn__v20_read_ends(page, list, first, count, &block, &len, &null, &start, &total, err);
    if (st == LMN_OK && !lmn__range_fits(start, total, list->item_count))
        st = lmn_fail(err, LMN_E_CORRUPT, "lists of %llu items from %llu on in a page of %llu",
                      (unsigned long long)total, (unsigned long long)start,
                      (unsigned long long)list->item_count);
    if (st == LMN_OK)
        st = ranges_add(&read->items, read->page_items + start, total, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        st = lmn__vec_put(&builder->offsets, builder->env->pool, &read->item_total, width, err);
        if (st == LMN_OK)
            st = null[i] ? lmn__builder_add_null(builder, 1, err)
                         : lmn__builder_add_valid(builder, 1, err);
        read->item_total += len[i];
    }
    lmn__block_release(block);
    return st;
}

static enum lmn_status read_node(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                 const struct lmn__selected *selected,
                                 const struct lmn__row_range *range, uint64_t range_count,
                                 struct lmn__builder *builder, struct lmn_error *err);

static enum lmn_status read_list(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                 const struct lmn__selected *selected,
                                 const struct lmn__row_range *range, uint64_t range_count,
                                 struct lmn__builder *builder, struct lmn_error *err)
{
    struct list_read read = { .builder = builder, .items.env = reader->file->env };
    enum lmn_status st = lmn__file_column(reader->file, selected->node->column, &read.column, err);

    if (st == LMN_OK)
        st = each_piece(reader->file, scratch, read.column, range, range_count, list_piece, &read,
                        err);
    if (st == LMN_OK)
        st = read_node(reader, scratch, selected->child[0], read.items.item, read.items.count,
                       &builder->child[0], err);
    if (st == LMN_OK && builder->child[0].length != read.item_total)
        st = lmn_fail(err, LMN_E_CORRUPT, "lists of %llu items, of which %llu are there",
                      (unsigned long long)read.item_total,
                      (unsigned long long)builder->child[0].length);
    lmn__free(reader->file->env, read.items.item);
    return st;
}

/* Descriptors of blobs; one of size 0 at a position other than 0 is null. */
static enum lmn_status read_blob(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                 const struct lmn__node *node, const struct lmn__column *column,
                                 const struct lmn__row_range *range, uint64_t range_count,
                                 struct lmn__builder *builder, struct lmn_error *err)
{
    struct lmn__builder raw, descriptors;
    bool bytes = reader->projection.blobs != LMN_BLOB_DESCRIPTORS;
    struct lmn__builder *out = bytes ? &descriptors : builder;
    enum lmn_status st = lmn__builder_init(&raw, reader->file->env, node->layout, err);

    if (st != LMN_OK)
        return st;
    st = lmn__builder_init(&descriptors, reader->file->env, node->layout, err);
    if (st == LMN_OK)
        st = each_piece(reader->file, scratch, column, range, range_count, append_piece, &raw, err);
    if (st == LMN_OK)
        st = lmn__builder_check(&raw, raw.length, err);
    for (uint64_t i = 0; st == LMN_OK && i < raw.length; i++) {
        uint64_t position = lmn__load_u64(raw.child[0].values.data + i * 8);
        uint64_t size = lmn__load_u64(raw.child[1].values.data + i * 8);
        bool null = size == 0 && position != 0;

        st = null ? lmn__builder_add_null(out, 1, err) : lmn__builder_add_valid(out, 1, err);
        if (null)
            lmn__store_u64(raw.child[0].values.data + i * 8, 0);
    }
    if (st == LMN_OK) {
        struct lmn__builder *swap = out->child;

        out->child = raw.child;
        raw.child = swap;
        if (bytes)
            st = lmn__blob_fetch(reader->file, &descriptors,
                                 (int)reader->projection.blobs == LMN__BLOB_SKETCH, builder, err);
    }
    lmn__builder_deinit(&descriptors);
    lmn__builder_deinit(&raw);
    return st;
}

static enum lmn_status read_leaf(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                 const struct lmn__node *node, const struct lmn__row_range *range,
                                 uint64_t range_count, struct lmn__builder *builder,
                                 struct lmn_error *err)
{
    const struct lmn__column *column;
    enum lmn_status st = lmn__file_column(reader->file, node->column, &column, err);

    if (st != LMN_OK)
        return st;
    if (node->blob != LMN__BLOB_NONE)
        return read_blob(reader, scratch, node, column, range, range_count, builder, err);
    return each_piece(reader->file, scratch, column, range, range_count, append_piece, builder,
                      err);
}

static enum lmn_status read_struct(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                   const struct lmn__selected *selected,
                                   const struct lmn__row_range *range, uint64_t range_count,
                                   struct lmn__builder *builder, struct lmn_error *err)
{
    uint64_t rows = 0;
    enum lmn_status st;

    for (uint64_t i = 0; i < range_count; i++)
        rows += range[i].count;
    st = lmn__builder_add_valid(builder, rows, err);
    for (uint32_t i = 0; st == LMN_OK && i < selected->child_count; i++)
        st = read_node(reader, scratch, selected->child[i], range, range_count, &builder->child[i],
                       err);
    return st;
}

static enum lmn_status read_node(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                 const struct lmn__selected *selected,
                                 const struct lmn__row_range *range, uint64_t range_count,
                                 struct lmn__builder *builder, struct lmn_error *err)
{
    const struct lmn__node *node = selected->node;

    switch (node->kind) {
    case LMN__NODE_LIST:
        return read_list(reader, scratch, selected, range, range_count, builder, err);
    case LMN__NODE_FIXED_LIST:
        return lmn_fail(err, LMN_E_UNSUPPORTED, "fixed lists of structs in a 2.0 file");
    case LMN__NODE_STRUCT:
        return read_struct(reader, scratch, selected, range, range_count, builder, err);
    case LMN__NODE_LEAF:
        if (node->layout->kind == LMN__LAYOUT_STRUCT && node->layout->child_count == 0)
            return read_struct(reader, scratch, selected, range, range_count, builder, err);
        return read_leaf(reader, scratch, node, range, range_count, builder, err);
    }
    return LMN_OK;
}

/* Blobs may lie anywhere in the file, so that of its bytes any may be theirs. */
static enum lmn_status add_bytes(struct lmn__reader *reader, const struct lmn__selected *selected,
                                 struct lmn_error *err)
{
    const struct lmn__column *column;
    enum lmn_status st;

    if (selected->node->column == LMN__NO_COLUMN) /* its values lie in the column above */
        return LMN_OK;
    st = lmn__file_column(reader->file, selected->node->column, &column, err);
    if (st != LMN_OK)
        return st;
    reader->v20_bytes += column->bytes;
    if (selected->node->blob != LMN__BLOB_NONE && reader->projection.blobs != LMN_BLOB_DESCRIPTORS)
        reader->v20_bytes = reader->file->object.bytes;
    for (uint32_t i = 0; st == LMN_OK && i < selected->child_count; i++)
        st = add_bytes(reader, selected->child[i], err);
    return st;
}

enum lmn_status lmn__v20_open(struct lmn__reader *reader, struct lmn_error *err)
{
    const struct lmn__selected *root = reader->projection.root;

    for (uint32_t i = 0; i < root->child_count; i++) {
        const struct lmn__node *node = root->child[i]->node;
        const struct lmn__column *column;
        enum lmn_status st = lmn__file_column(reader->file, node->column, &column, err);

        if (st != LMN_OK)
            return st;
        if (node->kind != LMN__NODE_STRUCT && column->row_count != reader->file->row_count)
            return lmn_fail(
                err, LMN_E_CORRUPT, "%.200s: column %u (\"%.100s\") has %llu rows, the file %llu",
                reader->file->object.name, column->index, node->name,
                (unsigned long long)column->row_count, (unsigned long long)reader->file->row_count);
        st = add_bytes(reader, root->child[i], err);
        if (st != LMN_OK)
            return st;
    }
    reader->v20_bytes = lmn__min_u64(reader->v20_bytes, reader->file->object.bytes);
    return LMN_OK;
}

enum lmn_status lmn__v20_read(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                              const struct lmn__row_range *range, uint64_t range_count,
                              struct lmn__builder *root, struct lmn_error *err)
{
    const struct lmn__selected *selected = reader->projection.root;

    for (uint32_t i = 0; i < selected->child_count; i++) {
        enum lmn_status st = read_node(reader, scratch, selected->child[i], range, range_count,
                                       &root->child[i], err);

        if (st != LMN_OK)
            return lmn__fail_within(err, st, "%.200s: column \"%.100s\"", reader->file->object.name,
                                    selected->child[i]->node->name);
    }
    return LMN_OK;
}
