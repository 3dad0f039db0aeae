/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vec.h - a growable run of column data in a block of the pool.
 */
#ifndef LMN_ARROW_VEC_H
#define LMN_ARROW_VEC_H

#include "base/pool.h"

/* Bytes behind the end of every vector that kernels may read and overwrite. */
enum { LMN__VEC_SLACK = 64 };

struct lmn__vec {
    struct lmn__block *block; /* NULL while empty */
    uint8_t *data;            /* in block */
    size_t len;
};

/* Make room for `more` bytes behind len, and the slack behind those. */
LMN_MUST_USE enum lmn_status lmn__vec_reserve(struct lmn__vec *vec, struct lmn__pool *pool,
                                              size_t more, struct lmn_error *err);

/* Room for `more` bytes that count at once; *at_out is where they go. */
LMN_MUST_USE enum lmn_status lmn__vec_extend(struct lmn__vec *vec, struct lmn__pool *pool,
                                             size_t more, uint8_t **at_out, struct lmn_error *err);

LMN_MUST_USE enum lmn_status lmn__vec_put(struct lmn__vec *vec, struct lmn__pool *pool,
                                          const void *data, size_t len, struct lmn_error *err);

void lmn__vec_deinit(struct lmn__vec *vec);

#endif
