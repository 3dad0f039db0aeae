/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists that are written out, lists of one type as lists of another, and nested values wherever an
 * expression can have a value.
 */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "expr/function.h"
#include "expressions.h"

static void ok(int code)
{
    CHECK_EQ(code, NANOARROW_OK);
}

/* Lists of `list` type (of `size` items each where that is not 0) of `item`. */
static void make_list_type(struct ArrowSchema *schema, enum ArrowType list, int32_t size,
                           enum ArrowType item)
{
    ArrowSchemaInit(schema);
    ok(size != 0 ? ArrowSchemaSetTypeFixedSize(schema, list, size)
                 : ArrowSchemaSetType(schema, list));
    ok(ArrowSchemaSetType(schema->children[0], item));
    ok(ArrowSchemaSetName(schema, ""));
}

/* The values of `text` as such lists. */
static const char *as_lists(const char *text, enum ArrowType list, int32_t size,
                            enum ArrowType item)
{
    struct ArrowSchema schema;
    const char *values;

    make_list_type(&schema, list, size, item);
    values = expr_values_as(text, &schema);
    schema.release(&schema);
    return values;
}

static void test_lists__written_out_are_values(void **state)
{
    static const char *const pairs[] = {
        "[9, 9]",
        "[9 9] [9 9] [9 9] [9 9]",
        "make_array(1, 2)",
        "[1 2] [1 2] [1 2] [1 2]",
        "array[1, null, 2.5]",
        "[1 null 2.5] [1 null 2.5] [1 null 2.5] [1 null 2.5]",
        "[]",
        "[] [] [] []",
        "[null]",
        "[null] [null] [null] [null]",
        "['a', 'b']",
        "['a' 'b'] ['a' 'b'] ['a' 'b'] ['a' 'b']",
        "[true, false, null]",
        "[1 0 null] [1 0 null] [1 0 null] [1 0 null]",
        "[[1, 2], [3]]",
        "[[1 2] [3]] [[1 2] [3]] [[1 2] [3]] [[1 2] [3]]",
        "[i64, i32]",
        "[1 10] [2 null] [null 30] [-4 -40]",
        "[s, 'x']",
        "['abc' 'x'] [null 'x'] ['' 'x'] ['\xc3\x84pfel 100%' 'x']",
        "[flag]",
        "[1] [0] [null] [1]",
        "[items, items]",
        "[[1 2 null] [1 2 null]] [[] []] [null null] [[7] [7]]",
        "[info]",
        "[{5 'a'}] [null] [{null 'b'}] [{-3 null}]",
        "[1, 2, 3][2]",
        "2 2 2 2",
        "[i64, 7][-1]",
        "7 7 7 7",
        "[i64, 7][i64]",
        "1 7 null null",
        "[[1, 2], [3]][1][2]",
        "2 2 2 2",
        "[info][1].width",
        "5 null null -3",
        "array_length([1, 2])",
        "2 2 2 2",
        "array_length([])",
        "0 0 0 0",
        "array_has([1, 2], i64)",
        "1 1 null 0",
        "array_has_any([1, 2], [2, 3])",
        "1 1 1 1",
        "array_has_any(items, [])",
        "0 0 null 0",
        "[1] is null",
        "0 0 0 0",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_STR(expr_type("[1, 2]"), "+l");
    CHECK_HAS(expr_values("[1, s]"), "cannot make a list of string and int64");
}

static void test_lists__compared(void **state)
{
    static const char *const pairs[] = {
        "items = items",
        "1 1 null 1",
        "items <> [7]",
        "1 1 null 0",
        "items < [1, 2]", /* a null is greater than every value, a longer list than its start */
        "0 1 null 0",
        "items <= [1, 2, null]",
        "1 1 null 0",
        "items > []",
        "1 0 null 1",
        "items >= [7.5]", /* the items are compared as doubles */
        "0 0 null 0",
        "[i32, 2] = [10, 2]",
        "1 0 0 0",
        "[i64] = [1]",
        "1 0 0 0",
        "items is distinct from [7]",
        "1 1 1 0",
        "items is not distinct from null",
        "0 0 1 0",
        "items between [] and [2]",
        "1 1 null 0",
        "info = info",
        "1 null 1 1",
        "info is distinct from info",
        "0 0 0 0",
        "[info] = [info]",
        "1 1 1 1",
        "[['a'], ['b', null]] < [['a'], ['c']]",
        "1 1 1 1",
        "items = null",
        "null null null null",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_lists__written_out_take_the_target(void **state)
{
    (void)state;
    CHECK_STR(as_lists("[9, 9.5]", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_FLOAT),
              "[9 9.5] [9 9.5] [9 9.5] [9 9.5]");
    CHECK_STR(as_lists("[9, null]", NANOARROW_TYPE_LARGE_LIST, 0, NANOARROW_TYPE_INT8),
              "[9 null] [9 null] [9 null] [9 null]");
    CHECK_STR(as_lists("[0.5, i64]", NANOARROW_TYPE_FIXED_SIZE_LIST, 2, NANOARROW_TYPE_HALF_FLOAT),
              "[0.5 1] [0.5 2] [0.5 null] [0.5 -4]");
    CHECK_STR(as_lists("[]", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_STRING), "[] [] [] []");
    CHECK_STR(as_lists("null", NANOARROW_TYPE_FIXED_SIZE_LIST, 2, NANOARROW_TYPE_FLOAT),
              "null null null null");
    CHECK_STR(as_lists("[X'6162', s]", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_BINARY),
              "['ab' 'abc'] ['ab' null] ['ab' ''] ['ab' '\xc3\x84pfel 100%']");
    CHECK_HAS(as_lists("[1, 2]", NANOARROW_TYPE_FIXED_SIZE_LIST, 3, NANOARROW_TYPE_FLOAT),
              "a list of 2 items is no value of lists of 3 items");
    CHECK_HAS(as_lists("[1, 300]", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_INT8),
              "300 is no value of type int8");
    CHECK_HAS(as_lists("[1, flag]", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_DATE32),
              "there is no conversion from boolean to date32");
    CHECK_HAS(as_lists("7", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_INT8), "no conversion from int");
}

static void test_lists__columns_as_other_lists(void **state)
{
    (void)state;
    CHECK_STR(as_lists("items", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_DOUBLE),
              "[1 2 null] [] null [7]");
    CHECK_STR(as_lists("items", NANOARROW_TYPE_LARGE_LIST, 0, NANOARROW_TYPE_INT32),
              "[1 2 null] [] null [7]");
    CHECK_STR(as_lists("items", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_STRING),
              "['1' '2' null] [] null ['7']");
    CHECK_STR(as_lists("[items, null][1]", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_FLOAT),
              "[1 2 null] [] null [7]");
    CHECK_HAS(as_lists("items", NANOARROW_TYPE_FIXED_SIZE_LIST, 3, NANOARROW_TYPE_FLOAT),
              "a list of 0 items is no value of lists of 3 items");
    CHECK_HAS(as_lists("[i64 * 100]", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_INT8),
              "200 is no value of type int8 where i64 is 2");
    CHECK_HAS(as_lists("info", NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_INT8),
              "no conversion from struct to list");
}

/* A batch with one column of `rows` lists {i, i + 1, i + 2}, more items than a run has rows. */
static void make_lists(int64_t rows, struct ArrowSchema *schema, struct ArrowArray *batch)
{
    ArrowSchemaInit(schema);
    ok(ArrowSchemaSetTypeStruct(schema, 1));
    ok(ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_LIST));
    ok(ArrowSchemaSetName(schema->children[0], "v"));
    ok(ArrowSchemaSetType(schema->children[0]->children[0], NANOARROW_TYPE_INT32));
    ok(ArrowArrayInitFromSchema(batch, schema, NULL));
    ok(ArrowArrayStartAppending(batch));
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < 3; k++)
            ok(ArrowArrayAppendInt(batch->children[0]->children[0], i + k));
        ok(ArrowArrayFinishElement(batch->children[0]));
        ok(ArrowArrayFinishElement(batch));
    }
    ok(ArrowArrayFinishBuildingDefault(batch, NULL));
}

static void test_lists__conversion_of_many_items(void **state)
{
    enum { ROWS = 5000 };
    struct ArrowSchema schema, target;
    struct ArrowArray batch, result;
    struct lmn__expr *expr;
    struct lmn_error err;
    const float *values;

    (void)state;
    make_lists(ROWS, &schema, &batch);
    make_list_type(&target, NANOARROW_TYPE_FIXED_SIZE_LIST, 3, NANOARROW_TYPE_FLOAT);
    CHECK_STATUS(lmn__expr_parse(test_env(), "v", &expr, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__expr_bind(expr, &schema, NULL, &target, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__expr_eval(expr, &batch, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.length, ROWS);
    CHECK_EQ(result.children[0]->length, ROWS * 3);
    values = result.children[0]->buffers[1];
    for (int64_t i = 0; i < (int64_t)ROWS * 3; i++)
        CHECK(values[i] == (float)(i / 3 + i % 3));
    result.release(&result);
    target.release(&target);
    make_list_type(&target, NANOARROW_TYPE_LIST, 0, NANOARROW_TYPE_INT8);
    CHECK_STATUS(lmn__expr_bind(expr, &schema, NULL, &target, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__expr_eval(expr, &batch, &result, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message,
              "128 is no value of type int8 where v is [126, 127, 128], at character 1");
    lmn__expr_free(expr);
    target.release(&target);
    schema.release(&schema);
    batch.release(&batch);
}

/* A constant is one value for all rows of a run, however many. */
static void test_lists__written_out_in_many_rows(void **state)
{
    enum { ROWS = 5000 };
    static const char *const texts[] = { "[1, 2]", "[v[1] - v[1] + 1, 2]", "[[1, 2], [3]][1]" };
    struct ArrowSchema schema;
    struct ArrowArray batch, result;
    struct lmn__expr *expr;
    struct lmn_error err;

    (void)state;
    make_lists(ROWS, &schema, &batch);
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        CHECK_STATUS(lmn__expr_parse(test_env(), texts[k], &expr, &err), LMN_OK, &err);
        CHECK_STATUS(lmn__expr_bind(expr, &schema, NULL, NULL, &err), LMN_OK, &err);
        CHECK_STATUS(lmn__expr_eval(expr, &batch, &result, &err), LMN_OK, &err);
        CHECK_EQ(result.length, ROWS);
        CHECK_EQ(result.null_count, 0);
        CHECK_EQ(result.children[0]->length, ROWS * 2);
        for (int64_t i = 0; i < (int64_t)ROWS * 2; i++)
            CHECK_EQ(((const int64_t *)result.children[0]->buffers[1])[i], i % 2 + 1);
        result.release(&result);
        lmn__expr_free(expr);
    }
    schema.release(&schema);
    batch.release(&batch);
}

/* Values that are nested, or meet nested ones. */
static const char *const nested[] = { "items",  "info",      "[1, 2]", "[]",      "[items]",
                                      "[info]", "[null, s]", "[[1]]",  "s",       "i64",
                                      "flag",   "null",      "bin",    "items[1]" };
enum { NESTED_COUNT = sizeof nested / sizeof nested[0] };

/* Whatever comes out is a value or an error with a message. */
static void try_expression(const char *text)
{
    const char *values = expr_values(text);

    if (values[0] == '\0' || strcmp(values, "error: ") == 0)
        check_fail(__FILE__, __LINE__, "%s gives nothing", text);
}

static void test_lists__in_every_operator(void **state)
{
    static const char *const operators[] = {
        "%s = %s",
        "%s <> %s",
        "%s < %s",
        "%s + %s",
        "%s - %s",
        "%s * %s",
        "%s / %s",
        "%s %% %s",
        "%s || %s",
        "%s and %s",
        "%s or %s",
        "%s is distinct from %s",
        "%s in (%s)",
        "%s in (1, %s)",
        "%s not in (%s)",
        "%s like %s",
        "%s[%s]",
        "%s between %s and 3",
        "[%s, %s]",
        "[%s][%s]",
        "case when flag then %s else %s end",
        "case %s when %s then 1 end",
        "case when %s then %s end",
        "array_has([%s], %s)",
        "array_length([%s, %s])",
    };
    static const char *const unary[] = {
        "not %s",
        "-%s",
        "+%s",
        "%s is null",
        "%s is not null",
        "%s is true",
        "%s is false",
        "%s.width",
        "%s['width']",
        "cast(%s as double)",
        "cast(%s as string)",
        "try_cast(%s as int)",
        "cast(%s as binary)",
        "(%s)",
        "[%s]",
        "date %s",
    };
    char text[200];

    (void)state;
    for (size_t k = 0; k < sizeof operators / sizeof operators[0]; k++) {
        for (int i = 0; i < NESTED_COUNT * NESTED_COUNT; i++) {
            snprintf(text, sizeof text, operators[k], nested[i / NESTED_COUNT],
                     nested[i % NESTED_COUNT]);
            try_expression(text);
        }
    }
    for (size_t k = 0; k < sizeof unary / sizeof unary[0]; k++) {
        for (int i = 0; i < NESTED_COUNT; i++) {
            snprintf(text, sizeof text, unary[k], nested[i]);
            try_expression(text);
        }
    }
}

static void test_lists__in_every_function(void **state)
{
    const struct lmn__function *const tables[] = { lmn__text_functions, lmn__number_functions,
                                                   lmn__time_functions, lmn__list_functions };
    char text[200];

    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        for (const struct lmn__function *function = tables[t]; function->name != NULL; function++) {
            for (int i = 0; i < NESTED_COUNT; i++) {
                const char *a = nested[i];

                snprintf(text, sizeof text, "%s(%s)", function->name, a);
                try_expression(text);
                snprintf(text, sizeof text, "%s(%s, %s, %s)", function->name, a, a, a);
                try_expression(text);
                for (int k = 0; k < NESTED_COUNT && function->count_max > 1; k++) {
                    snprintf(text, sizeof text, "%s(%s, %s)", function->name, a, nested[k]);
                    try_expression(text);
                }
            }
        }
    }
}

static void test_lists__as_every_target(void **state)
{
    static const enum ArrowType types[] = {
        NANOARROW_TYPE_NA,           NANOARROW_TYPE_BOOL,   NANOARROW_TYPE_INT32,
        NANOARROW_TYPE_DOUBLE,       NANOARROW_TYPE_STRING, NANOARROW_TYPE_DATE32,
        NANOARROW_TYPE_LARGE_BINARY,
    };
    struct ArrowSchema schema;

    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int i = 0; i < NESTED_COUNT; i++) {
            (void)as_lists(nested[i], NANOARROW_TYPE_LIST, 0, types[t]);
            (void)as_lists(nested[i], NANOARROW_TYPE_LARGE_LIST, 0, types[t]);
            (void)as_lists(nested[i], NANOARROW_TYPE_FIXED_SIZE_LIST, 2, types[t]);
            ArrowSchemaInit(&schema);
            ok(ArrowSchemaSetType(&schema, types[t]));
            ok(ArrowSchemaSetName(&schema, ""));
            CHECK(expr_values_as(nested[i], &schema)[0] != '\0');
            schema.release(&schema);
        }
    }
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_lists__written_out_are_values),
        cmocka_unit_test(test_lists__compared),
        cmocka_unit_test(test_lists__written_out_take_the_target),
        cmocka_unit_test(test_lists__columns_as_other_lists),
        cmocka_unit_test(test_lists__conversion_of_many_items),
        cmocka_unit_test(test_lists__written_out_in_many_rows),
        cmocka_unit_test(test_lists__in_every_operator),
        cmocka_unit_test(test_lists__in_every_function),
        cmocka_unit_test(test_lists__as_every_target),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
