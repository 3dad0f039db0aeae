/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tail.h"

#include <stdlib.h>

#include "base/math.h"
#include "format/checksum.h"

enum lmn_status lmn__tail_init(struct lmn__tail *tail, struct lmn_env *env, uint32_t minor,
                               const struct lmn__pb_schema *pb, const struct lmn__schema *schema,
                               struct lmn_error *err)
{
    *tail = (struct lmn__tail){ .env = env, .minor = minor, .schema = pb };
    lmn__arena_init(&tail->arena, env, 0);
    tail->column_count = schema->column_count;
    tail->column = lmn__calloc(env, schema->column_count, sizeof *tail->column);
    if (tail->column == NULL)
        return lmn__no_memory(err, "a file's tail", schema->column_count * sizeof *tail->column);
    for (uint32_t i = 0; i < schema->node_count; i++) {
        const struct lmn__node *node = &schema->node[i];
        uint64_t stride = 1;

        if (node->column == LMN__NO_COLUMN)
            continue;
        for (const struct lmn__node *up = node; up != NULL; up = up->parent)
            stride *= up->kind == LMN__NODE_FIXED_LIST ? up->dimension : 1;
        tail->column[node->column].stride = stride;
    }
    return LMN_OK;
}

void lmn__tail_deinit(struct lmn__tail *tail)
{
    for (uint32_t i = 0; tail->column != NULL && i < tail->column_count; i++)
        lmn__free(tail->env, tail->column[i].page);
    lmn__free(tail->env, tail->column);
    lmn__arena_deinit(&tail->arena);
}

enum lmn_status lmn__tail_add(struct lmn__tail *tail, uint32_t column,
                              const struct lmn__placed_page *page, struct lmn_error *err)
{
    struct lmn__placed_column *to = &tail->column[column];
    struct lmn__extent *buffer = lmn__arena_array(&tail->arena, page->buffer_count, sizeof *buffer);
    char *description = lmn__arena_strndup(&tail->arena, page->description.data,
                                           page->description.len);

    if (buffer == NULL || description == NULL)
        return lmn__arena_fail(&tail->arena, "a file's tail", err);
    if (to->count == to->cap) {
        uint64_t cap = to->cap != 0 ? to->cap * 2 : 16;
        struct lmn__placed_page *grown = lmn__realloc(tail->env, to->page, cap * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "a file's tail", cap * sizeof *grown);
        to->page = grown;
        to->cap = cap;
    }
    for (uint32_t i = 0; i < page->buffer_count; i++)
        buffer[i] = page->buffer[i];
    to->page[to->count] = *page;
    to->page[to->count].buffer = buffer;
    to->page[to->count].description.data = (const uint8_t *)description;
    to->count++;
    return LMN_OK;
}

static int compare_pages(const void *a, const void *b)
{
    const struct lmn__placed_page *x = a, *y = b;

    return x->row_start < y->row_start ? -1 : x->row_start > y->row_start;
}

/* Do the pages of a column hold every row once? */
static enum lmn_status check_rows(struct lmn__placed_column *column, uint32_t index,
                                  uint64_t row_count, struct lmn_error *err)
{
    uint64_t next = 0;

    if (column->count != 0)
        qsort(column->page, column->count, sizeof *column->page, compare_pages);
    for (uint64_t i = 0; i < column->count; i++) {
        if (column->page[i].row_start != next)
            return lmn_fail(err, LMN_E_INVALID,
                            "column %u: page %llu begins at row %llu, the one before ends at %llu",
                            index, (unsigned long long)i,
                            (unsigned long long)column->page[i].row_start,
                            (unsigned long long)next);
        next += column->page[i].row_count;
    }
    if (next != row_count * column->stride)
        return lmn_fail(err, LMN_E_INVALID, "column %u has pages of %llu rows in a file of %llu",
                        index, (unsigned long long)(next / column->stride),
                        (unsigned long long)row_count);
    return LMN_OK;
}

/* An Encoding message around an Any. */
static void put_encoding(struct lmn__buf *out, uint32_t number, const char *type_url,
                         struct lmn__span value, struct lmn__buf *work)
{
    struct lmn__pb_any any = { { (const uint8_t *)type_url, strlen(type_url) }, value };
    struct lmn__buf direct, encoding;

    lmn__buf_init(&direct, out->env, 0);
    lmn__buf_init(&encoding, out->env, 0);
    lmn__buf_reset(work);
    lmn__pb_encode(&lmn__pb_any_message, &any, work);
    lmn__pb_put_tag_bytes(&direct, 1, (struct lmn__span){ work->data, work->len });
    lmn__pb_put_tag_bytes(&encoding, 2, (struct lmn__span){ direct.data, direct.len });
    lmn__pb_put_tag_bytes(out, number, (struct lmn__span){ encoding.data, encoding.len });
    out->failed |= work->failed || direct.failed || encoding.failed;
    lmn__buf_deinit(&direct);
    lmn__buf_deinit(&encoding);
}

/* A packed list of numbers; nothing when it is empty. */
static void put_numbers(struct lmn__buf *out, uint32_t number, const struct lmn__extent *extent,
                        uint32_t count, bool sizes, struct lmn__buf *work)
{
    if (count == 0)
        return;
    lmn__buf_reset(work);
    for (uint32_t i = 0; i < count; i++)
        lmn__pb_put_varint(work, sizes ? extent[i].bytes : extent[i].position);
    lmn__pb_put_tag_bytes(out, number, (struct lmn__span){ work->data, work->len });
    out->failed |= work->failed;
}

static void put_number(struct lmn__buf *out, uint32_t number, uint64_t value)
{
    if (value == 0)
        return;
    lmn__pb_put_varint(out, (uint64_t)number << 3);
    lmn__pb_put_varint(out, value);
}

static void put_page(struct lmn__buf *out, const struct lmn__placed_page *page, uint64_t stride,
                     struct lmn__buf *message, struct lmn__buf *work)
{
    lmn__buf_reset(message);
    put_numbers(message, 1, page->buffer, page->buffer_count, false, work);
    put_numbers(message, 2, page->buffer, page->buffer_count, true, work);
    put_number(message, 3, page->row_count);
    put_encoding(message, 4, "/lance.encodings21.PageLayout", page->description, work);
    put_number(message, 5, page->row_start / stride);
    lmn__pb_put_tag_bytes(out, 2, (struct lmn__span){ message->data, message->len });
    out->failed |= message->failed;
}

static void put_column(struct lmn__buf *out, const struct lmn__placed_column *column)
{
    static const uint8_t values[2] = { 0x0a, 0 }; /* ColumnEncoding { values {} } */
    struct lmn__buf message, work;

    lmn__buf_init(&message, out->env, 0);
    lmn__buf_init(&work, out->env, 0);
    put_encoding(out, 1, "/lance.encodings.ColumnEncoding",
                 (struct lmn__span){ values, sizeof values }, &work);
    for (uint64_t i = 0; i < column->count; i++)
        put_page(out, &column->page[i], column->stride, &message, &work);
    lmn__buf_deinit(&message);
    lmn__buf_deinit(&work);
}

enum lmn_status lmn__tail_encode(struct lmn__tail *tail, uint64_t row_count, uint64_t position,
                                 struct lmn__buf *out, struct lmn_error *err)
{
    struct lmn__pb_descriptor descriptor = { (struct lmn__pb_schema *)tail->schema, row_count };
    struct lmn__footer footer = { .global_count = tail->stats.bytes != 0 ? 2 : 1,
                                  .column_count = tail->column_count,
                                  .minor = tail->minor };
    struct lmn__extent *extent = lmn__arena_array(&tail->arena, tail->column_count, sizeof *extent);
    size_t start = out->len, descriptor_bytes, checksum_start, checksum_bytes;
    uint8_t bytes[LMN__FOOTER_BYTES];

    if (extent == NULL)
        return lmn__arena_fail(&tail->arena, "a file's tail", err);
    for (uint32_t i = 0; i < tail->column_count; i++) {
        enum lmn_status st = check_rows(&tail->column[i], i, row_count, err);

        if (st != LMN_OK)
            return st;
    }
    lmn__pb_encode(&lmn__pb_descriptor_message, &descriptor, out);
    descriptor_bytes = out->len - start;
    lmn__buf_put_zeros(out, lmn__align_up(descriptor_bytes, LMN__BUFFER_ALIGN) - descriptor_bytes);
    checksum_start = out->len - start;
    lmn__checksums_put(tail, out);
    checksum_bytes = out->len - start - checksum_start;
    footer.global_count += checksum_bytes != 0;
    footer.column_metadata = position + out->len - start;
    for (uint32_t i = 0; i < tail->column_count; i++) {
        extent[i].position = position + out->len - start;
        put_column(out, &tail->column[i]);
        extent[i].bytes = position + out->len - start - extent[i].position;
    }
    footer.column_table = position + out->len - start;
    for (uint32_t i = 0; i < tail->column_count; i++) {
        lmn__buf_put_u64(out, extent[i].position);
        lmn__buf_put_u64(out, extent[i].bytes);
    }
    footer.global_table = position + out->len - start;
    lmn__buf_put_u64(out, position);
    lmn__buf_put_u64(out, descriptor_bytes);
    if (tail->stats.bytes != 0) {
        lmn__buf_put_u64(out, tail->stats.position);
        lmn__buf_put_u64(out, tail->stats.bytes);
    }
    if (checksum_bytes != 0) {
        lmn__buf_put_u64(out, position + checksum_start);
        lmn__buf_put_u64(out, checksum_bytes);
    }
    lmn__footer_encode(&footer, bytes);
    lmn__buf_put(out, bytes, sizeof bytes);
    if (checksum_bytes != 0 && !out->failed) {
        uint8_t *data = out->data + start;
        size_t rest = footer.column_metadata - position;

        lmn__checksums_put_ends(data + checksum_start + checksum_bytes,
                                (struct lmn__span){ data, descriptor_bytes },
                                (struct lmn__span){ data + rest, out->len - start - rest });
    }
    return lmn__buf_status(out, "a file's tail", err);
}
