/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pieces.h - bytes on their way to a file, one piece behind the other: small ones are kept here,
 * large ones stay where they are until they are written.
 */
#ifndef LMN_INGEST_PIECES_H
#define LMN_INGEST_PIECES_H

#include "base/buf.h"
#include "os/file.h"

struct lmn__pieces {
    struct lmn__buf kept;  /* the bytes of pieces that are kept, in order */
    struct lmn__buf piece; /* struct lmn__span; data NULL: the next ones of `kept` */
    uint64_t bytes;        /* of all */
};

void lmn__pieces_init(struct lmn__pieces *pieces, struct lmn_env *env);
void lmn__pieces_deinit(struct lmn__pieces *pieces);

/* Append. What is large is referred to. A failure is told by lmn__pieces_write(). */
void lmn__pieces_put(struct lmn__pieces *pieces, const void *data, size_t len);
void lmn__pieces_put_zeros(struct lmn__pieces *pieces, size_t count);

/* Write all pieces to a file, from `offset` on; then there are none. */
LMN_MUST_USE enum lmn_status lmn__pieces_write(struct lmn__pieces *pieces,
                                               const struct lmn__file *file, const char *path,
                                               uint64_t offset, struct lmn_error *err);

#endif
