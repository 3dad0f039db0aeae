/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_write.h - batches as an Arrow IPC stream or file, uncompressed.
 *
 * Buffers are written from where they are; only slices that start inside a byte, and offsets
 * that do not start at 0, are copied first. A writer belongs to one thread at a time.
 */
#ifndef LMN_ARROW_IPC_WRITE_H
#define LMN_ARROW_IPC_WRITE_H

#include "arrow/ipc_schema.h"
#include "base/buf.h"
#include "os/sink.h"

enum lmn__ipc_form { LMN__IPC_STREAM, LMN__IPC_FILE };

struct lmn__ipc_writer {
    struct lmn_env *env;    /* counted; NULL: not open */
    struct lmn__sink *sink; /* borrowed */
    enum lmn__ipc_form form;
    struct lmn__arena arena;
    struct ArrowSchema schema; /* a copy */
    const struct lmn__ipc_type *type;
    uint64_t *sent;         /* by id: the hash of the dictionary that was written last, or 0 */
    struct lmn__buf blocks; /* FILE: where the batches are, for the footer */
    uint32_t dictionary_count;
};

/*
 * Start with the schema, a struct of the columns, which is copied. `sink` must live until the
 * writer is finished or aborted.
 *
 * LMN_E_UNSUPPORTED  a type that is not written; dictionaries in a file, which has no place for
 *                    one that changes
 */
LMN_MUST_USE enum lmn_status lmn__ipc_writer_open(struct lmn__ipc_writer *writer,
                                                  struct lmn_env *env, struct lmn__sink *sink,
                                                  enum lmn__ipc_form form,
                                                  const struct ArrowSchema *schema,
                                                  struct lmn_error *err);

/* Write the rows of a struct array of that type, which stays the caller's. */
LMN_MUST_USE enum lmn_status lmn__ipc_writer_write(struct lmn__ipc_writer *writer,
                                                   const struct ArrowArray *batch,
                                                   struct lmn_error *err);

/* Write the end mark and, in a file, the footer. Ends the writer, also on failure. */
LMN_MUST_USE enum lmn_status lmn__ipc_writer_finish(struct lmn__ipc_writer *writer,
                                                    struct lmn_error *err);

/* End the writer where it is. A zeroed one may be given too. */
void lmn__ipc_writer_abort(struct lmn__ipc_writer *writer);

/* Write all batches of a stream, which stays the caller's. */
LMN_MUST_USE enum lmn_status lmn__ipc_write(struct lmn_env *env, struct lmn__sink *sink,
                                            enum lmn__ipc_form form,
                                            struct ArrowArrayStream *stream, struct lmn_error *err);

/* One batch as a whole IPC stream or file, appended to `buf`. */
LMN_MUST_USE enum lmn_status lmn__ipc_write_buffer(struct lmn_env *env, enum lmn__ipc_form form,
                                                   const struct ArrowSchema *schema,
                                                   const struct ArrowArray *batch,
                                                   struct lmn__buf *buf, struct lmn_error *err);

#endif
