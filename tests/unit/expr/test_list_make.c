/* SPDX-License-Identifier: Apache-2.0 */
/* Lists made of items of other lists. */
#include "check.h"
#include "expressions.h"

static void test_list_make__values(void **state)
{
    static const char *const pairs[] = {
        "array_concat(items, [9], items)",
        "[1 2 null 9 1 2 null] [9] [9] [7 9 7]",
        "array_cat(items, null)",
        "[1 2 null] [] null [7]",
        "array_append(items, i32)",
        "[1 2 null 10] [null] [30] [7 -40]",
        "array_prepend(0, items)",
        "[0 1 2 null] [0] [0] [0 7]",
        "array_append([items], items)",
        "[[1 2 null] [1 2 null]] [[] []] [null null] [[7] [7]]",
        "array_reverse([info])",
        "[{5 'a'}] [null] [{null 'b'}] [{-3 null}]",
        "array_slice(items, 2, -1)",
        "[2 null] [] null []",
        "array_slice(items, 0, i64)",
        "[1] [] null []",
        "array_slice([4, 5, 6], -9223372036854775807, 9223372036854775807)",
        "[4 5 6] [4 5 6] [4 5 6] [4 5 6]",
        "array_pop_front(items)",
        "[2 null] [] null []",
        "array_pop_back(array_pop_back(items))",
        "[1] [] null []",
        "array_sort(items)",
        "[null 1 2] [] null [7]",
        "array_sort([i64, 0, null, 3], 'desc', 'nulls last')",
        "[3 1 0 null] [3 2 0 null] [3 0 null null] [3 0 -4 null]",
        "array_sort([flag, not flag])",
        "[0 1] [0 1] [null null] [0 1]",
        "array_distinct([2, i64, null, 2, null])",
        "[2 1 null] [2 null] [2 null] [2 -4 null]",
        "array_union(items, [7, 8, 8])",
        "[1 2 null 7 8] [7 8] null [7 8]",
        "array_intersect([3, 2, 1, 2], [i64, 2, 2])",
        "[2 1] [2] [2] [2]",
        "array_except(items, [1])",
        "[2 null] [] null [7]",
        "array_remove(array_append(items, 1), 1)",
        "[2 null 1] [] [] [7]",
        "array_remove_all([1, null, 2, 1], i64)",
        "[null 2] [1 null 1] null [1 null 2 1]",
        "array_min(items)",
        "1 null null 7",
        "array_max([s, 'b'])",
        "'b' 'b' 'b' '\xc3\x84pfel 100%'",
        "array_has_any(items, [i64, null])",
        "1 0 null 0",
        "array_has_all([1, 2, 3, null], items)",
        "1 1 null 0",
        "array_has_any(items, [u64, 7])",
        "0 0 null 1",
        "array_has_all(items, [i64, f64 * 2])",
        "1 0 null 0",
        "array_concat(items, [i64 * 5000000000])",
        "[1 2 null 5000000000] [10000000000] [null] [7 -20000000000]",
        "array_distinct([])",
        "[] [] [] []",
        "array_length(array_sort(['b', 'a'])) = 2 and array_sort(['b', 'a'])[1] = 'a'",
        "1 1 1 1",
        NULL,
    };

    (void)state;
    check_expressions(pairs);
    /* A batch that starts in the middle, and rows that nobody asks for. */
    CHECK_STR(expr_values_of("array_sort(items, 'desc')", 2, 2), "null [7]");
    CHECK_STR(expr_values("case when i64 = 1 then array_reverse(items)[2] end"),
              "2 null null null");
}

static void test_list_make__errors(void **state)
{
    (void)state;
    CHECK_HAS(expr_values("array_sort(s)"), "expected a list, not a value of type string");
    CHECK_HAS(expr_values("array_union(items, 3)"), "expected a list, not a value of type int64");
    CHECK_HAS(expr_values("array_sort(items, 'up')"), "'ASC' or 'DESC'");
    CHECK_HAS(expr_values("array_sort(items, s)"), "'ASC' or 'DESC'");
    CHECK_HAS(expr_values("array_slice(items, 'a', 2)"), "a whole number");
    CHECK_HAS(expr_values("array_sort([items])"), "comparing items of nested values");
    CHECK_HAS(expr_values("array_append(items, 'x')"), "error: ");
    CHECK_HAS(expr_values("array_append(items, 3000000000)"), "3000000000");
    CHECK_HAS(expr_values("array_slice(items, 1)"), "array_slice() takes 3 to 4 arguments, not 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_make__values),
        cmocka_unit_test(test_list_make__errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
