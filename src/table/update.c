/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/table_scan.h>
#include <leman/table_write.h>

#include "arrow/schema.h"
#include "base/error.h"
#include "expr/expr.h"
#include "table/move.h"
#include "table/old_version.h"
#include "table/set_values.h"
#include "table/table_fields.h"

/* An update while it is made on one version. */
struct update {
    struct lmn_env *env;
    struct lmn__manifest *manifest;
    struct lmn__set_columns set;
    struct lmn__set_values values; /* of the set */
    struct lmn__move move;
    struct lmn__conform conform;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema; /* of the stream: the table's columns, ids, addresses */
    uint32_t count;            /* of assignments */
    struct lmn__expr **value;
    struct ArrowArray *computed; /* by them, for one batch */
    int64_t *child;              /* which column each one sets */
    struct lmn__pb_u64s modified;
};

static const struct lmn_write_options defaults;

/* What lmn_table_update() was asked for. */
struct request {
    struct lmn_table *table;
    const char *where;
    const struct lmn_assignment *assignment;
    uint32_t assignment_count;
    uint64_t count;
};

/* Values of blobs are bytes; blobs that keep theirs stay where they are, also in other files. */
static enum lmn_blob_mode blobs_of(const struct update *update, const struct request *request)
{
    for (const struct lmn__node *node = update->manifest->schema.top; node != NULL;
         node = node->next) {
        for (uint32_t i = 0; node->blob != LMN__BLOB_NONE && i < request->assignment_count; i++) {
            if (strcmp(request->assignment[i].column, node->name) == 0)
                return LMN_BLOB_BYTES;
        }
    }
    return LMN_BLOB_EITHER;
}

/* The fragments that have rows to move, if that is known. */
static enum lmn_status list_fragments(struct update *update, struct lmn_scan_options *options,
                                      struct lmn_error *err)
{
    const struct lmn__touched_set *touched = &update->set.touched;
    uint64_t *id = lmn__arena_array(&update->move.arena, touched->count, sizeof *id);

    if (!update->set.searched)
        return LMN_OK;
    if (id == NULL)
        return lmn__arena_fail(&update->move.arena, "a list of fragments", err);
    for (uint64_t i = 0; i < touched->count; i++)
        id[i] = touched->item[i].fragment_id;
    options->fragment = id;
    options->fragment_count = touched->count;
    return LMN_OK;
}

/* All columns of the table with ids and addresses. */
static enum lmn_status open_scan(struct update *update, struct lmn_table *pinned,
                                 const struct request *request, struct lmn_error *err)
{
    const struct lmn__schema *schema = &update->manifest->schema;
    const char **name = lmn__arena_array(&update->move.arena, schema->top_count, sizeof *name);
    struct lmn_scan_options options = { .column = name,
                                        .where = request->where,
                                        .with_row_id = true,
                                        .with_row_address = true,
                                        .blobs = blobs_of(update, request) };
    enum lmn_status st;

    if (name == NULL)
        return lmn__arena_fail(&update->move.arena, "a list of columns", err);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next)
        name[options.column_count++] = node->name;
    st = list_fragments(update, &options, err);
    if (st == LMN_OK)
        st = lmn_table_scan(pinned, &options, &update->stream, err);
    if (st == LMN_OK && update->stream.get_schema(&update->stream, &update->schema) != 0)
        st = lmn__no_memory(err, "a schema", 0);
    return st;
}

static enum lmn_status no_column(const struct lmn__manifest *manifest, const char *name,
                                 struct lmn_error *err)
{
    const struct lmn__node *node;
    enum lmn_status st = lmn__fields_find(manifest, name, &node, err);

    return st != LMN_OK ? st
                        : lmn_fail(err, LMN_E_UNSUPPORTED,
                                   "\"%.100s\" is inside of a column, which is set as a whole: by "
                                   "named_struct('name', value, ...)",
                                   name);
}

static enum lmn_status bind(struct update *update, const struct lmn_assignment *assignment,
                            uint32_t i, struct lmn_error *err)
{
    const struct ArrowSchema *column = lmn__arrow_child(&update->schema, assignment[i].column,
                                                        &update->child[i]);
    const struct lmn__node *node = update->manifest->schema.top;
    enum lmn_status st;

    if (column == NULL || update->child[i] >= update->manifest->schema.top_count)
        return no_column(update->manifest, assignment[i].column, err);
    for (uint32_t k = 0; k < i; k++) {
        if (update->child[k] == update->child[i])
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is set twice",
                            assignment[i].column);
    }
    for (int64_t k = 0; k < update->child[i]; k++)
        node = node->next;
    update->modified.item[update->modified.count++] = (uint64_t)node->field->id;
    st = lmn__expr_parse(update->env, assignment[i].expression, &update->value[i], err);
    if (st == LMN_OK)
        st = lmn__expr_bind(update->value[i], &update->schema, NULL, column, err);
    return st != LMN_OK ? lmn__fail_within(err, st, "column \"%.100s\"", assignment[i].column) : st;
}

static enum lmn_status bind_all(struct update *update, const struct lmn_assignment *assignment,
                                uint32_t count, struct lmn_error *err)
{
    struct lmn__arena *arena = &update->move.arena;
    struct ArrowSchema rows = update->schema;
    enum lmn_status st = LMN_OK;

    update->value = lmn__arena_array(arena, count, sizeof *update->value);
    update->computed = lmn__arena_array(arena, count, sizeof *update->computed);
    update->child = lmn__arena_array(arena, count, sizeof *update->child);
    update->modified.item = lmn__arena_array(arena, count, sizeof *update->modified.item);
    if (update->value == NULL || update->computed == NULL || update->child == NULL ||
        update->modified.item == NULL)
        return lmn__arena_fail(arena, "an update", err);
    update->count = count;
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = bind(update, assignment, i, err);
    rows.n_children = update->manifest->schema.top_count;
    if (st == LMN_OK)
        st = lmn__conform_init(&update->conform, update->env, &update->manifest->schema, &rows,
                               false, err);
    return st;
}

/* Put the values that `update` computes into a batch, and write it. */
static enum lmn_status move_batch(struct update *update, struct ArrowArray *batch,
                                  struct lmn_error *err)
{
    const struct ArrowArray *id = batch->children[batch->n_children - 2];
    const struct ArrowArray *address = batch->children[batch->n_children - 1];
    struct ArrowArray *value = update->computed, view;
    enum lmn_status st = LMN_OK;

    /* Every expression sees the row as it was. */
    for (uint32_t i = 0; st == LMN_OK && i < update->count; i++) {
        const struct ArrowSchema *column = update->schema.children[update->child[i]];

        st = lmn__expr_eval(update->value[i], batch, &value[i], err);
        if (st == LMN_OK)
            st = lmn__old_version_check(update->manifest, column, &value[i], 0,
                                        (uint64_t)batch->length, err);
        else
            lmn__fail_within(err, st, "column \"%.100s\"", column->name);
    }
    if (st == LMN_OK)
        st = lmn__conform_batch(&update->conform, batch, &view, err);
    for (uint32_t i = 0; st == LMN_OK && i < update->count; i++)
        view.children[update->child[i]] = &value[i];
    if (st == LMN_OK)
        st = lmn__move_rows(&update->move, &update->conform, &view,
                            (const uint64_t *)address->buffers[1] + address->offset,
                            (const uint64_t *)id->buffers[1] + id->offset, err);
    for (uint32_t i = 0; i < update->count; i++) {
        if (value[i].release != NULL)
            value[i].release(&value[i]);
    }
    return st;
}

static void update_deinit(struct update *update)
{
    for (uint32_t i = 0; i < update->count; i++)
        lmn__expr_free(update->value[i]);
    if (update->stream.release != NULL)
        update->stream.release(&update->stream);
    if (update->schema.release != NULL)
        update->schema.release(&update->schema);
    if (update->conform.env != NULL)
        lmn__conform_deinit(&update->conform);
    lmn__set_values_deinit(&update->values);
    lmn__set_columns_deinit(&update->set);
    lmn__move_deinit(&update->move);
}

/* Write the rows that match anew. */
static enum lmn_status move_rows(struct update *update, struct lmn_table *pinned,
                                 const struct request *request, bool *again_out,
                                 struct lmn_error *err)
{
    struct ArrowArray batch;
    enum lmn_status st = open_scan(update, pinned, request, err);

    if (st == LMN_OK)
        st = bind_all(update, request->assignment, request->assignment_count, err);
    while (st == LMN_OK && (st = lmn_table_scan_next(&update->stream, &batch, err)) == LMN_OK &&
           batch.release != NULL) {
        st = move_batch(update, &batch, err);
        batch.release(&batch);
    }
    return st == LMN_OK ? lmn__move_commit(&update->move, update->modified, false, again_out, err)
                        : st;
}

/* Is it less to set the columns where the rows are? */
static enum lmn_status choose(struct update *update, struct lmn_table *pinned,
                              const struct request *request, bool *in_place_out,
                              struct lmn_error *err)
{
    enum lmn_status st = lmn__set_values_init(&update->values, &update->set, request->assignment,
                                              request->assignment_count, err);

    if (st == LMN_E_NOT_FOUND || st == LMN_E_INVALID || st == LMN_E_UNSUPPORTED)
        return LMN_OK; /* moving rows does it, or says better what is wrong */
    return st == LMN_OK
               ? lmn__set_columns_choose(&update->set, pinned, request->where, in_place_out, err)
               : st;
}

static enum lmn_status attempt_update(void *context, bool *again_out, struct lmn_error *err)
{
    struct request *request = context;
    struct lmn_table *table = request->table, *pinned = NULL;
    struct update update = { .env = table->env, .manifest = lmn__table_manifest(table) };
    bool in_place = false;
    enum lmn_status st = lmn__manifest_check_writable(update.manifest, err);

    lmn__move_init(&update.move, table, update.manifest, &defaults);
    lmn__set_columns_init(&update.set, table, update.manifest, &defaults);
    if (st == LMN_OK)
        st = lmn__table_new(table->store, update.manifest, &pinned, err);
    if (st == LMN_OK)
        st = choose(&update, pinned, request, &in_place, err);
    if (st == LMN_OK && in_place)
        st = lmn__set_columns_commit(&update.set, again_out, err);
    else if (st == LMN_OK && !(update.set.searched && update.set.touched.row_count == 0))
        st = move_rows(&update, pinned, request, again_out, err);
    if (st == LMN_E_INVALID && in_place) { /* see attempt_merge() */
        in_place = false;
        st = move_rows(&update, pinned, request, again_out, err);
    }
    request->count = in_place ? update.set.touched.row_count : update.move.count;
    update_deinit(&update);
    lmn_table_release(pinned);
    lmn__manifest_release(update.manifest);
    return st;
}

enum lmn_status lmn_table_update(struct lmn_table *table, const char *where,
                                 const struct lmn_assignment *assignment, uint32_t assignment_count,
                                 uint64_t *count_out, struct lmn_error *err)
{
    struct request request = { table, where, assignment, assignment_count, 0 };
    enum lmn_status st = LMN_OK;

    if (assignment_count == 0)
        st = lmn_fail(err, LMN_E_INVALID, "an update that sets nothing");
    for (uint32_t i = 0; st == LMN_OK && i < assignment_count; i++) {
        if (assignment[i].column == NULL)
            st = lmn_fail(err, LMN_E_INVALID, "an update of a column without a name");
    }
    if (st == LMN_OK)
        st = lmn__change_make(table, attempt_update, &request, err);
    if (count_out != NULL)
        *count_out = st == LMN_OK ? request.count : 0;
    return st;
}
