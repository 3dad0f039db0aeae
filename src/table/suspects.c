/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk goes from version to version, passes over commits that change no value of a row that was
 * there, and looks at the fragments that are not the same, to the byte, as before:
 *
 *   a fragment that was there    its rows are suspects if an input lies in another file or column,
 *                                or its cells do and their writer does not say what it has read
 *   a new one, by an update      its rows are suspects, unless the update names the fields that it
 *                                set and no input is among them
 *   ... by a rewrite             its rows are what they were before
 *   ... by anything else         everything is suspect
 *
 * Rows are kept by their ids, which stay with them. Where ids are not stable, fragments are kept,
 * and one that is made while there are suspects becomes one, because it may have their rows.
 *
 * Cells may have been computed from a version before the one that the walk began at, by a job that
 * was under way then. Their writer says so, and the walk begins again from there.
 */
#include "table/suspects.h"

#include "base/hash.h"
#include "base/json.h"
#include "table/conflict.h"
#include "table/diff_plan.h"
#include "table/fragment_reader.h"

struct walk {
    struct lmn_table *table;
    struct lmn__manifest *to;
    const struct lmn__suspects_query *query;
    struct lmn__suspects *suspects;
    int32_t *cell; /* ids of the ledger's fields */
    uint32_t cell_count;
    uint64_t read_min; /* the oldest version that cells were computed from */
};

/* One step of the walk. */
struct step {
    const struct lmn__manifest *before, *now;
    struct lmn__pb_transaction transaction;
    struct lmn__arena arena; /* of the transaction */
};

uint64_t lmn__fields_place(const struct lmn__pb_fragment *fragment, const int32_t *id,
                           uint32_t count)
{
    const struct lmn__pb_data_file *file = fragment->files.item;
    uint64_t hash = 0;

    for (uint32_t k = 0; k < count; k++) {
        for (size_t i = 0; i < fragment->files.count; i++) {
            for (size_t n = 0; n < file[i].fields.count; n++) {
                uint64_t place[4] = { hash, k, 0, file[i].has_base ? file[i].base : UINT64_MAX };

                if ((int32_t)file[i].fields.item[n] != id[k])
                    continue;
                place[2] = n < file[i].columns.count ? file[i].columns.item[n] : n;
                hash = lmn__hash64_seeded(file[i].path.data, file[i].path.len,
                                          lmn__hash64(place, sizeof place));
            }
        }
    }
    return hash;
}

static enum lmn_status add_fragment(struct walk *walk, const struct lmn__pb_fragment *fragment,
                                    struct lmn__arena *arena, struct lmn_error *err)
{
    struct lmn__row_ids ids;
    enum lmn_status st;

    if (!lmn__manifest_stable_ids(walk->to))
        return lmn__id_set_add(&walk->suspects->fragment, fragment->id, 1, err);
    st = lmn__row_ids_read(fragment->row_ids, fragment->row_count, arena, &ids, err);
    for (uint64_t i = 0; st == LMN_OK && i < ids.run_count; i++)
        st = lmn__id_set_add(&walk->suspects->row, ids.run[i].id, ids.run[i].count, err);
    return st;
}

static bool is_input(const struct walk *walk, int32_t field)
{
    for (uint32_t i = 0; i < walk->query->input_count; i++) {
        if (walk->query->input[i] == field)
            return true;
    }
    return false;
}

/* May an update have set inputs? Writers that do not say which fields they set are not trusted. */
static bool sets_inputs(const struct walk *walk, const struct lmn__pb_update *update)
{
    for (size_t i = 0; i < update->fields_modified.count; i++) {
        if (is_input(walk, (int32_t)update->fields_modified.item[i]))
            return true;
    }
    return update->fields_modified.count == 0;
}

static enum lmn_status see_new(struct walk *walk, const struct step *step,
                               const struct lmn__pb_fragment *fragment, struct lmn__arena *arena,
                               struct lmn_error *err)
{
    const struct lmn__pb_transaction *transaction = &step->transaction;
    bool suspect = walk->suspects->fragment.count != 0;

    if (transaction->update != NULL)
        suspect |= sets_inputs(walk, transaction->update);
    else if (transaction->rewrite == NULL)
        walk->suspects->all = true;
    return suspect ? add_fragment(walk, fragment, arena, err) : LMN_OK;
}

/* The version that the transaction's writer has read inputs of; false: it does not say. */
static bool read_version(const struct step *step, uint64_t *version_out)
{
    const struct lmn__pb_entry *entry = step->transaction.properties.item;

    for (size_t i = 0; i < step->transaction.properties.count; i++) {
        if (lmn__span_equal(entry[i].key, LMN__READ_VERSION_KEY))
            return lmn__json_to_u64(entry[i].value, version_out);
    }
    return false;
}

static enum lmn_status see_changed(struct walk *walk, const struct step *step,
                                   const struct lmn__pb_fragment *before,
                                   const struct lmn__pb_fragment *fragment,
                                   struct lmn__arena *arena, struct lmn_error *err)
{
    const struct lmn__suspects_query *query = walk->query;
    bool suspect = lmn__fields_place(before, query->input, query->input_count) !=
                   lmn__fields_place(fragment, query->input, query->input_count);
    uint64_t version;

    if (lmn__fields_place(before, walk->cell, walk->cell_count) !=
        lmn__fields_place(fragment, walk->cell, walk->cell_count)) {
        if (!read_version(step, &version))
            suspect = true;
        else if (version < walk->read_min)
            walk->read_min = version;
    }
    return suspect ? add_fragment(walk, fragment, arena, err) : LMN_OK;
}

static enum lmn_status see_fragment(struct walk *walk, const struct step *step, uint64_t index,
                                    struct lmn_error *err)
{
    struct lmn__pb_fragment fragment, before;
    struct lmn__arena arena;
    uint64_t number;
    enum lmn_status st;

    lmn__arena_init(&arena, walk->table->env, 0);
    st = lmn__manifest_fragment(step->now, index, &arena, &fragment, err);
    if (st == LMN_OK) {
        st = lmn__manifest_find(step->before, fragment.id, &arena, &number, err);
        if (st == LMN_E_NOT_FOUND) {
            st = see_new(walk, step, &fragment, &arena, err);
        } else if (st == LMN_OK) {
            st = lmn__manifest_fragment(step->before, number, &arena, &before, err);
            if (st == LMN_OK)
                st = see_changed(walk, step, &before, &fragment, &arena, err);
        }
    }
    lmn__arena_deinit(&arena);
    return st;
}

/* Fragments of other tables, or of an earlier version, under ids that were used before. */
static bool replaces_all(const struct lmn__pb_transaction *transaction)
{
    return transaction->overwrite != NULL || transaction->restore != NULL ||
           transaction->clone.data != NULL;
}

/* Commits that leave the values of all rows, and where they lie, as they are. */
static bool touches_nothing(const struct lmn__pb_transaction *transaction)
{
    return transaction->append != NULL || transaction->delete != NULL ||
           transaction->create_index.data != NULL || transaction->reserve != NULL ||
           transaction->project != NULL || transaction->update_config.data != NULL;
}

static enum lmn_status take_step(struct walk *walk, struct step *step, struct lmn_error *err)
{
    struct lmn__fragment_table known;
    enum lmn_status st = lmn__transaction_read(walk->table->store, step->now, &step->arena,
                                               &step->transaction, err);

    if (st == LMN_E_NOT_FOUND || (st == LMN_OK && replaces_all(&step->transaction))) {
        walk->suspects->all = true;
        return LMN_OK;
    }
    if (st != LMN_OK || touches_nothing(&step->transaction))
        return st;
    st = lmn__fragment_table_init(&known, step->before, err);
    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(step->now); i++) {
        if (!lmn__fragment_table_has(&known, step->now->pb.fragments.item[i]))
            st = see_fragment(walk, step, i, err);
    }
    lmn__fragment_table_deinit(&known);
    return st;
}

static enum lmn_status read_manifest(struct walk *walk, uint64_t version,
                                     struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    if (version != walk->to->pb.version)
        return lmn__table_read_past(walk->table, version, walk->to->plain_name, manifest_out, err);
    *manifest_out = lmn__manifest_acquire(walk->to);
    return LMN_OK;
}

/* Walk from a version to the last one. A version that is not there any more: all is suspect. */
static enum lmn_status walk_from(struct walk *walk, uint64_t version, struct lmn_error *err)
{
    struct lmn__manifest *before = NULL, *now = NULL;
    enum lmn_status st = read_manifest(walk, version, &before, err);

    while (st == LMN_OK && !walk->suspects->all && version < walk->to->pb.version) {
        struct step step = { .before = before };

        st = read_manifest(walk, ++version, &now, err);
        if (st != LMN_OK)
            break;
        step.now = now;
        lmn__arena_init(&step.arena, walk->table->env, 0);
        st = take_step(walk, &step, err);
        lmn__arena_deinit(&step.arena);
        lmn__manifest_release(before);
        before = now;
    }
    lmn__manifest_release(before);
    if (st == LMN_E_NOT_FOUND) {
        walk->suspects->all = true;
        st = LMN_OK;
    }
    return st;
}

enum lmn_status lmn__suspects_find(struct lmn_table *table, struct lmn__manifest *manifest,
                                   const struct lmn__suspects_query *query,
                                   struct lmn__suspects *suspects_out, struct lmn_error *err)
{
    int32_t cell[] = { query->ledger->field->id, 0, 0, 0 };
    struct walk walk = { .table = table,
                         .to = manifest,
                         .query = query,
                         .suspects = suspects_out,
                         .cell = cell,
                         .cell_count = 1,
                         .read_min = query->since };
    uint64_t from = query->since + 1;
    enum lmn_status st = LMN_OK;

    *suspects_out = (struct lmn__suspects){ .env = table->env };
    lmn__id_set_init(&suspects_out->row, table->env);
    lmn__id_set_init(&suspects_out->fragment, table->env);
    for (const struct lmn__node *child = query->ledger->child; child != NULL; child = child->next)
        cell[walk.cell_count++] = child->field->id;
    /* Each turn begins earlier than the one before, or is the last. */
    while (st == LMN_OK && !suspects_out->all && walk.read_min < from) {
        from = walk.read_min;
        suspects_out->all = from == 0 || from > manifest->pb.version;
        if (!suspects_out->all)
            st = walk_from(&walk, from, err);
    }
    lmn__id_set_sort(&suspects_out->row);
    lmn__id_set_sort(&suspects_out->fragment);
    return st;
}

void lmn__suspects_deinit(struct lmn__suspects *suspects)
{
    lmn__id_set_deinit(&suspects->row);
    lmn__id_set_deinit(&suspects->fragment);
}

enum lmn_status lmn__suspects_list(const struct lmn__suspects *suspects,
                                   const struct lmn__pb_fragment *fragment,
                                   const struct lmn__row_ids *ids,
                                   const struct lmn__deletion *deletion, struct lmn__row_list *list,
                                   struct lmn_error *err)
{
    bool inside = suspects->all;
    enum lmn_status st = LMN_OK;

    if (!inside && suspects->fragment.count != 0)
        lmn__id_set_run(&suspects->fragment, fragment->id, 1, &inside);
    if (inside)
        return lmn__row_list_add_live(list, deletion, 0, fragment->row_count, err);
    for (uint64_t i = 0; suspects->row.count != 0 && st == LMN_OK && i < ids->run_count; i++) {
        struct lmn__id_run rest = ids->run[i];

        while (st == LMN_OK && rest.count != 0) {
            uint64_t count = lmn__id_set_run(&suspects->row, rest.id, rest.count, &inside);

            if (inside)
                st = lmn__row_list_add_live(list, deletion, rest.row, count, err);
            rest = (struct lmn__id_run){ rest.row + count, rest.id + count, rest.count - count };
        }
    }
    return st;
}
