/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adopt.h - Arrow arrays made of blocks that are filled already.
 *
 * Where a builder grows its vectors, an adopted array takes references to blocks of the pool and
 * points into them. It may be shared: each holder has structs of its own over the same blocks.
 */
#ifndef LMN_ARROW_ADOPT_H
#define LMN_ARROW_ADOPT_H

#include <stdbool.h>

#include <leman/arrow_abi.h>

#include "base/pool.h"

/*
 * An array of `buffer_count` empty buffers and `child_count` children that are still to be made,
 * in children[i] and, if asked for, in dictionary. It can be released as it is. The caller
 * releases *array_out.
 */
LMN_MUST_USE enum lmn_status lmn__adopt_new(struct lmn_env *env, uint32_t buffer_count,
                                            uint32_t child_count, bool has_dictionary,
                                            struct ArrowArray *array_out, struct lmn_error *err);

/* Point buffer `i` at `data` in `block`, whose reference moves here; both may be NULL. */
void lmn__adopt_buffer(struct ArrowArray *array, uint32_t i, struct lmn__block *block,
                       const void *data);

/* Let buffer `i` be `bytes` zeros, in memory of its own; they may be written to. */
LMN_MUST_USE enum lmn_status lmn__adopt_zeros(struct lmn_env *env, struct ArrowArray *array,
                                              uint32_t i, size_t bytes, struct lmn_error *err);

/* A second array of the same blocks. `array` was made here, and so were its children. */
LMN_MUST_USE enum lmn_status lmn__adopt_share(const struct ArrowArray *array,
                                              struct ArrowArray *array_out, struct lmn_error *err);

#endif
