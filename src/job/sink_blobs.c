/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blobs of a sink: their payloads are written ahead of everything else, and the rows hold numbers
 * and sizes in their place.
 */
#include "arrow/compose.h"
#include "base/math.h"
#include "job/journal_parts.h"
#include "job/payload_column.h"
#include "job/sink_parts.h"

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
    struct lmn__sink_writing writing = { .sink = sink, .rows = &rows };

    return sink->place->open(&writing, LMN__GRANT_PAGES, position, file_out, base_out, err);
}

static enum lmn_status close_payload(void *context, struct lmn__store_file *file,
                                     struct lmn_error *err)
{
    struct lmn__page_sink *sink = context;
    struct lmn__sink_writing writing = { .sink = sink };

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

const struct lmn__payload_ops lmn__sink_shared_payloads = { grant_payload, open_payload,
                                                            close_payload, NULL };
const struct lmn__payload_ops lmn__sink_segment_payloads = { grant_payload, open_payload,
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

/* Let `to` be `from` with its blob columns as numbers and sizes; bytes are written. */
static enum lmn_status place_columns(struct lmn__sink_writing *writing,
                                     const struct ArrowArray *from, struct ArrowArray *to,
                                     struct lmn_error *err)
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
        if (!lmn__sink_is_blob(sink, i))
            continue;
        child[i] = &writing->made[writing->made_count];
        st = lmn__payload_column_write(&sink->payloads, from->children[i], (uint64_t)from->offset,
                                       (uint64_t)from->length, child[i], err);
        writing->made_count += st == LMN_OK;
    }
    return st;
}

/* Note where a payload is that was kept: in the pages file, or in an object that others may share.
 */
static void list_kept(const struct lmn__page_sink *sink, const struct lmn__payload_extent *extent,
                      struct lmn__receipt_payloads *item, size_t *count)
{
    uint64_t first = sink->place == &lmn__sink_segments ? extent->base : extent->position;
    uint64_t bytes = extent->position + extent->bytes - first;

    if (*count != 0 && item[*count - 1].position == first)
        item[*count - 1].bytes = lmn__max_u64(item[*count - 1].bytes, bytes);
    else
        item[(*count)++] = (struct lmn__receipt_payloads){ first, bytes };
}

/* The grants that payloads are in. */
static enum lmn_status list_payloads(struct lmn__sink_writing *writing, struct lmn_error *err)
{
    const struct lmn__payloads *payloads = &writing->sink->payloads;
    struct lmn__receipt_payloads *item = lmn__arena_array(&writing->arena, payloads->extent_count,
                                                          sizeof *item);
    struct lmn__receipt_payloads *kept = lmn__arena_array(&writing->arena, payloads->extent_count,
                                                          sizeof *kept);
    size_t count = 0, kept_count = 0;

    if (item == NULL || kept == NULL)
        return lmn__arena_fail(&writing->arena, "a receipt", err);
    for (uint64_t i = 0; i < payloads->extent_count; i++) {
        if (payloads->extent[i].adopted)
            list_kept(writing->sink, &payloads->extent[i], kept, &kept_count);
        else if (payloads->extent[i].bytes != 0)
            item[count++] = (struct lmn__receipt_payloads){ payloads->extent[i].position,
                                                            payloads->extent[i].bytes };
    }
    writing->receipt.payloads = (struct lmn__pb_list){ item, count };
    writing->receipt.kept = (struct lmn__pb_list){ kept, kept_count };
    return LMN_OK;
}

enum lmn_status lmn__sink_place_blobs(struct lmn__sink_writing *writing, struct lmn_error *err)
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

void lmn__sink_release_blobs(struct lmn__sink_writing *writing)
{
    for (uint64_t i = 0; i < writing->made_count; i++)
        lmn__array_release(&writing->made[i]);
    if (writing->sink->payloads.env != NULL)
        lmn__payloads_reset(&writing->sink->payloads, true);
}
