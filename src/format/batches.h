/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batches.h - a stream of batches that are produced by number, in order, by many threads.
 *
 * The source says what batch number i is; everything that scans have in common is here: reading
 * ahead, the order, the first failure, limit and offset.
 */
#ifndef LMN_FORMAT_BATCHES_H
#define LMN_FORMAT_BATCHES_H

#include <stdbool.h>

#include <leman/arrow_abi.h>

#include "codec/scratch.h"

/*
 * Read batch number `index`, a struct array that begins at its first slot. Called from many
 * threads, each with its own scratch; every number at most once, and rising. The caller releases
 * *array_out; an empty batch (no rows, or not set) is passed over.
 */
typedef enum lmn_status (*lmn__batch_read_fn)(void *context, struct lmn__scratch *scratch,
                                              uint64_t index, struct ArrowArray *array_out,
                                              struct lmn_error *err);
typedef enum lmn_status (*lmn__batch_schema_fn)(void *context, struct ArrowSchema *schema_out,
                                                struct lmn_error *err);

struct lmn__batch_source {
    void *context;
    lmn__batch_read_fn read;
    lmn__batch_schema_fn schema; /* the Arrow type of the batches */
    void (*free)(void *context);
};

struct lmn__batches_options {
    uint64_t batch_count;
    uint64_t batch_bytes;        /* about, of one batch */
    uint64_t prefetch_bytes_max; /* 0: LMN__PREFETCH_BYTES */
    uint32_t threads;            /* 0: the environment's; 1: the consumer reads */
    bool limited;                /* at most `limit` rows ... */
    uint64_t limit;
    uint64_t offset; /* ... behind the first `offset` */
};

/*
 * Make the stream, one of those of arrow/producer.h, which takes over the source on success and
 * frees it in the end.
 */
LMN_MUST_USE enum lmn_status lmn__batches_open(struct lmn_env *env,
                                               const struct lmn__batch_source *source,
                                               const struct lmn__batches_options *options,
                                               struct ArrowArrayStream *stream_out,
                                               struct lmn_error *err);

/* Rows that a batch has by default, bytes of one at most, and bytes that are read ahead. */
enum { LMN__BATCH_ROWS = 8192, LMN__BATCH_BYTES = 32 << 20, LMN__PREFETCH_BYTES = 256 << 20 };

#endif
