/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/outputs.h"

#include <stdio.h>
#include <string.h>

#include <nanoarrow/nanoarrow.h>

#include "arrow/adopt.h"
#include "arrow/compose.h"
#include "arrow/schema.h"
#include "arrow/share.h"
#include "format/projection.h"
#include "format/schema_write.h"
#include "job/payload_column.h"
#include "table/ledger.h"
#include "table/refill.h"

/* The types of some columns of the table, as a struct in this order. */
static enum lmn_status schema_of(struct lmn__manifest *manifest, const struct lmn__node **node,
                                 uint32_t count, struct ArrowSchema *schema_out,
                                 struct lmn_error *err)
{
    struct lmn__projection projection = { 0 };
    enum lmn_status st = lmn__projection_init_nodes(&projection, manifest->env, &manifest->schema,
                                                    node, count, true, err);

    if (st != LMN_OK)
        return st;
    st = lmn__projection_schema(&projection, schema_out, err);
    lmn__projection_deinit(&projection);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        if (node[i]->blob != LMN__BLOB_NONE)
            st = lmn__arrow_mark_blob(schema_out->children[i], err);
    }
    return st;
}

static enum lmn_status find_nodes(struct lmn__outputs *outputs, struct lmn__manifest *manifest,
                                  const char *const *output, const struct lmn__node **node,
                                  struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < outputs->count; i++)
        st = lmn__ledger_find(manifest, output[i], &node[i], &node[outputs->count + i], err);
    return st;
}

/* A function knows its columns by their own names, not by those of refills. */
static enum lmn_status name_values(struct lmn__outputs *outputs, struct lmn__manifest *manifest,
                                   const struct lmn__node **node, struct lmn_error *err)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct lmn__node *column = lmn__refill_column(&manifest->schema, node[i]);

        if (column != NULL &&
            ArrowSchemaSetName(outputs->values.children[i], column->name) != NANOARROW_OK)
            return lmn__no_memory(err, "the name of a column", strlen(column->name));
    }
    return LMN_OK;
}

static enum lmn_status open_columns(struct lmn__outputs *outputs, struct lmn__manifest *manifest,
                                    const char *const *output, struct lmn_error *err)
{
    const struct lmn__node **node = lmn__arena_array(&outputs->arena, outputs->count * 2ull,
                                                     sizeof *node);
    enum lmn_status st;

    if (node == NULL)
        return lmn__arena_fail(&outputs->arena, "a list of columns", err);
    st = find_nodes(outputs, manifest, output, node, err);
    outputs->blob = lmn__arena_array(&outputs->arena, outputs->count, sizeof *outputs->blob);
    if (st == LMN_OK && outputs->blob == NULL)
        st = lmn__arena_fail(&outputs->arena, "a list of columns", err);
    for (uint32_t i = 0; st == LMN_OK && i < outputs->count; i++)
        outputs->blob[i] = node[i]->blob != LMN__BLOB_NONE;
    if (st == LMN_OK)
        st = schema_of(manifest, node, outputs->count, &outputs->values, err);
    if (st == LMN_OK)
        st = name_values(outputs, manifest, node, err);
    if (st == LMN_OK)
        st = schema_of(manifest, node, outputs->count * 2, &outputs->all, err);
    if (st == LMN_OK)
        st = lmn__layout_from_schema(&outputs->values, &outputs->arena, &outputs->layout, err);
    return st;
}

enum lmn_status lmn__outputs_open(struct lmn__outputs *outputs, struct lmn_table *table,
                                  const char *const *output, uint32_t count, uint64_t function,
                                  struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    enum lmn_status st;

    *outputs = (struct lmn__outputs){ .env = table->env, .count = count, .function = function };
    lmn__arena_init(&outputs->arena, table->env, 0);
    st = open_columns(outputs, manifest, output, err);
    snprintf(outputs->file_version, sizeof outputs->file_version, "2.%u", manifest->minor);
    lmn__manifest_release(manifest);
    if (st != LMN_OK)
        lmn__outputs_close(outputs);
    return st;
}

enum lmn_status lmn__outputs_rename(struct lmn__outputs *outputs, const char *const *output,
                                    const char *const *known, struct lmn_error *err)
{
    for (uint32_t i = 0; i < outputs->count; i++) {
        if (strcmp(output[i], known[i]) != 0 &&
            ArrowSchemaSetName(outputs->values.children[i], known[i]) != NANOARROW_OK)
            return lmn__no_memory(err, "the name of a column", strlen(known[i]));
    }
    return LMN_OK;
}

void lmn__outputs_close(struct lmn__outputs *outputs)
{
    if (outputs->env == NULL)
        return;
    if (outputs->values.release != NULL)
        outputs->values.release(&outputs->values);
    if (outputs->all.release != NULL)
        outputs->all.release(&outputs->all);
    lmn__arena_deinit(&outputs->arena);
    *outputs = (struct lmn__outputs){ 0 };
}

/* A column of `count` numbers of `width` bytes; *data_out is where they go. */
static enum lmn_status new_numbers(struct lmn_env *env, uint64_t count, size_t width,
                                   struct ArrowArray *array_out, void **data_out,
                                   struct lmn_error *err)
{
    struct lmn__block *block;
    enum lmn_status st = lmn__adopt_new(env, 2, 0, false, array_out, err);

    if (st != LMN_OK)
        return st;
    st = lmn__block_new(env->pool, count * width + 1, &block, err);
    if (st != LMN_OK) {
        array_out->release(array_out);
        return st;
    }
    lmn__adopt_buffer(array_out, 1, block, block->data);
    array_out->length = (int64_t)count;
    *data_out = block->data;
    return LMN_OK;
}

/* A ledger's column for rows that were just computed. */
static enum lmn_status make_cells(const struct lmn__outputs *outputs, uint64_t count,
                                  const uint64_t *failed, uint64_t failed_count,
                                  const uint64_t *fingerprint, struct ArrowArray *array_out,
                                  struct lmn_error *err)
{
    void *state, *function, *inputs;
    enum lmn_status st = lmn__adopt_new(outputs->env, 1, LMN__LEDGER_FIELDS, false, array_out, err);

    if (st != LMN_OK)
        return st;
    array_out->length = (int64_t)count;
    st = new_numbers(outputs->env, count, 1, array_out->children[LMN__LEDGER_STATE], &state, err);
    if (st == LMN_OK)
        st = new_numbers(outputs->env, count, 8, array_out->children[LMN__LEDGER_FUNCTION],
                         &function, err);
    if (st == LMN_OK)
        st = new_numbers(outputs->env, count, 8, array_out->children[LMN__LEDGER_INPUTS], &inputs,
                         err);
    if (st != LMN_OK) {
        array_out->release(array_out);
        return st;
    }
    memset(state, LMN__CELL_OK, count);
    for (uint64_t i = 0; i < failed_count; i++)
        ((uint8_t *)state)[failed[i]] = LMN__CELL_FAILED;
    for (uint64_t i = 0; i < count; i++)
        ((uint64_t *)function)[i] = outputs->function;
    memcpy(inputs, fingerprint, count * sizeof *fingerprint);
    return LMN_OK;
}

static enum lmn_status check_values(const struct lmn__outputs *outputs,
                                    const struct ArrowArray *values, uint64_t count,
                                    struct lmn_error *err)
{
    if (values->length != (int64_t)count)
        return lmn_fail(err, LMN_E_UDF, "the function gave %lld values for %llu rows",
                        (long long)values->length, (unsigned long long)count);
    if (values->n_children != (int64_t)outputs->count)
        return lmn_fail(err, LMN_E_UDF, "the function gave %lld columns, not %u",
                        (long long)values->n_children, outputs->count);
    for (uint32_t i = 0; i < outputs->count; i++) {
        if (values->children[i]->length < values->offset + (int64_t)count)
            return lmn_fail(err, LMN_E_UDF,
                            "the function gave %lld values of \"%.100s\" for %llu rows",
                            (long long)values->children[i]->length,
                            outputs->values.children[i]->name, (unsigned long long)count);
    }
    return LMN_OK;
}

/* Move the columns of `values` into the front of the array, sliced as their parent is. */
static void move_values(struct ArrowArray *values, uint64_t count, struct ArrowArray *array)
{
    for (int64_t i = 0; i < values->n_children; i++) {
        struct ArrowArray *child = array->children[i];

        lmn__array_move(values->children[i], child);
        if (values->offset == 0 && child->length == (int64_t)count)
            continue;
        child->offset += values->offset;
        child->length = (int64_t)count;
        if (child->null_count != 0)
            child->null_count = -1;
    }
}

static enum lmn_status compose(const struct lmn__outputs *outputs, struct ArrowArray *values,
                               uint64_t count, const uint64_t *failed, uint64_t failed_count,
                               const uint64_t *fingerprint, struct ArrowArray *array_out,
                               struct lmn_error *err)
{
    uint32_t width = outputs->count;
    enum lmn_status st = lmn__array_compose(outputs->env, count, width * 2, array_out, err);

    if (st != LMN_OK)
        return st;
    st = make_cells(outputs, count, failed, failed_count, fingerprint, array_out->children[width],
                    err);
    for (uint32_t i = 1; st == LMN_OK && i < width; i++)
        st = lmn__adopt_share(array_out->children[width], array_out->children[width + i], err);
    if (st == LMN_OK)
        move_values(values, count, array_out);
    else
        lmn__array_release(array_out);
    return st;
}

enum lmn_status lmn__outputs_compose(const struct lmn__outputs *outputs, struct ArrowArray *values,
                                     uint64_t count, const uint64_t *failed, uint64_t failed_count,
                                     const uint64_t *fingerprint, struct ArrowArray *array_out,
                                     struct lmn_error *err)
{
    enum lmn_status st = check_values(outputs, values, count, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st == LMN_OK)
        st = compose(outputs, values, count, failed, failed_count, fingerprint, array_out, err);
    lmn__array_release(values);
    return st;
}

uint64_t lmn__outputs_bytes(const struct lmn__outputs *outputs, const struct ArrowArray *array)
{
    uint64_t bytes = 0;

    for (int64_t i = 0; i < array->n_children; i++) {
        if (i < (int64_t)outputs->count && outputs->blob[i] &&
            lmn__payload_is_placed(array->children[i]))
            bytes += 2 * sizeof(uint64_t) * (uint64_t)array->length;
        else
            bytes += lmn__array_bytes(array->children[i], outputs->all.children[i]);
    }
    return bytes;
}

enum lmn_status lmn__outputs_failed(const struct lmn__outputs *outputs, uint64_t count,
                                    const uint64_t *fingerprint, struct ArrowArray *array_out,
                                    struct lmn_error *err)
{
    uint64_t *failed = lmn__alloc(outputs->env, count * sizeof *failed);
    struct ArrowArray values = { 0 };
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    if (failed == NULL)
        return lmn__no_memory(err, "a list of rows", count * sizeof *failed);
    for (uint64_t i = 0; i < count; i++)
        failed[i] = i;
    st = lmn__array_compose(outputs->env, count, outputs->count, &values, err);
    for (uint32_t i = 0; st == LMN_OK && i < outputs->count; i++)
        st = lmn__array_nulls(outputs->env, outputs->layout->child[i], count, values.children[i],
                              err);
    if (st == LMN_OK)
        st = lmn__outputs_compose(outputs, &values, count, failed, count, fingerprint, array_out,
                                  err);
    else
        lmn__array_release(&values);
    lmn__free(outputs->env, failed);
    return st;
}
