/* SPDX-License-Identifier: Apache-2.0 */
#include "column_tables.h"

#include <string.h>

#include "arrays.h"

struct lmn_table *column_table(struct lmn_store *store, uint64_t rows, uint64_t fragment_rows)
{
    const struct lmn_write_options options = { .fragment_rows_max = fragment_rows };
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct sample sample;
    struct lmn_error err = { 0 };

    sample_init(&sample, rows, 7);
    sample_stream(&sample, 0, rows, 16, &stream);
    CHECK_STATUS(lmn_table_create(store, &stream, &options, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_delete(table, "number = 9", NULL, &err), LMN_OK, &err);
    sample_deinit(&sample);
    return table;
}

void column_append(struct lmn_table *table, uint64_t rows)
{
    struct ArrowArrayStream stream;
    struct sample sample;
    struct lmn_error err = { 0 };

    sample_init(&sample, rows, 8);
    sample_stream(&sample, 0, rows, rows, &stream);
    CHECK_STATUS(lmn_table_append(table, &stream, NULL, &err), LMN_OK, &err);
    sample_deinit(&sample);
}

uint64_t column_read(struct lmn_table *table, const char *column, int64_t *value)
{
    const struct lmn_scan_options options = { .column = &column, .column_count = 1 };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct ArrowArrayView view;
    struct lmn_error err = { 0 };
    uint64_t rows = 0;

    CHECK_STATUS(lmn_table_scan(table, &options, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_EQ(ArrowArrayViewInitFromSchema(&view, schema.children[0], NULL), 0);
    for (;;) {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        CHECK_EQ(ArrowArrayViewSetArray(&view, batch.children[0], NULL), 0);
        for (int64_t i = 0; i < batch.length; i++)
            value[rows++] = ArrowArrayViewIsNull(&view, i) ? NO_VALUE
                                                           : ArrowArrayViewGetIntUnsafe(&view, i);
        batch.release(&batch);
    }
    ArrowArrayViewReset(&view);
    schema.release(&schema);
    stream.release(&stream);
    return rows;
}

bool column_exists(struct lmn_table *table, const char *name)
{
    const struct lmn_scan_options options = { .column = &name, .column_count = 1 };
    struct ArrowArrayStream stream;
    enum lmn_status st = lmn_table_scan(table, &options, &stream, NULL);

    if (st == LMN_OK)
        stream.release(&stream);
    CHECK(st == LMN_OK || st == LMN_E_NOT_FOUND);
    return st == LMN_OK;
}

static int pairs_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema)
{
    const struct pairs *pairs = stream->private_data;
    int code;

    ArrowSchemaInit(schema);
    code = ArrowSchemaSetTypeStruct(schema, 2);
    for (int i = 0; code == 0 && i < 2; i++)
        code = ArrowSchemaSetType(schema->children[i], NANOARROW_TYPE_INT64);
    if (code == 0)
        code = ArrowSchemaSetName(schema->children[0],
                                  pairs->name != NULL ? pairs->name : "number");
    if (code == 0)
        code = ArrowSchemaSetName(schema->children[1], "joined");
    if (code != 0)
        schema->release(schema);
    return code;
}

static void batch_release(struct ArrowArray *array)
{
    array->release = NULL;
}

static int pairs_next(struct ArrowArrayStream *stream, struct ArrowArray *array)
{
    struct pairs *pairs = stream->private_data;
    struct pairs_batch *batch = &pairs->batch[pairs->batch_count++];
    uint32_t first = pairs->row_count;

    if (pairs->meanwhile != NULL)
        pairs->meanwhile(pairs->context);
    pairs->meanwhile = NULL;
    *array = (struct ArrowArray){ 0 };
    for (int64_t i = 0; i < pairs->batch_rows && pairs->left != 0; i++, pairs->left--) {
        CHECK(pairs->row_count < PAIRS_MAX);
        pairs->value[0][pairs->row_count] = pairs->key;
        pairs->value[1][pairs->row_count++] = pairs->key * 10;
        pairs->key += pairs->step;
    }
    if (pairs->row_count == first)
        return 0;
    *array = (struct ArrowArray){ .length = pairs->row_count - first,
                                  .n_buffers = 1,
                                  .n_children = 2,
                                  .buffers = batch->no_buffer,
                                  .children = batch->columns,
                                  .release = batch_release };
    for (int i = 0; i < 2; i++) {
        batch->buffer[i][1] = pairs->value[i];
        batch->columns[i] = &batch->column[i];
        batch->column[i] = *array;
        batch->column[i].offset = first;
        batch->column[i].n_buffers = 2;
        batch->column[i].n_children = 0;
        batch->column[i].buffers = batch->buffer[i];
    }
    return 0;
}

static const char *pairs_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void pairs_release(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

struct ArrowArrayStream pairs_stream(struct pairs *pairs)
{
    return (struct ArrowArrayStream){ pairs_schema, pairs_next, pairs_error, pairs_release, pairs };
}

enum lmn_status column_schema(struct ArrowSchema *schema, const char *name, enum ArrowType type,
                              struct lmn_error *err)
{
    ArrowSchemaInit(schema);
    if (ArrowSchemaSetTypeStruct(schema, 1) == 0 &&
        ArrowSchemaSetType(schema->children[0], type) == 0 &&
        ArrowSchemaSetName(schema->children[0], name) == 0)
        return LMN_OK;
    schema->release(schema);
    return lmn_fail(err, LMN_E_NO_MEMORY, "no memory for a schema");
}

enum lmn_status column_add_nulls(struct lmn_table *table, const char *name, struct lmn_error *err)
{
    struct ArrowSchema schema;
    enum lmn_status st = column_schema(&schema, name, NANOARROW_TYPE_INT32, err);

    if (st != LMN_OK)
        return st;
    st = lmn_table_add_null_columns(table, &schema, err);
    schema.release(&schema);
    return st;
}

enum lmn_status column_widen(struct lmn_table *table, const char *name, enum ArrowType type,
                             struct lmn_error *err)
{
    struct ArrowSchema schema;
    enum lmn_status st = column_schema(&schema, name, type, err);

    if (st != LMN_OK)
        return st;
    st = lmn_table_widen_column(table, name, schema.children[0], err);
    schema.release(&schema);
    return st;
}
