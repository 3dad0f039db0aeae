/* SPDX-License-Identifier: Apache-2.0 */
#include "table/merge_where.h"

#include <leman/table_scan.h>
#include <nanoarrow/nanoarrow.h>

#include "arrow/adopt.h"
#include "arrow/schema.h"
#include "arrow/share.h"
#include "base/error.h"
#include "expr/expr.h"

static const char source_name[] = "source", target_name[] = "target";

/* The columns of the table that the condition names; at least one, so that rows have a type. */
static enum lmn_status target_columns(const struct lmn__merge_rows *merge, struct lmn__expr *expr,
                                      struct lmn__arena *arena, const char ***name_out,
                                      uint32_t *count_out, struct lmn_error *err)
{
    const size_t skip = sizeof target_name; /* with the dot */
    const char *const *path;
    const char **name;
    uint32_t count;
    enum lmn_status st = lmn__expr_paths(expr, &path, &count, err);

    *count_out = 0;
    if (st != LMN_OK)
        return st;
    name = lmn__arena_array(arena, count + 1, sizeof *name);
    if (name == NULL)
        return lmn__arena_fail(arena, "columns", err);
    for (uint32_t i = 0; i < count; i++) {
        if (strncmp(path[i], target_name, skip - 1) == 0 && path[i][skip - 1] == '.')
            name[(*count_out)++] = path[i] + skip;
    }
    if (*count_out == 0)
        name[(*count_out)++] = merge->manifest->schema.top->name;
    *name_out = name;
    return LMN_OK;
}

/* A struct of the two sides; the second schema moves into it. */
static enum lmn_status sides_type(const struct lmn__merge_rows *merge,
                                  struct ArrowSchema *target_schema, struct ArrowSchema *schema_out,
                                  struct lmn_error *err)
{
    ArrowSchemaInit(schema_out);
    if (ArrowSchemaSetTypeStruct(schema_out, 2) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    schema_out->children[0]->release(schema_out->children[0]);
    schema_out->children[1]->release(schema_out->children[1]);
    ArrowSchemaMove(target_schema, schema_out->children[1]);
    if (ArrowSchemaDeepCopy(merge->source_schema, schema_out->children[0]) != NANOARROW_OK ||
        ArrowSchemaSetName(schema_out->children[0], source_name) != NANOARROW_OK ||
        ArrowSchemaSetName(schema_out->children[1], target_name) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    return LMN_OK;
}

/* The same with the arrays, which move into it, too, if it is made. */
static enum lmn_status make_sides(const struct lmn__merge_rows *merge, struct ArrowArray *source,
                                  struct ArrowSchema *target_schema, struct ArrowArray *target,
                                  struct ArrowSchema *schema_out, struct ArrowArray *array_out,
                                  struct lmn_error *err)
{
    enum lmn_status st = lmn__adopt_new(merge->env, 1, 2, false, array_out, err);

    *schema_out = (struct ArrowSchema){ 0 };
    if (st != LMN_OK)
        return st;
    array_out->length = source->length;
    ArrowArrayMove(source, array_out->children[0]);
    ArrowArrayMove(target, array_out->children[1]);
    return sides_type(merge, target_schema, schema_out, err);
}

enum lmn_status lmn__merge_where_check(const struct lmn__merge_rows *merge, struct lmn_error *err)
{
    struct ArrowSchema target = { 0 }, sides = { 0 };
    struct lmn__expr *expr = NULL;
    struct lmn__projection all;
    enum lmn_status st = lmn__projection_init(&all, merge->env, &merge->manifest->schema, NULL, 0,
                                              true, err);

    if (st != LMN_OK)
        return st;
    st = lmn__projection_schema(&all, &target, err);
    lmn__projection_deinit(&all);
    if (st == LMN_OK)
        st = sides_type(merge, &target, &sides, err);
    if (st == LMN_OK)
        st = lmn__expr_parse(merge->env, merge->where, &expr, err);
    if (st == LMN_OK)
        st = lmn__expr_bind_condition(expr, &sides, NULL, err);
    lmn__expr_free(expr);
    if (target.release != NULL)
        target.release(&target);
    if (sides.release != NULL)
        sides.release(&sides);
    return st;
}

/* Evaluate the condition; `bits` has room for the pairs. */
static enum lmn_status select_pairs(const struct lmn__merge_rows *merge, struct lmn__expr *expr,
                                    struct ArrowArray *source, const uint64_t *id, uint64_t count,
                                    uint8_t *bits, uint64_t *bytes_out, struct lmn_error *err)
{
    uint64_t kept;
    struct ArrowArray target = { 0 }, sides = { 0 };
    struct ArrowSchema target_schema = { 0 }, sides_schema = { 0 };
    struct lmn_scan_options options = { .blobs = LMN_BLOB_BYTES };
    struct lmn__arena arena;
    const char **name = NULL;
    enum lmn_status st;

    lmn__arena_init(&arena, merge->env, 0);
    st = target_columns(merge, expr, &arena, &name, &options.column_count, err);
    options.column = name;
    if (st == LMN_OK)
        st = lmn_table_take_ids(merge->table, id, count, &options, &target_schema, &target, err);
    if (st == LMN_OK)
        st = make_sides(merge, source, &target_schema, &target, &sides_schema, &sides, err);
    if (st == LMN_OK)
        *bytes_out = lmn__array_bytes(&sides, &sides_schema);
    if (st == LMN_OK)
        st = lmn__expr_bind_condition(expr, &sides_schema, NULL, err);
    if (st == LMN_OK)
        st = lmn__expr_select(expr, &sides, bits, &kept, err);
    if (target.release != NULL)
        target.release(&target);
    if (sides.release != NULL) {
        ArrowArrayMove(sides.children[0], source);
        sides.release(&sides);
    }
    if (target_schema.release != NULL)
        target_schema.release(&target_schema);
    if (sides_schema.release != NULL)
        sides_schema.release(&sides_schema);
    lmn__arena_deinit(&arena);
    return st;
}

enum lmn_status lmn__merge_where_select(const struct lmn__merge_rows *merge,
                                        struct ArrowArray *source, const uint64_t *id,
                                        uint64_t count, uint8_t *bits, uint64_t *bytes_out,
                                        struct lmn_error *err)
{
    struct lmn__expr *expr;
    enum lmn_status st = lmn__expr_parse(merge->env, merge->where, &expr, err);

    *bytes_out = 0;
    if (st == LMN_OK)
        st = select_pairs(merge, expr, source, id, count, bits, bytes_out, err);
    lmn__expr_free(expr);
    if (source->release != NULL)
        source->release(source);
    return st;
}

/* Number of a table's column among those that the source has, or -1. */
static int64_t given_number(const struct lmn__conform *given, const struct lmn__node *node)
{
    for (uint32_t i = 0; i < given->column_count; i++) {
        if (given->column[i] == node)
            return i;
    }
    return -1;
}

/*
 * The values that the table has in columns that the source has not. Blobs that are in other files
 * stay there.
 */
static enum lmn_status take_missing(const struct lmn__merge_rows *merge, const uint64_t *id,
                                    uint64_t count, struct ArrowSchema *schema_out,
                                    struct ArrowArray *array_out, struct lmn_error *err)
{
    const struct lmn__schema *schema = &merge->manifest->schema;
    const char **name = lmn__calloc(merge->env, schema->top_count, sizeof *name);
    struct lmn_scan_options options = { .blobs = LMN_BLOB_EITHER, .column = name };
    enum lmn_status st = LMN_OK;

    *schema_out = (struct ArrowSchema){ 0 };
    *array_out = (struct ArrowArray){ 0 };
    if (name == NULL)
        return lmn__no_memory(err, "columns", 0);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next) {
        if (given_number(merge->given, node) < 0)
            name[options.column_count++] = node->name;
    }
    if (options.column_count != 0)
        st = lmn_table_take_ids(merge->table, id, count, &options, schema_out, array_out, err);
    lmn__free(merge->env, name);
    return st;
}

/* Every column of the table, of the types that the source's and the `taken` ones have. */
static enum lmn_status whole_init(const struct lmn__merge_rows *merge,
                                  const struct ArrowSchema *taken, struct lmn__conform *whole,
                                  struct lmn_error *err)
{
    const struct lmn__schema *schema = &merge->manifest->schema;
    struct ArrowSchema all;
    int64_t at = 0, missing = 0;
    enum lmn_status st = LMN_OK;

    ArrowSchemaInit(&all);
    if (ArrowSchemaSetFormat(&all, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(&all, schema->top_count) != NANOARROW_OK)
        st = lmn__no_memory(err, "a schema", 0);
    for (const struct lmn__node *node = schema->top; st == LMN_OK && node != NULL;
         node = node->next) {
        int64_t number = given_number(merge->given, node);
        const struct ArrowSchema *type = number >= 0 ? merge->given->schema.children[number]
                                                     : taken->children[missing++];

        if (ArrowSchemaDeepCopy(type, all.children[at++]) != NANOARROW_OK)
            st = lmn__no_memory(err, "a schema", 0);
    }
    if (st == LMN_OK)
        st = lmn__conform_init(whole, merge->env, schema, &all, false, err);
    all.release(&all);
    return st;
}

/* Rows of all columns, each one taken from where it is. */
static enum lmn_status join_columns(const struct lmn__merge_rows *merge,
                                    const struct lmn__conform *whole, struct ArrowArray *source,
                                    struct ArrowArray *table, uint64_t count,
                                    struct ArrowArray *rows_out, struct lmn_error *err)
{
    struct ArrowArray view;
    uint32_t missing = 0;
    enum lmn_status st = lmn__conform_batch(merge->given, source, &view, err);

    if (st == LMN_OK)
        st = lmn__conform_check_values(merge->given, &view, err);
    if (st == LMN_OK)
        st = lmn__adopt_new(merge->env, 1, whole->column_count, false, rows_out, err);
    for (uint32_t i = 0; st == LMN_OK && i < whole->column_count; i++) {
        int64_t number = given_number(merge->given, whole->column[i]);

        ArrowArrayMove(number >= 0 ? view.children[number] : table->children[missing++],
                       rows_out->children[i]);
    }
    rows_out->length = (int64_t)count;
    return st;
}

enum lmn_status lmn__merge_rows_make(const struct lmn__merge_rows *merge, struct ArrowArray *source,
                                     const uint64_t *id, uint64_t count,
                                     struct ArrowArray *rows_out, struct lmn__conform *whole_out,
                                     struct lmn_error *err)
{
    struct ArrowSchema schema = { 0 };
    struct ArrowArray table = { 0 };
    enum lmn_status st = take_missing(merge, id, count, &schema, &table, err);

    *rows_out = (struct ArrowArray){ 0 };
    *whole_out = (struct lmn__conform){ 0 };
    if (st == LMN_OK)
        st = whole_init(merge, &schema, whole_out, err);
    if (st == LMN_OK) {
        st = join_columns(merge, whole_out, source, &table, count, rows_out, err);
        if (st != LMN_OK)
            lmn__conform_deinit(whole_out);
    }
    if (source->release != NULL)
        source->release(source);
    if (table.release != NULL)
        table.release(&table);
    if (schema.release != NULL)
        schema.release(&schema);
    return st;
}
