/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By key, the stream is read first and its keys are indexed; every attempt looks the table's up. By
 * position it is read along with the table's rows, once: an attempt that is made again has the
 * files of the fragments it has seen, and conflicts when there are others.
 */
#include <leman/table_columns.h>

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "arrow/schema.h"
#include "base/error.h"
#include "base/math.h"
#include "table/fill.h"
#include "table/join_source.h"
#include "table/key_index.h"
#include "table/old_version.h"
#include "table/spool.h"
#include "table/table_fields.h"

/* What lmn_table_join_columns() was asked for, with what is kept from attempt to attempt. */
struct join {
    struct lmn_table *table;
    struct lmn_env *env;
    const char *const *on;
    uint32_t on_count;
    struct lmn__join_source source;
    struct lmn__fill fill;
    uint32_t attempts;

    /* by key */
    struct lmn__spool spool;
    struct lmn__key_index *index;
    struct ArrowArray null_row; /* of all children of the stream */

    /* by position */
    struct ArrowArray *batch; /* that rows are taken from */
    uint64_t *first;          /* number of the first row of each */
    uint64_t batch_count, batch_room;
    uint64_t row_count; /* of the stream, so far */
    uint64_t taken;     /* of them */
    bool over;          /* the stream is at its end */
};

static enum lmn_status add_room(struct join *join, struct lmn_error *err)
{
    uint64_t room = lmn__max_u64(join->batch_room * 2, 16);
    struct ArrowArray *batch;
    uint64_t *first;

    if (join->batch_count < join->batch_room)
        return LMN_OK;
    batch = lmn__realloc(join->env, join->batch, room * sizeof *batch);
    if (batch != NULL)
        join->batch = batch;
    first = lmn__realloc(join->env, join->first, room * sizeof *first);
    if (first != NULL)
        join->first = first;
    if (batch == NULL || first == NULL)
        return lmn__no_memory(err, "a list of batches", room * sizeof *batch);
    join->batch_room = room;
    return LMN_OK;
}

/* Read one more batch with rows; join->over at the end. */
static enum lmn_status read_batch(struct join *join, struct lmn_error *err)
{
    enum lmn_status st = add_room(join, err);

    while (st == LMN_OK && !join->over) {
        struct ArrowArray *batch = &join->batch[join->batch_count];

        st = lmn__join_source_next(&join->source, batch, err);
        if (st != LMN_OK)
            break;
        if (batch->release == NULL) {
            join->over = true;
        } else if (batch->length == 0) {
            batch->release(batch);
        } else {
            join->first[join->batch_count++] = join->row_count;
            join->row_count += (uint64_t)batch->length;
            break;
        }
    }
    return st;
}

static enum lmn_status read_all(struct join *join, struct lmn_error *err)
{
    struct lmn__join_source *source = &join->source;
    struct lmn__spool *spool = &join->spool;
    struct ArrowArray batch;
    enum lmn_status st = lmn__spool_init(spool, join->table->store, &source->plain.schema,
                                         source->key, source->key_count, err);

    while (st == LMN_OK && (st = lmn__join_source_next(source, &batch, err)) == LMN_OK &&
           batch.release != NULL) {
        st = lmn__spool_add(spool, &batch, err);
        if (st != LMN_OK)
            batch.release(&batch);
    }
    return st == LMN_OK ? lmn__spool_end(spool, err) : st;
}

static enum lmn_status index_stream(struct join *join, struct lmn_error *err)
{
    const struct lmn__spool *spool = &join->spool;
    enum lmn_status st = read_all(join, err);

    if (st == LMN_OK)
        st = lmn__key_index_new(join->env, spool->schema, spool->key, spool->key_count,
                                &join->index, err);
    if (st == LMN_OK)
        st = lmn__key_index_reserve(join->index, spool->row_count, err);
    for (uint64_t i = 0; st == LMN_OK && i < spool->batch_count; i++)
        st = lmn__key_index_add(join->index, &spool->batch[i], spool->batch_key, err);
    return st;
}

static enum lmn_status make_null_row(struct join *join, struct lmn_error *err)
{
    const struct lmn__layout *layout = join->source.layout;
    enum lmn_status st = lmn__array_compose(join->env, 1, layout->child_count, &join->null_row,
                                            err);

    for (uint32_t i = 0; st == LMN_OK && i < layout->child_count; i++)
        st = lmn__array_nulls(join->env, layout->child[i], 1, join->null_row.children[i], err);
    return st;
}

/*
 * Columns of the stream's rows: row index[i] of from[part[i]], each of which has all of them.
 * `part` may be NULL when there is one.
 */
static enum lmn_status gather(const struct join *join, const struct ArrowArray *const *from,
                              uint32_t from_count, const uint32_t *part, const uint64_t *index,
                              uint64_t count, struct ArrowArray *columns_out, struct lmn_error *err)
{
    const struct lmn__join_source *source = &join->source;
    const struct ArrowArray **column = lmn__calloc(join->env, from_count, sizeof *column);
    enum lmn_status st = column != NULL ? lmn__array_compose(join->env, count, source->column_count,
                                                             columns_out, err)
                                        : lmn__no_memory(err, "a list of columns", from_count);

    for (uint32_t c = 0; st == LMN_OK && c < source->column_count; c++) {
        int64_t child = source->column[c];

        for (uint32_t i = 0; i < from_count; i++)
            column[i] = from[i]->children[child];
        st = lmn__arrays_gather(join->env, source->layout->child[child], column, from_count, part,
                                index, count, columns_out->children[c], err);
        if (st == LMN_OK)
            st = lmn__old_version_check(join->fill.manifest, join->fill.schema->children[c],
                                        columns_out->children[c], 0, count, err);
    }
    lmn__free(join->env, column);
    return st;
}

/* Columns of the rows row[i], nulls for LMN__NO_ROW. Turns row[] into other indices. */
static enum lmn_status gather_found(struct join *join, uint64_t *row, uint64_t count,
                                    struct ArrowArray *columns_out, struct lmn_error *err)
{
    struct ArrowArray picked = { 0 };
    const struct ArrowArray *from[] = { &picked, &join->null_row };
    uint64_t *found = lmn__calloc(join->env, count, sizeof *found), found_count = 0;
    uint32_t *part = lmn__calloc(join->env, count, sizeof *part);
    enum lmn_status st = LMN_OK;

    if (found == NULL || part == NULL)
        st = lmn__no_memory(err, "a list of rows", count * sizeof *found);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        part[i] = row[i] == LMN__NO_ROW;
        if (part[i] == 0)
            found[found_count++] = row[i];
        row[i] = part[i] == 0 ? found_count - 1 : 0;
    }
    if (st == LMN_OK)
        st = lmn__spool_pick(&join->spool, found, found_count, &picked, err);
    if (st == LMN_OK)
        st = gather(join, from, 2, part, row, count, columns_out, err);
    lmn__array_release(&picked);
    lmn__free(join->env, found);
    lmn__free(join->env, part);
    return st;
}

/* A lmn__fill_fn; `rows` are the keys. */
static enum lmn_status fill_by_key(void *context, struct ArrowArray *rows,
                                   struct ArrowArray *columns_out, struct lmn_error *err)
{
    struct join *join = context;
    uint64_t count = (uint64_t)rows->length;
    uint64_t *row = lmn__calloc(join->env, count, sizeof *row);
    int64_t *column = lmn__calloc(join->env, join->on_count, sizeof *column);
    enum lmn_status st = LMN_OK;

    if (row == NULL || column == NULL)
        st = lmn__no_memory(err, "a list of rows", count * sizeof *row);
    for (uint32_t i = 0; st == LMN_OK && i < join->on_count; i++)
        column[i] = i;
    if (st == LMN_OK)
        st = lmn__key_index_find(join->index, rows, column, row, err);
    if (st == LMN_OK)
        st = gather_found(join, row, count, columns_out, err);
    lmn__free(join->env, row);
    lmn__free(join->env, column);
    return st;
}

/* Columns of the next `count` rows of the batches. */
static enum lmn_status gather_next(struct join *join, uint64_t count,
                                   struct ArrowArray *columns_out, struct lmn_error *err)
{
    const struct ArrowArray **from = lmn__calloc(join->env, join->batch_count, sizeof *from);
    uint64_t *index = lmn__calloc(join->env, count, sizeof *index);
    uint32_t *part = lmn__calloc(join->env, count, sizeof *part), at = 0;
    enum lmn_status st = LMN_OK;

    if (from == NULL || index == NULL || part == NULL)
        st = lmn__no_memory(err, "a list of rows", count * sizeof *index);
    for (uint64_t i = 0; st == LMN_OK && i < join->batch_count; i++)
        from[i] = &join->batch[i];
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        while (join->taken + i - join->first[at] >= (uint64_t)join->batch[at].length)
            at++;
        part[i] = at;
        index[i] = join->taken + i - join->first[at];
    }
    if (st == LMN_OK)
        st = gather(join, from, (uint32_t)join->batch_count, part, index, count, columns_out, err);
    lmn__free(join->env, from);
    lmn__free(join->env, index);
    lmn__free(join->env, part);
    return st;
}

/* Release the batches whose rows are all taken. */
static void drop_taken(struct join *join)
{
    uint64_t gone = 0;

    while (gone < join->batch_count &&
           join->first[gone] + (uint64_t)join->batch[gone].length <= join->taken) {
        join->batch[gone].release(&join->batch[gone]);
        gone++;
    }
    join->batch_count -= gone;
    if (join->batch_count != 0) {
        memmove(join->batch, join->batch + gone, join->batch_count * sizeof *join->batch);
        memmove(join->first, join->first + gone, join->batch_count * sizeof *join->first);
    }
}

/* A lmn__fill_fn. */
static enum lmn_status fill_by_position(void *context, struct ArrowArray *rows,
                                        struct ArrowArray *columns_out, struct lmn_error *err)
{
    struct join *join = context;
    uint64_t count = (uint64_t)rows->length;
    enum lmn_status st = LMN_OK;

    if (join->attempts > 1)
        return lmn_fail(err, LMN_E_CONFLICT,
                        "others have added or changed rows while they were counted");
    while (st == LMN_OK && !join->over && join->row_count - join->taken < count)
        st = read_batch(join, err);
    if (st == LMN_OK && join->row_count - join->taken < count)
        st = lmn_fail(err, LMN_E_INVALID, "the stream has %llu rows, fewer than the table",
                      (unsigned long long)join->row_count);
    if (st == LMN_OK)
        st = gather_next(join, count, columns_out, err);
    if (st != LMN_OK)
        return st;
    join->taken += count;
    drop_taken(join);
    return LMN_OK;
}

/* By position, the stream and the table end together. */
static enum lmn_status check_end(struct join *join, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (join->on_count != 0)
        return LMN_OK;
    if (join->taken == join->row_count)
        st = read_batch(join, err);
    if (st == LMN_OK && join->taken != join->row_count)
        st = lmn_fail(err, LMN_E_INVALID, "the table has %llu rows, fewer than the stream",
                      (unsigned long long)join->taken);
    return st;
}

/* Keys of both sides are of the same type. */
static enum lmn_status check_keys(const struct join *join, const struct lmn__projection *projection,
                                  struct lmn_error *err)
{
    for (uint32_t i = 0; i < join->on_count; i++) {
        const struct ArrowSchema *ours = projection->arrow.children[i];
        const struct ArrowSchema *given = join->source.plain.schema.children[join->source.key[i]];
        enum lmn_status st = lmn__arrow_type_check(given, ours, err);

        if (st != LMN_OK)
            return lmn__fail_within(err, st, "key \"%.100s\"", join->on[i]);
    }
    return LMN_OK;
}

static enum lmn_status join_at(struct join *join, struct lmn__manifest *manifest,
                               const struct lmn__projection *projection, struct lmn__arena *arena,
                               bool *again_out, struct lmn_error *err)
{
    struct lmn__fill *fill = &join->fill;
    struct lmn__pb_schema added;
    struct lmn__pb_list all;
    enum lmn_status st = check_keys(join, projection, err);

    if (st == LMN_OK)
        st = lmn__fields_of_added(manifest, &join->source.added, arena, &added, err);
    if (st == LMN_OK)
        st = lmn__fields_append(manifest, &added.fields, arena, &all, err);
    if (st != LMN_OK)
        return st;
    fill->manifest = manifest;
    fill->projection = projection;
    fill->schema = &join->source.added;
    fill->fields = &added.fields;
    fill->all_fields = &all;
    fill->fn = join->on_count != 0 ? fill_by_key : fill_by_position;
    fill->context = join;
    fill->in_order = true;
    st = lmn__fill_write(fill, err);
    if (st == LMN_OK)
        st = check_end(join, err);
    return st == LMN_OK ? lmn__fill_commit(fill, again_out, err) : st;
}

static enum lmn_status attempt_join(void *context, bool *again_out, struct lmn_error *err)
{
    static const char *const none[1];
    struct join *join = context;
    struct lmn__manifest *manifest = lmn__table_manifest(join->table);
    struct lmn__projection projection;
    struct lmn__arena arena;
    enum lmn_status st = lmn__manifest_check_writable(manifest, err);

    join->attempts++;
    lmn__arena_init(&arena, join->env, 0);
    if (st == LMN_OK)
        st = lmn__projection_init(&projection, join->env, &manifest->schema,
                                  join->on_count != 0 ? join->on : none, join->on_count, true, err);
    if (st == LMN_OK) {
        st = join_at(join, manifest, &projection, &arena, again_out, err);
        lmn__projection_deinit(&projection);
    }
    lmn__arena_deinit(&arena);
    lmn__manifest_release(manifest);
    return st;
}

static void join_deinit(struct join *join)
{
    lmn__fill_deinit(&join->fill);
    lmn__key_index_free(join->index);
    lmn__spool_deinit(&join->spool);
    for (uint64_t i = 0; i < join->batch_count; i++)
        join->batch[i].release(&join->batch[i]);
    lmn__free(join->env, join->batch);
    lmn__free(join->env, join->first);
    lmn__array_release(&join->null_row);
    lmn__join_source_deinit(&join->source);
}

enum lmn_status lmn_table_join_columns(struct lmn_table *table, struct ArrowArrayStream *stream,
                                       const char *const *on, uint32_t on_count,
                                       struct lmn_error *err)
{
    struct join join = { .table = table, .env = table->env, .on = on, .on_count = on_count };
    enum lmn_status st = lmn__join_source_init(&join.source, table->env, stream, on, on_count, err);

    if (st == LMN_OK) {
        lmn__fill_init(&join.fill, table);
        if (on_count != 0)
            st = make_null_row(&join, err);
        if (st == LMN_OK && on_count != 0)
            st = index_stream(&join, err);
        if (st == LMN_OK)
            st = lmn__change_make(table, attempt_join, &join, err);
        join_deinit(&join);
    }
    stream->release(stream);
    return st;
}
