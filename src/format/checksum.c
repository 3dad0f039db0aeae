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

/* Bytes of the global buffer that begins with the magic; .data is NULL when there is none. */
static enum lmn_status find_buffer(struct lmn_file *file, struct lmn__arena *arena,
                                   struct lmn__span *bytes_out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *bytes_out = (struct lmn__span){ NULL, 0 };
    for (uint32_t i = 1; st == LMN_OK && i < file->footer.global_count; i++) {
        struct lmn__extent extent = file->global_extent[i];
        uint8_t head[sizeof magic], *data;

        if (extent.bytes < HEAD_BYTES)
            continue;
        st = lmn__object_read(&file->object, extent.position, head, sizeof head, err);
        if (st != LMN_OK || memcmp(head, magic, sizeof magic) != 0)
            continue;
        if (extent.bytes > file->object.bytes)
            return lmn_fail(err, LMN_E_CORRUPT, "%llu bytes of checksums in a file of %llu",
                            (unsigned long long)extent.bytes,
                            (unsigned long long)file->object.bytes);
        data = lmn__arena_alloc(arena, extent.bytes);
        if (data == NULL)
            return lmn__arena_fail(arena, "checksums", err);
        *bytes_out = (struct lmn__span){ data, extent.bytes };
        return lmn__object_read(&file->object, extent.position, data, extent.bytes, err);
    }
    return st;
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
    if (st == LMN_OK && bytes.data != NULL && lmn__load_u32(bytes.data + 4) == VERSION)
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

enum lmn_status lmn__checksums_check_ends(const struct lmn__checksums *checksums,
                                          struct lmn_file *file, struct lmn_error *err)
{
    uint64_t begin = lmn__min_u64(file->footer.column_metadata, file->object.bytes), schema, end;
    struct lmn__extent rest = { begin, file->object.bytes - begin };
    enum lmn_status st;

    if (!checksums->has_ends)
        return LMN_OK;
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
