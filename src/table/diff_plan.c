/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are told apart by their stable ids, and a changed row by the version that its fragment
 * says has changed it last: its stamp. Fragments that both versions have, to the byte, are passed
 * over; of the others, the live rows are listed as runs { first id, count, stamp }, sorted, and
 * swept: an id on one side only is inserted or deleted, an id on both sides was perhaps updated.
 *
 * Stamps alone do not tell what was updated: adding a column, or replacing one, raises those of
 * whole fragments. So the way from one version to the other is cut at the commits that did so:
 *
 *   from ... v-1 | v | v ... to      v: a merge or a data replacement
 *
 * Between two cuts a row was updated if its stamp is another one. Across a cut a row was updated if
 * a column that both `from` and `to` have lies in another file than before; a column that is added
 * changes no row, and neither does a compaction, which keeps stamps.
 *
 * A restored version goes on from the one that it has the content of, so the way leads back from
 * both ends to the version where they meet:
 *
 *   1 ... 3 ... from
 *         \ restored ... to
 *
 * A column is the same at both ends if a field with its id is there all along: ids of dropped
 * columns are given to others.
 *
 * Where versions on the way are gone, or do not tell what they did, there is no cut, and
 * stamps decide: some rows are then said to be updated that were not, but none is left out.
 */
#include "table/diff_plan.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/math.h"
#include "table/conflict.h"
#include "table/fragment_reader.h"
#include "table/shared_fields.h"

/* Rows whose fragment does not say what changed them last. */
#define NO_STAMP UINT64_MAX

struct run {
    uint64_t id;
    uint64_t count;
    uint64_t stamp;
};

struct runs {
    struct run *run;
    uint64_t count, room;
};

struct planning {
    struct lmn_table *table;
    struct lmn_env *env;
    struct lmn__manifest *from, *to;
    struct lmn__diff_plan *plan;
    struct lmn__id_set common; /* ids of changed fragments that both versions have */
};

struct lmn__fragment_key {
    uint64_t hash;
    uint64_t index;
};

static int compare_keys(const void *a, const void *b)
{
    uint64_t x = ((const struct lmn__fragment_key *)a)->hash;
    uint64_t y = ((const struct lmn__fragment_key *)b)->hash;

    return x < y ? -1 : x > y;
}

enum lmn_status lmn__fragment_table_init(struct lmn__fragment_table *table,
                                         const struct lmn__manifest *manifest,
                                         struct lmn_error *err)
{
    uint64_t count = lmn__manifest_fragment_count(manifest);

    *table = (struct lmn__fragment_table){ .manifest = manifest };
    table->key = lmn__calloc(manifest->env, count, sizeof *table->key);
    if (table->key == NULL)
        return lmn__no_memory(err, "a list of fragments", count * sizeof *table->key);
    for (uint64_t i = 0; i < count; i++) {
        struct lmn__span bytes = manifest->pb.fragments.item[i];

        table->key[i] = (struct lmn__fragment_key){ lmn__hash64(bytes.data, bytes.len), i };
    }
    if (count != 0)
        qsort(table->key, count, sizeof *table->key, compare_keys);
    return LMN_OK;
}

void lmn__fragment_table_deinit(struct lmn__fragment_table *table)
{
    if (table->manifest != NULL)
        lmn__free(table->manifest->env, table->key);
    *table = (struct lmn__fragment_table){ 0 };
}

bool lmn__fragment_table_has(const struct lmn__fragment_table *table, struct lmn__span bytes)
{
    struct lmn__fragment_key key = { lmn__hash64(bytes.data, bytes.len), 0 }, *found = NULL;
    uint64_t count = lmn__manifest_fragment_count(table->manifest);
    struct lmn__span other;

    if (count != 0)
        found = bsearch(&key, table->key, count, sizeof key, compare_keys);
    if (found == NULL)
        return false;
    other = table->manifest->pb.fragments.item[found->index];
    return other.len == bytes.len && memcmp(other.data, bytes.data, bytes.len) == 0;
}

static enum lmn_status add_run(struct planning *planning, struct runs *runs, struct run next,
                               struct lmn_error *err)
{
    struct run *last = runs->count != 0 ? &runs->run[runs->count - 1] : NULL;

    if (last != NULL && last->id + last->count == next.id && last->stamp == next.stamp) {
        last->count += next.count;
        return LMN_OK;
    }
    if (runs->count == runs->room) {
        uint64_t room = runs->room != 0 ? runs->room * 2 : 64;
        struct run *grown = lmn__realloc(planning->env, runs->run, room * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "row ids", room * sizeof *grown);
        runs->run = grown;
        runs->room = room;
    }
    runs->run[runs->count++] = next;
    return LMN_OK;
}

/* The live rows of one fragment. */
static enum lmn_status add_rows(struct planning *planning,
                                const struct lmn__fragment_reader *reader, struct runs *runs,
                                struct lmn_error *err)
{
    const struct lmn__pb_fragment *fragment = lmn__fragment_reader_fragment(reader);
    const struct lmn__deletion *deletion = lmn__fragment_reader_deletion(reader);
    const struct lmn__row_ids *ids = lmn__fragment_reader_ids(reader);
    struct lmn__row_versions stamps = { 0 };
    struct lmn__arena arena;
    enum lmn_status st = LMN_OK;

    lmn__arena_init(&arena, planning->env, 0);
    if (fragment->updated_at.data != NULL)
        st = lmn__row_versions_read(fragment->updated_at, fragment->row_count, &arena, &stamps,
                                    err);
    for (uint64_t row = 0; st == LMN_OK && row < fragment->row_count; row++) {
        if (!lmn__deletion_has(deletion, row))
            st = add_run(planning, runs,
                         (struct run){ lmn__row_ids_get(ids, row), 1,
                                       stamps.run_count != 0 ? lmn__row_versions_get(&stamps, row)
                                                             : NO_STAMP },
                         err);
    }
    lmn__arena_deinit(&arena);
    return st;
}

static int compare_runs(const void *a, const void *b)
{
    uint64_t x = ((const struct run *)a)->id, y = ((const struct run *)b)->id;

    return x < y ? -1 : x > y;
}

/* The live rows of the fragments of `manifest` that `other` does not have, by rising id. */
static enum lmn_status list_rows(struct planning *planning, struct lmn__manifest *manifest,
                                 const struct lmn__manifest *other, struct runs *runs,
                                 struct lmn_error *err)
{
    struct lmn__fragment_table known;
    struct lmn__projection nothing;
    enum lmn_status st = lmn__projection_init_nodes(&nothing, planning->env, &manifest->schema,
                                                    NULL, 0, false, err);

    if (st != LMN_OK)
        return st;
    st = lmn__fragment_table_init(&known, other, err);
    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(manifest); i++) {
        struct lmn__fragment_reader *reader;

        if (lmn__fragment_table_has(&known, manifest->pb.fragments.item[i]))
            continue;
        st = lmn__fragment_reader_open(planning->table->files, manifest, i, &nothing, &reader, err);
        if (st == LMN_OK)
            st = add_rows(planning, reader, runs, err);
        lmn__fragment_reader_close(reader);
    }
    lmn__fragment_table_deinit(&known);
    lmn__projection_deinit(&nothing);
    if (st == LMN_OK && runs->count != 0)
        qsort(runs->run, runs->count, sizeof *runs->run, compare_runs);
    return st;
}

/* What a sweep finds; NULL: nobody wants to know. */
struct found {
    struct lmn__id_set *left;    /* only in the older version */
    struct lmn__id_set *right;   /* only in the newer one */
    struct lmn__id_set *both;    /* in both */
    struct lmn__id_set *stamped; /* in both, with other stamps */
};

static enum lmn_status report(struct lmn__id_set *set, uint64_t id, uint64_t count,
                              struct lmn_error *err)
{
    return set != NULL ? lmn__id_set_add(set, id, count, err) : LMN_OK;
}

static enum lmn_status report_both(const struct found *found, const struct run *a,
                                   const struct run *b, uint64_t count, struct lmn_error *err)
{
    enum lmn_status st = report(found->both, a->id, count, err);

    if (st == LMN_OK && (a->stamp != b->stamp || a->stamp == NO_STAMP))
        st = report(found->stamped, a->id, count, err);
    return st;
}

static void advance(struct run *run, uint64_t count)
{
    run->id += count;
    run->count -= count;
}

static enum lmn_status sweep(struct runs *left, struct runs *right, const struct found *found,
                             struct lmn_error *err)
{
    uint64_t i = 0, k = 0, count;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && (i < left->count || k < right->count)) {
        struct run *a = i < left->count ? &left->run[i] : NULL;
        struct run *b = k < right->count ? &right->run[k] : NULL;

        if (b == NULL || (a != NULL && a->id < b->id)) {
            count = b != NULL ? lmn__min_u64(a->count, b->id - a->id) : a->count;
            st = report(found->left, a->id, count, err);
            b = NULL;
        } else if (a == NULL || b->id < a->id) {
            count = a != NULL ? lmn__min_u64(b->count, a->id - b->id) : b->count;
            st = report(found->right, b->id, count, err);
            a = NULL;
        } else {
            count = lmn__min_u64(a->count, b->count);
            st = report_both(found, a, b, count, err);
        }
        if (a != NULL)
            advance(a, count);
        if (b != NULL)
            advance(b, count);
        i += a != NULL && a->count == 0;
        k += b != NULL && b->count == 0;
    }
    return st;
}

static enum lmn_status compare(struct planning *planning, struct lmn__manifest *from,
                               struct lmn__manifest *to, const struct found *found,
                               struct lmn_error *err)
{
    struct runs left = { 0 }, right = { 0 };
    enum lmn_status st = list_rows(planning, from, to, &left, err);

    if (st == LMN_OK)
        st = list_rows(planning, to, from, &right, err);
    if (st == LMN_OK)
        st = sweep(&left, &right, found, err);
    lmn__free(planning->env, left.run);
    lmn__free(planning->env, right.run);
    return st;
}

/* The file of a fragment that holds a field; an empty name when there is none. */
static struct lmn__span file_of(const struct lmn__pb_fragment *fragment, int32_t field)
{
    const struct lmn__pb_data_file *file = fragment->files.item;

    for (size_t i = 0; i < fragment->files.count; i++) {
        for (size_t k = 0; k < file[i].fields.count; k++) {
            if ((int32_t)file[i].fields.item[k] == field)
                return file[i].path;
        }
    }
    return (struct lmn__span){ (const uint8_t *)"", 0 };
}

/* Does a column that both ends have lie in another file? Parents of others have no values. */
static bool column_moved(const struct planning *planning, const struct lmn__pb_fragment *before,
                         const struct lmn__pb_fragment *after)
{
    const struct lmn__schema *schema = &planning->to->schema;

    for (uint32_t i = 0; i < schema->node_count; i++) {
        const struct lmn__node *node = &schema->node[i];
        struct lmn__span one, two;

        if (node->kind != LMN__NODE_LEAF || !planning->plan->shared[i])
            continue;
        one = file_of(before, node->field->id);
        two = file_of(after, node->field->id);
        if (one.len != two.len || memcmp(one.data, two.data, one.len) != 0)
            return true;
    }
    return false;
}

/* The fragment with this id, most likely number `index`. */
static enum lmn_status find_fragment(const struct lmn__manifest *manifest, uint64_t index,
                                     uint64_t id, struct lmn__arena *arena,
                                     struct lmn__pb_fragment *fragment, bool *found_out,
                                     struct lmn_error *err)
{
    uint64_t count = lmn__manifest_fragment_count(manifest);
    enum lmn_status st = LMN_OK;

    *found_out = false;
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        st = lmn__manifest_fragment(manifest, (index + i) % count, arena, fragment, err);
        *found_out = st == LMN_OK && fragment->id == id;
        if (*found_out)
            break;
    }
    return st;
}

/* The rows of a fragment across a cut. */
static enum lmn_status cross_fragment(struct planning *planning, const struct lmn__manifest *before,
                                      struct lmn__manifest *after, uint64_t index,
                                      const struct lmn__projection *nothing, struct lmn_error *err)
{
    struct lmn__pb_fragment then = { 0 };
    struct lmn__fragment_reader *reader;
    struct runs runs = { 0 };
    struct lmn__arena arena;
    bool found = false;
    enum lmn_status st = lmn__fragment_reader_open(planning->table->files, after, index, nothing,
                                                   &reader, err);

    lmn__arena_init(&arena, planning->env, 0);
    if (st == LMN_OK)
        st = find_fragment(before, index, lmn__fragment_reader_fragment(reader)->id, &arena, &then,
                           &found, err);
    if (st == LMN_OK && found &&
        column_moved(planning, &then, lmn__fragment_reader_fragment(reader)))
        st = add_rows(planning, reader, &runs, err);
    for (uint64_t i = 0; st == LMN_OK && i < runs.count; i++)
        st = lmn__id_set_add(&planning->plan->updated, runs.run[i].id, runs.run[i].count, err);
    lmn__free(planning->env, runs.run);
    lmn__arena_deinit(&arena);
    lmn__fragment_reader_close(reader);
    return st;
}

/* From the version before a cut to the one behind it. */
static enum lmn_status cross(struct planning *planning, const struct lmn__manifest *before,
                             struct lmn__manifest *after, struct lmn_error *err)
{
    struct lmn__fragment_table known;
    struct lmn__projection nothing;
    enum lmn_status st = lmn__projection_init_nodes(&nothing, planning->env, &after->schema, NULL,
                                                    0, false, err);

    if (st != LMN_OK)
        return st;
    st = lmn__fragment_table_init(&known, before, err);
    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(after); i++) {
        if (!lmn__fragment_table_has(&known, after->pb.fragments.item[i]))
            st = cross_fragment(planning, before, after, i, &nothing, err);
    }
    lmn__fragment_table_deinit(&known);
    lmn__projection_deinit(&nothing);
    return st;
}

/* A commit that added or replaced columns, and no more. */
struct cut {
    uint64_t version, parent;
};

/* One end of the way, and where it has come to. */
struct walk {
    struct lmn__manifest *end;
    struct lmn__manifest *now; /* counted; NULL: the version is gone */
    uint64_t version;
    struct cut *cut; /* falling */
    uint64_t cut_count, cut_room;
};

/* NULL when the version is gone. */
static enum lmn_status read_between(struct planning *planning, uint64_t version,
                                    struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *manifest_out = NULL;
    if (version == planning->to->pb.version)
        *manifest_out = lmn__manifest_acquire(planning->to);
    else if (version == planning->from->pb.version)
        *manifest_out = lmn__manifest_acquire(planning->from);
    else
        st = lmn__table_read_past(planning->table, version, planning->to->plain_name, manifest_out,
                                  err);
    return st == LMN_E_NOT_FOUND ? LMN_OK : st;
}

static enum lmn_status add_cut(struct planning *planning, struct walk *walk, uint64_t parent,
                               struct lmn_error *err)
{
    if (walk->cut_count == walk->cut_room) {
        uint64_t room = walk->cut_room != 0 ? walk->cut_room * 2 : 16;
        struct cut *grown = lmn__realloc(planning->env, walk->cut, room * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "versions", room * sizeof *grown);
        walk->cut = grown;
        walk->cut_room = room;
    }
    walk->cut[walk->cut_count++] = (struct cut){ walk->version, parent };
    return LMN_OK;
}

/* The version that this one was made from, and what it did to columns. */
static enum lmn_status find_parent(struct planning *planning, struct walk *walk,
                                   uint64_t *parent_out, bool *overwritten_out,
                                   struct lmn_error *err)
{
    struct lmn__pb_transaction transaction;
    struct lmn__arena arena;
    enum lmn_status st;

    *parent_out = walk->version - 1;
    *overwritten_out = false;
    if (walk->now == NULL)
        return LMN_OK;
    lmn__arena_init(&arena, planning->env, 0);
    st = lmn__transaction_read(planning->table->store, walk->now, &arena, &transaction, err);
    if (st == LMN_OK && transaction.restore != NULL && transaction.restore->version < walk->version)
        *parent_out = transaction.restore->version;
    *overwritten_out = st == LMN_OK && transaction.overwrite != NULL;
    if (st == LMN_OK && (transaction.merge != NULL || transaction.data_replacement != NULL))
        st = add_cut(planning, walk, *parent_out, err);
    lmn__arena_deinit(&arena);
    return st == LMN_E_NOT_FOUND ? LMN_OK : st;
}

/* Go one version back. */
static enum lmn_status step_back(struct planning *planning, struct walk *walk,
                                 struct lmn_error *err)
{
    struct lmn__manifest *parent = NULL;
    bool overwritten;
    uint64_t version;
    enum lmn_status st = find_parent(planning, walk, &version, &overwritten, err);

    if (st == LMN_OK)
        st = read_between(planning, version, &parent, err);
    if (st != LMN_OK)
        return st;
    if (parent != NULL)
        lmn__shared_fields_keep(planning->plan->shared, &planning->to->schema, parent,
                                overwritten ? walk->now : NULL);
    lmn__manifest_release(walk->now);
    walk->now = parent;
    walk->version = version;
    return LMN_OK;
}

/* From one end to the first cut that it has met. What lies behind it goes to *start_out. */
static enum lmn_status cross_cuts(struct planning *planning, const struct walk *walk,
                                  struct lmn__manifest **start_out, struct lmn_error *err)
{
    struct found found = { .stamped = &planning->plan->updated };
    struct lmn__manifest *start = lmn__manifest_acquire(walk->end);
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < walk->cut_count; i++) {
        struct lmn__manifest *before, *after = NULL;

        st = read_between(planning, walk->cut[i].parent, &before, err);
        if (st == LMN_OK && before != NULL)
            st = read_between(planning, walk->cut[i].version, &after, err);
        if (st == LMN_OK && after != NULL) {
            st = compare(planning, after, start, &found, err);
            if (st == LMN_OK)
                st = cross(planning, before, after, err);
            lmn__manifest_release(start);
            start = lmn__manifest_acquire(before);
        }
        lmn__manifest_release(before);
        lmn__manifest_release(after);
    }
    *start_out = start;
    return st;
}

/* Find what was updated, from cut to cut. */
static enum lmn_status find_updated(struct planning *planning, struct lmn_error *err)
{
    struct found found = { .stamped = &planning->plan->updated };
    struct walk left = { .end = planning->from, .version = planning->from->pb.version };
    struct walk right = { .end = planning->to, .version = planning->to->pb.version };
    struct lmn__manifest *left_start = NULL, *right_start = NULL;
    enum lmn_status st = LMN_OK;

    left.now = lmn__manifest_acquire(left.end);
    right.now = lmn__manifest_acquire(right.end);
    while (st == LMN_OK && left.version != right.version)
        st = step_back(planning, left.version > right.version ? &left : &right, err);
    if (st == LMN_OK)
        st = cross_cuts(planning, &left, &left_start, err);
    if (st == LMN_OK)
        st = cross_cuts(planning, &right, &right_start, err);
    if (st == LMN_OK)
        st = compare(planning, left_start, right_start, &found, err);
    lmn__manifest_release(left_start);
    lmn__manifest_release(right_start);
    lmn__manifest_release(left.now);
    lmn__manifest_release(right.now);
    lmn__free(planning->env, left.cut);
    lmn__free(planning->env, right.cut);
    return st;
}

/* Keep the updated ids that both ends have, in fragments that are not the same. */
static enum lmn_status keep_common(struct planning *planning, struct lmn_error *err)
{
    struct lmn__id_set *updated = &planning->plan->updated, kept;
    enum lmn_status st = LMN_OK;

    lmn__id_set_init(&kept, planning->env);
    lmn__id_set_sort(updated);
    lmn__id_set_sort(&planning->common);
    for (uint64_t i = 0; st == LMN_OK && i < updated->count; i++) {
        struct lmn__id_range rest = updated->range[i];

        while (st == LMN_OK && rest.count != 0) {
            bool inside;
            uint64_t count = lmn__id_set_run(&planning->common, rest.first, rest.count, &inside);

            if (inside)
                st = lmn__id_set_add(&kept, rest.first, count, err);
            rest.first += count;
            rest.count -= count;
        }
    }
    lmn__id_set_deinit(updated);
    *updated = kept;
    return st;
}

enum lmn_status lmn__diff_plan_make(struct lmn_table *table, struct lmn__manifest *from,
                                    struct lmn__manifest *to, struct lmn__diff_plan *plan_out,
                                    struct lmn_error *err)
{
    struct planning planning = {
        .table = table, .env = table->env, .from = from, .to = to, .plan = plan_out
    };
    struct found found = { .left = &plan_out->deleted,
                           .right = &plan_out->inserted,
                           .both = &planning.common };
    enum lmn_status st;

    lmn__id_set_init(&plan_out->inserted, table->env);
    lmn__id_set_init(&plan_out->updated, table->env);
    lmn__id_set_init(&plan_out->deleted, table->env);
    lmn__id_set_init(&planning.common, table->env);
    plan_out->env = table->env;
    st = lmn__shared_fields_find(table->env, from, to, &plan_out->shared, err);
    if (st == LMN_OK)
        st = compare(&planning, from, to, &found, err);
    if (st == LMN_OK)
        st = find_updated(&planning, err);
    if (st == LMN_OK)
        st = keep_common(&planning, err);
    lmn__id_set_sort(&plan_out->inserted);
    lmn__id_set_sort(&plan_out->deleted);
    lmn__id_set_deinit(&planning.common);
    return st;
}

void lmn__diff_plan_deinit(struct lmn__diff_plan *plan)
{
    lmn__id_set_deinit(&plan->inserted);
    lmn__id_set_deinit(&plan->updated);
    lmn__id_set_deinit(&plan->deleted);
    lmn__free(plan->env, plan->shared);
}
