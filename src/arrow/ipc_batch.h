/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_batch.h - one record batch of an Arrow IPC message becomes an array.
 *
 * What is handed out is whole: every length, offset, index and view was checked against the
 * buffers it refers to, and strings are UTF-8 where the body asks for that.
 */
#ifndef LMN_ARROW_IPC_BATCH_H
#define LMN_ARROW_IPC_BATCH_H

#include "arrow/ipc_buffer.h"
#include "arrow/ipc_schema.h"

/* Says that a failure is about no row. */
#define LMN__IPC_NO_ROW UINT64_MAX

/* The values of one dictionary, as the last message for it gave them. */
struct lmn__ipc_dictionary {
    const struct lmn__ipc_type *values;
    int64_t id;
    struct ArrowArray array; /* not there yet: release is NULL */
};

struct lmn__ipc_dictionaries {
    struct lmn__ipc_dictionary *item;
    uint32_t count;
};

/* The dictionary `id`, or NULL. */
struct lmn__ipc_dictionary *lmn__ipc_dictionary_find(
    const struct lmn__ipc_dictionaries *dictionaries, int64_t id);

/*
 * Read a batch of columns `type`, `count` of them, into a struct array. The caller releases it.
 *
 * `body` has its block and its length; the codec is read from `table`, a RecordBatch. *row_out is
 * the row whose string is no text, or LMN__IPC_NO_ROW.
 *
 * LMN_E_CORRUPT    the message contradicts itself or the type, or a string is not UTF-8
 * LMN_E_NO_MEMORY  the environment's limit does not allow it
 */
LMN_MUST_USE enum lmn_status lmn__ipc_batch_read(const struct lmn__flat_table *table,
                                                 const struct lmn__ipc_type *type, uint32_t count,
                                                 const struct lmn__ipc_dictionaries *dictionaries,
                                                 struct lmn__ipc_body *body,
                                                 struct ArrowArray *array_out, uint64_t *row_out,
                                                 struct lmn_error *err);

#endif
