/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A column of blobs is kept as binaries of 48 bytes, numbers of 64 bits, little-endian:
 *
 *   fragment, layout   whose pages file it was written for
 *   segments           1: the space that was granted is an object of its own; see sink.h
 *   base               the position of that space
 *   position, bytes    of the payload
 *
 * The order that makes a record true: payload -> sync -> record -> sync. Nothing is read to find a
 * payload again: what was granted once is never granted again, so the bytes at its position are its
 * own as long as the file is there.
 */
#include "job/kept_blobs.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/adopt.h"
#include "arrow/compose.h"
#include "arrow/schema.h"
#include "arrow/view.h"
#include "base/error.h"
#include "base/math.h"
#include "format/schema_write.h"
#include "job/journal_parts.h"
#include "job/moved.h"
#include "job/payload_column.h"
#include "job/sink_parts.h"

enum { REFERENCE_BYTES = 48, COPY_BYTES = 1 << 20 };

struct reference {
    uint64_t fragment_id, layout, segments, base, position, bytes;
};

enum lmn_status lmn__kept_schema(const struct ArrowSchema *values, struct ArrowSchema *kept_out,
                                 struct lmn_error *err)
{
    enum lmn_status st = lmn__arrow_schema_copy(values, kept_out, err);

    for (int64_t i = 0; st == LMN_OK && i < values->n_children; i++) {
        struct ArrowSchema *column = kept_out->children[i];

        if (!lmn__arrow_is_blob(values->children[i]))
            continue;
        column->release(column);
        ArrowSchemaInit(column);
        if (ArrowSchemaSetTypeFixedSize(column, NANOARROW_TYPE_FIXED_SIZE_BINARY,
                                        REFERENCE_BYTES) != NANOARROW_OK ||
            ArrowSchemaSetName(column, values->children[i]->name) != NANOARROW_OK)
            st = lmn__no_memory(err, "a schema", 0);
    }
    if (st != LMN_OK && kept_out->release != NULL)
        kept_out->release(kept_out);
    return st;
}

/* Put another column into the place of one. */
static void replace_column(struct ArrowArray *column, struct ArrowArray *made)
{
    struct ArrowArray before = *column;

    lmn__array_move(made, column);
    before.release(&before);
}

enum lmn_status lmn__kept_blobs_place(struct lmn__page_sink *sink, struct ArrowArray *values,
                                      struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && sink->payloads.env != NULL && i < sink->value_count; i++) {
        struct ArrowArray *column = values->children[i], made;

        if (!lmn__sink_is_blob(sink, i) || lmn__payload_is_placed(column))
            continue;
        st = lmn__payload_column_write(&sink->payloads, column, (uint64_t)values->offset,
                                       (uint64_t)values->length, &made, err);
        if (st == LMN_OK)
            replace_column(column, &made);
    }
    return st;
}

/* Let everything that the sink has of payloads be on disk. */
static enum lmn_status make_durable(struct lmn__page_sink *sink, struct lmn_error *err)
{
    struct lmn__payloads *payloads = &sink->payloads;
    struct lmn__sink_writing writing = { .sink = sink };
    enum lmn_status st = lmn__payloads_settle(payloads, err);

    if (st != LMN_OK || sink->unsynced || payloads->synced_bytes == payloads->bytes)
        return st;
    st = sink->place->sync(&writing, LMN__GRANT_PAGES, err);
    if (st == LMN_OK)
        payloads->synced_bytes = payloads->bytes;
    return st;
}

/* Where the payload in a slot of a column is, as a column of one row. */
static enum lmn_status refer(const struct lmn__page_sink *sink, const struct ArrowArray *column,
                             uint64_t slot, struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn__payload payload;
    uint64_t position;
    uint8_t *at;
    enum lmn_status st = lmn__adopt_new(sink->env, 2, 0, false, array_out, err);

    if (st != LMN_OK)
        return st;
    array_out->length = 1;
    array_out->null_count = -1;
    st = lmn__adopt_zeros(sink->env, array_out, 0, lmn__bits_bytes(1), err);
    if (st == LMN_OK)
        st = lmn__adopt_zeros(sink->env, array_out, 1, REFERENCE_BYTES, err);
    if (st != LMN_OK || lmn__view_is_null(column, slot))
        return st;
    payload = lmn__payload_at(column, slot);
    st = lmn__payloads_position(&sink->payloads, payload, &position, err);
    at = (uint8_t *)(uintptr_t)array_out->buffers[1];
    lmn__store_u64(at, sink->fragment_id);
    lmn__store_u64(at + 8, sink->layout);
    lmn__store_u64(at + 16, sink->place == &lmn__sink_segments);
    lmn__store_u64(at + 24, lmn__payloads_base(&sink->payloads, payload));
    lmn__store_u64(at + 32, position);
    lmn__store_u64(at + 40, payload.bytes);
    lmn__bit_set((uint8_t *)(uintptr_t)array_out->buffers[0], 0);
    return st;
}

/* Let `column` be what is kept of one row; one that is borrowed has no release. */
static enum lmn_status keep_column(const struct lmn__page_sink *sink, uint32_t number,
                                   const struct ArrowArray *values, struct ArrowArray *column,
                                   struct lmn_error *err)
{
    const struct ArrowArray *given = values->children[number];

    if (!lmn__sink_is_blob(sink, number)) {
        *column = *given;
        column->offset += values->offset;
        column->length = 1;
        column->null_count = -1;
        column->release = NULL;
        return LMN_OK;
    }
    if (!lmn__payload_is_placed(given))
        return lmn_fail(err, LMN_E_INVALID, "a blob that is to be kept is written first");
    return refer(sink, given, (uint64_t)values->offset, column, err);
}

enum lmn_status lmn__kept_blobs_add(struct lmn__kept *kept, struct lmn__page_sink *sink,
                                    uint64_t row_id, uint64_t fingerprint,
                                    const struct ArrowArray *values, struct lmn_error *err)
{
    const void *no_nulls = NULL;
    struct ArrowArray row = *values, *column;
    enum lmn_status st;

    if (sink->payloads.env == NULL)
        return lmn__kept_add(kept, row_id, fingerprint, values, err);
    st = make_durable(sink, err);
    if (st != LMN_OK)
        return st;
    column = lmn__calloc(sink->env, sink->value_count, sizeof *column + sizeof *row.children);
    if (column == NULL)
        return lmn__no_memory(err, "a row to keep", sink->value_count * sizeof *column);
    row.children = (struct ArrowArray **)(void *)(column + sink->value_count);
    row.buffers = &no_nulls;
    row.null_count = row.offset = 0;
    row.release = NULL;
    for (uint32_t i = 0; i < sink->value_count; i++) {
        row.children[i] = &column[i];
        if (st == LMN_OK)
            st = keep_column(sink, i, values, &column[i], err);
    }
    if (st == LMN_OK)
        st = lmn__kept_add(kept, row_id, fingerprint, &row, err);
    for (uint32_t i = 0; i < sink->value_count; i++)
        lmn__array_release(&column[i]);
    lmn__free(sink->env, column);
    return st;
}

/* Copy a payload of another file; *found_out is false when it is not there. */
static enum lmn_status copy_payload(struct lmn__page_sink *sink, const char *path, uint64_t at,
                                    uint64_t bytes, struct lmn__payload *payload_out,
                                    bool *found_out, struct lmn_error *err)
{
    const struct lmn__store_ops *ops = sink->store->ops;
    struct lmn__store_file *file;
    uint8_t *piece;
    enum lmn_status st = ops->open(sink->store, path, &file, err);

    if (st != LMN_OK)
        return st == LMN_E_NOT_FOUND ? LMN_OK : st;
    *found_out = lmn__range_fits(at, bytes, file->bytes);
    piece = *found_out ? lmn__alloc(sink->env, COPY_BYTES) : NULL;
    if (*found_out)
        st = piece != NULL ? lmn__payloads_begin(&sink->payloads, bytes, err)
                           : lmn__no_memory(err, "a copy", COPY_BYTES);
    for (uint64_t done = 0; *found_out && st == LMN_OK && done < bytes; done += COPY_BYTES) {
        size_t len = lmn__min_u64(COPY_BYTES, bytes - done);

        st = ops->read_at(file, at + done, piece, len, err);
        if (st == LMN_OK)
            st = lmn__payloads_write(&sink->payloads, piece, len, err);
    }
    if (*found_out && st == LMN_OK)
        st = lmn__payloads_end(&sink->payloads, payload_out, err);
    else
        lmn__payloads_drop(&sink->payloads);
    lmn__free(sink->env, piece);
    ops->close(file);
    return st;
}

/* Take a payload as it lies in the pages file. */
static enum lmn_status adopt_payload(struct lmn__page_sink *sink, const char *path,
                                     const struct reference *reference,
                                     struct lmn__payload *payload_out, bool *found_out,
                                     struct lmn_error *err)
{
    uint64_t at = reference->position - (reference->segments != 0 ? reference->base : 0);
    struct lmn__store_stat stat;
    enum lmn_status st = sink->store->ops->stat(sink->store, path, &stat, err);

    *found_out = st == LMN_OK && lmn__range_fits(at, reference->bytes, stat.bytes);
    if (!*found_out)
        return st == LMN_E_NOT_FOUND ? LMN_OK : st;
    return lmn__payloads_adopt(&sink->payloads, reference->base, reference->position,
                               reference->bytes, payload_out, err);
}

/* Let a payload be one of the sink's. */
static enum lmn_status recall(struct lmn__page_sink *sink, uint64_t from,
                              const struct reference *reference, struct lmn__payload *payload_out,
                              bool *found_out, struct lmn_error *err)
{
    bool segments = reference->segments != 0;
    bool own = reference->fragment_id == sink->fragment_id && reference->layout == sink->layout &&
               segments == (sink->place == &lmn__sink_segments);
    char path[LMN__MOVED_PATH_BYTES];
    enum lmn_status st = LMN_OK;

    *payload_out = (struct lmn__payload){ 0 };
    *found_out = reference->bytes == 0;
    if (*found_out || reference->segments > 1 || reference->position < reference->base ||
        !lmn__range_fits(reference->position, reference->bytes, INT64_MAX))
        return LMN_OK;
    if (segments)
        lmn__segment_path(sink->dir, LMN__GRANT_PAGES, reference->fragment_id, reference->layout,
                          reference->base, path);
    else if (own && reference->position >= from)
        lmn__fill_path(sink->dir, LMN__GRANT_PAGES, sink->fragment_id, sink->layout, path);
    else
        st = lmn__moved_find(sink->store, sink->dir, reference->fragment_id, reference->layout,
                             reference->position, path, err);
    if (st != LMN_OK || path[0] == '\0')
        return st;
    if (own && (segments || reference->position >= from))
        return adopt_payload(sink, path, reference, payload_out, found_out, err);
    return copy_payload(sink, path, reference->position - (segments ? reference->base : 0),
                        reference->bytes, payload_out, found_out, err);
}

/* A column of one row as it was kept becomes one of numbers. */
static enum lmn_status recall_column(struct lmn__page_sink *sink, uint64_t from, uint64_t slot,
                                     struct ArrowArray *column, bool *found_out,
                                     struct lmn_error *err)
{
    struct lmn__payload payload = { 0 };
    struct reference reference;
    struct ArrowArray made;
    const uint8_t *at;
    bool null = lmn__view_is_null(column, slot);
    enum lmn_status st = lmn__payload_column_new(sink->env, slot + 1, &made, err);

    *found_out = true;
    if (st != LMN_OK)
        return st;
    at = (const uint8_t *)column->buffers[1] + ((uint64_t)column->offset + slot) * REFERENCE_BYTES;
    if (!null) {
        reference = (struct reference){ lmn__load_u64(at),      lmn__load_u64(at + 8),
                                        lmn__load_u64(at + 16), lmn__load_u64(at + 24),
                                        lmn__load_u64(at + 32), lmn__load_u64(at + 40) };
        st = recall(sink, from, &reference, &payload, found_out, err);
    }
    if (st == LMN_OK && *found_out && !null)
        lmn__payload_column_set(&made, slot, payload);
    replace_column(column, &made);
    return st;
}

enum lmn_status lmn__kept_blobs_read(struct lmn__kept *kept, struct lmn__page_sink *sink,
                                     uint64_t row_id, uint64_t fingerprint, uint64_t from,
                                     struct ArrowArray *array_out, struct lmn_error *err)
{
    bool found = true;
    enum lmn_status st = lmn__kept_read(kept, row_id, fingerprint, array_out, err);

    if (st != LMN_OK || array_out->release == NULL || sink->payloads.env == NULL)
        return st;
    for (uint32_t i = 0; st == LMN_OK && found && i < sink->value_count; i++) {
        if (lmn__sink_is_blob(sink, i))
            st = recall_column(sink, from, (uint64_t)array_out->offset, array_out->children[i],
                               &found, err);
    }
    if (st != LMN_OK || !found)
        lmn__array_release(array_out);
    return st;
}
