/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_plan.h - what the body of one Arrow IPC message is made of, before it is written.
 */
#ifndef LMN_ARROW_IPC_PLAN_H
#define LMN_ARROW_IPC_PLAN_H

#include "arrow/ipc_schema.h"
#include "base/buf.h"
#include "base/pool.h"

enum { LMN__IPC_ALIGN = 64 };

struct lmn__ipc_plan {
    struct lmn_env *env;      /* borrowed */
    struct lmn__buf nodes;    /* as in the metadata */
    struct lmn__buf buffers;  /* as in the metadata */
    struct lmn__buf variadic; /* as in the metadata */
    struct lmn__buf pieces;   /* struct lmn__span, the bytes of each buffer */
    struct lmn__buf copies;   /* struct lmn__block *, what had to be copied */
    uint64_t body_bytes;      /* with the padding behind each buffer */
};

void lmn__ipc_plan_init(struct lmn__ipc_plan *plan, struct lmn_env *env);
void lmn__ipc_plan_deinit(struct lmn__ipc_plan *plan);

/*
 * Add slots [first, first + count) of `array`, counted from its offset. The array must live until
 * the plan is written.
 */
LMN_MUST_USE enum lmn_status lmn__ipc_plan_add(struct lmn__ipc_plan *plan,
                                               const struct lmn__ipc_type *type,
                                               const struct ArrowArray *array, uint64_t first,
                                               uint64_t count, struct lmn_error *err);

/* A hash of all the body holds; never 0. */
uint64_t lmn__ipc_plan_hash(const struct lmn__ipc_plan *plan);

#endif
