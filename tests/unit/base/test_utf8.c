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

/* Where the text ends that a bad byte follows, however many bytes of ASCII stand before. */
static void test_utf8__bytes_up_to_a_bad_one(void **state)
{
    uint8_t text[64];

    (void)state;
    for (size_t len = 0; len < sizeof text; len++) {
        for (size_t bad = 0; bad < len; bad++) {
            memset(text, 'a', sizeof text);
            CHECK_EQ(lmn__utf8_bytes((struct lmn__span){ text, len }), len);
            text[bad] = 0x80;
            CHECK_EQ(lmn__utf8_bytes((struct lmn__span){ text, len }), bad);
            if (bad == 0)
                continue;
            text[bad - 1] = 0xc3; /* a character of two bytes */
            CHECK_EQ(lmn__utf8_bytes((struct lmn__span){ text, len }), len);
        }
    }
    CHECK_EQ(lmn__utf8_bytes((struct lmn__span){ NULL, 0 }), 0);
    CHECK_EQ(lmn__utf8_bytes((struct lmn__span){ (const uint8_t *)"a\0b", 3 }), 3);
}

static enum lmn_status check(const char *text, struct lmn_error *err)
{
    return lmn__utf8_check((struct lmn__span){ (const uint8_t *)text, strlen(text) }, "a name",
                           err);
}

static void test_utf8__check_shows_the_text(void **state)
{
    char longer[500];
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(check("Rh\xc3\xb4ne", &err), LMN_OK, &err);
    CHECK_STATUS(check("Rh\xc3\xb4ne\xff b", &err), LMN_E_INVALID, &err);
    CHECK_STR(err.message, "a name is not UTF-8: \"Rh\xc3\xb4ne\\xff b\"");
    memset(longer, 0xff, sizeof longer);
    longer[sizeof longer - 1] = '\0';
    CHECK_STATUS(check(longer, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "\\xff\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8__text_is_valid),
        cmocka_unit_test(test_utf8__other_bytes_are_not),
        cmocka_unit_test(test_utf8__bytes_up_to_a_bad_one),
        cmocka_unit_test(test_utf8__check_shows_the_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
