/* SPDX-License-Identifier: Apache-2.0 */
#include "table/move.h"

#include "base/math.h"
#include "table/row_ids.h"

void lmn__move_init(struct lmn__move *move, struct lmn_table *table, struct lmn__manifest *manifest,
                    const struct lmn_write_options *options)
{
    *move = (struct lmn__move){ .table = table, .manifest = manifest, .options = options };
    lmn__arena_init(&move->arena, table->env, 0);
    lmn__touched_init(&move->touched, table->env, manifest);
}

void lmn__move_deinit(struct lmn__move *move)
{
    lmn__fragment_writer_abort(move->moved);
    lmn__fragment_writer_abort(move->inserted);
    lmn__fragments_remove(move->table->store, move->change.added, move->change.added_count);
    lmn__touched_deinit(&move->touched);
    lmn__free(move->table->env, move->address);
    lmn__free(move->table->env, move->id);
    lmn__arena_deinit(&move->arena);
}

static enum lmn_status open_writer(struct lmn__move *move, const struct lmn__conform *conform,
                                   struct lmn__fragment_writer **writer, struct lmn_error *err)
{
    if (*writer != NULL)
        return LMN_OK;
    return lmn__fragment_writer_open(move->table->store, &conform->schema, &conform->fields,
                                     move->manifest->minor, move->options, writer, err);
}

/* Room for `more` addresses and ids. */
static enum lmn_status reserve(struct lmn__move *move, uint64_t more, struct lmn_error *err)
{
    struct lmn_env *env = move->table->env;
    uint64_t need = move->count + more, room = lmn__max_u64(move->room * 2, need);
    uint64_t *address, *id;

    if (need <= move->room)
        return LMN_OK;
    address = lmn__realloc(env, move->address, room * sizeof *address);
    if (address != NULL)
        move->address = address;
    id = lmn__realloc(env, move->id, room * sizeof *id);
    if (id != NULL)
        move->id = id;
    if (address == NULL || id == NULL)
        return lmn__no_memory(err, "the ids of moved rows", room * sizeof *id);
    move->room = room;
    return LMN_OK;
}

enum lmn_status lmn__move_rows(struct lmn__move *move, const struct lmn__conform *conform,
                               const struct ArrowArray *rows, const uint64_t *address,
                               const uint64_t *id, struct lmn_error *err)
{
    uint64_t count = (uint64_t)rows->length;
    enum lmn_status st = open_writer(move, conform, &move->moved, err);

    if (st == LMN_OK)
        st = lmn__fragment_writer_write(move->moved, rows, err);
    if (st == LMN_OK)
        st = lmn__touched_add(&move->touched, address, count, err);
    if (st == LMN_OK)
        st = reserve(move, count, err);
    if (st != LMN_OK)
        return st;
    if (count != 0) {
        memcpy(move->address + move->count, address, count * sizeof *address);
        memcpy(move->id + move->count, id, count * sizeof *id);
    }
    move->count += count;
    return LMN_OK;
}

enum lmn_status lmn__move_insert(struct lmn__move *move, const struct lmn__conform *conform,
                                 const struct ArrowArray *rows, struct lmn_error *err)
{
    enum lmn_status st = open_writer(move, conform, &move->inserted, err);

    move->inserted_count += (uint64_t)rows->length;
    return st == LMN_OK ? lmn__fragment_writer_write(move->inserted, rows, err) : st;
}

/* Which versions made the rows of a fragment, decoded at the first row of it. */
struct source {
    bool there;
    struct lmn__row_versions created;
};

static enum lmn_status read_source(struct lmn__move *move, uint64_t id, struct source *source,
                                   struct lmn_error *err)
{
    struct lmn__pb_fragment fragment = { 0 };
    uint64_t number;
    enum lmn_status st = lmn__manifest_find(move->manifest, id, &move->arena, &number, err);

    source->there = true;
    if (st == LMN_OK)
        st = lmn__manifest_fragment(move->manifest, number, &move->arena, &fragment, err);
    if (st == LMN_OK && fragment.created_at.data != NULL)
        st = lmn__row_versions_read(fragment.created_at, fragment.row_count, &move->arena,
                                    &source->created, err);
    return st;
}

/*
 * Which version made each of the moved rows. Every fragment that they come from is touched; rows
 * come in the order in which they are written, from one fragment and another.
 */
static enum lmn_status created_versions(struct lmn__move *move, uint64_t *version,
                                        struct lmn_error *err)
{
    struct lmn_env *env = move->table->env;
    struct source *source = lmn__calloc(env, move->touched.count + 1, sizeof *source);
    enum lmn_status st = LMN_OK;

    if (source == NULL)
        return lmn__no_memory(err, "versions of rows", move->touched.count * sizeof *source);
    for (uint64_t i = 0; st == LMN_OK && i < move->count; i++) {
        uint64_t id = move->address[i] >> 32;
        struct source *from = &source[lmn__touched_number(&move->touched, id)];

        if (!from->there)
            st = read_source(move, id, from, err);
        version[i] = 1;
        if (st == LMN_OK && from->created.run_count != 0)
            version[i] = lmn__row_versions_get(&from->created, (uint32_t)move->address[i]);
    }
    lmn__free(env, source);
    return st;
}

/* Moved rows keep their ids and the versions that made them. */
static enum lmn_status keep_ids(struct lmn__move *move, struct lmn__pb_fragment *fragment,
                                uint64_t count, struct lmn_error *err)
{
    uint64_t *version = lmn__calloc(move->table->env, move->count + 1, sizeof *version);
    uint64_t first = 0;
    struct lmn__buf buf;
    enum lmn_status st = version != NULL ? created_versions(move, version, err)
                                         : lmn__no_memory(err, "versions of rows", 0);

    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        uint64_t rows = fragment[i].row_count;

        lmn__buf_init(&buf, move->table->env, 0);
        lmn__row_ids_write(move->id + first, rows, &buf);
        st = lmn__arena_keep(&move->arena, &buf, "row ids", &fragment[i].row_ids, err);
        lmn__buf_init(&buf, move->table->env, 0);
        lmn__row_versions_write(version + first, rows, &buf);
        if (st == LMN_OK)
            st = lmn__arena_keep(&move->arena, &buf, "versions of rows", &fragment[i].created_at,
                                 err);
        else
            lmn__buf_deinit(&buf);
        first += rows;
    }
    lmn__free(move->table->env, version);
    return st;
}

enum lmn_status lmn__move_finish(struct lmn__move *move, struct lmn_error *err)
{
    struct lmn__fragment_writer *moved = move->moved, *inserted = move->inserted;
    struct lmn__pb_fragment *first = NULL, *second = NULL, *all;
    uint64_t first_count = 0, second_count = 0;
    enum lmn_status st = LMN_OK;

    move->moved = move->inserted = NULL;
    if (moved != NULL)
        st = lmn__fragment_writer_finish(moved, &move->arena, &first, &first_count, err);
    if (st == LMN_OK && inserted != NULL)
        st = lmn__fragment_writer_finish(inserted, &move->arena, &second, &second_count, err);
    else
        lmn__fragment_writer_abort(inserted);
    all = lmn__arena_array(&move->arena, first_count + second_count, sizeof *all);
    if (st == LMN_OK && all == NULL)
        st = lmn__arena_fail(&move->arena, "fragments", err);
    if (st != LMN_OK) {
        lmn__fragments_remove(move->table->store, first, first_count);
        lmn__fragments_remove(move->table->store, second, second_count);
        return st;
    }
    if (first_count != 0)
        memcpy(all, first, first_count * sizeof *all);
    if (second_count != 0)
        memcpy(all + first_count, second, second_count * sizeof *all);
    move->change.added = all;
    move->change.added_count = first_count + second_count;
    return lmn__manifest_stable_ids(move->manifest) ? keep_ids(move, all, first_count, err)
                                                    : LMN_OK;
}

enum lmn_status lmn__move_commit(struct lmn__move *move, struct lmn__pb_u64s modified, bool keyed,
                                 bool *again_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__move_finish(move, err);

    *again_out = false;
    if (st != LMN_OK || (move->change.added_count == 0 && move->touched.row_count == 0))
        return st;
    move->change.kind = LMN__CHANGE_MOVE;
    move->change.read_version = move->manifest->pb.version;
    move->change.known = move->manifest;
    move->change.touched = move->touched.item;
    move->change.touched_count = move->touched.count;
    move->change.fields_modified = modified;
    move->change.keyed = keyed;
    move->change.message = move->options->message;
    move->change.unsynced = move->options->unsynced;
    st = lmn__change_commit(move->table, &move->change, again_out, err);
    if (st == LMN_OK || move->change.may_stand)
        move->change.added_count = 0;
    return st;
}
