/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals: as they are written, and dates and timestamps that move by them. */
#include "expr/interval.h"

#include "check.h"
#include "expressions.h"

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static void test_interval__as_written(void **state)
{
    static const struct {
        const char *text, *printed;
        struct lmn__interval interval;
    } cases[] = {
        { "7 days", "7 days", { 0, 7, 0 } },
        { "1 year 2 months", "14 months", { 14, 0, 0 } },
        { " 1MON  -2 Days ", "1 month -2 days", { 1, -2, 0 } },
        { "2 weeks", "14 days", { 0, 14, 0 } },
        { "1 quarter", "3 months", { 3, 0, 0 } },
        { "1.5 hours", "01:30:00", { 0, 0, 5400000000000 } },
        { "1.5 days", "1 day 12:00:00", { 0, 1, 43200000000000 } },
        { "04:05:06.7", "04:05:06.7", { 0, 0, 14706700000000 } },
        { "-04:05", "-04:05:00", { 0, 0, -14700000000000 } },
        { "3 days -04:05:06", "3 days -04:05:06", { 0, 3, -14706000000000 } },
        { "1.5 ms", "00:00:00.0015", { 0, 0, 1500000 } },
        { "10us 5ns", "00:00:00.000010005", { 0, 0, 10005 } },
        { "0 days", "00:00:00", { 0, 0, 0 } },
        { "-9223372036854775808 ns", NULL, { 0, 0, 0 } },
        { "2147483648 days", NULL, { 0, 0, 0 } },
        { "200000000 years", NULL, { 0, 0, 0 } },
        { "7", NULL, { 0, 0, 0 } },
        { "", NULL, { 0, 0, 0 } },
        { "days", NULL, { 0, 0, 0 } },
        { "1.5 months", NULL, { 0, 0, 0 } },
        { "1. day", NULL, { 0, 0, 0 } },
        { "1 dayz", NULL, { 0, 0, 0 } },
        { "04:60", NULL, { 0, 0, 0 } },
        { "1 day,", NULL, { 0, 0, 0 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char printed[LMN__INTERVAL_TEXT_BYTES];
        struct lmn__interval interval, again;
        bool fine = lmn__interval_parse(span_of(cases[i].text), &interval);

        if (fine != (cases[i].printed != NULL))
            check_fail(__FILE__, __LINE__, "\"%s\"", cases[i].text);
        if (!fine)
            continue;
        CHECK_EQ(interval.months, cases[i].interval.months);
        CHECK_EQ(interval.days, cases[i].interval.days);
        CHECK_EQ(interval.nanos, cases[i].interval.nanos);
        (void)lmn__interval_print(&interval, printed);
        CHECK_STR(printed, cases[i].printed);
        CHECK(lmn__interval_parse(span_of(printed), &again));
        CHECK_EQ(lmn__interval_compare(&interval, &again), 0);
    }
}

static void test_interval__order(void **state)
{
    static const struct lmn__interval rising[] = {
        { -1, 0, 0 }, { 0, 0, -1 }, { 0, 0, 0 }, { 0, 1, -1 }, { 0, 0, 86400000000000 },
        { 0, 29, 0 }, { 0, 30, 0 }, { 1, 0, 1 }, { 12, 0, 0 }, { 0, 0, INT64_MAX },
    };
    static const struct lmn__interval month = { 1, 0, 0 }, days = { 0, 30, 0 };

    (void)state;
    for (size_t i = 1; i < sizeof rising / sizeof rising[0]; i++)
        CHECK(lmn__interval_compare(&rising[i - 1], &rising[i]) < 0);
    CHECK_EQ(lmn__interval_compare(&month, &days), 0);
    CHECK_EQ(lmn__interval_hash(&month), lmn__interval_hash(&days));
}

static void test_interval__moves(void **state)
{
    static const char *const pairs[] = {
        "cast(d + interval '1 month' as string)",
        "'1970-02-01' '2024-02-01' null '1970-01-31'",
        "cast(d - interval '1 day' as string)",
        "'1969-12-31' '2023-12-31' null '1969-12-30'",
        "cast(interval 36 hour + d as string)",
        "'1970-01-02T12:00:00' '2024-01-02T12:00:00' null '1970-01-01T12:00:00'",
        "cast(date '2024-01-31' + interval '1' month as string)",
        "'2024-02-29' '2024-02-29' '2024-02-29' '2024-02-29'",
        "cast(date '2024-02-29' - interval '1 year' as string)",
        "'2023-02-28' '2023-02-28' '2023-02-28' '2023-02-28'",
        "cast(ts + interval '1 month 1 day 00:00:01' as string)",
        "'1970-02-02T00:00:01' '2024-02-02T00:00:01.123456' null '1970-02-02T00:00:00.999999'",
        "cast(tz - interval '2 hours' as string)",
        "'1970-01-01T00:00:00+02:00' '1970-01-01T05:28:43+02:00' null '1969-12-31T23:59:59+02:00'",
        "ts > timestamp '2024-01-08' - interval '7 days'",
        "0 1 null 0",
        "ts - timestamp '2024-01-01' < interval '1 second'",
        "1 1 null 1",
        "ts + (interval '1 day' * i64) > timestamp '2024-01-02'",
        "0 1 null 0",
        "cast(-interval '1 day' * 2 + interval '1 hour' as string)",
        "'-2 days 01:00:00' '-2 days 01:00:00' '-2 days 01:00:00' '-2 days 01:00:00'",
        "cast('1 day' as interval) = interval '24 hours'",
        "1 1 1 1",
        "interval '1 month' in (interval '1 day', interval '30 days')",
        "1 1 1 1",
        "now() - interval '1 day' < now()",
        "1 1 1 1",
        "try_cast(s as interval) is null",
        "1 1 1 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_STR(expr_type("d + interval '1 month'"), "tdD");
    CHECK_STR(expr_type("d + interval '1 hour'"), "tsu:");
    CHECK_STR(expr_type("ts + interval '1 hour'"), "tsu:");
    CHECK_STR(expr_type("tz + interval '1 us'"), "tsu:+02:00");
}

static void test_interval__refused(void **state)
{
    (void)state;
    CHECK_HAS(expr_values("d + interval '1 dayz'"), "'1 dayz' is no interval");
    CHECK_HAS(expr_values("d + interval '1 dayz'"), "at character 5");
    CHECK_HAS(expr_values("d * interval '1 day'"), "there is no date32 * interval");
    CHECK_HAS(expr_values("interval '1 day' - d"), "there is no interval - date32");
    CHECK_HAS(expr_values("s + interval '1 day'"), "there is no string + interval");
    CHECK_HAS(expr_values("interval '1 day' > d"), "cannot compare");
    CHECK_HAS(expr_values("ts + interval '300000 years'"), "the result of '+' does not fit");
    CHECK_HAS(expr_values("cast(s as interval) = interval '1 day'"),
              "'abc' is no value of type interval");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_interval__as_written),
        cmocka_unit_test(test_interval__order),
        cmocka_unit_test(test_interval__moves),
        cmocka_unit_test(test_interval__refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
