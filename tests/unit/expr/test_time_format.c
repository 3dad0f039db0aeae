/* SPDX-License-Identifier: Apache-2.0 */
/* Times as text by a format, and text as times; times of day and zones. */
#include <stdio.h>

#include "check.h"
#include "expressions.h"

static void test_time_format__prints(void **state)
{
    static const char *const pairs[] = {
        "to_char(ts, '%-d.%-m. %k|%l %P %q %V %G-%g %C')",
        "'1.1.  0|12 am 1 01 1970-70 19' '1.1.  0|12 am 1 01 2024-24 20' null "
        "'31.12. 23|11 pm 4 01 1970-70 19'",
        "to_char(ts, '%s%.f %.3f %6f')",
        "'0 .000 000000' '1704067200.123456 .123 123456' null '-1.999999 .999 999999'",
        "to_char(tz, '%z %:z %Z %s')",
        "'+0200 +02:00 +02:00 0' '+0200 +02:00 +02:00 19723' null '+0200 +02:00 +02:00 -1'",
        "to_char(from_unixtime(i64, '-03:30'), '%H:%M:%S%::z%n%%')",
        "'20:30:01-03:30:00\n%' '20:30:02-03:30:00\n%' null '20:29:56-03:30:00\n%'",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("to_char(ts, '%z')"), "to_char() has no %z for times without a");
    CHECK_HAS(expr_values("to_char(ts, '%-Q')"), "to_char() knows no %Q");
    CHECK_HAS(expr_values("to_char(ts, 'x%')"), "to_char() knows no %?");
    CHECK_HAS(expr_values("to_char(ts, '%.3d')"), "to_char() knows no %d");
    CHECK_HAS(expr_values("from_unixtime(1, s)"), "a time zone is a constant string");
    CHECK_HAS(expr_values("from_unixtime(1, 'Mars/Tharsis')"), "Mars/Tharsis");
}

static void test_time_format__reads(void **state)
{
    static const char *const pairs[] = {
        "to_unixtime(to_timestamp('01.02.1970 00:00:01', '%d.%m.%Y %H:%M:%S'))",
        "2678401 2678401 2678401 2678401",
        "to_unixtime('1970-01-02 01:00 +01:00', '%Y', '%Y-%m-%d %H:%M %z')",
        "86400 86400 86400 86400",
        "to_date('Sunday 29 FEBRUARY 2004', '%A %d %B %Y') = date '2004-02-29'",
        "1 1 1 1",
        "to_unixtime('19700201T000001', '%Y%m%dT%H%M%S')",
        "2678401 2678401 2678401 2678401",
        "to_date('+0019700201', '%Y%m%d') = date '1970-02-01'",
        "1 1 1 1",
        "to_date('69-366', '%y-%j') is null",
        "error: '69-366' does not follow the format, at character 1 near "
        "'to_date('69-366', '%y-%j'",
        "to_unixtime('12 PM 1970-01-01', '%I %p %F') / 3600",
        "12 12 12 12",
        "to_timestamp_nanos('1970-01-01T00:00:00.000000007', '%FT%T%.f') = to_timestamp_nanos(7)",
        "1 1 1 1",
        "to_unixtime('-86401', '%s')",
        "-86401 -86401 -86401 -86401",
        "cast(make_time(23, 59, 59) as string) || ' ' || to_time('01:02:03')",
        "'23:59:59 01:02:03' '23:59:59 01:02:03' '23:59:59 01:02:03' '23:59:59 01:02:03'",
        "current_time() is not null and date_part('isoyear', date '2027-01-01') = 2026",
        "1 1 1 1",
        "to_local_time(tz) = cast(tz as timestamp)",
        "1 1 null 1",
        NULL,
    };
    static const char *const wrong[] = { "'1970-13-01', '%Y-%m-%d'",
                                         "'1970-02-30', '%F'",
                                         "'1970-01-01x', '%F'",
                                         "'11970-01-01', '%F'",
                                         "'1970-01', '%Y-%m'",
                                         "'', '%F'",
                                         "'1', ''",
                                         "'1970-01-01 %', '%F %Q'",
                                         "'12 XX 1970-01-01', '%I %p %F'",
                                         "'+99:00', '%z'",
                                         "'70', '%'" };

    (void)state;
    check_expressions(pairs);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char text[100];

        snprintf(text, sizeof text, "to_timestamp(%s)", wrong[i]);
        CHECK_HAS(expr_values(text), "does not follow the format");
    }
    CHECK_HAS(expr_values("to_date(s, 1)"), "expected a string, not a value of type int64");
    CHECK_HAS(expr_values("make_time(i64 + 23, 0, 0)"), "there is no such time of day");
    CHECK_HAS(expr_values("to_local_time(s)"), "expected a timestamp, not a value of type string");
    CHECK_HAS(expr_values("arrow_cast(i64, 'Time64(Second)')"), "takes the name of a type");
}

static void test_time_format__faults(void **state)
{
    (void)state;
    check_expression_faults("to_char(tz, '%F %T') <> '' and to_date(to_char(d, '%d %m %Y'), "
                            "'%d %m %Y') = d and from_unixtime(i64, '+02:00') > now() and "
                            "make_time(1, 2, 3) > to_time('00:00:00')");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_format__prints),
        cmocka_unit_test(test_time_format__reads),
        cmocka_unit_test(test_time_format__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
