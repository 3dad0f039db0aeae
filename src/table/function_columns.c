/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns that functions fill: they are added empty, each with its ledger, and carry in their
 * metadata which function it is. None of it writes data.
 */
#include <leman/table_fill.h>
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/schema.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "table/ledger.h"
#include "table/schema_edit.h"
#include "table/table_fields.h"

enum { NAME_BYTES = 512, NAMES_TRIED_MAX = 1000 };

/* What a call was asked for. */
struct request {
    struct lmn_table *table;
    const struct ArrowSchema *schema; /* columns to add */
    const char *column;               /* the one to set a function for */
    const char *function;
};

/* Columns that are being added. */
struct adding {
    struct lmn__schema_edit edit;
    struct ArrowSchema schema; /* columns and ledgers */
};

static enum lmn_status check_function(const char *function, struct lmn_error *err)
{
    size_t len = strlen(function);
    struct lmn__span text = { (const uint8_t *)function, len }, value;
    enum lmn_status st;

    if (len > LMN__FUNCTION_TEXT_MAX)
        return lmn_fail(err, LMN_E_INVALID,
                        "the description of a function has %zu bytes; at most %d go into a "
                        "column's metadata",
                        len, LMN__FUNCTION_TEXT_MAX);
    st = lmn__utf8_check(text, "the description of a function", err);
    if (st != LMN_OK)
        return st;
    st = lmn__json_member(text, "inputs", &value, err);
    if (st == LMN_OK)
        return LMN_OK;
    lmn__fail_within(err, st, "the description of a function");
    if (err != NULL)
        err->status = LMN_E_INVALID;
    return LMN_E_INVALID;
}

static bool is_taken(const struct adding *adding, const char *name)
{
    for (const struct lmn__node *node = adding->edit.manifest->schema.top; node != NULL;
         node = node->next) {
        if (strcmp(node->name, name) == 0)
            return true;
    }
    return lmn__arrow_child(&adding->schema, name, NULL) != NULL;
}

/* "_leman_<column>", or one with a number where a renamed column has left that behind. */
static enum lmn_status name_ledger(const struct adding *adding, const char *column, char *name,
                                   struct lmn_error *err)
{
    for (int i = 1; i < NAMES_TRIED_MAX; i++) {
        int len = i == 1 ? snprintf(name, NAME_BYTES, LMN__LEDGER_PREFIX "%s", column)
                         : snprintf(name, NAME_BYTES, LMN__LEDGER_PREFIX "%s_%d", column, i);

        if (len < 0 || len >= NAME_BYTES)
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s...\" has too long a name", column);
        if (!is_taken(adding, name))
            return LMN_OK;
    }
    return lmn_fail(err, LMN_E_EXISTS, "no name is left for the ledger of \"%.100s\"", column);
}

static enum lmn_status set_metadata(struct ArrowSchema *schema, const char *function,
                                    const char *ids, struct lmn_error *err)
{
    struct ArrowBuffer metadata;
    bool failed;

    if (ArrowMetadataBuilderInit(&metadata, schema->metadata) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema's metadata", 0);
    failed = ArrowMetadataBuilderSet(&metadata, ArrowCharView(LMN__FUNCTION_KEY),
                                     ArrowCharView(function)) != NANOARROW_OK ||
             ArrowMetadataBuilderSet(&metadata, ArrowCharView(LMN__INPUTS_KEY),
                                     ArrowCharView(ids)) != NANOARROW_OK ||
             ArrowSchemaSetMetadata(schema, (const char *)metadata.data) != NANOARROW_OK;
    ArrowBufferReset(&metadata);
    return failed ? lmn__no_memory(err, "a schema's metadata", 0) : LMN_OK;
}

/* The columns with the function in their metadata; room is left for their ledgers. */
static enum lmn_status copy_columns(struct adding *adding, const struct request *request,
                                    struct lmn_error *err)
{
    int64_t count = request->schema->n_children;
    const char *ids;
    enum lmn_status st = lmn__ledger_input_ids(adding->edit.manifest, request->function,
                                               &adding->edit.arena, &ids, err);

    if (st != LMN_OK)
        return st;
    ArrowSchemaInit(&adding->schema);
    if (ArrowSchemaSetFormat(&adding->schema, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(&adding->schema, 2 * count) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    adding->schema.n_children = count;
    for (int64_t i = 0; st == LMN_OK && i < count; i++) {
        st = lmn__arrow_schema_copy(request->schema->children[i], adding->schema.children[i], err);
        if (st == LMN_OK)
            st = set_metadata(adding->schema.children[i], request->function, ids, err);
    }
    if (st != LMN_OK)
        adding->schema.n_children = 2 * count; /* all of them are to be released */
    return st;
}

/* The columns with their ledgers behind, as fields. */
static enum lmn_status add_fields(struct adding *adding, const struct request *request,
                                  struct lmn_error *err)
{
    int64_t count = request->schema->n_children;
    struct lmn__pb_schema added;
    const struct lmn__pb_schema_field *field;
    char name[NAME_BYTES];
    size_t at = 0;
    enum lmn_status st = copy_columns(adding, request, err);

    /* The columns alone have the ids that they have together with ledgers behind them. */
    if (st != LMN_OK)
        return st;
    st = lmn__fields_of_added(adding->edit.manifest, &adding->schema, &adding->edit.arena, &added,
                              err);
    field = added.fields.item;
    for (int64_t i = 0; st == LMN_OK && i < count; i++, at++) {
        while (field[at].parent_id != -1)
            at++;
        st = name_ledger(adding, adding->schema.children[i]->name, name, err);
        if (st == LMN_OK)
            st = lmn__ledger_schema(name, field[at].id, adding->schema.children[count + i], err);
        adding->schema.n_children += st == LMN_OK;
    }
    adding->schema.n_children = 2 * count;
    if (st == LMN_OK)
        st = lmn__fields_of_added(adding->edit.manifest, &adding->schema, &adding->edit.arena,
                                  &added, err);
    if (st == LMN_OK)
        st = lmn__fields_append(adding->edit.manifest, &added.fields, &adding->edit.arena,
                                &adding->edit.fields, err);
    return st;
}

static enum lmn_status attempt_add(void *context, bool *again_out, struct lmn_error *err)
{
    const struct request *request = context;
    struct adding adding = { 0 };
    enum lmn_status st = lmn__schema_edit_init(&adding.edit, request->table, LMN__CHANGE_MERGE,
                                               err);

    if (st == LMN_OK && adding.edit.manifest->format_minor == 0)
        st = lmn_fail(err, LMN_E_UNSUPPORTED,
                      "columns that functions fill have ledgers, for which tables of file version "
                      "2.0 have no place; `leman upgrade` rewrites the table as 2.1");
    if (st == LMN_OK)
        st = add_fields(&adding, request, err);
    if (st == LMN_OK)
        st = lmn__schema_edit_list(&adding.edit, err);
    if (st == LMN_OK)
        st = lmn__change_commit(request->table, &adding.edit.change, again_out, err);
    if (adding.schema.release != NULL)
        adding.schema.release(&adding.schema);
    lmn__schema_edit_deinit(&adding.edit);
    return st;
}

enum lmn_status lmn_table_add_function_columns(struct lmn_table *table,
                                               const struct ArrowSchema *schema,
                                               const char *function, struct lmn_error *err)
{
    struct request request = { .table = table, .schema = schema, .function = function };
    enum lmn_status st = check_function(function, err);

    if (st != LMN_OK)
        return st;
    for (int64_t i = 0; i < schema->n_children; i++) {
        if ((schema->children[i]->flags & ARROW_FLAG_NULLABLE) == 0)
            return lmn_fail(err, LMN_E_INVALID,
                            "column \"%.100s\" is declared to have no nulls; one that is to be "
                            "filled begins with nothing else",
                            schema->children[i]->name != NULL ? schema->children[i]->name : "");
    }
    return lmn__change_make(table, attempt_add, &request, err);
}

static enum lmn_status attempt_set(void *context, bool *again_out, struct lmn_error *err)
{
    static const struct lmn__pb_list nothing;
    const struct request *request = context;
    const struct lmn__node *column = NULL, *ledger;
    struct lmn__pb_schema_field *field;
    struct lmn__schema_edit edit;
    const char *ids = "";
    enum lmn_status st = lmn__schema_edit_init(&edit, request->table, LMN__CHANGE_PROJECT, err);

    if (st == LMN_OK)
        st = lmn__ledger_find(edit.manifest, request->column, &column, &ledger, err);
    if (st == LMN_OK)
        st = lmn__ledger_input_ids(edit.manifest, request->function, &edit.arena, &ids, err);
    if (st == LMN_OK)
        st = lmn__fields_append(edit.manifest, &nothing, &edit.arena, &edit.fields, err);
    field = edit.fields.item;
    for (size_t i = 0; st == LMN_OK && i < edit.fields.count; i++) {
        if (field[i].id != column->field->id)
            continue;
        st = lmn__schema_edit_note(&edit, &field[i], LMN__FUNCTION_KEY, request->function, err);
        if (st == LMN_OK)
            st = lmn__schema_edit_note(&edit, &field[i], LMN__INPUTS_KEY, ids, err);
    }
    if (st == LMN_OK)
        st = lmn__change_commit(request->table, &edit.change, again_out, err);
    lmn__schema_edit_deinit(&edit);
    return st;
}

enum lmn_status lmn_table_set_function(struct lmn_table *table, const char *column,
                                       const char *function, struct lmn_error *err)
{
    struct request request = { .table = table, .column = column, .function = function };
    enum lmn_status st = check_function(function, err);

    return st == LMN_OK ? lmn__change_make(table, attempt_set, &request, err) : st;
}
