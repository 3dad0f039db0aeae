/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conversion.h - values of a type as values of a wider one, inside of structs and lists too.
 *
 * A conversion lives in the arena it was made in, and what it evaluates until it is freed. Any
 * number of threads may use it at once.
 */
#ifndef LMN_TABLE_CONVERSION_H
#define LMN_TABLE_CONVERSION_H

#include <leman/arrow_abi.h>

#include "arrow/layout.h"
#include "base/arena.h"
#include "expr/expr.h"

struct lmn__conversion {
    struct lmn_env *env;
    struct lmn__expr *expr; /* of values that change; NULL: none, or only those of children */
    const struct lmn__layout *nulls; /* there are no values, and these are what they become */
    bool is_struct;
    int64_t dimension; /* fixed lists: items of a slot; 0: no fixed list */
    uint32_t child_count;
    struct lmn__conversion *child; /* NULL: nothing changes below */
};

/*
 * From `from` to `to`, which lmn__type_is_wider(). The caller frees it, also on failure.
 */
LMN_MUST_USE enum lmn_status lmn__conversion_init(struct lmn__conversion *conversion,
                                                  struct lmn_env *env,
                                                  const struct ArrowSchema *from,
                                                  const struct ArrowSchema *to,
                                                  struct lmn__arena *arena, struct lmn_error *err);
void lmn__conversion_deinit(struct lmn__conversion *conversion);

/*
 * Convert slots [0, count) of *array, parts of which may be moved into *array_out. The caller
 * releases both.
 *
 * LMN_E_INVALID  a value does not fit, as a moment of another unit may not
 */
LMN_MUST_USE enum lmn_status lmn__conversion_apply(const struct lmn__conversion *conversion,
                                                   struct ArrowArray *array, uint64_t count,
                                                   struct ArrowArray *array_out,
                                                   struct lmn_error *err);

#endif
