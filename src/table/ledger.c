/* SPDX-License-Identifier: Apache-2.0 */
#include "table/ledger.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "base/error.h"
#include "table/table_fields.h"

enum { ID_CHARS = 16 };

static const char *const field_name[LMN__LEDGER_FIELDS] = { "state", "function", "inputs" };
static const enum ArrowType field_type[LMN__LEDGER_FIELDS] = { NANOARROW_TYPE_UINT8,
                                                               NANOARROW_TYPE_UINT64,
                                                               NANOARROW_TYPE_UINT64 };

bool lmn__ledger_is_hidden(const struct lmn__node *node)
{
    return lmn__node_metadata(node, LMN__LEDGER_OF).data != NULL;
}

/* Has it the fields of a ledger? A refill has those of its column, and says who fills it. */
static bool is_ledger(const struct lmn__node *node)
{
    const struct lmn__node *child = node->child;

    if (node->kind != LMN__NODE_STRUCT || node->child_count != LMN__LEDGER_FIELDS ||
        lmn__node_metadata(node, LMN__FUNCTION_KEY).data != NULL)
        return false;
    for (int i = 0; i < LMN__LEDGER_FIELDS; i++, child = child->next) {
        if (strcmp(child->name, field_name[i]) != 0)
            return false;
    }
    return true;
}

const struct lmn__node *lmn__ledger_of(const struct lmn__schema *schema,
                                       const struct lmn__node *column)
{
    char id[ID_CHARS];

    snprintf(id, sizeof id, "%d", column->field->id);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next) {
        if (lmn__span_equal(lmn__node_metadata(node, LMN__LEDGER_OF), id) && is_ledger(node))
            return node;
    }
    return NULL;
}

enum lmn_status lmn__ledger_find(const struct lmn__manifest *manifest, const char *column,
                                 const struct lmn__node **column_out,
                                 const struct lmn__node **ledger_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__fields_find(manifest, column, column_out, err);

    *ledger_out = NULL;
    if (st != LMN_OK)
        return st;
    if ((*column_out)->parent == NULL)
        *ledger_out = lmn__ledger_of(&manifest->schema, *column_out);
    if (*ledger_out == NULL)
        return lmn_fail(err, LMN_E_NOT_FOUND, "no function fills the column \"%.100s\"", column);
    return LMN_OK;
}

/* The metadata of a field with another value of `leman:of`. */
static enum lmn_status point_at(struct lmn__pb_schema_field *field, int32_t to,
                                struct lmn__arena *arena, struct lmn_error *err)
{
    const struct lmn__pb_entry *had = field->metadata.item;
    struct lmn__pb_entry *entry = lmn__arena_array(arena, field->metadata.count, sizeof *entry);
    char *id = lmn__arena_alloc(arena, ID_CHARS);

    if (entry == NULL || id == NULL)
        return lmn__arena_fail(arena, "a ledger", err);
    snprintf(id, ID_CHARS, "%d", to);
    for (size_t i = 0; i < field->metadata.count; i++) {
        entry[i] = had[i];
        if (lmn__span_equal(had[i].key, LMN__LEDGER_OF))
            entry[i].value = (struct lmn__span){ (const uint8_t *)id, strlen(id) };
    }
    field->metadata.item = entry;
    return LMN_OK;
}

enum lmn_status lmn__ledger_follow(struct lmn__pb_list *fields, int32_t from, int32_t to,
                                   struct lmn__arena *arena, struct lmn_error *err)
{
    struct lmn__pb_schema_field *field = fields->item;
    char id[ID_CHARS];
    enum lmn_status st = LMN_OK;

    snprintf(id, sizeof id, "%d", from);
    for (size_t i = 0; st == LMN_OK && i < fields->count; i++) {
        const struct lmn__pb_entry *entry = field[i].metadata.item;
        bool points = false;

        for (size_t k = 0; k < field[i].metadata.count; k++)
            points |= lmn__span_equal(entry[k].key, LMN__LEDGER_OF) &&
                      lmn__span_equal(entry[k].value, id);
        if (points)
            st = point_at(&field[i], to, arena, err);
    }
    return st == LMN_OK ? lmn__ledger_follow_inputs(fields, from, to, arena, err) : st;
}

static enum lmn_status set_of(struct ArrowSchema *schema, int32_t of, struct lmn_error *err)
{
    struct ArrowBuffer metadata;
    char id[ID_CHARS];
    bool failed;

    snprintf(id, sizeof id, "%d", of);
    if (ArrowMetadataBuilderInit(&metadata, NULL) != NANOARROW_OK)
        return lmn__no_memory(err, "a ledger's schema", 0);
    failed = ArrowMetadataBuilderAppend(&metadata, ArrowCharView(LMN__LEDGER_OF),
                                        ArrowCharView(id)) != NANOARROW_OK ||
             ArrowSchemaSetMetadata(schema, (const char *)metadata.data) != NANOARROW_OK;
    ArrowBufferReset(&metadata);
    return failed ? lmn__no_memory(err, "a ledger's schema", 0) : LMN_OK;
}

enum lmn_status lmn__ledger_schema(const char *name, int32_t of, struct ArrowSchema *schema_out,
                                   struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    ArrowSchemaInit(schema_out);
    if (ArrowSchemaSetTypeStruct(schema_out, LMN__LEDGER_FIELDS) != NANOARROW_OK ||
        ArrowSchemaSetName(schema_out, name) != NANOARROW_OK)
        st = lmn__no_memory(err, "a ledger's schema", 0);
    for (int i = 0; st == LMN_OK && i < LMN__LEDGER_FIELDS; i++) {
        if (ArrowSchemaSetType(schema_out->children[i], field_type[i]) != NANOARROW_OK ||
            ArrowSchemaSetName(schema_out->children[i], field_name[i]) != NANOARROW_OK)
            st = lmn__no_memory(err, "a ledger's schema", 0);
    }
    if (st == LMN_OK)
        st = set_of(schema_out, of, err);
    if (st != LMN_OK && schema_out->release != NULL)
        schema_out->release(schema_out);
    return st;
}
