/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups of one batch are encoded by several threads and written in order: a thread that has
 * finished the group whose turn it is writes it, and those behind it that are done, while the
 * others encode. Records at the end of a batch that do not fill a group are kept until the next
 * one.
 *
 *   signature | groups | footer | padding to a block's end | postscript in the last block | padding
 */
#include <stdio.h>

#include "arrow/layout.h"
#include "arrow/producer.h"
#include "arrow/view.h"
#include "base/error.h"
#include "base/math.h"
#include "ingest/array_record.h"
#include "ingest/array_record_encode.h"
#include "ingest/crew.h"
#include "ingest/highway.h"
#include "ingest/record_options.h"
#include "os/random.h"
#include "os/thread.h"

enum {
    FLUSH_BYTES = 4 << 20,
    RESERVE_BYTES = 64 << 20,
    POSTSCRIPT_COPIES = 3,
    PATH_BYTES = 4096,
    TASK_GROUPS_MAX = 16,
    TASKS_PER_THREAD = 4,
    SLICE_GROUPS = 1024,
    SLICE_BYTES = 16 << 20
};

struct writer {
    struct lmn_env *env;
    struct lmn__arena arena; /* of the layout */
    const struct lmn__layout *layout;
    int64_t column;
    struct lmn__record_options options;
    uint32_t threads;
    struct lmn__group_bench *bench;
    struct lmn__encoded_group *encoded; /* SLICE_GROUPS of them */
    struct lmn__file file;
    char draft[PATH_BYTES]; /* the file's name while it is written */
    struct lmn__pieces out; /* bytes behind `position`; they refer to groups */
    uint64_t position;
    uint64_t reserved;                 /* up to where the file has room */
    struct lmn__buf carry, carry_ends; /* records of a group that is not full */
    uint64_t carry_count;
    struct lmn__buf groups; /* struct lmn__pb_group, for the footer */
    uint64_t record_count;
    uint64_t footer; /* where it begins */
};

/* Groups of one batch that are in memory together, a few of them a task. */
struct slice {
    struct writer *writer;
    const struct ArrowArray *array;
    uint64_t first; /* row of the array that the first of these groups begins with */
    uint64_t group_count, task_groups, task_count;
    struct lmn__mutex mutex;
    struct {
        bool done[SLICE_GROUPS]; /* tasks that are encoded */
        uint64_t next;           /* the task to be written next */
        bool writing;            /* a thread does, or has failed to */
    } locked;
};

static enum lmn_status flush(struct writer *writer, struct lmn_error *err)
{
    uint64_t begin = writer->position;

    writer->position += writer->out.bytes;
    /* Room found piece by piece, while bytes come, costs a quarter of the time of writing. */
    if (writer->out.bytes >= FLUSH_BYTES && writer->position > writer->reserved) {
        lmn__file_reserve(&writer->file, begin, RESERVE_BYTES);
        writer->reserved = begin + RESERVE_BYTES;
    }
    return lmn__pieces_write(&writer->out, &writer->file, writer->draft, begin, err);
}

static uint64_t end_of(const struct writer *writer)
{
    return writer->position + writer->out.bytes;
}

/* Append a chunk of records to the file. */
static enum lmn_status put_chunk(struct writer *writer, const struct lmn__encoded_group *encoded,
                                 struct lmn_error *err)
{
    struct lmn__chunk chunk = { .kind = LMN__CHUNK_RECORDS,
                                .record_count = encoded->record_count,
                                .decoded_bytes = encoded->decoded_bytes,
                                .data_hash = encoded->hash };
    struct lmn__span data[] = { { encoded->head.data, encoded->head.len }, encoded->values };

    lmn__chunk_write(&chunk, end_of(writer), data, 2, &writer->out);
    if (writer->options.pads)
        lmn__chunk_pad(end_of(writer), &writer->out);
    return writer->out.bytes >= FLUSH_BYTES ? flush(writer, err) : LMN_OK;
}

static enum lmn_status put_group(struct writer *writer, const struct lmn__encoded_group *encoded,
                                 struct lmn_error *err)
{
    struct lmn__pb_group group = { end_of(writer), encoded->decoded_bytes, encoded->record_count };

    lmn__buf_put(&writer->groups, &group, sizeof group);
    writer->record_count += encoded->record_count;
    if (writer->groups.failed)
        return lmn__buf_status(&writer->groups, "a footer", err);
    return put_chunk(writer, encoded, err);
}

/* Write the records that were kept as a group of their own. */
static enum lmn_status put_carry(struct writer *writer, struct lmn_error *err)
{
    struct lmn__encoded_group encoded;
    enum lmn_status st;

    if (writer->carry_count == 0)
        return LMN_OK;
    lmn__encoded_group_init(&encoded, writer->env);
    st = lmn__group_encode(&writer->bench[0], writer->options.codec, writer->options.level,
                           (struct lmn__span){ writer->carry_ends.data, writer->carry_ends.len },
                           (struct lmn__span){ writer->carry.data, writer->carry.len },
                           writer->carry_count, &encoded, err);
    if (st == LMN_OK)
        st = put_group(writer, &encoded, err);
    if (st == LMN_OK)
        st = flush(writer, err);
    lmn__encoded_group_deinit(&encoded);
    lmn__buf_reset(&writer->carry);
    lmn__buf_reset(&writer->carry_ends);
    writer->carry_count = 0;
    return st;
}

/* Keep rows for a group that more rows will fill; it is written when it is full. */
static enum lmn_status keep(struct writer *writer, const struct ArrowArray *array, uint64_t first,
                            uint64_t count, struct lmn_error *err)
{
    for (uint64_t i = first; i < first + count; i++) {
        struct lmn__span value = lmn__view_bytes(writer->layout, array, i);

        lmn__buf_put(&writer->carry, value.data, value.len);
        lmn__pb_put_varint(&writer->carry_ends, value.len);
    }
    writer->carry_count += count;
    if (writer->carry.failed || writer->carry_ends.failed)
        return lmn__no_memory(err, "records", writer->carry.len);
    return writer->carry_count == writer->options.group_size ? put_carry(writer, err) : LMN_OK;
}

/* The group behind the last one of a task. */
static uint64_t task_end(const struct slice *slice, uint64_t task)
{
    return lmn__min_u64((task + 1) * slice->task_groups, slice->group_count);
}

static enum lmn_status encode_task(struct slice *slice, uint32_t worker, uint64_t task,
                                   struct lmn_error *err)
{
    struct writer *writer = slice->writer;
    uint64_t size = writer->options.group_size, end = task_end(slice, task);
    enum lmn_status st = LMN_OK;

    for (uint64_t i = task * slice->task_groups; st == LMN_OK && i < end; i++)
        st = lmn__group_encode_rows(&writer->bench[worker], writer->options.codec,
                                    writer->options.level, writer->layout, slice->array,
                                    slice->first + i * size, size, &writer->encoded[i], err);
    return st;
}

static enum lmn_status write_tasks(struct slice *slice, uint64_t task, uint64_t count,
                                   struct lmn_error *err)
{
    uint64_t end = task_end(slice, task + count - 1);
    enum lmn_status st = LMN_OK;

    for (uint64_t i = task * slice->task_groups; st == LMN_OK && i < end; i++)
        st = put_group(slice->writer, &slice->writer->encoded[i], err);
    return st;
}

/* Encode a task; then write what is next in order and done, unless another thread is at it. */
static enum lmn_status do_task(void *context, uint32_t worker, uint64_t task, struct lmn_error *err)
{
    struct slice *slice = context;
    enum lmn_status st = encode_task(slice, worker, task, err);

    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&slice->mutex);
    slice->locked.done[task] = true;
    while (st == LMN_OK && !slice->locked.writing && slice->locked.next < slice->task_count &&
           slice->locked.done[slice->locked.next]) {
        uint64_t next = slice->locked.next, count = 1;

        while (next + count < slice->task_count && slice->locked.done[next + count])
            count++;
        slice->locked.writing = true;
        lmn__mutex_unlock(&slice->mutex);
        st = write_tasks(slice, next, count, err);
        lmn__mutex_lock(&slice->mutex);
        slice->locked.writing = st != LMN_OK;
        slice->locked.next = next + count;
    }
    lmn__mutex_unlock(&slice->mutex);
    return st;
}

/* Encode and write `count` groups; their memory is used again by the next ones. */
static enum lmn_status put_slice(struct writer *writer, const struct ArrowArray *array,
                                 uint64_t first, uint64_t count, struct lmn_error *err)
{
    struct slice slice = { .writer = writer, .array = array, .first = first, .group_count = count };
    enum lmn_status st = lmn__mutex_init(&slice.mutex, err);

    if (st != LMN_OK)
        return st;
    slice.task_groups = lmn__min_u64(count / (TASKS_PER_THREAD * (uint64_t)writer->threads),
                                     TASK_GROUPS_MAX);
    slice.task_groups = lmn__max_u64(slice.task_groups, 1);
    slice.task_count = lmn__div_up(count, slice.task_groups);
    st = lmn__crew_run(writer->env, writer->threads, slice.task_count, do_task, &slice, err);
    lmn__mutex_deinit(&slice.mutex);
    return st == LMN_OK ? flush(writer, err) : st;
}

/* How many of `count` groups are in memory together. */
static uint64_t slice_groups(const struct writer *writer, const struct ArrowArray *array,
                             uint64_t first, uint64_t count)
{
    uint64_t bytes = 0, groups = 0;

    while (groups < count && groups < SLICE_GROUPS && bytes < SLICE_BYTES) {
        bytes += lmn__view_range_bytes(writer->layout, array,
                                       first + groups * writer->options.group_size,
                                       writer->options.group_size);
        groups++;
    }
    return groups;
}

static enum lmn_status put_groups(struct writer *writer, const struct ArrowArray *array,
                                  uint64_t first, uint64_t count, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && count != 0) {
        uint64_t slice = slice_groups(writer, array, first, count);

        st = put_slice(writer, array, first, slice, err);
        first += slice * writer->options.group_size;
        count -= slice;
    }
    return st;
}

static enum lmn_status write_batch(struct writer *writer, const struct ArrowArray *rows,
                                   struct lmn_error *err)
{
    const struct ArrowArray *array = rows->children[writer->column];
    uint64_t at = (uint64_t)rows->offset, end = at + (uint64_t)rows->length, fill, whole;
    uint64_t size = writer->options.group_size;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = at; array->null_count != 0 && i < end; i++) {
        if (lmn__view_is_null(array, i))
            return lmn_fail(
                err, LMN_E_INVALID, "record %llu is null",
                (unsigned long long)(writer->record_count + writer->carry_count + i - at));
    }
    fill = writer->carry_count != 0 ? lmn__min_u64(size - writer->carry_count, end - at) : 0;
    if (fill != 0)
        st = keep(writer, array, at, fill, err);
    at += fill;
    whole = (end - at) / size;
    if (st == LMN_OK)
        st = put_groups(writer, array, at, whole, err);
    at += whole * size;
    if (st == LMN_OK && at < end)
        st = keep(writer, array, at, end - at, err);
    return st;
}

/* A chunk of messages. `each` appends message i to a buffer. */
static enum lmn_status put_messages(struct writer *writer, uint64_t count,
                                    enum lmn__record_codec codec,
                                    void (*each)(const struct writer *writer, uint64_t i,
                                                 struct lmn__buf *out),
                                    struct lmn_error *err)
{
    struct lmn__group_bench *bench = &writer->bench[0];
    struct lmn__encoded_group encoded;
    enum lmn_status st;

    lmn__encoded_group_init(&encoded, writer->env);
    lmn__buf_reset(&bench->sizes);
    lmn__buf_reset(&bench->values);
    for (uint64_t i = 0; i < count; i++) {
        size_t before = bench->values.len;

        each(writer, i, &bench->values);
        lmn__pb_put_varint(&bench->sizes, bench->values.len - before);
    }
    bench->sizes.failed |= bench->values.failed;
    st = lmn__buf_status(&bench->sizes, "a footer", err);
    if (st == LMN_OK)
        st = lmn__group_encode(bench, codec, writer->options.level,
                               (struct lmn__span){ bench->sizes.data, bench->sizes.len },
                               (struct lmn__span){ bench->values.data, bench->values.len }, count,
                               &encoded, err);
    if (st == LMN_OK)
        st = put_chunk(writer, &encoded, err);
    if (st == LMN_OK)
        st = flush(writer, err);
    lmn__encoded_group_deinit(&encoded);
    return st;
}

static void footer_message(const struct writer *writer, uint64_t i, struct lmn__buf *out)
{
    struct lmn__pb_record_metadata metadata = { .version = 1,
                                                .group_count = writer->groups.len /
                                                               sizeof(struct lmn__pb_group),
                                                .record_count = writer->record_count };
    struct lmn__pb_footer_metadata footer = { &metadata };
    struct lmn__pb_group group;
    char text[256];

    if (i == 0) {
        lmn__record_options_text(&writer->options, text, sizeof text);
        metadata.options = (struct lmn__span){ (const uint8_t *)text, strlen(text) };
        lmn__pb_encode(&lmn__pb_footer_metadata_message, &footer, out);
        return;
    }
    memcpy(&group, writer->groups.data + (i - 1) * sizeof group, sizeof group);
    lmn__pb_encode(&lmn__pb_group_message, &group, out);
}

static void postscript_message(const struct writer *writer, uint64_t i, struct lmn__buf *out)
{
    struct lmn__pb_postscript postscript = { writer->footer, LMN__POSTSCRIPT_MAGIC };

    (void)i;
    lmn__pb_encode(&lmn__pb_postscript_message, &postscript, out);
}

static enum lmn_status put_end(struct writer *writer, struct lmn_error *err)
{
    uint64_t count;
    enum lmn_status st = put_carry(writer, err);

    if (st != LMN_OK)
        return st;
    writer->options.pads = false;
    writer->footer = end_of(writer);
    count = writer->groups.len / sizeof(struct lmn__pb_group);
    st = put_messages(writer, count + 1, writer->options.codec, footer_message, err);
    if (st != LMN_OK)
        return st;
    lmn__chunk_pad(end_of(writer), &writer->out);
    st = put_messages(writer, POSTSCRIPT_COPIES, LMN__RECORD_PLAIN, postscript_message, err);
    if (st != LMN_OK)
        return st;
    lmn__chunk_pad(end_of(writer), &writer->out);
    return flush(writer, err);
}

static void put_signature(struct writer *writer)
{
    struct lmn__chunk chunk = { .kind = LMN__CHUNK_SIGNATURE,
                                .data_hash = lmn__highway_hash("", 0) };

    lmn__chunk_write(&chunk, 0, NULL, 0, &writer->out);
}

/* The column of bytes that is asked for, or the only one there is. */
static enum lmn_status find_column(struct writer *writer, const struct ArrowSchema *schema,
                                   const char *name, struct lmn_error *err)
{
    const struct lmn__layout *layout;
    enum lmn_status st = lmn__layout_from_schema(schema, &writer->arena, &layout, err);

    if (st != LMN_OK)
        return st;
    writer->column = -1;
    for (int64_t i = 0; i < schema->n_children; i++) {
        bool bytes = layout->child[i]->kind == LMN__LAYOUT_VARIABLE;

        if (name != NULL ? strcmp(schema->children[i]->name, name) != 0 : !bytes)
            continue;
        if (!bytes)
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" holds no bytes", name);
        if (writer->column >= 0)
            return lmn_fail(err, LMN_E_INVALID, "columns \"%.100s\" and \"%.100s\": name one",
                            schema->children[writer->column]->name, schema->children[i]->name);
        writer->column = i;
        writer->layout = layout->child[i];
    }
    if (writer->column < 0)
        return lmn_fail(err, LMN_E_INVALID, "there is no column %s%.100s%s",
                        name != NULL ? "\"" : "of bytes", name != NULL ? name : "",
                        name != NULL ? "\"" : "");
    return LMN_OK;
}

static enum lmn_status write_all(struct writer *writer, struct ArrowArrayStream *stream,
                                 const char *column, struct lmn_error *err)
{
    struct ArrowSchema schema;
    struct ArrowArray batch;
    enum lmn_status st = lmn__stream_schema(stream, &schema, err);

    if (st != LMN_OK)
        return st;
    st = find_column(writer, &schema, column, err);
    schema.release(&schema);
    if (st == LMN_OK)
        put_signature(writer);
    while (st == LMN_OK) {
        st = lmn__stream_next(stream, &batch, err);
        if (st != LMN_OK || batch.release == NULL)
            break;
        st = write_batch(writer, &batch, err);
        batch.release(&batch);
    }
    return st == LMN_OK ? put_end(writer, err) : st;
}

static enum lmn_status writer_init(struct writer *writer, struct lmn_env *env, const char *path,
                                   const char *options, struct lmn_error *err)
{
    char token[LMN__TOKEN_CHARS];
    enum lmn_status st = lmn__record_options_read(options, &writer->options, err);

    writer->env = env;
    writer->file.fd = -1;
    lmn__arena_init(&writer->arena, env, 0);
    lmn__pieces_init(&writer->out, env);
    lmn__buf_init(&writer->carry, env, 0);
    lmn__buf_init(&writer->carry_ends, env, 0);
    lmn__buf_init(&writer->groups, env, 0);
    if (st != LMN_OK)
        return st;
    writer->threads = writer->options.parallelism != 0 ? writer->options.parallelism : env->threads;
    writer->threads = writer->threads < 64 ? writer->threads : 64;
    writer->bench = lmn__calloc(env, writer->threads, sizeof *writer->bench);
    writer->encoded = lmn__calloc(env, SLICE_GROUPS, sizeof *writer->encoded);
    if (writer->bench == NULL || writer->encoded == NULL)
        return lmn__no_memory(err, "a writer", 0);
    for (uint32_t i = 0; i < writer->threads; i++)
        lmn__group_bench_init(&writer->bench[i], env);
    for (uint32_t i = 0; i < SLICE_GROUPS; i++)
        lmn__encoded_group_init(&writer->encoded[i], env);
    st = lmn__random_token(token, err);
    if (st == LMN_OK && snprintf(writer->draft, sizeof writer->draft, "%s.%s.tmp", path, token) >=
                            (int)sizeof writer->draft)
        st = lmn_fail(err, LMN_E_INVALID, "the path is too long: %.100s...", path);
    return st == LMN_OK ? lmn__file_open(writer->draft, LMN__FILE_CREATE, &writer->file, err) : st;
}

static void writer_deinit(struct writer *writer)
{
    if (writer->file.fd >= 0)
        lmn__file_close(&writer->file);
    for (uint32_t i = 0; writer->encoded != NULL && i < SLICE_GROUPS; i++)
        lmn__encoded_group_deinit(&writer->encoded[i]);
    for (uint32_t i = 0; writer->bench != NULL && i < writer->threads; i++)
        lmn__group_bench_deinit(&writer->bench[i]);
    lmn__free(writer->env, writer->bench);
    lmn__free(writer->env, writer->encoded);
    lmn__pieces_deinit(&writer->out);
    lmn__buf_deinit(&writer->carry);
    lmn__buf_deinit(&writer->carry_ends);
    lmn__buf_deinit(&writer->groups);
    lmn__arena_deinit(&writer->arena);
}

enum lmn_status lmn_array_record_write(struct lmn_env *env, const char *path,
                                       struct ArrowArrayStream *stream,
                                       const struct lmn_array_record_write_options *options,
                                       uint64_t *count_out, struct lmn_error *err)
{
    static const struct lmn_array_record_write_options defaults;
    struct writer writer = { 0 };
    enum lmn_status st = lmn__env_resolve(env, &env, err);
    bool made;

    if (count_out != NULL)
        *count_out = 0;
    if (st != LMN_OK)
        return st;
    if (options == NULL)
        options = &defaults;
    st = writer_init(&writer, env, path, options->options, err);
    made = st == LMN_OK;
    if (st == LMN_OK)
        st = write_all(&writer, stream, options->column, err);
    if (writer.reserved > writer.position)
        lmn__file_trim(&writer.file);
    if (st == LMN_OK && !options->unsynced)
        st = lmn__file_sync(&writer.file, writer.draft, err);
    if (st == LMN_OK)
        st = lmn__file_rename(writer.draft, path, err);
    if (st != LMN_OK && made)
        (void)!lmn__file_remove(writer.draft, NULL);
    if (st == LMN_OK && count_out != NULL)
        *count_out = writer.record_count;
    writer_deinit(&writer);
    lmn_env_release(env);
    return st != LMN_OK ? lmn__fail_within(err, st, "%.200s", path) : st;
}
