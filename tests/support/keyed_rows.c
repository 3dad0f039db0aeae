/* SPDX-License-Identifier: Apache-2.0 */
#include "keyed_rows.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

enum { COLUMNS = 3, ROWS_MAX = 256 };

static const char *const names[COLUMNS] = { "id", "value", "name" };

void keyed_schema(unsigned columns, struct ArrowSchema *schema_out)
{
    int64_t count = 0;

    ArrowSchemaInit(schema_out);
    for (int i = 0; i < COLUMNS; i++)
        count += (columns >> i) & 1;
    CHECK_EQ(ArrowSchemaSetTypeStruct(schema_out, count), 0);
    count = 0;
    for (int i = 0; i < COLUMNS; i++) {
        struct ArrowSchema *column;

        if (((columns >> i) & 1) == 0)
            continue;
        column = schema_out->children[count++];
        CHECK_EQ(ArrowSchemaSetType(column, i == 2 ? NANOARROW_TYPE_STRING : NANOARROW_TYPE_INT64),
                 0);
        CHECK_EQ(ArrowSchemaSetName(column, names[i]), 0);
    }
}

static int append_value(struct ArrowArray *array, const struct keyed_row *row, int column)
{
    int64_t number = column == 0 ? row->id : row->value;

    if (column == 2)
        return row->name != NULL ? ArrowArrayAppendString(array, ArrowCharView(row->name))
                                 : ArrowArrayAppendNull(array, 1);
    return number != KEYED_NULL ? ArrowArrayAppendInt(array, number)
                                : ArrowArrayAppendNull(array, 1);
}

void keyed_batch(unsigned columns, const struct keyed_row *row, uint64_t count,
                 struct ArrowArray *array_out)
{
    struct ArrowSchema schema;

    keyed_schema(columns, &schema);
    CHECK_EQ(ArrowArrayInitFromSchema(array_out, &schema, NULL), 0);
    CHECK_EQ(ArrowArrayStartAppending(array_out), 0);
    for (uint64_t k = 0; k < count; k++) {
        int child = 0;

        for (int i = 0; i < COLUMNS; i++) {
            if (((columns >> i) & 1) != 0)
                CHECK_EQ(append_value(array_out->children[child++], &row[k], i), 0);
        }
        CHECK_EQ(ArrowArrayFinishElement(array_out), 0);
    }
    CHECK_EQ(ArrowArrayFinishBuildingDefault(array_out, NULL), 0);
    schema.release(&schema);
}

void keyed_stream(unsigned columns, const struct keyed_row *row, uint64_t count,
                  uint64_t batch_rows, struct ArrowArrayStream *stream_out)
{
    struct ArrowSchema schema;
    int64_t batches = (int64_t)((count + batch_rows - 1) / batch_rows);

    keyed_schema(columns, &schema);
    CHECK_EQ(ArrowBasicArrayStreamInit(stream_out, &schema, batches), 0);
    for (int64_t i = 0; i < batches; i++) {
        uint64_t first = (uint64_t)i * batch_rows;
        struct ArrowArray batch;

        keyed_batch(columns, row + first, count - first < batch_rows ? count - first : batch_rows,
                    &batch);
        ArrowBasicArrayStreamSetArray(stream_out, i, &batch);
    }
}

struct lmn_table *keyed_table(struct lmn_store *store, const struct keyed_row *row, uint64_t count,
                              const struct lmn_write_options *options)
{
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct lmn_error err = { 0 };

    keyed_stream(KEYED_ALL, row, count, 64, &stream);
    CHECK_STATUS(lmn_table_create(store, &stream, options, &table, &err), LMN_OK, &err);
    return table;
}

const char *keyed_wide_name(unsigned i)
{
    static char name[KEYED_WIDE_NAMES][KEYED_WIDE_BYTES + 1];
    uint64_t dice = i + 1;

    for (size_t k = 0; name[i][KEYED_WIDE_BYTES - 1] == '\0' && k < KEYED_WIDE_BYTES; k++) {
        dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        name[i][k] = (char)(' ' + (dice >> 33) % 95);
    }
    return name[i];
}

static int64_t number_at(const struct ArrowArrayView *view, int64_t i)
{
    return ArrowArrayViewIsNull(view, i) ? KEYED_NULL : ArrowArrayViewGetIntUnsafe(view, i);
}

static bool same_row(const struct ArrowArrayView *view, int64_t i, const struct keyed_row *row)
{
    const struct ArrowArrayView *name = view->children[2];
    struct ArrowStringView text;

    if (number_at(view->children[0], i) != row->id || number_at(view->children[1], i) != row->value)
        return false;
    if (row->name == NULL || ArrowArrayViewIsNull(name, i))
        return row->name == NULL && ArrowArrayViewIsNull(name, i);
    text = ArrowArrayViewGetStringUnsafe(name, i);
    return (size_t)text.size_bytes == strlen(row->name) &&
           memcmp(text.data, row->name, strlen(row->name)) == 0;
}

/* Find each row of a batch among those that were not found before. */
static void check_batch(const struct ArrowArrayView *view, const struct keyed_row *row,
                        uint64_t count, bool *seen)
{
    for (int64_t i = 0; i < view->length; i++) {
        uint64_t k = 0;

        while (k < count && (seen[k] || !same_row(view, i, &row[k])))
            k++;
        if (k == count)
            check_fail(__FILE__, __LINE__, "a row with id %lld and value %lld is not expected",
                       (long long)number_at(view->children[0], i),
                       (long long)number_at(view->children[1], i));
        seen[k] = true;
    }
}

void keyed_check(struct lmn_table *table, const struct keyed_row *row, uint64_t count)
{
    const struct lmn_scan_options options = { .column = names, .column_count = COLUMNS };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArrayView view;
    struct ArrowArray batch;
    struct lmn_error err = { 0 };
    bool seen[ROWS_MAX] = { false };

    CHECK(count <= ROWS_MAX);
    CHECK_STATUS(lmn_table_scan(table, &options, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_EQ(ArrowArrayViewInitFromSchema(&view, &schema, NULL), 0);
    for (;;) {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        CHECK_EQ(ArrowArrayViewSetArray(&view, &batch, NULL), 0);
        check_batch(&view, row, count, seen);
        batch.release(&batch);
    }
    for (uint64_t k = 0; k < count; k++) {
        if (!seen[k])
            check_fail(__FILE__, __LINE__, "the row with id %lld and value %lld is missing",
                       (long long)row[k].id, (long long)row[k].value);
    }
    ArrowArrayViewReset(&view);
    schema.release(&schema);
    stream.release(&stream);
}
