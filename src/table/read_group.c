/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Read groups: how many rows of a column a feed reads together, a hint in the metadata of its field
 * that changes nothing of the data.
 */
#include <leman/table_columns.h>
#include <stdio.h>

#include "base/error.h"
#include "table/schema_edit.h"
#include "table/table_fields.h"

static const char group_key[] = "leman:group_size";

/* What a call was asked for. */
struct request {
    struct lmn_table *table;
    const char *const *column;
    uint32_t column_count;
    char rows[16];
};

/* Note it on the column at `path`; *changed_out when it was not noted yet. */
static enum lmn_status note_group(const struct request *request, const char *path,
                                  struct lmn__schema_edit *edit, bool *changed_out,
                                  struct lmn_error *err)
{
    struct lmn__pb_schema_field *field = edit->fields.item;
    const struct lmn__node *node;
    enum lmn_status st = lmn__fields_find(edit->manifest, path, &node, err);

    if (st != LMN_OK)
        return st;
    if (node->parent != NULL)
        return lmn_fail(err, LMN_E_INVALID,
                        "\"%.100s\" is inside of \"%.100s\"; a read group is one of a column", path,
                        node->parent->name);
    if (lmn__span_equal(lmn__node_metadata(node, group_key), request->rows))
        return LMN_OK;
    *changed_out = true;
    for (size_t i = 0; st == LMN_OK && i < edit->fields.count; i++) {
        if (field[i].id == node->field->id)
            st = lmn__schema_edit_note(edit, &field[i], group_key, request->rows, err);
    }
    return st;
}

static enum lmn_status attempt(void *context, bool *again_out, struct lmn_error *err)
{
    static const struct lmn__pb_list nothing;
    const struct request *request = context;
    struct lmn__schema_edit edit;
    bool changed = false;
    enum lmn_status st = lmn__schema_edit_init(&edit, request->table, LMN__CHANGE_PROJECT, err);

    *again_out = false;
    if (st == LMN_OK)
        st = lmn__fields_append(edit.manifest, &nothing, &edit.arena, &edit.fields, err);
    for (uint32_t i = 0; st == LMN_OK && i < request->column_count; i++)
        st = note_group(request, request->column[i], &edit, &changed, err);
    if (st == LMN_OK && changed)
        st = lmn__change_commit(request->table, &edit.change, again_out, err);
    lmn__schema_edit_deinit(&edit);
    return st;
}

enum lmn_status lmn_table_set_read_group(struct lmn_table *table, const char *const *column,
                                         uint32_t count, uint32_t rows, struct lmn_error *err)
{
    struct request request = { .table = table, .column = column, .column_count = count };

    if (rows == 0)
        return lmn_fail(err, LMN_E_INVALID, "a read group has at least 1 row, not 0");
    snprintf(request.rows, sizeof request.rows, "%u", rows);
    return lmn__change_make(table, attempt, &request, err);
}
