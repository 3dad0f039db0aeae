/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expr.h - evaluate an expression, such as "width * height > 1e6", over rows in memory.
 *
 * The language is that of `where` and of the values that updates set; docs/guide/expressions.md
 * describes it.
 */
#ifndef LEMAN_EXPR_H
#define LEMAN_EXPR_H

#include <leman/arrow_abi.h>
#include <leman/env.h>

/*
 * Evaluate `text` for each row of `array`, a valid struct array of type `schema`; see arrow_abi.h.
 *
 * `env` may be NULL; nothing of the arguments is kept. On success the caller releases *schema_out,
 * the type of the result, and *array_out, which has one value per row.
 *
 * LMN_E_INVALID      no expression, types that do not go together, or a row without a result, such
 *                    as a division by zero; the message names the place and the row
 * LMN_E_NOT_FOUND    no such column or function
 * LMN_E_UNSUPPORTED  a type or function that is not evaluated
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_expr_evaluate(struct lmn_env *env, const char *text,
                                                       const struct ArrowSchema *schema,
                                                       const struct ArrowArray *array,
                                                       struct ArrowSchema *schema_out,
                                                       struct ArrowArray *array_out,
                                                       struct lmn_error *err);

#endif
