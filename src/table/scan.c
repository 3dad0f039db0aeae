/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Planning a scan: which fragments, which rows of them, how many in a batch.
 *
 * Without a condition the rows before the offset and behind the limit are known from the counts of
 * the fragments; exactly where nothing is deleted, by whole fragments where something is. What
 * remains of both is left to the consumer of the batches.
 */
#include "table/scan.h"

#include <math.h>

#include "arrow/producer.h"
#include "base/error.h"
#include "base/math.h"
#include "format/batches.h"
#include "table/ledger.h"

enum lmn_status lmn__scan_project(struct lmn_env *env, const struct lmn__schema *schema,
                                  const struct lmn_scan_options *options,
                                  struct lmn__projection *projection_out, struct lmn_error *err)
{
    const struct lmn__node **top;
    uint32_t count = 0;
    enum lmn_status st;

    if (options->column != NULL)
        return lmn__projection_init(projection_out, env, schema, options->column,
                                    options->column_count, options->blobs, err);
    top = lmn__calloc(env, schema->top_count, sizeof *top);
    if (top == NULL)
        return lmn__no_memory(err, "a projection", schema->top_count * sizeof *top);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next) {
        if (!lmn__ledger_is_hidden(node))
            top[count++] = node;
    }
    st = lmn__projection_init_nodes(projection_out, env, schema, top, count, options->blobs, err);
    lmn__free(env, top);
    return st;
}

/* What is left out and left over while fragments are added. */
struct planning {
    struct lmn__scan *scan;
    const struct lmn_scan_options *options;
    bool exact; /* no condition: live rows are rows of the result */
    uint64_t offset, limit;
    uint64_t offset_left; /* for the consumer of the batches */
};

static void add_piece(struct planning *planning, uint64_t index)
{
    struct lmn__scan *scan = planning->scan;
    const struct lmn__fragment_info *info = &scan->snapshot->fragment[index];
    struct lmn__scan_piece *piece = &scan->piece[scan->piece_count];
    uint64_t live = info->live_count, skip;

    if (live == 0)
        return;
    *piece = (struct lmn__scan_piece){ .fragment = index, .row_count = info->row_count };
    if (planning->exact) {
        skip = lmn__min_u64(planning->offset, live);
        planning->offset -= skip;
        if (skip == live || planning->limit == 0)
            return;
        if (live == info->row_count) {
            piece->row_start = skip;
            piece->row_count = lmn__min_u64(live - skip, planning->limit);
        } else {
            planning->offset_left += skip;
        }
        planning->limit -= lmn__min_u64(live - skip, planning->limit);
    }
    scan->piece_count++;
}

static enum lmn_status add_pieces(struct planning *planning, struct lmn_error *err)
{
    struct lmn__scan *scan = planning->scan;
    const struct lmn_scan_options *options = planning->options;
    const struct lmn__snapshot *snapshot = scan->snapshot;
    uint64_t room = options->fragment != NULL ? options->fragment_count : snapshot->fragment_count;

    scan->piece = lmn__calloc(snapshot->env, room, sizeof *scan->piece);
    if (scan->piece == NULL)
        return lmn__no_memory(err, "a scan", room * sizeof *scan->piece);
    for (uint64_t i = 0; i < room; i++) {
        uint64_t index = i;

        if (options->fragment != NULL &&
            !lmn__snapshot_find(snapshot, options->fragment[i], &index))
            return lmn_fail(err, LMN_E_NOT_FOUND, "version %llu has no fragment %llu",
                            (unsigned long long)snapshot->manifest->pb.version,
                            (unsigned long long)options->fragment[i]);
        add_piece(planning, index);
    }
    return LMN_OK;
}

enum { CHOSEN_BATCHES_AHEAD = 4 };
#define BATCH_BYTES_KNOWN_MAX 0x1p40 /* damaged files may claim more */

/* What a row takes. */
struct row_size {
    double bytes;
    double blob_bytes; /* that are read of the rows only which a condition has chosen */
};

static enum lmn_status first_row_size(struct lmn__scan *scan, struct row_size *size_out,
                                      struct lmn_error *err)
{
    struct lmn__scan_opened opened;
    uint64_t blob_bytes = 0;
    enum lmn_status st = lmn__scan_open_piece(scan, &scan->piece[0], true, &opened, err);

    *size_out = (struct row_size){ 0 };
    if (st != LMN_OK)
        return st;
    size_out->bytes = (double)lmn__fragment_reader_row_bytes(opened.reader);
    if (opened.rest != NULL) {
        size_out->bytes += (double)lmn__fragment_columns_row_bytes(opened.rest);
        st = lmn__fragment_columns_blob_bytes(opened.rest, &blob_bytes, err);
        size_out->blob_bytes = (double)blob_bytes;
    } else {
        st = lmn__fragment_reader_blob_bytes(opened.reader, &blob_bytes, err);
        size_out->bytes += (double)blob_bytes;
    }
    return st;
}

/*
 * A condition leaves out most rows as a rule. So that it looks at many at once, blobs of those that
 * it chooses may take more than a batch has else: a part of what is read ahead.
 */
static uint64_t rows_of_batch(const struct lmn_scan_options *options, struct row_size size)
{
    uint64_t rows_max = options->batch_rows_max != 0 ? options->batch_rows_max : LMN__BATCH_ROWS;
    uint64_t ahead_max = options->prefetch_bytes_max != 0 ? options->prefetch_bytes_max
                                                          : LMN__PREFETCH_BYTES;
    double bytes_max = LMN__BATCH_BYTES, rows, chosen;
    double chosen_max = (double)(ahead_max / CHOSEN_BATCHES_AHEAD);

    if (options->batch_bytes_max != 0)
        bytes_max = chosen_max = (double)options->batch_bytes_max;
    rows = bytes_max / (size.bytes > 1 ? size.bytes : 1);
    if (size.blob_bytes > 0) {
        chosen = chosen_max / (size.bytes + size.blob_bytes);
        rows = chosen < rows ? chosen : rows;
    }
    return rows < (double)rows_max ? lmn__max_u64((uint64_t)rows, 1) : rows_max;
}

/*
 * How many rows a batch has. What a row takes is known for the first fragment; the others have as
 * much more or less as their files are larger or smaller.
 */
static enum lmn_status cut_batches(struct lmn__scan *scan, const struct lmn_scan_options *options,
                                   uint64_t *batch_bytes_out, struct lmn_error *err)
{
    const struct lmn__fragment_info *first;
    struct row_size size;
    double most = 0;
    enum lmn_status st;

    *batch_bytes_out = 0;
    if (scan->piece_count == 0)
        return LMN_OK;
    st = first_row_size(scan, &size, err);
    if (st != LMN_OK)
        return st;
    first = &scan->snapshot->fragment[scan->piece[0].fragment];
    for (uint64_t i = 0; i < scan->piece_count; i++) {
        struct lmn__scan_piece *piece = &scan->piece[i];
        const struct lmn__fragment_info *info = &scan->snapshot->fragment[piece->fragment];
        double scale = first->bytes != 0 && info->bytes != 0
                           ? (double)info->bytes / (double)info->row_count /
                                 ((double)first->bytes / (double)first->row_count)
                           : 1;
        struct row_size here = { scale * size.bytes, scale * size.blob_bytes };

        piece->batch_rows = rows_of_batch(options, here);
        piece->batch_first = scan->batch_count;
        piece->locked.batches_left = lmn__div_up(piece->row_count, piece->batch_rows);
        scan->batch_count += piece->locked.batches_left;
        most = fmax(most, (here.bytes + here.blob_bytes) * (double)piece->batch_rows);
    }
    *batch_bytes_out = (uint64_t)fmin(most, BATCH_BYTES_KNOWN_MAX);
    return LMN_OK;
}

static void scan_free(void *context)
{
    struct lmn__scan *scan = context;
    struct lmn_env *env = lmn_env_acquire(scan->snapshot->env);

    for (uint64_t i = 0; i < scan->piece_count; i++)
        lmn__scan_opened_close(&scan->piece[i].locked.opened);
    lmn__free(env, scan->piece);
    lmn__scan_filter_free(scan->filter);
    lmn__projection_deinit(&scan->output);
    lmn__snapshot_release(scan->snapshot);
    lmn_table_release(scan->table);
    lmn__cond_deinit(&scan->opened);
    lmn__mutex_deinit(&scan->mutex);
    lmn__free(env, scan);
    lmn_env_release(env);
}

static enum lmn_status scan_schema(void *context, struct ArrowSchema *schema_out,
                                   struct lmn_error *err)
{
    const struct lmn__scan *scan = context;

    return lmn__row_columns_schema(&scan->output, scan->row_columns, schema_out, err);
}

/* A scan with nothing planned; *scan_out can be freed. */
static enum lmn_status scan_new(struct lmn_table *table, const struct lmn_scan_options *options,
                                struct lmn__scan **scan_out, struct lmn_error *err)
{
    struct lmn__scan *scan = lmn__calloc(table->env, 1, sizeof *scan);
    enum lmn_status st;

    *scan_out = NULL;
    if (scan == NULL)
        return lmn__no_memory(err, "a scan", sizeof *scan);
    st = lmn__snapshot_open(table, &scan->snapshot, err);
    if (st != LMN_OK)
        goto fail;
    st = lmn__scan_project(table->env, &scan->snapshot->manifest->schema, options, &scan->output,
                           err);
    if (st != LMN_OK)
        goto fail;
    st = lmn__mutex_init(&scan->mutex, err);
    if (st == LMN_OK) {
        st = lmn__cond_init(&scan->opened, err);
        if (st != LMN_OK)
            lmn__mutex_deinit(&scan->mutex);
    }
    if (st != LMN_OK) {
        lmn__projection_deinit(&scan->output);
        goto fail;
    }
    scan->table = lmn_table_acquire(table);
    scan->row_columns = (struct lmn__row_columns){ options->with_row_id,
                                                   options->with_row_address };
    *scan_out = scan;
    return LMN_OK;
fail:
    lmn__snapshot_release(scan->snapshot);
    lmn__free(table->env, scan);
    return st;
}

static enum lmn_status start(struct lmn__scan *scan, const struct lmn_scan_options *options,
                             struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    struct planning planning = { .scan = scan,
                                 .options = options,
                                 .exact = options->where == NULL,
                                 .offset = options->offset,
                                 .limit = options->limited ? options->limit : UINT64_MAX };
    struct lmn__batch_source source = { scan, lmn__scan_read, scan_schema, scan_free };
    struct lmn__batches_options batches = { .prefetch_bytes_max = options->prefetch_bytes_max,
                                            .threads = options->threads,
                                            .limited = options->limited,
                                            .limit = options->limit };
    enum lmn_status st = LMN_OK;

    if (options->where != NULL)
        st = lmn__scan_filter_new(scan->table, scan->snapshot->manifest, options->where,
                                  &scan->output, &scan->filter, err);
    if (st == LMN_OK)
        st = add_pieces(&planning, err);
    if (st == LMN_OK)
        st = cut_batches(scan, options, &batches.batch_bytes, err);
    if (st != LMN_OK)
        return st;
    batches.batch_count = scan->batch_count;
    batches.offset = planning.exact ? planning.offset_left : planning.offset;
    if (!options->limited || !lmn__add_u64(batches.offset, options->limit, &scan->rows_needed))
        scan->rows_needed = UINT64_MAX;
    return lmn__batches_open(scan->snapshot->env, &source, &batches, stream_out, err);
}

enum lmn_status lmn_table_scan(struct lmn_table *table, const struct lmn_scan_options *options,
                               struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn_scan_options defaults = { 0 };
    struct lmn__scan *scan;
    enum lmn_status st;

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (options == NULL)
        options = &defaults;
    st = scan_new(table, options, &scan, err);
    if (st != LMN_OK)
        return st;
    st = start(scan, options, stream_out, err);
    if (st != LMN_OK)
        scan_free(scan);
    return st;
}

enum lmn_status lmn_table_scan_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out,
                                    struct lmn_error *err)
{
    return lmn__stream_next(stream, array_out, err);
}
