/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With one thread the consumer reads each batch when it asks for it. With several, workers claim
 * batches in order and put them into a ring; the consumer takes them out in order.
 *
 *   - a batch may be claimed when it is less than `ring_count` ahead of the consumer, and the
 *     bytes waiting in the ring are below the limit (the batch the consumer waits for always may);
 *     a batch counts as what it is estimated to take, and as what it takes once it is read, if that
 *     is more
 *   - the first failure in order is what the consumer sees; it ends the stream
 *   - once the batches that are done, without a gap, hold all rows that the limit asks for, or a
 *     batch has failed, none behind them is claimed
 *
 * One mutex guards the ring. Workers wait on `room`, the consumer on `ready`. In a process that is
 * forked there are no workers, and one of them may have held the mutex: a stream with a ring fails
 * there, and is left as it is when it is released.
 */
#include "format/batches.h"

#include "arrow/producer.h"
#include "arrow/share.h"
#include "arrow/slice.h"
#include "base/math.h"
#include "os/fork.h"
#include "os/interrupt.h"
#include "os/thread.h"

enum { RING_PER_THREAD = 4, THREADS_MAX = 256 };

struct slot {
    bool done;
    uint64_t bytes; /* that it counts as */
    enum lmn_status status;
    struct lmn_error error;
    struct ArrowArray array;
};

struct batches {
    struct lmn__producer producer; /* first */
    struct lmn_env *env;           /* counted */
    struct lmn__batch_source source;
    uint64_t batch_count;
    uint64_t batch_bytes;      /* estimate of one batch in the ring */
    struct ArrowSchema schema; /* of the batches; not set: their bytes are not known */
    uint64_t prefetch_bytes_max;
    uint64_t rows_needed; /* offset and limit together */

    uint64_t delivered;          /* batches that the consumer has got */
    uint64_t skip;               /* rows to leave out still */
    uint64_t left;               /* rows to hand out still */
    struct lmn__scratch scratch; /* the consumer's, with one thread */

    uint64_t process;      /* that opened it; see os/fork.h */
    uint32_t thread_count; /* 0: the consumer reads itself */
    struct lmn__thread *thread;
    uint64_t ring_count;
    struct slot *ring;
    struct lmn__mutex mutex;
    struct lmn__cond ready, room;
    struct {
        uint64_t claimed;
        uint64_t wanted;  /* the batch the consumer waits for */
        uint64_t bytes;   /* of batches that are claimed and not taken yet */
        uint64_t end;     /* no batch from here on is claimed */
        uint64_t counted; /* batches that are done, without a gap */
        uint64_t rows;    /* in them */
    } locked;
};

/* May the next batch be claimed now? */
static bool has_room_locked(const struct batches *batches)
{
    uint64_t ahead = batches->locked.claimed - batches->locked.wanted;

    return ahead == 0 ||
           (ahead < batches->ring_count && batches->locked.bytes < batches->prefetch_bytes_max);
}

/* What a batch that is read counts as. */
static uint64_t bytes_of(const struct batches *batches, const struct ArrowArray *array)
{
    if (batches->schema.release == NULL || array->release == NULL)
        return batches->batch_bytes;
    return lmn__max_u64(batches->batch_bytes, lmn__array_bytes(array, &batches->schema));
}

/* Look at what is done behind the batches counted so far: is more needed? */
static void count_done_locked(struct batches *batches)
{
    while (batches->locked.counted < batches->locked.claimed) {
        const struct slot *slot = &batches->ring[batches->locked.counted % batches->ring_count];

        if (!slot->done)
            return;
        batches->locked.counted++;
        batches->locked.rows += (uint64_t)slot->array.length;
        if (slot->status != LMN_OK || batches->locked.rows >= batches->rows_needed) {
            batches->locked.end = lmn__min_u64(batches->locked.end, batches->locked.counted);
            lmn__cond_wake_all(&batches->room);
        }
    }
}

static void worker_main(void *context)
{
    struct batches *batches = context;
    struct lmn__scratch scratch;

    lmn__scratch_init(&scratch, batches->env);
    lmn__mutex_lock(&batches->mutex);
    while (batches->locked.claimed < batches->locked.end) {
        uint64_t index;
        struct slot *slot;

        if (!has_room_locked(batches)) {
            lmn__cond_wait(&batches->room, &batches->mutex);
            continue;
        }
        index = batches->locked.claimed++;
        batches->locked.bytes += batches->batch_bytes;
        slot = &batches->ring[index % batches->ring_count];
        lmn__mutex_unlock(&batches->mutex);
        slot->status = batches->source.read(batches->source.context, &scratch, index, &slot->array,
                                            &slot->error);
        slot->bytes = bytes_of(batches, &slot->array);
        lmn__mutex_lock(&batches->mutex);
        slot->done = true;
        batches->locked.bytes += slot->bytes - batches->batch_bytes;
        count_done_locked(batches);
        if (index == batches->locked.wanted)
            lmn__cond_wake_one(&batches->ready);
    }
    lmn__mutex_unlock(&batches->mutex);
    lmn__scratch_deinit(&scratch);
}

static enum lmn_status take_from_ring(struct batches *batches, struct ArrowArray *array_out,
                                      struct lmn_error *err)
{
    struct slot *slot = &batches->ring[batches->delivered % batches->ring_count];
    enum lmn_status st;

    lmn__mutex_lock(&batches->mutex);
    while (!slot->done) {
        st = lmn__interrupt_check(err);
        if (st != LMN_OK) {
            lmn__mutex_unlock(&batches->mutex);
            return st;
        }
        lmn__interrupt_wait(&batches->ready, &batches->mutex);
    }
    st = slot->status;
    if (st != LMN_OK && err != NULL)
        *err = slot->error;
    *array_out = slot->array;
    batches->locked.bytes -= slot->bytes;
    *slot = (struct slot){ 0 };
    batches->locked.wanted++;
    lmn__cond_wake_all(&batches->room);
    lmn__mutex_unlock(&batches->mutex);
    return st;
}

/* Leave out what stands before the offset and behind the limit; no row left: released. */
static void cut(struct batches *batches, struct ArrowArray *array)
{
    uint64_t rows = (uint64_t)array->length, skip = lmn__min_u64(batches->skip, rows);
    uint64_t count = lmn__min_u64(batches->left, rows - skip);

    batches->skip -= skip;
    batches->left -= count;
    if (array->release == NULL || count == rows)
        return;
    if (count != 0)
        lmn__array_slice(array, skip, count);
    else
        array->release(array);
}

/* Are the workers of the stream in another process, of which this one is a fork? */
static bool is_forked(const struct batches *batches)
{
    return batches->thread_count != 0 && batches->process != lmn__fork_process();
}

/* The next batch with rows; at the end array_out->release is NULL. */
static enum lmn_status next(struct batches *batches, struct ArrowArray *array_out,
                            struct lmn_error *err)
{
    while (batches->left != 0 && batches->delivered < batches->batch_count) {
        enum lmn_status st = lmn__interrupt_check(err);

        if (st == LMN_OK && batches->thread_count != 0)
            st = take_from_ring(batches, array_out, err);
        else if (st == LMN_OK)
            st = batches->source.read(batches->source.context, &batches->scratch,
                                      batches->delivered, array_out, err);
        if (st != LMN_OK)
            return st;
        batches->delivered++;
        cut(batches, array_out);
        if (array_out->release != NULL && array_out->length != 0)
            return LMN_OK;
        if (array_out->release != NULL)
            array_out->release(array_out);
        *array_out = (struct ArrowArray){ 0 };
    }
    return LMN_OK;
}

static enum lmn_status batches_schema(struct lmn__producer *producer,
                                      struct ArrowSchema *schema_out, struct lmn_error *err)
{
    struct batches *batches = (struct batches *)producer;

    return batches->source.schema(batches->source.context, schema_out, err);
}

static enum lmn_status batches_next(struct lmn__producer *producer, struct ArrowArray *array_out,
                                    struct lmn_error *err)
{
    struct batches *batches = (struct batches *)producer;

    if (is_forked(batches))
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "the scan was begun by process %llu, of which this one is a fork: its "
                        "threads are not here; begin it again",
                        (unsigned long long)batches->process);
    return next(batches, array_out, err);
}

static void stop_threads(struct batches *batches)
{
    lmn__mutex_lock(&batches->mutex);
    batches->locked.end = 0;
    lmn__cond_wake_all(&batches->room);
    lmn__mutex_unlock(&batches->mutex);
    for (uint32_t i = 0; i < batches->thread_count; i++)
        lmn__thread_join(&batches->thread[i]);
}

static void free_ring(struct batches *batches)
{
    for (uint64_t i = 0; i < batches->ring_count; i++) {
        if (batches->ring[i].array.release != NULL)
            batches->ring[i].array.release(&batches->ring[i].array);
    }
    lmn__cond_deinit(&batches->room);
    lmn__cond_deinit(&batches->ready);
    lmn__mutex_deinit(&batches->mutex);
    lmn__free(batches->env, batches->ring);
    lmn__free(batches->env, batches->thread);
}

/* Everything but the source. */
static void batches_free(struct batches *batches)
{
    struct lmn_env *env = batches->env;

    if (batches->ring != NULL) {
        stop_threads(batches);
        free_ring(batches);
    }
    lmn__scratch_deinit(&batches->scratch);
    if (batches->schema.release != NULL)
        batches->schema.release(&batches->schema);
    lmn__free(env, batches);
    lmn_env_release(env);
}

static void batches_release(struct lmn__producer *producer)
{
    struct batches *batches = (struct batches *)producer;
    struct lmn__batch_source source = batches->source;

    if (is_forked(batches))
        return;
    batches_free(batches);
    source.free(source.context);
}

/* Make the ring; on failure nothing of it is left. */
static enum lmn_status make_ring(struct batches *batches, uint32_t threads, struct lmn_error *err)
{
    struct lmn__thread *thread = lmn__calloc(batches->env, threads, sizeof *thread);
    uint64_t count = (uint64_t)threads * RING_PER_THREAD;
    struct slot *ring = lmn__calloc(batches->env, count, sizeof *ring);
    enum lmn_status st = LMN_E_NO_MEMORY;
    int made = 0;

    if (thread == NULL || ring == NULL)
        lmn__no_memory(err, "a scan", count * sizeof *ring);
    else if ((st = lmn__mutex_init(&batches->mutex, err)) == LMN_OK && ++made &&
             (st = lmn__cond_init(&batches->ready, err)) == LMN_OK && ++made)
        st = lmn__cond_init(&batches->room, err);
    if (st == LMN_OK) {
        batches->thread = thread;
        batches->ring = ring;
        batches->ring_count = count;
        return LMN_OK;
    }
    if (made > 1)
        lmn__cond_deinit(&batches->ready);
    if (made > 0)
        lmn__mutex_deinit(&batches->mutex);
    lmn__free(batches->env, thread);
    lmn__free(batches->env, ring);
    return st;
}

/* Fewer threads than asked for still do the work; only none at all is a failure. */
static enum lmn_status start_threads(struct batches *batches, uint32_t threads,
                                     struct lmn_error *err)
{
    enum lmn_status st;

    threads = (uint32_t)lmn__min_u64(lmn__min_u64(threads, THREADS_MAX), batches->batch_count);
    if (threads <= 1 || batches->left == 0)
        return LMN_OK;
    st = batches->source.schema(batches->source.context, &batches->schema, err);
    if (st == LMN_E_NO_MEMORY)
        return st;
    st = make_ring(batches, threads, err);
    while (st == LMN_OK && batches->thread_count < threads) {
        st = lmn__thread_start(batches->env, worker_main, batches,
                               &batches->thread[batches->thread_count], err);
        batches->thread_count += st == LMN_OK;
    }
    return batches->thread_count != 0 ? LMN_OK : st;
}

enum lmn_status lmn__batches_open(struct lmn_env *env, const struct lmn__batch_source *source,
                                  const struct lmn__batches_options *options,
                                  struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn__producer_ops ops = { batches_schema, batches_next, batches_release };
    struct batches *batches = lmn__calloc(env, 1, sizeof *batches);
    enum lmn_status st;

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (batches == NULL)
        return lmn__no_memory(err, "a scan", sizeof *batches);
    batches->env = lmn_env_acquire(env);
    batches->process = lmn__fork_process();
    batches->source = *source;
    batches->batch_count = batches->locked.end = options->batch_count;
    batches->batch_bytes = options->batch_bytes;
    batches->prefetch_bytes_max = options->prefetch_bytes_max != 0 ? options->prefetch_bytes_max
                                                                   : LMN__PREFETCH_BYTES;
    batches->skip = options->offset;
    batches->left = options->limited ? options->limit : UINT64_MAX;
    if (!lmn__add_u64(batches->skip, batches->left, &batches->rows_needed))
        batches->rows_needed = UINT64_MAX;
    lmn__scratch_init(&batches->scratch, env);
    st = start_threads(batches, options->threads != 0 ? options->threads : env->threads, err);
    if (st != LMN_OK) {
        batches_free(batches);
        return st;
    }
    lmn__producer_export(&batches->producer, &ops, stream_out);
    return LMN_OK;
}
