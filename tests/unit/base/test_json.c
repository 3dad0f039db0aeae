/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

/* The value of a member as text; "" when there is none. It is found in memory of the exact size. */
static const char *member(const char *text, const char *key)
{
    static char found[64];
    struct lmn__span copy = { malloc(strlen(text) + 1), strlen(text) }, value;
    struct lmn_error err = { 0 };
    enum lmn_status st;

    memcpy((void *)copy.data, text, copy.len);
    copy.data = realloc((void *)copy.data, copy.len != 0 ? copy.len : 1);
    st = lmn__json_member(copy, key, &value, &err);
    CHECK_STATUS(st, LMN_OK, &err);
    CHECK(value.len < sizeof found);
    if (value.data != NULL)
        memcpy(found, value.data, value.len);
    found[value.len] = '\0';
    free((void *)copy.data);
    return found;
}

static void test_json__finds_members(void **state)
{
    static const char text[] =
        " { \"a\" : 1,\"b\":\"x,}\\\"\\\\\" ,\n\"c\":{\"a\":[2,{}]},\t\"d\":[],"
        "\"e\":null,\"\":-1.5e+3,\"f\":true}\r\n";

    (void)state;
    CHECK_STR(member(text, "a"), "1");
    CHECK_STR(member(text, "b"), "\"x,}\\\"\\\\\"");
    CHECK_STR(member(text, "c"), "{\"a\":[2,{}]}");
    CHECK_STR(member(text, "d"), "[]");
    CHECK_STR(member(text, "e"), "null");
    CHECK_STR(member(text, ""), "-1.5e+3");
    CHECK_STR(member(text, "f"), "true");
    CHECK_STR(member(text, "g"), "");
    CHECK_STR(member("{}", "a"), "");
    CHECK_STR(member("{ }", "a"), "");
    /* The last one counts, as with other readers. */
    CHECK_STR(member("{\"a\":1,\"a\":2}", "a"), "2");
}

static void check_corrupt(const char *text, size_t len)
{
    uint8_t *copy = malloc(len != 0 ? len : 1);
    struct lmn__span value = { copy, 1 };
    struct lmn_error err = { 0 };

    memcpy(copy, text, len);
    if (lmn__json_member((struct lmn__span){ copy, len }, "a", &value, &err) != LMN_E_CORRUPT)
        check_fail(__FILE__, __LINE__, "%.*s is taken for an object", (int)len, text);
    CHECK_HAS(err.message, "no JSON object: it breaks at byte");
    free(copy);
}

static void test_json__corrupt_cut_short(void **state)
{
    static const char text[] = "{\"a\":[1,{\"b\":\"\\\"\"}],\"c\":null}";

    (void)state;
    for (size_t len = 0; len + 1 < sizeof text; len++)
        check_corrupt(text, len);
}

static void test_json__corrupt_text(void **state)
{
    static const char *const texts[] = {
        "",          "[1]",         "1",          "\"a\"",       "{a:1}",      "{\"a\" 1}",
        "{\"a\":}",  "{\"a\":1,}",  "{\"a\":1;}", "{\"a\":[1}",  "{\"a\":1]}", "{,}",
        "{\"a\":{}", "{\"a\":'b'}", "{1:\"a\"}",  "{\"a\":1} x", "{}}",        "{\"a\":1}{}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check_corrupt(texts[i], strlen(texts[i]));
    check_corrupt("{\"a\":1}\0", 8);
    check_corrupt("{\0\"a\":1}", 8);
}

/* Nesting ends somewhere, before the stack does. */
static void test_json__corrupt_deep(void **state)
{
    enum { DEEP = 100000 };
    char *text = malloc(2 * DEEP + 6);

    (void)state;
    memcpy(text, "{\"a\":", 5);
    memset(text + 5, '[', DEEP);
    memset(text + 5 + DEEP, ']', DEEP);
    text[5 + 2 * DEEP] = '}';
    check_corrupt(text, 2 * DEEP + 6);
    free(text);
}

static void test_json__numbers(void **state)
{
    static const char *const wrong[] = {
        "",      "-1",  "1.0", "1e3", "null", "18446744073709551616", "99999999999999999999",
        "\"1\"", "0x1", "1 ",  "+1"
    };
    uint64_t number;

    (void)state;
    CHECK(lmn__json_to_u64(span_of("0"), &number));
    CHECK_EQ(number, 0);
    CHECK(lmn__json_to_u64(span_of("18446744073709551615"), &number));
    CHECK(number == UINT64_MAX);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!lmn__json_to_u64(span_of(wrong[i]), &number));
}

static void test_json__texts(void **state)
{
    static const char *const wrong[] = { "",     "\"",           "a",       "1",
                                         "null", "\"abcdefgh\"", "\"\\n\"", "\"\\u0041\"" };
    const struct lmn__span nul = { (const uint8_t *)"\"\\\0\"", 4 };
    char text[8];

    (void)state;
    CHECK(lmn__json_to_text(span_of("\"\""), text, sizeof text));
    CHECK_STR(text, "");
    CHECK(lmn__json_to_text(span_of("\"abcdefg\""), text, sizeof text));
    CHECK_STR(text, "abcdefg");
    CHECK(lmn__json_to_text(span_of("\"\\\"\\\\\\/\""), text, sizeof text));
    CHECK_STR(text, "\"\\/");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        CHECK(!lmn__json_to_text(span_of(wrong[i]), text, sizeof text));
    CHECK(!lmn__json_to_text(nul, text, sizeof text));
}

/* The text of a string; "!" when it is none. */
static const char *unescape(const char *value)
{
    static char text[64];
    struct lmn__buf buf;
    bool good;

    lmn__buf_init(&buf, test_env(), 0);
    good = lmn__json_unescape(span_of(value), &buf);
    CHECK(!buf.failed && buf.len < sizeof text);
    if (good && buf.len != 0)
        memcpy(text, buf.data, buf.len);
    text[good ? buf.len : 0] = '\0';
    lmn__buf_deinit(&buf);
    return good ? text : "!";
}

static void test_json__unescapes(void **state)
{
    (void)state;
    CHECK_STR(unescape("\"\""), "");
    CHECK_STR(unescape("\"a\\n\\t\\\"\\\\\\/b\""), "a\n\t\"\\/b");
    CHECK_STR(unescape("\"\\u0041\\u00E4\\u20ac\""), "A\xc3\xa4\xe2\x82\xac");
    CHECK_STR(unescape("\"\\ud83d\\ude00\""), "\xf0\x9f\x98\x80");
    CHECK_STR(unescape("\"\\ud83dx\\ude00\""), "\xef\xbf\xbdx\xef\xbf\xbd");
    CHECK_STR(unescape("\"\\u12\""), "!");
    CHECK_STR(unescape("\"\\x\""), "!");
    CHECK_STR(unescape("\"\\\""), "!");
    CHECK_STR(unescape("7"), "!");
    CHECK_STR(unescape("\""), "!");
}

static void test_json__items(void **state)
{
    static const char *const expected[] = { "1", "\"a,]\"", "[2]", "{}" };
    struct lmn__span rest = span_of(" [1 , \"a,]\",[2],{} ]"), item;

    (void)state;
    for (int i = 0; i < 4; i++) {
        CHECK(lmn__json_next_item(&rest, &item));
        CHECK_EQ(item.len, strlen(expected[i]));
        CHECK_BYTES(item.data, expected[i], item.len);
    }
    CHECK(!lmn__json_next_item(&rest, &item));
    rest = span_of("[]");
    CHECK(!lmn__json_next_item(&rest, &item));
    rest = span_of("{\"a\": 1}");
    CHECK(!lmn__json_next_item(&rest, &item));
    rest = (struct lmn__span){ NULL, 0 };
    CHECK(!lmn__json_next_item(&rest, &item));
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_json__unescapes),     cmocka_unit_test(test_json__items),
        cmocka_unit_test(test_json__finds_members), cmocka_unit_test(test_json__corrupt_cut_short),
        cmocka_unit_test(test_json__corrupt_text),  cmocka_unit_test(test_json__corrupt_deep),
        cmocka_unit_test(test_json__numbers),       cmocka_unit_test(test_json__texts),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
