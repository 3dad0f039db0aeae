/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A column that gets a wider type gets another field id with it: files that hold it under the id
 * it had are not read for it, and indices on it go. Its place, name and metadata stay.
 *
 * What is inside of structs and lists is widened by rewriting the whole column on top level that it
 * belongs to, all of whose fields get other ids: a column lies in one file.
 */
#include <leman/table_columns.h>

#include <nanoarrow/nanoarrow.h>

#include "arrow/compose.h"
#include "arrow/schema.h"
#include "base/error.h"
#include "table/conversion.h"
#include "table/fill.h"
#include "table/ledger.h"
#include "table/old_version.h"
#include "table/table_fields.h"
#include "table/wider.h"

/* What lmn_table_widen_column() was asked for, with what is kept from attempt to attempt. */
struct request {
    struct lmn_table *table;
    const char *column;
    const struct ArrowSchema *type;
    struct lmn__fill fill;

    /* of an attempt */
    struct lmn__conversion conversion;  /* of the column on top level */
    bool makes_structs;                 /* null ones, of what had no type */
    uint32_t depth;                     /* from there to what is widened */
    uint32_t path[LMN__NODE_DEPTH_MAX]; /* which child */
};

/* An attempt at one version. */
struct widening {
    struct request *request;
    struct lmn__manifest *manifest;
    struct lmn__arena arena;
    const struct lmn__node *node;      /* what is widened */
    const struct lmn__node *top;       /* the column that it is, or belongs to */
    struct lmn__projection projection; /* the column */
    struct ArrowSchema schema;         /* a struct of the column as it becomes */
    struct lmn__pb_list field;         /* its fields */
    struct lmn__pb_list all;
};

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
    st = lmn__conversion_apply(&request->conversion, column, (uint64_t)rows->length,
                               columns_out->children[0], err);
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "column \"%.100s\"", request->column);
    if (!request->makes_structs)
        return LMN_OK;
    return lmn__old_version_check(request->fill.manifest, request->fill.schema->children[0],
                                  columns_out->children[0], 0, (uint64_t)rows->length, err);
}

/* Does what has nothing but nulls become structs? Others that are null have been so before. */
static bool makes_structs(const struct ArrowSchema *from, const struct ArrowSchema *to)
{
    bool makes = lmn__type_is_null(from) && strcmp(to->format, "+s") == 0;

    for (int64_t i = 0; !makes && i < from->n_children; i++)
        makes = makes_structs(from->children[i], to->children[i]);
    return makes;
}

/* The type of what is widened, inside of the type of the column on top level. */
static struct ArrowSchema *type_in(const struct request *request, struct ArrowSchema *column)
{
    for (uint32_t i = 0; i < request->depth; i++)
        column = column->children[request->path[i]];
    return column;
}

/* Make a column of nulls one of another type; its name stays, and whether there may be nulls. */
static ArrowErrorCode take_type(struct ArrowSchema *schema, const struct ArrowSchema *type)
{
    struct ArrowSchema made;
    ArrowErrorCode code = ArrowSchemaDeepCopy(type, &made);

    if (code != NANOARROW_OK)
        return code;
    code = ArrowSchemaSetName(&made, schema->name);
    if (code == NANOARROW_OK && schema->metadata != NULL)
        code = ArrowSchemaSetMetadata(&made, schema->metadata);
    made.flags = (made.flags & ~ARROW_FLAG_NULLABLE) | (schema->flags & ARROW_FLAG_NULLABLE);
    schema->release(schema);
    ArrowSchemaMove(&made, schema);
    return code;
}

/* Give a type that is widened the formats of the wider one. */
static ArrowErrorCode take_formats(struct ArrowSchema *schema, const struct ArrowSchema *wider)
{
    ArrowErrorCode code = NANOARROW_OK;

    if (lmn__type_is_null(schema) && !lmn__type_is_null(wider))
        return take_type(schema, wider);
    if (schema->n_children == 0 && strcmp(schema->format, wider->format) != 0)
        return ArrowSchemaSetFormat(schema, wider->format);
    for (int64_t i = 0; code == NANOARROW_OK && i < schema->n_children; i++)
        code = take_formats(schema->children[i], wider->children[i]);
    return code;
}

/* The column as it becomes: another type in some places, all else as it was. */
static enum lmn_status make_schema(struct widening *widening, struct lmn_error *err)
{
    struct ArrowSchema *schema = &widening->schema;

    ArrowSchemaInit(schema);
    if (ArrowSchemaSetFormat(schema, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(schema, 1) != NANOARROW_OK ||
        ArrowSchemaDeepCopy(widening->projection.arrow.children[0], schema->children[0]) !=
            NANOARROW_OK ||
        take_formats(type_in(widening->request, schema->children[0]), widening->request->type) !=
            NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    return LMN_OK;
}

/* Is the field in the tree below `node`, or that of it? */
static bool is_inside(const struct lmn__node *node, int32_t id)
{
    bool found = node->field->id == id;

    for (const struct lmn__node *child = node->child; child != NULL && !found; child = child->next)
        found = is_inside(child, id);
    return found;
}

/*
 * The field `was` as it becomes: with the id and parent of `made`, and inside of what is widened
 * its type. What had nothing but nulls may have got an extension type.
 */
static struct lmn__pb_schema_field widened_field(const struct widening *widening,
                                                 const struct lmn__pb_schema_field *was,
                                                 const struct lmn__pb_schema_field *made)
{
    struct lmn__pb_schema_field field = *was;

    field.id = made->id;
    field.parent_id = was->parent_id == -1 ? -1 : made->parent_id;
    if (!is_inside(widening->node, was->id))
        return field;
    field.type = made->type;
    field.logical_type = made->logical_type;
    field.encoding = made->encoding;
    if (field.metadata.count == 0)
        field.metadata = made->metadata;
    return field;
}

static enum lmn_status too_many(const struct widening *widening, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_UNSUPPORTED, "column \"%.100s\" has fields that its type has not",
                    widening->top->name);
}

/*
 * Pair the column's fields, which were `before`, with those that are `made` of its wider type, both
 * in the order of the tree. Below what had nothing but nulls there are further ones.
 */
static enum lmn_status pair_fields(struct widening *widening, const struct lmn__pb_list *before,
                                   const struct lmn__pb_list *made, int32_t *id_after,
                                   struct lmn_error *err)
{
    const struct lmn__pb_schema_field *was = before->item, *to = made->item;
    struct lmn__pb_schema_field *field = lmn__arena_array(&widening->arena, made->count,
                                                          sizeof *field);
    size_t at = 0;

    widening->field = (struct lmn__pb_list){ field, made->count };
    if (field == NULL)
        return lmn__arena_fail(&widening->arena, "a schema", err);
    for (size_t i = 0; i < made->count; i++) {
        bool below = at != 0 && lmn__span_equal(was[at - 1].logical_type, "null") &&
                     to[i].parent_id >= id_after[at - 1];

        field[i] = to[i];
        if (below)
            continue;
        if (at == before->count)
            return too_many(widening, err);
        field[i] = widened_field(widening, &was[at], &to[i]);
        id_after[at++] = to[i].id;
    }
    return at == before->count ? LMN_OK : too_many(widening, err);
}

/* All fields of the table, those of the column in the place of what they were. */
static enum lmn_status replace_fields(struct widening *widening, const struct lmn__pb_list *before,
                                      struct lmn_error *err)
{
    const struct lmn__pb_list *had = &widening->manifest->pb.fields;
    const struct lmn__pb_schema_field *from = had->item, *was = before->item;
    struct lmn__pb_schema_field *all = lmn__arena_array(
        &widening->arena, had->count + widening->field.count, sizeof *all);
    size_t count = 0;

    if (all == NULL)
        return lmn__arena_fail(&widening->arena, "a schema", err);
    for (size_t i = 0; i < had->count; i++) {
        if (from[i].id == was[0].id) {
            memcpy(all + count, widening->field.item, widening->field.count * sizeof *all);
            count += widening->field.count;
        }
        if (!lmn__fields_have(before, from[i].id))
            all[count++] = from[i];
    }
    widening->all = (struct lmn__pb_list){ all, count };
    return LMN_OK;
}

/* The column's fields with other ids, and a type; and all fields with them in their places. */
static enum lmn_status make_fields(struct widening *widening, struct lmn_error *err)
{
    const struct lmn__pb_schema_field *was;
    struct lmn__pb_list before;
    struct lmn__pb_schema pb;
    int32_t id, *id_after = NULL;
    enum lmn_status st = lmn__fields_next_id(widening->manifest, &id, err);

    if (st == LMN_OK)
        st = lmn__fields_from_arrow(&widening->schema, widening->manifest->minor, id,
                                    &widening->arena, &pb, err);
    if (st == LMN_OK)
        st = lmn__fields_of_columns(&widening->top, 1, &widening->arena, &before, err);
    if (st == LMN_OK) {
        id_after = lmn__arena_array(&widening->arena, before.count, sizeof *id_after);
        st = id_after != NULL ? pair_fields(widening, &before, &pb.fields, id_after, err)
                              : lmn__arena_fail(&widening->arena, "a schema", err);
    }
    if (st == LMN_OK)
        st = replace_fields(widening, &before, err);
    if (st != LMN_OK)
        return st;
    was = before.item;
    st = lmn__ledger_follow(&widening->all, was[0].id, id_after[0], &widening->arena, err);
    for (size_t i = 1; st == LMN_OK && i < before.count; i++)
        st = lmn__ledger_follow_inputs(&widening->all, was[i].id, id_after[i], &widening->arena,
                                       err);
    return st;
}

/* Find the way from the column on top level. */
static enum lmn_status find_path(struct widening *widening, struct lmn_error *err)
{
    struct request *request = widening->request;

    widening->top = widening->node;
    request->depth = widening->node->depth;
    for (uint32_t i = request->depth; i > 0; i--) {
        const struct lmn__node *parent = widening->top->parent, *child = parent->child;
        uint32_t index = 0;

        if (parent->packed)
            return lmn_fail(err, LMN_E_UNSUPPORTED,
                            "\"%.100s\" is inside of a packed struct, where nothing is widened",
                            request->column);
        for (; child != widening->top; child = child->next)
            index++;
        request->path[i - 1] = index;
        widening->top = parent;
    }
    return LMN_OK;
}

/* Bytes of blobs are not read and written again. */
static bool has_blob(const struct lmn__node *node)
{
    bool found = node->blob != LMN__BLOB_NONE;

    for (const struct lmn__node *child = node->child; child != NULL && !found; child = child->next)
        found = has_blob(child);
    return found;
}

static bool has_packed(const struct lmn__node *node)
{
    bool found = node->packed;

    for (const struct lmn__node *child = node->child; child != NULL && !found; child = child->next)
        found = has_packed(child);
    return found;
}

static enum lmn_status check(struct widening *widening, struct lmn_error *err)
{
    const struct request *request = widening->request;
    const struct ArrowSchema *was = type_in(request, widening->projection.arrow.children[0]);
    bool blob = has_blob(widening->top);
    char has[128], wants[128];

    if (blob && widening->top != widening->node)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "\"%.100s\" has blobs beside it in its column",
                        request->column);
    if (has_packed(widening->node))
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "\"%.100s\" has a packed struct, in which nothing is widened",
                        request->column);
    if (!blob && lmn__type_is_wider(was, request->type))
        return LMN_OK;
    lmn__arrow_type_text(was, has, sizeof has);
    lmn__arrow_type_text(request->type, wants, sizeof wants);
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
        st = make_schema(widening, err);
    if (st == LMN_OK)
        st = lmn__conversion_init(&request->conversion, request->table->env,
                                  widening->projection.arrow.children[0],
                                  widening->schema.children[0], &widening->arena, err);
    if (st == LMN_OK)
        st = make_fields(widening, err);
    if (st != LMN_OK)
        return st;
    request->makes_structs = makes_structs(widening->projection.arrow.children[0],
                                           widening->schema.children[0]);
    fill->manifest = widening->manifest;
    fill->projection = &widening->projection;
    fill->schema = &widening->schema;
    fill->fields = &widening->field;
    fill->all_fields = &widening->all;
    fill->fn = widen;
    fill->context = request;
    /* Deleted rows cannot be null in a column that has no nulls. */
    fill->with_deleted = !widening->top->field->nullable;
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
        st = find_path(&widening, err);
    if (st == LMN_OK)
        st = lmn__projection_init(&widening.projection, env, &widening.manifest->schema,
                                  &widening.top->name, 1, true, err);
    if (st == LMN_OK) {
        st = fill_column(&widening, again_out, err);
        lmn__conversion_deinit(&request->conversion);
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
    enum lmn_status st;

    lmn__fill_init(&request.fill, table);
    st = lmn__change_make(table, attempt_widen, &request, err);
    lmn__fill_deinit(&request.fill);
    return st;
}
