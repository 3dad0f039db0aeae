/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink.h - the worker's side of results: rows in, bytes in their place, a receipt out.
 *
 * A column whose encoded pages are at least 1 MiB, over rows without gaps, goes to its final place
 * in the fragment's pages file; what is smaller, and the ledgers, go to the hold file. Both are
 * synced before the receipt is made. Payloads of blobs go to the pages file whatever their size,
 * and the hold file says where they are.
 *
 * Two kinds: all workers write into the same files, each where space was granted to it; or, where
 * files cannot be shared so (several machines, network file systems), each grant is an object of
 * its own, a segment, that is copied to its place when the fragment is assembled.
 */
#ifndef LMN_JOB_SINK_H
#define LMN_JOB_SINK_H

#include "job/journal.h"
#include "job/payload.h"

/* Ask the driver for space; a pages file is that of the rows being written. */
typedef enum lmn_status (*lmn__grant_fn)(void *context, enum lmn__grant_file file, uint64_t bytes,
                                         uint64_t *position_out, struct lmn_error *err);

struct lmn__page_sink_options {
    struct lmn_store *store;          /* the table's */
    const char *dir;                  /* of the fill */
    const struct ArrowSchema *schema; /* of the fill's columns, with ledgers */
    const char *file_version;         /* "2.1" */
    lmn__grant_fn grant;
    void *context;
    bool unsynced;
    bool segments; /* objects of their own instead of shared files */
};

struct lmn__page_sink;

/* Everything in the options is copied or counted, but `context`. The caller closes the sink. */
LMN_MUST_USE enum lmn_status lmn__page_sink_open(const struct lmn__page_sink_options *options,
                                                 struct lmn__page_sink **sink_out,
                                                 struct lmn_error *err);
/* NULL is ignored. */
void lmn__page_sink_close(struct lmn__page_sink *sink);

/* Rows are about to come of a fragment of which `parts` parts are committed; each part has a pages
 * file of its own, which nobody writes to after its commit. */
void lmn__page_sink_begin(struct lmn__page_sink *sink, uint64_t parts);

/*
 * The payloads of blobs (payload.h) that the rows of the next lmn__page_sink_write() may name, for
 * a fragment; NULL when no column holds blobs. They live as long as the sink, and begin anew with
 * each receipt and each fragment.
 */
struct lmn__payloads *lmn__page_sink_payloads(struct lmn__page_sink *sink, uint64_t fragment_id,
                                              uint64_t layout);

/* Results of consecutive calls, about to become one receipt. */
struct lmn__page_sink_rows {
    uint64_t fragment_id, layout;
    const struct lmn__row_range *range; /* physical rows, rising */
    uint64_t range_count;
    bool gaps_are_dead;       /* rows between the ranges are deleted: pages may hold nulls there */
    struct ArrowArray *array; /* struct arrays of the schema, one after the other: all rows; a
                                 blob column may be given as payload_column.h says */
    uint64_t array_count;
    uint64_t failed_count;
    const struct lmn__receipt_error *error;
    uint64_t error_count;
};

/* Write the rows and append the encoded receipt to `receipt_out`. */
LMN_MUST_USE enum lmn_status lmn__page_sink_write(struct lmn__page_sink *sink,
                                                  const struct lmn__page_sink_rows *rows,
                                                  struct lmn__buf *receipt_out,
                                                  struct lmn_error *err);

#endif
