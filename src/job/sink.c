/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a write, in the order that makes a receipt true:
 *
 *   encode every column, in memory -> ask for space -> write -> sync the files -> the receipt
 *
 * Pages of blobs hold positions and are made with the file; what is held of them is where their
 * payloads are, which are written first.
 */
#include "job/sink.h"

#include "arrow/schema.h"
#include "base/error.h"
#include "base/hash.h"
#include "job/payload_column.h"
#include "job/sink_parts.h"

void lmn__page_sink_close(struct lmn__page_sink *sink)
{
    struct lmn_env *env;

    if (sink == NULL)
        return;
    env = sink->env;
    lmn__payloads_deinit(&sink->payloads);
    if (sink->held.release != NULL)
        sink->held.release(&sink->held);
    if (sink->hold != NULL)
        sink->store->ops->close(sink->hold);
    if (sink->pages != NULL)
        sink->store->ops->close(sink->pages);
    if (sink->schema.release != NULL)
        sink->schema.release(&sink->schema);
    if (sink->plan.env != NULL)
        lmn__write_plan_deinit(&sink->plan);
    lmn__free(env, sink->dir);
    lmn_store_release(sink->store);
    lmn__free(env, sink);
}

void lmn__page_sink_begin(struct lmn__page_sink *sink, uint64_t parts)
{
    if (sink->parts == parts)
        return;
    sink->parts = parts;
    if (sink->pages != NULL)
        sink->store->ops->close(sink->pages);
    sink->pages = NULL;
    if (sink->payloads.env != NULL)
        lmn__payloads_reset(&sink->payloads, false);
}

bool lmn__sink_is_blob(const struct lmn__page_sink *sink, uint32_t column)
{
    return lmn_pages_positional(sink->schema.children[column]);
}

static enum lmn_status set_up(struct lmn__page_sink *sink,
                              const struct lmn__page_sink_options *options, struct lmn_error *err)
{
    const struct lmn_encode_options encode = { .version = options->file_version };
    enum lmn_status st = lmn__arrow_schema_copy(options->schema, &sink->schema, err);

    sink->dir = lmn__strndup(sink->env, options->dir, strlen(options->dir));
    if (st == LMN_OK && sink->dir == NULL)
        st = lmn__no_memory(err, "a sink", strlen(options->dir));
    if (st == LMN_OK)
        st = lmn__write_plan_init(&sink->plan, sink->env, &sink->schema, &encode, err);
    if (st != LMN_OK)
        sink->plan.env = NULL;
    if (st == LMN_OK)
        st = lmn__payload_schema(&sink->schema, &sink->held, err);
    for (uint32_t i = 0; st == LMN_OK && i < sink->column_count; i++) {
        if (sink->payloads.env == NULL && lmn__sink_is_blob(sink, i))
            lmn__payloads_init(
                &sink->payloads, sink->store,
                options->segments ? &lmn__sink_segment_payloads : &lmn__sink_shared_payloads, sink);
    }
    return st;
}

enum lmn_status lmn__page_sink_open(const struct lmn__page_sink_options *options,
                                    struct lmn__page_sink **sink_out, struct lmn_error *err)
{
    struct lmn_env *env = options->store->env;
    struct lmn__page_sink *sink = lmn__calloc(env, 1, sizeof *sink);
    enum lmn_status st;

    *sink_out = NULL;
    if (sink == NULL)
        return lmn__no_memory(err, "a sink", sizeof *sink);
    sink->env = env;
    sink->store = lmn_store_acquire(options->store);
    sink->column_count = (uint32_t)options->schema->n_children;
    sink->value_count = sink->column_count / 2;
    sink->grant = options->grant;
    sink->context = options->context;
    sink->unsynced = options->unsynced;
    sink->place = options->segments ? &lmn__sink_segments : &lmn__sink_shared;
    st = set_up(sink, options, err);
    if (st != LMN_OK) {
        lmn__page_sink_close(sink);
        return st;
    }
    *sink_out = sink;
    return LMN_OK;
}

/* Close the file of a grant; the first failure counts. */
static enum lmn_status close_place(struct lmn__sink_writing *writing, struct lmn__store_file *file,
                                   enum lmn_status st, struct lmn_error *err)
{
    enum lmn_status closed = writing->sink->place->close(writing, file, st == LMN_OK ? err : NULL);

    return st != LMN_OK ? st : closed;
}

static enum lmn_status write_buffers(struct lmn__sink_writing *writing, struct lmn_pages *pages,
                                     uint64_t position, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    struct lmn__store_file *file;
    uint64_t base;
    enum lmn_status st = sink->place->open(writing, LMN__GRANT_PAGES, position, &file, &base, err);

    if (st != LMN_OK)
        return st;
    st = lmn_pages_place(pages, position, err);
    for (uint32_t i = 0; st == LMN_OK && i < lmn_pages_buffer_count(pages); i++) {
        struct lmn_page_buffer buffer = lmn_pages_buffer(pages, i);

        st = lmn__store_write_past(file, buffer.position - base, buffer.data, buffer.bytes, err);
    }
    return close_place(writing, file, st, err);
}

static enum lmn_status write_pages(struct lmn__sink_writing *writing, uint32_t column,
                                   struct lmn__receipt_pages *item, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    struct lmn_pages *pages = writing->pages[column];
    const void *data;
    size_t len;
    enum lmn_status st;

    *item = (struct lmn__receipt_pages){ .column = column, .bytes = lmn_pages_bytes(pages) };
    st = sink->grant(sink->context, LMN__GRANT_PAGES, item->bytes, &item->position, err);
    if (st == LMN_OK)
        st = write_buffers(writing, pages, item->position, err);
    if (st == LMN_OK)
        st = lmn_pages_describe(pages, &data, &len, err);
    if (st == LMN_OK)
        item->descriptor = (struct lmn__span){ data, len };
    return st;
}

static enum lmn_status write_hold(struct lmn__sink_writing *writing, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    struct lmn__receipt_hold *hold = &writing->hold;
    struct lmn__store_file *file;
    uint64_t base;
    enum lmn_status st;

    hold->bytes = writing->held.len;
    hold->checksum = lmn__hash64(writing->held.data, writing->held.len);
    writing->receipt.holds = (struct lmn__pb_list){ hold, 1 };
    st = sink->grant(sink->context, LMN__GRANT_HOLD, hold->bytes, &hold->position, err);
    if (st == LMN_OK)
        st = sink->place->open(writing, LMN__GRANT_HOLD, hold->position, &file, &base, err);
    if (st != LMN_OK)
        return st;
    st = sink->store->ops->write_at(file, hold->position - base, writing->held.data,
                                    writing->held.len, err);
    st = close_place(writing, file, st, err);
    if (st == LMN_OK && !sink->unsynced)
        st = sink->place->sync(writing, LMN__GRANT_HOLD, err);
    return st;
}

/* Put everything into its place; durable afterwards. */
static enum lmn_status write_all(struct lmn__sink_writing *writing, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    struct lmn__receipt_pages *item = lmn__arena_array(&writing->arena, sink->column_count,
                                                       sizeof *item);
    size_t count = 0;
    enum lmn_status st = LMN_OK;

    if (item == NULL)
        return lmn__arena_fail(&writing->arena, "a receipt", err);
    for (uint32_t i = 0; st == LMN_OK && i < sink->column_count; i++) {
        if (writing->pages[i] != NULL)
            st = write_pages(writing, i, &item[count++], err);
    }
    if (st == LMN_OK && count + writing->receipt.payloads.count != 0 && !sink->unsynced)
        st = sink->place->sync(writing, LMN__GRANT_PAGES, err);
    if (st == LMN_OK && writing->hold.column.count != 0)
        st = write_hold(writing, err);
    writing->receipt.pages = (struct lmn__pb_list){ item, count };
    return st;
}

static enum lmn_status check_rows(const struct lmn__sink_writing *writing, struct lmn_error *err)
{
    const struct lmn__page_sink_rows *rows = writing->rows;
    uint64_t wanted = 0, given = 0;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < rows->range_count; i++)
        wanted += rows->range[i].count;
    for (uint64_t i = 0; st == LMN_OK && i < rows->array_count; i++) {
        given += (uint64_t)rows->array[i].length;
        st = lmn__write_plan_check(&writing->sink->plan, &rows->array[i], err);
    }
    if (st == LMN_OK && (wanted != given || wanted == 0))
        st = lmn_fail(err, LMN_E_INVALID, "results of %llu rows for %llu",
                      (unsigned long long)given, (unsigned long long)wanted);
    return st;
}

/* The part of a receipt that says which rows it is for. */
static enum lmn_status describe_rows(struct lmn__sink_writing *writing, struct lmn_error *err)
{
    const struct lmn__page_sink_rows *rows = writing->rows;
    struct lmn__receipt *receipt = &writing->receipt;
    uint64_t *first = lmn__arena_array(&writing->arena, rows->range_count, sizeof *first);
    uint64_t *count = lmn__arena_array(&writing->arena, rows->range_count, sizeof *count);

    if (first == NULL || count == NULL)
        return lmn__arena_fail(&writing->arena, "a receipt", err);
    for (uint64_t i = 0; i < rows->range_count; i++) {
        first[i] = rows->range[i].first;
        count[i] = rows->range[i].count;
        receipt->row_count += rows->range[i].count;
    }
    receipt->fragment_id = rows->fragment_id;
    receipt->layout = rows->layout;
    receipt->first = (struct lmn__pb_u64s){ first, rows->range_count };
    receipt->count = (struct lmn__pb_u64s){ count, rows->range_count };
    receipt->failed_count = rows->failed_count;
    receipt->segments = writing->sink->place == &lmn__sink_segments;
    receipt->errors = (struct lmn__pb_list){ (void *)(uintptr_t)rows->error, rows->error_count };
    return LMN_OK;
}

enum lmn_status lmn__page_sink_write(struct lmn__page_sink *sink,
                                     const struct lmn__page_sink_rows *rows,
                                     struct lmn__buf *receipt_out, struct lmn_error *err)
{
    struct lmn__sink_writing writing = { .sink = sink, .rows = rows };
    enum lmn_status st;

    lmn__arena_init(&writing.arena, sink->env, 0);
    lmn__buf_init(&writing.held, sink->env, 0);
    st = check_rows(&writing, err);
    if (st == LMN_OK)
        st = describe_rows(&writing, err);
    if (st == LMN_OK)
        st = lmn__sink_place_blobs(&writing, err);
    if (st == LMN_OK)
        st = lmn__sink_encode_columns(&writing, err);
    if (st == LMN_OK)
        st = lmn__sink_encode_held(&writing, err);
    if (st == LMN_OK)
        st = write_all(&writing, err);
    if (st == LMN_OK) {
        lmn__receipt_encode(&writing.receipt, receipt_out);
        st = lmn__buf_status(receipt_out, "a receipt", err);
    }
    for (uint32_t i = 0; writing.pages != NULL && i < sink->column_count; i++)
        lmn_pages_free(writing.pages[i]);
    lmn__sink_release_blobs(&writing);
    lmn__buf_deinit(&writing.held);
    lmn__arena_deinit(&writing.arena);
    return st != LMN_OK
               ? lmn__fail_within(err, st, "fragment %llu", (unsigned long long)rows->fragment_id)
               : st;
}
