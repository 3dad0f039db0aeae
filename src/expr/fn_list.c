/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/function.h"
#include "expr/list.h"

const struct lmn__function lmn__list_functions[] = {
    { .name = "array_has", .count_min = 2, .count_max = 2, .bind = lmn__bind_list_has },
    { .name = "array_contains", .count_min = 2, .count_max = 2, .bind = lmn__bind_list_has },
    { .name = "list_has", .count_min = 2, .count_max = 2, .bind = lmn__bind_list_has },
    { .name = "list_contains", .count_min = 2, .count_max = 2, .bind = lmn__bind_list_has },
    { .name = "array_has_any",
      .count_min = 2,
      .count_max = 2,
      .bind = lmn__bind_list_has,
      .choice = 1 },
    { .name = "array_has_all",
      .count_min = 2,
      .count_max = 2,
      .bind = lmn__bind_list_has,
      .choice = 2 },
    { .name = "array_length", .count_min = 1, .count_max = 1, .bind = lmn__bind_list_length },
    { .name = "cardinality", .count_min = 1, .count_max = 1, .bind = lmn__bind_list_length },
    { .name = "list_length", .count_min = 1, .count_max = 1, .bind = lmn__bind_list_length },
    { 0 },
};
