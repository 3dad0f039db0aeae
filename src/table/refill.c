/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A refill is found by its metadata: `leman:of` names its column's field, as that of a ledger does,
 * and `leman:function` tells it from one. None of the commits here writes data:
 *
 *   begin    Merge    fields like the column's, with ids of their own, and a ledger for them
 *   swap     Project  the refill's fields stand where the column's stood; these are gone
 *   discard  Project  the refill's fields are gone
 */
#include "table/refill.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include <leman/table_scan.h>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "table/ledger.h"
#include "table/schema_edit.h"
#include "table/table_fields.h"

enum { NAME_BYTES = 512, NAMES_TRIED_MAX = 1000, COLUMNS_MAX = 256, ID_CHARS = 16 };

/* What a call was asked for. */
struct request {
    struct lmn_table *table;
    const char *const *column;
    uint32_t count;
};

/* A column with what belongs to it; what is not there is NULL. */
struct part {
    const struct lmn__node *column, *ledger, *refill, *refill_ledger;
};

/* A commit in the making. */
struct refilling {
    const struct request *request;
    struct lmn__schema_edit edit;
    struct part *part; /* by column of the request */
    struct lmn__pb_schema_field *field;
    size_t count;
    int32_t next_id;
};

const struct lmn__node *lmn__refill_of(const struct lmn__schema *schema,
                                       const struct lmn__node *column)
{
    char id[ID_CHARS];

    snprintf(id, sizeof id, "%d", column->field->id);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next) {
        if (lmn__span_equal(lmn__node_metadata(node, LMN__LEDGER_OF), id) &&
            lmn__node_metadata(node, LMN__FUNCTION_KEY).data != NULL)
            return node;
    }
    return NULL;
}

const struct lmn__node *lmn__refill_column(const struct lmn__schema *schema,
                                           const struct lmn__node *refill)
{
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next) {
        if (lmn__refill_of(schema, node) == refill)
            return node;
    }
    return NULL;
}

enum lmn_status lmn__refill_find(const struct lmn__manifest *manifest, const char *column,
                                 const struct lmn__node **column_out,
                                 const struct lmn__node **refill_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__fields_find(manifest, column, column_out, err);

    *refill_out = NULL;
    if (st != LMN_OK)
        return st;
    if ((*column_out)->parent == NULL)
        *refill_out = lmn__refill_of(&manifest->schema, *column_out);
    if (*refill_out == NULL)
        return lmn_fail(err, LMN_E_NOT_FOUND, "column \"%.100s\" has not been computed again",
                        column);
    return LMN_OK;
}

enum lmn_status lmn_table_refill_name(struct lmn_table *table, const char *column, char **name_out,
                                      struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    const struct lmn__node *node, *refill = NULL;
    enum lmn_status st = lmn__fields_find(manifest, column, &node, err);

    *name_out = NULL;
    if (st == LMN_OK && node->parent == NULL)
        refill = lmn__refill_of(&manifest->schema, node);
    if (refill != NULL) {
        *name_out = lmn__text_new(table->env, refill->name, strlen(refill->name));
        if (*name_out == NULL)
            st = lmn__no_memory(err, "a name", strlen(refill->name));
    }
    lmn__manifest_release(manifest);
    return st;
}

static void put_tree(struct refilling *refilling, const struct lmn__node *node)
{
    refilling->field[refilling->count++] = *node->field;
    for (node = node->child; node != NULL; node = node->next)
        put_tree(refilling, node);
}

/* Copies of a node's field and of those below it, with ids of their own. */
static void put_copy(struct refilling *refilling, const struct lmn__node *node, int32_t parent_id)
{
    struct lmn__pb_schema_field *field = &refilling->field[refilling->count++];

    *field = *node->field;
    field->id = refilling->next_id++;
    field->parent_id = parent_id;
    parent_id = field->id;
    for (node = node->child; node != NULL; node = node->next)
        put_copy(refilling, node, parent_id);
}

static struct lmn__span text_span(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static enum lmn_status find_part(struct refilling *refilling, const char *name, struct part *part,
                                 struct lmn_error *err)
{
    const struct lmn__manifest *manifest = refilling->edit.manifest;
    enum lmn_status st = lmn__fields_find(manifest, name, &part->column, err);

    if (st != LMN_OK || part->column->parent != NULL)
        return st == LMN_OK
                   ? lmn_fail(err, LMN_E_NOT_FOUND, "\"%.100s\" is a part of a column", name)
                   : st;
    part->ledger = lmn__ledger_of(&manifest->schema, part->column);
    part->refill = lmn__refill_of(&manifest->schema, part->column);
    if (part->refill != NULL)
        part->refill_ledger = lmn__ledger_of(&manifest->schema, part->refill);
    return LMN_OK;
}

/* Begin an attempt: find the columns, and make room for the fields of the next version. */
static enum lmn_status refilling_init(struct refilling *refilling, const struct request *request,
                                      enum lmn__change_kind kind, struct lmn_error *err)
{
    enum lmn_status st = lmn__schema_edit_init(&refilling->edit, request->table, kind, err);
    struct lmn__arena *arena = &refilling->edit.arena;
    uint32_t nodes = refilling->edit.manifest->schema.node_count;
    size_t room = (size_t)nodes * 2 + (size_t)request->count * (1 + LMN__LEDGER_FIELDS);

    refilling->request = request;
    if (st != LMN_OK)
        return st;
    refilling->part = lmn__arena_array(arena, request->count, sizeof *refilling->part);
    refilling->field = lmn__arena_array(arena, room, sizeof *refilling->field);
    if (refilling->part == NULL || refilling->field == NULL)
        return lmn__arena_fail(arena, "a schema", err);
    for (uint32_t i = 0; st == LMN_OK && i < request->count; i++)
        st = find_part(refilling, request->column[i], &refilling->part[i], err);
    return st;
}

static enum lmn_status refilling_commit(struct refilling *refilling, bool *again_out,
                                        struct lmn_error *err)
{
    refilling->edit.fields = (struct lmn__pb_list){ refilling->field, refilling->count };
    return lmn__change_commit(refilling->request->table, &refilling->edit.change, again_out, err);
}

/* Is a column on top level a refill of the request's columns, or the ledger of one? */
static bool is_of_refill(const struct refilling *refilling, const struct lmn__node *node)
{
    for (uint32_t i = 0; i < refilling->request->count; i++) {
        if (node == refilling->part[i].refill || node == refilling->part[i].refill_ledger)
            return true;
    }
    return false;
}

/* All columns but refills of the request's columns. */
static void put_others(struct refilling *refilling)
{
    for (const struct lmn__node *node = refilling->edit.manifest->schema.top; node != NULL;
         node = node->next) {
        if (!is_of_refill(refilling, node))
            put_tree(refilling, node);
    }
}

/* Does the refill belong to the function that the column has? */
static bool is_current(const struct part *part)
{
    static const char *const member[] = { "version", "inputs" };
    struct lmn__span a, b;

    if (part->refill == NULL || part->refill_ledger == NULL)
        return false;
    for (size_t i = 0; i < sizeof member / sizeof member[0]; i++) {
        if (lmn__json_member(lmn__node_metadata(part->column, LMN__FUNCTION_KEY), member[i], &a,
                             NULL) != LMN_OK ||
            lmn__json_member(lmn__node_metadata(part->refill, LMN__FUNCTION_KEY), member[i], &b,
                             NULL) != LMN_OK ||
            a.len != b.len || (a.len != 0 && memcmp(a.data, b.data, a.len) != 0))
            return false;
    }
    return true;
}

static bool is_taken(const struct refilling *refilling, const char *name)
{
    for (size_t i = 0; i < refilling->count; i++) {
        if (refilling->field[i].parent_id == -1 && lmn__span_equal(refilling->field[i].name, name))
            return true;
    }
    return false;
}

/* Prefix and column, with a number behind them where that is taken; in the arena. */
static enum lmn_status make_name(struct refilling *refilling, const char *prefix,
                                 const char *column, const char **name_out, struct lmn_error *err)
{
    char *name = lmn__arena_alloc(&refilling->edit.arena, NAME_BYTES);

    *name_out = name;
    if (name == NULL)
        return lmn__arena_fail(&refilling->edit.arena, "a name", err);
    for (int i = 1; i < NAMES_TRIED_MAX; i++) {
        int len = i == 1 ? snprintf(name, NAME_BYTES, "%s%s", prefix, column)
                         : snprintf(name, NAME_BYTES, "%s%s_%d", prefix, column, i);

        if (len < 0 || len >= NAME_BYTES)
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s...\" has too long a name", column);
        if (!is_taken(refilling, name))
            return LMN_OK;
    }
    return lmn_fail(err, LMN_E_EXISTS, "no name is left for what \"%.100s\" becomes", column);
}

/* The metadata of a column, and whose refill it is. */
static enum lmn_status mark_refill(struct refilling *refilling, struct lmn__pb_schema_field *field,
                                   int32_t of, struct lmn_error *err)
{
    struct lmn__arena *arena = &refilling->edit.arena;
    struct lmn__pb_entry *entry = lmn__arena_array(arena, field->metadata.count + 1, sizeof *entry);
    char *id = lmn__arena_alloc(arena, ID_CHARS);

    if (entry == NULL || id == NULL)
        return lmn__arena_fail(arena, "a column's metadata", err);
    snprintf(id, ID_CHARS, "%d", of);
    memcpy(entry, field->metadata.item, field->metadata.count * sizeof *entry);
    entry[field->metadata.count] = (struct lmn__pb_entry){ .key = text_span(LMN__LEDGER_OF),
                                                           .value = text_span(id) };
    field->metadata = (struct lmn__pb_list){ entry, field->metadata.count + 1 };
    return LMN_OK;
}

static enum lmn_status put_refill(struct refilling *refilling, const struct part *part,
                                  const char **name_out, int32_t *id_out, struct lmn_error *err)
{
    struct lmn__pb_schema_field *top;
    enum lmn_status st = make_name(refilling, LMN__LEDGER_NEXT_PREFIX, part->column->name, name_out,
                                   err);

    if (st != LMN_OK)
        return st;
    top = &refilling->field[refilling->count];
    put_copy(refilling, part->column, -1);
    top->name = text_span(*name_out);
    *id_out = top->id;
    return mark_refill(refilling, top, part->column->field->id, err);
}

static enum lmn_status put_ledger(struct refilling *refilling, const char *refill, int32_t of,
                                  struct lmn_error *err)
{
    struct ArrowSchema schema;
    struct lmn__pb_schema pb = { 0 };
    const char *name;
    enum lmn_status st = make_name(refilling, LMN__LEDGER_PREFIX, refill, &name, err);

    if (st != LMN_OK)
        return st;
    ArrowSchemaInit(&schema);
    if (ArrowSchemaSetFormat(&schema, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(&schema, 1) != NANOARROW_OK)
        st = lmn__no_memory(err, "a ledger", 0);
    if (st == LMN_OK)
        st = lmn__ledger_schema(name, of, schema.children[0], err);
    if (st == LMN_OK)
        st = lmn__fields_from_arrow(&schema, refilling->edit.manifest->minor, refilling->next_id,
                                    &refilling->edit.arena, &pb, err);
    if (st == LMN_OK) {
        memcpy(refilling->field + refilling->count, pb.fields.item,
               pb.fields.count * sizeof *refilling->field);
        refilling->count += pb.fields.count;
        refilling->next_id += (int32_t)pb.fields.count;
    }
    if (schema.release != NULL)
        schema.release(&schema);
    return st;
}

static enum lmn_status put_refills(struct refilling *refilling, struct lmn_error *err)
{
    uint32_t count = refilling->request->count;
    const char *name[COLUMNS_MAX];
    int32_t id[COLUMNS_MAX];
    enum lmn_status st = lmn__fields_next_id(refilling->edit.manifest, &refilling->next_id, err);

    put_others(refilling);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = put_refill(refilling, &refilling->part[i], &name[i], &id[i], err);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = put_ledger(refilling, name[i], id[i], err);
    return st;
}

static enum lmn_status attempt_begin(void *context, bool *again_out, struct lmn_error *err)
{
    struct refilling refilling = { 0 };
    bool current = true;
    enum lmn_status st = refilling_init(&refilling, context, LMN__CHANGE_MERGE, err);

    for (uint32_t i = 0; st == LMN_OK && i < refilling.request->count; i++) {
        const struct part *part = &refilling.part[i];

        current = current && is_current(part);
        if (part->ledger == NULL ||
            lmn__node_metadata(part->column, LMN__FUNCTION_KEY).data == NULL)
            st = lmn_fail(err, LMN_E_NOT_FOUND, "no function fills the column \"%.100s\"",
                          refilling.request->column[i]);
    }
    if (st == LMN_OK && !current) {
        st = put_refills(&refilling, err);
        if (st == LMN_OK)
            st = lmn__schema_edit_list(&refilling.edit, err);
        if (st == LMN_OK)
            st = refilling_commit(&refilling, again_out, err);
    }
    lmn__schema_edit_deinit(&refilling.edit);
    return st;
}

static enum lmn_status make_change(const struct request *request, lmn__attempt_fn attempt,
                                   struct lmn_error *err)
{
    struct request made = *request;

    if (request->count == 0 || request->count > COLUMNS_MAX)
        return lmn_fail(err, LMN_E_INVALID, "%u columns; there are 1 to %d at a time",
                        request->count, COLUMNS_MAX);
    for (uint32_t i = 1; i < request->count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(request->column[i], request->column[k]) == 0)
                return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is named twice",
                                request->column[i]);
        }
    }
    return lmn__change_make(request->table, attempt, &made, err);
}

enum lmn_status lmn_table_refill_begin(struct lmn_table *table, const char *const *column,
                                       uint32_t count, struct lmn_error *err)
{
    const struct request request = { table, column, count };

    return make_change(&request, attempt_begin, err);
}

static enum lmn_status check_refills(const struct refilling *refilling, struct lmn_error *err)
{
    for (uint32_t i = 0; i < refilling->request->count; i++) {
        if (refilling->part[i].refill == NULL)
            return lmn_fail(err, LMN_E_NOT_FOUND, "column \"%.100s\" has not been computed again",
                            refilling->request->column[i]);
    }
    return LMN_OK;
}

static enum lmn_status attempt_discard(void *context, bool *again_out, struct lmn_error *err)
{
    struct refilling refilling = { 0 };
    enum lmn_status st = refilling_init(&refilling, context, LMN__CHANGE_PROJECT, err);

    if (st == LMN_OK)
        st = check_refills(&refilling, err);
    if (st == LMN_OK) {
        put_others(&refilling);
        st = refilling_commit(&refilling, again_out, err);
    }
    lmn__schema_edit_deinit(&refilling.edit);
    return st;
}

enum lmn_status lmn_table_refill_discard(struct lmn_table *table, const char *const *column,
                                         uint32_t count, struct lmn_error *err)
{
    const struct request request = { table, column, count };

    return make_change(&request, attempt_discard, err);
}

static bool same_span(struct lmn__span a, struct lmn__span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Are they of one type, whatever their own names? */
static bool same_type(const struct lmn__node *a, const struct lmn__node *b)
{
    const struct lmn__node *x = a->child, *y = b->child;

    if (!same_span(a->field->logical_type, b->field->logical_type) ||
        a->child_count != b->child_count)
        return false;
    for (; x != NULL; x = x->next, y = y->next) {
        if (strcmp(x->name, y->name) != 0 || !same_type(x, y))
            return false;
    }
    return true;
}

/* Put a tree in the place of another, whose name and metadata its top takes. */
static void put_instead(struct refilling *refilling, const struct lmn__node *node,
                        const struct lmn__node *of, bool metadata)
{
    struct lmn__pb_schema_field *top = &refilling->field[refilling->count];

    put_tree(refilling, node);
    top->name = of->field->name;
    if (metadata)
        top->metadata = of->field->metadata;
}

/* A column on top level, or what takes its place. */
static void put_swapped(struct refilling *refilling, const struct lmn__node *node)
{
    for (uint32_t i = 0; i < refilling->request->count; i++) {
        const struct part *part = &refilling->part[i];

        if (node == part->column) {
            put_instead(refilling, part->refill, node, true);
            return;
        }
        if (node == part->ledger) {
            put_instead(refilling, part->refill_ledger, node, false);
            return;
        }
        if (node == part->refill || (node == part->refill_ledger && part->ledger != NULL))
            return;
    }
    put_tree(refilling, node);
}

/* Columns that are computed from a swapped one go on reading it. */
static enum lmn_status follow_swapped(struct refilling *refilling, struct lmn_error *err)
{
    struct lmn__pb_list fields = { refilling->field, refilling->count };
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < refilling->request->count; i++)
        st = lmn__ledger_follow_inputs(&fields, refilling->part[i].column->field->id,
                                       refilling->part[i].refill->field->id, &refilling->edit.arena,
                                       err);
    return st;
}

static enum lmn_status attempt_swap(void *context, bool *again_out, struct lmn_error *err)
{
    struct refilling refilling = { 0 };
    enum lmn_status st = refilling_init(&refilling, context, LMN__CHANGE_PROJECT, err);

    if (st == LMN_OK)
        st = check_refills(&refilling, err);
    for (uint32_t i = 0; st == LMN_OK && i < refilling.request->count; i++) {
        const struct part *part = &refilling.part[i];

        if (part->refill_ledger == NULL || !same_type(part->column, part->refill))
            st = lmn_fail(err, LMN_E_INVALID,
                          "column \"%.100s\" has got another type since it was computed again",
                          refilling.request->column[i]);
    }
    if (st == LMN_OK) {
        for (const struct lmn__node *node = refilling.edit.manifest->schema.top; node != NULL;
             node = node->next)
            put_swapped(&refilling, node);
        st = follow_swapped(&refilling, err);
    }
    if (st == LMN_OK)
        st = refilling_commit(&refilling, again_out, err);
    lmn__schema_edit_deinit(&refilling.edit);
    return st;
}

/* A text for an expression, in single quotes. */
static void put_quoted(struct lmn__buf *buf, const char *text)
{
    lmn__buf_printf(buf, "'");
    for (; *text != '\0'; text++)
        lmn__buf_printf(buf, *text == '\'' ? "%c%c" : "%c", *text, *text);
    lmn__buf_printf(buf, "'");
}

/* Rows whose cell the column has, and its refill not. */
static enum lmn_status count_left(struct lmn_table *table, const char *column, const char *refill,
                                  uint64_t *count_out, struct lmn_error *err)
{
    struct lmn__buf where;
    enum lmn_status st;

    lmn__buf_init(&where, table->env, 0);
    lmn__buf_printf(&where, "leman_state(");
    put_quoted(&where, refill);
    lmn__buf_printf(&where, ") = 'pending' and leman_state(");
    put_quoted(&where, column);
    lmn__buf_printf(&where, ") <> 'pending'");
    lmn__buf_put(&where, "", 1);
    st = lmn__buf_status(&where, "a condition", err);
    if (st == LMN_OK)
        st = lmn_table_count(table, (const char *)where.data, count_out, err);
    lmn__buf_deinit(&where);
    return st;
}

static enum lmn_status check_whole(struct lmn_table *table, const char *column,
                                   struct lmn_error *err)
{
    uint64_t left = 0;
    char *refill;
    enum lmn_status st = lmn_table_refill_name(table, column, &refill, err);

    if (st == LMN_OK && refill != NULL)
        st = count_left(table, column, refill, &left, err);
    lmn_text_free(refill);
    if (st == LMN_OK && left != 0)
        return lmn_fail(err, LMN_E_INVALID,
                        "column \"%.100s\": %llu rows that have a value are not computed again yet",
                        column, (unsigned long long)left);
    return st;
}

enum lmn_status lmn_table_refill_swap(struct lmn_table *table, const char *const *column,
                                      uint32_t count, struct lmn_error *err)
{
    const struct request request = { table, column, count };
    enum lmn_status st = lmn_table_refresh(table, err);

    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = check_whole(table, column[i], err);
    return st == LMN_OK ? make_change(&request, attempt_swap, err) : st;
}
