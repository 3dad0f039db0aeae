/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_schema.h - the type of an Arrow IPC stream: its flatbuffer, and what batches are read by.
 *
 * The fields of each table of the metadata are numbered as in Arrow's Message.fbs, Schema.fbs
 * and File.fbs.
 */
#ifndef LMN_ARROW_IPC_SCHEMA_H
#define LMN_ARROW_IPC_SCHEMA_H

#include "arrow/flat.h"
#include "arrow/layout.h"

enum {
    LMN__IPC_MESSAGE_VERSION = 0,
    LMN__IPC_MESSAGE_KIND = 1,
    LMN__IPC_MESSAGE_HEADER = 2,
    LMN__IPC_MESSAGE_BODY_BYTES = 3,
    LMN__IPC_VERSION_4 = 3,
    LMN__IPC_VERSION_5 = 4,
    LMN__IPC_KIND_SCHEMA = 1,
    LMN__IPC_KIND_DICTIONARY = 2,
    LMN__IPC_KIND_BATCH = 3,

    LMN__IPC_BATCH_LENGTH = 0,
    LMN__IPC_BATCH_NODES = 1,
    LMN__IPC_BATCH_BUFFERS = 2,
    LMN__IPC_BATCH_COMPRESSION = 3,
    LMN__IPC_BATCH_VARIADIC = 4,
    LMN__IPC_NODE_BYTES = 16,   /* i64 length, i64 nulls */
    LMN__IPC_BUFFER_BYTES = 16, /* i64 offset, i64 bytes */

    LMN__IPC_DICTIONARY_ID = 0,
    LMN__IPC_DICTIONARY_BATCH = 1,
    LMN__IPC_DICTIONARY_DELTA = 2
};

/* One node of the type. A dictionary's child is the type of its values. */
struct lmn__ipc_type {
    const struct lmn__layout *layout;
    const char *name; /* in the schema */
    int64_t dictionary_id;
    bool is_text; /* strings, not binaries */
    uint32_t child_count;
    struct lmn__ipc_type *child;
};

/*
 * Read the flatbuffer of a schema.
 *
 * The type and its layout are in the arena, names stay the schema's. The caller releases
 * *schema_out, after the last use of the type.
 *
 * LMN_E_CORRUPT      the flatbuffer does not decode
 * LMN_E_UNSUPPORTED  big-endian data, or a type the library does not hold
 */
LMN_MUST_USE enum lmn_status lmn__ipc_schema_read(const struct lmn__flat_table *table,
                                                  struct lmn__arena *arena,
                                                  struct ArrowSchema *schema_out,
                                                  const struct lmn__ipc_type **type_out,
                                                  struct lmn_error *err);

/*
 * Write the flatbuffer of a schema. Dictionaries are numbered in the order in which a walk meets
 * them, parents first, as lmn__ipc_type_make() numbers them.
 *
 * LMN_E_UNSUPPORTED  a type the library does not hold
 */
LMN_MUST_USE enum lmn_status lmn__ipc_schema_write(const struct ArrowSchema *schema,
                                                   struct lmn__flat_writer *writer,
                                                   lmn__flat_ref *ref_out, struct lmn_error *err);

/* The type of a schema that is to be written. */
LMN_MUST_USE enum lmn_status lmn__ipc_type_make(const struct ArrowSchema *schema,
                                                struct lmn__arena *arena,
                                                const struct lmn__ipc_type **type_out,
                                                struct lmn_error *err);

#endif
