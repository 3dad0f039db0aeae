/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "ingest/text.h"

static struct lmn__span span(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static void test_text__integers(void **state)
{
    static const char *const bad[] = { "",
                                       "-",
                                       "+1",
                                       "007",
                                       "-01",
                                       "1.0",
                                       "1 ",
                                       "0x1",
                                       "9223372036854775808",
                                       "-9223372036854775809" };
    int64_t value;
    uint64_t whole;

    (void)state;
    CHECK(lmn__text_int(span("9223372036854775807"), &value));
    CHECK(value == INT64_MAX);
    CHECK(lmn__text_int(span("-9223372036854775808"), &value));
    CHECK(value == INT64_MIN);
    CHECK(lmn__text_int(span("-0"), &value));
    CHECK_EQ(value, 0);
    CHECK(lmn__text_uint(span("18446744073709551615"), &whole));
    CHECK(whole == UINT64_MAX);
    CHECK(!lmn__text_uint(span("18446744073709551616"), &whole));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!lmn__text_int(span(bad[i]), &value));
}

/* Every double that is printed in full reads back as itself. */
static void test_text__whole_numbers(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } good[] = { { "1.0", 1 },        { "-2.000", -2 }, { "1e3", 1000 },
                 { "1.50e1", 15 },    { "0.0", 0 },     { "9223372036854775807e0", INT64_MAX },
                 { "0e99999999", 0 }, { "1.", 1 },      { ".0", 0 } };
    static const char *const bad[] = { "1.5", "1e-1", "1e19", ".", "-.", "nan", "x", "" };
    int64_t value;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK(lmn__text_whole(span(good[i].text), &value));
        CHECK_EQ(value, good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!lmn__text_whole(span(bad[i]), &value));
}

static void test_text__floats_come_back(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = test_random(&seed);
        double value, back;
        char text[64];

        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        if (i % 2 == 0)
            value = (double)(int64_t)(bits % 1000000) / 1000;
        snprintf(text, sizeof text, "%.17g", value);
        CHECK(lmn__text_float(span(text), &back) || strchr(text, '+') != NULL);
        if (strchr(text, '+') == NULL)
            CHECK(memcmp(&value, &back, sizeof value) == 0);
    }
}

static void test_text__floats(void **state)
{
    static const char *const bad[] = { "",    ".",    "-.",    "1e", "1e+", "--1", "1.2.3",
                                       "1,5", "00.5", "1e999", "-",  ".e5", "na" };
    double value;

    (void)state;
    CHECK(lmn__text_float(span("1e23"), &value) && value == 1e23);
    CHECK(lmn__text_float(span("-0.0"), &value) && value == 0 && signbit(value));
    CHECK(lmn__text_float(span("123456789012345678901234567890.5"), &value) &&
          value == 123456789012345678901234567890.5);
    CHECK(lmn__text_float(span("2.2250738585072011e-308"), &value) &&
          value == 2.2250738585072011e-308);
    CHECK(lmn__text_float(span("-.5"), &value) && value == -0.5);
    CHECK(lmn__text_float(span("5."), &value) && value == 5);
    CHECK(lmn__text_float(span("5.e-1"), &value) && value == 0.5);
    CHECK(lmn__text_float(span(".123456789012345678901234567890"), &value) &&
          value == .123456789012345678901234567890);
    CHECK(lmn__text_float(span("NaN"), &value) && isnan(value));
    CHECK(lmn__text_float(span("-Infinity"), &value) && value < 0 && isinf(value));
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!lmn__text_float(span(bad[i]), &value));
}

static void test_text__dates(void **state)
{
    static const char *const bad[] = { "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-01",
                                       "2024-01-32", "2024-1-01",  "20240101",   "2024-01-01 " };
    int32_t days;

    (void)state;
    CHECK(lmn__text_date(span("1970-01-01"), &days) && days == 0);
    CHECK(lmn__text_date(span("1969-12-31"), &days) && days == -1);
    CHECK(lmn__text_date(span("2000-02-29"), &days) && days == 11016);
    CHECK(lmn__text_date(span("0000-01-01"), &days) && days == -719528);
    CHECK(lmn__text_date(span("9999-12-31"), &days) && days == 2932896);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!lmn__text_date(span(bad[i]), &days));
}

static void test_text__moments(void **state)
{
    static const char *const bad[] = { "2024-01-01",
                                       "2024-01-01T",
                                       "2024-01-01T24:00",
                                       "2024-01-01T10:60",
                                       "2024-01-01T10:00:60",
                                       "2024-01-01T10:00:00.",
                                       "2024-01-01T10:00:00.1234567890",
                                       "2024-01-01T10:00z",
                                       "2024-01-01T10:00+1",
                                       "2024-01-01T10:00+02:0",
                                       "2024-01-01T10:00ZZ",
                                       "2024-01-01x10:00" };
    struct lmn__moment moment;

    (void)state;
    CHECK(lmn__text_moment(span("1970-01-02 00:00"), &moment));
    CHECK_EQ(moment.seconds, 86400);
    CHECK(!moment.zoned);
    CHECK(lmn__text_moment(span("1970-01-01T02:00:01.25+02:00"), &moment));
    CHECK_EQ(moment.seconds, 1);
    CHECK_EQ(moment.nanos, 250000000);
    CHECK_EQ(moment.digits, 2);
    CHECK(moment.zoned);
    CHECK(lmn__text_moment(span("1969-12-31T23:30:00-0030"), &moment));
    CHECK_EQ(moment.seconds, 0);
    CHECK(lmn__text_moment(span("1970-01-01T01:00+01"), &moment));
    CHECK_EQ(moment.seconds, 0);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK(!lmn__text_moment(span(bad[i]), &moment));
}

static void test_text__decimals(void **state)
{
    __int128 value;

    (void)state;
    CHECK(lmn__text_decimal(span("-12.3"), 5, 2, &value) && value == -1230);
    CHECK(lmn__text_decimal(span("0.05"), 2, 2, &value) && value == 5);
    CHECK(lmn__text_decimal(span("123"), 5, 2, &value) && value == 12300);
    CHECK(!lmn__text_decimal(span("1234"), 5, 2, &value));
    CHECK(!lmn__text_decimal(span("0.123"), 5, 2, &value));
    CHECK(lmn__text_decimal(span("1e2"), 5, 2, &value) && value == 10000);
    CHECK(lmn__text_decimal(span("-1.25e1"), 5, 2, &value) && value == -1250);
    CHECK(lmn__text_decimal(span("1250e-3"), 5, 2, &value) && value == 125);
    CHECK(lmn__text_decimal(span("1.50000"), 2, 1, &value) && value == 15);
    CHECK(lmn__text_decimal(span("0e99999"), 5, 2, &value) && value == 0);
    CHECK(lmn__text_decimal(span("0.000"), 1, 0, &value) && value == 0);
    CHECK(!lmn__text_decimal(span("1e3"), 5, 2, &value));
    CHECK(!lmn__text_decimal(span("1e-3"), 5, 2, &value));
    CHECK(!lmn__text_decimal(span("1e99999"), 38, 0, &value));
    CHECK(!lmn__text_decimal(span("1e-99999"), 38, 38, &value));
    CHECK(!lmn__text_decimal(span("12e"), 5, 2, &value));
    CHECK(lmn__text_decimal(span("99999999999999999999999999999999999999"), 38, 0, &value));
    CHECK(!lmn__text_decimal(span("999999999999999999999999999999999999999"), 38, 0, &value));
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_text__whole_numbers),
        cmocka_unit_test(test_text__integers),
        cmocka_unit_test(test_text__floats_come_back),
        cmocka_unit_test(test_text__floats),
        cmocka_unit_test(test_text__dates),
        cmocka_unit_test(test_text__moments),
        cmocka_unit_test(test_text__decimals),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
