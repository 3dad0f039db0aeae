/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slate.h - memory for the intermediate results of one evaluation, wiped for each run of rows.
 *
 * It is taken from the pool and handed out like a stack: what was handed out behind a mark is
 * given back by wiping to the mark. A slate belongs to one thread at a time.
 */
#ifndef LMN_EXPR_SLATE_H
#define LMN_EXPR_SLATE_H

#include <leman/arrow_abi.h>

#include "base/pool.h"

enum { LMN__SLATE_BLOCKS_MAX = 40 };

struct lmn__slate_array;

struct lmn__slate {
    struct lmn__pool *pool;
    struct lmn__block *block[LMN__SLATE_BLOCKS_MAX];
    uint32_t count;                 /* of blocks that exist */
    uint32_t at;                    /* the block that is handed out from */
    size_t used;                    /* of that block */
    struct lmn__slate_array *array; /* the last one that was handed out */
};

struct lmn__slate_mark {
    uint32_t at;
    size_t used;
};

void lmn__slate_init(struct lmn__slate *slate, struct lmn__pool *pool);
void lmn__slate_deinit(struct lmn__slate *slate);

/* `bytes` bytes, aligned to 64, with undefined content and 64 more that kernels may touch. */
LMN_MUST_USE enum lmn_status lmn__slate_take(struct lmn__slate *slate, uint64_t bytes,
                                             void *memory_out, struct lmn_error *err);

/* A zeroed Arrow array; what the caller makes of it is released when its place is wiped. */
LMN_MUST_USE enum lmn_status lmn__slate_take_array(struct lmn__slate *slate,
                                                   struct ArrowArray **array_out,
                                                   struct lmn_error *err);

struct lmn__slate_mark lmn__slate_mark(const struct lmn__slate *slate);
void lmn__slate_wipe(struct lmn__slate *slate, struct lmn__slate_mark mark);

#endif
