/* SPDX-License-Identifier: Apache-2.0 */
#include "expressions.h"

#include <leman/expr.h>

#include "check.h"

static void test_eval__columns_come_back(void **state)
{
    static const char *const pairs[] = {
        "i64",
        "1 2 null -4",
        "i8",
        "127 -128 0 null",
        "u64",
        "0 18446744073709551615 3 9223372036854775808",
        "f64",
        "0.5 -0 null 2.5",
        "flag",
        "1 0 null 1",
        "s",
        "'abc' null '' '\xc3\x84pfel 100%'",
        "dec",
        "150 -25 null 100000",
        "info.width",
        "5 null null -3",
        "info['Name']",
        "'a' null 'b' null",
        "info.name",
        "'a' null 'b' null",
        "items",
        "[1 2 null] [] null [7]",
        "info",
        "{5 'a'} null {null 'b'} {-3 null}",
        "\"i64\"",
        "1 2 null -4",
        "`i64`",
        "1 2 null -4",
        "I64",
        "1 2 null -4",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_eval__comparisons_of_numbers(void **state)
{
    static const char *const pairs[] = {
        "i64 = 2",
        "0 1 null 0",
        "i64 == 2",
        "0 1 null 0",
        "i64 != 2",
        "1 0 null 1",
        "i64 <> 2",
        "1 0 null 1",
        "i64 < 2",
        "1 0 null 1",
        "i64 <= 2",
        "1 1 null 1",
        "i64 > 1",
        "0 1 null 0",
        "i64 >= 1",
        "1 1 null 0",
        "2 > i64",
        "1 0 null 1",
        "i64 < i32",
        "1 null null 0",
        "i32 = 5000000000",
        "0 null 0 0",
        "i32 < 5000000000",
        "1 null 1 1",
        "i8 = 127",
        "1 0 0 null",
        "i8 < 300",
        "1 1 1 null",
        "u8 > -1",
        "1 1 1 null",
        "u8 = i8",
        "0 0 0 null",
        "u64 > 3",
        "0 1 0 1",
        "u64 > -1",
        "1 1 1 1",
        "u64 > i64",
        "0 1 null 1",
        "u64 = 18446744073709551615",
        "0 1 0 0",
        "i64 < 1.5",
        "1 0 null 1",
        "i64 = 2.0",
        "0 1 null 0",
        "f64 = 0",
        "0 1 null 0",
        "f64 < 0",
        "0 0 null 0",
        "f32 = 0.5",
        "1 0 null 0",
        "f64 > 0.5",
        "0 0 null 1",
        "dec = 1.5",
        "1 0 null 0",
        "dec > 1.505",
        "0 0 null 1",
        "dec < i64",
        "0 1 null 0",
        "1 = 1",
        "1 1 1 1",
        "i64 = null",
        "null null null null",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_eval__nan_is_greatest_and_equal_to_itself(void **state)
{
    static const char *const pairs[] = {
        "cast('nan' as double) = cast('nan' as double)",
        "1 1 1 1",
        "f64 < cast('nan' as double)",
        "1 1 null 1",
        "f64 >= cast('nan' as double)",
        "0 0 null 0",
        "f64 / 0.0 > 1e308",
        "1 1 null 1",
        "f64 / 0 = cast('nan' as double)",
        "0 1 null 0",
        "cast('inf' as double) < f64 / 0",
        "0 1 null 0",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_eval__comparisons_of_other_types(void **state)
{
    static const char *const pairs[] = {
        "s = 'abc'",
        "1 null 0 0",
        "s < 'abd'",
        "1 null 1 0",
        "s >= ''",
        "1 null 1 1",
        "bin = X'00ff'",
        "1 null 0 1",
        "bin < X'00FF00'",
        "1 null 1 1",
        "flag = true",
        "1 0 null 1",
        "flag < true",
        "0 1 null 0",
        "flag != false",
        "1 0 null 1",
        "d = date '2024-01-01'",
        "0 1 null 0",
        "d < '1970-01-01'",
        "0 0 null 1",
        "ts > timestamp '2024-01-01 00:00:00'",
        "0 1 null 0",
        "ts = timestamp '2024-01-01 00:00:00.123456'",
        "0 1 null 0",
        "ts = '2024-01-01T00:00:00.123456'",
        "0 1 null 0",
        "ts < '1970-01-01'",
        "0 0 null 1",
        "ts >= d",
        "1 1 null 1",
        "tz = '1970-01-01T02:00:00'",
        "1 0 null 0",
        "tz = '1970-01-01T00:00:00Z'",
        "1 0 null 0",
        "tz = '1970-01-01T00:00:00+00:00'",
        "1 0 null 0",
        "ts = tz",
        "0 0 null 0",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_eval__logic_has_three_values(void **state)
{
    static const char *const pairs[] = {
        "flag and true",
        "1 0 null 1",
        "flag and false",
        "0 0 0 0",
        "flag and null",
        "null 0 null null",
        "flag or true",
        "1 1 1 1",
        "flag or null",
        "1 null null 1",
        "not flag",
        "0 1 null 0",
        "not not flag",
        "1 0 null 1",
        "flag is null",
        "0 0 1 0",
        "flag is not null",
        "1 1 0 1",
        "flag is true",
        "1 0 0 1",
        "flag is not true",
        "0 1 1 0",
        "flag is false",
        "0 1 0 0",
        "flag is not false",
        "1 0 1 1",
        "flag is unknown",
        "0 0 1 0",
        "items is null",
        "0 0 1 0",
        "info is not null",
        "1 0 1 1",
        "info.width is null",
        "0 1 1 0",
        "i64 is distinct from 2",
        "1 0 1 1",
        "i64 is not distinct from null",
        "0 0 1 0",
        "i64 = 1 and flag and s = 'abc'",
        "1 0 0 0",
        "i64 = 1 or i64 = 2 or i64 = -4",
        "1 1 null 1",
        "i64 between 1 and 2",
        "1 1 null 0",
        "i64 not between 1 and 2",
        "0 0 null 1",
        "i64 = 1 or i64 = 2 and flag",
        "1 0 null 0",
        "(i64 = 1 or i64 = 2) and flag",
        "1 0 null 0",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_eval__in_a_list(void **state)
{
    static const char *const pairs[] = {
        "i64 in (1, 7)",
        "1 0 null 0",
        "i64 not in (1, 7)",
        "0 1 null 1",
        "i64 in (1, null)",
        "1 null null null",
        "i64 not in (1, null)",
        "0 null null null",
        "s in ('abc', 'x')",
        "1 null 0 0",
        "i64 in (i32, 1)",
        "1 null null 0",
        "i32 in (10, 5000000000)",
        "1 null 0 0",
        "i64 in (0,1,3,5,6,7,8,9,10,11,12,13,14,15,16,-4)",
        "1 0 null 1",
        "i64 not in (0,1,3,5,6,7,8,9,10,11,12,13,14,15,16,null)",
        "0 null null null",
        "i8 in (1,2,3,5,6,7,8,9,10,11,12,13,14,15,-128)",
        "0 1 0 null",
        "u8 in (1,2,3,5,6,8,9,10,11,12,13,14,15,0,255)",
        "1 1 0 null",
        "i32 in (1,2,3,5,6,7,8,9,11,12,13,14,15,16,-40)",
        "0 null 0 1",
        "u64 in (1,2,4,5,6,7,8,9,10,11,12,13,14,15,18446744073709551615)",
        "0 1 0 0",
        "s in ('a','b','c','d','e','f','g','h','i','j','k','l','abc')",
        "1 null 0 0",
        "f64 in (0,1,3,5,6,7,8,9,10,11,12,13,14,15,2.5)",
        "0 1 null 1",
        "d in ('2024-01-01')",
        "0 1 null 0",
        "flag in (true)",
        "1 0 null 1",
        "2 in (1, i64)",
        "0 1 null 0",
        "2 not in (2, i64)",
        "0 0 0 0",
        "7.5 in (f64, 2.5, 7.5)",
        "1 1 1 1",
        "'x' in ('w', s)",
        "0 null 0 0",
        "date '2024-01-01' not in (date '2000-01-01', d)",
        "1 0 null 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

/* A constant that is no value of the column's type is not rounded to one. */
static void test_eval__constants_that_the_type_does_not_hold(void **state)
{
    static const char *const pairs[] = {
        "f32 / 0 = 1e300",
        "0 0 null 0",
        "f32 / 0 > 1e300",
        "1 1 null 1",
        "f32 < 1e300",
        "1 1 null 1",
        "f32 / 0 in (1e300)",
        "0 0 null 0",
        "arrow_cast(d, 'Date64') >= timestamp '2024-01-01 12:00:00'",
        "0 0 null 0",
        "arrow_cast(d, 'Date64') = '2024-01-01 12:00:00'",
        "0 0 null 0",
        "arrow_cast(d, 'Date64') >= '2024-01-01 00:00:00'",
        "0 1 null 0",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_eval__arithmetic(void **state)
{
    static const char *const pairs[] = {
        "i64 + 1",     "2 3 null -3",
        "i64 - i32",   "-9 null null 36",
        "i64 * -2",    "-2 -4 null 8",
        "i32 / 3",     "3 null 10 -13",
        "i32 % 3",     "1 null 0 -1",
        "i8 + 1",      "128 -127 1 null",
        "-i64",        "-1 -2 null 4",
        "- -i64",      "1 2 null -4",
        "f64 + 1",     "1.5 1 null 3.5",
        "f64 / 2",     "0.25 -0 null 1.25",
        "f64 % 1",     "0.5 -0 null 0.5",
        "u64 / 2",     "0 9223372036854775807 1 4611686018427387904",
        "dec + 1",     "250 75 null 100100",
        "dec * 2",     "300 -50 null 200000",
        "dec / 2",     "750000 -125000 null 500000000",
        "-1 / dec",    "-6666 40000 null -10",
        "dec % 2",     "150 -25 null 0",
        "1 + 2 * 3",   "7 7 7 7",
        "(1 + 2) * 3", "9 9 9 9",
        "7 - 2 - 1",   "4 4 4 4",
        "d + 1",       "1 19724 null 0",
        "d - d",       "0 0 null 0",
        "ts - ts",     "0 0 null 0",
        "null + 1",    "null null null null",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_STR(expr_type("i8 - i8"), "c");
    CHECK_STR(expr_type("i8 + u8"), "s");
    CHECK_STR(expr_type("i8 + 1"), "l");
    CHECK_STR(expr_type("f32 + 1"), "f");
    CHECK_STR(expr_type("f32 + 1.0"), "g");
    CHECK_STR(expr_type("ts - ts"), "tDu");
}

static void test_eval__rows_without_a_result_are_errors(void **state)
{
    (void)state;
    CHECK_HAS(expr_values("10 / (i64 - 2)"),
              "error: division by zero where i64 is 2, at character 4");
    CHECK_HAS(expr_values("i64 % 0"), "error: division by zero");
    CHECK_HAS(expr_values("i8 + i8"), "error: the result of '+' does not fit int8");
    CHECK_HAS(expr_values("i8 * i8"), "error: the result of '*' does not fit int8");
    CHECK_HAS(expr_values("i64 * 9223372036854775807"), "error: the result of '*'");
    CHECK_HAS(expr_values("-9223372036854775808 / (i64 - 2)"), "error: the result of '/'");
    CHECK_HAS(expr_values("cast(i64 as uint8)"), "error: -4 is no value of type uint8");
    /* Rows that nobody asks for raise none. */
    CHECK_STR(expr_values("case when i64 <> 2 then 10 / (i64 - 2) else 0 end"), "-10 0 0 -1");
    CHECK_STR(expr_values("i64 <> 2 and 10 / (i64 - 2) < 0"), "1 0 null 1");
    CHECK_STR(expr_values("i64 = 2 or 10 / (i64 - 2) < 0"), "1 1 null 1");
}

static void test_eval__choices(void **state)
{
    static const char *const pairs[] = {
        "case when i64 = 1 then 'one' when i64 = 2 then 'two' else 'many' end",
        "'one' 'two' 'many' 'many'",
        "case i64 when 1 then 10 when 2 then 20 end",
        "10 20 null null",
        "case when flag then f64 else i64 end",
        "0.5 2 null 2.5",
        "case when flag then true else null end",
        "1 null null 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_eval__slices_keep_their_rows(void **state)
{
    (void)state;
    CHECK_STR(expr_values_of("i64", 1, 2), "2 null");
    CHECK_STR(expr_values_of("flag", 1, 3), "0 null 1");
    CHECK_STR(expr_values_of("flag and i64 < 10", 3, 1), "1");
    CHECK_STR(expr_values_of("s", 2, 2), "'' '\xc3\x84pfel 100%'");
    CHECK_STR(expr_values_of("info.width", 2, 2), "null -3");
    CHECK_STR(expr_values_of("items", 2, 2), "null [7]");
    CHECK_STR(expr_values_of("i64", 0, 0), "");
}

/* Nothing else of the arguments is looked at then. */
static void test_eval__no_expression(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray array;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_expr_evaluate(NULL, NULL, NULL, NULL, &schema, &array, &err), LMN_E_INVALID,
                 &err);
    CHECK_STR(err.message, "there is no expression");
    CHECK(schema.release == NULL && array.release == NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_eval__no_expression),
        cmocka_unit_test(test_eval__columns_come_back),
        cmocka_unit_test(test_eval__comparisons_of_numbers),
        cmocka_unit_test(test_eval__nan_is_greatest_and_equal_to_itself),
        cmocka_unit_test(test_eval__comparisons_of_other_types),
        cmocka_unit_test(test_eval__logic_has_three_values),
        cmocka_unit_test(test_eval__in_a_list),
        cmocka_unit_test(test_eval__constants_that_the_type_does_not_hold),
        cmocka_unit_test(test_eval__arithmetic),
        cmocka_unit_test(test_eval__rows_without_a_result_are_errors),
        cmocka_unit_test(test_eval__choices),
        cmocka_unit_test(test_eval__slices_keep_their_rows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
