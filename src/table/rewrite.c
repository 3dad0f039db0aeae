/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows stream from a scan into a fragment writer, so memory holds what the scan reads ahead. Ids
 * and versions do not travel with the rows: they stand in the manifest, and are gathered from there
 * for the rows that are alive, in the order in which the scan gives them.
 */
#include "table/rewrite.h"

#include <leman/table_scan.h>

#include "table/conform.h"
#include "table/fragment_reader.h"
#include "table/fragment_writer.h"
#include "table/row_ids.h"
#include "table/snapshot.h"

enum { PREFETCH_BYTES = 64 << 20, FIRST_VERSION = 1 };

/* One number of each kind for every live row. */
struct lineage {
    uint64_t *id;
    uint64_t *updated_at;
    uint64_t *created_at;
    uint64_t count, room;
};

struct copying {
    const struct lmn__rewrite *rewrite;
    struct lmn_env *env;
    struct lmn__manifest *manifest;
    struct lmn__snapshot *snapshot;
    struct lmn__arena *arena;
    struct lmn__rewrite_group *group;
    struct lineage lineage;
};

/* All columns, also those that scans leave out unless they are named. */
static enum lmn_status open_scan(const struct copying *copying, struct ArrowArrayStream *stream_out,
                                 struct lmn_error *err)
{
    const struct lmn__schema *schema = &copying->manifest->schema;
    const char **name = lmn__arena_array(copying->arena, schema->top_count, sizeof *name);
    struct lmn_scan_options options = { .column = name,
                                        .blobs = LMN_BLOB_EITHER,
                                        .prefetch_bytes_max = PREFETCH_BYTES,
                                        .fragment = copying->rewrite->id,
                                        .fragment_count = copying->rewrite->count };

    if (name == NULL)
        return lmn__arena_fail(copying->arena, "a list of columns", err);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next)
        name[options.column_count++] = node->name;
    return lmn_table_scan(copying->rewrite->pinned, &options, stream_out, err);
}

static enum lmn_status write_batches(const struct copying *copying, struct lmn__conform *conform,
                                     struct ArrowArrayStream *stream, struct lmn_error *err)
{
    struct lmn__fragment_writer *writer;
    struct ArrowArray batch, view;
    enum lmn_status st = lmn__fragment_writer_open(
        copying->rewrite->pinned->store, &conform->schema, &conform->fields,
        copying->rewrite->minor, copying->rewrite->options, &writer, err);

    if (st != LMN_OK)
        return st;
    while ((st = lmn_table_scan_next(stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        st = lmn__conform_batch(conform, &batch, &view, err);
        if (st == LMN_OK)
            st = lmn__fragment_writer_write(writer, &view, err);
        batch.release(&batch);
        if (st != LMN_OK)
            break;
    }
    if (st == LMN_OK)
        return lmn__fragment_writer_finish(writer, copying->arena, &copying->group->after,
                                           &copying->group->after_count, err);
    lmn__fragment_writer_abort(writer);
    return st;
}

static enum lmn_status copy_rows(const struct copying *copying, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema = { 0 };
    struct lmn__conform conform;
    enum lmn_status st = open_scan(copying, &stream, err);

    if (st != LMN_OK)
        return st;
    if (stream.get_schema(&stream, &schema) != 0)
        st = lmn__no_memory(err, "a schema", 0);
    if (st == LMN_OK) {
        st = lmn__conform_init(&conform, copying->env, &copying->manifest->schema, &schema, false,
                               err);
        schema.release(&schema);
    }
    if (st == LMN_OK) {
        st = write_batches(copying, &conform, &stream, err);
        lmn__conform_deinit(&conform);
    }
    stream.release(&stream);
    return st;
}

/* The messages of the fragments; and room for what is known of their rows. */
static enum lmn_status find_fragments(struct copying *copying, struct lmn_error *err)
{
    const struct lmn__rewrite *rewrite = copying->rewrite;
    struct lmn__pb_fragment *before = lmn__arena_array(copying->arena, rewrite->count,
                                                       sizeof *before);
    enum lmn_status st = before != NULL ? LMN_OK
                                        : lmn__arena_fail(copying->arena, "fragments", err);

    copying->group->before = before;
    copying->group->before_count = rewrite->count;
    for (uint64_t i = 0; st == LMN_OK && i < rewrite->count; i++) {
        uint64_t index;

        if (!lmn__snapshot_find(copying->snapshot, rewrite->id[i], &index))
            return lmn_fail(err, LMN_E_NOT_FOUND, "version %llu has no fragment %llu",
                            (unsigned long long)copying->manifest->pb.version,
                            (unsigned long long)rewrite->id[i]);
        copying->lineage.room += copying->snapshot->fragment[index].live_count;
        st = lmn__manifest_fragment(copying->manifest, index, copying->arena, &before[i], err);
    }
    return st;
}

/* A version for every row; rows of writers that do not tell are as old as the table. */
static enum lmn_status read_versions(struct lmn__span bytes, uint64_t row_count,
                                     struct lmn__arena *arena, struct lmn__row_versions *out,
                                     struct lmn_error *err)
{
    if (bytes.data != NULL)
        return lmn__row_versions_read(bytes, row_count, arena, out, err);
    *out = (struct lmn__row_versions){ 0 };
    return LMN_OK;
}

static uint64_t version_of(const struct lmn__row_versions *versions, uint64_t row)
{
    return versions->run_count != 0 ? lmn__row_versions_get(versions, row) : FIRST_VERSION;
}

/* Add the live rows of one fragment. */
static enum lmn_status add_lineage(struct copying *copying,
                                   const struct lmn__fragment_reader *reader, struct lmn_error *err)
{
    const struct lmn__pb_fragment *fragment = lmn__fragment_reader_fragment(reader);
    const struct lmn__deletion *deletion = lmn__fragment_reader_deletion(reader);
    const struct lmn__row_ids *ids = lmn__fragment_reader_ids(reader);
    struct lineage *lineage = &copying->lineage;
    struct lmn__row_versions updated, created;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, copying->env, 0);
    st = read_versions(fragment->updated_at, fragment->row_count, &arena, &updated, err);
    if (st == LMN_OK)
        st = read_versions(fragment->created_at, fragment->row_count, &arena, &created, err);
    for (uint64_t row = 0; st == LMN_OK && row < fragment->row_count; row++) {
        if (lmn__deletion_has(deletion, row))
            continue;
        if (lineage->count == lineage->room) {
            st = lmn_fail(err, LMN_E_CORRUPT, "fragment %llu has more live rows than it says",
                          (unsigned long long)fragment->id);
            break;
        }
        lineage->id[lineage->count] = lmn__row_ids_get(ids, row);
        lineage->updated_at[lineage->count] = version_of(&updated, row);
        lineage->created_at[lineage->count++] = version_of(&created, row);
    }
    lmn__arena_deinit(&arena);
    return st;
}

/* What the manifest knows of every live row. No data is read. */
static enum lmn_status gather_lineage(struct copying *copying, struct lmn_error *err)
{
    struct lineage *lineage = &copying->lineage;
    struct lmn__projection nothing;
    enum lmn_status st = lmn__projection_init_nodes(
        &nothing, copying->env, &copying->manifest->schema, NULL, 0, false, err);

    if (st != LMN_OK)
        return st;
    lineage->id = lmn__calloc(copying->env, lineage->room, sizeof *lineage->id);
    lineage->updated_at = lmn__calloc(copying->env, lineage->room, sizeof *lineage->updated_at);
    lineage->created_at = lmn__calloc(copying->env, lineage->room, sizeof *lineage->created_at);
    if (lineage->id == NULL || lineage->updated_at == NULL || lineage->created_at == NULL)
        st = lmn__no_memory(err, "the ids of rows", lineage->room * sizeof *lineage->id);
    for (uint64_t i = 0; st == LMN_OK && i < copying->rewrite->count; i++) {
        struct lmn__fragment_reader *reader;
        uint64_t index;

        lmn__snapshot_find(copying->snapshot, copying->rewrite->id[i], &index);
        st = lmn__fragment_reader_open(copying->snapshot->files, copying->manifest, index, &nothing,
                                       &reader, err);
        if (st == LMN_OK)
            st = add_lineage(copying, reader, err);
        lmn__fragment_reader_close(reader);
    }
    lmn__projection_deinit(&nothing);
    return st;
}

/* Give the fragments that were written what their rows had. */
static enum lmn_status hand_on_lineage(struct copying *copying, struct lmn_error *err)
{
    const struct lineage *lineage = &copying->lineage;
    uint64_t first = 0;
    struct lmn__buf buf;
    enum lmn_status st = LMN_OK;

    lmn__buf_init(&buf, copying->env, 0);
    for (uint64_t i = 0; st == LMN_OK && i < copying->group->after_count; i++) {
        struct lmn__pb_fragment *fragment = &copying->group->after[i];
        uint64_t count = fragment->row_count;

        if (count > lineage->count - first) {
            st = lmn_fail(err, LMN_E_CORRUPT, "%llu rows were read, of which %llu are alive",
                          (unsigned long long)(first + count), (unsigned long long)lineage->count);
            break;
        }
        lmn__row_ids_write(lineage->id + first, count, &buf);
        st = lmn__arena_keep(copying->arena, &buf, "row ids", &fragment->row_ids, err);
        lmn__row_versions_write(lineage->updated_at + first, count, &buf);
        if (st == LMN_OK)
            st = lmn__arena_keep(copying->arena, &buf, "row ids", &fragment->updated_at, err);
        lmn__row_versions_write(lineage->created_at + first, count, &buf);
        if (st == LMN_OK)
            st = lmn__arena_keep(copying->arena, &buf, "row ids", &fragment->created_at, err);
        first += count;
    }
    lmn__buf_deinit(&buf);
    return st;
}

static enum lmn_status check_count(const struct copying *copying, uint64_t *row_count_out,
                                   struct lmn_error *err)
{
    *row_count_out = 0;
    for (uint64_t i = 0; i < copying->group->after_count; i++)
        *row_count_out += copying->group->after[i].row_count;
    if (*row_count_out != copying->lineage.room)
        return lmn_fail(err, LMN_E_CORRUPT, "%llu rows were read where %llu are alive",
                        (unsigned long long)*row_count_out,
                        (unsigned long long)copying->lineage.room);
    return LMN_OK;
}

enum lmn_status lmn__rewrite_fragments(const struct lmn__rewrite *rewrite, struct lmn__arena *arena,
                                       struct lmn__rewrite_group *group_out,
                                       uint64_t *row_count_out, struct lmn_error *err)
{
    struct copying copying = { .rewrite = rewrite,
                               .env = rewrite->pinned->env,
                               .manifest = lmn__table_manifest(rewrite->pinned),
                               .arena = arena,
                               .group = group_out };
    enum lmn_status st = lmn__snapshot_open(rewrite->pinned, &copying.snapshot, err);

    *group_out = (struct lmn__rewrite_group){ 0 };
    *row_count_out = 0;
    if (st == LMN_OK)
        st = find_fragments(&copying, err);
    if (st == LMN_OK && lmn__manifest_stable_ids(copying.manifest))
        st = gather_lineage(&copying, err);
    if (st == LMN_OK)
        st = copy_rows(&copying, err);
    if (st == LMN_OK)
        st = check_count(&copying, row_count_out, err);
    if (st == LMN_OK && lmn__manifest_stable_ids(copying.manifest))
        st = hand_on_lineage(&copying, err);
    if (st != LMN_OK) {
        lmn__fragments_remove(rewrite->pinned->store, group_out->after, group_out->after_count);
        *group_out = (struct lmn__rewrite_group){ 0 };
    }
    lmn__free(copying.env, copying.lineage.id);
    lmn__free(copying.env, copying.lineage.updated_at);
    lmn__free(copying.env, copying.lineage.created_at);
    lmn__snapshot_release(copying.snapshot);
    lmn__manifest_release(copying.manifest);
    return st;
}
