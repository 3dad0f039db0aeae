/* SPDX-License-Identifier: Apache-2.0 */
/*
 * refill.h - the hidden column that another version of a function fills; see <leman/table_refill.h>
 */
#ifndef LMN_TABLE_REFILL_H
#define LMN_TABLE_REFILL_H

#include <leman/table_refill.h>

#include "table/manifest.h"

/* The refill of a column on top level; NULL when it has none. */
const struct lmn__node *lmn__refill_of(const struct lmn__schema *schema,
                                       const struct lmn__node *column);

/* The column that a node is the refill of; NULL when it is none. */
const struct lmn__node *lmn__refill_column(const struct lmn__schema *schema,
                                           const struct lmn__node *refill);

/*
 * A column by name, and its refill.
 *
 * LMN_E_NOT_FOUND  no such column, or it has no refill
 */
LMN_MUST_USE enum lmn_status lmn__refill_find(const struct lmn__manifest *manifest,
                                              const char *column,
                                              const struct lmn__node **column_out,
                                              const struct lmn__node **refill_out,
                                              struct lmn_error *err);

#endif
