/* SPDX-License-Identifier: Apache-2.0 */
/* Full pages on their way into the file: encoded and written at once, or by a writer's workers. */
#include "format/writer.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "format/checksum.h"

/* Pages of fewer bytes than ALONE_BYTES_MAX in all are made sooner than threads are started. */
enum { QUEUE_PER_THREAD = 2, ALONE_BYTES_MAX = 256 << 10 };

/* Room for what was given as so many bytes, or was not counted among the given ones (0). */
static uint64_t reserve(struct lmn_file_writer *writer, uint64_t bytes, uint64_t given_bytes)
{
    uint64_t position;

    lmn__mutex_lock(&writer->mutex);
    position = writer->locked.position;
    writer->locked.position = lmn__align_up(position + bytes, LMN__BUFFER_ALIGN);
    writer->locked.given_bytes -= given_bytes;
    lmn__mutex_unlock(&writer->mutex);
    return position;
}

uint64_t lmn__writer_reserve(struct lmn_file_writer *writer, uint64_t bytes)
{
    return reserve(writer, bytes, 0);
}

static uint64_t page_bytes(const struct lmn__encoded_page *page)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < page->buffer_count; i++)
        bytes = lmn__align_up(bytes, LMN__BUFFER_ALIGN) + page->buffer[i].len;
    return bytes;
}

static enum lmn_status put_page(struct lmn_file_writer *writer, uint32_t column, uint64_t row_start,
                                const struct lmn__encoded_page *page, uint64_t given_bytes,
                                struct lmn_error *err)
{
    uint64_t position = reserve(writer, page_bytes(page), given_bytes);
    struct lmn__extent extent[LMN__PAGE_BUFFER_COUNT_MAX];
    uint64_t hash[LMN__PAGE_BUFFER_COUNT_MAX];
    struct lmn__placed_page placed = { .row_start = row_start,
                                       .row_count = page->row_count,
                                       .buffer_count = page->buffer_count,
                                       .buffer = extent,
                                       .description = { page->description.data,
                                                        page->description.len } };
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < page->buffer_count; i++) {
        hash[i] = lmn__hash64(page->buffer[i].data, page->buffer[i].len);
        extent[i].bytes = page->buffer[i].len;
        extent[i].position = position;
        position = lmn__align_up(position + extent[i].bytes, LMN__BUFFER_ALIGN);
        if (extent[i].bytes != 0)
            st = lmn__draft_write_at(&writer->draft, extent[i].position, page->buffer[i].data,
                                     extent[i].bytes, err);
    }
    if (st != LMN_OK)
        return st;
    placed.has_checksum = true;
    placed.checksum = lmn__checksum_of(hash, page->buffer_count);
    lmn__mutex_lock(&writer->mutex);
    st = lmn__tail_add(&writer->locked.tail, column, &placed, err);
    lmn__mutex_unlock(&writer->mutex);
    return st;
}

enum lmn_status lmn__writer_put_page(struct lmn_file_writer *writer, uint32_t column,
                                     uint64_t row_start, const struct lmn__encoded_page *page,
                                     struct lmn_error *err)
{
    return put_page(writer, column, row_start, page, 0, err);
}

enum lmn_status lmn__writer_within_column(const struct lmn_file_writer *writer,
                                          const struct lmn__write_leaf *leaf, enum lmn_status st,
                                          struct lmn_error *err)
{
    lmn__fail_within(err, st, "column \"%.100s\"", writer->plan.column_name[leaf->top]);
    return lmn__fail_within(err, st, "%.200s", lmn__writer_name(writer));
}

const char *lmn__writer_name(const struct lmn_file_writer *writer)
{
    return writer->options.unnamed ? "" : writer->path;
}

static enum lmn_status do_job(struct lmn_file_writer *writer, struct lmn__write_job *job,
                              struct lmn__scratch *scratch, struct lmn_error *err)
{
    struct lmn__encoded_page page;
    enum lmn_status st = lmn__page_encode(&job->shred, &writer->plan.encode, scratch, &page, err);

    if (st == LMN_OK)
        st = put_page(writer, job->leaf->node->column, job->row_start, &page, job->given_bytes,
                      err);
    lmn__encoded_page_deinit(&page);
    return st;
}

void lmn__write_job_free(struct lmn_file_writer *writer, struct lmn__write_job *job)
{
    lmn__shred_deinit(&job->shred);
    lmn__free(writer->env, job);
}

static void worker_main(void *context)
{
    struct lmn_file_writer *writer = context;
    struct lmn__scratch scratch;
    struct lmn_error error;

    lmn__scratch_init(&scratch, writer->env);
    lmn__mutex_lock(&writer->mutex);
    for (;;) {
        struct lmn__write_job *job = writer->locked.first;
        enum lmn_status st = LMN_OK;

        if (job == NULL) {
            if (writer->locked.stop)
                break;
            lmn__cond_wait(&writer->work, &writer->mutex);
            continue;
        }
        writer->locked.first = job->next;
        if (job->next == NULL)
            writer->locked.last = NULL;
        writer->locked.queued--;
        writer->locked.running++;
        if (writer->locked.status == LMN_OK) {
            lmn__mutex_unlock(&writer->mutex);
            st = do_job(writer, job, &scratch, &error);
            if (st != LMN_OK)
                st = lmn__writer_within_column(writer, job->leaf, st, &error);
            lmn__mutex_lock(&writer->mutex);
        }
        if (st != LMN_OK && writer->locked.status == LMN_OK) {
            writer->locked.status = st;
            writer->locked.error = error;
        }
        writer->locked.running--;
        lmn__cond_wake_all(&writer->done);
        lmn__write_job_free(writer, job);
    }
    lmn__mutex_unlock(&writer->mutex);
    lmn__scratch_deinit(&scratch);
}

/* What has gone wrong in a worker, if anything. */
static enum lmn_status worker_status_locked(struct lmn_file_writer *writer, struct lmn_error *err)
{
    if (writer->locked.status != LMN_OK && err != NULL)
        *err = writer->locked.error;
    return writer->locked.status;
}

/* Give a job to the workers, waiting for room in the queue. */
static enum lmn_status enqueue(struct lmn_file_writer *writer, struct lmn__write_job *job,
                               struct lmn_error *err)
{
    enum lmn_status st;

    lmn__mutex_lock(&writer->mutex);
    while (writer->locked.queued >= writer->queue_max && writer->locked.status == LMN_OK)
        lmn__cond_wait(&writer->done, &writer->mutex);
    st = worker_status_locked(writer, err);
    if (st == LMN_OK) {
        *(writer->locked.last != NULL ? &writer->locked.last->next : &writer->locked.first) = job;
        writer->locked.last = job;
        writer->locked.queued++;
        job->given_bytes = job->shred.bytes;
        writer->locked.given_bytes += job->given_bytes;
        lmn__cond_wake_one(&writer->work);
    }
    lmn__mutex_unlock(&writer->mutex);
    if (st != LMN_OK)
        lmn__write_job_free(writer, job);
    return st;
}

static enum lmn_status start_threads(struct lmn_file_writer *writer, struct lmn_error *err)
{
    uint32_t threads = writer->thread_max;
    enum lmn_status st = LMN_OK;

    writer->queue_max = threads * QUEUE_PER_THREAD;
    writer->thread = lmn__calloc(writer->env, threads, sizeof *writer->thread);
    if (writer->thread == NULL)
        return lmn__no_memory(err, "a writer's threads", threads * sizeof *writer->thread);
    while (st == LMN_OK && writer->thread_count < threads) {
        st = lmn__thread_start(writer->env, worker_main, writer,
                               &writer->thread[writer->thread_count], err);
        writer->thread_count += st == LMN_OK;
    }
    return writer->thread_count != 0 ? LMN_OK : st;
}

enum lmn_status lmn__writer_give(struct lmn_file_writer *writer, struct lmn__write_job *job,
                                 struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    writer->alone_bytes += writer->thread_count == 0 ? job->shred.bytes : 0;
    if (writer->thread_count == 0 && writer->thread_max > 1 &&
        writer->alone_bytes >= ALONE_BYTES_MAX)
        st = start_threads(writer, err);
    if (st == LMN_OK && writer->thread_count != 0)
        return enqueue(writer, job, err);
    if (st == LMN_OK)
        st = do_job(writer, job, &writer->scratch, err);
    lmn__write_job_free(writer, job);
    return st;
}

enum lmn_status lmn__writer_wait(struct lmn_file_writer *writer, struct lmn_error *err)
{
    enum lmn_status st;

    lmn__mutex_lock(&writer->mutex);
    while (writer->locked.queued + writer->locked.running != 0)
        lmn__cond_wait(&writer->done, &writer->mutex);
    st = worker_status_locked(writer, err);
    lmn__mutex_unlock(&writer->mutex);
    return st;
}

void lmn__writer_stop(struct lmn_file_writer *writer)
{
    lmn__mutex_lock(&writer->mutex);
    writer->locked.stop = true;
    lmn__cond_wake_all(&writer->work);
    lmn__mutex_unlock(&writer->mutex);
    for (uint32_t i = 0; i < writer->thread_count; i++)
        lmn__thread_join(&writer->thread[i]);
    writer->thread_count = 0;
}
