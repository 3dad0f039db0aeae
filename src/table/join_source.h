/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_source.h - the stream whose columns are joined to a table.
 *
 * Batches are handed out whole: no offsets of their own, no null rows, and plain strings instead of
 * views. Belongs to one thread at a time.
 */
#ifndef LMN_TABLE_JOIN_SOURCE_H
#define LMN_TABLE_JOIN_SOURCE_H

#include "arrow/plain.h"
#include "base/env.h"

struct lmn__join_source {
    struct lmn_env *env;             /* borrowed */
    struct ArrowArrayStream *stream; /* borrowed */
    struct lmn__arena arena;
    struct lmn__plain plain;          /* its schema is that of the batches */
    const struct lmn__layout *layout; /* of these */
    uint32_t key_count, column_count; /* together: all of them */
    int64_t *key;                     /* children that are keys, in the order asked for */
    int64_t *column;                  /* children that are to be added */
    struct ArrowSchema added;         /* these, nullable: a struct */
};

/*
 * `stream` lives on. The caller frees the source.
 *
 * LMN_E_NOT_FOUND  the stream has no column `on`
 */
LMN_MUST_USE enum lmn_status lmn__join_source_init(struct lmn__join_source *source,
                                                   struct lmn_env *env,
                                                   struct ArrowArrayStream *stream,
                                                   const char *const *on, uint32_t on_count,
                                                   struct lmn_error *err);
void lmn__join_source_deinit(struct lmn__join_source *source);

/* The next batch; the caller releases it. At the end its release is NULL. */
LMN_MUST_USE enum lmn_status lmn__join_source_next(struct lmn__join_source *source,
                                                   struct ArrowArray *batch_out,
                                                   struct lmn_error *err);

#endif
