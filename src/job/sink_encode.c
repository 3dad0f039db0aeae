/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a sink become bytes. Whether a column goes to its place is decided by the size of its
 * finished pages; rows between the ranges are dead, and nulls there. The others are held.
 */
#include "arrow/compose.h"
#include "arrow/ipc_write.h"
#include "base/math.h"
#include "job/sink_parts.h"
#include "os/sink.h"

static const uint64_t direct_bytes_min = 1ull << 20;

/* Slots of a column of array number `index`, borrowed. */
static struct ArrowArray slots_of(const struct lmn__sink_writing *writing, uint64_t index,
                                  uint32_t column, uint64_t first, uint64_t count)
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

static enum lmn_status add_nulls(struct lmn__sink_writing *writing, struct pieces *pieces,
                                 uint32_t column, uint64_t count, struct lmn_error *err)
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
static enum lmn_status list_pieces(struct lmn__sink_writing *writing, uint32_t column,
                                   struct pieces *pieces, struct lmn_error *err)
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

static void release_nulls(struct lmn__sink_writing *writing)
{
    for (uint64_t i = 0; i < writing->null_count; i++)
        lmn__array_release(&writing->nulls[i]);
    writing->null_count = 0;
}

/* Bytes of a column in memory: its pages are hardly larger. */
static uint64_t column_bytes(const struct lmn__sink_writing *writing, uint32_t column)
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
static enum lmn_status encode_column(struct lmn__sink_writing *writing, uint32_t column,
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

enum lmn_status lmn__sink_encode_columns(struct lmn__sink_writing *writing, struct lmn_error *err)
{
    struct lmn__page_sink *sink = writing->sink;
    bool whole = writing->rows->range_count == 1 || writing->rows->gaps_are_dead;
    enum lmn_status st = LMN_OK;

    writing->pages = lmn__arena_array(&writing->arena, sink->column_count, sizeof *writing->pages);
    if (writing->pages == NULL)
        return lmn__arena_fail(&writing->arena, "a list of pages", err);
    for (uint32_t i = 0; st == LMN_OK && i < sink->value_count; i++) {
        if (whole && !lmn__sink_is_blob(sink, i) && column_bytes(writing, i) >= direct_bytes_min)
            st = encode_column(writing, i, err);
    }
    return st;
}

/* Write what is held as an Arrow stream of the columns that are. */
static enum lmn_status write_stream(struct lmn__sink_writing *writing, struct ArrowSchema *schema,
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

enum lmn_status lmn__sink_encode_held(struct lmn__sink_writing *writing, struct lmn_error *err)
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
