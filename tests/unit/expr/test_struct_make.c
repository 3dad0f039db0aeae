/* SPDX-License-Identifier: Apache-2.0 */
/* Structs made of values, names of types, sums of lists, values by chance, names that are none. */
#include "check.h"
#include "expressions.h"

static void test_struct_make__values(void **state)
{
    static const char *const pairs[] = {
        "named_struct('a', i64, 'b', items)",
        "{1 [1 2 null]} {2 []} {null null} {-4 [7]}",
        "struct(flag, [s]).c1[1]",
        "'abc' null '' '\xc3\x84pfel 100%'",
        "named_struct('a', row(i64)).a.c0 + get_field(info, 'width')",
        "6 null null -7",
        "named_struct('a', i64) = named_struct('a', 2)",
        "0 1 0 0",
        "struct(1, 'x')",
        "{1 'x'} {1 'x'} {1 'x'} {1 'x'}",
        "array_repeat(struct(i64), 2)",
        "[{1} {1}] [{2} {2}] [{null} {null}] [{-4} {-4}]",
        "arrow_typeof(struct(i32, dec, tz, items, u8))",
        "'Struct(\"c0\": Int32, \"c1\": Decimal128(10, 2), \"c2\": Timestamp(ms, \"+02:00\"), "
        "\"c3\": List(Int32), \"c4\": UInt8)' "
        "'Struct(\"c0\": Int32, \"c1\": Decimal128(10, 2), \"c2\": Timestamp(ms, \"+02:00\"), "
        "\"c3\": List(Int32), \"c4\": UInt8)' "
        "'Struct(\"c0\": Int32, \"c1\": Decimal128(10, 2), \"c2\": Timestamp(ms, \"+02:00\"), "
        "\"c3\": List(Int32), \"c4\": UInt8)' "
        "'Struct(\"c0\": Int32, \"c1\": Decimal128(10, 2), \"c2\": Timestamp(ms, \"+02:00\"), "
        "\"c3\": List(Int32), \"c4\": UInt8)'",
        "cast_to_type(named_struct('Name', s, 'width', i64), info)",
        "{1 'abc'} {2 null} {null ''} {-4 '\xc3\x84pfel 100%'}",
        "cast_to_type(named_struct('in', struct(7)), named_struct('x', info, 'in', struct('')))",
        "{null {'7'}} {null {'7'}} {null {'7'}} {null {'7'}}",
        "cast_to_type('7', i64) + 1",
        "8 8 8 8",
        "try_cast_to_type(s, i64)",
        "null null null null",
        "array_sum(items) + array_avg([1, 2]) * array_product([2, 3, null])",
        "12 null null 16",
        "array_add([i64, 1], [1, null])",
        "[2 null] [3 null] [null null] [-3 null]",
        "array_scale(array_subtract([3], [1]), f64)",
        "[1] [-0] null [5]",
        "random() >= 0 and random() < 1 and length(uuid()) = 36 and uuid() <> uuid()",
        "1 1 1 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_STR(expr_values_of("named_struct('a', i64)", 2, 2), "{null} {-4}");
}

static void test_struct_make__errors(void **state)
{
    (void)state;
    CHECK_HAS(expr_values("named_struct('a', 1, 'b')"), "in turn, not 3 arguments");
    CHECK_HAS(expr_values("named_struct(s, 1)"), "each a constant string, and values in turn");
    CHECK_HAS(expr_values("named_struct('a', 1, 'a', 2)"), "a struct has no two fields \"a\"");
    CHECK_HAS(expr_values("cast_to_type(struct(1), info)"), "the struct has no field \"c0\"");
    CHECK_HAS(expr_values("cast_to_type(named_struct('width', items), info)"), "no conversion");
    CHECK_HAS(expr_values("cast_to_type(named_struct('width', 40000), info)"), "40000 is no value");
    CHECK_HAS(expr_values("get_field(info, s)"), "a field is named by a constant string");
    CHECK_HAS(expr_values("get_field(info, 'depth')"), "there is no field \"depth\"");
    CHECK_HAS(expr_values("get_field(i64, 'x')"), "a value of type int64 has no field \"x\"");
    CHECK_HAS(expr_values("array_add([1], [1, 2])"), "takes lists of one size, not of 1 and 2");
    CHECK_HAS(expr_values("array_scale(items, s)"), "expected a number, not a value of type");
    CHECK_HAS(expr_values("list_filter(items, 1)"),
              "there is no function list_filter(): functions of functions");
    CHECK_HAS(
        expr_values("array_transform(tags, x -> x + 1)"),
        "functions of functions (x -> ...) are not evaluated; a UDF does it, at character 25");
    CHECK_HAS(expr_values("map_keys(info)"), "there is no function map_keys(): maps are neither");
    CHECK_HAS(expr_values("arrow_typofe(1)"), "did you mean arrow_typeof");
}

static void test_struct_make__faults(void **state)
{
    (void)state;
    check_expression_faults(
        "named_struct('a', i64, 'b', [s]).a > 0 and struct(items) <> "
        "struct(items) and arrow_typeof(info) <> '' and random() < length(uuid()) "
        "or array_sum(array_scale(items, 2)) > 1 "
        "or cast_to_type(named_struct('width', 1), info) = info");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_struct_make__values),
        cmocka_unit_test(test_struct_make__errors),
        cmocka_unit_test(test_struct_make__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
