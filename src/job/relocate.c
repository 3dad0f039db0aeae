/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids that are stable are looked up. Where rows have none, each version since is asked what it did:
 * a rewrite puts the live rows of its fragments, in their order, into others. A version that is
 * gone, or does not tell, ends the search: the rows are not found, and are computed again.
 */
#include "job/relocate.h"

#include <stdlib.h>

#include "base/math.h"
#include "table/conflict.h"
#include "table/file_set.h"
#include "table/id_index.h"
#include "table/row_ids.h"

void lmn__moves_deinit(struct lmn__moves *moves)
{
    if (moves->env != NULL)
        lmn__free(moves->env, moves->item);
}

/* One more row; it joins the last move where it goes on. */
static enum lmn_status add_row(struct lmn__moves *moves, uint64_t source, uint64_t fragment_id,
                               uint64_t row, struct lmn_error *err)
{
    struct lmn__move *last = moves->count != 0 ? &moves->item[moves->count - 1] : NULL;

    if (last != NULL && last->fragment_id == fragment_id && last->source + last->count == source &&
        last->row + last->count == row) {
        last->count++;
        return LMN_OK;
    }
    if (moves->count == moves->cap) {
        uint64_t cap = lmn__max_u64(moves->cap * 2, 64);
        struct lmn__move *grown = lmn__realloc(moves->env, moves->item, cap * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "a list of rows", cap * sizeof *grown);
        moves->item = grown;
        moves->cap = cap;
    }
    moves->item[moves->count++] = (struct lmn__move){ source, fragment_id, row, 1 };
    return LMN_OK;
}

static int compare_moves(const void *a, const void *b)
{
    const struct lmn__move *x = a, *y = b;

    if (x->fragment_id != y->fragment_id)
        return x->fragment_id < y->fragment_id ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

enum lmn_status lmn__relocate_find(struct lmn_table *table, struct lmn__snapshot *snapshot,
                                   uint64_t fragment_id, struct lmn__manifest **manifest_out,
                                   uint64_t *index_out, struct lmn_error *err)
{
    bool plain = snapshot->manifest->plain_name;
    struct lmn__arena arena;
    enum lmn_status st = LMN_OK;

    *manifest_out = NULL;
    for (uint64_t v = snapshot->manifest->pb.version; v > 0; v--) {
        struct lmn__manifest *manifest;

        st = lmn__table_read_past(table, v, plain, &manifest, err);
        if (st == LMN_E_NOT_FOUND)
            continue;
        if (st != LMN_OK)
            return st;
        lmn__arena_init(&arena, table->env, 0);
        st = lmn__manifest_find(manifest, fragment_id, &arena, index_out, err);
        lmn__arena_deinit(&arena);
        if (st == LMN_OK) {
            *manifest_out = manifest;
            return LMN_OK;
        }
        lmn__manifest_release(manifest);
        if (st != LMN_E_NOT_FOUND)
            return st;
    }
    return LMN_OK;
}

/* Called with each row of the receipts. */
typedef enum lmn_status (*row_fn)(void *context, uint64_t row, struct lmn_error *err);

static enum lmn_status each_row(const struct lmn__receipt *receipt, uint64_t count, row_fn fn,
                                void *context, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < count; i++) {
        for (size_t k = 0; k < receipt[i].first.count; k++) {
            uint64_t first = receipt[i].first.item[k], end = first + receipt[i].count.item[k];

            for (uint64_t row = first; st == LMN_OK && row < end; row++)
                st = fn(context, row, err);
        }
    }
    return st;
}

/* Rows by their stable ids. */
struct by_id {
    const struct lmn__snapshot *snapshot;
    const struct lmn__id_index *index;
    struct lmn__row_ids ids; /* of the fragment that is gone */
    struct lmn__moves *moves;
};

static enum lmn_status find_by_id(void *context, uint64_t row, struct lmn_error *err)
{
    struct by_id *by_id = context;
    uint64_t fragment, now;

    if (row >= by_id->ids.row_count ||
        !lmn__id_index_find(by_id->index, lmn__row_ids_get(&by_id->ids, row), &fragment, &now))
        return LMN_OK;
    return add_row(by_id->moves, row, by_id->snapshot->fragment[fragment].id, now, err);
}

static enum lmn_status relocate_by_id(struct lmn__snapshot *snapshot,
                                      const struct lmn__pb_fragment *fragment,
                                      const struct lmn__receipt *receipt, uint64_t count,
                                      struct lmn__arena *arena, struct lmn__moves *moves,
                                      struct lmn_error *err)
{
    struct by_id by_id = { .snapshot = snapshot, .moves = moves };
    enum lmn_status st = lmn__id_index_of(snapshot, &by_id.index, err);

    if (st == LMN_OK)
        st = lmn__row_ids_read(fragment->row_ids, fragment->row_count, arena, &by_id.ids, err);
    return st == LMN_OK ? each_row(receipt, count, find_by_id, &by_id, err) : st;
}

/* Rows by the records of rewrites; a step is one group of one rewrite. */
struct step {
    struct lmn_table *table;
    const struct lmn__manifest *before; /* the version before the rewrite */
    const struct lmn__pb_rewrite_group *group;
    struct lmn__arena *arena;
};

/* The rows of a fragment, as they are numbered among the live ones of its group, from `*live` on.
 */
static enum lmn_status rank_rows(const struct step *step, uint64_t fragment_id, uint64_t **rank_out,
                                 uint64_t *row_count_out, uint64_t *live, struct lmn_error *err)
{
    struct lmn__deletion deletion = { 0 };
    struct lmn__pb_fragment fragment = { 0 };
    struct lmn_store *store = NULL;
    uint64_t index;
    bool is_root, has_base;
    enum lmn_status st = lmn__manifest_find(step->before, fragment_id, step->arena, &index, err);

    if (st == LMN_OK)
        st = lmn__manifest_fragment(step->before, index, step->arena, &fragment, err);
    if (st != LMN_OK)
        return st;
    has_base = fragment.deletion != NULL && fragment.deletion->has_base;
    st = lmn__file_set_store(step->table->files, step->before, has_base,
                             has_base ? fragment.deletion->base : 0, &store, &is_root, err);
    if (st == LMN_OK)
        st = lmn__deletion_read(store, &fragment, &deletion, err);
    *rank_out = lmn__arena_array(step->arena, fragment.row_count, sizeof **rank_out);
    *row_count_out = fragment.row_count;
    if (st == LMN_OK && *rank_out == NULL)
        st = lmn__arena_fail(step->arena, "a list of rows", err);
    for (uint64_t i = 0; st == LMN_OK && i < fragment.row_count; i++)
        (*rank_out)[i] = lmn__deletion_has(&deletion, i) ? UINT64_MAX : (*live)++;
    lmn__deletion_deinit(&deletion, step->table->env);
    lmn_store_release(store);
    return st;
}

/* Where live row number `rank` of the group is; false when it is in none. */
static bool find_after(const struct step *step, uint64_t rank, uint64_t *fragment_id_out,
                       uint64_t *row_out)
{
    const struct lmn__pb_fragment *after = step->group->after.item;

    for (size_t i = 0; i < step->group->after.count; i++) {
        if (rank < after[i].row_count) {
            *fragment_id_out = after[i].id;
            *row_out = rank;
            return true;
        }
        rank -= after[i].row_count;
    }
    return false;
}

/* Move the rows that are in fragment `fragment_id` to where the group put them. */
static enum lmn_status move_fragment(const struct step *step, uint64_t fragment_id,
                                     const uint64_t *rank, uint64_t row_count,
                                     const struct lmn__moves *from, struct lmn__moves *to,
                                     struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < from->count; i++) {
        const struct lmn__move *move = &from->item[i];

        for (uint64_t k = 0; st == LMN_OK && k < move->count; k++) {
            uint64_t row = move->row + k, id, now;

            if (move->fragment_id == fragment_id && row < row_count && rank[row] != UINT64_MAX &&
                find_after(step, rank[row], &id, &now))
                st = add_row(to, move->source + k, id, now, err);
        }
    }
    return st;
}

/* Moves of fragments that the group does not have stay. */
static enum lmn_status keep_others(const struct step *step, const struct lmn__moves *from,
                                   struct lmn__moves *to, struct lmn_error *err)
{
    const struct lmn__pb_fragment *before = step->group->before.item;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < from->count; i++) {
        const struct lmn__move *move = &from->item[i];
        bool gone = false;

        for (size_t k = 0; k < step->group->before.count; k++)
            gone = gone || before[k].id == move->fragment_id;
        for (uint64_t k = 0; st == LMN_OK && !gone && k < move->count; k++)
            st = add_row(to, move->source + k, move->fragment_id, move->row + k, err);
    }
    return st;
}

static enum lmn_status apply_group(const struct step *step, struct lmn__moves *moves,
                                   struct lmn_error *err)
{
    const struct lmn__pb_fragment *before = step->group->before.item;
    struct lmn__moves next;
    uint64_t live = 0;
    enum lmn_status st;

    lmn__moves_init(&next, moves->env);
    st = keep_others(step, moves, &next, err);
    for (size_t i = 0; st == LMN_OK && i < step->group->before.count; i++) {
        uint64_t *rank, row_count;

        st = rank_rows(step, before[i].id, &rank, &row_count, &live, err);
        if (st == LMN_OK)
            st = move_fragment(step, before[i].id, rank, row_count, moves, &next, err);
    }
    lmn__moves_deinit(moves);
    *moves = next;
    return st;
}

/* What version number `v` did to the rows. */
static enum lmn_status apply_version(struct lmn_table *table, uint64_t v, bool plain,
                                     struct lmn__moves *moves, struct lmn_error *err)
{
    struct lmn__manifest *before = NULL, *manifest = NULL;
    struct lmn__pb_transaction transaction;
    struct lmn__arena arena;
    enum lmn_status st = lmn__table_read_past(table, v - 1, plain, &before, err);

    lmn__arena_init(&arena, table->env, 0);
    if (st == LMN_OK)
        st = lmn__table_read_past(table, v, plain, &manifest, err);
    if (st == LMN_OK)
        st = lmn__transaction_read(table->store, manifest, &arena, &transaction, err);
    if (st == LMN_OK && transaction.rewrite != NULL) {
        const struct lmn__pb_rewrite_group *group = transaction.rewrite->groups.item;

        for (size_t i = 0; st == LMN_OK && i < transaction.rewrite->groups.count; i++) {
            const struct step step = { table, before, &group[i], &arena };

            st = apply_group(&step, moves, err);
        }
    }
    lmn__arena_deinit(&arena);
    lmn__manifest_release(before);
    lmn__manifest_release(manifest);
    return st;
}

/* Rows of the receipts, where they were. */
struct start {
    struct lmn__moves *moves;
    uint64_t fragment_id;
};

static enum lmn_status start_row(void *context, uint64_t row, struct lmn_error *err)
{
    struct start *start = context;

    return add_row(start->moves, row, start->fragment_id, row, err);
}

/* Leave out the rows of fragments that the snapshot does not have. */
static void drop_gone(const struct lmn__snapshot *snapshot, struct lmn__moves *moves)
{
    uint64_t kept = 0, index;

    for (uint64_t i = 0; i < moves->count; i++) {
        if (lmn__snapshot_find(snapshot, moves->item[i].fragment_id, &index) &&
            lmn__range_fits(moves->item[i].row, moves->item[i].count,
                            snapshot->fragment[index].row_count))
            moves->item[kept++] = moves->item[i];
    }
    moves->count = kept;
}

static enum lmn_status relocate_by_rewrites(struct lmn_table *table, struct lmn__snapshot *snapshot,
                                            const struct lmn__manifest *manifest,
                                            uint64_t fragment_id,
                                            const struct lmn__receipt *receipt, uint64_t count,
                                            struct lmn__moves *moves, struct lmn_error *err)
{
    struct start start = { moves, fragment_id };
    uint64_t newest = snapshot->manifest->pb.version;
    enum lmn_status st = each_row(receipt, count, start_row, &start, err);

    for (uint64_t v = manifest->pb.version + 1; st == LMN_OK && v <= newest; v++)
        st = apply_version(table, v, snapshot->manifest->plain_name, moves, err);
    if (st == LMN_E_NOT_FOUND) {
        moves->count = 0;
        st = LMN_OK;
    }
    drop_gone(snapshot, moves);
    return st;
}

enum lmn_status lmn__relocate_rows(struct lmn_table *table, struct lmn__snapshot *snapshot,
                                   struct lmn__manifest *manifest, uint64_t index,
                                   const struct lmn__receipt *receipt, uint64_t receipt_count,
                                   struct lmn__moves *moves, struct lmn_error *err)
{
    struct lmn__pb_fragment fragment;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, table->env, 0);
    st = lmn__manifest_fragment(manifest, index, &arena, &fragment, err);
    if (st == LMN_OK && fragment.row_ids.data != NULL &&
        lmn__manifest_stable_ids(snapshot->manifest))
        st = relocate_by_id(snapshot, &fragment, receipt, receipt_count, &arena, moves, err);
    else if (st == LMN_OK)
        st = relocate_by_rewrites(table, snapshot, manifest, fragment.id, receipt, receipt_count,
                                  moves, err);
    if (st == LMN_OK && moves->count != 0)
        qsort(moves->item, moves->count, sizeof *moves->item, compare_moves);
    lmn__arena_deinit(&arena);
    return st;
}
