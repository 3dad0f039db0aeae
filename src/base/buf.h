/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h - a growable run of bytes for metadata, messages and small results.
 *
 * A buffer has a maximum from the start; growing past it is an error, not an abort. Appending
 * remembers the first failure, so a writer of many small pieces checks once at the end.
 */
#ifndef LMN_BASE_BUF_H
#define LMN_BASE_BUF_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/env.h"

struct lmn__buf {
    struct lmn_env *env; /* borrowed */
    uint8_t *data;
    size_t len;
    size_t cap;
    size_t len_max;
    bool failed; /* an append did not fit; the content is cut */
};

/* `len_max` 0 means: as far as memory goes. */
void lmn__buf_init(struct lmn__buf *buf, struct lmn_env *env, size_t len_max);
void lmn__buf_deinit(struct lmn__buf *buf);
void lmn__buf_reset(struct lmn__buf *buf);

/* Make room for `more` bytes behind len. */
LMN_MUST_USE bool lmn__buf_reserve(struct lmn__buf *buf, size_t more);

/* Append; sets buf->failed instead of returning an error. */
void lmn__buf_put(struct lmn__buf *buf, const void *data, size_t len);
void lmn__buf_put_u8(struct lmn__buf *buf, uint8_t value);
void lmn__buf_put_u16(struct lmn__buf *buf, uint16_t value);
void lmn__buf_put_u32(struct lmn__buf *buf, uint32_t value);
void lmn__buf_put_u64(struct lmn__buf *buf, uint64_t value);
void lmn__buf_put_zeros(struct lmn__buf *buf, size_t count);
/* Needs room for a terminating NUL that is not counted in len. */
LMN_PRINTF(2, 3) void lmn__buf_printf(struct lmn__buf *buf, const char *fmt, ...);

/* LMN_OK, or why an append failed. `what` names the buffer in the message. */
LMN_MUST_USE enum lmn_status lmn__buf_status(const struct lmn__buf *buf, const char *what,
                                             struct lmn_error *err);

#endif
