/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of ids whose rows are neighbours, sorted by id. Deleted rows are left out: a row that was
 * updated has its id in two fragments, and is alive in one of them. So no two runs overlap.
 */
#include "table/id_index.h"

#include <stdlib.h>

#include "base/error.h"
#include "table/fragment_reader.h"
#include "table/row_list.h"

struct run {
    uint64_t id;
    uint64_t count;
    uint32_t fragment; /* its number */
    uint32_t row;
};

struct lmn__id_index {
    uint64_t count, cap;
    struct run *run;
};

void lmn__id_index_free(struct lmn__id_index *index, struct lmn_env *env)
{
    if (index == NULL)
        return;
    lmn__free(env, index->run);
    lmn__free(env, index);
}

static enum lmn_status add_run(struct lmn__id_index *index, struct lmn_env *env, struct run run,
                               struct lmn_error *err)
{
    if (index->count == index->cap) {
        uint64_t cap = index->cap != 0 ? index->cap * 2 : 64;
        struct run *grown = lmn__realloc(env, index->run, cap * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "an index of row ids", cap * sizeof *grown);
        index->run = grown;
        index->cap = cap;
    }
    index->run[index->count++] = run;
    return LMN_OK;
}

/* The live rows of one run of ids. */
static enum lmn_status add_live(struct lmn__id_index *index, struct lmn__snapshot *snapshot,
                                uint64_t fragment, const struct lmn__id_run *ids,
                                const struct lmn__deletion *deletion, struct lmn_error *err)
{
    struct lmn__row_list rows;
    enum lmn_status st;

    lmn__row_list_init(&rows, snapshot->env);
    st = lmn__row_list_add_live(&rows, deletion, ids->row, ids->count, err);
    for (uint64_t i = 0; st == LMN_OK && i < rows.count; i++) {
        const struct lmn__row_range *range = &rows.range[i];

        st = add_run(index, snapshot->env,
                     (struct run){ ids->id + (range->first - ids->row), range->count,
                                   (uint32_t)fragment, (uint32_t)range->first },
                     err);
    }
    lmn__row_list_deinit(&rows);
    return st;
}

static enum lmn_status add_fragment(struct lmn__id_index *index, struct lmn__snapshot *snapshot,
                                    const struct lmn__projection *nothing, uint64_t fragment,
                                    struct lmn_error *err)
{
    struct lmn__fragment_reader *reader;
    const struct lmn__row_ids *ids;
    enum lmn_status st = lmn__fragment_reader_open(snapshot->files, snapshot->manifest, fragment,
                                                   nothing, &reader, err);

    if (st != LMN_OK)
        return st;
    ids = lmn__fragment_reader_ids(reader);
    for (uint64_t i = 0; st == LMN_OK && i < ids->run_count; i++)
        st = add_live(index, snapshot, fragment, &ids->run[i],
                      lmn__fragment_reader_deletion(reader), err);
    lmn__fragment_reader_close(reader);
    return st;
}

static int compare_runs(const void *a, const void *b)
{
    const struct run *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static enum lmn_status sort(struct lmn__id_index *index, const struct lmn__snapshot *snapshot,
                            struct lmn_error *err)
{
    if (index->count != 0)
        qsort(index->run, index->count, sizeof *index->run, compare_runs);
    for (uint64_t i = 1; i < index->count; i++) {
        const struct run *before = &index->run[i - 1];

        if (index->run[i].id - before->id < before->count)
            return lmn_fail(err, LMN_E_CORRUPT,
                            "version %llu: row id %llu is in fragment %llu and in fragment %llu",
                            (unsigned long long)snapshot->manifest->pb.version,
                            (unsigned long long)index->run[i].id,
                            (unsigned long long)snapshot->fragment[before->fragment].id,
                            (unsigned long long)snapshot->fragment[index->run[i].fragment].id);
    }
    return LMN_OK;
}

static enum lmn_status index_new(struct lmn__snapshot *snapshot, struct lmn__id_index **index_out,
                                 struct lmn_error *err)
{
    static const char *const no_column[1] = { NULL };
    struct lmn__id_index *index = lmn__calloc(snapshot->env, 1, sizeof *index);
    struct lmn__projection nothing;
    enum lmn_status st;

    *index_out = NULL;
    if (index == NULL)
        return lmn__no_memory(err, "an index of row ids", sizeof *index);
    st = lmn__projection_init(&nothing, snapshot->env, &snapshot->manifest->schema, no_column, 0,
                              false, err);
    if (st != LMN_OK) {
        lmn__id_index_free(index, snapshot->env);
        return st;
    }
    for (uint64_t i = 0; st == LMN_OK && i < snapshot->fragment_count; i++)
        st = add_fragment(index, snapshot, &nothing, i, err);
    lmn__projection_deinit(&nothing);
    if (st == LMN_OK)
        st = sort(index, snapshot, err);
    if (st == LMN_OK)
        *index_out = index;
    else
        lmn__id_index_free(index, snapshot->env);
    return st;
}

enum lmn_status lmn__id_index_of(struct lmn__snapshot *snapshot,
                                 const struct lmn__id_index **index_out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    lmn__mutex_lock(&snapshot->mutex);
    if (snapshot->locked.ids == NULL)
        st = index_new(snapshot, &snapshot->locked.ids, err);
    *index_out = snapshot->locked.ids;
    lmn__mutex_unlock(&snapshot->mutex);
    return st;
}

bool lmn__id_index_find(const struct lmn__id_index *index, uint64_t id, uint64_t *fragment_out,
                        uint64_t *row_out)
{
    uint64_t low = 0, high = index->count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        const struct run *run = &index->run[middle];

        if (id < run->id) {
            high = middle;
        } else if (id - run->id < run->count) {
            *fragment_out = run->fragment;
            *row_out = run->row + (id - run->id);
            return true;
        } else {
            low = middle + 1;
        }
    }
    return false;
}
