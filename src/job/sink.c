/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a write, in the order that makes a receipt true:
 *
 *   encode every column, in memory -> ask for space -> write -> sync the files -> the receipt
 *
 * Whether a column goes to its place is decided by the size of its finished pages. Pages of blobs
 * hold positions and are made with the file; what is held of them is where their payloads are,
 * which are written first.
 */
#include "job/sink.h"

#include "arrow/compose.h"
#include "arrow/ipc_write.h"
#include "arrow/schema.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "format/pages.h"
#include "job/journal_parts.h"
#include "job/payload_column.h"
#include "os/sink.h"

static const uint64_t direct_bytes_min = 1ull << 20;

struct writing;

/* Where bytes go; one table for each kind of sink. */
struct place_ops {
    /* The open file for what was granted at `position`, and the position of its first byte. */
    enum lmn_status (*open)(struct writing *writing, enum lmn__grant_file kind, uint64_t position,
                            struct lmn__store_file **file_out, uint64_t *base_out,
                            struct lmn_error *err);
    /* All that goes into it is written. */
    enum lmn_status (*close)(struct writing *writing, struct lmn__store_file *file,
                             struct lmn_error *err);
    /* Make what was written of a kind durable. */
    enum lmn_status (*sync)(struct writing *writing, enum lmn__grant_file kind,
                            struct lmn_error *err);
};

struct lmn__page_sink {
    struct lmn_env *env;     /* the store's */
    struct lmn_store *store; /* counted */
    char *dir;
    struct ArrowSchema schema;
    struct ArrowSchema held; /* the same with blobs as they are held */
    struct lmn__write_plan plan;
    uint32_t column_count;
    uint32_t value_count; /* columns before the ledgers */
    bool unsynced;
    const struct place_ops *place;
    lmn__grant_fn grant;
    void *context;
    struct lmn__store_file *hold;
    struct lmn__store_file *pages; /* of: */
    uint64_t pages_fragment, pages_layout;
    struct lmn__payloads payloads; /* not open: no column is a blob; of: */
    uint64_t fragment_id, layout;
};

/* One call of lmn__page_sink_write(). */
struct writing {
    struct lmn__page_sink *sink;
    const struct lmn__page_sink_rows *rows;
    struct lmn__arena arena;
    struct ArrowArray *nulls; /* to be released: slots of rows that are dead */
    uint64_t null_count;
    struct lmn_pages **pages; /* by column; NULL: it is held */
    struct lmn__receipt receipt;
    struct lmn__receipt_hold hold;
    struct lmn__buf held;              /* Arrow bytes */
    struct lmn__page_sink_rows placed; /* the rows, with blobs as they are held */
    struct ArrowArray *made;           /* to be released: blob columns */
    uint64_t made_count;
};

static enum lmn_status shared_open(struct writing *writing, enum lmn__grant_file kind,
                                   uint64_t position, struct lmn__store_file **file_out,
                                   uint64_t *base_out, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    struct lmn__store_file **file = kind == LMN__GRANT_HOLD ? &sink->hold : &sink->pages;
    char path[LMN__FILL_PATH_BYTES];
    enum lmn_status st = LMN_OK;

    (void)position;
    *base_out = 0;
    if (kind == LMN__GRANT_PAGES && *file != NULL &&
        (sink->pages_fragment != writing->rows->fragment_id ||
         sink->pages_layout != writing->rows->layout)) {
        sink->store->ops->close(*file);
        *file = NULL;
    }
    lmn__fill_path(sink->dir, kind, writing->rows->fragment_id, writing->rows->layout, path);
    if (*file == NULL)
        st = sink->store->ops->open_update(sink->store, path, file, err);
    if (st == LMN_OK && kind == LMN__GRANT_PAGES) {
        sink->pages_fragment = writing->rows->fragment_id;
        sink->pages_layout = writing->rows->layout;
    }
    *file_out = *file;
    return st;
}

/* It stays open for the next grant. */
static enum lmn_status shared_close(struct writing *writing, struct lmn__store_file *file,
                                    struct lmn_error *err)
{
    (void)writing;
    (void)file;
    (void)err;
    return LMN_OK;
}

static enum lmn_status shared_sync(struct writing *writing, enum lmn__grant_file kind,
                                   struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;

    return sink->store->ops->sync(kind == LMN__GRANT_HOLD ? sink->hold : sink->pages, err);
}

static const struct place_ops shared_ops = { shared_open, shared_close, shared_sync };

static enum lmn_status segment_open(struct writing *writing, enum lmn__grant_file kind,
                                    uint64_t position, struct lmn__store_file **file_out,
                                    uint64_t *base_out, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    char path[LMN__FILL_PATH_BYTES];

    *base_out = position;
    lmn__segment_path(sink->dir, kind, writing->rows->fragment_id, writing->rows->layout, position,
                      path);
    return sink->store->ops->create(sink->store, path, file_out, err);
}

static enum lmn_status segment_close(struct writing *writing, struct lmn__store_file *file,
                                     struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    enum lmn_status st = sink->unsynced ? LMN_OK : sink->store->ops->sync(file, err);

    sink->store->ops->close(file);
    return st;
}

/* Their names. */
static enum lmn_status segment_sync(struct writing *writing, enum lmn__grant_file kind,
                                    struct lmn_error *err)
{
    (void)kind;
    return writing->sink->store->ops->sync_dir(writing->sink->store, writing->sink->dir, err);
}

static const struct place_ops segment_ops = { segment_open, segment_close, segment_sync };

static enum lmn_status grant_payload(void *context, uint64_t bytes, uint64_t *position_out,
                                     struct lmn_error *err)
{
    struct lmn__page_sink *sink = context;

    return sink->grant(sink->context, LMN__GRANT_PAGES, bytes, position_out, err);
}

static enum lmn_status open_payload(void *context, uint64_t position,
                                    struct lmn__store_file **file_out, uint64_t *base_out,
                                    struct lmn_error *err)
{
    struct lmn__page_sink *sink = context;
    const struct lmn__page_sink_rows rows = { .fragment_id = sink->fragment_id,
                                              .layout = sink->layout };
    struct writing writing = { .sink = sink, .rows = &rows };

    return sink->place->open(&writing, LMN__GRANT_PAGES, position, file_out, base_out, err);
}

static enum lmn_status close_payload(void *context, struct lmn__store_file *file,
                                     struct lmn_error *err)
{
    struct lmn__page_sink *sink = context;
    struct writing writing = { .sink = sink };

    return sink->place->close(&writing, file, err);
}

/* The object of a grant becomes that of another. */
static enum lmn_status move_payload(void *context, uint64_t from, uint64_t to,
                                    struct lmn_error *err)
{
    struct lmn__page_sink *sink = context;
    char old[LMN__FILL_PATH_BYTES], path[LMN__FILL_PATH_BYTES];

    lmn__segment_path(sink->dir, LMN__GRANT_PAGES, sink->fragment_id, sink->layout, from, old);
    lmn__segment_path(sink->dir, LMN__GRANT_PAGES, sink->fragment_id, sink->layout, to, path);
    return sink->store->ops->rename(sink->store, old, path, err);
}

static const struct lmn__payload_ops shared_payload_ops = { grant_payload, open_payload,
                                                            close_payload, NULL };
static const struct lmn__payload_ops segment_payload_ops = { grant_payload, open_payload,
                                                             close_payload, move_payload };

struct lmn__payloads *lmn__page_sink_payloads(struct lmn__page_sink *sink, uint64_t fragment_id,
                                              uint64_t layout)
{
    if (sink->payloads.env == NULL)
        return NULL;
    if (sink->fragment_id != fragment_id || sink->layout != layout)
        lmn__payloads_reset(&sink->payloads, false);
    sink->fragment_id = fragment_id;
    sink->layout = layout;
    return &sink->payloads;
}

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

static bool is_blob(const struct lmn__page_sink *sink, uint32_t column)
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
        if (sink->payloads.env == NULL && is_blob(sink, i))
            lmn__payloads_init(&sink->payloads, sink->store,
                               options->segments ? &segment_payload_ops : &shared_payload_ops,
                               sink);
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
    sink->place = options->segments ? &segment_ops : &shared_ops;
    st = set_up(sink, options, err);
    if (st != LMN_OK) {
        lmn__page_sink_close(sink);
        return st;
    }
    *sink_out = sink;
    return LMN_OK;
}

/* Slots of a column of array number `index`, borrowed. */
static struct ArrowArray slots_of(const struct writing *writing, uint64_t index, uint32_t column,
                                  uint64_t first, uint64_t count)
{
    const struct ArrowArray *array = &writing->rows->array[index];
    struct ArrowArray slots = *array->children[column];

    slots.offset += array->offset + (int64_t)first;
    slots.length = (int64_t)count;
    slots.null_count = -1;
    slots.release = NULL;
    return slots;
}

/* Arrays of one column, with nulls for dead rows between the ranges. */
struct pieces {
    struct ArrowArray *array;
    const struct ArrowArray **list;
    uint64_t count;
};

static enum lmn_status add_nulls(struct writing *writing, struct pieces *pieces, uint32_t column,
                                 uint64_t count, struct lmn_error *err)
{
    struct ArrowArray *nulls = &writing->nulls[writing->null_count];
    enum lmn_status st = lmn__array_nulls(
        writing->sink->env, writing->sink->plan.layout->child[column], count, nulls, err);

    if (st != LMN_OK)
        return st;
    writing->null_count++;
    pieces->array[pieces->count++] = *nulls;
    return LMN_OK;
}

/* The rows of all ranges, cut at the ends of ranges and of arrays. */
static enum lmn_status list_pieces(struct writing *writing, uint32_t column, struct pieces *pieces,
                                   struct lmn_error *err)
{
    const struct lmn__page_sink_rows *rows = writing->rows;
    uint64_t room = 2 * rows->range_count + rows->array_count, index = 0, at = 0;
    enum lmn_status st = LMN_OK;

    pieces->array = lmn__arena_array(&writing->arena, room, sizeof *pieces->array);
    pieces->list = lmn__arena_array(&writing->arena, room, sizeof *pieces->list);
    writing->nulls = lmn__arena_array(&writing->arena, rows->range_count, sizeof *writing->nulls);
    if (pieces->array == NULL || pieces->list == NULL || writing->nulls == NULL)
        return lmn__arena_fail(&writing->arena, "a list of rows", err);
    for (uint64_t i = 0; st == LMN_OK && i < rows->range_count; i++) {
        uint64_t left = rows->range[i].count;

        if (i != 0)
            st = add_nulls(
                writing, pieces, column,
                rows->range[i].first - rows->range[i - 1].first - rows->range[i - 1].count, err);
        while (st == LMN_OK && left != 0 && index < rows->array_count) {
            uint64_t here = (uint64_t)rows->array[index].length - at;
            uint64_t count = lmn__min_u64(here, left);

            if (count != 0)
                pieces->array[pieces->count++] = slots_of(writing, index, column, at, count);
            left -= count;
            at = count < here ? at + count : 0;
            index += count == here;
        }
    }
    for (uint64_t i = 0; i < pieces->count; i++)
        pieces->list[i] = &pieces->array[i];
    return st;
}

static void release_nulls(struct writing *writing)
{
    for (uint64_t i = 0; i < writing->null_count; i++)
        lmn__array_release(&writing->nulls[i]);
    writing->null_count = 0;
}

/* Bytes of a column in memory: its pages are hardly larger. */
static uint64_t column_bytes(const struct writing *writing, uint32_t column)
{
    const struct lmn__write_plan *plan = &writing->sink->plan;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < plan->leaf_count; i++) {
        const struct lmn__write_leaf *leaf = &plan->leaf[i];

        for (uint64_t k = 0; leaf->top == column && k < writing->rows->array_count; k++) {
            const struct ArrowArray *array = &writing->rows->array[k];

            bytes += lmn__write_leaf_bytes(leaf, array->children[column], (uint64_t)array->offset,
                                           (uint64_t)array->length);
        }
    }
    return bytes;
}

/* Encode a column; pages that are too small are dropped again. */
static enum lmn_status encode_column(struct writing *writing, uint32_t column,
                                     struct lmn_error *err)
{
    struct pieces pieces = { 0 };
    enum lmn_status st = list_pieces(writing, column, &pieces, err);

    if (st == LMN_OK)
        st = lmn__pages_encode_column(&writing->sink->plan, column, pieces.list, pieces.count,
                                      writing->rows->range[0].first, &writing->pages[column], err);
    release_nulls(writing);
    if (st == LMN_OK && lmn_pages_bytes(writing->pages[column]) < direct_bytes_min) {
        lmn_pages_free(writing->pages[column]);
        writing->pages[column] = NULL;
    }
    return st;
}

static enum lmn_status encode_columns(struct writing *writing, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    bool whole = writing->rows->range_count == 1 || writing->rows->gaps_are_dead;
    enum lmn_status st = LMN_OK;

    writing->pages = lmn__arena_array(&writing->arena, sink->column_count, sizeof *writing->pages);
    if (writing->pages == NULL)
        return lmn__arena_fail(&writing->arena, "a list of pages", err);
    for (uint32_t i = 0; st == LMN_OK && i < sink->value_count; i++) {
        if (whole && !is_blob(sink, i) && column_bytes(writing, i) >= direct_bytes_min)
            st = encode_column(writing, i, err);
    }
    return st;
}

/* Write what is held as an Arrow stream of the columns that are. */
static enum lmn_status write_stream(struct writing *writing, struct ArrowSchema *schema,
                                    struct ArrowArray **child, struct lmn_error *err)
{
    const struct lmn__pb_u64s *column = &writing->hold.column;
    struct lmn__ipc_writer writer;
    struct lmn__sink bytes;
    enum lmn_status st = lmn__sink_open_buf(&bytes, writing->sink->env, &writing->held, err);

    if (st != LMN_OK)
        return st;
    st = lmn__ipc_writer_open(&writer, writing->sink->env, &bytes, LMN__IPC_STREAM, schema, err);
    if (st != LMN_OK)
        goto done;
    for (uint64_t i = 0; st == LMN_OK && i < writing->rows->array_count; i++) {
        struct ArrowArray batch = writing->rows->array[i];

        if (batch.length == 0)
            continue;
        for (size_t k = 0; k < column->count; k++)
            child[k] = writing->rows->array[i].children[column->item[k]];
        batch.n_children = (int64_t)column->count;
        batch.children = child;
        batch.release = NULL;
        st = lmn__ipc_writer_write(&writer, &batch, err);
    }
    if (st == LMN_OK)
        st = lmn__ipc_writer_finish(&writer, err);
    else
        lmn__ipc_writer_abort(&writer);
done:
    if (lmn__sink_close(&bytes, st == LMN_OK ? err : NULL) != LMN_OK && st == LMN_OK)
        st = LMN_E_IO;
    return st == LMN_OK ? lmn__buf_status(&writing->held, "rows that are held", err) : st;
}

static enum lmn_status encode_held(struct writing *writing, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    struct lmn__arena *arena = &writing->arena;
    struct ArrowSchema schema = sink->schema;
    struct lmn__pb_u64s *column = &writing->hold.column;
    struct ArrowArray **child = lmn__arena_array(arena, sink->column_count, sizeof *child);

    schema.children = lmn__arena_array(arena, sink->column_count, sizeof *schema.children);
    column->item = lmn__arena_array(arena, sink->column_count, sizeof *column->item);
    if (child == NULL || schema.children == NULL || column->item == NULL)
        return lmn__arena_fail(arena, "a list of columns", err);
    for (uint32_t i = 0; i < sink->column_count; i++) {
        if (writing->pages[i] != NULL)
            continue;
        schema.children[column->count] = sink->held.children[i];
        column->item[column->count++] = i;
    }
    schema.n_children = (int64_t)column->count;
    return column->count != 0 ? write_stream(writing, &schema, child, err) : LMN_OK;
}

/* Close the file of a grant; the first failure counts. */
static enum lmn_status close_place(struct writing *writing, struct lmn__store_file *file,
                                   enum lmn_status st, struct lmn_error *err)
{
    enum lmn_status closed = writing->sink->place->close(writing, file, st == LMN_OK ? err : NULL);

    return st != LMN_OK ? st : closed;
}

static enum lmn_status write_buffers(struct writing *writing, struct lmn_pages *pages,
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

static enum lmn_status write_pages(struct writing *writing, uint32_t column,
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

static enum lmn_status write_hold(struct writing *writing, struct lmn_error *err)
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
static enum lmn_status write_all(struct writing *writing, struct lmn_error *err)
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

static enum lmn_status check_rows(const struct writing *writing, struct lmn_error *err)
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

/* Let `to` be `from` with its blob columns as numbers and sizes; bytes are written. */
static enum lmn_status place_columns(struct writing *writing, const struct ArrowArray *from,
                                     struct ArrowArray *to, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    struct ArrowArray **child = lmn__arena_array(&writing->arena, sink->column_count,
                                                 sizeof *child);
    enum lmn_status st = LMN_OK;

    if (child == NULL)
        return lmn__arena_fail(&writing->arena, "a list of columns", err);
    *to = *from;
    to->children = child;
    to->release = NULL;
    for (uint32_t i = 0; st == LMN_OK && i < sink->column_count; i++) {
        child[i] = from->children[i];
        if (!is_blob(sink, i))
            continue;
        child[i] = &writing->made[writing->made_count];
        st = lmn__payload_column_write(&sink->payloads, from->children[i], (uint64_t)from->offset,
                                       (uint64_t)from->length, child[i], err);
        writing->made_count += st == LMN_OK;
    }
    return st;
}

/* The grants that payloads are in. */
static enum lmn_status list_payloads(struct writing *writing, struct lmn_error *err)
{
    const struct lmn__payloads *payloads = &writing->sink->payloads;
    struct lmn__receipt_payloads *item = lmn__arena_array(&writing->arena, payloads->extent_count,
                                                          sizeof *item);
    size_t count = 0;

    if (item == NULL)
        return lmn__arena_fail(&writing->arena, "a receipt", err);
    for (uint64_t i = 0; i < payloads->extent_count; i++) {
        if (payloads->extent[i].bytes != 0)
            item[count++] = (struct lmn__receipt_payloads){ payloads->extent[i].position,
                                                            payloads->extent[i].bytes };
    }
    writing->receipt.payloads = (struct lmn__pb_list){ item, count };
    return LMN_OK;
}

/* Write the payloads of blobs, and let the rows say where they are. */
static enum lmn_status place_blobs(struct writing *writing, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    const struct lmn__page_sink_rows *rows = writing->rows;
    struct lmn__arena *arena = &writing->arena;
    enum lmn_status st = LMN_OK;

    if (lmn__page_sink_payloads(sink, rows->fragment_id, rows->layout) == NULL)
        return LMN_OK;
    writing->placed = *rows;
    writing->placed.array = lmn__arena_array(arena, rows->array_count, sizeof *rows->array);
    writing->made = lmn__arena_array(arena, rows->array_count * sink->column_count,
                                     sizeof *writing->made);
    if (writing->placed.array == NULL || writing->made == NULL)
        return lmn__arena_fail(arena, "a list of arrays", err);
    for (uint64_t i = 0; st == LMN_OK && i < rows->array_count; i++)
        st = place_columns(writing, &rows->array[i], &writing->placed.array[i], err);
    if (st == LMN_OK)
        st = lmn__payloads_settle(&sink->payloads, err);
    for (uint64_t i = 0; st == LMN_OK && i < writing->made_count; i++)
        st = lmn__payload_column_settle(&sink->payloads, &writing->made[i], err);
    writing->rows = &writing->placed;
    return st == LMN_OK ? list_payloads(writing, err) : st;
}

static void release_made(struct writing *writing)
{
    for (uint64_t i = 0; i < writing->made_count; i++)
        lmn__array_release(&writing->made[i]);
    if (writing->sink->payloads.env != NULL)
        lmn__payloads_reset(&writing->sink->payloads, true);
}

/* The part of a receipt that says which rows it is for. */
static enum lmn_status describe_rows(struct writing *writing, struct lmn_error *err)
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
    receipt->segments = writing->sink->place == &segment_ops;
    receipt->errors = (struct lmn__pb_list){ (void *)(uintptr_t)rows->error, rows->error_count };
    return LMN_OK;
}

enum lmn_status lmn__page_sink_write(struct lmn__page_sink *sink,
                                     const struct lmn__page_sink_rows *rows,
                                     struct lmn__buf *receipt_out, struct lmn_error *err)
{
    struct writing writing = { .sink = sink, .rows = rows };
    enum lmn_status st;

    lmn__arena_init(&writing.arena, sink->env, 0);
    lmn__buf_init(&writing.held, sink->env, 0);
    st = check_rows(&writing, err);
    if (st == LMN_OK)
        st = describe_rows(&writing, err);
    if (st == LMN_OK)
        st = place_blobs(&writing, err);
    if (st == LMN_OK)
        st = encode_columns(&writing, err);
    if (st == LMN_OK)
        st = encode_held(&writing, err);
    if (st == LMN_OK)
        st = write_all(&writing, err);
    if (st == LMN_OK) {
        lmn__receipt_encode(&writing.receipt, receipt_out);
        st = lmn__buf_status(receipt_out, "a receipt", err);
    }
    for (uint32_t i = 0; writing.pages != NULL && i < sink->column_count; i++)
        lmn_pages_free(writing.pages[i]);
    release_made(&writing);
    lmn__buf_deinit(&writing.held);
    lmn__arena_deinit(&writing.arena);
    return st != LMN_OK
               ? lmn__fail_within(err, st, "fragment %llu", (unsigned long long)rows->fragment_id)
               : st;
}
