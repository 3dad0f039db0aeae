/* SPDX-License-Identifier: Apache-2.0 */
#include "format/column.h"

#include "base/error.h"
#include "base/math.h"
#include "format/array_encoding.h"

static enum lmn_status read_extents(const struct lmn_file *file, struct lmn__column *column,
                                    const struct lmn__pb_u64s *offsets,
                                    const struct lmn__pb_u64s *sizes, uint32_t *count_out,
                                    const struct lmn__extent **extent_out, struct lmn_error *err)
{
    struct lmn__extent *extent;

    if (offsets->count != sizes->count || offsets->count > UINT32_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "%zu buffer positions and %zu sizes", offsets->count,
                        sizes->count);
    extent = lmn__arena_array(&column->arena, offsets->count, sizeof *extent);
    if (extent == NULL)
        return lmn__arena_fail(&column->arena, "a page", err);
    for (size_t i = 0; i < offsets->count; i++) {
        extent[i] = (struct lmn__extent){ offsets->item[i], sizes->item[i] };
        if (!lmn__range_fits(extent[i].position, extent[i].bytes, file->object.bytes))
            return lmn_fail(err, LMN_E_CORRUPT,
                            "buffer %zu: %llu bytes at %llu are outside a file of %llu bytes", i,
                            (unsigned long long)extent[i].bytes,
                            (unsigned long long)extent[i].position,
                            (unsigned long long)file->object.bytes);
    }
    *count_out = (uint32_t)offsets->count;
    *extent_out = extent;
    return LMN_OK;
}

static enum lmn_status read_encoding(const struct lmn_file *file, struct lmn__column *column,
                                     const struct lmn__pb_page *pb, struct lmn__page_info *page,
                                     struct lmn_error *err)
{
    const char *wanted = file->footer.minor == 0 ? "/lance.encodings.ArrayEncoding"
                                                 : "/lance.encodings21.PageLayout";
    struct lmn__pb_any any;
    enum lmn_status st = lmn__pb_encoding_any(pb->encoding, &column->arena, &any, err);

    if (st != LMN_OK)
        return st;
    if (!lmn__span_equal(any.type_url, wanted))
        return lmn_fail(err, LMN_E_UNSUPPORTED, "an encoding of type \"%.*s\"",
                        (int)lmn__min_u64(any.type_url.len, 100), (const char *)any.type_url.data);
    page->description = any.value;
    if (file->footer.minor == 0)
        return lmn__array_encoding_read(any.value, &column->arena, &page->array, err);
    return lmn__page_layout_read(any.value, &column->arena, &page->layout, err);
}

static enum lmn_status read_page(const struct lmn_file *file, struct lmn__column *column,
                                 const struct lmn__pb_page *pb, struct lmn__page_info *page,
                                 struct lmn_error *err)
{
    enum lmn_status st;

    page->first_row = column->row_count;
    page->row_count = pb->length;
    if (pb->length > INT64_MAX - column->row_count)
        return lmn_fail(err, LMN_E_CORRUPT, "%llu rows", (unsigned long long)pb->length);
    column->row_count += pb->length;
    st = read_extents(file, column, &pb->buffer_offsets, &pb->buffer_sizes, &page->buffer_count,
                      &page->buffer, err);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < page->buffer_count; i++)
        column->bytes += page->buffer[i].bytes;
    return read_encoding(file, column, pb, page, err);
}

static enum lmn_status read_pages(const struct lmn_file *file, struct lmn__column *column,
                                  const struct lmn__pb_column *pb, struct lmn_error *err)
{
    const struct lmn__pb_page *page = pb->pages.item;

    if (pb->pages.count > UINT32_MAX - 1)
        return lmn_fail(err, LMN_E_CORRUPT, "%zu pages", pb->pages.count);
    column->page_count = (uint32_t)pb->pages.count;
    column->page = lmn__arena_array(&column->arena, pb->pages.count, sizeof *column->page);
    if (column->page == NULL)
        return lmn__arena_fail(&column->arena, "a column's pages", err);
    for (uint32_t i = 0; i < column->page_count; i++) {
        enum lmn_status st = read_page(file, column, &page[i], &column->page[i], err);

        if (st != LMN_OK)
            return lmn__fail_within(err, st, "page %u", i);
    }
    return read_extents(file, column, &pb->buffer_offsets, &pb->buffer_sizes, &column->buffer_count,
                        &column->buffer, err);
}

static enum lmn_status read_metadata(const struct lmn_file *file, struct lmn__column *column,
                                     struct lmn_error *err)
{
    struct lmn__extent extent = file->column_extent[column->index];
    struct lmn__pb_column pb = { 0 };
    uint8_t *bytes;
    enum lmn_status st;

    if (!lmn__range_fits(extent.position, extent.bytes, file->object.bytes))
        return lmn_fail(err, LMN_E_CORRUPT,
                        "its metadata, %llu bytes at %llu, is outside a file of %llu bytes",
                        (unsigned long long)extent.bytes, (unsigned long long)extent.position,
                        (unsigned long long)file->object.bytes);
    bytes = lmn__arena_alloc(&column->arena, extent.bytes);
    if (bytes == NULL)
        return lmn__arena_fail(&column->arena, "a column's metadata", err);
    st = lmn__object_read(&file->object, extent.position, bytes, extent.bytes, err);
    if (st == LMN_OK)
        st = lmn__pb_decode(&lmn__pb_column_message, (struct lmn__span){ bytes, extent.bytes },
                            &column->arena, &pb, err);
    return st != LMN_OK ? st : read_pages(file, column, &pb, err);
}

enum lmn_status lmn__column_read(struct lmn_file *file, uint32_t index,
                                 struct lmn__column **column_out, struct lmn_error *err)
{
    struct lmn__column *column = lmn__calloc(file->env, 1, sizeof *column);
    enum lmn_status st;

    *column_out = NULL;
    if (column == NULL)
        return lmn__no_memory(err, "a column", sizeof *column);
    column->index = index;
    lmn__arena_init(&column->arena, file->env, 0);
    st = read_metadata(file, column, err);
    if (st != LMN_OK) {
        lmn__column_free(file->env, column);
        return st;
    }
    *column_out = column;
    return LMN_OK;
}

void lmn__column_free(struct lmn_env *env, struct lmn__column *column)
{
    if (column == NULL)
        return;
    lmn__arena_deinit(&column->arena);
    lmn__free(env, column);
}

uint32_t lmn__column_find_page(const struct lmn__column *column, uint64_t row)
{
    uint32_t low = 0, high = column->page_count;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (column->page[middle].first_row <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}
