/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of columns that write no data: a column that no file of a fragment lists is null there,
 * one that is dropped stays in the files, unread, and names stand in the schema alone.
 */
#include <leman/table_columns.h>
#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "table/ledger.h"
#include "table/old_version.h"
#include "table/schema_edit.h"
#include "table/table_fields.h"

/* What a call was asked for. */
struct request {
    struct lmn_table *table;
    const struct ArrowSchema *schema; /* columns to add */
    const char *const *column;        /* to drop, or the one to rename */
    uint32_t column_count;
    const char *name; /* to give */
};

static enum lmn_status attempt_add(void *context, bool *again_out, struct lmn_error *err)
{
    const struct request *request = context;
    struct lmn__pb_schema added;
    struct lmn__schema_edit edit;
    enum lmn_status st = lmn__schema_edit_init(&edit, request->table, LMN__CHANGE_MERGE, err);

    if (st == LMN_OK)
        st = lmn__fields_of_added(edit.manifest, request->schema, &edit.arena, &added, err);
    for (int64_t i = 0; st == LMN_OK && i < request->schema->n_children; i++) {
        if (strcmp(request->schema->children[i]->format, "+s") == 0)
            st = lmn__old_version_check_null(edit.manifest, request->schema->children[i]->name,
                                             err);
    }
    if (st == LMN_OK)
        st = lmn__fields_append(edit.manifest, &added.fields, &edit.arena, &edit.fields, err);
    if (st == LMN_OK)
        st = lmn__schema_edit_list(&edit, err);
    if (st == LMN_OK)
        st = lmn__change_commit(request->table, &edit.change, again_out, err);
    lmn__schema_edit_deinit(&edit);
    return st;
}

enum lmn_status lmn_table_add_null_columns(struct lmn_table *table,
                                           const struct ArrowSchema *schema, struct lmn_error *err)
{
    struct request request = { .table = table, .schema = schema };

    for (int64_t i = 0; i < schema->n_children; i++) {
        if ((schema->children[i]->flags & ARROW_FLAG_NULLABLE) == 0)
            return lmn_fail(err, LMN_E_INVALID,
                            "column \"%.100s\" is declared to have no nulls and cannot be added "
                            "full of them",
                            schema->children[i]->name != NULL ? schema->children[i]->name : "");
    }
    return lmn__change_make(table, attempt_add, &request, err);
}

/* Which nodes go: those that are named, what is below them, and what belongs to them. */
struct dropping {
    const struct lmn__manifest *manifest;
    bool *gone; /* by number of the node */
};

static bool is_gone(const struct dropping *dropping, const struct lmn__node *node)
{
    return dropping->gone[node - dropping->manifest->schema.node];
}

static void drop_node(struct dropping *dropping, const struct lmn__node *node)
{
    dropping->gone[node - dropping->manifest->schema.node] = true;
    for (node = node->child; node != NULL; node = node->next)
        drop_node(dropping, node);
}

/* Columns that the library keeps for one that is dropped: its ledger, a refill and that one's. */
static void drop_hidden(struct dropping *dropping, const struct lmn__node *of)
{
    char id[16];

    snprintf(id, sizeof id, "%d", of->field->id);
    for (const struct lmn__node *node = dropping->manifest->schema.top; node != NULL;
         node = node->next) {
        if (is_gone(dropping, node) ||
            !lmn__span_equal(lmn__node_metadata(node, LMN__LEDGER_OF), id))
            continue;
        drop_node(dropping, node);
        drop_hidden(dropping, node);
    }
}

static enum lmn_status drop_path(struct dropping *dropping, const char *path, struct lmn_error *err)
{
    const struct lmn__node *node;
    enum lmn_status st = lmn__fields_find(dropping->manifest, path, &node, err);

    if (st != LMN_OK)
        return st;
    if (node->parent != NULL && node->parent->kind != LMN__NODE_STRUCT)
        return lmn_fail(err, LMN_E_INVALID,
                        "\"%.100s\" is what \"%.100s\" consists of and cannot be dropped from it",
                        path, node->parent->name);
    drop_node(dropping, node);
    if (node->parent == NULL)
        drop_hidden(dropping, node);
    return LMN_OK;
}

/* Something has to be left of the table and of each struct that is not dropped itself. */
static enum lmn_status check_left(const struct dropping *dropping, struct lmn_error *err)
{
    const struct lmn__schema *schema = &dropping->manifest->schema;
    uint32_t left = 0;

    for (uint32_t i = 0; i < schema->node_count; i++) {
        const struct lmn__node *node = &schema->node[i], *child = node->child;

        left += node->parent == NULL && !is_gone(dropping, node);
        if (child == NULL || is_gone(dropping, node))
            continue;
        while (child != NULL && is_gone(dropping, child))
            child = child->next;
        if (child == NULL)
            return lmn_fail(err, LMN_E_INVALID,
                            "no field would be left of \"%.100s\"; drop it as a whole", node->name);
    }
    return left != 0 ? LMN_OK : lmn_fail(err, LMN_E_INVALID, "no column would be left");
}

/* A function that stays with `column` reads what is dropped, or fills a column that is. */
static enum lmn_status needed(const struct lmn__node *gone, const char *how,
                              const struct lmn__node *column, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_INVALID,
                    "column \"%.100s\" is %s the function of \"%.100s\": drop \"%.100s\", too, "
                    "in the same call or before",
                    gone->name, how, column->name, column->name);
}

/* Is one of the columns that the function of `column` reads dropped? */
static enum lmn_status check_inputs(const struct dropping *dropping, const struct lmn__node *column,
                                    struct lmn__arena *arena, struct lmn_error *err)
{
    const char *const *input;
    uint32_t count;
    enum lmn_status st = lmn__ledger_inputs(&dropping->manifest->schema, column, arena, &input,
                                            &count, err);

    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        const struct lmn__node *node;

        /* An input that is not there any more hinders nobody. */
        if (lmn__fields_find(dropping->manifest, input[i], &node, NULL) == LMN_OK &&
            is_gone(dropping, node))
            st = needed(node, "read by", column, err);
    }
    return st;
}

static bool fills_several(struct lmn__span function)
{
    struct lmn__span outputs, item;

    return lmn__json_member(function, "outputs", &outputs, NULL) == LMN_OK &&
           outputs.data != NULL && lmn__json_next_item(&outputs, &item) &&
           lmn__json_next_item(&outputs, &item);
}

/* Is another of the columns that the function of `column` fills dropped? */
static enum lmn_status check_outputs(const struct dropping *dropping,
                                     const struct lmn__node *column, struct lmn_error *err)
{
    struct lmn__span function = lmn__node_metadata(column, LMN__FUNCTION_KEY);
    const struct lmn__node *node = dropping->manifest->schema.top;

    if (!fills_several(function))
        return LMN_OK;
    for (; node != NULL; node = node->next) {
        struct lmn__span other = lmn__node_metadata(node, LMN__FUNCTION_KEY);

        if (is_gone(dropping, node) && !lmn__ledger_is_hidden(node) && other.data != NULL &&
            other.len == function.len && memcmp(other.data, function.data, other.len) == 0)
            return needed(node, "filled by", column, err);
    }
    return LMN_OK;
}

/* Functions of columns that stay keep what they need. */
static enum lmn_status check_functions(const struct dropping *dropping, struct lmn__arena *arena,
                                       struct lmn_error *err)
{
    const struct lmn__node *node = dropping->manifest->schema.top;
    enum lmn_status st = LMN_OK;

    for (; st == LMN_OK && node != NULL; node = node->next) {
        if (is_gone(dropping, node) || lmn__ledger_is_hidden(node) ||
            lmn__node_metadata(node, LMN__FUNCTION_KEY).data == NULL)
            continue;
        st = check_inputs(dropping, node, arena, err);
        if (st == LMN_OK)
            st = check_outputs(dropping, node, err);
    }
    return st;
}

/* The fields that stay, as they are. */
static enum lmn_status list_left(const struct dropping *dropping, struct lmn__schema_edit *edit,
                                 struct lmn_error *err)
{
    const struct lmn__schema *schema = &dropping->manifest->schema;
    const struct lmn__pb_schema_field *from = edit->manifest->pb.fields.item;
    size_t count = edit->manifest->pb.fields.count;
    struct lmn__pb_schema_field *field = lmn__arena_array(&edit->arena, count, sizeof *field);

    if (field == NULL)
        return lmn__arena_fail(&edit->arena, "a schema", err);
    edit->fields = (struct lmn__pb_list){ field, 0 };
    for (size_t i = 0; i < count; i++) {
        bool gone = false;

        for (uint32_t k = 0; k < schema->node_count && !gone; k++)
            gone = dropping->gone[k] && schema->node[k].field->id == from[i].id;
        if (!gone)
            field[edit->fields.count++] = from[i];
    }
    return LMN_OK;
}

static enum lmn_status attempt_drop(void *context, bool *again_out, struct lmn_error *err)
{
    const struct request *request = context;
    struct lmn__schema_edit edit;
    struct dropping dropping;
    enum lmn_status st = lmn__schema_edit_init(&edit, request->table, LMN__CHANGE_PROJECT, err);

    dropping.manifest = edit.manifest;
    dropping.gone = lmn__arena_array(&edit.arena, edit.manifest->schema.node_count,
                                     sizeof *dropping.gone);
    if (st == LMN_OK && dropping.gone == NULL)
        st = lmn__arena_fail(&edit.arena, "a schema", err);
    for (uint32_t i = 0; st == LMN_OK && i < request->column_count; i++)
        st = drop_path(&dropping, request->column[i], err);
    if (st == LMN_OK)
        st = check_left(&dropping, err);
    if (st == LMN_OK)
        st = check_functions(&dropping, &edit.arena, err);
    if (st == LMN_OK)
        st = list_left(&dropping, &edit, err);
    if (st == LMN_OK)
        st = lmn__change_commit(request->table, &edit.change, again_out, err);
    lmn__schema_edit_deinit(&edit);
    return st;
}

enum lmn_status lmn_table_drop_columns(struct lmn_table *table, const char *const *column,
                                       uint32_t count, struct lmn_error *err)
{
    struct request request = { .table = table, .column = column, .column_count = count };

    if (count == 0)
        return lmn_fail(err, LMN_E_INVALID, "there are no columns to drop");
    return lmn__change_make(table, attempt_drop, &request, err);
}

static enum lmn_status check_name(const struct lmn__manifest *manifest,
                                  const struct lmn__node *node, const char *name,
                                  struct lmn_error *err)
{
    const struct lmn__node *other = node->parent != NULL ? node->parent->child
                                                         : manifest->schema.top;

    if (node->parent == NULL) {
        enum lmn_status st = lmn__fields_check_name(name, err);

        if (st != LMN_OK)
            return st;
    }
    if (node->parent != NULL && node->parent->kind != LMN__NODE_STRUCT)
        return lmn_fail(err, LMN_E_INVALID, "items of \"%.100s\" have no name to change",
                        node->parent->name);
    for (; other != NULL; other = other->next) {
        if (other != node && strcmp(other->name, name) == 0)
            return lmn_fail(err, LMN_E_EXISTS, "column \"%.100s\" is there already", name);
    }
    return LMN_OK;
}

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static enum lmn_status attempt_rename(void *context, bool *again_out, struct lmn_error *err)
{
    const struct request *request = context;
    static const struct lmn__pb_list nothing;
    const struct lmn__node *node = NULL;
    struct lmn__pb_schema_field *field;
    struct lmn__schema_edit edit;
    enum lmn_status st = lmn__schema_edit_init(&edit, request->table, LMN__CHANGE_PROJECT, err);

    if (st == LMN_OK)
        st = lmn__fields_find(edit.manifest, request->column[0], &node, err);
    if (st == LMN_OK)
        st = check_name(edit.manifest, node, request->name, err);
    if (st == LMN_OK)
        st = lmn__fields_append(edit.manifest, &nothing, &edit.arena, &edit.fields, err);
    field = edit.fields.item;
    for (size_t i = 0; st == LMN_OK && i < edit.fields.count; i++) {
        if (field[i].id == node->field->id)
            field[i].name = span_of(request->name);
    }
    if (st == LMN_OK)
        st = lmn__change_commit(request->table, &edit.change, again_out, err);
    lmn__schema_edit_deinit(&edit);
    return st;
}

enum lmn_status lmn_table_rename_column(struct lmn_table *table, const char *column,
                                        const char *name, struct lmn_error *err)
{
    struct request request = { .table = table, .column = &column, .column_count = 1, .name = name };
    enum lmn_status st;

    if (name == NULL)
        return lmn_fail(err, LMN_E_INVALID, "a column is to have no name");
    st = lmn__utf8_check(span_of(name), "the name of a column or field", err);
    if (st != LMN_OK)
        return st;
    if (name[0] == '\0' || strchr(name, '.') != NULL)
        return lmn_fail(err, LMN_E_INVALID,
                        "\"%.100s\" cannot be the name of a column: it is empty or has a dot",
                        name);
    return lmn__change_make(table, attempt_rename, &request, err);
}
