/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A column that gets a wider type gets another field id with it: files that hold it under the id
 * it had are not read for it, and indices on it go. Its place, name and metadata stay.
 */
#include <leman/table_columns.h>

#include <nanoarrow/nanoarrow.h>
#include <stdlib.h>

#include "arrow/compose.h"
#include "base/error.h"
#include "expr/expr.h"
#include "table/fill.h"
#include "table/table_fields.h"
#include "table/wider.h"

/* What lmn_table_widen_column() was asked for, with what is kept from attempt to attempt. */
struct request {
    struct lmn_table *table;
    const char *column;
    const struct ArrowSchema *type;
    struct lmn__expr *expr; /* the conversion of "value" */
    struct lmn__fill fill;
};

/* An attempt at one version. */
struct widening {
    struct request *request;
    struct lmn__manifest *manifest;
    struct lmn__arena arena;
    const struct lmn__node *node;
    struct lmn__projection projection; /* the column */
    struct ArrowSchema schema;         /* a struct of the column as it becomes */
    struct lmn__pb_list field;         /* its field */
    struct lmn__pb_list all;
};

static bool is_fixed_list(const struct ArrowSchema *schema)
{
    return strncmp(schema->format, "+w:", 3) == 0;
}

/* Convert slots [0, count) of an array. */
static enum lmn_status convert(const struct request *request, struct ArrowArray *array,
                               int64_t count, struct ArrowArray *array_out, struct lmn_error *err)
{
    const void *no_buffer[1] = { NULL };
    struct ArrowArray slots = *array, *child = &slots;
    const struct ArrowArray rows = {
        .length = count, .n_buffers = 1, .n_children = 1, .buffers = no_buffer, .children = &child
    };

    slots.length = count;
    return lmn__expr_eval(request->expr, &rows, array_out, err);
}

/* Fixed lists keep their slots; their items are converted. */
static enum lmn_status convert_items(const struct request *request, struct ArrowArray *list,
                                     struct ArrowArray *array_out, struct lmn_error *err)
{
    int64_t dimension = strtoll(request->type->format + 3, NULL, 10);
    struct ArrowArray *item = list->children[0];
    enum lmn_status st = lmn__array_compose(request->table->env, (uint64_t)list->length, 1,
                                            array_out, err);

    if (st == LMN_OK)
        st = convert(request, item, (list->offset + list->length) * dimension,
                     array_out->children[0], err);
    if (st == LMN_OK)
        lmn__array_compose_onto(array_out, list);
    return st;
}

/* A lmn__fill_fn. */
static enum lmn_status widen(void *context, struct ArrowArray *rows, struct ArrowArray *columns_out,
                             struct lmn_error *err)
{
    const struct request *request = context;
    struct ArrowArray *column = rows->children[0];
    enum lmn_status st = lmn__array_compose(request->table->env, (uint64_t)rows->length, 1,
                                            columns_out, err);

    if (st != LMN_OK)
        return st;
    column->offset += rows->offset;
    column->length = rows->length;
    if (is_fixed_list(request->type))
        st = convert_items(request, column, columns_out->children[0], err);
    else
        st = convert(request, column, rows->length, columns_out->children[0], err);
    return st != LMN_OK ? lmn__fail_within(err, st, "column \"%.100s\"", request->column) : st;
}

/* Bind the conversion to a struct of one column "value". */
static enum lmn_status bind(struct request *request, const struct ArrowSchema *from,
                            struct lmn_error *err)
{
    const struct ArrowSchema *to = request->type;
    struct ArrowSchema rows;
    enum lmn_status st = LMN_OK;

    if (is_fixed_list(to)) {
        from = from->children[0];
        to = to->children[0];
    }
    ArrowSchemaInit(&rows);
    if (ArrowSchemaSetFormat(&rows, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(&rows, 1) != NANOARROW_OK ||
        ArrowSchemaDeepCopy(from, rows.children[0]) != NANOARROW_OK ||
        ArrowSchemaSetName(rows.children[0], "value") != NANOARROW_OK)
        st = lmn__no_memory(err, "a schema", 0);
    if (st == LMN_OK)
        st = lmn__expr_bind(request->expr, &rows, NULL, to, err);
    rows.release(&rows);
    return st;
}

/* The column as it becomes: another type, all else as it was. */
static enum lmn_status make_schema(struct widening *widening, struct lmn_error *err)
{
    const struct ArrowSchema *was = widening->projection.arrow.children[0];
    struct ArrowSchema *schema = &widening->schema;

    ArrowSchemaInit(schema);
    if (ArrowSchemaSetFormat(schema, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(schema, 1) != NANOARROW_OK ||
        ArrowSchemaDeepCopy(widening->request->type, schema->children[0]) != NANOARROW_OK ||
        ArrowSchemaSetName(schema->children[0], was->name) != NANOARROW_OK ||
        ArrowSchemaSetMetadata(schema->children[0], was->metadata) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    schema->children[0]->flags = was->flags;
    return LMN_OK;
}

/* The column's field with another id and type; and all fields with it in its place. */
static enum lmn_status make_fields(struct widening *widening, struct lmn_error *err)
{
    static const struct lmn__pb_list nothing;
    struct lmn__pb_schema_field *field = lmn__arena_alloc(&widening->arena, sizeof *field);
    const struct lmn__pb_schema_field *made;
    struct lmn__pb_schema pb;
    int32_t id;
    enum lmn_status st = lmn__fields_next_id(widening->manifest, &id, err);

    if (field == NULL)
        st = lmn__arena_fail(&widening->arena, "a schema", err);
    if (st == LMN_OK)
        st = lmn__fields_from_arrow(&widening->schema, widening->manifest->minor, id,
                                    &widening->arena, &pb, err);
    if (st == LMN_OK)
        st = lmn__fields_append(widening->manifest, &nothing, &widening->arena, &widening->all,
                                err);
    if (st != LMN_OK)
        return st;
    made = pb.fields.item;
    *field = *widening->node->field;
    field->id = made->id;
    field->type = made->type;
    field->logical_type = made->logical_type;
    field->encoding = made->encoding;
    widening->field = (struct lmn__pb_list){ field, 1 };
    for (size_t i = 0; i < widening->all.count; i++) {
        struct lmn__pb_schema_field *other = &(
            (struct lmn__pb_schema_field *)widening->all.item)[i];

        if (other->id == widening->node->field->id)
            *other = *field;
    }
    return LMN_OK;
}

static enum lmn_status check(struct widening *widening, struct lmn_error *err)
{
    const struct request *request = widening->request;
    const struct lmn__node *node = widening->node;
    const struct ArrowSchema *was = widening->projection.arrow.children[0];
    char has[128], wants[128];

    if (node->parent != NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "\"%.100s\" is not on top level, where alone columns are widened",
                        request->column);
    if (node->blob == LMN__BLOB_NONE && lmn__type_is_wider(was, request->type))
        return LMN_OK;
    ArrowSchemaToString(was, has, sizeof has, true);
    ArrowSchemaToString(request->type, wants, sizeof wants, true);
    if (strcmp(has, wants) == 0)
        return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is of type %s already",
                        request->column, has);
    return lmn_fail(err, LMN_E_INVALID,
                    "column \"%.100s\" is of type %s, of which %s does not hold every value",
                    request->column, has, wants);
}

static enum lmn_status fill_column(struct widening *widening, bool *again_out,
                                   struct lmn_error *err)
{
    struct request *request = widening->request;
    struct lmn__fill *fill = &request->fill;
    enum lmn_status st = check(widening, err);

    if (st == LMN_OK)
        st = bind(request, widening->projection.arrow.children[0], err);
    if (st == LMN_OK)
        st = make_schema(widening, err);
    if (st == LMN_OK)
        st = make_fields(widening, err);
    if (st != LMN_OK)
        return st;
    fill->manifest = widening->manifest;
    fill->projection = &widening->projection;
    fill->schema = &widening->schema;
    fill->fields = &widening->field;
    fill->all_fields = &widening->all;
    fill->fn = widen;
    fill->context = request;
    /* Deleted rows cannot be null in a column that has no nulls. */
    fill->with_deleted = !widening->node->field->nullable;
    st = lmn__fill_write(fill, err);
    return st == LMN_OK ? lmn__fill_commit(fill, again_out, err) : st;
}

static enum lmn_status attempt_widen(void *context, bool *again_out, struct lmn_error *err)
{
    struct request *request = context;
    struct lmn_env *env = request->table->env;
    struct widening widening = { .request = request,
                                 .manifest = lmn__table_manifest(request->table) };
    enum lmn_status st = lmn__manifest_check_writable(widening.manifest, err);

    lmn__arena_init(&widening.arena, env, 0);
    if (st == LMN_OK)
        st = lmn__fields_find(widening.manifest, request->column, &widening.node, err);
    if (st == LMN_OK)
        st = lmn__projection_init(&widening.projection, env, &widening.manifest->schema,
                                  &request->column, 1, true, err);
    if (st == LMN_OK) {
        st = fill_column(&widening, again_out, err);
        lmn__projection_deinit(&widening.projection);
    }
    if (widening.schema.release != NULL)
        widening.schema.release(&widening.schema);
    lmn__arena_deinit(&widening.arena);
    lmn__manifest_release(widening.manifest);
    return st;
}

enum lmn_status lmn_table_widen_column(struct lmn_table *table, const char *column,
                                       const struct ArrowSchema *type, struct lmn_error *err)
{
    struct request request = { .table = table, .column = column, .type = type };
    enum lmn_status st = lmn__expr_parse(table->env, "value", &request.expr, err);

    lmn__fill_init(&request.fill, table);
    if (st == LMN_OK)
        st = lmn__change_make(table, attempt_widen, &request, err);
    lmn__fill_deinit(&request.fill);
    lmn__expr_free(request.expr);
    return st;
}
