/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that make strings, dates and bins; lists that are searched. */
#include "check.h"
#include "expressions.h"

static void test_functions_more__text(void **state)
{
    static const char *const pairs[] = {
        "lpad(s, 5, 'xy')",
        "'xyabc' null 'xyxyx' '\xc3\x84pfel'",
        "rpad(s, 4)",
        "'abc ' null '    ' '\xc3\x84pfe'",
        "lpad('7', 3, '\xc3\xa4')",
        "'\xc3\xa4\xc3\xa4\x37' '\xc3\xa4\xc3\xa4\x37' '\xc3\xa4\xc3\xa4\x37' "
        "'\xc3\xa4\xc3\xa4\x37'",
        "lpad(s, -1)",
        "'' null '' ''",
        "rpad(s, 5, '')",
        "'abc' null '' '\xc3\x84pfel'",
        "repeat(s, 2)",
        "'abcabc' null '' '\xc3\x84pfel 100%\xc3\x84pfel 100%'",
        "repeat(s, i64)",
        "'abc' null null ''",
        "concat_ws('-', s, i64 || '', 'x')",
        "'abc-1-x' '2-x' '-x' '\xc3\x84pfel 100%--4-x'",
        "concat_ws(null, s)",
        "null null null null",
        "ascii(s)",
        "97 null 0 196",
        "initcap('the \xc3\xa4pFEL')",
        "'The \xc3\x84pfel' 'The \xc3\x84pfel' 'The \xc3\x84pfel' 'The \xc3\x84pfel'",
        "regexp_match(s, 'b') is not null",
        "1 0 0 0",
        "regexp_match(s, 'b') is null",
        "0 1 1 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("repeat(s, 1000000000000)"), "repeat() makes no strings of more");
    CHECK_HAS(expr_values("lpad(s, 9000000000000000000)"), "lpad() makes no strings of");
    CHECK_HAS(expr_values("case when i64 > 5 then repeat(s, 1000000000000) end"),
              "null null null null");
}

static void test_functions_more__times(void **state)
{
    static const char *const pairs[] = {
        "cast(make_date(2024, 2, 20 + u8) as string)",
        NULL,
    };
    static const char *const good[] = {
        "cast(make_date(2024, 2, 29) as string)",
        "'2024-02-29' '2024-02-29' '2024-02-29' '2024-02-29'",
        "to_unixtime(ts)",
        "0 1704067200 null -1",
        "to_unixtime(d)",
        "0 1704067200 null -86400",
        "cast(date_bin(interval '15 minutes', ts) as string)",
        "'1970-01-01T00:00:00' '2024-01-01T00:00:00' null '1969-12-31T23:45:00'",
        "cast(date_bin(interval '1 day', ts, timestamp '2000-01-01 06:00:00') as string)",
        "'1969-12-31T06:00:00' '2023-12-31T06:00:00' null '1969-12-31T06:00:00'",
        "from_unixtime(i64) = to_timestamp_seconds(i64)",
        "1 1 null 1",
        "current_date = today() and current_timestamp >= now() - interval '1 hour'",
        "1 1 1 1",
        NULL,
    };

    (void)state;
    check_expressions(good);
    CHECK_HAS(expr_values(pairs[0]), "there is no such date");
    CHECK_HAS(expr_values("make_date(s, 1, 1)"), "make_date() takes whole numbers, not a value of");
    CHECK_HAS(expr_values("date_bin(interval '1 month', ts)"), "interval of days or less");
    CHECK_HAS(expr_values("date_bin(interval '1 ns', ts)"), "finer than the timestamps");
    CHECK_HAS(expr_values("date_bin(interval '1 day', ts, ts)"), "constant timestamp");
}

static void test_functions_more__lists_and_numbers(void **state)
{
    static const char *const pairs[] = {
        "length(bin)",
        "2 null 0 2",
        "bit_length(bin)",
        "16 null 0 16",
        "dec = decimal(8, 3) '1.500'",
        "1 0 null 0",
        "to_timestamp(f64) > timestamp(3) '1970-01-01 00:00:00.499'",
        "1 0 null 1",
        "array_position(items, 2)",
        "2 null null null",
        "array_position(items, 7) = 1",
        "null null null 1",
        "array_element(items, 1)",
        "1 null null 7",
        "list_element([4, 5], -1)",
        "5 5 5 5",
        "empty(items)",
        "0 1 null 0",
        "round(degrees(pi()))",
        "180 180 180 180",
        "round(atan2(1.0, 1.0) * 4, 3) = round(radians(180), 3)",
        "1 1 1 1",
        "cbrt(27.0)",
        "3 3 3 3",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("length(i64)"), "expected a string or binary, not a value of type int64");
    CHECK_HAS(expr_values("decimal(8, s) '1.5' = dec"), "expected an operator");
    CHECK_HAS(expr_values("decimal(8, 1e1) '1.5' = dec"), "expected an operator");
    CHECK_HAS(expr_values("nothing(8) '1.5' = dec"), "there is no type nothing");
    CHECK_HAS(expr_values("decimal(8, 3) 'x' = dec"), "'x' is no value of type decimal");
    CHECK_HAS(expr_values("empty(s)"), "expected a list, not a value of type string");
    CHECK_HAS(expr_values("array_position(items, 'x')"), "'x' is no value of type int32");
}

static void test_functions_more__digests(void **state)
{
    static const char *const pairs[] = {
        "md5(s)",
        "'900150983cd24fb0d6963f7d28e17f72' null 'd41d8cd98f00b204e9800998ecf8427e' "
        "'6422ac4888f4ef83b561685aa1e834c6'",
        "encode(sha256('abc'), 'hex') = "
        "'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'",
        "1 1 1 1",
        "digest(s, 'sha512') = sha512(s) and sha224(s) <> sha384(s)",
        "1 null 1 1",
        "encode(s, 'base64')",
        "'YWJj' null '' 'w4RwZmVsIDEwMCU'",
        "encode(digest('', 'md5'), 'hex') = md5('')",
        "1 1 1 1",
        "to_hex(i64)",
        "'1' '2' null 'fffffffffffffffc'",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("sha256(i64)"), "expected a string or binary, not a value of type int64");
    CHECK_HAS(expr_values("digest(s, 'blake3')"), "digest() knows 'md5', 'sha224'");
    CHECK_HAS(expr_values("digest(s, s)"), "digest() knows 'md5', 'sha224'");
    CHECK_HAS(expr_values("encode(s, 'morse')"), "encode() knows 'hex', 'base64' and");
}

static void test_functions_more__bits(void **state)
{
    static const char *const pairs[] = {
        "i64 & 3",
        "1 2 null 0",
        "i64 | 4",
        "5 6 null -4",
        "i64 << 2",
        "4 8 null -16",
        "i64 >> 1",
        "0 1 null -2",
        "i64 >> 99",
        "0 0 null -1",
        "1 + 1 << 2 | 1",
        "9 9 9 9",
        "i64 << 1 > 2 and i64 & 2 = 2",
        "0 1 null 0",
        "0 << 99",
        "0 0 0 0",
        "null & 1",
        "null null null null",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("i64 << 63"), "1 << 63 does not fit into 64 bits");
    CHECK_HAS(expr_values("i64 >> -1"), "1 >> -1 does not fit into 64 bits");
    CHECK_HAS(expr_values("f64 & 1"), "bits are those of whole numbers, not of a value of type");
    CHECK_STR(expr_values("case when i64 > 9 then i64 << 63 end"), "null null null null");
}

static void test_functions_more__matches(void **state)
{
    static const char *const pairs[] = {
        "regexp_replace(s, '[a-f]', '<$0>')",
        "'<a>bc' null '' '\xc3\x84p<f>el 100%'",
        "regexp_replace(s, '[a-f]', '', 'g')",
        "'' null '' '\xc3\x84pl 100%'",
        "regexp_replace('baac', 'a*', '-', 'g')",
        "'-b-c-' '-b-c-' '-b-c-' '-b-c-'",
        "regexp_replace('\xc3\x84\xc3\x84', '', '.', 'g')",
        "'.\xc3\x84.\xc3\x84.' '.\xc3\x84.\xc3\x84.' '.\xc3\x84.\xc3\x84.' "
        "'.\xc3\x84.\xc3\x84.'",
        "regexp_replace('aXbXc', '(.)X(.)', '\\2${1}$9$$')",
        "'ba$Xc' 'ba$Xc' 'ba$Xc' 'ba$Xc'",
        "regexp_replace('aab', 'a+?(a|b)', '[$1]', 'g')",
        "'[a]b' '[a]b' '[a]b' '[a]b'",
        "regexp_replace('ab', '(a)|(b)', '<$2>', 'g')",
        "'<><b>' '<><b>' '<><b>' '<><b>'",
        "regexp_replace('price', '$', '$')",
        "'price$' 'price$' 'price$' 'price$'",
        "regexp_replace(s, 'B', s, 'i')",
        "'aabcc' null '' '\xc3\x84pfel 100%'",
        "regexp_count(s, '[a-f]')",
        "3 null 0 2",
        "regexp_instr(s, '[0-9]')",
        "0 null 0 7",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("regexp_replace(s, s, '')"), "has to be a constant string");
    CHECK_HAS(expr_values("regexp_replace(s, '(', '')"), "has a '(' without ')'");
    CHECK_HAS(expr_values("regexp_replace(s, 'a', 'b', 'x')"), "flags other than g, i, m and s");
    CHECK_HAS(expr_values("regexp_like(s, 'a', 'g')"), "flags other than i, m and s");
    CHECK_HAS(expr_values("regexp_replace(s, 'a', 1)"), "expected a string, not a value of type");
    CHECK_HAS(expr_values("regexp_replace(repeat('a', 9000), 'a', repeat('b', 9000), 'g')"),
              "regexp_replace() makes no strings of more than");
}

static void test_functions_more__formats(void **state)
{
    static const char *const pairs[] = {
        "to_char(ts, '%F %T')",
        "'1970-01-01 00:00:00' '2024-01-01 00:00:00' null '1969-12-31 23:59:59'",
        "to_char(d, '%a %d. %b %Y, %j %u%w %D %R %% ')",
        "'Thu 01. Jan 1970, 001 44 01/01/70 00:00 % ' "
        "'Mon 01. Jan 2024, 001 11 01/01/24 00:00 % ' null "
        "'Wed 31. Dec 1969, 365 33 12/31/69 00:00 % '",
        "to_char(timestamp '2024-09-05 15:04:05.25', '%A %e %B %y %I:%M:%S %p %f')",
        "'Thursday  5 September 24 03:04:05 PM 250000000' "
        "'Thursday  5 September 24 03:04:05 PM 250000000' "
        "'Thursday  5 September 24 03:04:05 PM 250000000' "
        "'Thursday  5 September 24 03:04:05 PM 250000000'",
        "to_char(arrow_cast(timestamp '2024-07-01 12:00:00Z', "
        "'Timestamp(Second, Some(\"+02:00\"))'), '%H')",
        "'14' '14' '14' '14'",
        "date_format(null, '%Y')",
        "null null null null",
        "arrow_cast(i64, 'Utf8') || 'x'",
        "'1x' '2x' null '-4x'",
        "arrow_cast('2.5', 'Decimal128(4, 2)') = 2.5",
        "1 1 1 1",
        "arrow_try_cast('a', 'Int32')",
        "null null null null",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_STR(expr_type("arrow_cast(ts, 'Timestamp(Millisecond, None)')"), "tsm:");
    CHECK_STR(expr_type("arrow_cast(u8, 'UInt16')"), "S");
    CHECK_HAS(expr_values("to_char(ts, '%Q')"), "to_char() knows no %Q");
    CHECK_HAS(expr_values("to_char(ts, '100%')"), "to_char() knows no %?");
    CHECK_HAS(expr_values("to_char(s, '%Y')"), "expected a date or timestamp, not a value of type");
    CHECK_HAS(expr_values("to_char(ts, 3)"), "a format is a string");
    CHECK_HAS(expr_values("arrow_cast(i64, 'Int')"), "arrow_cast() takes the name of a type");
    CHECK_HAS(expr_values("arrow_cast(i64, s)"), "arrow_cast() takes the name of a type");
    CHECK_HAS(expr_values("arrow_cast(i64, 'Timestamp(Second, None')"), "the name of a type");
    CHECK_HAS(expr_values("arrow_cast(i64, 'UInt8')"), "-4 is no value of type uint8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_more__text),
        cmocka_unit_test(test_functions_more__times),
        cmocka_unit_test(test_functions_more__lists_and_numbers),
        cmocka_unit_test(test_functions_more__digests),
        cmocka_unit_test(test_functions_more__bits),
        cmocka_unit_test(test_functions_more__matches),
        cmocka_unit_test(test_functions_more__formats),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
