/* SPDX-License-Identifier: Apache-2.0 */
/*
 * set_values.h - the values that an update sets: an expression for each column.
 */
#ifndef LMN_TABLE_SET_VALUES_H
#define LMN_TABLE_SET_VALUES_H

#include "table/set_columns.h"

struct lmn__set_values {
    struct lmn__set_columns *set; /* borrowed */
    const struct lmn_assignment *assignment;
    uint32_t count;
    const struct lmn__node **column; /* that are set, and those that values are computed from */
    struct lmn__expr **value;        /* of each that is set */
};

/*
 * Let `set` have the values of these assignments. All of it lives on; the caller frees the values
 * in any case.
 *
 * LMN_E_NOT_FOUND, LMN_E_INVALID  an assignment is wrong
 * LMN_E_UNSUPPORTED               its columns cannot be set where they are
 */
LMN_MUST_USE enum lmn_status lmn__set_values_init(struct lmn__set_values *values,
                                                  struct lmn__set_columns *set,
                                                  const struct lmn_assignment *assignment,
                                                  uint32_t count, struct lmn_error *err);
void lmn__set_values_deinit(struct lmn__set_values *values);

#endif
