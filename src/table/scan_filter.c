/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A column of the result that the condition reads in just the same shape is not read again; all
 * others are read afterwards, for the rows that were chosen. Conditions see descriptors of blobs.
 */
#include "table/scan_filter.h"

#include <string.h>

#include "base/error.h"

/* Do both give the same array? */
static bool same_selection(const struct lmn__selected *a, const struct lmn__selected *b,
                           bool blob_bytes)
{
    if (a->node != b->node || a->child_count != b->child_count ||
        (blob_bytes && a->node->blob != LMN__BLOB_NONE))
        return false;
    for (uint32_t i = 0; i < a->child_count; i++) {
        if (!same_selection(a->child[i], b->child[i], blob_bytes))
            return false;
    }
    return true;
}

static void list_leaves(const struct lmn__selected *selected, const struct lmn__node **node,
                        uint32_t *count)
{
    if (selected->node->kind == LMN__NODE_LEAF) {
        node[(*count)++] = selected->node;
        return;
    }
    for (uint32_t i = 0; i < selected->child_count; i++)
        list_leaves(selected->child[i], node, count);
}

/* Split the result's columns in those that the condition reads, too, and the rest. */
static enum lmn_status split_output(struct lmn__scan_filter *filter,
                                    const struct lmn__projection *output, struct lmn_error *err)
{
    const struct lmn__selected *read = filter->columns.root, *wanted = output->root;
    const struct lmn__node **node = lmn__arena_array(&filter->arena, output->schema->node_count,
                                                     sizeof *node);
    uint32_t node_count = 0, rest_count = 0;

    filter->source = lmn__arena_array(&filter->arena, wanted->child_count, sizeof *filter->source);
    if (node == NULL || filter->source == NULL)
        return lmn__arena_fail(&filter->arena, "a filter", err);
    for (uint32_t i = 0; i < wanted->child_count; i++) {
        struct lmn__scan_column *source = &filter->source[i];

        for (uint32_t k = 0; k < read->child_count && !source->from_filter; k++) {
            if (same_selection(read->child[k], wanted->child[i],
                               output->blobs != LMN_BLOB_DESCRIPTORS))
                *source = (struct lmn__scan_column){ true, k };
        }
        if (source->from_filter)
            continue;
        source->index = rest_count++;
        list_leaves(wanted->child[i], node, &node_count);
    }
    return lmn__projection_init_nodes(&filter->rest, filter->env, output->schema, node, node_count,
                                      output->blobs, err);
}

/* Is `path` a field below the other? */
static bool is_below(const char *path, const char *other)
{
    size_t len = strlen(other);

    return strncmp(path, other, len) == 0 && path[len] == '.';
}

static bool is_covered(const char *const *path, uint32_t count, uint32_t which)
{
    for (uint32_t i = 0; i < count; i++) {
        if (i != which && is_below(path[which], path[i]))
            return true;
    }
    return false;
}

/* Leave out what is there before, or with something above it: states read ledgers, too. */
static uint32_t without_repeats(const char **column, uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        bool repeated = is_covered(column, count, i);

        for (uint32_t k = 0; k < kept; k++)
            repeated |= strcmp(column[k], column[i]) == 0;
        if (!repeated)
            column[kept++] = column[i];
    }
    return kept;
}

/* The columns that the bound expression names; row columns apart. */
static enum lmn_status select_columns(struct lmn__scan_filter *filter,
                                      const struct lmn__schema *schema, struct lmn_error *err)
{
    const char *const *path, **column, *ledger;
    uint32_t path_count, count = 0;
    enum lmn_status st = lmn__expr_paths(filter->expr, &path, &path_count, err);

    if (st != LMN_OK)
        return st;
    column = lmn__arena_array(&filter->arena, (size_t)path_count + 1, sizeof *column);
    if (column == NULL)
        return lmn__arena_fail(&filter->arena, "a filter", err);
    for (uint32_t i = 0; i < path_count; i++) {
        if (strcmp(path[i], LMN__ROW_ID_NAME) == 0)
            filter->row_columns.id = true;
        else if (strcmp(path[i], LMN__ROW_ADDRESS_NAME) == 0)
            filter->row_columns.address = true;
        else if (lmn__cell_states_use(&filter->states, path[i], &ledger))
            column[count++] = ledger;
        else if (!is_covered(path, path_count, i))
            column[count++] = path[i];
    }
    count = without_repeats(column, count);
    return lmn__projection_init(&filter->columns, filter->env, schema, column, count, false, err);
}

/* Bind to all columns first, to learn which ones are meant; then to those that are read. */
static enum lmn_status bind(struct lmn__scan_filter *filter, const struct lmn__schema *schema,
                            struct lmn_error *err)
{
    static const struct lmn__row_columns both = { true, true };
    struct lmn__expr_resolver resolver = lmn__cell_states_resolver(&filter->states);
    struct lmn__projection all;
    struct ArrowSchema type;
    enum lmn_status st = lmn__projection_init(&all, filter->env, schema, NULL, 0, false, err);

    if (st != LMN_OK)
        return st;
    st = lmn__row_columns_schema(&all, both, &type, err);
    lmn__projection_deinit(&all);
    if (st != LMN_OK)
        return st;
    st = lmn__cell_states_schema(&filter->states, true, &type, err);
    if (st == LMN_OK)
        st = lmn__expr_bind_condition(filter->expr, &type, &resolver, err);
    type.release(&type);
    if (st == LMN_OK)
        st = select_columns(filter, schema, err);
    if (st == LMN_OK)
        st = lmn__row_columns_schema(&filter->columns, filter->row_columns, &type, err);
    if (st != LMN_OK)
        return st;
    st = lmn__cell_states_schema(&filter->states, false, &type, err);
    if (st == LMN_OK)
        st = lmn__expr_bind_condition(filter->expr, &type, &resolver, err);
    type.release(&type);
    return st == LMN_OK ? lmn__cell_states_prepare(&filter->states, &filter->columns, err) : st;
}

enum lmn_status lmn__scan_filter_new(struct lmn_table *table, struct lmn__manifest *manifest,
                                     const char *where, const struct lmn__projection *output,
                                     struct lmn__scan_filter **filter_out, struct lmn_error *err)
{
    struct lmn_env *env = table->env;
    struct lmn__scan_filter *filter = lmn__calloc(env, 1, sizeof *filter);
    enum lmn_status st;

    *filter_out = NULL;
    if (filter == NULL)
        return lmn__no_memory(err, "a filter", sizeof *filter);
    filter->env = env;
    lmn__arena_init(&filter->arena, env, 0);
    /* Projections that were not made yet can be freed, too. */
    lmn__arena_init(&filter->columns.arena, env, 0);
    lmn__arena_init(&filter->rest.arena, env, 0);
    st = lmn__expr_parse(env, where, &filter->expr, err);
    if (st == LMN_OK)
        st = lmn__cell_states_init(&filter->states, table, manifest, &filter->arena, err);
    if (st == LMN_OK)
        st = bind(filter, &manifest->schema, err);
    if (st == LMN_OK)
        st = split_output(filter, output, err);
    if (st == LMN_OK)
        *filter_out = filter;
    else
        lmn__scan_filter_free(filter);
    return st;
}

void lmn__scan_filter_free(struct lmn__scan_filter *filter)
{
    struct lmn_env *env;

    if (filter == NULL)
        return;
    env = filter->env;
    lmn__projection_deinit(&filter->rest);
    lmn__projection_deinit(&filter->columns);
    lmn__expr_free(filter->expr);
    lmn__cell_states_deinit(&filter->states);
    lmn__arena_deinit(&filter->arena);
    lmn__free(env, filter);
}
