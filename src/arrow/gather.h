/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gather.h - rows of one array, or of several, in another order.
 */
#ifndef LMN_ARROW_GATHER_H
#define LMN_ARROW_GATHER_H

#include "arrow/builder.h"

/*
 * A new array of array[index[0]], array[index[1]], ...
 *
 * `array` is of the given layout; every index is inside it. Views become plain strings. The caller
 * releases *array_out.
 */
LMN_MUST_USE enum lmn_status lmn__array_gather(struct lmn_env *env,
                                               const struct lmn__layout *layout,
                                               const struct ArrowArray *array,
                                               const uint64_t *index, uint64_t count,
                                               struct ArrowArray *array_out, struct lmn_error *err);

/*
 * The same from several arrays of one layout: row index[i] of array[part[i]]. `part` may be NULL
 * when there is one array.
 */
LMN_MUST_USE enum lmn_status lmn__arrays_gather(
    struct lmn_env *env, const struct lmn__layout *layout, const struct ArrowArray *const *array,
    uint32_t array_count, const uint32_t *part, const uint64_t *index, uint64_t count,
    struct ArrowArray *array_out, struct lmn_error *err);

#endif
