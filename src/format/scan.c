/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scan is cut into batches of equal rows, which any thread can read by itself. With one thread
 * the consumer reads each batch when it asks for it. With several, workers claim batches in
 * order and put them into a ring; the consumer takes them out in order.
 *
 *   - a batch may be claimed when it is less than `ring_count` ahead of the consumer, and the
 *     bytes waiting in the ring are below the limit (the batch the consumer waits for always may)
 *   - the first failure in order is what the consumer sees; it ends the stream
 *
 * One mutex guards the ring. Workers wait on `room`, the consumer on `ready`.
 */
#include <errno.h>

#include "base/math.h"
#include "format/reader.h"

enum {
    BATCH_ROWS_DEFAULT = 8192,
    BATCH_BYTES_DEFAULT = 32 << 20,
    PREFETCH_BYTES_DEFAULT = 256 << 20,
    RING_PER_THREAD = 4,
    THREADS_MAX = 256
};

struct slot {
    bool done;
    enum lmn_status status;
    struct lmn_error error;
    struct ArrowArray array;
};

struct scan {
    struct lmn_env *env; /* the file's */
    struct lmn__reader reader;
    uint64_t row_start, row_end;
    uint64_t batch_rows, batch_count;
    uint64_t batch_bytes; /* estimate of one batch in the ring */
    uint64_t prefetch_bytes_max;
    struct lmn_error error; /* what get_last_error tells */

    uint64_t delivered; /* batches the consumer has got */
    bool failed;
    struct lmn__scratch scratch; /* the consumer's, with one thread */

    uint32_t thread_count; /* 0: the consumer reads itself */
    struct lmn__thread *thread;
    uint64_t ring_count;
    struct slot *ring;
    struct lmn__mutex mutex;
    struct lmn__cond ready, room;
    struct {
        uint64_t claimed;
        uint64_t wanted; /* the batch the consumer waits for */
        bool stop;
    } locked;
};

static enum lmn_status read_batch(struct scan *scan, struct lmn__scratch *scratch, uint64_t index,
                                  struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn__row_range range;

    range.first = scan->row_start + index * scan->batch_rows;
    range.count = lmn__min_u64(scan->batch_rows, scan->row_end - range.first);
    return lmn__reader_read(&scan->reader, scratch, &range, 1, array_out, err);
}

/* May the next batch be claimed now? */
static bool has_room_locked(const struct scan *scan)
{
    uint64_t ahead = scan->locked.claimed - scan->locked.wanted;

    return ahead == 0 ||
           (ahead < scan->ring_count && ahead * scan->batch_bytes < scan->prefetch_bytes_max);
}

static void worker_main(void *context)
{
    struct scan *scan = context;
    struct lmn__scratch scratch;

    lmn__scratch_init(&scratch, scan->env);
    lmn__mutex_lock(&scan->mutex);
    while (!scan->locked.stop && scan->locked.claimed < scan->batch_count) {
        uint64_t index;
        struct slot *slot;

        if (!has_room_locked(scan)) {
            lmn__cond_wait(&scan->room, &scan->mutex);
            continue;
        }
        index = scan->locked.claimed++;
        slot = &scan->ring[index % scan->ring_count];
        lmn__mutex_unlock(&scan->mutex);
        slot->status = read_batch(scan, &scratch, index, &slot->array, &slot->error);
        lmn__mutex_lock(&scan->mutex);
        slot->done = true;
        if (index == scan->locked.wanted)
            lmn__cond_wake_one(&scan->ready);
    }
    lmn__mutex_unlock(&scan->mutex);
    lmn__scratch_deinit(&scratch);
}

static enum lmn_status take_from_ring(struct scan *scan, struct ArrowArray *array_out)
{
    struct slot *slot = &scan->ring[scan->delivered % scan->ring_count];
    enum lmn_status st;

    lmn__mutex_lock(&scan->mutex);
    while (!slot->done)
        lmn__cond_wait(&scan->ready, &scan->mutex);
    st = slot->status;
    scan->error = slot->error;
    *array_out = slot->array;
    *slot = (struct slot){ 0 };
    scan->locked.wanted++;
    lmn__cond_wake_all(&scan->room);
    lmn__mutex_unlock(&scan->mutex);
    return st;
}

static int status_errno(enum lmn_status status)
{
    switch (status) {
    case LMN_OK:
        return 0;
    case LMN_E_NO_MEMORY:
        return ENOMEM;
    case LMN_E_INVALID:
    case LMN_E_CORRUPT:
        return EINVAL;
    case LMN_E_UNSUPPORTED:
        return ENOSYS;
    default:
        return EIO;
    }
}

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema_out)
{
    struct scan *scan = stream->private_data;

    return status_errno(lmn__projection_schema(&scan->reader.projection, schema_out, &scan->error));
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out)
{
    struct scan *scan = stream->private_data;
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    if (scan->failed)
        return status_errno(scan->error.status);
    if (scan->delivered == scan->batch_count)
        return 0;
    st = scan->thread_count != 0
             ? take_from_ring(scan, array_out)
             : read_batch(scan, &scan->scratch, scan->delivered, array_out, &scan->error);
    scan->delivered++;
    if (st != LMN_OK) {
        scan->failed = true;
        scan->error.status = st;
    }
    return status_errno(st);
}

enum lmn_status lmn_file_scan_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    const struct scan *scan = stream->private_data;

    if (stream_get_next(stream, array_out) == 0)
        return LMN_OK;
    if (err != NULL)
        *err = scan->error;
    return scan->error.status;
}

static const char *stream_get_last_error(struct ArrowArrayStream *stream)
{
    struct scan *scan = stream->private_data;

    return scan->error.message;
}

static void stop_threads(struct scan *scan)
{
    lmn__mutex_lock(&scan->mutex);
    scan->locked.stop = true;
    lmn__cond_wake_all(&scan->room);
    lmn__mutex_unlock(&scan->mutex);
    for (uint32_t i = 0; i < scan->thread_count; i++)
        lmn__thread_join(&scan->thread[i]);
}

static void free_ring(struct scan *scan)
{
    for (uint64_t i = 0; i < scan->ring_count; i++) {
        if (scan->ring[i].array.release != NULL)
            scan->ring[i].array.release(&scan->ring[i].array);
    }
    lmn__cond_deinit(&scan->room);
    lmn__cond_deinit(&scan->ready);
    lmn__mutex_deinit(&scan->mutex);
    lmn__free(scan->env, scan->ring);
    lmn__free(scan->env, scan->thread);
}

static void scan_free(struct scan *scan)
{
    struct lmn_env *env = lmn_env_acquire(scan->env);

    if (scan->ring != NULL) {
        stop_threads(scan);
        free_ring(scan);
    }
    lmn__scratch_deinit(&scan->scratch);
    lmn__reader_deinit(&scan->reader);
    lmn__free(env, scan);
    lmn_env_release(env);
}

static void stream_release(struct ArrowArrayStream *stream)
{
    scan_free(stream->private_data);
    stream->release = NULL;
    stream->private_data = NULL;
}

/* Make the ring; on failure nothing of it is left. */
static enum lmn_status make_ring(struct scan *scan, uint32_t threads, struct lmn_error *err)
{
    struct lmn__thread *thread = lmn__calloc(scan->env, threads, sizeof *thread);
    uint64_t count = (uint64_t)threads * RING_PER_THREAD;
    struct slot *ring = lmn__calloc(scan->env, count, sizeof *ring);
    enum lmn_status st = LMN_E_NO_MEMORY;
    int made = 0;

    if (thread == NULL || ring == NULL)
        lmn__no_memory(err, "a scan", count * sizeof *ring);
    else if ((st = lmn__mutex_init(&scan->mutex, err)) == LMN_OK && ++made &&
             (st = lmn__cond_init(&scan->ready, err)) == LMN_OK && ++made)
        st = lmn__cond_init(&scan->room, err);
    if (st == LMN_OK) {
        scan->thread = thread;
        scan->ring = ring;
        scan->ring_count = count;
        return LMN_OK;
    }
    if (made > 1)
        lmn__cond_deinit(&scan->ready);
    if (made > 0)
        lmn__mutex_deinit(&scan->mutex);
    lmn__free(scan->env, thread);
    lmn__free(scan->env, ring);
    return st;
}

/* Fewer threads than asked for still do the work; only none at all is a failure. */
static enum lmn_status start_threads(struct scan *scan, uint32_t threads, struct lmn_error *err)
{
    enum lmn_status st;

    threads = (uint32_t)lmn__min_u64(lmn__min_u64(threads, THREADS_MAX), scan->batch_count);
    if (threads <= 1)
        return LMN_OK;
    st = make_ring(scan, threads, err);
    while (st == LMN_OK && scan->thread_count < threads) {
        st = lmn__thread_start(scan->env, worker_main, scan, &scan->thread[scan->thread_count],
                               err);
        scan->thread_count += st == LMN_OK;
    }
    return scan->thread_count != 0 ? LMN_OK : st;
}

static enum lmn_status set_range(struct scan *scan, const struct lmn_read_options *options,
                                 struct lmn_error *err)
{
    uint64_t rows = scan->reader.file->row_count;
    uint64_t row_bytes = lmn__reader_row_bytes(&scan->reader);
    uint64_t bytes = options->batch_bytes_max != 0 ? options->batch_bytes_max : BATCH_BYTES_DEFAULT;
    uint64_t start = options->rows_limited ? options->row_start : 0;
    uint64_t count = options->rows_limited ? options->row_count : rows;

    if (!lmn__range_fits(start, count, rows))
        return lmn_fail(err, LMN_E_INVALID, "%.200s: rows %llu to %llu of a file of %llu rows",
                        scan->reader.file->object.name, (unsigned long long)start,
                        (unsigned long long)(start + count), (unsigned long long)rows);
    scan->row_start = start;
    scan->row_end = start + count;
    scan->batch_rows = options->batch_rows_max != 0 ? options->batch_rows_max : BATCH_ROWS_DEFAULT;
    scan->batch_rows = lmn__max_u64(lmn__min_u64(scan->batch_rows, bytes / row_bytes), 1);
    scan->batch_count = lmn__div_up(count, scan->batch_rows);
    scan->batch_bytes = scan->batch_rows * row_bytes;
    scan->prefetch_bytes_max = options->prefetch_bytes_max != 0 ? options->prefetch_bytes_max
                                                                : PREFETCH_BYTES_DEFAULT;
    return LMN_OK;
}

enum lmn_status lmn_file_scan(struct lmn_file *file, const struct lmn_read_options *options,
                              struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn_read_options defaults = { 0 };
    struct scan *scan = lmn__calloc(file->env, 1, sizeof *scan);
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
    scan->env = file->env;
    lmn__scratch_init(&scan->scratch, file->env);
    st = set_range(scan, options, err);
    if (st == LMN_OK)
        st = start_threads(scan, options->threads != 0 ? options->threads : file->env->threads,
                           err);
    if (st != LMN_OK) {
        scan_free(scan);
        return st;
    }
    *stream_out = (struct ArrowArrayStream){ stream_get_schema, stream_get_next,
                                             stream_get_last_error, stream_release, scan };
    return LMN_OK;
}
