/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan is cut into batches of equal rows, which any thread can read by itself.
 */
#include "arrow/producer.h"
#include "base/math.h"
#include "format/batches.h"
#include "format/reader.h"

struct scan {
    struct lmn__reader reader;
    uint64_t row_start, row_end;
    uint64_t batch_rows;
};

static enum lmn_status scan_read(void *context, struct lmn__scratch *scratch, uint64_t index,
                                 struct ArrowArray *array_out, struct lmn_error *err)
{
    const struct scan *scan = context;
    struct lmn__row_range range;

    range.first = scan->row_start + index * scan->batch_rows;
    range.count = lmn__min_u64(scan->batch_rows, scan->row_end - range.first);
    return lmn__reader_read(&scan->reader, scratch, &range, 1, array_out, err);
}

static enum lmn_status scan_schema(void *context, struct ArrowSchema *schema_out,
                                   struct lmn_error *err)
{
    const struct scan *scan = context;

    return lmn__projection_schema(&scan->reader.projection, schema_out, err);
}

static void scan_free(void *context)
{
    struct scan *scan = context;
    struct lmn_env *env = lmn_env_acquire(scan->reader.file->env);

    lmn__reader_deinit(&scan->reader);
    lmn__free(env, scan);
    lmn_env_release(env);
}

enum lmn_status lmn_file_scan_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    return lmn__stream_next(stream, array_out, err);
}

static enum lmn_status set_range(struct scan *scan, const struct lmn_read_options *options,
                                 struct lmn__batches_options *batches, struct lmn_error *err)
{
    uint64_t rows = scan->reader.file->row_count;
    uint64_t row_bytes = lmn__reader_row_bytes(&scan->reader), blob_bytes;
    uint64_t bytes = options->batch_bytes_max != 0 ? options->batch_bytes_max : LMN__BATCH_BYTES;
    uint64_t start = options->rows_limited ? options->row_start : 0;
    uint64_t count = options->rows_limited ? options->row_count : rows;
    enum lmn_status st;

    if (!lmn__range_fits(start, count, rows))
        return lmn_fail(err, LMN_E_INVALID, "%.200s: rows %llu to %llu of a file of %llu rows",
                        scan->reader.file->object.name, (unsigned long long)start,
                        (unsigned long long)(start + count), (unsigned long long)rows);
    st = lmn__reader_blob_bytes(&scan->reader, &blob_bytes, err);
    if (st != LMN_OK)
        return st;
    row_bytes += lmn__min_u64(blob_bytes, bytes);
    scan->row_start = start;
    scan->row_end = start + count;
    scan->batch_rows = options->batch_rows_max != 0 ? options->batch_rows_max : LMN__BATCH_ROWS;
    scan->batch_rows = lmn__max_u64(lmn__min_u64(scan->batch_rows, bytes / row_bytes), 1);
    *batches = (struct lmn__batches_options){
        .batch_count = lmn__div_up(count, scan->batch_rows),
        .batch_bytes = scan->batch_rows * row_bytes,
        .prefetch_bytes_max = options->prefetch_bytes_max,
        .threads = options->threads,
    };
    return LMN_OK;
}

enum lmn_status lmn_file_scan(struct lmn_file *file, const struct lmn_read_options *options,
                              struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn_read_options defaults = { 0 };
    struct scan *scan = lmn__calloc(file->env, 1, sizeof *scan);
    struct lmn__batch_source source = { scan, scan_read, scan_schema, scan_free };
    struct lmn__batches_options batches;
    enum lmn_status st;

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (scan == NULL)
        return lmn__no_memory(err, "a scan", sizeof *scan);
    if (options == NULL)
        options = &defaults;
    st = lmn__reader_init(&scan->reader, file, options->column, options->column_count,
                          options->blobs, err);
    if (st != LMN_OK) {
        lmn__free(file->env, scan);
        return st;
    }
    st = set_range(scan, options, &batches, err);
    if (st == LMN_OK)
        st = lmn__batches_open(file->env, &source, &batches, stream_out, err);
    if (st != LMN_OK)
        scan_free(scan);
    return st;
}
