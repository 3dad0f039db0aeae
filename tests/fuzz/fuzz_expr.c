/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: the text of an expression. What parses and binds is evaluated over a few rows of many
 * types, and asked what statistics say.
 */
#include <nanoarrow/nanoarrow.h>

#include "expr/expr.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { ROWS = 5 };

static void must(int code)
{
    if (code != NANOARROW_OK)
        abort();
}

static void add_columns(struct ArrowSchema *schema)
{
    static const enum ArrowType types[] = {
        NANOARROW_TYPE_INT64,  NANOARROW_TYPE_INT8,   NANOARROW_TYPE_UINT64, NANOARROW_TYPE_FLOAT,
        NANOARROW_TYPE_DOUBLE, NANOARROW_TYPE_BOOL,   NANOARROW_TYPE_STRING, NANOARROW_TYPE_BINARY,
        NANOARROW_TYPE_DATE32, NANOARROW_TYPE_DATE64,
    };
    char name[2] = "a";

    ArrowSchemaInit(schema);
    must(ArrowSchemaSetTypeStruct(schema, 15));
    for (int i = 0; i < 10; i++)
        must(ArrowSchemaSetType(schema->children[i], types[i]));
    must(ArrowSchemaSetTypeDateTime(schema->children[10], NANOARROW_TYPE_TIMESTAMP,
                                    NANOARROW_TIME_UNIT_NANO, "UTC"));
    must(ArrowSchemaSetTypeDecimal(schema->children[11], NANOARROW_TYPE_DECIMAL256, 40, 3));
    must(ArrowSchemaSetType(schema->children[12], NANOARROW_TYPE_LIST));
    must(ArrowSchemaSetType(schema->children[12]->children[0], NANOARROW_TYPE_STRING));
    must(ArrowSchemaSetTypeStruct(schema->children[13], 1));
    must(ArrowSchemaSetType(schema->children[13]->children[0], NANOARROW_TYPE_INT32));
    must(ArrowSchemaSetName(schema->children[13]->children[0], "x"));
    must(ArrowSchemaSetTypeDateTime(schema->children[14], NANOARROW_TYPE_TIMESTAMP,
                                    NANOARROW_TIME_UNIT_SECOND, "Europe/Paris"));
    for (int i = 0; i < 15; i++, name[0]++)
        must(ArrowSchemaSetName(schema->children[i], name));
}

static void add_row(struct ArrowArray *batch, int row)
{
    static const int64_t numbers[ROWS] = { 0, 1, -1, 127, 5 };
    static const char *const texts[ROWS] = { "", "abc", "\xc3\x84 x", "2024-02-29T12:00:00Z",
                                             "12" };
    static const int64_t moments[ROWS] = { INT64_MIN, INT64_MAX, 1711846800, 1ll << 40, 0 };
    struct ArrowDecimal decimal;

    for (int i = 0; i < 11; i++) {
        if (row == 4 && i % 2 == 0)
            must(ArrowArrayAppendNull(batch->children[i], 1));
        else if (i == 6 || i == 7)
            must(ArrowArrayAppendString(batch->children[i], ArrowCharView(texts[row])));
        else if (i == 2)
            must(ArrowArrayAppendUInt(batch->children[i], (uint64_t)numbers[row]));
        else
            must(ArrowArrayAppendInt(batch->children[i], i == 5 ? numbers[row] & 1 : numbers[row]));
    }
    ArrowDecimalInit(&decimal, 256, 40, 3);
    ArrowDecimalSetInt(&decimal, numbers[row]);
    must(ArrowArrayAppendDecimal(batch->children[11], &decimal));
    must(ArrowArrayAppendString(batch->children[12]->children[0], ArrowCharView(texts[row])));
    must(ArrowArrayFinishElement(batch->children[12]));
    must(ArrowArrayAppendInt(batch->children[13]->children[0], numbers[row]));
    must(ArrowArrayFinishElement(batch->children[13]));
    must(ArrowArrayAppendInt(batch->children[14], moments[row]));
    must(ArrowArrayFinishElement(batch));
}

static bool stats_of(void *context, const char *path, struct lmn__column_stats *out)
{
    static const int64_t low = 0, high = 1;

    (void)context;
    out->has_min = out->has_max = true;
    out->min = &low;
    out->max = &high;
    out->min_bytes = out->max_bytes = path[0] == 'b' ? 1 : path[0] == 'i' ? 4 : 8;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static struct ArrowSchema schema;
    static struct ArrowArray batch;
    struct ArrowArray values;
    struct lmn__expr *expr;
    const char *const *path;
    uint32_t count;
    char *text;

    if (schema.release == NULL) {
        add_columns(&schema);
        must(ArrowArrayInitFromSchema(&batch, &schema, NULL));
        must(ArrowArrayStartAppending(&batch));
        for (int row = 0; row < ROWS; row++)
            add_row(&batch, row);
        must(ArrowArrayFinishBuildingDefault(&batch, NULL));
    }
    text = malloc(len + 1);
    if (len != 0)
        memcpy(text, data, len);
    text[len] = '\0';
    if (lmn__expr_parse(fuzz_env(), text, &expr, NULL) == LMN_OK) {
        (void)!lmn__expr_paths(expr, &path, &count, NULL);
        if (lmn__expr_bind(expr, &schema, NULL, NULL, NULL) == LMN_OK) {
            if (lmn__expr_eval(expr, &batch, &values, NULL) == LMN_OK) {
                if (values.length != ROWS)
                    abort();
                values.release(&values);
            }
            (void)lmn__expr_prune(expr, ROWS, stats_of, NULL);
        }
        lmn__expr_free(expr);
    }
    free(text);
    return 0;
}
