/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/table_columns.h>

#include <nanoarrow/nanoarrow.h>

#include "arrow/compose.h"
#include "base/error.h"
#include "expr/expr.h"
#include "table/fill.h"
#include "table/old_version.h"
#include "table/table_fields.h"

/* What lmn_table_add_columns() was asked for, with what is kept from attempt to attempt. */
struct request {
    struct lmn_table *table;
    const struct lmn_assignment *column;
    uint32_t count;
    struct lmn__expr **expr;
    struct lmn__fill fill;
};

/* An attempt at one version. */
struct adding {
    struct request *request;
    struct lmn__manifest *manifest;
    struct lmn__arena arena;
    struct lmn__projection projection; /* the columns that expressions name */
    struct ArrowSchema schema;         /* of the columns to add */
    struct lmn__pb_schema added;
    struct lmn__pb_list all;
};

/* The nodes on top level that expressions name, in the order of the table. */
static enum lmn_status list_columns(struct adding *adding, const struct lmn__node **node,
                                    uint32_t *count_out, struct lmn_error *err)
{
    const struct lmn__schema *schema = &adding->manifest->schema;
    bool *named = lmn__arena_array(&adding->arena, schema->node_count, sizeof *named);
    enum lmn_status st = LMN_OK;

    *count_out = 0;
    if (named == NULL)
        return lmn__arena_fail(&adding->arena, "a list of columns", err);
    for (uint32_t i = 0; i < adding->request->count; i++) {
        const char *const *path;
        uint32_t paths;

        st = lmn__expr_paths(adding->request->expr[i], &path, &paths, err);
        for (uint32_t k = 0; st == LMN_OK && k < paths; k++) {
            const struct lmn__node *found;

            st = lmn__fields_find(adding->manifest, path[k], &found, err);
            while (st == LMN_OK && found->parent != NULL)
                found = found->parent;
            if (st == LMN_OK)
                named[found - schema->node] = true;
        }
        if (st != LMN_OK)
            return st;
    }
    for (const struct lmn__node *top = schema->top; top != NULL; top = top->next) {
        if (named[top - schema->node])
            node[(*count_out)++] = top;
    }
    return LMN_OK;
}

/* Bind every expression to batches of type `schema`. */
static enum lmn_status bind_all(struct adding *adding, const struct ArrowSchema *schema,
                                struct lmn_error *err)
{
    const struct request *request = adding->request;

    for (uint32_t i = 0; i < request->count; i++) {
        enum lmn_status st = lmn__expr_bind(request->expr[i], schema, NULL, NULL, err);

        if (st != LMN_OK)
            return lmn__fail_within(err, st, "column \"%.100s\"", request->column[i].column);
    }
    return LMN_OK;
}

/* Project what the expressions read, and bind them to it. */
static enum lmn_status project(struct adding *adding, struct lmn_error *err)
{
    struct lmn_env *env = adding->request->table->env;
    const struct lmn__schema *schema = &adding->manifest->schema;
    const struct lmn__node **node = lmn__arena_array(&adding->arena, schema->top_count,
                                                     sizeof *node);
    struct lmn__projection whole;
    uint32_t count;
    enum lmn_status st;

    if (node == NULL)
        return lmn__arena_fail(&adding->arena, "a list of columns", err);
    st = lmn__projection_init(&whole, env, schema, NULL, 0, true, err);
    if (st != LMN_OK)
        return st;
    st = bind_all(adding, &whole.arrow, err);
    lmn__projection_deinit(&whole);
    if (st == LMN_OK)
        st = list_columns(adding, node, &count, err);
    if (st == LMN_OK)
        st = lmn__projection_init_nodes(&adding->projection, env, schema, node, count, true, err);
    return st == LMN_OK ? bind_all(adding, &adding->projection.arrow, err) : st;
}

/* The type of the columns: what the expressions give, nullable. */
static enum lmn_status make_schema(struct adding *adding, struct lmn_error *err)
{
    const struct request *request = adding->request;
    struct ArrowSchema *schema = &adding->schema;

    ArrowSchemaInit(schema);
    if (ArrowSchemaSetFormat(schema, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(schema, request->count) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    for (uint32_t i = 0; i < request->count; i++) {
        struct ArrowSchema *child = schema->children[i];
        enum lmn_status st = lmn__expr_type(request->expr[i], child, err);

        if (st != LMN_OK)
            return st;
        if (ArrowSchemaSetName(child, request->column[i].column) != NANOARROW_OK)
            return lmn__no_memory(err, "a schema", 0);
        child->flags |= ARROW_FLAG_NULLABLE;
    }
    return LMN_OK;
}

/* A lmn__fill_fn. */
static enum lmn_status evaluate(void *context, struct ArrowArray *rows,
                                struct ArrowArray *columns_out, struct lmn_error *err)
{
    const struct request *request = context;
    enum lmn_status st = lmn__array_compose(request->table->env, (uint64_t)rows->length,
                                            request->count, columns_out, err);

    for (uint32_t i = 0; st == LMN_OK && i < request->count; i++) {
        st = lmn__expr_eval(request->expr[i], rows, columns_out->children[i], err);
        if (st == LMN_OK)
            st = lmn__old_version_check(request->fill.manifest, request->fill.schema->children[i],
                                        columns_out->children[i], 0, (uint64_t)rows->length, err);
        else
            lmn__fail_within(err, st, "column \"%.100s\"", request->column[i].column);
    }
    return st;
}

static enum lmn_status fill_columns(struct adding *adding, bool *again_out, struct lmn_error *err)
{
    struct lmn__fill *fill = &adding->request->fill;
    enum lmn_status st = lmn__fields_of_added(adding->manifest, &adding->schema, &adding->arena,
                                              &adding->added, err);

    if (st == LMN_OK)
        st = lmn__fields_append(adding->manifest, &adding->added.fields, &adding->arena,
                                &adding->all, err);
    if (st != LMN_OK)
        return st;
    fill->manifest = adding->manifest;
    fill->projection = &adding->projection;
    fill->schema = &adding->schema;
    fill->fields = &adding->added.fields;
    fill->all_fields = &adding->all;
    fill->fn = evaluate;
    fill->context = adding->request;
    st = lmn__fill_write(fill, err);
    return st == LMN_OK ? lmn__fill_commit(fill, again_out, err) : st;
}

static enum lmn_status attempt_add(void *context, bool *again_out, struct lmn_error *err)
{
    struct request *request = context;
    struct adding adding = { .request = request, .manifest = lmn__table_manifest(request->table) };
    enum lmn_status st = lmn__manifest_check_writable(adding.manifest, err);

    lmn__arena_init(&adding.arena, request->table->env, 0);
    if (st == LMN_OK)
        st = project(&adding, err);
    if (st == LMN_OK)
        st = make_schema(&adding, err);
    if (st == LMN_OK)
        st = fill_columns(&adding, again_out, err);
    if (adding.schema.release != NULL)
        adding.schema.release(&adding.schema);
    if (adding.projection.layout != NULL)
        lmn__projection_deinit(&adding.projection);
    lmn__arena_deinit(&adding.arena);
    lmn__manifest_release(adding.manifest);
    return st;
}

enum lmn_status lmn_table_add_columns(struct lmn_table *table, const struct lmn_assignment *column,
                                      uint32_t count, struct lmn_error *err)
{
    struct request request = { .table = table, .column = column, .count = count };
    enum lmn_status st = LMN_OK;

    if (count == 0)
        return lmn_fail(err, LMN_E_INVALID, "there are no columns to add");
    request.expr = lmn__calloc(table->env, count, sizeof *request.expr);
    if (request.expr == NULL)
        return lmn__no_memory(err, "expressions", count * sizeof *request.expr);
    lmn__fill_init(&request.fill, table);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        st = lmn__expr_parse(table->env, column[i].expression, &request.expr[i], err);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "column \"%.100s\"", column[i].column);
    }
    if (st == LMN_OK)
        st = lmn__change_make(table, attempt_add, &request, err);
    lmn__fill_deinit(&request.fill);
    for (uint32_t i = 0; i < count; i++)
        lmn__expr_free(request.expr[i]);
    lmn__free(table->env, request.expr);
    return st;
}
