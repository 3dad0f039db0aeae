/* SPDX-License-Identifier: Apache-2.0 */
#include "format/checksum.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "codec/encode.h"

enum { VERSION = 1, HEAD_BYTES = 12, END_BYTES = 16 };
static const char magic[4] = { 'L', 'M', 'N', 'C' };

uint64_t lmn__checksum_of(const uint64_t *hash, uint32_t count)
{
    return lmn__hash64(hash, count * sizeof *hash);
}

void lmn__checksums_put(const struct lmn__tail *tail, struct lmn__buf *out)
{
    for (uint32_t i = 0; i < tail->column_count; i++) {
        for (uint64_t k = 0; k < tail->column[i].count; k++) {
            if (!tail->column[i].page[k].has_checksum)
                return;
        }
    }
    lmn__buf_put(out, magic, sizeof magic);
    lmn__buf_put_u32(out, VERSION);
    lmn__buf_put_u32(out, tail->column_count);
    for (uint32_t i = 0; i < tail->column_count; i++)
        lmn__buf_put_u32(out, (uint32_t)tail->column[i].count);
    for (uint32_t i = 0; i < tail->column_count; i++) {
        for (uint64_t k = 0; k < tail->column[i].count; k++)
            lmn__buf_put_u64(out, tail->column[i].page[k].checksum);
    }
    lmn__buf_put_zeros(out, END_BYTES);
}

void lmn__checksums_put_ends(uint8_t *end, struct lmn__span schema, struct lmn__span rest)
{
    lmn__store_u64(end - END_BYTES, lmn__hash64(schema.data, schema.len));
    lmn__store_u64(end - END_BYTES / 2, lmn__hash64(rest.data, rest.len));
}

static bool is_head(const uint8_t *head)
{
    return memcmp(head, magic, sizeof magic) == 0 && lmn__load_u32(head + 4) == VERSION;
}

/* Do the numbers at `extent`, behind the mark and the version, make as many bytes as it has? */
static enum lmn_status has_form(struct lmn_file *file, struct lmn__extent extent,
                                const uint8_t *head, bool *has_out, struct lmn_error *err)
{
    uint32_t columns = file->footer.column_count;
    uint64_t bytes = HEAD_BYTES + (uint64_t)columns * 4;
    uint8_t *count;
    enum lmn_status st;

    *has_out = false;
    if (columns == 0 || lmn__load_u32(head + 8) != columns || bytes > extent.bytes)
        return LMN_OK;
    count = lmn__calloc(file->env, columns, 4);
    if (count == NULL)
        return lmn__no_memory(err, "checksums", (uint64_t)columns * 4);
    st = lmn__object_read(&file->object, extent.position + HEAD_BYTES, count, (size_t)columns * 4,
                          err);
    for (uint32_t i = 0; st == LMN_OK && i < columns; i++)
        bytes += (uint64_t)lmn__load_u32(count + (size_t)i * 4) * 8;
    lmn__free(file->env, count);
    *has_out = extent.bytes == bytes || extent.bytes == bytes + END_BYTES;
    return st;
}

/*
 * No global buffer of the file is one with checksums. Is there one all the same, where they stand:
 * from behind the schema up to the descriptions of the columns?
 */
static enum lmn_status check_place(struct lmn_file *file, struct lmn_error *err)
{
    uint64_t at = lmn__align_up(file->global_extent[0].position + file->global_extent[0].bytes,
                                LMN__BUFFER_ALIGN);
    uint64_t end = lmn__min_u64(file->footer.column_metadata, file->object.bytes);
    struct lmn__extent place = { at, end - at };
    uint8_t head[HEAD_BYTES];
    bool there;
    enum lmn_status st;

    if (at > end || place.bytes < HEAD_BYTES)
        return LMN_OK;
    st = lmn__object_read(&file->object, at, head, sizeof head, err);
    if (st != LMN_OK)
        return st;
    there = is_head(head);
    if (!there)
        st = has_form(file, place, head, &there, err);
    return st == LMN_OK && there
               ? lmn_fail(err, LMN_E_CORRUPT,
                          "the checksums at %llu are damaged in their mark or version, or in what "
                          "lists them",
                          (unsigned long long)at)
               : st;
}

/* Read the buffer with checksums as a whole. */
static enum lmn_status read_buffer(struct lmn_file *file, struct lmn__extent extent,
                                   struct lmn__arena *arena, struct lmn__span *bytes_out,
                                   struct lmn_error *err)
{
    uint8_t *data;

    if (extent.bytes > file->object.bytes ||
        extent.position + extent.bytes != file->footer.column_metadata)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "%llu bytes of checksums at %llu, which the descriptions of the columns, "
                        "at %llu, do not follow",
                        (unsigned long long)extent.bytes, (unsigned long long)extent.position,
                        (unsigned long long)file->footer.column_metadata);
    data = lmn__arena_alloc(arena, extent.bytes);
    if (data == NULL)
        return lmn__arena_fail(arena, "checksums", err);
    *bytes_out = (struct lmn__span){ data, extent.bytes };
    return lmn__object_read(&file->object, extent.position, data, extent.bytes, err);
}

/* Bytes of the global buffer with checksums; .data is NULL when there is none. */
static enum lmn_status find_buffer(struct lmn_file *file, struct lmn__arena *arena,
                                   struct lmn__span *bytes_out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *bytes_out = (struct lmn__span){ NULL, 0 };
    for (uint32_t i = 1; st == LMN_OK && i < file->footer.global_count; i++) {
        struct lmn__extent extent = file->global_extent[i];
        uint8_t head[HEAD_BYTES];

        if (extent.bytes < HEAD_BYTES)
            continue;
        st = lmn__object_read(&file->object, extent.position, head, sizeof head, err);
        if (st == LMN_OK && is_head(head))
            return read_buffer(file, extent, arena, bytes_out, err);
    }
    return st == LMN_OK ? check_place(file, err) : st;
}

static enum lmn_status parse(struct lmn_file *file, struct lmn__span bytes,
                             struct lmn__arena *arena, struct lmn__checksums *checksums,
                             struct lmn_error *err)
{
    uint32_t columns = lmn__load_u32(bytes.data + 8), *count;
    uint64_t total = 0, at = HEAD_BYTES + (uint64_t)columns * 4, *value;

    if (columns != file->footer.column_count || at > bytes.len)
        return lmn_fail(err, LMN_E_CORRUPT, "checksums of %u columns in a file of %u", columns,
                        file->footer.column_count);
    count = lmn__arena_array(arena, columns, sizeof *count);
    checksums->page = lmn__arena_array(arena, columns, sizeof *checksums->page);
    value = lmn__arena_array(arena, (bytes.len - at) / 8, sizeof *value);
    if (count == NULL || checksums->page == NULL || value == NULL)
        return lmn__arena_fail(arena, "checksums", err);
    for (uint32_t i = 0; i < columns; i++) {
        count[i] = lmn__load_u32(bytes.data + HEAD_BYTES + i * 4);
        checksums->page[i] = value + total;
        total += count[i];
        if (total > (bytes.len - at) / 8)
            return lmn_fail(err, LMN_E_CORRUPT, "%zu bytes of checksums for %llu pages and more",
                            bytes.len, (unsigned long long)total);
    }
    for (uint64_t i = 0; i < total; i++)
        value[i] = lmn__load_u64(bytes.data + at + i * 8);
    checksums->has_ends = (bytes.len - at) / 8 - total >= END_BYTES / 8;
    if (checksums->has_ends) {
        checksums->schema = lmn__load_u64(bytes.data + at + total * 8);
        checksums->end = lmn__load_u64(bytes.data + at + total * 8 + 8);
    }
    checksums->page_count = count;
    checksums->column_count = columns;
    checksums->there = true;
    return LMN_OK;
}

enum lmn_status lmn__checksums_read(struct lmn_file *file, struct lmn__arena *arena,
                                    struct lmn__checksums *checksums_out, struct lmn_error *err)
{
    struct lmn__span bytes;
    enum lmn_status st = find_buffer(file, arena, &bytes, err);

    *checksums_out = (struct lmn__checksums){ 0 };
    if (st == LMN_OK && bytes.data != NULL)
        st = parse(file, bytes, arena, checksums_out, err);
    return st != LMN_OK ? lmn__fail_within(err, st, "%.200s", file->object.name) : st;
}

/* Hash what lies at `extent`, piece by piece through a block of the pool. */
static enum lmn_status hash_extent(struct lmn_file *file, struct lmn__extent extent,
                                   uint64_t *hash_out, struct lmn_error *err)
{
    struct lmn__block *block;
    enum lmn_status st = lmn__object_read_block(&file->object, extent.position, extent.bytes,
                                                &block, err);

    if (st != LMN_OK)
        return st;
    *hash_out = lmn__hash64(block->data, extent.bytes);
    lmn__block_release(block);
    return LMN_OK;
}

/* Another number of pages would take the checksums behind the last page for those of pages. */
static enum lmn_status check_counts(const struct lmn__checksums *checksums, struct lmn_file *file,
                                    struct lmn_error *err)
{
    for (uint32_t i = 0; i < checksums->column_count; i++) {
        const struct lmn__column *column;
        enum lmn_status st = lmn__file_column(file, i, &column, err);

        if (st == LMN_OK && column->page_count != checksums->page_count[i])
            st = lmn_fail(err, LMN_E_CORRUPT, "%.200s: column %u has %u pages, and checksums of %u",
                          file->object.name, i, column->page_count, checksums->page_count[i]);
        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

enum lmn_status lmn__checksums_check_ends(const struct lmn__checksums *checksums,
                                          struct lmn_file *file, struct lmn_error *err)
{
    uint64_t begin = lmn__min_u64(file->footer.column_metadata, file->object.bytes), schema, end;
    struct lmn__extent rest = { begin, file->object.bytes - begin };
    enum lmn_status st = check_counts(checksums, file, err);

    if (st != LMN_OK || !checksums->has_ends)
        return st;
    st = hash_extent(file, file->global_extent[0], &schema, err);
    if (st == LMN_OK)
        st = hash_extent(file, rest, &end, err);
    if (st == LMN_OK && schema != checksums->schema)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "%.200s: the schema's bytes are not those that were written",
                        file->object.name);
    if (st == LMN_OK && end != checksums->end)
        return lmn_fail(err, LMN_E_CORRUPT,
                        "%.200s: the descriptions of the columns, at %llu, are not those that were "
                        "written",
                        file->object.name, (unsigned long long)begin);
    return st;
}

enum lmn_status lmn__checksums_check(const struct lmn__checksums *checksums, struct lmn_file *file,
                                     uint32_t column, uint32_t page, struct lmn_error *err)
{
    const struct lmn__column *info;
    uint64_t hash[LMN__PAGE_BUFFER_COUNT_MAX];
    enum lmn_status st = lmn__file_column(file, column, &info, err);

    if (!checksums->there || st != LMN_OK)
        return st;
    if (column >= checksums->column_count || page >= checksums->page_count[column] ||
        info->page[page].buffer_count > LMN__PAGE_BUFFER_COUNT_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "%.200s: column %u, page %u has no checksum",
                        file->object.name, column, page);
    for (uint32_t i = 0; st == LMN_OK && i < info->page[page].buffer_count; i++)
        st = hash_extent(file, info->page[page].buffer[i], &hash[i], err);
    if (st == LMN_OK &&
        lmn__checksum_of(hash, info->page[page].buffer_count) != checksums->page[column][page])
        st = lmn_fail(err, LMN_E_CORRUPT,
                      "%.200s: column %u, page %u: its bytes are not those that were written",
                      file->object.name, column, page);
    return st;
}
