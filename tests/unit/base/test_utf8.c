/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <string.h>

#include "check.h"

static bool is_valid(const char *text)
{
    return lmn__utf8_valid((struct lmn__span){ (const uint8_t *)text, strlen(text) });
}

static void test_utf8__text_is_valid(void **state)
{
    (void)state;
    CHECK(is_valid(""));
    CHECK(is_valid("info.width"));
    CHECK(is_valid("Rh\xc3\xb4ne \xe6\x9d\xb1\xe4\xba\xac \xf0\x9f\x9a\x80"));
    CHECK(is_valid("\x7f\xc2\x80\xdf\xbf"));
    CHECK(is_valid("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"));
    CHECK(is_valid("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"));
}

static void test_utf8__other_bytes_are_not(void **state)
{
    static const char *const bad[] = {
        "\x80",             /* a later byte first */
        "a\xff",            /* never a byte of UTF-8 */
        "\xc3",             /* cut short */
        "\xe6\x9d",         /* cut short */
        "\xf0\x9f\x9a",     /* cut short */
        "\xc0\x80",         /* two bytes for what needs one */
        "\xc1\xbf",         /* the same */
        "\xe0\x9f\xbf",     /* three for two */
        "\xf0\x8f\xbf\xbf", /* four for three */
        "\xed\xa0\x80",     /* a surrogate */
        "\xf4\x90\x80\x80", /* above the last character */
        "\xf5\x80\x80\x80", /* above the last character */
        "\xe6\x9d\x41",     /* not a later byte */
        "\xc3\x41",         /* not a later byte */
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (is_valid(bad[i]))
            check_fail(__FILE__, __LINE__, "case %zu is taken for text", i);
    }
    CHECK(!lmn__utf8_valid((struct lmn__span){ (const uint8_t *)"a\0b", 3 }));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8__text_is_valid),
        cmocka_unit_test(test_utf8__other_bytes_are_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
