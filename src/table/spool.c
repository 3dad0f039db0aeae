/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file is a Lance file of one fragment that no manifest names. Its columns have their names,
 * for messages; the fields below them are called "0", "1", ..., and all are without metadata and
 * nullable: what names and marks mean is for whoever picks the rows.
 */
#include "table/spool.h"

#include <leman/file.h>
#include <leman/file_writer.h>
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "arrow/schema.h"
#include "arrow/share.h"
#include "arrow/view.h"
#include "base/error.h"
#include "base/math.h"
#include "os/random.h"

enum lmn_status lmn__spool_init(struct lmn__spool *spool, struct lmn_store *store,
                                const struct ArrowSchema *schema, const int64_t *key,
                                uint32_t key_count, struct lmn_error *err)
{
    enum lmn_status st;

    *spool = (struct lmn__spool){ .store = store, .env = store->env, .schema = schema };
    lmn__arena_init(&spool->arena, store->env, 0);
    st = lmn__layout_from_schema(schema, &spool->arena, &spool->layout, err);
    spool->key = spool->batch_key = lmn__arena_array(&spool->arena, key_count, sizeof *key);
    if (st == LMN_OK && spool->key == NULL)
        st = lmn__arena_fail(&spool->arena, "keys", err);
    for (; st == LMN_OK && spool->key_count < key_count; spool->key_count++)
        spool->key[spool->key_count] = key[spool->key_count];
    if (st != LMN_OK)
        lmn__spool_deinit(spool);
    return st;
}

static void release_batches(struct lmn__spool *spool, uint64_t from)
{
    while (spool->batch_count > from)
        lmn__array_release(&spool->batch[--spool->batch_count]);
}

void lmn__spool_deinit(struct lmn__spool *spool)
{
    if (spool->store == NULL)
        return;
    lmn_file_writer_abort(spool->writer);
    lmn_file_release(spool->file);
    release_batches(spool, 0);
    lmn__free(spool->env, spool->batch);
    lmn__free(spool->env, spool->first);
    if (spool->file_schema.release != NULL)
        spool->file_schema.release(&spool->file_schema);
    lmn__arena_deinit(&spool->arena);
    *spool = (struct lmn__spool){ 0 };
}

/* Take names and marks away from what is below `schema`. Keys of maps have no nulls, ever. */
static enum lmn_status make_plain(struct ArrowSchema *schema, bool is_entries,
                                  struct lmn_error *err)
{
    bool is_map = strcmp(schema->format, "+m") == 0;

    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];
        char name[24];
        enum lmn_status st = make_plain(child, is_map, err);

        if (st != LMN_OK)
            return st;
        snprintf(name, sizeof name, "%lld", (long long)i);
        if (ArrowSchemaSetName(child, name) != NANOARROW_OK ||
            ArrowSchemaSetMetadata(child, NULL) != NANOARROW_OK)
            return lmn__no_memory(err, "a schema", 0);
        if (!is_map && !(is_entries && i == 0))
            child->flags |= ARROW_FLAG_NULLABLE;
    }
    return LMN_OK;
}

static enum lmn_status name_columns(struct lmn__spool *spool, struct lmn_error *err)
{
    for (int64_t i = 0; i < spool->schema->n_children; i++) {
        const char *name = spool->schema->children[i]->name;

        if (name != NULL &&
            ArrowSchemaSetName(spool->file_schema.children[i], name) != NANOARROW_OK)
            return lmn__no_memory(err, "a schema", 0);
    }
    return LMN_OK;
}

static enum lmn_status set_path(struct lmn__spool *spool, struct lmn_error *err)
{
    char one[LMN__TOKEN_CHARS], two[LMN__TOKEN_CHARS];
    size_t bytes = sizeof "data/.lance" + sizeof one + sizeof two;
    enum lmn_status st = lmn__random_token(one, err);

    if (st == LMN_OK)
        st = lmn__random_token(two, err);
    if (st != LMN_OK)
        return st;
    spool->path = lmn__arena_alloc(&spool->arena, bytes);
    if (spool->path == NULL)
        return lmn__arena_fail(&spool->arena, "a path", err);
    snprintf(spool->path, bytes, "data/%s%s.lance", one, two);
    return LMN_OK;
}

static enum lmn_status open_writer(struct lmn__spool *spool, struct lmn_error *err)
{
    const struct lmn_file_writer_options options = { .encode.version = "2.2",
                                                     .unsynced = true,
                                                     .unnamed = true };
    struct ArrowSchema *schema = &spool->file_schema;
    enum lmn_status st = set_path(spool, err);

    if (st == LMN_OK)
        st = lmn__arrow_schema_copy(spool->schema, schema, err);
    if (st == LMN_OK)
        st = make_plain(schema, false, err);
    if (st == LMN_OK)
        st = name_columns(spool, err);
    if (st == LMN_OK)
        st = lmn_file_writer_open(spool->store, spool->path, schema, &options, &spool->writer, err);
    return st;
}

/* The keys of `batch`, in memory of their own: what they came in may be large. */
static enum lmn_status copy_keys(const struct lmn__spool *spool, const struct ArrowArray *batch,
                                 struct ArrowArray *keys_out, struct lmn_error *err)
{
    uint64_t count = (uint64_t)batch->length;
    uint64_t *index = lmn__calloc(spool->env, count, sizeof *index);
    enum lmn_status st = LMN_OK;

    if (index == NULL)
        return lmn__no_memory(err, "a list of rows", count * sizeof *index);
    for (uint64_t i = 0; i < count; i++)
        index[i] = (uint64_t)batch->offset + i;
    st = lmn__array_compose(spool->env, count, spool->key_count, keys_out, err);
    for (uint32_t i = 0; st == LMN_OK && i < spool->key_count; i++)
        st = lmn__array_gather(spool->env, spool->layout->child[spool->key[i]],
                               batch->children[spool->key[i]], index, count, keys_out->children[i],
                               err);
    if (st != LMN_OK)
        lmn__array_release(keys_out);
    lmn__free(spool->env, index);
    return st;
}

/* Write a batch to the file and leave its keys in its place. */
static enum lmn_status write_batch(struct lmn__spool *spool, struct ArrowArray *batch,
                                   struct lmn_error *err)
{
    struct ArrowArray keys = { 0 };
    enum lmn_status st = copy_keys(spool, batch, &keys, err);

    if (st == LMN_OK)
        st = lmn_file_writer_write(spool->writer, batch, err);
    if (st != LMN_OK) {
        lmn__array_release(&keys);
        return st;
    }
    batch->release(batch);
    *batch = keys;
    return LMN_OK;
}

/* Move all rows out of memory, unless they are of a type that has no place in a file. */
static enum lmn_status move_out(struct lmn__spool *spool, struct lmn_error *err)
{
    enum lmn_status st = open_writer(spool, err);

    if (st == LMN_E_UNSUPPORTED) {
        spool->stays = true;
        return LMN_OK;
    }
    for (uint64_t i = 0; st == LMN_OK && i < spool->batch_count; i++)
        st = write_batch(spool, &spool->batch[i], err);
    if (st != LMN_OK)
        return st;
    spool->batch_key = lmn__arena_array(&spool->arena, spool->key_count, sizeof *spool->batch_key);
    if (spool->batch_key == NULL)
        return lmn__arena_fail(&spool->arena, "keys", err);
    for (uint32_t i = 0; i < spool->key_count; i++)
        spool->batch_key[i] = i;
    return LMN_OK;
}

static enum lmn_status make_room(struct lmn__spool *spool, struct lmn_error *err)
{
    uint64_t room = lmn__max_u64(spool->batch_room * 2, 16);
    struct ArrowArray *batch;
    uint64_t *first;

    if (spool->batch_count < spool->batch_room)
        return LMN_OK;
    batch = lmn__realloc(spool->env, spool->batch, room * sizeof *batch);
    if (batch != NULL)
        spool->batch = batch;
    first = lmn__realloc(spool->env, spool->first, room * sizeof *first);
    if (first != NULL)
        spool->first = first;
    if (batch == NULL || first == NULL)
        return lmn__no_memory(err, "a list of batches", room * sizeof *batch);
    spool->batch_room = room;
    return LMN_OK;
}

enum lmn_status lmn__spool_add(struct lmn__spool *spool, struct ArrowArray *batch,
                               struct lmn_error *err)
{
    uint64_t bytes = lmn__array_bytes(batch, spool->schema);
    struct ArrowArray *added;
    enum lmn_status st = make_room(spool, err);

    for (int64_t i = 0; st == LMN_OK && lmn__view_validity(batch) != NULL && i < batch->length; i++)
        if (lmn__view_is_null(batch, (uint64_t)i))
            st = lmn_fail(err, LMN_E_INVALID, "row %lld of a batch is null as a whole",
                          (long long)i);
    if (st == LMN_OK && spool->writer == NULL && !spool->stays &&
        spool->bytes + bytes > spool->env->source_bytes_max)
        st = move_out(spool, err);
    if (st != LMN_OK)
        return st;
    added = &spool->batch[spool->batch_count];
    lmn__array_move(batch, added);
    if (spool->writer != NULL && added->length != 0)
        st = write_batch(spool, added, err);
    if (st != LMN_OK || added->length == 0) {
        lmn__array_move(added, batch);
        if (st == LMN_OK)
            batch->release(batch);
        return st;
    }
    spool->first[spool->batch_count++] = spool->row_count;
    spool->row_count += (uint64_t)added->length;
    spool->bytes += bytes;
    return LMN_OK;
}

/* What is read is what was given. */
static enum lmn_status check_types(const struct lmn__spool *spool, struct lmn_error *err)
{
    struct ArrowSchema schema;
    enum lmn_status st = lmn_file_schema(spool->file, NULL, &schema, err);

    if (st != LMN_OK)
        return st;
    for (int64_t i = 0; st == LMN_OK && i < schema.n_children; i++)
        st = lmn__arrow_type_check(schema.children[i], spool->file_schema.children[i], err);
    schema.release(&schema);
    return st;
}

enum lmn_status lmn__spool_end(struct lmn__spool *spool, struct lmn_error *err)
{
    struct lmn_file_writer *writer = spool->writer;
    enum lmn_status st;

    if (writer == NULL)
        return LMN_OK;
    spool->writer = NULL;
    st = lmn_file_writer_finish(writer, NULL, err);
    if (st != LMN_OK)
        return st;
    st = lmn_file_open(spool->store, spool->path, NULL, &spool->file, err);
    (void)spool->store->ops->remove(spool->store, spool->path, NULL);
    return st == LMN_OK ? check_types(spool, err) : st;
}

uint64_t lmn__spool_batch_of(const struct lmn__spool *spool, uint64_t row)
{
    uint64_t low = 0, high = spool->batch_count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (spool->first[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static enum lmn_status pick_in_memory(const struct lmn__spool *spool, const uint64_t *row,
                                      uint64_t count, struct ArrowArray *rows_out,
                                      struct lmn_error *err)
{
    const struct ArrowArray **from = lmn__calloc(spool->env, spool->batch_count, sizeof *from);
    uint32_t *part = lmn__calloc(spool->env, count, sizeof *part);
    uint64_t *index = lmn__calloc(spool->env, count, sizeof *index);
    enum lmn_status st = LMN_OK;

    if (from == NULL || part == NULL || index == NULL)
        st = lmn__no_memory(err, "a list of rows", count * sizeof *index);
    for (uint64_t i = 0; st == LMN_OK && i < spool->batch_count; i++)
        from[i] = &spool->batch[i];
    for (uint64_t i = 0, at = 0; st == LMN_OK && i < count; i++) {
        if (row[i] < spool->first[at] ||
            row[i] - spool->first[at] >= (uint64_t)spool->batch[at].length)
            at = lmn__spool_batch_of(spool, row[i]);
        part[i] = (uint32_t)at;
        index[i] = row[i] - spool->first[at];
    }
    if (st == LMN_OK)
        st = lmn__arrays_gather(spool->env, spool->layout, from, (uint32_t)spool->batch_count, part,
                                index, count, rows_out, err);
    lmn__free(spool->env, from);
    lmn__free(spool->env, part);
    lmn__free(spool->env, index);
    return st;
}

enum lmn_status lmn__spool_pick(const struct lmn__spool *spool, const uint64_t *row, uint64_t count,
                                struct ArrowArray *rows_out, struct lmn_error *err)
{
    *rows_out = (struct ArrowArray){ 0 };
    return spool->file != NULL ? lmn_file_take(spool->file, row, count, NULL, rows_out, err)
                               : pick_in_memory(spool, row, count, rows_out, err);
}

uint64_t lmn__spool_row_bytes(const struct lmn__spool *spool)
{
    return spool->bytes / lmn__max_u64(spool->row_count, 1);
}
