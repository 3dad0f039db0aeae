/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of regular expressions as lists and by name, flags inside of patterns, classes. */
#include "check.h"
#include "expressions.h"

static void test_regex__groups(void **state)
{
    static const char *const pairs[] = {
        "regexp_match(s, '(b)(x)?(c)')",
        "['b' 'c'] null null null",
        "regexp_match(s, '[a-z]+')",
        "['abc'] null null ['pfel']",
        "regexp_match(s, 'B', 'i')[1]",
        "'b' null null null",
        "case when regexp_match(s, 'b') then 1 else 2 end",
        "1 2 2 2",
        "not regexp_match(s, 'b') or regexp_match(s, 'c') is not null",
        "1 null 1 1",
        "regexp_replace('2024-01-31', '(?<y>\\d+)-(?P<m>\\d+)-(\\d+)', '${3}.$m.$y$n')",
        "'31.01.2024' '31.01.2024' '31.01.2024' '31.01.2024'",
        "regexp_replace('abcdefghijkl', '(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)(k)', '$11${10}')",
        "'kjl' 'kjl' 'kjl' 'kjl'",
        "regexp_instr('xaxbxc', 'x(.)', 2, 2, '', 1)",
        "6 6 6 6",
        "regexp_instr('xaxb', 'y')",
        "0 0 0 0",
        "regexp_count(s, '[a-z]', abs(i64))",
        "3 null null 2",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("regexp_like(s, '(?<a>b)(?<a>c)')"), "has two groups of one name");
    CHECK_HAS(expr_values("regexp_like(s, '(?<a')"), "has a group whose name does not end");
    CHECK_HAS(expr_values("regexp_instr(s, 'a', 0)"), "regexp_instr() counts characters");
    CHECK_HAS(expr_values("regexp_match(s, '()()()()()()()()()()()()()()()()()()()()()()()()()()"
                          "()()()()()()()()')"),
              "regexp_match() gives no more than 31 groups");
    CHECK_HAS(expr_values("regexp_match(i64, 'a')"), "expected a string, not a value of type");
}

static void test_regex__matches(void **state)
{
    static const char *const pairs[] = {
        "regexp_like(s, '')",
        "1 null 1 1",
        "regexp_like(s, '^$')",
        "0 null 1 0",
        "regexp_like(s, '$^')",
        "0 null 1 0",
        "regexp_like(s, '$')",
        "1 null 1 1",
        "regexp_like(s, '^b|c$')",
        "1 null 0 0",
        "regexp_like(s, '^b|b$|x')",
        "0 null 0 0",
        "regexp_like(s, 'a$b|bc')",
        "1 null 0 0",
        "regexp_like(s, '^.pf[^x]+%$')",
        "0 null 0 1",
        "regexp_like(s, '^.{10}$')",
        "0 null 0 1",
        "regexp_like(s, '(?i)\xc3\xa4PF')",
        "0 null 0 1",
        "regexp_like(s, '^\\W')",
        "0 null 0 0",
        /* A table of its states has no end, or is too large. */
        "regexp_like('xabbbabbbbb' || s, 'a(a|b){8}.?$')",
        "0 null 1 0",
        "regexp_like(repeat('ab', 300) || s, '^(ab){300}[a-c]*$')",
        "1 null 1 0",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

static void test_regex__flags_and_classes(void **state)
{
    static const char *const pairs[] = {
        "regexp_like('aB', '(?i:A)B') and not regexp_like('ab', '(?i:A)B')",
        "1 1 1 1",
        "regexp_like('ab', '(?i)A(?-i)B') or regexp_like('x', '((?i)X)X')",
        "0 0 0 0",
        "regexp_like('a' || chr(10) || 'b', '(?m)^b$') and not regexp_like('a' || chr(10), 'a$')",
        "1 1 1 1",
        "regexp_like('a' || chr(10) || 'b', '(?s)a.b') and regexp_like(chr(10) || 'b', '^b', 'm')",
        "1 1 1 1",
        "regexp_like('A-9', '^[[:upper:]][[:punct:]][[:digit:]]\\z')",
        "1 1 1 1",
        "regexp_like('\xc3\xa9', '\\A\\x{e9}\\z') and regexp_like('a', '[\\x61-\\x63]')",
        "1 1 1 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("regexp_like(s, '(?=a)')"), "has a group that looks around, or with");
    CHECK_HAS(expr_values("regexp_like(s, '(?<=a)')"), "has a group that looks around, or with");
    CHECK_HAS(expr_values("regexp_like(s, '(?i')"), "has a group that looks around, or with");
    CHECK_HAS(expr_values("regexp_like(s, '[[:other:]]')"), "names a class of characters that is");
    CHECK_HAS(expr_values("regexp_like(s, '\\x6')"), "has an escape without its hex digits");
    CHECK_HAS(expr_values("regexp_like(s, '\\x{}')"), "has an escape without its hex digits");
}

static void test_regex__faults(void **state)
{
    (void)state;
    check_expression_faults("regexp_match(s, '(?<n>a)|(b)')[1] <> regexp_replace(s, '(?<n>a)', "
                            "'${n}x') and regexp_instr(s, 'b', 1, 1, 'i') > 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_regex__groups),
        cmocka_unit_test(test_regex__matches),
        cmocka_unit_test(test_regex__flags_and_classes),
        cmocka_unit_test(test_regex__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
