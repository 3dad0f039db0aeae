/* SPDX-License-Identifier: Apache-2.0 */
#include "table/merge_set.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/compose.h"
#include "arrow/share.h"
#include "base/error.h"
#include "base/math.h"

/* A lmn__set_values_fn: the source's rows of the next pairs. */
static enum lmn_status source_values(void *context, const struct ArrowArray *rows,
                                     const uint64_t *chosen, uint64_t count,
                                     struct ArrowArray *values_out, struct lmn_error *err)
{
    struct lmn__merge_set *merge = context;
    struct lmn_env *env = merge->source->spool.env;
    uint64_t *row = lmn__calloc(env, count, sizeof *row);
    struct ArrowArray picked = { 0 }, view;
    enum lmn_status st;

    (void)rows;
    (void)chosen;
    if (row == NULL)
        return lmn__no_memory(err, "a list of rows", count * sizeof *row);
    for (uint64_t i = 0; i < count; i++)
        row[i] = merge->pair[merge->next++].source;
    st = lmn__spool_pick(&merge->source->spool, row, count, &picked, err);
    if (st == LMN_OK)
        st = lmn__conform_batch(merge->given, &picked, &view, err);
    if (st == LMN_OK)
        st = lmn__conform_check_values(merge->given, &view, err);
    if (st == LMN_OK)
        st = lmn__array_compose(env, count, merge->set.count, values_out, err);
    for (uint32_t i = 0; st == LMN_OK && i < merge->set.count; i++)
        ArrowArrayMove(view.children[merge->child[i]], values_out->children[i]);
    lmn__array_release(&picked);
    lmn__free(env, row);
    return st;
}

/* The columns that the source has beside its keys. */
static enum lmn_status list_columns(struct lmn__merge_set *merge, const char *const *key,
                                    uint32_t key_count, uint32_t *count_out, struct lmn_error *err)
{
    const struct lmn__conform *given = merge->given;
    struct lmn__arena *arena = &merge->set.arena;

    merge->column = lmn__arena_array(arena, given->column_count, sizeof *merge->column);
    merge->child = lmn__arena_array(arena, given->column_count, sizeof *merge->child);
    *count_out = 0;
    if (merge->column == NULL || merge->child == NULL)
        return lmn__arena_fail(arena, "columns", err);
    for (uint32_t i = 0; i < given->column_count; i++) {
        bool is_key = false;

        for (uint32_t k = 0; k < key_count; k++)
            is_key = is_key || strcmp(given->column[i]->name, key[k]) == 0;
        if (is_key)
            continue;
        merge->column[*count_out] = given->column[i];
        merge->child[(*count_out)++] = i;
    }
    return LMN_OK;
}

enum lmn_status lmn__merge_set_choose(struct lmn__merge_set *merge, struct lmn_table *pinned,
                                      const char *const *key, uint32_t key_count, bool *fits_out,
                                      struct lmn_error *err)
{
    struct lmn__set_columns *set = &merge->set;
    uint32_t count;
    enum lmn_status st = list_columns(merge, key, key_count, &count, err);

    *fits_out = false;
    if (st != LMN_OK || count == 0 || merge->pair_count == 0)
        return st;
    set->fn = source_values;
    set->context = merge;
    set->value_bytes = lmn__spool_row_bytes(&merge->source->spool);
    st = lmn__set_columns_project(set, merge->column, count, count, err);
    if (st == LMN_E_UNSUPPORTED)
        return LMN_OK;
    for (uint64_t i = 0; st == LMN_OK && i < merge->pair_count; i++)
        st = lmn__touched_add(&set->touched, &merge->pair[i].address, 1, err);
    set->searched = true;
    return st == LMN_OK ? lmn__set_columns_choose(set, pinned, NULL, fits_out, err) : st;
}
