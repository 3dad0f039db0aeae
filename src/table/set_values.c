/* SPDX-License-Identifier: Apache-2.0 */
#include "table/set_values.h"

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "arrow/schema.h"
#include "base/error.h"
#include "expr/expr.h"
#include "table/old_version.h"
#include "table/table_fields.h"

/* Bind every value to rows of type `schema`, which has the columns that are set. */
static enum lmn_status bind_all(struct lmn__set_values *values, const struct ArrowSchema *schema,
                                struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < values->count; i++) {
        int64_t child;

        st = lmn__expr_bind(values->value[i], schema, NULL,
                            lmn__arrow_child(schema, values->column[i]->name, &child), err);
    }
    return st;
}

/* The columns that values are computed from, behind those that are set; each once. */
static enum lmn_status list_inputs(struct lmn__set_values *values, uint32_t *count_out,
                                   struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *count_out = values->count;
    for (uint32_t i = 0; i < values->count; i++) {
        const char *const *path;
        uint32_t paths;

        st = lmn__expr_paths(values->value[i], &path, &paths, err);
        for (uint32_t k = 0; st == LMN_OK && k < paths; k++) {
            const struct lmn__node *node;
            bool there = false;

            st = lmn__fields_find(values->set->manifest, path[k], &node, err);
            while (st == LMN_OK && node->parent != NULL)
                node = node->parent;
            for (uint32_t n = 0; st == LMN_OK && n < *count_out; n++)
                there = there || values->column[n] == node;
            if (st == LMN_OK && !there)
                values->column[(*count_out)++] = node;
        }
        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

/* The columns by name, and their values parsed. */
static enum lmn_status parse(struct lmn__set_values *values, struct lmn_error *err)
{
    struct lmn__set_columns *set = values->set;
    const struct lmn__schema *schema = &set->manifest->schema;
    enum lmn_status st = LMN_OK;

    values->column = lmn__arena_array(&set->arena, schema->top_count + values->count,
                                      sizeof *values->column);
    values->value = lmn__arena_array(&set->arena, values->count, sizeof *values->value);
    if (values->column == NULL || values->value == NULL)
        return lmn__arena_fail(&set->arena, "an update", err);
    for (uint32_t i = 0; st == LMN_OK && i < values->count; i++) {
        const char *name = values->assignment[i].column;
        const struct lmn__node *node = schema->top;

        while (node != NULL && strcmp(node->name, name) != 0)
            node = node->next;
        if (node == NULL)
            return lmn_fail(err, LMN_E_NOT_FOUND, "no column \"%.100s\"", name);
        for (uint32_t k = 0; k < i; k++) {
            if (values->column[k] == node)
                return lmn_fail(err, LMN_E_INVALID, "\"%.100s\" is set twice", name);
        }
        values->column[i] = node;
        st = lmn__expr_parse(set->table->env, values->assignment[i].expression, &values->value[i],
                             err);
    }
    return st;
}

/* A lmn__set_values_fn. */
static enum lmn_status compute(void *context, const struct ArrowArray *rows, const uint64_t *chosen,
                               uint64_t count, struct ArrowArray *values_out, struct lmn_error *err)
{
    const struct lmn__set_values *values = context;
    const struct lmn__set_columns *set = values->set;
    struct ArrowArray some = { 0 };
    bool all = count == (uint64_t)rows->length;
    enum lmn_status st = lmn__array_compose(set->table->env, count, set->count, values_out, err);

    /* A value need not exist for rows that are not chosen. */
    if (st == LMN_OK && !all)
        st = lmn__array_gather(set->table->env, set->projection.layout, rows, chosen, count, &some,
                               err);
    for (uint32_t i = 0; st == LMN_OK && i < set->count; i++) {
        st = lmn__expr_eval(values->value[i], all ? rows : &some, values_out->children[i], err);
        if (st == LMN_OK)
            st = lmn__old_version_check(set->manifest, set->projection.arrow.children[i],
                                        values_out->children[i], 0, count, err);
        else
            lmn__fail_within(err, st, "column \"%.100s\"", set->column[i]->name);
    }
    lmn__array_release(&some);
    return st;
}

enum lmn_status lmn__set_values_init(struct lmn__set_values *values, struct lmn__set_columns *set,
                                     const struct lmn_assignment *assignment, uint32_t count,
                                     struct lmn_error *err)
{
    struct lmn__projection whole;
    uint32_t read_count = 0;
    enum lmn_status st;

    *values = (struct lmn__set_values){ .set = set, .assignment = assignment, .count = count };
    set->fn = compute;
    set->context = values;
    st = lmn__projection_init(&whole, set->table->env, &set->manifest->schema, NULL, 0,
                              LMN_BLOB_EITHER, err);
    if (st != LMN_OK)
        return st;
    st = parse(values, err);
    if (st == LMN_OK)
        st = bind_all(values, &whole.arrow, err);
    if (st == LMN_OK)
        st = list_inputs(values, &read_count, err);
    if (st == LMN_OK)
        st = lmn__set_columns_project(set, values->column, count, read_count, err);
    if (st == LMN_OK)
        st = bind_all(values, &set->projection.arrow, err);
    lmn__projection_deinit(&whole);
    return st;
}

void lmn__set_values_deinit(struct lmn__set_values *values)
{
    for (uint32_t i = 0; values->value != NULL && i < values->count; i++)
        lmn__expr_free(values->value[i]);
}
