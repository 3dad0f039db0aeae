/* SPDX-License-Identifier: Apache-2.0 */
/* Strings with other characters, bytes out of text, whole numbers. */
#include "check.h"
#include "expressions.h"

static void test_text_edit__values(void **state)
{
    static const char *const pairs[] = {
        "overlay(s, '\xc3\xa4', 2)",
        "'a\xc3\xa4\x63' null '\xc3\xa4' '\xc3\x84\xc3\xa4\x66\x65l 100%'",
        "overlay(s, '-', 2, 9223372036854775807)",
        "'a-' null '-' '\xc3\x84-'",
        "translate(s, 'ab\xc3\x84', '\xc3\xa4')",
        "'\xc3\xa4\x63' null '' 'pfel 100%'",
        "substr_index('a.b.c', '.', i64)",
        "'a' 'a.b' null 'a.b.c'",
        "substr_index('a.b.c', '.', -2)",
        "'b.c' 'b.c' 'b.c' 'b.c'",
        "chr(i64 + 196)",
        "'\xc3\x85' '\xc3\x86' null '\xc3\x80'",
        "find_in_set(s, 'x,abc,')",
        "2 null 3 0",
        "levenshtein(s, 'apfel')",
        "4 null 5 6",
        "position(s, 'c')",
        "3 null 0 0",
        "decode('C384', 'hex') = cast('\xc3\x84' as binary)",
        "1 1 1 1",
        "encode(decode(encode(s, 'base64pad'), 'base64'), 'base64pad')",
        "'YWJj' null '' 'w4RwZmVsIDEwMCU='",
        "gcd(i64, 6)",
        "1 2 null 2",
        "lcm(i64, 6) + factorial(3)",
        "12 12 null 18",
        "nanvl(cast('nan' as double), 2)",
        "2 2 2 2",
        "iszero(f64)",
        "0 1 null 0",
        "trunc(f64 * 1.5, 1)",
        "0.7 -0 null 3.7",
        "round(sinh(1.0) / cosh(1.0) - tanh(1.0), 9) = 0 and round(asinh(sinh(0.5)), 9) = 0.5",
        "1 1 1 1",
        "nvl2(s, i64, 7)",
        "1 7 null -4",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("overlay(s, 'x', 0)"), "characters of a string count from 1");
    CHECK_HAS(expr_values("chr(i64 - 2)"), "there is no character -1");
    CHECK_HAS(expr_values("chr(55296)"), "there is no character 55296");
    CHECK_HAS(expr_values("decode(s, 'hex')"), "the string ends inside of a byte in hex");
    CHECK_HAS(expr_values("decode('a*', 'base64')"), "byte 1 of the string is no base64");
    CHECK_HAS(expr_values("decode('a', 'base64')"), "the string ends inside of a byte in base64");
    CHECK_HAS(expr_values("decode(s, 'rot13')"), "decode() knows 'hex', 'base64' and 'base64pad'");
    CHECK_HAS(expr_values("factorial(21)"), "the result of factorial() does not fit int64");
    CHECK_HAS(expr_values("lcm(9223372036854775807, 2)"), "the result of lcm() does not fit");
    CHECK_HAS(expr_values("gcd(f64, 2)"), "gcd() takes a whole number here");
    CHECK_HAS(expr_values("trunc(f64, s)"), "the number of digits is a whole number");
    CHECK_HAS(expr_values("levenshtein(repeat('a', 100000), repeat('b', 100000))"),
              "levenshtein() takes no strings of 100000 and 100000 bytes");
}

static void test_text_edit__faults(void **state)
{
    (void)state;
    check_expression_faults("overlay(s, 'x', 1) <> translate(s, 'a', 'b') and levenshtein(s, 'a') "
                            "< 9 and decode(encode(s, 'hex'), 'hex') is not null and "
                            "gcd(i64, 2) > 0 and nvl2(s, trunc(f64, 1), 1) > 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_edit__values),
        cmocka_unit_test(test_text_edit__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
