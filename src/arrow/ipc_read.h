/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_read.h - Arrow IPC streams and files as streams of batches.
 *
 * A file is read like a stream: its magic is passed over, and its messages are in order. Buffers
 * compressed with zstd or lz4 are decompressed; dictionaries are kept and may be replaced. One
 * message is in memory at a time, so the memory in use is that of the largest batch, of the
 * dictionaries, and of the batches the consumer holds.
 */
#ifndef LMN_ARROW_IPC_READ_H
#define LMN_ARROW_IPC_READ_H

#include <leman/arrow_abi.h>

#include "base/bytes.h"
#include "os/source.h"

/* Is this the start of an IPC file, or of an IPC stream? Eight bytes are enough to tell. */
bool lmn__ipc_is_start(struct lmn__span bytes);

/*
 * Read `source`, which moves here, also on failure, and is left closed. Its schema is read at
 * once, batches as they are asked for. The caller releases *stream_out.
 *
 * LMN_E_CORRUPT      it is no Arrow IPC, or is damaged; also from the stream, later, as for a
 *                    string that is not UTF-8, which is told with its column and row
 * LMN_E_UNSUPPORTED  big-endian data, metadata older than version 4, a type the library does
 *                    not hold, or (from the stream) a dictionary that is extended by a delta
 */
LMN_MUST_USE enum lmn_status lmn__ipc_read(struct lmn_env *env, struct lmn__source *source,
                                           struct ArrowArrayStream *stream_out,
                                           struct lmn_error *err);

/*
 * The same for bytes in memory, which stay where they are until the stream is released. Their
 * strings are not looked at: what jobs keep so is given back as it was given.
 */
LMN_MUST_USE enum lmn_status lmn__ipc_read_buffer(struct lmn_env *env, const char *name,
                                                  struct lmn__span bytes,
                                                  struct ArrowArrayStream *stream_out,
                                                  struct lmn_error *err);

#endif
