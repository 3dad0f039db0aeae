/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_buffer.h - one buffer of the body of an Arrow IPC message, decompressed where it has to be.
 */
#ifndef LMN_ARROW_IPC_BUFFER_H
#define LMN_ARROW_IPC_BUFFER_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/pool.h"

/* How the buffers of a body are compressed; the first two as numbered by Arrow. */
enum lmn__ipc_codec { LMN__IPC_LZ4_FRAME = 0, LMN__IPC_ZSTD = 1, LMN__IPC_PLAIN = -1 };

struct lmn__ipc_body {
    struct lmn_env *env;
    struct lmn__block *block; /* the whole body */
    size_t len;
    enum lmn__ipc_codec codec;
    bool check_text; /* are its strings to be UTF-8? */
};

struct lmn__ipc_buffer {
    struct lmn__block *block; /* a reference of its own; NULL when there are no bytes */
    const uint8_t *data;      /* at a multiple of 8 */
    size_t len;
};

/*
 * Get bytes [offset, offset + bytes) of the body, as they were before compression. Without
 * compression they are shared with the body. The caller releases buffer_out->block.
 *
 * LMN_E_CORRUPT    the range leaves the body, or its bytes do not decompress
 * LMN_E_NO_MEMORY  what it claims to hold is over the environment's limit
 */
LMN_MUST_USE enum lmn_status lmn__ipc_buffer_read(const struct lmn__ipc_body *body, int64_t offset,
                                                  int64_t bytes, struct lmn__ipc_buffer *buffer_out,
                                                  struct lmn_error *err);

#endif
