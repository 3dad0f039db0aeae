/* SPDX-License-Identifier: Apache-2.0 */
#include "expressions.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { ROWS = 4, N = 99 /* stands for null in tables of numbers */ };

/* The columns, row by row. */
static const int64_t i64_rows[ROWS] = { 1, 2, N, -4 };
static const int64_t i32_rows[ROWS] = { 10, N, 30, -40 };
static const int64_t i8_rows[ROWS] = { 127, -128, 0, N };
static const int64_t u8_rows[ROWS] = { 0, 255, 7, N };
static const char *const s_rows[ROWS] = { "abc", NULL, "", "\xc3\x84pfel 100%" };
static const double f64_rows[ROWS] = { 0.5, -0.0, N, 2.5 };
static const int64_t flag_rows[ROWS] = { 1, 0, N, 1 };
static const int64_t d_rows[ROWS] = { 0, 19723, N, -1 };             /* days */
static const int64_t ts_rows[ROWS] = { 0, 1704067200123456, N, -1 }; /* microseconds */
static const int64_t dec_rows[ROWS] = { 150, -25, N, 100000 };       /* decimal(10, 2) */

static void ok(int code)
{
    CHECK_EQ(code, NANOARROW_OK);
}

static void add_field(struct ArrowSchema *schema, int64_t i, const char *name, enum ArrowType type)
{
    ok(ArrowSchemaSetType(schema->children[i], type));
    ok(ArrowSchemaSetName(schema->children[i], name));
}

static void make_schema(struct ArrowSchema *schema)
{
    static const struct {
        const char *name;
        enum ArrowType type;
    } plain[] = { { "i64", NANOARROW_TYPE_INT64 },  { "i32", NANOARROW_TYPE_INT32 },
                  { "i8", NANOARROW_TYPE_INT8 },    { "u8", NANOARROW_TYPE_UINT8 },
                  { "u64", NANOARROW_TYPE_UINT64 }, { "f64", NANOARROW_TYPE_DOUBLE },
                  { "f32", NANOARROW_TYPE_FLOAT },  { "flag", NANOARROW_TYPE_BOOL },
                  { "s", NANOARROW_TYPE_STRING },   { "bin", NANOARROW_TYPE_LARGE_BINARY },
                  { "d", NANOARROW_TYPE_DATE32 } };
    struct ArrowSchema *info;

    ArrowSchemaInit(schema);
    ok(ArrowSchemaSetTypeStruct(schema, 16));
    for (int i = 0; i < 11; i++)
        add_field(schema, i, plain[i].name, plain[i].type);
    ok(ArrowSchemaSetTypeDateTime(schema->children[11], NANOARROW_TYPE_TIMESTAMP,
                                  NANOARROW_TIME_UNIT_MICRO, NULL));
    ok(ArrowSchemaSetName(schema->children[11], "ts"));
    ok(ArrowSchemaSetTypeDateTime(schema->children[12], NANOARROW_TYPE_TIMESTAMP,
                                  NANOARROW_TIME_UNIT_MILLI, "+02:00"));
    ok(ArrowSchemaSetName(schema->children[12], "tz"));
    ok(ArrowSchemaSetTypeDecimal(schema->children[13], NANOARROW_TYPE_DECIMAL128, 10, 2));
    ok(ArrowSchemaSetName(schema->children[13], "dec"));
    add_field(schema, 14, "items", NANOARROW_TYPE_LIST);
    ok(ArrowSchemaSetType(schema->children[14]->children[0], NANOARROW_TYPE_INT32));
    info = schema->children[15];
    ok(ArrowSchemaSetTypeStruct(info, 2));
    ok(ArrowSchemaSetName(info, "info"));
    add_field(info, 0, "width", NANOARROW_TYPE_INT16);
    add_field(info, 1, "Name", NANOARROW_TYPE_STRING);
}

static void append_number(struct ArrowArray *array, int64_t value)
{
    ok(value == N ? ArrowArrayAppendNull(array, 1) : ArrowArrayAppendInt(array, value));
}

static void append_text(struct ArrowArray *array, const char *text)
{
    ok(text == NULL ? ArrowArrayAppendNull(array, 1)
                    : ArrowArrayAppendString(array, ArrowCharView(text)));
}

static void append_decimal(struct ArrowArray *array, int64_t value)
{
    struct ArrowDecimal decimal;

    ArrowDecimalInit(&decimal, 128, 10, 2);
    ArrowDecimalSetInt(&decimal, value);
    ok(value == N ? ArrowArrayAppendNull(array, 1) : ArrowArrayAppendDecimal(array, &decimal));
}

/* items: [1, 2, null], [], null, [7]; info: {5, "a"}, null, {null, "b"}, {-3, null} */
static void append_nested(struct ArrowArray *items, struct ArrowArray *info, int row)
{
    static const int64_t item_rows[ROWS][4] = { { 1, 2, N, -1 }, { -1 }, { -1 }, { 7, -1 } };
    static const int64_t width_rows[ROWS] = { 5, N, N, -3 };
    static const char *const name_rows[ROWS] = { "a", NULL, "b", NULL };

    for (int k = 0; item_rows[row][k] != -1; k++)
        append_number(items->children[0], item_rows[row][k]);
    ok(row == 2 ? ArrowArrayAppendNull(items, 1) : ArrowArrayFinishElement(items));
    if (row == 1) {
        ok(ArrowArrayAppendNull(info, 1));
        return;
    }
    append_number(info->children[0], width_rows[row]);
    append_text(info->children[1], name_rows[row]);
    ok(ArrowArrayFinishElement(info));
}

static void append_row(struct ArrowArray *batch, int row)
{
    struct ArrowArray **column = batch->children;
    static const uint64_t u64_rows[ROWS] = { 0, UINT64_MAX, 3, 1ull << 63 };

    append_number(column[0], i64_rows[row]);
    append_number(column[1], i32_rows[row]);
    append_number(column[2], i8_rows[row]);
    append_number(column[3], u8_rows[row]);
    ok(ArrowArrayAppendUInt(column[4], u64_rows[row]));
    for (int i = 5; i < 7; i++)
        ok(f64_rows[row] == (double)N ? ArrowArrayAppendNull(column[i], 1)
                                      : ArrowArrayAppendDouble(column[i], f64_rows[row]));
    append_number(column[7], flag_rows[row]);
    append_text(column[8], s_rows[row]);
    ok(row == 1 ? ArrowArrayAppendNull(column[9], 1)
                : ArrowArrayAppendBytes(
                      column[9], (struct ArrowBufferView){ .data = { .data = "\x00\xff" },
                                                           .size_bytes = row == 2 ? 0 : 2 }));
    append_number(column[10], d_rows[row]);
    append_number(column[11], ts_rows[row]);
    append_number(column[12], d_rows[row] == N ? N : d_rows[row] * 1000);
    append_decimal(column[13], dec_rows[row]);
    append_nested(column[14], column[15], row);
    ok(ArrowArrayFinishElement(batch));
}

void expr_batch(struct ArrowSchema *schema_out, struct ArrowArray *batch_out)
{
    make_schema(schema_out);
    ok(ArrowArrayInitFromSchema(batch_out, schema_out, NULL));
    ok(ArrowArrayStartAppending(batch_out));
    for (int row = 0; row < ROWS; row++)
        append_row(batch_out, row);
    ok(ArrowArrayFinishBuildingDefault(batch_out, NULL));
}

/* Written results. */
static char text_buffer[4000];
static size_t text_used;

static void put(const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    text_used += (size_t)vsnprintf(text_buffer + text_used, sizeof text_buffer - text_used, fmt,
                                   args);
    va_end(args);
    CHECK(text_used < sizeof text_buffer);
}

static void put_value(const struct ArrowArrayView *view, int64_t i);

static void put_list(const struct ArrowArrayView *view, int64_t i)
{
    int64_t size = view->layout.child_size_elements, from = i * size, to = from + size;

    if (view->storage_type != NANOARROW_TYPE_FIXED_SIZE_LIST) {
        from = ArrowArrayViewListChildOffset(view, i);
        to = ArrowArrayViewListChildOffset(view, i + 1);
    }
    put("[");
    for (int64_t k = from; k < to; k++) {
        put(k > from ? " " : "");
        put_value(view->children[0], k);
    }
    put("]");
}

static void put_value(const struct ArrowArrayView *view, int64_t i)
{
    struct ArrowBufferView bytes;
    struct ArrowDecimal decimal;

    if (ArrowArrayViewIsNull(view, i)) {
        put("null");
        return;
    }
    switch (view->storage_type) {
    case NANOARROW_TYPE_DOUBLE:
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_HALF_FLOAT:
        put("%g", ArrowArrayViewGetDoubleUnsafe(view, i));
        break;
    case NANOARROW_TYPE_UINT64:
        put("%llu", (unsigned long long)ArrowArrayViewGetUIntUnsafe(view, i));
        break;
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        bytes = ArrowArrayViewGetBytesUnsafe(view, i);
        put("'%.*s'", (int)bytes.size_bytes, bytes.data.as_char);
        break;
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        ArrowDecimalInit(&decimal, view->storage_type == NANOARROW_TYPE_DECIMAL128 ? 128 : 256, 38,
                         0);
        ArrowArrayViewGetDecimalUnsafe(view, i, &decimal);
        put("%lld", (long long)decimal.words[decimal.low_word_index]);
        break;
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        put_list(view, i);
        break;
    case NANOARROW_TYPE_STRUCT:
        put("{");
        for (int64_t k = 0; k < view->n_children; k++) {
            put(k > 0 ? " " : "");
            put_value(view->children[k], i);
        }
        put("}");
        break;
    default:
        put("%lld", (long long)ArrowArrayViewGetIntUnsafe(view, i));
    }
}

static void put_array(const struct ArrowSchema *type, const struct ArrowArray *array)
{
    struct ArrowArrayView view;
    struct ArrowError error;

    ok(ArrowArrayViewInitFromSchema(&view, type, &error));
    ok(ArrowArrayViewSetArray(&view, array, &error));
    ok(ArrowArrayViewValidate(&view, NANOARROW_VALIDATION_LEVEL_FULL, &error));
    for (int64_t i = 0; i < array->length; i++) {
        put(i > 0 ? " " : "");
        put_value(&view, i);
    }
    ArrowArrayViewReset(&view);
}

static enum lmn_status evaluate(const char *text, int64_t first, int64_t count,
                                const struct ArrowSchema *target, struct ArrowSchema *type,
                                struct ArrowArray *array, struct lmn_error *err)
{
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn__expr *expr;
    enum lmn_status st;

    expr_batch(&schema, &batch);
    batch.offset = first;
    batch.length = count < 0 ? ROWS : count;
    st = lmn__expr_parse(test_env(), text, &expr, err);
    if (st == LMN_OK)
        st = lmn__expr_bind(expr, &schema, NULL, target, err);
    if (st == LMN_OK)
        st = lmn__expr_type(expr, type, err);
    if (st == LMN_OK) {
        st = lmn__expr_eval(expr, &batch, array, err);
        if (st != LMN_OK)
            type->release(type);
    }
    lmn__expr_free(expr);
    schema.release(&schema);
    batch.release(&batch);
    return st;
}

static const char *values_of(const char *text, int64_t first, int64_t count,
                             const struct ArrowSchema *target)
{
    struct ArrowSchema type;
    struct ArrowArray array;
    struct lmn_error err;

    text_used = 0;
    text_buffer[0] = '\0';
    if (evaluate(text, first, count, target, &type, &array, &err) != LMN_OK) {
        put("error: %s", err.message);
        return text_buffer;
    }
    put_array(&type, &array);
    type.release(&type);
    array.release(&array);
    return text_buffer;
}

const char *expr_values_of(const char *text, int64_t first, int64_t count)
{
    return values_of(text, first, count, NULL);
}

const char *expr_values_as(const char *text, const struct ArrowSchema *target)
{
    return values_of(text, 0, -1, target);
}

const char *expr_values(const char *text)
{
    return values_of(text, 0, -1, NULL);
}

const char *expr_type(const char *text)
{
    struct ArrowSchema type;
    struct ArrowArray array;
    struct lmn_error err;

    text_used = 0;
    if (evaluate(text, 0, -1, NULL, &type, &array, &err) != LMN_OK) {
        put("error: %s", err.message);
        return text_buffer;
    }
    put("%s", type.format);
    type.release(&type);
    array.release(&array);
    return text_buffer;
}

void check_expressions(const char *const *pairs)
{
    for (int i = 0; pairs[i] != NULL; i += 2) {
        const char *values = expr_values(pairs[i]);

        if (strcmp(values, pairs[i + 1]) != 0)
            check_fail(__FILE__, __LINE__, "%s\n    gives    %s\n    expected %s", pairs[i], values,
                       pairs[i + 1]);
    }
}

void check_expression_faults(const char *text)
{
    struct ArrowSchema schema;
    struct ArrowArray batch;

    expr_batch(&schema, &batch);
    (void)test_env();
    for (uint64_t nth = 1;; nth++) {
        struct lmn__expr *expr;
        struct ArrowArray values = { 0 };
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__expr_parse(test_env(), text, &expr, &err);
        if (st == LMN_OK)
            st = lmn__expr_bind(expr, &schema, NULL, NULL, &err);
        if (st == LMN_OK)
            st = lmn__expr_eval(expr, &batch, &values, &err);
        fired = fault_fired();
        fault_disarm();
        if (values.release != NULL)
            values.release(&values);
        lmn__expr_free(expr);
        if (!fired) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        /* A block may be had smaller than was asked for first. */
        if (st != LMN_OK) {
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
            CHECK(err.message[0] != '\0');
        }
    }
    schema.release(&schema);
    batch.release(&batch);
    CHECK_EQ(live_allocations(), 0);
}
