/* SPDX-License-Identifier: Apache-2.0 */
#include "job/kept_pages.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/math.h"
#include "codec/page.h"
#include "format/checksum.h"
#include "format/pages.h"
#include "table/file_set.h"

static int compare_ranges(const void *a, const void *b)
{
    const struct lmn__row_range *x = a, *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

/* All rows of the receipts; those of different receipts may lie between each other. */
static enum lmn_status list_changed(struct lmn__kept_pages *kept,
                                    const struct lmn__receipt *receipt, uint64_t count,
                                    struct lmn_error *err)
{
    uint64_t total = 0;

    for (uint64_t i = 0; i < count; i++)
        total += receipt[i].first.count;
    kept->changed = lmn__calloc(kept->env, total + 1, sizeof *kept->changed);
    if (kept->changed == NULL)
        return lmn__no_memory(err, "a list of rows", total * sizeof *kept->changed);
    for (uint64_t i = 0; i < count; i++) {
        for (size_t k = 0; k < receipt[i].first.count; k++)
            kept->changed[kept->changed_count++] =
                (struct lmn__row_range){ receipt[i].first.item[k], receipt[i].count.item[k] };
    }
    if (total != 0)
        qsort(kept->changed, total, sizeof *kept->changed, compare_ranges);
    return LMN_OK;
}

/* The file that has a field, and its column there; NULL: none has. */
static const struct lmn__pb_data_file *find_file(const struct lmn__pb_fragment *fragment,
                                                 int32_t field_id, uint32_t *column_out)
{
    const struct lmn__pb_data_file *file = fragment->files.item;

    for (size_t i = 0; i < fragment->files.count; i++) {
        for (size_t k = 0; k < file[i].fields.count && k < file[i].columns.count; k++) {
            *column_out = (uint32_t)file[i].columns.item[k];
            if ((int32_t)file[i].fields.item[k] == field_id)
                return &file[i];
        }
    }
    return NULL;
}

static enum lmn_status open_file(struct lmn__kept_pages *kept, struct lmn_table *table,
                                 const struct lmn__fill_columns *columns, uint64_t index,
                                 const struct lmn__node *node, struct lmn_error *err)
{
    struct lmn__manifest *manifest = columns->manifest;
    const struct lmn__pb_data_file *found = NULL;
    struct lmn__pb_fragment fragment;
    struct lmn__arena arena;
    uint32_t column = 0;
    enum lmn_status st;

    lmn__arena_init(&arena, kept->env, 0);
    st = lmn__manifest_fragment(manifest, index, &arena, &fragment, err);
    if (st == LMN_OK)
        found = find_file(&fragment, node->field->id, &column);
    if (found != NULL && found->major == 2 && found->minor == manifest->minor && found->minor > 0) {
        st = lmn__file_set_open(table->files, manifest, found, &kept->file, err);
        if (st == LMN_OK && column < kept->file->footer.column_count)
            st = lmn__file_column(kept->file, column, &kept->column, err);
        if (st == LMN_OK && kept->column != NULL && kept->column->row_count != fragment.row_count)
            kept->column = NULL;
    }
    lmn__arena_deinit(&arena);
    return st;
}

enum lmn_status lmn__kept_pages_init(struct lmn__kept_pages *kept, struct lmn_table *table,
                                     const struct lmn__fill_columns *columns, uint64_t index,
                                     uint32_t column, const struct lmn__receipt *receipt,
                                     uint64_t receipt_count, struct lmn_error *err)
{
    const struct lmn__node *node = columns->node[column];
    enum lmn_status st;

    *kept = (struct lmn__kept_pages){ .env = table->env };
    if (node->kind != LMN__NODE_LEAF || node->blob != LMN__BLOB_NONE || node->packed)
        return LMN_OK;
    st = list_changed(kept, receipt, receipt_count, err);
    if (st == LMN_OK)
        st = open_file(kept, table, columns, index, node, err);
    if (st != LMN_OK)
        lmn__kept_pages_deinit(kept);
    return st;
}

void lmn__kept_pages_deinit(struct lmn__kept_pages *kept)
{
    if (kept->env == NULL)
        return;
    lmn_file_release(kept->file);
    lmn__free(kept->env, kept->changed);
    *kept = (struct lmn__kept_pages){ 0 };
}

/* Has a receipt one of the page's rows? */
static bool is_changed(const struct lmn__kept_pages *kept, const struct lmn__page_info *page)
{
    uint64_t end = page->first_row + page->row_count, low = 0, high = kept->changed_count;

    while (low < high) { /* the first range that begins behind the page */
        uint64_t middle = low + (high - low) / 2;

        if (kept->changed[middle].first < end)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && kept->changed[low - 1].first + kept->changed[low - 1].count > page->first_row;
}

const struct lmn__page_info *lmn__kept_pages_next(const struct lmn__kept_pages *kept, uint64_t row)
{
    uint32_t count = kept->column != NULL ? kept->column->page_count : 0;
    uint32_t low = 0, high = count;

    while (low < high) { /* the first page that does not begin before the row */
        uint32_t middle = low + (high - low) / 2;

        if (kept->column->page[middle].first_row < row)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < count; low++) {
        const struct lmn__page_info *page = &kept->column->page[low];

        if (page->row_count != 0 && page->layout != NULL && !is_changed(kept, page))
            return page;
    }
    return NULL;
}

uint64_t lmn__kept_page_bytes(const struct lmn__page_info *page)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < page->buffer_count; i++)
        bytes = lmn__align_up(bytes, LMN_PAGE_ALIGN) + page->buffer[i].bytes;
    return bytes;
}

uint64_t lmn__kept_pages_bytes(const struct lmn__kept_pages *kept)
{
    uint64_t bytes = 0, row = 0;
    const struct lmn__page_info *page;

    while ((page = lmn__kept_pages_next(kept, row)) != NULL) {
        bytes += lmn__kept_page_bytes(page);
        row = page->first_row + page->row_count;
    }
    return bytes;
}

static enum lmn_status copy_buffer(const struct lmn__kept_pages *kept,
                                   const struct lmn__extent *from, struct lmn__store_file *to,
                                   uint64_t position, uint64_t *hash_out, struct lmn_error *err)
{
    struct lmn__block *block;
    enum lmn_status st = lmn__object_read_block(&kept->file->object, from->position, from->bytes,
                                                &block, err);

    if (st != LMN_OK)
        return st;
    *hash_out = lmn__hash64(block->data, from->bytes);
    st = to->store->ops->write_at(to, position, block->data, from->bytes, err);
    lmn__block_release(block);
    return st;
}

enum lmn_status lmn__kept_page_copy(const struct lmn__kept_pages *kept,
                                    const struct lmn__page_info *page, struct lmn__store_file *to,
                                    uint64_t position, struct lmn_tail *tail, uint32_t leaf,
                                    struct lmn_error *err)
{
    struct lmn__extent extent[LMN__PAGE_BUFFER_COUNT_MAX];
    uint64_t hash[LMN__PAGE_BUFFER_COUNT_MAX] = { 0 };
    struct lmn__placed_page placed = { .row_start = page->first_row,
                                       .row_count = page->row_count,
                                       .buffer_count = page->buffer_count,
                                       .buffer = extent,
                                       .description = page->description,
                                       .has_checksum = true };
    enum lmn_status st = LMN_OK;

    if (page->buffer_count > LMN__PAGE_BUFFER_COUNT_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "%s: a page of %u buffers", kept->file->path,
                        page->buffer_count);
    for (uint32_t i = 0; st == LMN_OK && i < page->buffer_count; i++) {
        extent[i] = (struct lmn__extent){ position, page->buffer[i].bytes };
        if (extent[i].bytes != 0)
            st = copy_buffer(kept, &page->buffer[i], to, position, &hash[i], err);
        else
            hash[i] = lmn__hash64("", 0);
        position = lmn__align_up(position + extent[i].bytes, LMN_PAGE_ALIGN);
    }
    placed.checksum = lmn__checksum_of(hash, page->buffer_count);
    return st == LMN_OK ? lmn__pages_tail_add(tail, leaf, &placed, err) : st;
}
