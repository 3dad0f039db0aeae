/* SPDX-License-Identifier: Apache-2.0 */
/* Lists with other items, made of strings or numbers, and put together to strings. */
#include "check.h"
#include "expressions.h"

static void test_list_edit__items(void **state)
{
    static const char *const pairs[] = {
        "array_replace([2, i64, 2], 2, 9)",
        "[9 1 2] [9 2 2] [9 null 2] [9 -4 2]",
        "array_replace(items, null, i64)",
        "[1 2 1] [] null [7]",
        "array_replace_all([flag, null, true], true, null)",
        "[null null null] [0 null null] [null null null] [null null null]",
        "array_replace_n([s, 'x', 'x'], 'x', 'y', i64)",
        "['abc' 'y' 'x'] [null 'y' 'y'] ['' 'x' 'x'] ['\xc3\x84pfel 100%' 'x' 'x']",
        "array_remove_n([2, i64, 2], 2, 2)",
        "[1] [2] [null] [-4]",
        "array_remove_n(items, null, 1)",
        "null null null null",
        "array_positions([2, i64, null, 2], i64)",
        "[2] [1 2 4] [2 3] [2]",
        "array_compact(items)",
        "[1 2] [] null [7]",
        "array_compact([items])",
        "[[1 2 null]] [[]] [] [[7]]",
        "array_any_value([null, i64])",
        "1 2 null -4",
        "array_repeat(s, i64)",
        "['abc'] [null null] null []",
        "array_repeat(items, 2)",
        "[[1 2 null] [1 2 null]] [[] []] [null null] [[7] [7]]",
        "array_length(array_repeat(flag, 5000))",
        "5000 5000 5000 5000",
        "array_resize(items, 2, 5)",
        "[1 2] [5 5] null [7 5]",
        "array_resize(items, 4)",
        "[1 2 null null] [null null null null] null [7 null null null]",
        "array_resize([items], 2)",
        "[[1 2 null] null] [[] null] [null null] [[7] null]",
        "array_position([2, 1, 2, i64], 2, 2)",
        "3 3 3 3",
        "array_position(items, 1, i64)",
        "1 null null null",
        "array_slice([1, 2, 3, 4], 4, 1, -2)",
        "[4 2] [4 2] [4 2] [4 2]",
        "array_slice(items, 1, 3, 9223372036854775807)",
        "[1] [] null [7]",
        "arrays_overlap(items, [7]) or list_indexof(items, 2) = 2",
        "1 null null 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_STR(expr_values_of("array_replace(items, 7, 8)", 2, 2), "null [8]");
    CHECK_HAS(expr_values("array_repeat(1, 99999999999)"),
              "array_repeat() makes no lists of more than 16777216 items");
    CHECK_STR(expr_values("case when i64 > 5 then array_repeat(1, 99999999999)[1] end"),
              "null null null null");
    CHECK_HAS(expr_values("array_resize(items, 0 - i64)"), "a list has no size of -1");
    CHECK_HAS(expr_values("array_resize(items, 'a')"), "the size of a list is a whole number");
    CHECK_HAS(expr_values("array_replace(items, 'x', 1)"), "'x' is no value of type int32");
    CHECK_HAS(expr_values("array_replace([items], items, items)"), "comparing items of nested");
    CHECK_HAS(expr_values("array_replace(s, 'x', 'y')"), "expected a list, not a value of type");
    CHECK_HAS(expr_values("array_slice(items, 1, 2, 0)"), "array_slice() takes no step of");
}

static void test_list_edit__texts(void **state)
{
    static const char *const pairs[] = {
        "string_to_array('a,b,,c', ',')",
        "['a' 'b' '' 'c'] ['a' 'b' '' 'c'] ['a' 'b' '' 'c'] ['a' 'b' '' 'c']",
        "string_to_array(s, ' ', '100%')",
        "['abc'] null [] ['\xc3\x84pfel' null]",
        "string_to_array(left(s, 2), null)",
        "['a' 'b'] null [] ['\xc3\x84' 'p']",
        "string_to_list(s, '')",
        "['abc'] null [] ['\xc3\x84pfel 100%']",
        "array_to_string(items, '-')",
        "'1-2' '' null '7'",
        "list_to_string(items, '-', 'none')",
        "'1-2-none' '' null '7'",
        "array_join([s, 'x'], null)",
        "null null null null",
        "array_to_string([[1, i64], [3, null]], ',')",
        "'1,1,3' '1,2,3' '1,3' '1,-4,3'",
        "array_to_string([f64, 1.0], ' ')",
        "'0.5 1' '-0 1' '1' '2.5 1'",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("string_to_array(i64, ',')"), "expected a string, not a value of type");
    CHECK_HAS(expr_values("array_to_string(items, 1)"), "expected a string, not a value of type");
    CHECK_HAS(expr_values("array_to_string(array_repeat(repeat('a', 1000000), 100), '')"),
              "makes no strings of more than");
}

static void test_list_edit__shapes_and_ranges(void **state)
{
    static const char *const pairs[] = {
        "flatten([items, items])",
        "[1 2 null 1 2 null] [] [] [7 7]",
        "flatten(items)",
        "[1 2 null] [] null [7]",
        "array_ndims([items])",
        "2 2 2 2",
        "array_dims([items, items])",
        "[2 3] [2 0] [2 0] [2 1]",
        "range(i64)",
        "[0] [0 1] null []",
        "range(i64, 4, 2)",
        "[1 3] [2] null [-4 -2 0 2]",
        "generate_series(3, i64, -1)",
        "[3 2 1] [3 2] null [3 2 1 0 -1 -2 -3 -4]",
        "generate_series(9223372036854775806, 9223372036854775807)[2] - 9223372036854775806",
        "1 1 1 1",
        "array_to_string(range(date '2024-01-31', date '2024-04-01', interval '1 month'), ' ')",
        "'2024-01-31 2024-02-29 2024-03-29' '2024-01-31 2024-02-29 2024-03-29' "
        "'2024-01-31 2024-02-29 2024-03-29' '2024-01-31 2024-02-29 2024-03-29'",
        "array_length(generate_series(ts, ts + interval '2 hours', interval '30 minutes'))",
        "5 5 null 5",
        "array_length(range(tz, tz + interval '3 days', interval '1 day'))",
        "3 3 null 3",
        "array_to_string(range(d, d + 1, interval '12 hours'), ' ') = "
        "d || 'T00:00:00 ' || d || 'T12:00:00'",
        "1 1 null 1",
        "round(array_distance([i64, 0], [0, 3]), 3)",
        "3.162 3.606 null 5",
        "inner_product([i64, 2], [1.5, 1])",
        "3.5 5 null -4",
        "round(cosine_distance([i64, 0], [1, 0]), 3)",
        "0 0 null 2",
        "cosine_distance([i64, 0], [0, 0])",
        "null null null null",
        "array_normalize([i64, 0])",
        "[1 0] [1 0] null [-1 0]",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    CHECK_HAS(expr_values("range(1, 9, i64 - i64)"), "range() takes no step of 0");
    CHECK_HAS(expr_values("range(99999999999)"), "range() makes no lists of more than");
    CHECK_HAS(expr_values("range(s)"), "a bound or step of a range of numbers is a whole number");
    CHECK_HAS(expr_values("range(ts, ts, 1)"), "error: ");
    CHECK_HAS(expr_values("array_distance(items, [1])"),
              "array_distance() takes lists of one size, not of 3 and 1");
    CHECK_HAS(expr_values("array_distance(['a'], ['b'])"), "expected a list of numbers, not of");
}

static void test_list_edit__faults(void **state)
{
    (void)state;
    check_expression_faults(
        "array_to_string(string_to_array(s, 'b', 'a'), '-', 'x') <> '' and "
        "array_resize(array_replace(items, 1, 2), 3, 4) <> array_repeat(i32, 2) and "
        "array_positions(flatten([items, items]), 1) <> range(i64, 9) and "
        "array_distance([f64, 1], [1, 2]) > 0 and array_dims([items])[1] = array_any_value(items) "
        "and generate_series(d, d + 3, interval '1 day')[1] = d and array_normalize([f64])[1] > 0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_edit__items),
        cmocka_unit_test(test_list_edit__texts),
        cmocka_unit_test(test_list_edit__shapes_and_ranges),
        cmocka_unit_test(test_list_edit__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
