/* SPDX-License-Identifier: Apache-2.0 */
/*
 * producer.h - batches behind the Arrow stream interface.
 *
 * A kind of stream fills struct lmn__producer, the first member of its own struct, and exports
 * it. After a failure a stream repeats it; after its end it stays there. A stream belongs to one
 * thread at a time.
 */
#ifndef LMN_ARROW_PRODUCER_H
#define LMN_ARROW_PRODUCER_H

#include <stdbool.h>

#include <leman/arrow_abi.h>

#include "base/env.h"

struct lmn__producer;

struct lmn__producer_ops {
    /* The caller releases *schema_out. */
    enum lmn_status (*schema)(struct lmn__producer *producer, struct ArrowSchema *schema_out,
                              struct lmn_error *err);
    /* The next batch; array_out->release stays NULL at the end. */
    enum lmn_status (*next)(struct lmn__producer *producer, struct ArrowArray *array_out,
                            struct lmn_error *err);
    void (*free)(struct lmn__producer *producer);
};

struct lmn__producer {
    const struct lmn__producer_ops *ops;
    struct lmn_error error; /* of the last call that failed */
    bool failed, ended;
};

/* Hand `producer` out as a stream, which frees it when it is released. */
void lmn__producer_export(struct lmn__producer *producer, const struct lmn__producer_ops *ops,
                          struct ArrowArrayStream *stream_out);

/*
 * The next batch of any stream, with a status and a message. At the end, array_out->release is
 * NULL. Streams of this library keep their status; of others only the number of the operating
 * system is known.
 */
LMN_MUST_USE enum lmn_status lmn__stream_next(struct ArrowArrayStream *stream,
                                              struct ArrowArray *array_out, struct lmn_error *err);

/* The type of any stream. The caller releases *schema_out. */
LMN_MUST_USE enum lmn_status lmn__stream_schema(struct ArrowArrayStream *stream,
                                                struct ArrowSchema *schema_out,
                                                struct lmn_error *err);

#endif
