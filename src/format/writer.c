/* SPDX-License-Identifier: Apache-2.0 */
#include "format/writer.h"

#include "base/error.h"
#include "base/math.h"
#include "format/blob_writer.h"
#include "os/interrupt.h"

enum { THREADS_MAX = 64 };

static enum lmn_status open_page(struct lmn_file_writer *writer, struct lmn__write_column *column,
                                 struct lmn_error *err)
{
    const struct lmn__write_leaf *leaf = column->leaf;

    return lmn__shred_init(&column->shred, writer->env, leaf->path, leaf->path_count,
                           leaf->value_layout, err);
}

/* Turn the open page into a job and open the next one. */
static enum lmn_status close_page(struct lmn_file_writer *writer, struct lmn__write_column *column,
                                  struct lmn_error *err)
{
    struct lmn__write_job *job;
    enum lmn_status st;

    if (column->shred.row_count == 0)
        return LMN_OK;
    job = lmn__alloc(writer->env, sizeof *job);
    if (job == NULL)
        return lmn__no_memory(err, "a page", sizeof *job);
    *job = (struct lmn__write_job){ .leaf = column->leaf,
                                    .row_start = column->row_start,
                                    .shred = column->shred };
    column->row_start += column->shred.row_count;
    st = open_page(writer, column, err);
    if (st != LMN_OK) {
        column->shred = (struct lmn__shred){ 0 };
        lmn__write_job_free(writer, job);
        return st;
    }
    lmn__shred_expect(&column->shred, &job->shred);
    return lmn__writer_give(writer, job, err);
}

static enum lmn_status write_column(struct lmn_file_writer *writer,
                                    struct lmn__write_column *column,
                                    const struct ArrowArray *batch, struct lmn_error *err)
{
    const struct ArrowArray *array = batch->children[column->leaf->top];
    uint64_t at = (uint64_t)batch->offset, end = at + (uint64_t)batch->length;
    enum lmn_status st = LMN_OK;

    if (column->blob != NULL)
        return lmn__blob_writer_write(column->blob, array, at, end - at, err);
    if (lmn__shred_must_close(&column->shred, array))
        st = close_page(writer, column, err);
    while (st == LMN_OK && at < end) {
        uint64_t count = lmn__write_leaf_fit(&writer->plan, column->leaf, &column->shred, array, at,
                                             end - at);
        uint64_t entry = column->shred.entry_count;

        st = lmn__shred_append(&column->shred, array, at, count, err);
        if (st == LMN_OK)
            lmn__stats_gather_add(&column->stats, &column->shred, entry);
        at += count;
        if (st == LMN_OK && lmn__write_leaf_full(&writer->plan, &column->shred))
            st = close_page(writer, column, err);
    }
    return st;
}

/* What the caller's thread was told; a worker's failure names its column already. */
static enum lmn_status column_failed(struct lmn_file_writer *writer,
                                     const struct lmn__write_column *column, enum lmn_status st,
                                     struct lmn_error *err)
{
    bool by_worker;

    lmn__mutex_lock(&writer->mutex);
    by_worker = writer->locked.status != LMN_OK;
    lmn__mutex_unlock(&writer->mutex);
    return by_worker ? st : lmn__writer_within_column(writer, column->leaf, st, err);
}

enum lmn_status lmn_file_writer_check_schema(const struct lmn_file_writer *writer,
                                             const struct ArrowSchema *schema,
                                             struct lmn_error *err)
{
    enum lmn_status st = lmn__write_plan_check_schema(&writer->plan, schema, err);

    return st == LMN_OK ? st : lmn__fail_within(err, st, "%.200s", lmn__writer_name(writer));
}

static enum lmn_status check_whole(const struct lmn_file_writer *writer, struct lmn_error *err)
{
    return !writer->broken
               ? LMN_OK
               : lmn__fail_within(
                     err,
                     lmn_fail(err, LMN_E_INVALID, "rows are missing, as an earlier write failed"),
                     "%.200s", lmn__writer_name(writer));
}

enum lmn_status lmn_file_writer_write(struct lmn_file_writer *writer,
                                      const struct ArrowArray *batch, struct lmn_error *err)
{
    enum lmn_status st = check_whole(writer, err);

    if (st == LMN_OK)
        st = lmn__interrupt_check(err);
    if (st != LMN_OK)
        return st;
    st = lmn__write_plan_check(&writer->plan, batch, err);
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "%.200s", lmn__writer_name(writer));
    writer->broken = true; /* until all columns have the rows */
    for (uint32_t i = 0; i < writer->column_count; i++) {
        st = write_column(writer, &writer->column[i], batch, err);
        if (st != LMN_OK)
            return column_failed(writer, &writer->column[i], st, err);
    }
    writer->broken = false;
    writer->row_count += (uint64_t)batch->length;
    return LMN_OK;
}

uint64_t lmn_file_writer_row_count(const struct lmn_file_writer *writer)
{
    return writer->row_count;
}

uint64_t lmn_file_writer_bytes(struct lmn_file_writer *writer)
{
    uint64_t bytes;

    lmn__mutex_lock(&writer->mutex);
    bytes = writer->locked.position + writer->locked.given_bytes;
    lmn__mutex_unlock(&writer->mutex);
    for (uint32_t i = 0; i < writer->column_count; i++)
        bytes += writer->column[i].shred.bytes;
    return bytes;
}

/* Everything but the draft, which is published or aborted by then. */
static void writer_free(struct lmn_file_writer *writer)
{
    struct lmn_env *env = writer->env;
    struct lmn_store *store = writer->store;

    lmn__writer_stop(writer);
    for (uint32_t i = 0; i < writer->column_count; i++) {
        if (writer->column[i].shred.env != NULL)
            lmn__shred_deinit(&writer->column[i].shred);
        lmn__blob_writer_free(writer->column[i].blob);
        lmn__stats_gather_deinit(&writer->column[i].stats);
    }
    lmn__free(env, writer->column);
    lmn__vec_deinit(&writer->blob_named);
    lmn__free(env, writer->thread);
    lmn__scratch_deinit(&writer->scratch);
    lmn__tail_deinit(&writer->locked.tail);
    lmn__write_plan_deinit(&writer->plan);
    lmn__cond_deinit(&writer->work);
    lmn__cond_deinit(&writer->done);
    lmn__mutex_deinit(&writer->mutex);
    lmn__free(env, writer->path);
    lmn__free(env, writer);
    lmn_store_release(store);
    lmn_env_release(env);
}

void lmn_file_writer_abort(struct lmn_file_writer *writer)
{
    if (writer == NULL)
        return;
    /* Workers that are still writing find the failure and stop. */
    lmn__mutex_lock(&writer->mutex);
    if (writer->locked.status == LMN_OK)
        writer->locked.status = LMN_E_CANCELLED;
    lmn__mutex_unlock(&writer->mutex);
    lmn__writer_stop(writer);
    lmn__draft_abort(&writer->draft);
    lmn__blob_remove_sides(writer);
    writer_free(writer);
}

static enum lmn_status close_pages(struct lmn_file_writer *writer, bool ends, struct lmn_error *err)
{
    for (uint32_t i = 0; i < writer->column_count; i++) {
        struct lmn__write_column *column = &writer->column[i];
        enum lmn_status st = LMN_OK;

        if (column->blob == NULL)
            st = close_page(writer, column, err);
        else if (ends)
            st = lmn__blob_writer_finish(column->blob, err);
        if (st != LMN_OK)
            return column_failed(writer, column, st, err);
    }
    return writer->thread_count != 0 ? lmn__writer_wait(writer, err) : LMN_OK;
}

enum lmn_status lmn_file_writer_flush(struct lmn_file_writer *writer, struct lmn_error *err)
{
    enum lmn_status st = check_whole(writer, err);

    if (st != LMN_OK)
        return st;
    writer->broken = true; /* until every column has its page */
    st = close_pages(writer, false, err);
    writer->broken = st != LMN_OK;
    return st;
}

/* Statistics lie before the schema, so that the end of the file is what opening it needs. */
static enum lmn_status put_stats(struct lmn_file_writer *writer, struct lmn_error *err)
{
    struct lmn__extent *extent = &writer->locked.tail.stats;
    struct lmn__arena *arena = &writer->plan.arena;
    struct lmn__stats_gather **gather = lmn__arena_array(arena, writer->column_count,
                                                         sizeof *gather);
    uint32_t *column = lmn__arena_array(arena, writer->column_count, sizeof *column), count = 0;
    struct lmn__buf buf;
    enum lmn_status st;

    if (gather == NULL || column == NULL)
        return lmn__arena_fail(arena, "statistics", err);
    for (uint32_t i = 0; i < writer->column_count; i++) {
        if (writer->column[i].stats.type.kind == LMN__STATS_NONE)
            continue;
        gather[count] = &writer->column[i].stats;
        column[count++] = writer->column[i].leaf->node->column;
    }
    if (count == 0 || writer->row_count == 0)
        return LMN_OK;
    lmn__buf_init(&buf, writer->env, 0);
    st = lmn__stats_encode(gather, column, count, &buf, err);
    if (st == LMN_OK) {
        extent->bytes = buf.len;
        extent->position = lmn__writer_reserve(writer, buf.len);
        st = lmn__draft_write_at(&writer->draft, extent->position, buf.data, buf.len, err);
    }
    lmn__buf_deinit(&buf);
    return st;
}

static enum lmn_status put_tail(struct lmn_file_writer *writer, uint64_t *bytes_out,
                                struct lmn_error *err)
{
    uint64_t position = writer->locked.position;
    struct lmn__buf tail;
    enum lmn_status st;

    lmn__buf_init(&tail, writer->env, 0);
    st = lmn__tail_encode(&writer->locked.tail, writer->row_count, position, &tail, err);
    if (st == LMN_OK)
        st = lmn__draft_write_at(&writer->draft, position, tail.data, tail.len, err);
    *bytes_out = position + tail.len;
    lmn__buf_deinit(&tail);
    return st;
}

enum lmn_status lmn_file_writer_finish(struct lmn_file_writer *writer, uint64_t *bytes_out,
                                       struct lmn_error *err)
{
    enum lmn__publish_mode mode = writer->options.replace ? LMN__PUBLISH_REPLACE
                                                          : LMN__PUBLISH_IF_ABSENT;
    uint64_t bytes = 0;
    enum lmn_status st = check_whole(writer, err);

    if (st == LMN_OK)
        st = close_pages(writer, true, err);
    if (st == LMN_OK)
        st = put_stats(writer, err);
    if (st == LMN_OK)
        st = put_tail(writer, &bytes, err);
    if (st == LMN_OK)
        st = lmn__draft_publish(&writer->draft, mode, !writer->options.unsynced, err);
    if (st != LMN_OK) {
        lmn_file_writer_abort(writer);
        return st;
    }
    writer_free(writer);
    if (bytes_out != NULL)
        *bytes_out = bytes;
    return LMN_OK;
}

static enum lmn_status open_columns(struct lmn_file_writer *writer, struct lmn_error *err)
{
    const struct lmn__write_plan *plan = &writer->plan;
    enum lmn_status st = LMN_OK;

    writer->column = lmn__calloc(writer->env, plan->leaf_count, sizeof *writer->column);
    if (writer->column == NULL)
        return lmn__no_memory(err, "a writer", plan->leaf_count * sizeof *writer->column);
    for (uint32_t i = 0; st == LMN_OK && i < plan->leaf_count; i++) {
        struct lmn__write_column *column = &writer->column[writer->column_count++];

        column->leaf = &plan->leaf[i];
        lmn__stats_gather_init(&column->stats, writer->env, lmn__stats_type_of(column->leaf->node));
        if (column->leaf->node->blob != LMN__BLOB_NONE)
            st = lmn__blob_writer_new(writer, column->leaf, &column->blob, err);
        else
            st = open_page(writer, column, err);
        if (st != LMN_OK)
            column->shred = (struct lmn__shred){ 0 };
    }
    return st;
}

/* The parts that need no clean-up of each other: what abort and free take for granted. */
static enum lmn_status writer_new(struct lmn_store *store, const char *path,
                                  const struct ArrowSchema *schema,
                                  const struct lmn_file_writer_options *options,
                                  struct lmn_file_writer **writer_out, struct lmn_error *err)
{
    struct lmn_env *env = store->env;
    struct lmn_file_writer *writer = lmn__calloc(env, 1, sizeof *writer);
    enum lmn_status st = LMN_OK;
    int made = 0;

    *writer_out = NULL;
    if (writer == NULL)
        return lmn__no_memory(err, "a writer", sizeof *writer);
    if (options != NULL)
        writer->options = *options;
    lmn__scratch_init(&writer->scratch, env);
    writer->path = lmn__strndup(env, path, strlen(path));
    if (writer->path == NULL)
        st = lmn__no_memory(err, "a path", strlen(path));
    if (st == LMN_OK && (st = lmn__mutex_init(&writer->mutex, err)) == LMN_OK && ++made &&
        (st = lmn__cond_init(&writer->work, err)) == LMN_OK && ++made &&
        (st = lmn__cond_init(&writer->done, err)) == LMN_OK && ++made &&
        (st = lmn__write_plan_init(&writer->plan, env, schema, &writer->options.encode, err)) ==
            LMN_OK)
        made++;
    if (st == LMN_OK)
        st = lmn__tail_init(&writer->locked.tail, env, writer->plan.encode.minor, &writer->plan.pb,
                            &writer->plan.schema, err);
    if (st == LMN_OK) {
        writer->env = lmn_env_acquire(env);
        writer->store = lmn_store_acquire(store);
        writer->options.encode.version = NULL; /* the caller's memory */
        *writer_out = writer;
        return LMN_OK;
    }
    if (made > 3)
        lmn__write_plan_deinit(&writer->plan);
    if (made > 2)
        lmn__cond_deinit(&writer->done);
    if (made > 1)
        lmn__cond_deinit(&writer->work);
    if (made > 0)
        lmn__mutex_deinit(&writer->mutex);
    lmn__free(env, writer->path);
    lmn__free(env, writer);
    return st;
}

enum lmn_status lmn_file_writer_open(struct lmn_store *store, const char *path,
                                     const struct ArrowSchema *schema,
                                     const struct lmn_file_writer_options *options,
                                     struct lmn_file_writer **writer_out, struct lmn_error *err)
{
    struct lmn_file_writer *writer;
    uint32_t threads = options != NULL ? options->threads : 0;
    enum lmn_status st = writer_new(store, path, schema, options, &writer, err);

    *writer_out = NULL;
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "%.200s", options != NULL && options->unnamed ? "" : path);
    writer->thread_max = (uint32_t)lmn__min_u64(threads != 0 ? threads : writer->env->threads,
                                                THREADS_MAX);
    st = lmn__draft_open(store, path, &writer->draft, err);
    if (st == LMN_OK)
        st = open_columns(writer, err);
    if (st != LMN_OK) {
        lmn_file_writer_abort(writer);
        return st;
    }
    *writer_out = writer;
    return LMN_OK;
}
