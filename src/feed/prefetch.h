/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.h - batches that threads read ahead of their consumer, in order.
 *
 * Batches are read in units of several, since rows that are read together are read in the order in
 * which they lie. A prefetch belongs to one thread at a time.
 */
#ifndef LMN_FEED_PREFETCH_H
#define LMN_FEED_PREFETCH_H

#include <leman/arrow_abi.h>

#include "codec/scratch.h"

struct lmn__prefetch;

/*
 * Read unit number `unit` into batch_out[0 .. *count_out), at most `unit_batches`. Called from many
 * threads, each with its own scratch. None at all: there is nothing from this unit on. On failure
 * no batch is left behind.
 */
typedef enum lmn_status (*lmn__unit_read_fn)(void *context, struct lmn__scratch *scratch,
                                             uint64_t unit, struct ArrowArray *batch_out,
                                             uint32_t *count_out, struct lmn_error *err);

struct lmn__prefetch_options {
    lmn__unit_read_fn read;
    void *context;
    uint32_t unit_batches;
    uint32_t units;   /* read, and being read, at once */
    uint32_t threads; /* at most one per unit is used */
};

/* Start the threads. The caller closes *prefetch_out. */
LMN_MUST_USE enum lmn_status lmn__prefetch_open(struct lmn_env *env,
                                                const struct lmn__prefetch_options *options,
                                                struct lmn__prefetch **prefetch_out,
                                                struct lmn_error *err);

/* Stop and join the threads, and release what nobody took. NULL is ignored. */
void lmn__prefetch_close(struct lmn__prefetch *prefetch);

/*
 * The next batch; at the end array_out->release is NULL. Adds the time that the caller had to wait
 * to *wait_ns. After a failure the prefetch gives nothing but that failure.
 */
LMN_MUST_USE enum lmn_status lmn__prefetch_next(struct lmn__prefetch *prefetch,
                                                struct ArrowArray *array_out, uint64_t *wait_ns,
                                                struct lmn_error *err);

#endif
