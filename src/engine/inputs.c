/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A column that is bound twice is read once; one that is bound together with a field inside of it
 * is read whole. A field of a struct that is null is null: where a struct on the way has nulls, the
 * field gets a bitmap of both.
 */
#include "engine/inputs.h"

#include <string.h>

#include <nanoarrow/nanoarrow.h>

#include "arrow/compose.h"
#include "arrow/schema.h"
#include "arrow/view.h"
#include "table/table_fields.h"

struct lmn__input_way {
    const struct lmn__node *node;
    uint32_t depth;
    uint32_t child[LMN__NODE_DEPTH_MAX + 1]; /* which child to take, from the root */
};

/* An input of rows in memory: where its first slot is, and the bitmap that counts. */
struct lmn__input_column {
    const struct ArrowArray *array;
    uint64_t offset;
    struct lmn__block *validity; /* NULL: its own */
};

/* Is `node` below `other`, or the same? */
static bool is_within(const struct lmn__node *node, const struct lmn__node *other)
{
    while (node != NULL && node != other)
        node = node->parent;
    return node != NULL;
}

/* Leave the nodes that no other one holds, each once; returns how many these are. */
static uint32_t keep_outermost(const struct lmn__node **node, uint32_t count)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < count; i++) {
        bool held = false;

        for (uint32_t k = 0; k < kept && !held; k++)
            held = node[k] == node[i];
        for (uint32_t k = i + 1; k < count && !held; k++)
            held = node[k] != node[i] && is_within(node[i], node[k]);
        for (uint32_t k = 0; k < kept && !held; k++)
            held = is_within(node[i], node[k]);
        if (!held)
            node[kept++] = node[i];
    }
    return kept;
}

/* The way to a node through the projection's type. */
static enum lmn_status find_way(const struct lmn__inputs *inputs, struct lmn__input_way *way,
                                const char *path, const struct ArrowSchema **schema_out,
                                struct lmn_error *err)
{
    const struct lmn__node *step[LMN__NODE_DEPTH_MAX + 1];
    const struct ArrowSchema *schema = &inputs->projection.arrow;
    uint32_t depth = 0;

    for (const struct lmn__node *node = way->node; node != NULL; node = node->parent) {
        if (node != way->node && node->kind != LMN__NODE_STRUCT)
            return lmn_fail(err, LMN_E_UNSUPPORTED,
                            "input \"%.100s\": %.100s is no struct, whose fields are inputs", path,
                            node->name);
        step[depth++] = node;
    }
    way->depth = depth;
    for (uint32_t i = 0; i < depth; i++) {
        int64_t index = -1;

        schema = lmn__arrow_child(schema, step[depth - 1 - i]->name, &index);
        if (schema == NULL)
            return lmn_fail(err, LMN_E_NOT_FOUND, "input \"%.100s\" is not read", path);
        way->child[i] = (uint32_t)index;
    }
    *schema_out = schema;
    return LMN_OK;
}

static enum lmn_status make_schema(struct lmn__inputs *inputs, const char *const *input,
                                   struct lmn_error *err)
{
    struct ArrowSchema *schema = &inputs->schema;

    ArrowSchemaInit(schema);
    if (ArrowSchemaSetFormat(schema, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(schema, inputs->count) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct ArrowSchema *from = NULL;
        enum lmn_status st = find_way(inputs, &inputs->way[i], input[i], &from, err);

        if (st == LMN_OK)
            st = lmn__arrow_schema_copy(from, schema->children[i], err);
        if (st != LMN_OK)
            return st;
        schema->children[i]->flags |= ARROW_FLAG_NULLABLE;
        if (ArrowSchemaSetName(schema->children[i], input[i]) != NANOARROW_OK)
            return lmn__no_memory(err, "a schema", 0);
    }
    return LMN_OK;
}

/* Read the inputs and the columns that stand for them in the fingerprint. */
static enum lmn_status project(struct lmn__inputs *inputs, const char *const *input,
                               const char *const *stamp, enum lmn__input_blobs blobs,
                               struct lmn_error *err)
{
    bool lazy = blobs == LMN__INPUT_BLOBS_LAZY;
    const struct lmn__node **node = lmn__calloc(inputs->env, inputs->count * 2 + 1, sizeof *node);
    uint32_t count = inputs->count;
    enum lmn_status st = LMN_OK;

    inputs->way = lmn__calloc(inputs->env, count + 1, sizeof *inputs->way);
    if (node == NULL || inputs->way == NULL) {
        lmn__free(inputs->env, node);
        return lmn__no_memory(err, "the inputs of a function", count * sizeof *inputs->way);
    }
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        st = lmn__fields_find(inputs->manifest, input[i], &inputs->way[i].node, err);
        node[i] = inputs->way[i].node;
        if (st == LMN_OK)
            st = lmn__fields_find(inputs->manifest, stamp[i], &node[count + i], err);
    }
    if (st == LMN_OK)
        st = lmn__projection_init_nodes(
            &inputs->projection, inputs->env, &inputs->manifest->schema, node,
            keep_outermost(node, count * 2),
            lazy ? (enum lmn_blob_mode)LMN__BLOB_SKETCH : LMN_BLOB_BYTES, err);
    if (st == LMN_OK && !lazy)
        st = lmn__projection_mark_blobs(&inputs->projection, err);
    lmn__free(inputs->env, node);
    if (st == LMN_OK)
        st = make_schema(inputs, input, err);
    return st == LMN_OK ? lmn__fingerprint_new(inputs->env, &inputs->projection.arrow, stamp, count,
                                               &inputs->fingerprint, err)
                        : st;
}

enum lmn_status lmn__inputs_open(struct lmn__inputs *inputs, struct lmn_table *table,
                                 const char *const *input, uint32_t count,
                                 enum lmn__input_blobs blobs, struct lmn_error *err)
{
    const char *const *stamp;
    struct lmn__arena arena;
    enum lmn_status st;

    *inputs = (struct lmn__inputs){ .env = table->env, .count = count };
    lmn__arena_init(&arena, table->env, 0);
    inputs->table = lmn_table_acquire(table);
    inputs->manifest = lmn__table_manifest(table);
    lmn__scratch_init(&inputs->scratch, table->env);
    st = lmn__fingerprint_columns(inputs->manifest, input, count, &arena, &stamp, err);
    if (st == LMN_OK)
        st = project(inputs, input, stamp, blobs, err);
    lmn__arena_deinit(&arena);
    if (st != LMN_OK)
        lmn__inputs_close(inputs);
    return st;
}

void lmn__inputs_close(struct lmn__inputs *inputs)
{
    if (inputs->env == NULL)
        return;
    lmn__fragment_reader_close(inputs->reader);
    lmn__fingerprint_free(inputs->fingerprint);
    if (inputs->schema.release != NULL)
        inputs->schema.release(&inputs->schema);
    if (inputs->projection.layout != NULL)
        lmn__projection_deinit(&inputs->projection);
    lmn__scratch_deinit(&inputs->scratch);
    lmn__free(inputs->env, inputs->way);
    lmn__manifest_release(inputs->manifest);
    lmn_table_release(inputs->table);
    *inputs = (struct lmn__inputs){ 0 };
}

enum lmn_status lmn__inputs_enter(struct lmn__inputs *inputs, uint64_t fragment_id,
                                  struct lmn_error *err)
{
    struct lmn__arena arena;
    uint64_t index;
    enum lmn_status st;

    if (inputs->reader != NULL && inputs->fragment_id == fragment_id)
        return LMN_OK;
    lmn__fragment_reader_close(inputs->reader);
    inputs->reader = NULL;
    lmn__arena_init(&arena, inputs->env, 0);
    st = lmn__manifest_find(inputs->manifest, fragment_id, &arena, &index, err);
    lmn__arena_deinit(&arena);
    if (st == LMN_OK)
        st = lmn__fragment_reader_open(inputs->table->files, inputs->manifest, index,
                                       &inputs->projection, &inputs->reader, err);
    inputs->fragment_id = fragment_id;
    return st;
}

bool lmn__inputs_is_blob(const struct lmn__inputs *inputs, uint32_t i)
{
    return inputs->way[i].node->blob != LMN__BLOB_NONE;
}

uint64_t lmn__inputs_row_bytes(const struct lmn__inputs *inputs)
{
    return lmn__fragment_reader_row_bytes(inputs->reader);
}

/* Clear the bits of `validity` where the struct has nulls; both count from the slot `offset`. */
static enum lmn_status mask(struct lmn__inputs *inputs, const struct ArrowArray *parent,
                            uint64_t parent_offset, struct lmn__input_column *column,
                            uint64_t count, struct lmn_error *err)
{
    const uint8_t *bits = parent->buffers[0], *own;
    uint64_t bytes = lmn__bits_bytes(column->offset + count);
    enum lmn_status st;

    if (column->validity == NULL) {
        st = lmn__block_new(inputs->env->pool, bytes, &column->validity, err);
        if (st != LMN_OK)
            return st;
        own = lmn__view_validity(column->array);
        if (own != NULL)
            memcpy(column->validity->data, own, bytes);
        else
            memset(column->validity->data, 0xff, bytes);
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!lmn__bit_get(bits, parent_offset + i))
            lmn__bit_clear(column->validity->data, column->offset + i);
    }
    return LMN_OK;
}

static enum lmn_status find_column(struct lmn__inputs *inputs, const struct lmn__input_way *way,
                                   const struct ArrowArray *root, uint64_t count,
                                   struct lmn__input_column *column, struct lmn_error *err)
{
    const struct ArrowArray *array = root;
    uint64_t offset = (uint64_t)root->offset;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; i < way->depth; i++) {
        array = array->children[way->child[i]];
        offset += (uint64_t)array->offset;
    }
    column->array = array;
    column->offset = offset;
    array = root;
    offset = (uint64_t)root->offset;
    for (uint32_t i = 0; st == LMN_OK && i + 1 < way->depth; i++) {
        array = array->children[way->child[i]];
        offset += (uint64_t)array->offset;
        if (lmn__view_validity(array) != NULL)
            st = mask(inputs, array, offset, column, count, err);
    }
    return st;
}

/* The ids and places of the rows of ranges. */
static void number_rows(const struct lmn__inputs *inputs, const struct lmn__row_range *range,
                        uint64_t range_count, struct lmn__input_rows *rows)
{
    const struct lmn__row_ids *ids = lmn__fragment_reader_ids(inputs->reader);
    uint64_t at = 0;

    for (uint64_t i = 0; i < range_count; i++) {
        lmn__row_ids_copy(ids, range[i].first, range[i].count, rows->row_id + at);
        for (uint64_t k = 0; k < range[i].count; k++)
            rows->physical[at + k] = range[i].first + k;
        at += range[i].count;
    }
}

static enum lmn_status find_columns(struct lmn__inputs *inputs, struct lmn__input_rows *rows,
                                    struct lmn_error *err)
{
    const struct ArrowArray *root = lmn__share_array(rows->share);
    enum lmn_status st = LMN_OK;

    rows->bytes = lmn__array_bytes(root, &inputs->projection.arrow);
    rows->column_count = inputs->count;
    for (uint32_t i = 0; st == LMN_OK && i < inputs->count; i++)
        st = find_column(inputs, &inputs->way[i], root, rows->count, &rows->column[i], err);
    return st;
}

enum lmn_status lmn__inputs_read(struct lmn__inputs *inputs, const struct lmn__row_range *range,
                                 uint64_t range_count, struct lmn__input_rows *rows_out,
                                 struct lmn_error *err)
{
    struct ArrowArray array = { 0 };
    enum lmn_status st;

    *rows_out = (struct lmn__input_rows){ .env = inputs->env };
    for (uint64_t i = 0; i < range_count; i++)
        rows_out->count += range[i].count;
    rows_out->row_id = lmn__alloc(inputs->env, rows_out->count * 3 * sizeof *rows_out->row_id);
    rows_out->column = lmn__calloc(inputs->env, inputs->count + 1, sizeof *rows_out->column);
    if (rows_out->row_id == NULL || rows_out->column == NULL)
        st = lmn__no_memory(err, "the ids of rows", rows_out->count * 24);
    else
        st = lmn__fragment_reader_read(inputs->reader, &inputs->scratch, range, range_count, &array,
                                       err);
    if (st == LMN_OK) {
        rows_out->physical = rows_out->row_id + rows_out->count;
        rows_out->fingerprint = rows_out->physical + rows_out->count;
        number_rows(inputs, range, range_count, rows_out);
        st = lmn__share_new(inputs->env, &array, &rows_out->share, err);
    }
    if (st == LMN_OK)
        st = lmn__fingerprint_rows(inputs->fingerprint, lmn__share_array(rows_out->share),
                                   rows_out->fingerprint, err);
    if (st == LMN_OK)
        st = find_columns(inputs, rows_out, err);
    if (array.release != NULL)
        array.release(&array);
    if (st != LMN_OK)
        lmn__input_rows_free(rows_out);
    return st;
}

void lmn__input_rows_free(struct lmn__input_rows *rows)
{
    if (rows->env == NULL)
        return;
    for (uint32_t i = 0; i < rows->column_count; i++)
        lmn__block_release(rows->column[i].validity);
    lmn__free(rows->env, rows->column);
    lmn__free(rows->env, rows->row_id);
    lmn__share_release(rows->share);
    *rows = (struct lmn__input_rows){ 0 };
}

enum lmn_status lmn__input_rows_slice(const struct lmn__input_rows *rows, uint64_t first,
                                      uint64_t count, struct ArrowArray *array_out,
                                      struct lmn_error *err)
{
    enum lmn_status st = lmn__array_compose(rows->env, count, rows->column_count, array_out, err);

    for (uint32_t i = 0; st == LMN_OK && i < rows->column_count; i++) {
        const struct lmn__input_column *column = &rows->column[i];

        st = lmn__share_part(rows->share, column->array, column->offset + first, count,
                             column->validity, array_out->children[i], err);
    }
    if (st != LMN_OK)
        lmn__array_release(array_out);
    return st;
}
