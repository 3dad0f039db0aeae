/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/table_blob.h>

#include "base/error.h"
#include "format/blob.h"
#include "table/fragment_reader.h"
#include "table/id_index.h"
#include "table/snapshot.h"
#include "table/table_fields.h"

struct lmn_table_blob {
    struct lmn_env *env;   /* counted */
    struct lmn_file *file; /* counted */
    struct lmn_blob place;
};

/* Where a row is. */
struct place {
    uint64_t fragment, row; /* its number, and the physical row in it */
};

/* The fragment of a live row, and the physical row. */
static enum lmn_status find_position(struct lmn__snapshot *snapshot, uint64_t position,
                                     struct place *place_out, struct lmn_error *err)
{
    struct lmn__projection nothing;
    struct lmn__fragment_reader *reader;
    enum lmn_status st;

    if (position >= snapshot->row_count)
        return lmn_fail(err, LMN_E_INVALID, "row %llu of a table of %llu rows",
                        (unsigned long long)position, (unsigned long long)snapshot->row_count);
    place_out->fragment = lmn__snapshot_fragment_of(snapshot, position);
    st = lmn__projection_init_nodes(&nothing, snapshot->env, &snapshot->manifest->schema, NULL, 0,
                                    LMN_BLOB_DESCRIPTORS, err);
    if (st != LMN_OK)
        return st;
    st = lmn__fragment_reader_open(snapshot->files, snapshot->manifest, place_out->fragment,
                                   &nothing, &reader, err);
    if (st == LMN_OK)
        place_out->row = lmn__fragment_reader_live_row(
            reader, position - snapshot->fragment[place_out->fragment].live_before);
    lmn__fragment_reader_close(reader);
    lmn__projection_deinit(&nothing);
    return st;
}

static enum lmn_status find_id(struct lmn__snapshot *snapshot, uint64_t id, struct place *place_out,
                               struct lmn_error *err)
{
    const struct lmn__id_index *ids = NULL;
    enum lmn_status st = LMN_OK;
    bool found;

    if (lmn__manifest_stable_ids(snapshot->manifest))
        st = lmn__id_index_of(snapshot, &ids, err);
    if (st != LMN_OK)
        return st;
    place_out->row = (uint32_t)id;
    found = ids != NULL ? lmn__id_index_find(ids, id, &place_out->fragment, &place_out->row)
                        : lmn__snapshot_find(snapshot, id >> 32, &place_out->fragment);
    if (!found || place_out->row >= snapshot->fragment[place_out->fragment].row_count)
        return lmn_fail(err, LMN_E_NOT_FOUND, "version %llu has no row with id %llu",
                        (unsigned long long)snapshot->manifest->pb.version, (unsigned long long)id);
    return LMN_OK;
}

/* The node of a file that has this column. */
static const struct lmn__node *find_node(const struct lmn_file *file, uint64_t column)
{
    for (uint32_t i = 0; i < file->schema.node_count; i++) {
        const struct lmn__node *node = &file->schema.node[i];

        if (node->column == column && node->blob != LMN__BLOB_NONE)
            return node;
    }
    return NULL;
}

/* Look the blob up in the file of the fragment that has the field; none has it: it is null. */
static enum lmn_status look_up(struct lmn_table_blob *blob, struct lmn__snapshot *snapshot,
                               const struct lmn__pb_fragment *fragment, int32_t field, uint64_t row,
                               struct lmn_error *err)
{
    const struct lmn__pb_data_file *file = fragment->files.item;
    const struct lmn__node *node;
    uint64_t column = 0;
    size_t found = fragment->files.count;
    enum lmn_status st;

    blob->place.is_null = true;
    for (size_t i = 0; i < fragment->files.count; i++) {
        for (size_t k = 0; k < file[i].fields.count; k++) {
            if ((int32_t)file[i].fields.item[k] != field)
                continue;
            found = i;
            column = file[i].columns.item[k];
        }
    }
    if (found == fragment->files.count)
        return LMN_OK;
    st = lmn__file_set_open(snapshot->files, snapshot->manifest, &file[found], &blob->file, err);
    if (st != LMN_OK)
        return st;
    node = find_node(blob->file, column);
    if (node == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "%.200s: column %llu holds no blobs",
                        blob->file->object.name, (unsigned long long)column);
    return lmn__file_blob(blob->file, node, row, &blob->place, err);
}

static enum lmn_status find(struct lmn_table_blob *blob, struct lmn__snapshot *snapshot,
                            const char *column, uint64_t row, bool by_position,
                            struct lmn_error *err)
{
    struct lmn__pb_fragment fragment;
    const struct lmn__node *node;
    struct lmn__arena arena;
    struct place place;
    enum lmn_status st = lmn__fields_find(snapshot->manifest, column, &node, err);

    if (st == LMN_OK && node->blob == LMN__BLOB_NONE)
        st = lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" holds no blobs", column);
    if (st == LMN_OK)
        st = by_position ? find_position(snapshot, row, &place, err)
                         : find_id(snapshot, row, &place, err);
    if (st != LMN_OK)
        return st;
    lmn__arena_init(&arena, snapshot->env, 0);
    st = lmn__manifest_fragment(snapshot->manifest, place.fragment, &arena, &fragment, err);
    if (st == LMN_OK)
        st = look_up(blob, snapshot, &fragment, node->field->id, place.row, err);
    lmn__arena_deinit(&arena);
    return st;
}

enum lmn_status lmn_table_blob_open(struct lmn_table *table, const char *column, uint64_t row,
                                    bool by_position, struct lmn_table_blob **blob_out,
                                    struct lmn_error *err)
{
    struct lmn_table_blob *blob = lmn__calloc(table->env, 1, sizeof *blob);
    struct lmn__snapshot *snapshot;
    enum lmn_status st;

    *blob_out = NULL;
    if (blob == NULL)
        return lmn__no_memory(err, "a blob", sizeof *blob);
    blob->env = lmn_env_acquire(table->env);
    st = lmn__snapshot_open(table, &snapshot, err);
    if (st == LMN_OK) {
        st = find(blob, snapshot, column, row, by_position, err);
        lmn__snapshot_release(snapshot);
    }
    if (st != LMN_OK || blob->place.is_null)
        lmn_table_blob_close(blob);
    else
        *blob_out = blob;
    return st;
}

void lmn_table_blob_close(struct lmn_table_blob *blob)
{
    struct lmn_env *env;

    if (blob == NULL)
        return;
    env = blob->env;
    lmn_file_release(blob->file);
    lmn__free(env, blob);
    lmn_env_release(env);
}

uint64_t lmn_table_blob_bytes(const struct lmn_table_blob *blob)
{
    return blob->place.bytes;
}

enum lmn_status lmn_table_blob_read(const struct lmn_table_blob *blob, uint64_t offset, void *data,
                                    size_t len, struct lmn_error *err)
{
    return lmn_file_read_blob(blob->file, &blob->place, offset, data, len, err);
}
