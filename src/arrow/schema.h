/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - Arrow types: copies, comparisons and texts.
 */
#ifndef LMN_ARROW_SCHEMA_H
#define LMN_ARROW_SCHEMA_H

#include <stdbool.h>

#include <leman/arrow_abi.h>

#include "base/env.h"

/* A copy of its own; the caller releases *schema_out. */
LMN_MUST_USE enum lmn_status lmn__arrow_schema_copy(const struct ArrowSchema *schema,
                                                    struct ArrowSchema *schema_out,
                                                    struct lmn_error *err);

/*
 * Can arrays of type `given` be stored in a column of type `wanted` as they are?
 *
 * Names of struct fields and everything in memory must be equal; metadata and nullability do not
 * matter.
 *
 * LMN_E_INVALID  no; the message names the first difference
 */
LMN_MUST_USE enum lmn_status lmn__arrow_type_check(const struct ArrowSchema *given,
                                                   const struct ArrowSchema *wanted,
                                                   struct lmn_error *err);

/* Write the type for people, cut to `bytes`: "list<item: int32>". */
void lmn__arrow_type_text(const struct ArrowSchema *schema, char *text, size_t bytes);

/* The child of that name; NULL when there is none. */
const struct ArrowSchema *lmn__arrow_child(const struct ArrowSchema *schema, const char *name,
                                           int64_t *index_out);

#endif
