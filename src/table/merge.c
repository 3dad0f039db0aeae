/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A join of a stream to a table by key. The stream is read first and kept: its rows are indexed by
 * key. Then the table's keys are scanned and looked up; every hit is a pair of a source row and a
 * row of the table. At the end the pairs are updated or deleted, and source rows without a pair
 * are inserted. Memory: the stream's keys, its rows as far as they are few, and 24 bytes per pair.
 *
 * Pairs come in the order of the table's rows and stay in it: what the source does not have is read
 * from the table row by row, and row ids are written as ranges.
 */
#include <leman/table_scan.h>
#include <leman/table_write.h>

#include "arrow/producer.h"
#include "arrow/schema.h"
#include "arrow/share.h"
#include "base/error.h"
#include "base/math.h"
#include "expr/expr.h"
#include "table/key_index.h"
#include "table/merge_set.h"
#include "table/merge_where.h"
#include "table/move.h"

/*
 * Pairs are updated a few at first, then as many as have this many bytes; so are rows inserted. The
 * source's rows may lie in a file, and in any order: few at once would read all of it often.
 */
enum { PAIRS_FIRST = 8, ROWS_MAX = 1 << 20, ROWS_BYTES = 32 << 20 };

struct merge {
    struct lmn_table *table;
    struct lmn_env *env;
    const struct lmn_merge_options *options;
    struct lmn__merge_source source;
    struct lmn_merge_result result;
    bool moves; /* an attempt to leave rows where they are has failed */

    /* of one attempt */
    struct lmn__manifest *manifest;
    struct lmn_table *pinned;
    struct lmn__arena arena;
    struct lmn__move move;
    struct lmn__merge_set in_place;
    bool sets;                 /* the rows of pairs stay where they are */
    struct lmn__conform given; /* the source's columns as the table wants them */
    struct lmn__key_index *index;
    int64_t *table_key; /* children of the key scan's batches */
    struct lmn__merge_pair *pair;
    uint64_t pair_count, pair_room;
    uint64_t kept_count; /* pairs that the condition has let through */
};

static enum lmn_status index_source(struct merge *merge, struct lmn_error *err)
{
    struct lmn__merge_source *source = &merge->source;
    struct lmn__spool *spool = &source->spool;
    enum lmn_status st = lmn__key_index_new(merge->env, &source->schema, spool->key,
                                            spool->key_count, &merge->index, err);

    if (st == LMN_OK)
        st = lmn__key_index_reserve(merge->index, spool->row_count, err);
    for (uint64_t i = 0; st == LMN_OK && i < spool->batch_count; i++)
        st = lmn__key_index_add(merge->index, &spool->batch[i], spool->batch_key, err);
    if (st != LMN_OK)
        return st;
    lmn__free(merge->env, source->matched);
    source->matched = lmn__calloc(merge->env, lmn__bits_bytes(spool->row_count) + 1, 1);
    return source->matched != NULL ? LMN_OK : lmn__no_memory(err, "matched rows", 0);
}

static enum lmn_status add_pair(struct merge *merge, struct lmn__merge_pair pair,
                                struct lmn_error *err)
{
    if (merge->pair_count == merge->pair_room) {
        uint64_t room = merge->pair_room != 0 ? merge->pair_room * 2 : 1024;
        struct lmn__merge_pair *grown = lmn__realloc(merge->env, merge->pair, room * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "matched rows", room * sizeof *grown);
        merge->pair = grown;
        merge->pair_room = room;
    }
    merge->pair[merge->pair_count++] = pair;
    return LMN_OK;
}

static enum lmn_status key_exists(struct merge *merge, const struct ArrowArray *batch, uint64_t row,
                                  struct lmn_error *err)
{
    char text[160];

    lmn__key_index_text(merge->index, batch, merge->table_key, row, text, sizeof text);
    return lmn_fail(err, LMN_E_EXISTS, "the key %s is in the table already", text);
}

/* Look up one batch of the table's keys. */
static enum lmn_status match_batch(struct merge *merge, const struct ArrowArray *batch,
                                   const struct lmn__expr *orphans, uint64_t *row,
                                   struct lmn_error *err)
{
    const struct ArrowArray *ids = batch->children[batch->n_children - 2];
    const struct ArrowArray *addresses = batch->children[batch->n_children - 1];
    const uint64_t *id = (const uint64_t *)ids->buffers[1] + ids->offset;
    const uint64_t *address = (const uint64_t *)addresses->buffers[1] + addresses->offset;
    bool removes = merge->options->not_in_source == LMN_MERGE_DELETE;
    uint8_t *chosen = NULL;
    uint64_t chosen_count;
    enum lmn_status st = lmn__key_index_find(merge->index, batch, merge->table_key, row, err);

    if (st == LMN_OK && removes && orphans != NULL) {
        chosen = lmn__alloc(merge->env, lmn__bits_bytes((uint64_t)batch->length) + 8);
        st = chosen != NULL ? lmn__expr_select(orphans, batch, chosen, &chosen_count, err)
                            : lmn__no_memory(err, "a batch", 0);
    }
    for (uint64_t i = 0; st == LMN_OK && i < (uint64_t)batch->length; i++) {
        if (row[i] != LMN__NO_ROW) {
            lmn__bit_set(merge->source.matched, row[i]);
            if (merge->options->matched == LMN_MERGE_FAIL)
                st = key_exists(merge, batch, i, err);
            else if (merge->options->matched != LMN_MERGE_SKIP)
                st = add_pair(merge, (struct lmn__merge_pair){ row[i], address[i], id[i] }, err);
            else
                merge->result.skipped++;
        } else if (removes && (chosen == NULL || lmn__bit_get(chosen, i))) {
            st = lmn__touched_add(&merge->move.touched, &address[i], 1, err);
            merge->result.deleted++;
        }
    }
    lmn__free(merge->env, chosen);
    return st;
}

/* The columns that the scan of keys reads: the keys, and what the condition for orphans names. */
static enum lmn_status key_scan_columns(struct merge *merge, struct lmn__expr *orphans,
                                        const char ***name_out, uint32_t *count_out,
                                        struct lmn_error *err)
{
    const struct lmn_merge_options *options = merge->options;
    const char *const *path = NULL;
    uint32_t more = 0;
    const char **name;
    enum lmn_status st = orphans != NULL ? lmn__expr_paths(orphans, &path, &more, err) : LMN_OK;

    if (st != LMN_OK)
        return st;
    name = lmn__arena_array(&merge->arena, options->on_count + more, sizeof *name);
    if (name == NULL)
        return lmn__arena_fail(&merge->arena, "columns", err);
    *count_out = 0;
    for (uint32_t i = 0; i < options->on_count; i++)
        name[(*count_out)++] = options->on[i];
    for (uint32_t i = 0; i < more; i++) {
        bool known = false;

        for (uint32_t k = 0; k < *count_out; k++)
            known = known || strcmp(name[k], path[i]) == 0;
        if (!known)
            name[(*count_out)++] = path[i];
    }
    *name_out = name;
    return LMN_OK;
}

static enum lmn_status match_stream(struct merge *merge, struct ArrowArrayStream *stream,
                                    struct lmn__expr *orphans, struct lmn_error *err)
{
    struct ArrowSchema schema;
    struct ArrowArray batch;
    const struct lmn_merge_options *options = merge->options;
    uint64_t *row = NULL, room = 0;
    enum lmn_status st = lmn__stream_schema(stream, &schema, err);

    if (st != LMN_OK)
        return st;
    merge->table_key = lmn__arena_array(&merge->arena, options->on_count, sizeof *merge->table_key);
    st = merge->table_key != NULL
             ? lmn__key_columns(&schema, options->on, options->on_count, merge->table_key, err)
             : lmn__arena_fail(&merge->arena, "keys", err);
    for (uint32_t i = 0; st == LMN_OK && i < options->on_count; i++)
        st = lmn__arrow_type_check(merge->source.schema.children[merge->source.spool.key[i]],
                                   schema.children[merge->table_key[i]], err);
    if (st == LMN_OK && orphans != NULL)
        st = lmn__expr_bind_condition(orphans, &schema, NULL, err);
    while (st == LMN_OK && (st = lmn_table_scan_next(stream, &batch, err)) == LMN_OK &&
           batch.release != NULL) {
        if ((uint64_t)batch.length > room) {
            uint64_t *grown = lmn__realloc(merge->env, row, (uint64_t)batch.length * sizeof *grown);

            st = grown != NULL ? LMN_OK : lmn__no_memory(err, "a batch", 0);
            row = grown != NULL ? grown : row;
            room = grown != NULL ? (uint64_t)batch.length : room;
        }
        if (st == LMN_OK)
            st = match_batch(merge, &batch, orphans, row, err);
        batch.release(&batch);
    }
    lmn__free(merge->env, row);
    schema.release(&schema);
    return st;
}

/* Scan the table's keys and find the pairs. */
static enum lmn_status match_table(struct merge *merge, struct lmn_error *err)
{
    struct lmn_scan_options scan = { .with_row_id = true,
                                     .with_row_address = true,
                                     .batch_rows_max = 65536 };
    const char *where = merge->options->not_in_source == LMN_MERGE_DELETE
                            ? merge->options->not_in_source_where
                            : NULL;
    struct lmn__expr *orphans = NULL;
    struct ArrowArrayStream stream;
    const char **name = NULL;
    enum lmn_status st = LMN_OK;

    if (where != NULL)
        st = lmn__expr_parse(merge->env, where, &orphans, err);
    if (st == LMN_OK)
        st = key_scan_columns(merge, orphans, &name, &scan.column_count, err);
    scan.column = name;
    if (st == LMN_OK)
        st = lmn_table_scan(merge->pinned, &scan, &stream, err);
    if (st == LMN_OK) {
        st = match_stream(merge, &stream, orphans, err);
        stream.release(&stream);
    }
    lmn__expr_free(orphans);
    return st;
}

static struct lmn__merge_rows rows_of(struct merge *merge)
{
    return (struct lmn__merge_rows){ .env = merge->env,
                                     .table = merge->pinned,
                                     .manifest = merge->manifest,
                                     .given = &merge->given,
                                     .where = merge->options->matched_where,
                                     .source_schema = &merge->source.schema };
}

/* A condition is checked before rows are looked for, so that it fails also where none matches. */
static enum lmn_status check_where(struct merge *merge, struct lmn_error *err)
{
    const struct lmn__merge_rows rows = rows_of(merge);

    return rows.where != NULL ? lmn__merge_where_check(&rows, err) : LMN_OK;
}

/* Work on some pairs that come one after the other; *bytes_out is how many bytes they have. */
typedef enum lmn_status (*pairs_fn)(struct merge *merge, const struct lmn__merge_pair *pair,
                                    uint64_t count, uint64_t *bytes_out, struct lmn_error *err);

/* How many rows of about so many bytes are worked on at once: 1 to `max`. */
static uint64_t rows_fitting(uint64_t row_bytes, uint64_t max)
{
    return lmn__max_u64(lmn__min_u64(ROWS_BYTES / lmn__max_u64(row_bytes, 1), max), 1);
}

static enum lmn_status each_pairs(struct merge *merge, pairs_fn fn, struct lmn_error *err)
{
    uint64_t at_once = PAIRS_FIRST, all = merge->pair_count, bytes;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < all;) {
        uint64_t count = lmn__min_u64(at_once, all - i);

        st = fn(merge, &merge->pair[i], count, &bytes, err);
        i += count;
        if (bytes != 0)
            at_once = rows_fitting(lmn__div_up(bytes, count), lmn__min_u64(count * 4, ROWS_MAX));
    }
    return st;
}

/* The source's rows of some pairs, and the ids of the table's. */
static enum lmn_status pick_pairs(struct merge *merge, const struct lmn__merge_pair *pair,
                                  uint64_t count, struct ArrowArray *source_out, uint64_t **id_out,
                                  struct lmn_error *err)
{
    uint64_t *id = lmn__calloc(merge->env, count * 2, sizeof *id);
    enum lmn_status st;

    *id_out = id;
    if (id == NULL)
        return lmn__no_memory(err, "a batch", count * 2 * sizeof *id);
    for (uint64_t i = 0; i < count; i++) {
        id[i] = pair[i].id;
        id[count + i] = pair[i].source;
    }
    st = lmn__spool_pick(&merge->source.spool, id + count, count, source_out, err);
    for (uint64_t i = 0; i < count; i++)
        id[count + i] = pair[i].address;
    return st;
}

/* Leave out the pairs for which the condition does not hold. */
static enum lmn_status filter_pairs(struct merge *merge, const struct lmn__merge_pair *pair,
                                    uint64_t count, uint64_t *bytes_out, struct lmn_error *err)
{
    const struct lmn__merge_rows rows = rows_of(merge);
    uint8_t *bits = lmn__alloc(merge->env, lmn__bits_bytes(count) + 8);
    struct ArrowArray source = { 0 };
    uint64_t *id = NULL;
    enum lmn_status st = bits != NULL ? pick_pairs(merge, pair, count, &source, &id, err)
                                      : lmn__no_memory(err, "a batch", 0);

    *bytes_out = 0;
    if (st == LMN_OK)
        st = lmn__merge_where_select(&rows, &source, id, count, bits, bytes_out, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        if (lmn__bit_get(bits, i))
            merge->pair[merge->kept_count++] = pair[i];
    }
    lmn__free(merge->env, id);
    lmn__free(merge->env, bits);
    return st;
}

/* The pairs that are updated, or whose rows of the table are deleted. */
static enum lmn_status choose_pairs(struct merge *merge, struct lmn_error *err)
{
    uint64_t all = merge->pair_count;
    enum lmn_status st = LMN_OK;

    merge->kept_count = 0;
    if (merge->options->matched_where != NULL) {
        st = each_pairs(merge, filter_pairs, err);
        merge->pair_count = merge->kept_count;
    }
    merge->result.skipped += all - merge->pair_count;
    return st;
}

/* Write the rows of some pairs as they will be. */
static enum lmn_status move_pairs(struct merge *merge, const struct lmn__merge_pair *pair,
                                  uint64_t count, uint64_t *bytes_out, struct lmn_error *err)
{
    const struct lmn__merge_rows rows = rows_of(merge);
    struct lmn__conform whole;
    struct ArrowArray source, made;
    uint64_t *id;
    enum lmn_status st = pick_pairs(merge, pair, count, &source, &id, err);

    *bytes_out = 0;
    if (st == LMN_OK)
        st = lmn__merge_rows_make(&rows, &source, id, count, &made, &whole, err);
    if (st == LMN_OK) {
        st = lmn__move_rows(&merge->move, &whole, &made, id + count, id, err);
        *bytes_out = lmn__array_bytes(&made, &whole.schema);
        made.release(&made);
        lmn__conform_deinit(&whole);
    }
    lmn__free(merge->env, id);
    return st;
}

/* Rows stay where they are if that is less to write; not where others are deleted with it. */
static enum lmn_status update_all(struct merge *merge, struct lmn_error *err)
{
    const struct lmn_merge_options *options = merge->options;
    struct lmn__merge_set *in_place = &merge->in_place;
    enum lmn_status st = choose_pairs(merge, err);

    merge->result.updated = merge->pair_count;
    in_place->source = &merge->source;
    in_place->given = &merge->given;
    in_place->pair = merge->pair;
    in_place->pair_count = merge->pair_count;
    if (st == LMN_OK && !merge->moves && merge->move.touched.row_count == 0)
        st = lmn__merge_set_choose(in_place, merge->pinned, options->on, options->on_count,
                                   &merge->sets, err);
    return st == LMN_OK && !merge->sets ? each_pairs(merge, move_pairs, err) : st;
}

static enum lmn_status delete_pairs(struct merge *merge, struct lmn_error *err)
{
    enum lmn_status st = choose_pairs(merge, err);

    for (uint64_t i = 0; st == LMN_OK && i < merge->pair_count; i++)
        st = lmn__touched_add(&merge->move.touched, &merge->pair[i].address, 1, err);
    merge->result.deleted += merge->pair_count;
    return st;
}

/* Insert some rows of the source. */
static enum lmn_status insert_rows(struct merge *merge, const uint64_t *row, uint64_t count,
                                   uint64_t *bytes_out, struct lmn_error *err)
{
    struct ArrowArray rows, view;
    enum lmn_status st = lmn__spool_pick(&merge->source.spool, row, count, &rows, err);

    if (st != LMN_OK)
        return st;
    *bytes_out = lmn__array_bytes(&rows, &merge->source.schema);
    st = lmn__conform_batch(&merge->given, &rows, &view, err);
    if (st == LMN_OK)
        st = lmn__conform_check_new(&merge->given, &view, err);
    if (st == LMN_OK)
        st = lmn__move_insert(&merge->move, &merge->given, &view, err);
    rows.release(&rows);
    return st;
}

/* Insert the rows of the source that have no pair, as many at once as have ROWS_BYTES. */
static enum lmn_status insert_all(struct merge *merge, struct lmn_error *err)
{
    const struct lmn__merge_source *source = &merge->source;
    uint64_t all = source->spool.row_count, bytes;
    uint64_t at_once = rows_fitting(lmn__spool_row_bytes(&source->spool), ROWS_MAX);
    uint64_t count = all - lmn__bits_count(source->matched, 0, all);
    uint64_t *row = lmn__calloc(merge->env, ROWS_MAX, sizeof *row);
    enum lmn_status st = row != NULL ? LMN_OK : lmn__no_memory(err, "a list of rows", 0);

    merge->result.inserted += count;
    if (st == LMN_OK && count != 0)
        st = lmn__conform_check_whole(&merge->given, err);
    for (uint64_t next = 0; st == LMN_OK && next < all;) {
        for (count = 0; next < all && count < at_once; next++) {
            if (!lmn__bit_get(source->matched, next))
                row[count++] = next;
        }
        if (count == 0)
            break;
        st = insert_rows(merge, row, count, &bytes, err);
        at_once = rows_fitting(lmn__div_up(bytes, count), lmn__min_u64(count * 4, ROWS_MAX));
    }
    lmn__free(merge->env, row);
    return st;
}

static enum lmn_status not_there(struct merge *merge, struct lmn_error *err)
{
    const struct lmn__spool *spool = &merge->source.spool;

    for (uint64_t row = 0; row < spool->row_count; row++) {
        uint64_t batch = lmn__spool_batch_of(spool, row);
        char text[160];

        if (lmn__bit_get(merge->source.matched, row))
            continue;
        lmn__key_index_text(merge->index, &spool->batch[batch], spool->batch_key,
                            row - spool->first[batch], text, sizeof text);
        return lmn_fail(err, LMN_E_NOT_FOUND, "the key %s is not in the table", text);
    }
    return LMN_OK;
}

static enum lmn_status apply_pairs(struct merge *merge, struct lmn_error *err)
{
    const struct lmn_merge_options *options = merge->options;
    uint64_t all = merge->source.spool.row_count;
    enum lmn_status st = LMN_OK;

    if (options->not_matched == LMN_MERGE_FAIL)
        st = not_there(merge, err);
    if (st == LMN_OK && options->matched == LMN_MERGE_UPDATE)
        st = update_all(merge, err);
    else if (st == LMN_OK && options->matched == LMN_MERGE_DELETE)
        st = delete_pairs(merge, err);
    if (options->not_matched == LMN_MERGE_SKIP)
        merge->result.skipped += all - lmn__bits_count(merge->source.matched, 0, all);
    if (st == LMN_OK && options->not_matched == LMN_MERGE_INSERT)
        st = insert_all(merge, err);
    return st;
}

/* The ids of all columns that the source sets. */
static enum lmn_status modified_fields(struct merge *merge, struct lmn__pb_u64s *fields_out,
                                       struct lmn_error *err)
{
    fields_out->item = lmn__arena_array(&merge->arena, merge->given.column_count,
                                        sizeof *fields_out->item);
    fields_out->count = 0;
    if (fields_out->item == NULL)
        return lmn__arena_fail(&merge->arena, "fields", err);
    for (uint32_t i = 0; i < merge->given.column_count; i++)
        fields_out->item[fields_out->count++] = (uint64_t)merge->given.column[i]->field->id;
    return LMN_OK;
}

/* Commit columns that are set, and rows that are inserted. */
static enum lmn_status commit_in_place(struct merge *merge, bool *again_out, struct lmn_error *err)
{
    struct lmn__set_columns *set = &merge->in_place.set;
    enum lmn_status st = lmn__move_finish(&merge->move, err);

    *again_out = false;
    if (st != LMN_OK)
        return st;
    set->added = merge->move.change.added;
    set->added_count = merge->move.change.added_count;
    st = lmn__set_columns_commit(set, again_out, err);
    if (st == LMN_OK || set->change.may_stand)
        merge->move.change.added_count = 0;
    return st;
}

static enum lmn_status merge_once(struct merge *merge, bool *again_out, struct lmn_error *err)
{
    struct lmn__pb_u64s modified = { 0 };
    enum lmn_status st = lmn__manifest_check_writable(merge->manifest, err);

    if (st == LMN_OK)
        st = lmn__table_new(merge->table->store, merge->manifest, &merge->pinned, err);
    if (st == LMN_OK)
        st = lmn__conform_init(&merge->given, merge->env, &merge->manifest->schema,
                               &merge->source.schema, true, err);
    merge->given.manifest = merge->manifest;
    if (st == LMN_OK)
        st = check_where(merge, err);
    if (st == LMN_OK)
        st = index_source(merge, err);
    if (st == LMN_OK)
        st = match_table(merge, err);
    if (st == LMN_OK)
        st = apply_pairs(merge, err);
    if (st == LMN_OK)
        st = modified_fields(merge, &modified, err);
    if (st != LMN_OK)
        return st;
    if (merge->sets)
        return commit_in_place(merge, again_out, err);
    return lmn__move_commit(&merge->move, modified, merge->move.inserted_count != 0, again_out,
                            err);
}

static enum lmn_status try_merge(struct merge *merge, bool *again_out, struct lmn_error *err)
{
    enum lmn_status st;

    merge->result = (struct lmn_merge_result){ 0 };
    merge->manifest = lmn__table_manifest(merge->table);
    lmn__arena_init(&merge->arena, merge->env, 0);
    lmn__move_init(&merge->move, merge->table, merge->manifest, &merge->options->write);
    merge->in_place = (struct lmn__merge_set){ 0 };
    merge->sets = false;
    lmn__set_columns_init(&merge->in_place.set, merge->table, merge->manifest,
                          &merge->options->write);
    st = merge_once(merge, again_out, err);
    lmn__set_columns_deinit(&merge->in_place.set);
    lmn__move_deinit(&merge->move);
    lmn__key_index_free(merge->index);
    if (merge->given.env != NULL)
        lmn__conform_deinit(&merge->given);
    merge->given = (struct lmn__conform){ 0 };
    merge->index = NULL;
    lmn__free(merge->env, merge->pair);
    merge->pair = NULL;
    merge->pair_count = merge->pair_room = 0;
    lmn__arena_deinit(&merge->arena);
    lmn_table_release(merge->pinned);
    merge->pinned = NULL;
    lmn__manifest_release(merge->manifest);
    return st;
}

/*
 * Values that do not fit beside those of other rows, as dictionaries of small indices, may fit into
 * fragments of their own.
 */
static enum lmn_status attempt_merge(void *context, bool *again_out, struct lmn_error *err)
{
    struct merge *merge = context;
    enum lmn_status st = try_merge(merge, again_out, err);

    if (st != LMN_E_INVALID || !merge->sets)
        return st;
    merge->moves = true;
    return try_merge(merge, again_out, err);
}

static enum lmn_status check_options(const struct lmn_merge_options *options, struct lmn_error *err)
{
    bool matched = options->matched <= LMN_MERGE_FAIL && options->matched != LMN_MERGE_INSERT;
    bool not_matched = options->not_matched == LMN_MERGE_SKIP ||
                       options->not_matched == LMN_MERGE_INSERT ||
                       options->not_matched == LMN_MERGE_FAIL;
    bool orphans = options->not_in_source == LMN_MERGE_SKIP ||
                   options->not_in_source == LMN_MERGE_DELETE;

    if (options->on_count == 0)
        return lmn_fail(err, LMN_E_INVALID, "a merge needs the names of its key columns");
    if (!matched || !not_matched || !orphans)
        return lmn_fail(err, LMN_E_INVALID,
                        "a merge can update, delete or refuse matched rows, insert or refuse "
                        "others, and delete rows that are not in the source");
    if (options->matched_where != NULL && options->matched != LMN_MERGE_UPDATE &&
        options->matched != LMN_MERGE_DELETE)
        return lmn_fail(err, LMN_E_INVALID,
                        "a merge has a condition for matched rows, and neither updates nor deletes "
                        "them");
    if (options->not_in_source_where != NULL && options->not_in_source != LMN_MERGE_DELETE)
        return lmn_fail(err, LMN_E_INVALID,
                        "a merge has a condition for rows that are not in the source, and does not "
                        "delete them");
    return lmn__change_check_message(options->write.message, err);
}

enum lmn_status lmn_table_merge(struct lmn_table *table, struct ArrowArrayStream *stream,
                                const struct lmn_merge_options *options,
                                struct lmn_merge_result *result_out, struct lmn_error *err)
{
    static const struct lmn_merge_options nothing = { 0 };
    struct merge merge = { .table = table,
                           .env = table->env,
                           .options = options != NULL ? options : &nothing };
    enum lmn_status st = check_options(merge.options, err);

    if (st == LMN_OK)
        st = lmn__merge_source_read(&merge.source, table->store, stream, merge.options->on,
                                    merge.options->on_count, err);
    if (st == LMN_OK)
        st = lmn__change_make(table, attempt_merge, &merge, err);
    if (result_out != NULL)
        *result_out = st == LMN_OK ? merge.result : (struct lmn_merge_result){ 0 };
    lmn__merge_source_deinit(&merge.source);
    stream->release(stream);
    return st;
}
