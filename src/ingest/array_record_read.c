/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as Arrow arrays. A window of the file that holds whole groups is read at once; the footer
 * tells how large each group is when it is decoded, so that threads decode into their places of one
 * array.
 */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow/builder.h"
#include "arrow/gather.h"
#include "arrow/producer.h"
#include "base/error.h"
#include "base/math.h"
#include "ingest/array_record.h"
#include "ingest/crew.h"

enum {
    BATCH_BYTES_DEFAULT = 16 << 20,
    BATCH_GROUPS_MAX = 1 << 20,
    TASK_GROUPS_MAX = 16,
    TASKS_PER_THREAD = 4
};

static const struct lmn__layout binary = { .kind = LMN__LAYOUT_VARIABLE, .bits = 64 };
static const struct lmn__layout *const binaries[] = { &binary };
static const struct lmn__layout row = { .kind = LMN__LAYOUT_STRUCT,
                                        .child_count = 1,
                                        .child = binaries };

/* Groups that are decoded together, and where to. */
struct decoding {
    const struct lmn_array_record *record;
    struct lmn__group_scratch *scratch; /* one per thread */
    struct lmn__riegeli_window window;
    uint64_t first_group, group_count, first_record;
    uint64_t task_groups; /* a few, so that small ones do not cost a turn each */
    uint64_t *place;      /* of the values of each group */
    uint8_t *values;
    uint64_t *ends;
    uint64_t base;
};

struct reader {
    struct lmn__producer producer;   /* first */
    struct lmn_array_record *record; /* counted */
    char *column;
    uint64_t batch_bytes_max, next_group;
    uint32_t threads;
    struct lmn__group_scratch *scratch;
    struct lmn_array_record_read_options options; /* how a group that cannot be read is told of */
};

static enum lmn_status decode_some(void *context, uint32_t worker, uint64_t item,
                                   struct lmn_error *err)
{
    struct decoding *d = context;
    uint64_t end = lmn__min_u64((item + 1) * d->task_groups, d->group_count);
    enum lmn_status st = LMN_OK;

    for (uint64_t i = item * d->task_groups; st == LMN_OK && i < end; i++) {
        const struct lmn__group *group = &d->record->group[d->first_group + i];

        st = lmn__group_decode(&d->scratch[worker], &d->window, group->begin, group->count,
                               group->decoded_bytes, d->values + d->place[i], d->base + d->place[i],
                               d->ends + (group->first - d->first_record), err);
    }
    return st;
}

/* Decode `count` groups from `first` on, which are in the window, behind what `builder` holds. */
static enum lmn_status decode_groups(struct reader *reader, uint64_t first, uint64_t count,
                                     struct lmn__riegeli_window window,
                                     struct lmn__builder *builder, struct lmn_error *err)
{
    const struct lmn_array_record *record = reader->record;
    const struct lmn__group *group = &record->group[first];
    struct decoding d = { .record = record,
                          .scratch = reader->scratch,
                          .window = window,
                          .first_group = first,
                          .group_count = count,
                          .first_record = group->first };
    uint64_t bytes = 0, records = 0;
    uint8_t *offsets;
    enum lmn_status st;

    d.place = lmn__alloc(record->env, count * sizeof *d.place);
    if (d.place == NULL)
        return lmn__no_memory(err, "a list of groups", count * sizeof *d.place);
    for (uint64_t i = 0; i < count; i++) {
        d.place[i] = bytes;
        records += group[i].count;
        if (!lmn__add_u64(bytes, group[i].decoded_bytes, &bytes)) {
            lmn__free(record->env, d.place);
            return lmn__no_memory(err, "records", UINT64_MAX);
        }
    }
    st = lmn__builder_extend_variable(builder, records, bytes, &offsets, &d.values, &d.base, err);
    d.ends = (uint64_t *)(void *)offsets;
    d.task_groups = lmn__min_u64(count / (TASKS_PER_THREAD * (uint64_t)reader->threads),
                                 TASK_GROUPS_MAX);
    d.task_groups = lmn__max_u64(d.task_groups, 1);
    if (st == LMN_OK)
        st = lmn__crew_run(record->env, reader->threads, lmn__div_up(count, d.task_groups),
                           decode_some, &d, err);
    if (st == LMN_OK)
        st = lmn__builder_add_valid(builder, records, err);
    lmn__free(record->env, d.place);
    return st;
}

/* Read groups [first, first + count) of the file and decode them. */
static enum lmn_status read_groups(struct reader *reader, uint64_t first, uint64_t count,
                                   struct lmn__builder *builder, struct lmn_error *err)
{
    const struct lmn_array_record *record = reader->record;
    struct lmn__riegeli_window window = { .begin = record->group[first].begin };
    size_t len = record->group[first + count - 1].end - window.begin;
    struct lmn__block *block;
    enum lmn_status st = lmn__block_new(record->env->pool, len, &block, err);

    if (st != LMN_OK)
        return st;
    window.bytes = (struct lmn__span){ block->data, len };
    st = lmn__file_read_at(&record->file, record->path, window.begin, block->data, len, err);
    if (st == LMN_OK)
        st = decode_groups(reader, first, count, window, builder, err);
    lmn__block_release(block);
    return st != LMN_OK ? lmn__fail_within(err, st, "%.200s", record->path) : st;
}

/* How many groups from `first` on make a batch. */
static uint64_t count_groups(const struct reader *reader, uint64_t first)
{
    const struct lmn_array_record *record = reader->record;
    uint64_t bytes = 0, count = 0;

    while (first + count < record->group_count && count < BATCH_GROUPS_MAX) {
        const struct lmn__group *group = &record->group[first + count];

        if (!lmn__add_u64(bytes, lmn__max_u64(group->decoded_bytes, group->end - group->begin),
                          &bytes) ||
            (count != 0 && bytes > reader->batch_bytes_max))
            break;
        count++;
    }
    return count;
}

/* Does the way a problem is handled allow to go on after this status? */
static bool goes_on(const struct reader *reader, enum lmn_status st)
{
    return reader->options.bad != LMN_BAD_FAIL &&
           (st == LMN_E_CORRUPT || st == LMN_E_UNSUPPORTED || st == LMN_E_IO);
}

static void report(const struct reader *reader, const struct lmn__group *group,
                   const struct lmn_error *err)
{
    char key[64];
    struct lmn_problem problem = { .part = reader->record->path,
                                   .offset = group->begin,
                                   .key = key,
                                   .field = "",
                                   .message = err->message };

    snprintf(key, sizeof key, "%llu to %llu", (unsigned long long)group->first,
             (unsigned long long)(group->first + group->count - 1));
    if (reader->options.report != NULL)
        reader->options.report(reader->options.report_self, &problem);
}

/* Groups of which some cannot be read: each is tried apart, and taken if it decodes. */
static enum lmn_status read_readable(struct reader *reader, uint64_t first, uint64_t count,
                                     struct lmn__builder *builder, struct lmn_error *err)
{
    const struct lmn_array_record *record = reader->record;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = first; st == LMN_OK && i < first + count; i++) {
        struct lmn__builder trial;
        struct lmn_error local;

        st = lmn__builder_init(&trial, record->env, &binary, err);
        if (st != LMN_OK)
            return st;
        st = read_groups(reader, i, 1, &trial, &local);
        lmn__builder_deinit(&trial);
        if (st == LMN_OK) {
            st = read_groups(reader, i, 1, builder, err);
        } else if (goes_on(reader, st)) {
            report(reader, &record->group[i], &local);
            st = LMN_OK;
        } else if (err != NULL) {
            *err = local;
        }
    }
    return st;
}

/* The next groups that make a batch; no rows when none of them can be read. */
static enum lmn_status next_groups(struct reader *reader, uint64_t count,
                                   struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn_env *env = reader->record->env;
    struct lmn__builder builder;
    enum lmn_status st = lmn__builder_init(&builder, env, &row, err);

    if (st != LMN_OK)
        return st;
    st = read_groups(reader, reader->next_group, count, &builder.child[0], err);
    if (goes_on(reader, st)) {
        lmn__builder_deinit(&builder);
        st = lmn__builder_init(&builder, env, &row, err);
        if (st != LMN_OK)
            return st;
        st = read_readable(reader, reader->next_group, count, &builder.child[0], err);
    }
    if (st == LMN_OK)
        st = lmn__builder_add_valid(&builder, builder.child[0].length, err);
    if (st == LMN_OK)
        st = lmn__builder_check(&builder, builder.length, err);
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__builder_deinit(&builder);
    return st;
}

static enum lmn_status reader_next(struct lmn__producer *producer, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    struct reader *reader = (struct reader *)producer;
    uint64_t count;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && (count = count_groups(reader, reader->next_group)) != 0) {
        st = next_groups(reader, count, array_out, err);
        reader->next_group += count;
        if (st != LMN_OK || array_out->length != 0)
            return st;
        array_out->release(array_out);
    }
    return st;
}

static enum lmn_status reader_schema(struct lmn__producer *producer, struct ArrowSchema *schema_out,
                                     struct lmn_error *err)
{
    struct reader *reader = (struct reader *)producer;

    ArrowSchemaInit(schema_out);
    if (ArrowSchemaSetTypeStruct(schema_out, 1) == NANOARROW_OK &&
        ArrowSchemaSetName(schema_out, "") == NANOARROW_OK &&
        ArrowSchemaSetType(schema_out->children[0], NANOARROW_TYPE_LARGE_BINARY) == NANOARROW_OK &&
        ArrowSchemaSetName(schema_out->children[0], reader->column) == NANOARROW_OK)
        return LMN_OK;
    ArrowSchemaRelease(schema_out);
    return lmn__no_memory(err, "a schema", 0);
}

static void reader_free(struct lmn__producer *producer)
{
    struct reader *reader = (struct reader *)producer;
    struct lmn_array_record *record = reader->record;

    for (uint32_t i = 0; reader->scratch != NULL && i < reader->threads; i++)
        lmn__group_scratch_deinit(&reader->scratch[i]);
    if (reader->options.report_free != NULL)
        reader->options.report_free(reader->options.report_self);
    lmn__free(record->env, reader->scratch);
    lmn__free(record->env, reader->column);
    lmn__free(record->env, reader);
    lmn__array_record_release(record);
}

static enum lmn_status reader_new(struct lmn_array_record *record,
                                  const struct lmn_array_record_read_options *options,
                                  struct reader **reader_out, struct lmn_error *err)
{
    static const struct lmn_array_record_read_options defaults;
    struct lmn_env *env = record->env;
    struct reader *reader = lmn__calloc(env, 1, sizeof *reader);
    const char *column;

    *reader_out = reader;
    if (reader == NULL)
        return lmn__no_memory(err, "a reader", sizeof *reader);
    if (options == NULL)
        options = &defaults;
    column = options->column != NULL ? options->column : "record";
    atomic_fetch_add(&record->reference_count, 1);
    reader->record = record;
    reader->threads = options->parallelism != 0 ? options->parallelism : env->threads;
    reader->threads = reader->threads < 64 ? reader->threads : 64;
    reader->batch_bytes_max = options->batch_bytes_max != 0 ? options->batch_bytes_max
                                                            : BATCH_BYTES_DEFAULT;
    reader->column = lmn__strndup(env, column, strlen(column));
    reader->scratch = lmn__calloc(env, reader->threads, sizeof *reader->scratch);
    for (uint32_t i = 0; reader->scratch != NULL && i < reader->threads; i++)
        lmn__group_scratch_init(&reader->scratch[i], env);
    if (reader->column != NULL && reader->scratch != NULL)
        return LMN_OK;
    reader_free(&reader->producer);
    *reader_out = NULL;
    return lmn__no_memory(err, "a reader", 0);
}

enum lmn_status lmn_array_record_stream(struct lmn_array_record *record,
                                        const struct lmn_array_record_read_options *options,
                                        struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn__producer_ops ops = { reader_schema, reader_next, reader_free };
    struct reader *reader;
    enum lmn_status st = reader_new(record, options, &reader, err);

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (st != LMN_OK)
        return st;
    if (options != NULL)
        reader->options = *options;
    lmn__producer_export(&reader->producer, &ops, stream_out);
    return LMN_OK;
}

/* The group that holds a record. */
static uint64_t find_group(const struct lmn_array_record *record, uint64_t number)
{
    uint64_t low = 0, high = record->group_count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (record->group[middle].first <= number)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Append one record; `decoded` holds group *held, which another replaces when it is needed. */
static enum lmn_status take_one(struct reader *reader, uint64_t number,
                                struct lmn__builder *decoded, uint64_t *held,
                                struct lmn__builder *out, struct lmn_error *err)
{
    const struct lmn_array_record *record = reader->record;
    uint64_t group = find_group(record, number), slot, start, end, base;
    uint8_t *offset, *data;
    enum lmn_status st = LMN_OK;

    if (group != *held) {
        lmn__builder_deinit(decoded);
        *held = UINT64_MAX;
        st = lmn__builder_init(decoded, record->env, &binary, err);
        if (st == LMN_OK)
            st = read_groups(reader, group, 1, decoded, err);
    }
    if (st != LMN_OK)
        return st;
    *held = group;
    slot = number - record->group[group].first;
    start = lmn__load_u64(decoded->offsets.data + slot * 8);
    end = lmn__load_u64(decoded->offsets.data + slot * 8 + 8);
    st = lmn__builder_extend_variable(out, 1, end - start, &offset, &data, &base, err);
    if (st != LMN_OK)
        return st;
    if (end != start)
        memcpy(data, decoded->values.data + start, end - start);
    lmn__store_u64(offset, base + (end - start));
    return lmn__builder_add_valid(out, 1, err);
}

enum lmn_status lmn_array_record_take(struct lmn_array_record *record, const uint64_t *number,
                                      uint64_t count,
                                      const struct lmn_array_record_read_options *options,
                                      struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn__builder out, decoded = { 0 };
    struct reader *reader;
    uint64_t held = UINT64_MAX;
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    for (uint64_t i = 0; i < count; i++) {
        if (number[i] >= record->record_count)
            return lmn_fail(err, LMN_E_INVALID, "%.200s: record %llu of %llu", record->path,
                            (unsigned long long)number[i],
                            (unsigned long long)record->record_count);
    }
    st = reader_new(record, options, &reader, err);
    if (st != LMN_OK)
        return st;
    st = lmn__builder_init(&out, record->env, &binary, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++)
        st = take_one(reader, number[i], &decoded, &held, &out, err);
    if (st == LMN_OK)
        st = lmn__builder_check(&out, count, err);
    if (st == LMN_OK)
        st = lmn__builder_finish(&out, array_out, err);
    lmn__builder_deinit(&out);
    lmn__builder_deinit(&decoded);
    reader_free(&reader->producer);
    return st;
}
