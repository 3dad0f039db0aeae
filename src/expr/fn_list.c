/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/function.h"
#include "expr/list.h"

const struct lmn__function lmn__list_functions[] = {
    LMN__BOUND_FUNCTION("array_has", 2, 2, lmn__bind_list_has, 0),
    LMN__BOUND_FUNCTION("array_contains", 2, 2, lmn__bind_list_has, 0),
    LMN__BOUND_FUNCTION("list_has", 2, 2, lmn__bind_list_has, 0),
    LMN__BOUND_FUNCTION("list_contains", 2, 2, lmn__bind_list_has, 0),
    LMN__BOUND_FUNCTION("array_has_any", 2, 2, lmn__bind_list_has, 1),
    LMN__BOUND_FUNCTION("array_has_all", 2, 2, lmn__bind_list_has, 2),
    LMN__BOUND_FUNCTION("array_position", 2, 2, lmn__bind_list_has, 3),
    LMN__BOUND_FUNCTION("list_position", 2, 2, lmn__bind_list_has, 3),
    LMN__BOUND_FUNCTION("array_element", 2, 2, lmn__bind_list_item, 0),
    LMN__BOUND_FUNCTION("list_element", 2, 2, lmn__bind_list_item, 0),
    LMN__BOUND_FUNCTION("array_extract", 2, 2, lmn__bind_list_item, 0),
    LMN__BOUND_FUNCTION("empty", 1, 1, lmn__bind_list_length, 1),
    LMN__BOUND_FUNCTION("array_empty", 1, 1, lmn__bind_list_length, 1),
    LMN__BOUND_FUNCTION("array_length", 1, 1, lmn__bind_list_length, 0),
    LMN__BOUND_FUNCTION("cardinality", 1, 1, lmn__bind_list_length, 0),
    LMN__BOUND_FUNCTION("list_length", 1, 1, lmn__bind_list_length, 0),
    { 0 },
};
