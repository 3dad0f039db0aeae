/* SPDX-License-Identifier: Apache-2.0 */
#include "table/conform.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/child_names.h"
#include "arrow/schema.h"
#include "arrow/view.h"
#include "base/error.h"
#include "format/schema_write.h"
#include "table/ledger.h"
#include "table/old_version.h"
#include "table/table_fields.h"

static const char *name_of(const struct ArrowSchema *schema)
{
    return schema->name != NULL ? schema->name : "";
}

/* Every column that is given has to be one of the table's, and once. */
static enum lmn_status check_names(struct lmn__conform *conform, const struct lmn__schema *schema,
                                   const struct lmn__child_names *names, struct lmn_error *err)
{
    const struct ArrowSchema *given = names->schema;
    bool *known = lmn__arena_array(&conform->arena, (uint64_t)given->n_children, sizeof *known);

    if (known == NULL)
        return lmn__arena_fail(&conform->arena, "a list of columns", err);
    memset(known, 0, (size_t)given->n_children * sizeof *known);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next) {
        int64_t child = lmn__child_names_find(names, node->name);

        if (child >= 0)
            known[child] = true;
    }
    for (int64_t i = 0; i < given->n_children; i++) {
        const char *name = name_of(given->children[i]);

        if (lmn__child_names_find(names, name) != i)
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is there twice", name);
        if (!known[i])
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is not in the table", name);
    }
    return LMN_OK;
}

enum lmn_status lmn__conform_check_whole(const struct lmn__conform *conform, struct lmn_error *err)
{
    return conform->missing == NULL
               ? LMN_OK
               : lmn_fail(err, LMN_E_INVALID, "column \"%.100s\", which has no nulls, is missing",
                          conform->missing);
}

static enum lmn_status select_columns(struct lmn__conform *conform,
                                      const struct lmn__schema *schema,
                                      const struct lmn__child_names *names, bool partial,
                                      struct lmn_error *err)
{
    conform->column = lmn__arena_array(&conform->arena, schema->top_count, sizeof *conform->column);
    conform->child = lmn__arena_array(&conform->arena, schema->top_count, sizeof *conform->child);
    conform->array = lmn__arena_array(&conform->arena, schema->top_count, sizeof *conform->array);
    if (conform->column == NULL || conform->child == NULL || conform->array == NULL)
        return lmn__arena_fail(&conform->arena, "a list of columns", err);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next) {
        int64_t child = lmn__child_names_find(names, node->name);

        if (child >= 0) {
            conform->column[conform->column_count] = node;
            conform->child[conform->column_count++] = child;
        } else if (!node->field->nullable && conform->missing == NULL) {
            conform->missing = node->name;
        } else if (node->kind == LMN__NODE_STRUCT && !lmn__ledger_is_hidden(node) &&
                   conform->missing_struct == NULL) {
            conform->missing_struct = node->name;
        }
    }
    if (conform->column_count == 0)
        return lmn_fail(err, LMN_E_INVALID,
                        names->schema->n_children != 0 ? "the rows have none of the table's columns"
                                                       : "the rows have no columns");
    return partial ? LMN_OK : lmn__conform_check_whole(conform, err);
}

/* What a blob column is written from: bytes, or references where the rows have such. */
static enum lmn_status set_blob(struct lmn__conform *conform, uint32_t i,
                                const struct ArrowSchema *given, struct lmn_error *err)
{
    struct ArrowSchema *schema = conform->schema.children[i];
    enum lmn_status st;

    if (!lmn__arrow_is_reference(given))
        return lmn__arrow_mark_blob(schema, err);
    if (conform->column[i]->blob != LMN__BLOB_V2)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "column \"%.100s\" holds blobs of a file version before 2.2, which cannot "
                        "refer to bytes elsewhere",
                        conform->column[i]->name);
    schema->release(schema);
    st = lmn__arrow_schema_copy(given, schema, err);
    if (st == LMN_OK && ArrowSchemaSetName(schema, conform->column[i]->name) != NANOARROW_OK)
        st = lmn__no_memory(err, "a schema", 0);
    return st;
}

static enum lmn_status make_schema(struct lmn__conform *conform, const struct lmn__schema *schema,
                                   const struct ArrowSchema *given, struct lmn_error *err)
{
    struct lmn__projection projection;
    enum lmn_status st = lmn__projection_init_nodes(
        &projection, conform->env, schema, conform->column, conform->column_count, true, err);

    if (st != LMN_OK)
        return st;
    st = lmn__projection_schema(&projection, &conform->schema, err);
    for (uint32_t i = 0; st == LMN_OK && i < conform->column_count; i++) {
        if (conform->column[i]->blob != LMN__BLOB_NONE)
            st = set_blob(conform, i, given->children[conform->child[i]], err);
    }
    lmn__projection_deinit(&projection);
    return st;
}

enum lmn_status lmn__conform_init(struct lmn__conform *conform, struct lmn_env *env,
                                  const struct lmn__schema *schema, const struct ArrowSchema *given,
                                  bool partial, struct lmn_error *err)
{
    struct lmn__child_names names;
    enum lmn_status st;

    *conform = (struct lmn__conform){ .env = env };
    lmn__arena_init(&conform->arena, env, 0);
    if (given->format == NULL || strcmp(given->format, "+s") != 0)
        st = lmn_fail(err, LMN_E_INVALID, "rows are a struct of columns, not of type \"%.40s\"",
                      given->format != NULL ? given->format : "");
    else
        st = lmn__child_names_init(&names, given, &conform->arena, err);
    if (st == LMN_OK)
        st = check_names(conform, schema, &names, err);
    if (st == LMN_OK)
        st = select_columns(conform, schema, &names, partial, err);
    if (st == LMN_OK)
        st = lmn__fields_of_columns(conform->column, conform->column_count, &conform->arena,
                                    &conform->fields, err);
    if (st == LMN_OK)
        st = make_schema(conform, schema, given, err);
    for (uint32_t i = 0; st == LMN_OK && i < conform->column_count; i++) {
        st = lmn__arrow_type_check(given->children[conform->child[i]], conform->schema.children[i],
                                   err);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "column \"%.100s\"", conform->column[i]->name);
    }
    if (st != LMN_OK)
        lmn__conform_deinit(conform);
    return st;
}

void lmn__conform_deinit(struct lmn__conform *conform)
{
    if (conform->schema.release != NULL)
        conform->schema.release(&conform->schema);
    lmn__arena_deinit(&conform->arena);
}

enum lmn_status lmn__conform_batch(struct lmn__conform *conform, const struct ArrowArray *batch,
                                   struct ArrowArray *view_out, struct lmn_error *err)
{
    *view_out = (struct ArrowArray){ 0 };
    for (int64_t i = 0; lmn__view_validity(batch) != NULL && i < batch->length; i++) {
        if (lmn__view_is_null(batch, (uint64_t)i))
            return lmn_fail(err, LMN_E_INVALID, "row %lld of a batch is null as a whole",
                            (long long)i);
    }
    for (uint32_t i = 0; i < conform->column_count; i++)
        conform->array[i] = batch->children[conform->child[i]];
    *view_out = (struct ArrowArray){ .length = batch->length,
                                     .offset = batch->offset,
                                     .n_buffers = 1,
                                     .n_children = conform->column_count,
                                     .buffers = conform->no_buffer,
                                     .children = conform->array };
    return LMN_OK;
}

enum lmn_status lmn__conform_check_values(const struct lmn__conform *conform,
                                          const struct ArrowArray *rows, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < conform->column_count; i++)
        st = lmn__old_version_check(conform->manifest, conform->schema.children[i],
                                    rows->children[i], (uint64_t)rows->offset,
                                    (uint64_t)rows->length, err);
    return st;
}

enum lmn_status lmn__conform_check_new(const struct lmn__conform *conform,
                                       const struct ArrowArray *rows, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (rows->length != 0 && conform->missing_struct != NULL)
        st = lmn__old_version_check_null(conform->manifest, conform->missing_struct, err);
    return st == LMN_OK ? lmn__conform_check_values(conform, rows, err) : st;
}
