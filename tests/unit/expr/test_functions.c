/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "expressions.h"

static void test_functions__text(void **state)
{
    static const char *const pairs[] = {
        "lower(s)",
        "'abc' null '' '\xc3\xa4pfel 100%'",
        "upper(s)",
        "'ABC' null '' '\xc3\x84PFEL 100%'",
        "length(s)",
        "3 null 0 10",
        "octet_length(s)",
        "3 null 0 11",
        "trim('  a b ')",
        "'a b' 'a b' 'a b' 'a b'",
        "ltrim('xxaxx', 'x')",
        "'axx' 'axx' 'axx' 'axx'",
        "rtrim('xxaxx', 'x')",
        "'xxa' 'xxa' 'xxa' 'xxa'",
        "substr(s, 2)",
        "'bc' null '' 'pfel 100%'",
        "substr(s, 1, 1)",
        "'a' null '' '\xc3\x84'",
        "substring(s, 0, 2)",
        "'a' null '' '\xc3\x84'",
        "substr(s, -5, 2)",
        "'' null '' ''",
        "left(s, 2)",
        "'ab' null '' '\xc3\x84p'",
        "left(s, -1)",
        "'ab' null '' '\xc3\x84pfel 100'",
        "right(s, 2)",
        "'bc' null '' '0%'",
        "right(s, -9)",
        "'' null '' '%'",
        "starts_with(s, 'ab')",
        "1 null 0 0",
        "ends_with(s, '%')",
        "0 null 0 1",
        "contains(s, 'b')",
        "1 null 0 0",
        "contains(s, '')",
        "1 null 1 1",
        "strpos(s, 'c')",
        "3 null 0 0",
        "strpos(s, 'p')",
        "0 null 0 2",
        "replace(s, 'b', 'xyz')",
        "'axyzc' null '' '\xc3\x84pfel 100%'",
        "replace('aaa', 'a', '')",
        "'' '' '' ''",
        "reverse(s)",
        "'cba' null '' '%001 lefp\xc3\x84'",
        "split_part('a,b,,c', ',', 2)",
        "'b' 'b' 'b' 'b'",
        "split_part('a,b,,c', ',', -1)",
        "'c' 'c' 'c' 'c'",
        "split_part('a,b,,c', ',', 9)",
        "'' '' '' ''",
        "s || '!'",
        "'abc!' null '!' '\xc3\x84pfel 100%!'",
        "concat(s, i64)",
        "'abc1' '2' '' '\xc3\x84pfel 100%-4'",
        "s || null",
        "null null null null",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_functions__wrong_calls(void **state)
{
    (void)state;
    CHECK_HAS(expr_values("split_part(s, ',', 0)"), "parts of a string count from 1");
    CHECK_HAS(expr_values("substr(s, 1, -1)"), "a string has no length of -1");
    CHECK_HAS(expr_values("lower(i64)"), "lower() takes a string here, not a value of type int64");
    CHECK_HAS(expr_values("lower(s, s)"), "lower() takes 1 argument, not 2");
    CHECK_HAS(expr_values("lowr(s)"), "there is no function lowr(); did you mean lower");
    CHECK_HAS(expr_values("q(s)"), "there is no function q(), at character 1");
}

static void test_functions__like(void **state)
{
    static const char *const pairs[] = {
        "s like 'abc'",
        "1 null 0 0",
        "s like 'a%'",
        "1 null 0 0",
        "s like '%c'",
        "1 null 0 0",
        "s like '%b%'",
        "1 null 0 0",
        "s like '%'",
        "1 null 1 1",
        "s like ''",
        "0 null 1 0",
        "s like '_bc'",
        "1 null 0 0",
        "s like '_pfel%'",
        "0 null 0 1",
        "s like '%\\%'",
        "0 null 0 1",
        "s like '%!%' escape '!'",
        "0 null 0 1",
        "s like 'a%c%'",
        "1 null 0 0",
        "s like '%a%c'",
        "1 null 0 0",
        "s like 'a%b%d'",
        "0 null 0 0",
        "s like '%_%'",
        "1 null 0 1",
        "s like '___'",
        "1 null 0 0",
        "s not like 'a%'",
        "0 null 1 1",
        "s ilike 'ABC'",
        "1 null 0 0",
        "s ilike '\xc3\xa4PF%'",
        "0 null 0 1",
        "s like s",
        "1 null 1 1",
        "'aaab' like '%ab'",
        "1 1 1 1",
        "'abab' like '%ab'",
        "1 1 1 1",
        "'ab' like 'ab%ab'",
        "0 0 0 0",
        "s like null",
        "null null null null",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("i64 like 'a'"), "LIKE takes strings, not int64");
}

static void test_functions__regular_expressions(void **state)
{
    static const char *const pairs[] = {
        "regexp_like(s, 'b')",
        "1 null 0 0",
        "regexp_like(s, '^b')",
        "0 null 0 0",
        "regexp_like(s, '^a.c$')",
        "1 null 0 0",
        "regexp_like(s, '^$')",
        "0 null 1 0",
        "regexp_like(s, '\\d{3}%')",
        "0 null 0 1",
        "regexp_like(s, '^.pfel')",
        "0 null 0 1",
        "regexp_like(s, '[a-b]+c')",
        "1 null 0 0",
        "regexp_like(s, '[^a-z ]')",
        "0 null 0 1",
        "regexp_like(s, '(x|ab)c')",
        "1 null 0 0",
        "regexp_like(s, '(?:ab)?c$')",
        "1 null 0 0",
        "regexp_like(s, 'ABC')",
        "0 null 0 0",
        "regexp_like(s, 'ABC', 'i')",
        "1 null 0 0",
        "regexp_like(s, '(?i)\xc3\xa4')",
        "0 null 0 1",
        "regexp_like(s, '\\bpf')",
        "0 null 0 0",
        "regexp_like(s, '\\b100\\b')",
        "0 null 0 1",
        "regexp_like('aaaa', '^(a*)*b')",
        "0 0 0 0",
        "regexp_like('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', '^(a|a)*$')",
        "1 1 1 1",
        "regexp_like('xaxbx', 'a.*b')",
        "1 1 1 1",
        "regexp_like('ab', 'a{2,}')",
        "0 0 0 0",
        "regexp_like('aab', 'a{2,}?b')",
        "1 1 1 1",
        "regexp_like('a\nb', 'a.b')",
        "0 0 0 0",
        "regexp_like('a\nb', 'a.b', 's')",
        "1 1 1 1",
        "regexp_like('a]b', 'a[]]b')",
        "1 1 1 1",
        "regexp_like('a-b', 'a[x-]b')",
        "1 1 1 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("regexp_like(s, '(a')"), "has a '(' without ')'");
    CHECK_HAS(expr_values("regexp_like(s, 'a)')"), "has a ')' without '('");
    CHECK_HAS(expr_values("regexp_like(s, '[a')"), "has a '[' without ']'");
    CHECK_HAS(expr_values("regexp_like(s, '*a')"), "repeats nothing");
    CHECK_HAS(expr_values("regexp_like(s, '(?=a)')"), "looks around");
    CHECK_HAS(expr_values("regexp_like(s, '(a)\\1')"), "an escape that is not known here");
    CHECK_HAS(expr_values("regexp_like(s, '((a{1000}){1000}){1000}')"), "is too large");
    CHECK_HAS(expr_values("regexp_like(s, s)"), "has to be a constant string");
}

static void test_functions__numbers(void **state)
{
    static const char *const pairs[] = {
        "abs(i64)",
        "1 2 null 4",
        "abs(f64)",
        "0.5 0 null 2.5",
        "round(f64)",
        "1 -0 null 3",
        "round(2.345, 2)",
        "2.35 2.35 2.35 2.35",
        "floor(f64)",
        "0 -0 null 2",
        "ceil(f64)",
        "1 -0 null 3",
        "sqrt(4)",
        "2 2 2 2",
        "power(2, 10)",
        "1024 1024 1024 1024",
        "ln(1)",
        "0 0 0 0",
        "log10(1000)",
        "3 3 3 3",
        "exp(0)",
        "1 1 1 1",
        "sign(i64)",
        "1 1 null -1",
        "coalesce(i64, i32, 0)",
        "1 2 30 -4",
        "coalesce(s, 'none')",
        "'abc' 'none' '' '\xc3\x84pfel 100%'",
        "nullif(i64, 2)",
        "1 null null -4",
        "greatest(i64, 1)",
        "1 2 1 1",
        "least(i64, i32)",
        "1 2 30 -40",
        "isnan(f64)",
        "0 0 null 0",
        "coalesce(10 / nullif(i64 - 2, 0), -1)",
        "-10 -1 -1 -1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("sqrt(s)"), "sqrt() takes a number here, not a value of type string");
    CHECK_STR(expr_type("floor(i8)"), "c");
    CHECK_STR(expr_type("floor(f32)"), "f");
}

static void test_functions__times(void **state)
{
    static const char *const pairs[] = {
        "year(d)",
        "1970 2024 null 1969",
        "month(d)",
        "1 1 null 12",
        "day(d)",
        "1 1 null 31",
        "extract(year from ts)",
        "1970 2024 null 1969",
        "date_part('hour', ts)",
        "0 0 null 23",
        "date_part('millisecond', ts)",
        "0 123 null 59999",
        "date_part('dow', d)",
        "4 1 null 3",
        "date_part('isodow', d)",
        "4 1 null 3",
        "date_part('doy', d)",
        "1 1 null 365",
        "date_part('week', d)",
        "1 1 null 1",
        "date_part('quarter', d)",
        "1 1 null 4",
        "date_part('epoch', ts)",
        "0 1.70407e+09 null -1e-06",
        "hour(tz)",
        "2 7 null 1",
        "date_trunc('year', d)",
        "0 19723 null -365",
        "date_trunc('month', ts)",
        "0 1704067200000000 null -2678400000000",
        "date_trunc('second', ts)",
        "0 1704067200000000 null -1000000",
        "date_trunc('day', tz)",
        "-7200000 -7200000 null -7200000",
        "to_timestamp('2024-01-01') = timestamp '2024-01-01'",
        "1 1 1 1",
        "to_timestamp(1) = timestamp '1970-01-01T00:00:01'",
        "1 1 1 1",
        "to_timestamp_millis(1) = timestamp '1970-01-01T00:00:00.001'",
        "1 1 1 1",
        "now() > timestamp '2024-01-01 00:00:00'",
        "1 1 1 1",
        "now() = now()",
        "1 1 1 1",
        "current_date() > date '2024-01-01'",
        "1 1 1 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("date_part('eon', ts)"), "a time has no part 'eon'");
    CHECK_HAS(expr_values("year(i64)"), "expected a date or a timestamp");
}

static void test_functions__casts(void **state)
{
    static const char *const pairs[] = {
        "cast(i64 as double)",
        "1 2 null -4",
        "i64::string",
        "'1' '2' null '-4'",
        "f64::text",
        "'0.5' '-0.0' null '2.5'",
        "cast('12' as int) + i64",
        "13 14 null 8",
        "cast(2.7 as int)",
        "2 2 2 2",
        "cast(-2.7 as int)",
        "-2 -2 -2 -2",
        "try_cast(s as int)",
        "null null null null",
        "try_cast('7' as int)",
        "7 7 7 7",
        "try_cast(i64 as uint8)",
        "1 2 null null",
        "d::string",
        "'1970-01-01' '2024-01-01' null '1969-12-31'",
        "ts::string",
        "'1970-01-01T00:00:00' '2024-01-01T00:00:00.123456' null '1969-12-31T23:59:59.999999'",
        "tz::string",
        "'1970-01-01T02:00:00+02:00' '1970-01-01T07:28:43+02:00' null '1970-01-01T01:59:59+02:00'",
        "ts::date",
        "0 19723 null -1",
        "d::timestamp(3)",
        "0 1704067200000 null -86400000",
        "dec::string",
        "'1.50' '-0.25' null '1000.00'",
        "dec::double",
        "1.5 -0.25 null 1000",
        "dec::int",
        "1 0 null 1000",
        "cast(f64 as decimal(10, 1))",
        "5 0 null 25",
        "cast(2.55 as decimal(10, 1))",
        "26 26 26 26",
        "cast('-1.005' as decimal(5, 2))",
        "-101 -101 -101 -101",
        "flag::int",
        "1 0 null 1",
        "i64::boolean",
        "1 1 null 1",
        "'yes'::boolean",
        "1 1 1 1",
        "flag::string",
        "'true' 'false' null 'true'",
        "cast('12:30:00' as time(0))",
        "45000 45000 45000 45000",
        "cast(f64 as float16)",
        "0.5 -0 null 2.5",
        "cast(X'616263' as string)",
        "'abc' 'abc' 'abc' 'abc'",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("cast(s as int)"), "'abc' is no value of type int32");
    CHECK_HAS(expr_values("cast(1e30 as bigint)"), "is no value of type int64");
    CHECK_HAS(expr_values("cast(u64 as bigint)"), "18446744073709551615 is no value");
    CHECK_HAS(expr_values("cast(dec as decimal(4, 2))"), "1000.00 is no value");
    CHECK_HAS(expr_values("cast(items as int)"), "there is no conversion from list to int32");
    CHECK_HAS(expr_values("cast(i64 as nothing)"), "there is no type nothing");
}

static void test_functions__lists(void **state)
{
    static const char *const pairs[] = {
        "items[1]",
        "1 null null 7",
        "items[-1]",
        "null null null 7",
        "items[2] + 1",
        "3 null null null",
        "items[0]",
        "null null null null",
        "array_has(items, 2)",
        "1 0 null 0",
        "array_contains(items, 7)",
        "0 0 null 1",
        "array_has(items, i32)",
        "0 null null 0",
        "array_has(items, null)",
        "null null null null",
        "array_has(items, i64)",
        "1 0 null 0",
        "array_has(items, u64)",
        "0 0 null 0",
        "array_has(items, 2.5)",
        "0 0 null 0",
        "array_has(items, f64 + 0.5)",
        "1 0 null 0",
        "array_has(items, 5000000000)",
        "0 0 null 0",
        "array_has_any(items, [7.5, 7.0])",
        "0 0 null 1",
        "array_position(items, 2.0)",
        "2 null null null",
        "array_has(items, cast(7 as int))",
        "0 0 null 1",
        "array_has_any(items, [7, 8])",
        "0 0 null 1",
        "array_has_all(items, [1, 2])",
        "1 0 null 0",
        "array_length(items)",
        "3 0 null 1",
        "cardinality(items)",
        "3 0 null 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("array_has(items, 'x')"), "'x' is no value of type int32");
    CHECK_HAS(expr_values("i64[1]"), "expected a list, not a value of type int64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions__text),
        cmocka_unit_test(test_functions__wrong_calls),
        cmocka_unit_test(test_functions__like),
        cmocka_unit_test(test_functions__regular_expressions),
        cmocka_unit_test(test_functions__numbers),
        cmocka_unit_test(test_functions__times),
        cmocka_unit_test(test_functions__casts),
        cmocka_unit_test(test_functions__lists),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
