/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge_source.h - the rows that are merged into a table: a stream that is read to its end.
 */
#ifndef LMN_TABLE_MERGE_SOURCE_H
#define LMN_TABLE_MERGE_SOURCE_H

#include "table/spool.h"

/* A row of the source and one of the table with the same key. */
struct lmn__merge_pair {
    uint64_t source;
    uint64_t address;
    uint64_t id;
};

struct lmn__merge_source {
    struct ArrowSchema schema;
    struct lmn__spool spool;
    uint8_t *matched; /* one bit per row; the merge's */
};

/*
 * Read the stream, whose columns `on` are keys, into a zeroed source. The caller frees it in any
 * case.
 *
 * LMN_E_NOT_FOUND  the stream has no column of that name
 */
LMN_MUST_USE enum lmn_status lmn__merge_source_read(struct lmn__merge_source *source,
                                                    struct lmn_store *store,
                                                    struct ArrowArrayStream *stream,
                                                    const char *const *on, uint32_t on_count,
                                                    struct lmn_error *err);
void lmn__merge_source_deinit(struct lmn__merge_source *source);

#endif
