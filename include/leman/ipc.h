/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.h - write rows as an Arrow IPC stream, which other programs read. lmn_ingest_open() reads it.
 */
#ifndef LEMAN_IPC_H
#define LEMAN_IPC_H

#include <leman/arrow_abi.h>
#include <leman/env.h>

/*
 * Write all batches of `stream`, which stays the caller's, to the file `path`, made or emptied
 * before; "-" is standard output. `env` may be NULL.
 *
 * Buffers are not compressed. After a failure the file holds what was written until then; its
 * readers see that the end is missing only if it was cut inside of a message.
 *
 * LMN_E_NOT_FOUND    there is no such folder
 * LMN_E_UNSUPPORTED  a type that is not written: unions, intervals, views of lists, run-end arrays
 * LMN_E_IO           the system did not take the bytes
 * and what the stream itself answers
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_ipc_write(struct lmn_env *env, const char *path,
                                                   struct ArrowArrayStream *stream,
                                                   struct lmn_error *err);

/* The same to the open descriptor `fd`, which stays open. */
LMN_API LMN_MUST_USE enum lmn_status lmn_ipc_write_fd(struct lmn_env *env, int fd,
                                                      struct ArrowArrayStream *stream,
                                                      struct lmn_error *err);

#endif
