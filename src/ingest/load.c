/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each worker takes a part at a time and writes its rows to a fragment of its own. The parts of a
 * worker that are read to their end but not committed are its unit: one fragment writer, and the
 * tokens of the parts. A unit is committed, rows and tokens together, when it is large enough, or
 * when nothing is left. What is cut off in the middle of a part loses the unit and nothing else.
 *
 * Locks: `mutex` guards what workers share and is never held while something is read or written;
 * `commit` lets one unit be committed at a time and is taken first.
 */
#include "ingest/load.h"

#include <stdlib.h>

#include "arrow/plain.h"
#include "arrow/producer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "ingest/stage.h"
#include "os/thread.h"
#include "store/store.h"
#include "table/change.h"
#include "table/conform.h"
#include "table/fragment_writer.h"
#include "table/load_note.h"

enum { COMMIT_BYTES_DEFAULT = 256 << 20, UNKNOWN_SHARE = 8, PARALLELISM_MAX = 1024 };

/* A part that is to be read. */
struct todo {
    uint64_t part, token, bytes;
};

struct load;

struct worker {
    struct load *load;
    struct lmn__thread thread;
    struct lmn__arena arena;             /* of the fragments of its unit */
    struct lmn__fragment_writer *writer; /* NULL: the unit is empty */
    struct lmn__conform conform;         /* of the writer's columns; with the writer */
    uint64_t *token;                     /* room for every part */
    uint64_t token_count, bytes, rows;
    uint64_t first_part;               /* of the unit: where its rows go in one commit */
    struct lmn__pb_fragment *fragment; /* one commit: what its rows have become */
    uint64_t fragment_count;
};

struct load {
    struct lmn_table *table; /* a handle of its own */
    struct lmn__manifest *manifest;
    const struct lmn_load_source *source;
    struct lmn_load_options options;
    struct todo *todo;
    uint64_t todo_count;
    const char *begun;       /* see struct lmn__load_note; set with the last commit */
    struct lmn__buf *staged; /* NULL: what is written is committed */
    struct worker *worker;
    uint32_t worker_count;
    struct lmn__mutex mutex, commit;
    struct lmn__cond changed;
    uint64_t parts_committed; /* guarded by commit */
    struct {
        uint64_t next; /* of todo */
        uint32_t running;
        bool stop, news;
        enum lmn_status status;
        struct lmn_error error;
        struct lmn_load_progress progress;
    } locked;
};

static uint64_t token_of(const struct lmn_load_part *part)
{
    uint64_t hash[2] = { lmn__hash64(part->name, strlen(part->name)), part->bytes };

    return lmn__hash64(hash, sizeof hash);
}

/* What is still to be read. */
static enum lmn_status plan(struct load *load, struct lmn_error *err)
{
    const struct lmn_load_source *source = load->source;

    load->todo = lmn__calloc(load->table->env, source->part_count + 1, sizeof *load->todo);
    if (load->todo == NULL)
        return lmn__no_memory(err, "a list of parts", source->part_count * sizeof *load->todo);
    for (uint64_t i = 0; i < source->part_count; i++) {
        struct todo *todo = &load->todo[load->todo_count];
        struct lmn_load_part part;
        enum lmn_status st = source->describe(source->self, i, &part, err);

        if (st != LMN_OK)
            return st;
        *todo = (struct todo){ i, token_of(&part), part.bytes };
        if (!load->options.again && !load->options.one_commit &&
            lmn__load_note_has(load->manifest, todo->token))
            load->locked.progress.parts_before++;
        else
            load->todo_count++;
    }
    load->locked.progress.part_count = source->part_count;
    return LMN_OK;
}

static void fail_load(struct load *load, enum lmn_status st, const struct lmn_error *err)
{
    lmn__mutex_lock(&load->mutex);
    if (load->locked.status == LMN_OK) {
        load->locked.status = st;
        load->locked.error = *err;
    }
    load->locked.stop = true;
    lmn__mutex_unlock(&load->mutex);
}

static bool next_part(struct load *load, struct todo *todo_out)
{
    bool found;

    lmn__mutex_lock(&load->mutex);
    found = !load->locked.stop && load->locked.next < load->todo_count;
    if (found)
        *todo_out = load->todo[load->locked.next++];
    lmn__mutex_unlock(&load->mutex);
    return found;
}

/* Count, wake the caller, and see whether to stop. */
static bool note_progress(struct load *load, uint64_t rows, uint64_t bytes, bool part)
{
    bool stop;

    lmn__mutex_lock(&load->mutex);
    load->locked.progress.rows += rows;
    load->locked.progress.bytes += bytes;
    load->locked.progress.parts_done += part;
    load->locked.news = true;
    stop = load->locked.stop;
    lmn__cond_wake_one(&load->changed);
    lmn__mutex_unlock(&load->mutex);
    return stop;
}

static void unit_drop(struct worker *worker)
{
    if (worker->writer != NULL) {
        lmn__fragment_writer_abort(worker->writer);
        lmn__conform_deinit(&worker->conform);
    }
    worker->writer = NULL;
    worker->token_count = worker->bytes = worker->rows = 0;
}

static enum lmn_status commit_fragments(struct load *load, struct lmn__pb_fragment *fragment,
                                        uint64_t count, const struct lmn__load_note *note,
                                        struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(load->table);
    struct lmn__change change = { .kind = LMN__CHANGE_APPEND,
                                  .read_version = manifest->pb.version,
                                  .known = manifest,
                                  .added = fragment,
                                  .added_count = count,
                                  .message = load->options.write.message,
                                  .unsynced = load->options.write.unsynced,
                                  .note = note };
    bool again;
    enum lmn_status st = lmn__change_commit(load->table, &change, &again, err);

    lmn__manifest_release(manifest);
    if (st != LMN_OK && !change.may_stand)
        lmn__fragments_remove(load->table->store, fragment, count);
    return st;
}

static enum lmn_status unit_commit(struct worker *worker, struct lmn__pb_fragment *fragment,
                                   uint64_t count, struct lmn_error *err)
{
    struct load *load = worker->load;
    struct lmn__load_note note = { .token = worker->token,
                                   .token_count = worker->token_count,
                                   .again = load->options.again };
    enum lmn_status st;

    lmn__mutex_lock(&load->commit);
    if (load->parts_committed + worker->token_count == load->todo_count)
        note.begun = load->begun;
    st = commit_fragments(load, fragment, count, &note, err);
    if (st == LMN_OK)
        load->parts_committed += worker->token_count;
    lmn__mutex_unlock(&load->commit);
    if (st == LMN_OK) {
        lmn__mutex_lock(&load->mutex);
        load->locked.progress.commits++;
        load->locked.progress.rows_committed += worker->rows;
        lmn__mutex_unlock(&load->mutex);
    }
    return st;
}

/* Keep fragments behind those that the worker has, for one commit in the end. */
static enum lmn_status keep_fragments(struct worker *worker, struct lmn__pb_fragment *fragment,
                                      uint64_t count, struct lmn_error *err)
{
    uint64_t before = worker->fragment_count;
    struct lmn__pb_fragment *all = lmn__arena_array(&worker->arena, before + count + 1,
                                                    sizeof *all);

    if (all == NULL) {
        lmn__fragments_remove(worker->load->table->store, fragment, count);
        return lmn__arena_fail(&worker->arena, "a list of fragments", err);
    }
    if (before != 0)
        memcpy(all, worker->fragment, before * sizeof *all);
    if (count != 0)
        memcpy(all + before, fragment, count * sizeof *all);
    worker->fragment = all;
    worker->fragment_count = before + count;
    return LMN_OK;
}

/* Finish the worker's files, and commit them unless all are committed at once. */
static enum lmn_status unit_finish(struct worker *worker, struct lmn_error *err)
{
    struct lmn__pb_fragment *fragment = NULL;
    uint64_t count = 0;
    enum lmn_status st = LMN_OK;

    if (worker->writer != NULL) {
        st = lmn__fragment_writer_finish(worker->writer, &worker->arena, &fragment, &count, err);
        worker->writer = NULL;
        lmn__conform_deinit(&worker->conform);
    }
    if (worker->load->options.one_commit)
        return st == LMN_OK ? keep_fragments(worker, fragment, count, err) : st;
    if (st == LMN_OK && worker->token_count != 0)
        st = unit_commit(worker, fragment, count, err);
    lmn__arena_deinit(&worker->arena);
    lmn__arena_init(&worker->arena, worker->load->table->env, 0);
    worker->token_count = worker->bytes = worker->rows = 0;
    return st;
}

static bool same_columns(const struct lmn__conform *a, const struct lmn__conform *b)
{
    return a->column_count == b->column_count &&
           memcmp(a->column, b->column, a->column_count * sizeof *a->column) == 0;
}

/* Have a writer for rows of this type; *conform_out says how they become the table's. */
static enum lmn_status unit_prepare(struct worker *worker, const struct ArrowSchema *given,
                                    struct lmn__conform *conform_out, struct lmn_error *err)
{
    struct load *load = worker->load;
    struct lmn__manifest *manifest = load->manifest;
    enum lmn_status st = lmn__conform_init(conform_out, load->table->env, &manifest->schema, given,
                                           false, err);

    if (st != LMN_OK)
        return st;
    conform_out->manifest = manifest;
    if (worker->writer != NULL && !same_columns(conform_out, &worker->conform))
        st = unit_finish(worker, err);
    if (st == LMN_OK && worker->writer == NULL) {
        st = lmn__conform_init(&worker->conform, load->table->env, &manifest->schema, given, false,
                               err);
        if (st == LMN_OK) {
            st = lmn__fragment_writer_open(load->table->store, &worker->conform.schema,
                                           &worker->conform.fields, manifest->minor,
                                           &load->options.write, &worker->writer, err);
            if (st != LMN_OK)
                lmn__conform_deinit(&worker->conform);
            else if (load->worker_count > 1)
                lmn__fragment_writer_set_threads(worker->writer, 1);
        }
    }
    if (st != LMN_OK)
        lmn__conform_deinit(conform_out);
    return st;
}

/* What a stream's rows are when views have become strings. */
static enum lmn_status read_schema(struct lmn_env *env, struct ArrowArrayStream *stream,
                                   struct lmn__plain *plain_out, struct lmn_error *err)
{
    struct ArrowSchema given;
    enum lmn_status st = lmn__stream_schema(stream, &given, err);

    *plain_out = (struct lmn__plain){ 0 };
    if (st != LMN_OK)
        return st;
    st = lmn__plain_init(plain_out, env, &given, err);
    given.release(&given);
    return st;
}

static enum lmn_status write_stream(struct worker *worker, struct ArrowArrayStream *stream,
                                    struct lmn_error *err)
{
    struct lmn__plain plain;
    struct lmn__conform conform;
    struct ArrowArray batch, view;
    enum lmn_status st = read_schema(worker->load->table->env, stream, &plain, err);

    if (st == LMN_OK)
        st = unit_prepare(worker, &plain.schema, &conform, err);
    if (st != LMN_OK) {
        lmn__plain_deinit(&plain);
        return st;
    }
    while ((st = lmn__stream_next(stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        uint64_t rows = (uint64_t)batch.length;

        st = lmn__plain_batch(&plain, &batch, err);
        if (st == LMN_OK)
            st = lmn__conform_batch(&conform, &batch, &view, err);
        if (st == LMN_OK)
            st = lmn__conform_check_new(&conform, &view, err);
        if (st == LMN_OK)
            st = lmn__fragment_writer_write(worker->writer, &view, err);
        batch.release(&batch);
        worker->rows += rows;
        if (st == LMN_OK && note_progress(worker->load, rows, 0, false))
            st = lmn_fail(err, LMN_E_CANCELLED, "the load was stopped");
        if (st != LMN_OK)
            break;
    }
    lmn__conform_deinit(&conform);
    lmn__plain_deinit(&plain);
    return st;
}

static enum lmn_status read_part(struct worker *worker, const struct todo *todo,
                                 struct lmn_error *err)
{
    struct load *load = worker->load;
    struct ArrowArrayStream stream;
    enum lmn_status st = load->source->open(load->source->self, todo->part, &stream, err);

    if (st != LMN_OK)
        return st;
    st = write_stream(worker, &stream, err);
    stream.release(&stream);
    if (st != LMN_OK)
        return st;
    if (worker->token_count == 0)
        worker->first_part = todo->part;
    worker->token[worker->token_count++] = todo->token;
    worker->bytes += todo->bytes != 0 ? todo->bytes : load->options.commit_bytes / UNKNOWN_SHARE;
    (void)note_progress(load, 0, todo->bytes, true);
    if (worker->bytes >= load->options.commit_bytes && !load->options.one_commit)
        st = unit_finish(worker, err);
    return st;
}

static void worker_run(void *context)
{
    struct worker *worker = context;
    struct load *load = worker->load;
    struct todo todo;
    struct lmn_error err;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && next_part(load, &todo))
        st = read_part(worker, &todo, &err);
    if (st == LMN_OK)
        st = unit_finish(worker, &err);
    if (st != LMN_OK) {
        fail_load(load, st, &err);
        unit_drop(worker);
    }
    lmn__mutex_lock(&load->mutex);
    load->locked.running--;
    load->locked.news = true;
    lmn__cond_wake_one(&load->changed);
    lmn__mutex_unlock(&load->mutex);
}

/* Tell the caller how far it is, until all workers are done, and then once more. */
static void watch(struct load *load)
{
    struct lmn_load_progress progress;
    bool running = true;

    while (running) {
        lmn__mutex_lock(&load->mutex);
        while (!load->locked.news)
            lmn__cond_wait(&load->changed, &load->mutex);
        load->locked.news = false;
        progress = load->locked.progress;
        running = load->locked.running != 0;
        lmn__mutex_unlock(&load->mutex);
        if (load->options.progress != NULL &&
            !load->options.progress(load->options.progress_self, &progress)) {
            struct lmn_error err;

            fail_load(load, lmn_fail(&err, LMN_E_CANCELLED, "the load was stopped"), &err);
        }
    }
}

static enum lmn_status workers_new(struct load *load, struct lmn_error *err)
{
    struct lmn_env *env = load->table->env;
    uint32_t count = load->options.parallelism != 0 ? load->options.parallelism : env->threads;

    count = (uint32_t)lmn__min_u64(lmn__min_u64(count, PARALLELISM_MAX),
                                   lmn__max_u64(load->todo_count, 1));
    load->worker = lmn__calloc(env, count, sizeof *load->worker);
    if (load->worker == NULL)
        return lmn__no_memory(err, "workers", count * sizeof *load->worker);
    load->worker_count = count;
    for (uint32_t i = 0; i < count; i++) {
        load->worker[i].load = load;
        lmn__arena_init(&load->worker[i].arena, env, 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        load->worker[i].token = lmn__calloc(env, load->todo_count + 1, sizeof(uint64_t));
        if (load->worker[i].token == NULL)
            return lmn__no_memory(err, "a list of parts", load->todo_count * sizeof(uint64_t));
    }
    return LMN_OK;
}

static void workers_free(struct load *load)
{
    struct lmn_env *env = load->table->env;

    for (uint32_t i = 0; i < load->worker_count; i++) {
        lmn__arena_deinit(&load->worker[i].arena);
        lmn__free(env, load->worker[i].token);
    }
    lmn__free(env, load->worker);
}

static enum lmn_status run_workers(struct load *load, struct lmn_error *err)
{
    uint32_t started = 0;
    enum lmn_status st = LMN_OK;

    load->locked.running = load->worker_count;
    for (; started < load->worker_count; started++) {
        struct worker *worker = &load->worker[started];

        st = lmn__thread_start(load->table->env, worker_run, worker, &worker->thread, err);
        if (st != LMN_OK)
            break;
    }
    if (st != LMN_OK) {
        fail_load(load, st, err);
        lmn__mutex_lock(&load->mutex);
        load->locked.running -= load->worker_count - started;
        load->locked.news = true;
        lmn__mutex_unlock(&load->mutex);
    }
    watch(load);
    for (uint32_t i = 0; i < started; i++)
        lmn__thread_join(&load->worker[i].thread);
    /* Who stops a load that is done already has what was asked for first. */
    if (load->locked.status == LMN_E_CANCELLED && load->parts_committed == load->todo_count)
        load->locked.status = LMN_OK;
    if (load->locked.status != LMN_OK)
        *err = load->locked.error;
    return load->locked.status;
}

static int compare_workers(const void *a, const void *b)
{
    const struct worker *x = a, *y = b;

    return x->first_part < y->first_part ? -1 : x->first_part > y->first_part;
}

/* One commit: the fragments of all workers. On failure their files are removed. */
static enum lmn_status commit_all(struct load *load, enum lmn_status st, struct lmn_error *err)
{
    struct lmn__arena arena;
    struct lmn__pb_fragment *all;
    uint64_t count = 0, at = 0;

    qsort(load->worker, load->worker_count, sizeof *load->worker, compare_workers);
    for (uint32_t i = 0; i < load->worker_count; i++)
        count += load->worker[i].fragment_count;
    if (count == 0 && load->staged == NULL)
        return st;
    lmn__arena_init(&arena, load->table->env, 0);
    all = lmn__arena_array(&arena, count + 1, sizeof *all);
    if (all == NULL && st == LMN_OK)
        st = lmn__arena_fail(&arena, "a list of fragments", err);
    for (uint32_t i = 0; i < load->worker_count; i++) {
        const struct worker *worker = &load->worker[i];

        if (worker->fragment_count == 0)
            continue;
        if (st != LMN_OK)
            lmn__fragments_remove(load->table->store, worker->fragment, worker->fragment_count);
        else
            memcpy(all + at, worker->fragment, worker->fragment_count * sizeof *all);
        at += worker->fragment_count;
    }
    if (st == LMN_OK && load->staged != NULL) {
        st = lmn__stage_put(lmn_table_version(load->table), all, count, load->staged, err);
        if (st != LMN_OK)
            lmn__fragments_remove(load->table->store, all, count);
    } else if (st == LMN_OK) {
        struct lmn__load_note note = { .begun = load->begun };

        st = commit_fragments(load, all, count, &note, err);
        load->locked.progress.commits = st == LMN_OK;
        load->locked.progress.rows_committed = st == LMN_OK ? load->locked.progress.rows : 0;
    }
    lmn__arena_deinit(&arena);
    return st;
}

static enum lmn_status load_parts(struct load *load, struct lmn_error *err)
{
    enum lmn_status st = plan(load, err);

    if (st == LMN_OK && load->todo_count != 0)
        st = workers_new(load, err);
    if (st == LMN_OK && load->todo_count != 0) {
        st = run_workers(load, err);
        if (load->options.one_commit)
            st = commit_all(load, st, err);
    } else if (st == LMN_OK && load->begun != NULL) {
        struct lmn__load_note note = { .begun = load->begun };

        st = commit_fragments(load, NULL, 0, &note, err);
    }
    return st;
}

enum lmn_status lmn__load_run(struct lmn_table *table, const struct lmn_load_source *source,
                              const struct lmn_load_options *options, const char *begun,
                              struct lmn__buf *staged, struct lmn_load_progress *result_out,
                              struct lmn_error *err)
{
    struct load load = { .source = source, .begun = begun, .staged = staged };
    bool ready = false;
    enum lmn_status st = lmn_table_open(table->store, NULL, &load.table, err);

    if (st != LMN_OK)
        return st;
    if (options != NULL)
        load.options = *options;
    if (load.options.commit_bytes == 0)
        load.options.commit_bytes = COMMIT_BYTES_DEFAULT;
    load.manifest = lmn__table_manifest(load.table);
    st = lmn__manifest_check_writable(load.manifest, err);
    if (st == LMN_OK)
        st = lmn__mutex_init(&load.mutex, err);
    if (st == LMN_OK) {
        st = lmn__mutex_init(&load.commit, err);
        if (st == LMN_OK) {
            st = lmn__cond_init(&load.changed, err);
            ready = st == LMN_OK;
            if (!ready)
                lmn__mutex_deinit(&load.commit);
        }
        if (!ready)
            lmn__mutex_deinit(&load.mutex);
    }
    if (ready) {
        st = load_parts(&load, err);
        lmn__cond_deinit(&load.changed);
        lmn__mutex_deinit(&load.commit);
        lmn__mutex_deinit(&load.mutex);
    }
    if (result_out != NULL)
        *result_out = load.locked.progress;
    workers_free(&load);
    lmn__free(table->env, load.todo);
    lmn__manifest_release(load.manifest);
    lmn_table_release(load.table);
    /* The commits stand, wherever the handle does. */
    if (lmn_table_refresh(table, st == LMN_OK ? err : NULL) != LMN_OK && st == LMN_OK)
        st = LMN_E_IO;
    return st;
}

enum lmn_status lmn_table_load(struct lmn_table *table, const struct lmn_load_source *source,
                               const struct lmn_load_options *options,
                               struct lmn_load_progress *result_out, struct lmn_error *err)
{
    if (result_out != NULL)
        *result_out = (struct lmn_load_progress){ 0 };
    return lmn__load_run(table, source, options, NULL, NULL, result_out, err);
}
