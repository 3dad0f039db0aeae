/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share.h - one array seen through many others: its columns, and ranges of their slots, each with a
 * life of its own, over the same memory.
 */
#ifndef LMN_ARROW_SHARE_H
#define LMN_ARROW_SHARE_H

#include <leman/arrow_abi.h>

#include "base/pool.h"

struct lmn__share;

/* Share `array`, which moves here on success. The caller releases *share_out. */
LMN_MUST_USE enum lmn_status lmn__share_new(struct lmn_env *env, struct ArrowArray *array,
                                            struct lmn__share **share_out, struct lmn_error *err);
/* NULL is ignored. The array ends with the last part of it. */
void lmn__share_release(struct lmn__share *share);

const struct ArrowArray *lmn__share_array(const struct lmn__share *share);

/*
 * Slots [offset, offset + count) of `part`, an array inside of the shared one, counted from the
 * start of its buffers. With `validity` not NULL that bitmap, counted the same, stands for its own;
 * the reference is taken, not moved. The caller releases *array_out.
 */
LMN_MUST_USE enum lmn_status lmn__share_part(struct lmn__share *share,
                                             const struct ArrowArray *part, uint64_t offset,
                                             uint64_t count, struct lmn__block *validity,
                                             struct ArrowArray *array_out, struct lmn_error *err);

/* Bytes that the slots of an array take in memory, about. */
uint64_t lmn__array_bytes(const struct ArrowArray *array, const struct ArrowSchema *schema);

#endif
