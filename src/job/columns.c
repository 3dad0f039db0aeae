/* SPDX-License-Identifier: Apache-2.0 */
#include "job/columns.h"

#include <stdio.h>

#include "format/schema_write.h"
#include "job/payload_column.h"
#include "table/field_names.h"
#include "table/ledger.h"

/* The nodes of a tree that begins at `node`, in pre-order; they lie together. */
static uint32_t tree_size(const struct lmn__node *node)
{
    uint32_t size = 1;

    for (const struct lmn__node *child = node->child; child != NULL; child = child->next)
        size += tree_size(child);
    return size;
}

static enum lmn_status find_nodes(struct lmn__fill_columns *columns, const char *const *output,
                                  uint32_t output_count, int32_t field_id, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    columns->count = 2 * output_count;
    columns->node = lmn__arena_array(&columns->arena, columns->count, sizeof *columns->node);
    if (columns->node == NULL)
        return lmn__arena_fail(&columns->arena, "a list of columns", err);
    for (uint32_t i = 0; st == LMN_OK && i < output_count; i++)
        st = lmn__ledger_find(columns->manifest, output[i], &columns->node[i],
                              &columns->node[output_count + i], err);
    if (st == LMN_OK && field_id >= 0 && columns->node[0]->field->id != field_id)
        st = lmn_fail(err, LMN_E_NOT_FOUND,
                      "column \"%.100s\" was dropped: its field was %d, that of the column which "
                      "has the name now is %d",
                      output[0], field_id, columns->node[0]->field->id);
    return st;
}

/* What a data file with the columns says of its fields. */
static enum lmn_status list_fields(struct lmn__fill_columns *columns, struct lmn_error *err)
{
    const struct lmn__manifest *manifest = columns->manifest;
    struct lmn__arena *arena = &columns->arena;
    struct lmn__pb_schema pb = { 0 };
    struct lmn__pb_schema_field *field = lmn__arena_array(arena, manifest->schema.node_count,
                                                          sizeof *field);
    struct lmn__schema tree;
    enum lmn_status st;

    if (field == NULL)
        return lmn__arena_fail(arena, "a list of fields", err);
    for (uint32_t i = 0; i < columns->count; i++) {
        uint32_t size = tree_size(columns->node[i]);

        for (uint32_t k = 0; k < size; k++)
            field[pb.fields.count++] = *columns->node[i][k].field;
    }
    pb.fields.item = field;
    st = lmn__schema_read(&pb, manifest->minor, arena, &tree, err);
    if (st != LMN_OK)
        return st;
    columns->fields.item = lmn__arena_array(arena, tree.node_count, sizeof(uint64_t));
    columns->leaf_column.item = lmn__arena_array(arena, tree.node_count, sizeof(uint64_t));
    if (columns->fields.item == NULL || columns->leaf_column.item == NULL)
        return lmn__arena_fail(arena, "a list of fields", err);
    for (uint32_t i = 0; i < tree.node_count; i++) {
        if (tree.node[i].column == LMN__NO_COLUMN)
            continue;
        columns->fields.item[columns->fields.count++] = (uint64_t)tree.node[i].field->id;
        columns->leaf_column.item[columns->leaf_column.count++] = tree.node[i].column;
    }
    return LMN_OK;
}

static enum lmn_status mark_blobs(struct lmn__fill_columns *columns, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < columns->count; i++) {
        if (lmn__fill_columns_is_blob(columns, i))
            st = lmn__arrow_mark_blob(columns->projection.arrow.children[i], err);
    }
    return st;
}

enum lmn_status lmn__fill_columns_init(struct lmn__fill_columns *columns,
                                       struct lmn__manifest *manifest, const char *const *output,
                                       uint32_t output_count, int32_t field_id,
                                       struct lmn_error *err)
{
    enum lmn_status st;

    *columns = (struct lmn__fill_columns){ .manifest = lmn__manifest_acquire(manifest) };
    lmn__arena_init(&columns->arena, manifest->env, 0);
    snprintf(columns->version, sizeof columns->version, "2.%u", manifest->minor);
    st = find_nodes(columns, output, output_count, field_id, err);
    if (st == LMN_OK)
        st = list_fields(columns, err);
    if (st == LMN_OK)
        st = lmn__projection_init_nodes(&columns->projection, manifest->env, &manifest->schema,
                                        columns->node, columns->count, true, err);
    if (st == LMN_OK) {
        st = mark_blobs(columns, err);
        if (st == LMN_OK)
            st = lmn__payload_schema(&columns->projection.arrow, &columns->held, err);
        if (st != LMN_OK)
            lmn__projection_deinit(&columns->projection);
    }
    if (st != LMN_OK) {
        lmn__arena_deinit(&columns->arena);
        lmn__manifest_release(columns->manifest);
        *columns = (struct lmn__fill_columns){ 0 };
    }
    return st;
}

enum lmn_status lmn__fill_columns_follow(struct lmn__fill_columns *columns,
                                         struct lmn__manifest *manifest,
                                         const struct lmn__manifest *named,
                                         const char *const *output, uint32_t output_count,
                                         int32_t field_id, struct lmn_error *err)
{
    struct lmn__arena arena;
    enum lmn_status st;

    *columns = (struct lmn__fill_columns){ 0 };
    lmn__arena_init(&arena, manifest->env, 0);
    st = lmn__field_names_follow(named != NULL ? named : manifest, manifest, output, output_count,
                                 &arena, &output, err);
    if (st == LMN_OK)
        st = lmn__fill_columns_init(columns, manifest, output, output_count, field_id, err);
    lmn__arena_deinit(&arena);
    return st;
}

void lmn__fill_columns_deinit(struct lmn__fill_columns *columns)
{
    if (columns->manifest == NULL)
        return;
    columns->held.release(&columns->held);
    lmn__projection_deinit(&columns->projection);
    lmn__arena_deinit(&columns->arena);
    lmn__manifest_release(columns->manifest);
    *columns = (struct lmn__fill_columns){ 0 };
}

bool lmn__fill_columns_is_blob(const struct lmn__fill_columns *columns, uint32_t column)
{
    return columns->node[column]->blob != LMN__BLOB_NONE;
}

bool lmn__fill_columns_have_blobs(const struct lmn__fill_columns *columns)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        if (lmn__fill_columns_is_blob(columns, i))
            return true;
    }
    return false;
}

bool lmn__fill_columns_has(const struct lmn__fill_columns *columns, int32_t field_id)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        uint32_t size = tree_size(columns->node[i]);

        for (uint32_t k = 0; k < size; k++) {
            if (columns->node[i][k].field->id == field_id)
                return true;
        }
    }
    return false;
}
