/* SPDX-License-Identifier: Apache-2.0 */
/*
 * crew.h - threads that share a number of pieces of work, and are gone when it is done.
 */
#ifndef LMN_INGEST_CREW_H
#define LMN_INGEST_CREW_H

#include "base/env.h"

/* Do piece `item`; `worker` counts the threads from 0. */
typedef enum lmn_status (*lmn__crew_fn)(void *context, uint32_t worker, uint64_t item,
                                        struct lmn_error *err);

/*
 * Do `count` pieces with up to `threads` threads, the caller's among them. After a failure no new
 * piece is begun; the first one is answered.
 */
LMN_MUST_USE enum lmn_status lmn__crew_run(struct lmn_env *env, uint32_t threads, uint64_t count,
                                           lmn__crew_fn fn, void *context, struct lmn_error *err);

#endif
