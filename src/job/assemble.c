/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The steps of a commit, each durable before the next:
 *
 *   1. the journal notes the names of the files that are about to come
 *   2. the files are written, synced, and get their names in data/
 *   3. the records of failed cells
 *   4. the version: a data replacement of all fragments
 *   5. the journal retires the receipts
 *
 * A crash between 1 and 5 is settled by lmn__assemble_recover(). When others commit between 2 and
 * 4, the files stand: what is made again is the change, from the newest version. Only a fragment
 * whose columns of the fill were filled by others meanwhile is written again, for the rows that it
 * keeps; all are when rows may be back that were deleted; and one that is gone is told to the
 * caller.
 */
#include "job/assemble.h"

#include <stdio.h>

#include "base/error.h"
#include "base/hash.h"
#include "job/error_file.h"
#include "job/recover.h"
#include "job/unit_file.h"
#include "os/random.h"
#include "table/change.h"

enum { NAME_BYTES = 2 * LMN__TOKEN_CHARS + 8, ATTEMPTS_MAX = 20 };

/* A fragment of the commit. */
struct unit {
    uint64_t fragment_id, layout;
    uint64_t row_count;
    uint64_t index; /* in the version that was read */
    const struct lmn__receipt *receipt;
    uint64_t receipt_count;
    uint64_t source; /* a hash of the files that held the columns when the file was made */
    char name[NAME_BYTES];
    uint64_t bytes; /* of the file */
    bool direct;    /* it is made where pages are in their place */
    bool copies;    /* pages of the file that held the columns */
    bool segments;  /* of the receipts, some are in segments */
    bool written;
};

struct assembly {
    const struct lmn__assemble_options *options;
    struct lmn__arena arena;
    struct lmn__fill_columns columns; /* of the version that was read */
    struct unit *unit;
    uint64_t count;
    struct lmn__error_file errors;
    char errors_name[NAME_BYTES];
    uint64_t written_version; /* that the files were made at */
    uint64_t inputs_version;  /* that the results were computed from; 0: of different ones */
    bool moved;               /* a fragment is gone */
    bool again;               /* a file has to be made again */
};

static enum lmn_status make_name(char name_out[NAME_BYTES], const char *suffix,
                                 struct lmn_error *err)
{
    char one[LMN__TOKEN_CHARS], two[LMN__TOKEN_CHARS];
    enum lmn_status st = lmn__random_token(one, err);

    if (st == LMN_OK)
        st = lmn__random_token(two, err);
    if (st == LMN_OK)
        snprintf(name_out, NAME_BYTES, "%s%s%s", one, two, suffix);
    return st;
}

/* A number that changes when other files hold the columns. */
static uint64_t hash_source(const struct assembly *assembly,
                            const struct lmn__pb_fragment *fragment)
{
    const struct lmn__pb_data_file *file = fragment->files.item;
    uint64_t hash = 0;

    for (size_t i = 0; i < fragment->files.count; i++) {
        for (size_t k = 0; k < file[i].fields.count; k++) {
            uint64_t part[3] = { hash, file[i].fields.item[k],
                                 lmn__hash64(file[i].path.data, file[i].path.len) };

            if (lmn__fill_columns_has(&assembly->columns, (int32_t)part[1]))
                hash = lmn__hash64(part, sizeof part);
        }
    }
    return hash;
}

static const struct lmn__plan_fragment *find_planned(const struct lmn__plan *plan, uint64_t id)
{
    uint64_t low = 0, high = plan->fragment_count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (plan->fragment[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < plan->fragment_count && plan->fragment[low].id == id ? &plan->fragment[low] : NULL;
}

/* Find the fragment of a unit in the version that was read. */
static enum lmn_status locate(struct assembly *assembly, struct unit *unit,
                              struct lmn__pb_fragment *fragment_out, struct lmn_error *err)
{
    struct lmn__manifest *manifest = assembly->columns.manifest;
    enum lmn_status st = lmn__manifest_find(manifest, unit->fragment_id, &assembly->arena,
                                            &unit->index, err);

    *fragment_out = (struct lmn__pb_fragment){ 0 };
    if (st == LMN_E_NOT_FOUND) {
        assembly->moved = true;
        return LMN_OK;
    }
    if (st == LMN_OK)
        st = lmn__manifest_fragment(manifest, unit->index, &assembly->arena, fragment_out, err);
    if (st == LMN_OK && fragment_out->row_count != unit->row_count)
        st = lmn_fail(err, LMN_E_CONFLICT, "fragment %llu has %llu rows, and had %llu",
                      (unsigned long long)unit->fragment_id,
                      (unsigned long long)fragment_out->row_count,
                      (unsigned long long)unit->row_count);
    return st;
}

/* Read the newest version, and where the columns are in it. */
static enum lmn_status read_newest(struct assembly *assembly, struct lmn_error *err)
{
    const struct lmn__assemble_options *options = assembly->options;
    struct lmn__manifest *manifest;
    enum lmn_status st = lmn__table_newest(options->table, &manifest, err);

    if (st != LMN_OK)
        return st;
    lmn__fill_columns_deinit(&assembly->columns);
    st = lmn__manifest_check_writable(manifest, err);
    if (st == LMN_OK)
        st = lmn__fill_columns_follow(&assembly->columns, manifest, options->named, options->output,
                                      options->output_count,
                                      lmn__journal_key(options->journal)->field_id, err);
    lmn__manifest_release(manifest);
    return st != LMN_OK ? lmn__fail_within(err, st, "%.200s", options->table->store->name) : st;
}

static enum lmn_status list_units(struct assembly *assembly, const struct lmn__plan *plan,
                                  const uint64_t *fragment_id, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    assembly->unit = lmn__arena_array(&assembly->arena, assembly->count, sizeof *assembly->unit);
    if (assembly->unit == NULL)
        return lmn__arena_fail(&assembly->arena, "a list of fragments", err);
    for (uint64_t i = 0; st == LMN_OK && i < assembly->count; i++) {
        const struct lmn__plan_fragment *planned = find_planned(plan, fragment_id[i]);
        struct unit *unit = &assembly->unit[i];
        struct lmn__pb_fragment fragment;

        if (planned == NULL)
            return lmn_fail(err, LMN_E_INVALID, "fragment %llu is not in the plan",
                            (unsigned long long)fragment_id[i]);
        unit->fragment_id = planned->id;
        unit->layout = planned->layout;
        unit->row_count = planned->row_count;
        st = locate(assembly, unit, &fragment, err);
        if (st != LMN_OK || assembly->moved)
            break;
        unit->source = hash_source(assembly, &fragment);
        st = lmn__journal_receipts(assembly->options->journal, unit->fragment_id, unit->layout,
                                   &unit->receipt, &unit->receipt_count, err);
        if (st == LMN_OK)
            st = lmn__unit_file_may_copy(assembly->options->table, &assembly->columns, unit->index,
                                         unit->receipt, unit->receipt_count, &unit->copies, err);
        unit->direct = unit->copies || lmn__unit_file_is_direct(&assembly->columns, unit->receipt,
                                                                unit->receipt_count);
        for (uint64_t k = 0; k < unit->receipt_count; k++)
            unit->segments = unit->segments || unit->receipt[k].segments;
        if (st == LMN_OK)
            st = make_name(unit->name, ".lance", err);
    }
    return st;
}

/* The note of a unit's file, which comes into a version behind `version`. */
static struct lmn__published published_of(const struct unit *unit, uint64_t version)
{
    return (struct lmn__published){ unit->fragment_id,
                                    unit->layout,
                                    version,
                                    { (const uint8_t *)unit->name, strlen(unit->name) },
                                    unit->direct };
}

static enum lmn_status note_names(struct assembly *assembly, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < assembly->count; i++) {
        struct lmn__published published = published_of(&assembly->unit[i],
                                                       assembly->columns.manifest->pb.version);

        st = lmn__journal_publish(assembly->options->journal, &published, err);
    }
    return st == LMN_OK ? lmn__journal_sync(assembly->options->journal, err) : st;
}

static enum lmn_status write_unit(struct assembly *assembly, struct unit *unit,
                                  struct lmn_error *err)
{
    const struct lmn__assemble_options *options = assembly->options;
    struct lmn__unit_file file = { .table = options->table,
                                   .journal = options->journal,
                                   .columns = &assembly->columns,
                                   .index = unit->index,
                                   .fragment_id = unit->fragment_id,
                                   .layout = unit->layout,
                                   .row_count = unit->row_count,
                                   .receipt = unit->receipt,
                                   .receipt_count = unit->receipt_count,
                                   .name = unit->name,
                                   .unsynced = options->unsynced,
                                   .copies = unit->copies };
    enum lmn_status st = lmn__unit_rows_open(options->table, &assembly->columns, unit->index,
                                             lmn__journal_dir(options->journal), unit->receipt,
                                             unit->receipt_count, &file.rows, err);

    if (st != LMN_OK)
        return lmn__fail_within(err, st, "fragment %llu", (unsigned long long)unit->fragment_id);
    st = lmn__unit_file_write(&file, &unit->bytes, err);
    if (st == LMN_OK)
        st = lmn__error_file_add(&assembly->errors, options->journal, unit->receipt,
                                 unit->receipt_count,
                                 lmn__fragment_reader_ids(lmn__unit_rows_reader(file.rows)), err);
    lmn__unit_rows_close(file.rows);
    return st;
}

static enum lmn_status write_files(struct assembly *assembly, struct lmn_error *err)
{
    struct lmn_store *store = assembly->options->table->store;
    bool direct = false;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < assembly->count; i++) {
        assembly->unit[i].written = true;
        direct = direct || assembly->unit[i].direct;
        st = write_unit(assembly, &assembly->unit[i], err);
    }
    if (st != LMN_OK || !direct || assembly->options->unsynced)
        return st;
    st = store->ops->sync_dir(store, "data", err);
    if (st == LMN_OK)
        st = store->ops->sync_dir(store, lmn__journal_dir(assembly->options->journal), err);
    return st;
}

static enum lmn_status put_errors(struct assembly *assembly, struct lmn_error *err)
{
    uint32_t count = assembly->options->output_count;
    int32_t *id = lmn__arena_array(&assembly->arena, count, sizeof *id);
    enum lmn_status st = make_name(assembly->errors_name, "", err);

    if (id == NULL)
        return lmn__arena_fail(&assembly->arena, "a list of fields", err);
    for (uint32_t i = 0; i < count; i++)
        id[i] = assembly->columns.node[i]->field->id;
    return st == LMN_OK ? lmn__error_file_put(&assembly->errors, assembly->options->table->store,
                                              id, count, assembly->errors_name, err)
                        : st;
}

/* The files that a fragment has left, without the columns of the fill, and the one of the unit. */
static enum lmn_status replace_file(struct assembly *assembly, const struct unit *unit,
                                    struct lmn__pb_fragment *fragment, struct lmn_error *err)
{
    const struct lmn__pb_data_file *before = fragment->files.item;
    struct lmn__pb_data_file *file = lmn__arena_array(&assembly->arena, fragment->files.count + 1,
                                                      sizeof *file);
    size_t count = 0;

    if (file == NULL)
        return lmn__arena_fail(&assembly->arena, "a fragment", err);
    for (size_t i = 0; i < fragment->files.count; i++) {
        bool live = false;

        file[count] = before[i];
        for (size_t k = 0; k < before[i].fields.count; k++) {
            uint64_t *field = &file[count].fields.item[k];

            if (lmn__fill_columns_has(&assembly->columns, (int32_t)*field))
                *field = (uint64_t)INT64_C(-2);
            live = live || (int32_t)*field >= 0;
        }
        count += live;
    }
    file[count++] =
        (struct lmn__pb_data_file){ .path = { (const uint8_t *)unit->name, strlen(unit->name) },
                                    .fields = assembly->columns.fields,
                                    .columns = assembly->columns.leaf_column,
                                    .major = 2,
                                    .minor = assembly->columns.manifest->minor,
                                    .bytes = unit->bytes };
    fragment->files = (struct lmn__pb_list){ file, count };
    return LMN_OK;
}

/* The change, against the version that was read. */
static enum lmn_status make_change(struct assembly *assembly, struct lmn__change *change_out,
                                   struct lmn_error *err)
{
    struct lmn__pb_fragment *fragment = lmn__arena_array(&assembly->arena, assembly->count,
                                                         sizeof *fragment);
    enum lmn_status st = LMN_OK;

    *change_out = (struct lmn__change){ .kind = LMN__CHANGE_REPLACE,
                                        .read_version = assembly->columns.manifest->pb.version,
                                        .known = assembly->columns.manifest,
                                        .replaced = fragment,
                                        .replaced_count = assembly->count,
                                        .fields_modified = assembly->columns.fields,
                                        .inputs_version = assembly->inputs_version,
                                        .unsynced = assembly->options->unsynced };
    if (fragment == NULL)
        return lmn__arena_fail(&assembly->arena, "a list of fragments", err);
    for (uint64_t i = 0; st == LMN_OK && i < assembly->count; i++) {
        struct unit *unit = &assembly->unit[i];

        st = locate(assembly, unit, &fragment[i], err);
        if (st != LMN_OK || assembly->moved)
            break;
        if (hash_source(assembly, &fragment[i]) != unit->source)
            assembly->again = true;
        st = replace_file(assembly, unit, &fragment[i], err);
    }
    return st;
}

/* Commit, and again from the newest version while others come in between. */
static enum lmn_status commit(struct assembly *assembly, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
        struct lmn__change change;
        bool again = false;

        st = make_change(assembly, &change, err);
        if (st != LMN_OK || assembly->moved || assembly->again)
            return st;
        st = lmn__change_commit(assembly->options->table, &change, &again, err);
        if (st != LMN_E_CONFLICT || !again)
            return st;
        st = read_newest(assembly, err);
        if (st != LMN_OK)
            return st;
        assembly->again = lmn__change_went_back(assembly->options->table, assembly->written_version,
                                                assembly->columns.manifest);
    }
    return lmn_fail(err, LMN_E_CONFLICT, "%.200s: %d attempts to commit were each overtaken",
                    assembly->options->table->store->name, ATTEMPTS_MAX);
}

static enum lmn_status retire(struct assembly *assembly, struct lmn_error *err)
{
    struct lmn__journal *journal = assembly->options->journal;
    uint64_t *id = lmn__arena_array(&assembly->arena, assembly->count, sizeof *id);
    uint64_t *layout = lmn__arena_array(&assembly->arena, assembly->count, sizeof *layout);
    enum lmn_status st;

    if (id == NULL || layout == NULL)
        return lmn__arena_fail(&assembly->arena, "a list of fragments", err);
    for (uint64_t i = 0; i < assembly->count; i++) {
        id[i] = assembly->unit[i].fragment_id;
        layout[i] = assembly->unit[i].layout;
    }
    st = lmn__journal_retire_all(journal, id, layout, assembly->count, err);
    if (st == LMN_OK)
        st = lmn__journal_sync(journal, err);
    for (uint64_t i = 0; st == LMN_OK && i < assembly->count; i++) {
        if (assembly->unit[i].segments)
            lmn__segment_files_remove(assembly->options->table->store, journal, id[i], layout[i]);
    }
    return st;
}

/* Files that did not come into a version go back. */
static void take_back(struct assembly *assembly)
{
    for (uint64_t i = 0; i < assembly->count; i++) {
        struct lmn__published published = published_of(&assembly->unit[i], 0);

        if (assembly->unit[i].written &&
            lmn__published_take_back(assembly->options->table->store, assembly->options->journal,
                                     &published, NULL) != LMN_OK)
            return; /* the journal names them: they are taken back when it is opened */
    }
}

static enum lmn_status assemble(struct assembly *assembly, const struct lmn__plan *plan,
                                const uint64_t *fragment_id, struct lmn_error *err)
{
    enum lmn_status st = read_newest(assembly, err);

    if (st == LMN_OK)
        st = list_units(assembly, plan, fragment_id, err);
    if (st != LMN_OK || assembly->moved)
        return st;
    assembly->written_version = assembly->columns.manifest->pb.version;
    /* A layout says which inputs it is about, but for results that were carried to moved rows. */
    assembly->inputs_version = plan->version;
    for (uint64_t i = 0; i < assembly->count; i++) {
        if (assembly->unit[i].layout == LMN__LAYOUT_CARRIED)
            assembly->inputs_version = 0;
    }
    st = note_names(assembly, err);
    if (st == LMN_OK)
        st = write_files(assembly, err);
    if (st == LMN_OK)
        st = put_errors(assembly, err);
    if (st == LMN_OK)
        st = commit(assembly, err);
    if (st == LMN_OK && !assembly->moved && !assembly->again)
        return retire(assembly, err);
    /* After a failed sync the commit may stand all the same. */
    if (st != LMN_E_IO)
        take_back(assembly);
    return st;
}

enum lmn_status lmn__assemble_commit(const struct lmn__assemble_options *options,
                                     const struct lmn__plan *plan, const uint64_t *fragment_id,
                                     uint64_t count, bool *moved_out, struct lmn_error *err)
{
    bool again = true;
    enum lmn_status st = LMN_OK;

    *moved_out = false;
    for (int attempt = 0; again && st == LMN_OK && attempt < ATTEMPTS_MAX; attempt++) {
        struct assembly assembly = { .options = options, .count = count };

        lmn__arena_init(&assembly.arena, options->table->env, 0);
        lmn__error_file_init(&assembly.errors, options->table->env);
        st = assemble(&assembly, plan, fragment_id, err);
        *moved_out = assembly.moved;
        again = assembly.again;
        lmn__fill_columns_deinit(&assembly.columns);
        lmn__error_file_deinit(&assembly.errors);
        lmn__arena_deinit(&assembly.arena);
    }
    if (st == LMN_OK && again)
        st = lmn_fail(err, LMN_E_CONFLICT, "others filled the same columns %d times meanwhile",
                      ATTEMPTS_MAX);
    return st;
}
