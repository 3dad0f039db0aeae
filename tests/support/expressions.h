/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expressions.h - expressions evaluated over a small batch, as text that tests compare.
 */
#ifndef LMN_TESTS_EXPRESSIONS_H
#define LMN_TESTS_EXPRESSIONS_H

#include <leman/arrow_abi.h>

#include "expr/expr.h"

/*
 * A batch of a few rows with columns of most types and nulls in each:
 *
 *     i64 i32 i8 u8 u64 f64 f32 flag s bin d ts tz dec items info
 *
 * See the table in expressions.c. The caller releases both.
 */
void expr_batch(struct ArrowSchema *schema_out, struct ArrowArray *batch_out);

/*
 * Evaluate `text` over that batch: its values with blanks between, "null" for nulls, or the message
 * of the failure behind "error: ". The result lives until the next call.
 */
const char *expr_values(const char *text);

/* Pairs of an expression and its values, up to a NULL; fails the test where they differ. */
void check_expressions(const char *const *pairs);

/* Parse, bind and evaluate `text` over the batch, with every request of memory failing once. */
void check_expression_faults(const char *text);

/* The same as expr_values() for rows [first, first + count) of the batch, given as a slice. */
const char *expr_values_of(const char *text, int64_t first, int64_t count);

/* The same as expr_values() with the result converted to `target`. */
const char *expr_values_as(const char *text, const struct ArrowSchema *target);

/* The type of the result, in Arrow's letters. */
const char *expr_type(const char *text);

#endif
