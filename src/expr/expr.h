/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expr.h - expressions over Arrow batches: where-conditions, computed columns, values to set.
 *
 * An expression is parsed from text, bound to the type of the batches that will come, and then
 * evaluated or asked what statistics say about it. Binding may be repeated for another type. A
 * bound expression does not change: any number of threads may evaluate it at once.
 */
#ifndef LMN_EXPR_EXPR_H
#define LMN_EXPR_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include <leman/arrow_abi.h>

#include "base/env.h"

struct lmn__expr;

/*
 * Parse `text`. The environment is kept (counted), the text copied.
 *
 * The caller frees *expr_out; it is NULL on failure.
 *
 * LMN_E_INVALID  it is no expression; the message says where, and what stands there
 */
LMN_MUST_USE enum lmn_status lmn__expr_parse(struct lmn_env *env, const char *text,
                                             struct lmn__expr **expr_out, struct lmn_error *err);

/* NULL is ignored. */
void lmn__expr_free(struct lmn__expr *expr);

/*
 * The columns it names, each once, nested ones as "info.width": what a reader has to project.
 *
 * Before binding these are the names as written; after it those of the schema, and those that a
 * resolver added. Both live until the expression is bound again or freed.
 */
LMN_MUST_USE enum lmn_status lmn__expr_paths(struct lmn__expr *expr, const char *const **path_out,
                                             uint32_t *count_out, struct lmn_error *err);

/*
 * The name of a function in it whose value is the time of the binding, such as "now": it chooses
 * other rows tomorrow. NULL when there is none.
 */
const char *lmn__expr_clock(const struct lmn__expr *expr);

/* An argument of a function that a resolver knows. */
struct lmn__expr_argument {
    const char *text; /* a string's content, a number as written; NULL for null */
    bool is_string;
};

/*
 * Functions that the caller knows and this layer does not, as columns of the batch.
 *
 * `find` answers for the call name(argument, ...), whose arguments are literals: LMN_OK with the
 * path of the column that holds its result in *path_out (which lives until the end of the
 * binding), LMN_E_NOT_FOUND when it does not know the function, or another failure.
 */
struct lmn__expr_resolver {
    enum lmn_status (*find)(void *context, const char *name,
                            const struct lmn__expr_argument *argument, uint32_t count,
                            const char **path_out, struct lmn_error *err);
    void *context;
};

/*
 * Resolve the names in `schema`, a struct of the columns that batches will have, and give every
 * part a type. With `target` the result is converted to that type; a value that does not fit it
 * is then an error of the evaluation. `resolver` and `target` may be NULL. Nothing is borrowed.
 *
 * A name is looked up as it is written, then without regard to case where that is unique.
 *
 * LMN_E_NOT_FOUND    no such column, field or function; the message names near ones
 * LMN_E_INVALID      types that do not go together, a literal that is no value of its type
 * LMN_E_UNSUPPORTED  a type or function this library does not evaluate
 */
LMN_MUST_USE enum lmn_status lmn__expr_bind(struct lmn__expr *expr,
                                            const struct ArrowSchema *schema,
                                            const struct lmn__expr_resolver *resolver,
                                            const struct ArrowSchema *target,
                                            struct lmn_error *err);

/*
 * lmn__expr_bind() for a condition: LMN_E_INVALID when the expression is not a boolean.
 */
LMN_MUST_USE enum lmn_status lmn__expr_bind_condition(struct lmn__expr *expr,
                                                      const struct ArrowSchema *schema,
                                                      const struct lmn__expr_resolver *resolver,
                                                      struct lmn_error *err);

/* The type of a bound expression; the caller releases it. */
LMN_MUST_USE enum lmn_status lmn__expr_type(const struct lmn__expr *expr,
                                            struct ArrowSchema *type_out, struct lmn_error *err);

/*
 * One value per row of `batch`, a struct array of the bound type. The caller releases *array_out.
 *
 * LMN_E_INVALID    a row's value does not exist: division by zero, overflow, a failed cast
 * LMN_E_NO_MEMORY  no room for the result
 */
LMN_MUST_USE enum lmn_status lmn__expr_eval(const struct lmn__expr *expr,
                                            const struct ArrowArray *batch,
                                            struct ArrowArray *array_out, struct lmn_error *err);

/*
 * The rows for which a bound condition is true (not false, not null): bit i of `bitmap_out`, which
 * has room for all of them in whole bytes, and their number. Bits behind the last row are zero.
 *
 * Fails as lmn__expr_eval() does, and with LMN_E_INVALID when the expression is not a boolean.
 */
LMN_MUST_USE enum lmn_status lmn__expr_select(const struct lmn__expr *expr,
                                              const struct ArrowArray *batch, uint8_t *bitmap_out,
                                              uint64_t *count_out, struct lmn_error *err);

/*
 * What is known of a column's values. A bound is in the column's Arrow storage form (4 bytes for a
 * date32, the bytes of a string) and need not be taken by any value: all values that are not null
 * lie between the two. NaN counts as greater than all other numbers.
 */
struct lmn__column_stats {
    bool has_min, has_max, has_null_count;
    const void *min, *max; /* borrowed until the next call */
    uint32_t min_bytes, max_bytes;
    uint64_t null_count;
};

/* Fill *stats_out, zeroed before, for the column `path`; false when nothing is known. */
typedef bool (*lmn__column_stats_fn)(void *context, const char *path,
                                     struct lmn__column_stats *stats_out);

enum lmn__prune {
    LMN__PRUNE_NONE, /* no row can match */
    LMN__PRUNE_SOME,
    LMN__PRUNE_ALL /* every row matches */
};

/* What statistics say about `row_count` rows and a bound condition. Never fails: SOME is safe. */
enum lmn__prune lmn__expr_prune(const struct lmn__expr *expr, uint64_t row_count,
                                lmn__column_stats_fn stats, void *context);

#endif
