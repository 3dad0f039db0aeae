/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "expressions.h"

static void test_parse__errors_name_the_place(void **state)
{
    static const char *const pairs[] = {
        "",
        "an empty expression",
        "   -- only a comment",
        "an empty expression",
        "i64 +",
        "expected a value, at the end of the expression",
        "i64 = = 2",
        "expected a value, at character 7 near '= 2'",
        "(i64 = 1",
        "expected ')', at the end of the expression",
        "i64 = 1)",
        "expected an operator or the end, at character 8 near ')'",
        "i64 = 1\n  and\n  or",
        "expected a value, at line 3, character 3 near 'or'",
        "s = 'abc",
        "a quote (') is never closed, at character 5 near ''abc'",
        "s = \xc3\xa4\xc3\xa4 'x",
        "a quote (') is never closed, at character 8 near ''x'",
        "i64 ~ 1",
        "a character that is no part of an expression, at character 5 near '~ 1'",
        "i64 is 3",
        "expected NULL, TRUE, FALSE or DISTINCT FROM, at character 8 near '3'",
        "i64 not 3",
        "expected IN, BETWEEN, LIKE or ILIKE, at character 9 near '3'",
        "i64 in ()",
        "expected a value, at character 9 near ')'",
        "case i64 end",
        "expected when, at character 10 near 'end'",
        "12abc = 3",
        "a number runs into a name, at character 1 near '12abc = 3'",
        "/* i64",
        "a comment has no end, at character 1",
        "X'0' = bin",
        "pairs of hexadecimal digits",
        "s like 'a' escape 'ab'",
        "expected one character in quotes, at character 19",
        "cast(i64 as decimal(1,2,3))",
        "expected ')', at character 25",
        "i64.",
        "expected the name of a field, at the end of the expression",
        "\xff = 1",
        "not UTF-8",
        NULL,
    };

    (void)state;
    for (int i = 0; pairs[i] != NULL; i += 2)
        CHECK_HAS(expr_values(pairs[i]), pairs[i + 1]);
}

static void test_parse__binding_errors_name_the_place(void **state)
{
    static const char *const pairs[] = {
        "i46 = 1",
        "there is no column \"i46\"; did you mean i64",
        "flag and widthh > 3",
        "there is no column \"widthh\", at character 10 near 'widthh > 3'",
        "info.widthh > 3",
        "there is no field \"widthh\"; did you mean width",
        "i64.width = 3",
        "\"i64\" is no struct and has no field \"width\"",
        "s = \"abc\"",
        "a string stands in single quotes",
        "s = 5",
        "cannot compare string and int64 without a cast (s is string), at character 3 near '= 5'",
        "i64 = 'x'",
        "'x' is no value of type int64 (i64 is int64), at character 7 near ''x''",
        "info.width in (1, 'x')",
        "'x' is no value of type int16 (info.width is int16), at character 19 near",
        "abs(i64) + i64 between 0 and 'x'",
        "'x' is no value of type int64 (i64 is int64), at character 30",
        "d = 'yesterday'",
        "'yesterday' is no value of type date32 (d is date32), at character 5",
        "array_has(items, 'x')",
        "'x' is no value of type int32 (items is list), at character 18",
        "greatest(i64, info.width, s) = d",
        "cannot compare int64 and string without a cast (s is string, i64 is int64, info.width "
        "is int16), at character 1",
        "i64 in (u64, f32, f64, info.width, flag, s)",
        "(flag is boolean, i64 is int64, ",
        "flag = 1",
        "cannot compare boolean and int64",
        "i64 and flag",
        "expected a condition, not a value of type int64, at character 1",
        "not i64",
        "expected a condition, not a value of type int64",
        "items = s",
        "cannot compare list and string",
        "info < i64",
        "cannot compare struct and int64",
        "items in (1)",
        "cannot compare list and int64",
        "i64 in items2",
        "there is no column \"items2\"",
        "s + 1",
        "there is no string + int64 (s is string), at character 3 near '+ 1'",
        "-s",
        "a value of type string has no sign",
        "date '2024-02-30' = d",
        "'2024-02-30' is no value of type date32, at character 1",
        "interval '1 day' = d",
        "cannot compare date32 and interval",
        "coalesce(s, 1)",
        "cannot choose between string and int64",
        NULL,
    };

    (void)state;
    for (int i = 0; pairs[i] != NULL; i += 2)
        CHECK_HAS(expr_values(pairs[i]), pairs[i + 1]);
}

static void test_parse__words_and_blanks(void **state)
{
    static const char *const pairs[] = {
        "i64=1 AND(flag)",
        "1 0 null 0",
        "I64 = 1 aNd NoT flag",
        "0 0 null 0",
        "i64 /* one */ = -- two\n 1",
        "1 0 null 0",
        "'it''s' = s",
        "0 null 0 0",
        "'it''s'",
        "'it's' 'it's' 'it's' 'it's'",
        "0xffffffffffffffff",
        "18446744073709551615 18446744073709551615 18446744073709551615 18446744073709551615",
        "-0x8000000000000000",
        "-9223372036854775808 -9223372036854775808 -9223372036854775808 -9223372036854775808",
        "u64 = 0xffffffffffffffff",
        "0 1 0 0",
        "0x10",
        "16 16 16 16",
        "1e3",
        "1000 1000 1000 1000",
        ".5",
        "0.5 0.5 0.5 0.5",
        "- 5",
        "-5 -5 -5 -5",
        "-9223372036854775808",
        "-9223372036854775808 -9223372036854775808 -9223372036854775808 -9223372036854775808",
        "case when flag then 1 end",
        "1 null null 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
}

/* `count` times `text`, between `before` and `behind`. */
static char *repeated(const char *before, const char *text, size_t count, const char *behind)
{
    size_t len = strlen(text), used = strlen(before);
    char *made = malloc(used + len * count + strlen(behind) + 1);

    memcpy(made, before, used);
    for (size_t i = 0; i < count; i++, used += len)
        memcpy(made + used, text, len);
    memcpy(made + used, behind, strlen(behind) + 1);
    return made;
}

static void test_parse__depth_is_limited(void **state)
{
    static const char *const parts[][3] = { { "", "(", "" },          { "", "not ", "flag" },
                                            { "", "- ", "i64" },      { "i64", " + 1", "" },
                                            { "", "case when ", "" }, { "items", "[1]", "" },
                                            { "", "lower(", "" },     { "i64", "::int", "" },
                                            { "", "[", "" },          { "flag", " is true", "" },
                                            { "i64", " = 1", "" } };

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        char *text = repeated(parts[i][0], parts[i][1], 100000, parts[i][2]);

        CHECK_HAS(expr_values(text), "nests deeper than 200");
        free(text);
    }
}

static void test_parse__long_chains_are_not_deep(void **state)
{
    char *text = repeated("i64 = 1", " or i64 = 2", 5000, "");

    (void)state;
    CHECK_STR(expr_values(text), "1 1 null 0");
    free(text);
    text = repeated("length(s", " || s", 1000, ")");
    CHECK_STR(expr_values(text),
              "error: ||() takes 2 to 255 arguments, not 1001, at character 8 near "
              "'s || s || s || s || s ||'");
    free(text);
    text = repeated("i64 in (0", ",0,1,7", 20000, ")");
    CHECK_STR(expr_values(text), "1 0 null 0");
    free(text);
    text = repeated("", " ", (16 << 20) + 1, "");
    CHECK_HAS(expr_values(text), "the limit is 16777216");
    free(text);
}

static enum lmn_status state_of(void *context, const char *name,
                                const struct lmn__expr_argument *argument, uint32_t count,
                                const char **path_out, struct lmn_error *err)
{
    (void)context;
    if (strcmp(name, "leman_state") != 0)
        return LMN_E_NOT_FOUND;
    if (count != 1 || !argument[0].is_string)
        return lmn_fail(err, LMN_E_INVALID, "leman_state() takes a column");
    if (strcmp(argument[0].text, "caption") != 0)
        return lmn_fail(err, LMN_E_INVALID, "no function fills %s", argument[0].text);
    *path_out = "i64";
    return LMN_OK;
}

static void test_parse__resolver_and_paths(void **state)
{
    const struct lmn__expr_resolver resolver = { .find = state_of };
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn__expr *expr;
    const char *const *path;
    uint32_t count;
    uint8_t bits;
    uint64_t rows;
    struct lmn_error err;

    (void)state;
    expr_batch(&schema, &batch);
    CHECK_OK(lmn__expr_parse(test_env(),
                             "leman_state('caption') > 0 and FLAG and info.NAME <> 'x' and flag",
                             &expr, &err));
    CHECK_OK(lmn__expr_paths(expr, &path, &count, &err));
    CHECK_EQ(count, 3);
    CHECK_STR(path[1], "info.NAME");
    CHECK_STATUS(lmn__expr_bind_condition(expr, &schema, NULL, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn__expr_bind_condition(expr, &schema, &resolver, &err), LMN_OK, &err);
    CHECK_OK(lmn__expr_paths(expr, &path, &count, &err));
    CHECK_EQ(count, 3);
    CHECK_STR(path[0], "i64");
    CHECK_STR(path[1], "flag");
    CHECK_STR(path[2], "info.Name");
    CHECK_OK(lmn__expr_select(expr, &batch, &bits, &rows, &err));
    CHECK_EQ(bits, 1);
    CHECK_EQ(rows, 1);
    lmn__expr_free(expr);

    CHECK_OK(lmn__expr_parse(test_env(), "leman_state('label') = 1", &expr, &err));
    CHECK_STATUS(lmn__expr_bind(expr, &schema, &resolver, NULL, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "no function fills label, at character 1");
    CHECK_STATUS(lmn__expr_select(expr, &batch, &bits, &rows, &err), LMN_E_INVALID, &err);
    lmn__expr_free(expr);
    schema.release(&schema);
    batch.release(&batch);
}

static void test_parse__target_must_hold_the_values(void **state)
{
    struct ArrowSchema schema;
    struct ArrowArray batch, values;
    struct lmn__expr *expr;
    struct lmn_error err;

    (void)state;
    expr_batch(&schema, &batch);
    CHECK_OK(lmn__expr_parse(test_env(), "i64 * 100", &expr, &err));
    CHECK_STATUS(lmn__expr_bind(expr, &schema, NULL, schema.children[1], &err), LMN_OK, &err);
    CHECK_STATUS(lmn__expr_eval(expr, &batch, &values, &err), LMN_OK, &err);
    CHECK_EQ(((const int32_t *)values.buffers[1])[1], 200);
    values.release(&values);
    CHECK_STATUS(lmn__expr_bind(expr, &schema, NULL, schema.children[2], &err), LMN_OK, &err);
    CHECK_STATUS(lmn__expr_eval(expr, &batch, &values, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "200 is no value of type int8");
    lmn__expr_free(expr);
    CHECK_OK(lmn__expr_parse(test_env(), "f64", &expr, &err));
    CHECK_STATUS(lmn__expr_bind(expr, &schema, NULL, schema.children[0], &err), LMN_OK, &err);
    CHECK_STATUS(lmn__expr_eval(expr, &batch, &values, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "0.5 is no value of type int64");
    CHECK_STATUS(lmn__expr_bind(expr, &schema, NULL, schema.children[14], &err), LMN_E_INVALID,
                 &err);
    lmn__expr_free(expr);
    schema.release(&schema);
    batch.release(&batch);
}

/* Every request of memory fails once. */
static void test_parse__faults(void **state)
{
    static const char text[] =
        "i64 in (1,2,3,4,5,6,7,8,9,10,11,12,13,14) and upper(s) like '%a_%' or "
        "case when flag then dec else 1.5 end > 2 and regexp_like(s, '(a|b)+') "
        "and array_has_any(items, [1, 2]) and [items, null][1] is null "
        "and array_has_any(array_sort(array_append(items, 1)), items) and md5(s) <> '' "
        "and regexp_replace(s, '(a)|b', '$1') <> 'x' and regexp_count(s, 'a') < 9 "
        "and i64 << 1 & 3 <> 9 and array_length([1, 2]) = 2 and concat(s, i64) <> '' and "
        "date_trunc('month', ts) < '2030-01-01' and info.width is not null";

    (void)state;
    check_expression_faults(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse__errors_name_the_place),
        cmocka_unit_test(test_parse__binding_errors_name_the_place),
        cmocka_unit_test(test_parse__words_and_blanks),
        cmocka_unit_test(test_parse__depth_is_limited),
        cmocka_unit_test(test_parse__long_chains_are_not_deep),
        cmocka_unit_test(test_parse__resolver_and_paths),
        cmocka_unit_test(test_parse__target_must_hold_the_values),
        cmocka_unit_test(test_parse__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
