/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compose.h - an array put together from parts of others, without a copy.
 */
#ifndef LMN_ARROW_COMPOSE_H
#define LMN_ARROW_COMPOSE_H

#include <leman/arrow_abi.h>

#include "arrow/layout.h"

/*
 * Make a struct array of `length` slots, all valid, with room for `child_count` children, which the
 * caller moves into array_out->children[i]; one that is still empty when the array is released is
 * passed over.
 */
LMN_MUST_USE enum lmn_status lmn__array_compose(struct lmn_env *env, uint64_t length,
                                                uint32_t child_count, struct ArrowArray *array_out,
                                                struct lmn_error *err);

/* Give a composed array the length, slots and offsets of *base, which is moved into it. */
void lmn__array_compose_onto(struct ArrowArray *array, struct ArrowArray *base);

/* `length` slots of any layout, all null. The caller releases *array_out. */
LMN_MUST_USE enum lmn_status lmn__array_nulls(struct lmn_env *env, const struct lmn__layout *layout,
                                              uint64_t length, struct ArrowArray *array_out,
                                              struct lmn_error *err);

/* Move an array to another place and leave an empty one behind. */
static inline void lmn__array_move(struct ArrowArray *from, struct ArrowArray *to)
{
    *to = *from;
    *from = (struct ArrowArray){ 0 };
}

/* Release an array that may be empty. */
static inline void lmn__array_release(struct ArrowArray *array)
{
    if (array->release != NULL)
        array->release(array);
}

#endif
