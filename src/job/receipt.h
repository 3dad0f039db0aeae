/* SPDX-License-Identifier: Apache-2.0 */
/*
 * receipt.h - what a worker says of results that it has written: which rows, and where the bytes
 * are.
 *
 * A receipt travels from the worker to the driver and from there into the journal, as the same
 * bytes: a protobuf message, described in docs/format/fills.md. The bytes it names are durable
 * before it is sent.
 *
 * The columns of a fill are numbered as in its schema: the columns that the function fills, then
 * one ledger column for each of them.
 */
#ifndef LMN_JOB_RECEIPT_H
#define LMN_JOB_RECEIPT_H

#include "base/buf.h"
#include "base/proto.h"
#include "format/reader.h"

/* Pages of one column, in their final place in the fragment's pages file. */
struct lmn__receipt_pages {
    uint32_t column;
    uint64_t position, bytes;    /* what was granted */
    struct lmn__span descriptor; /* of lmn_pages_describe(); see leman/page.h */
};

/* Rows of some columns as an Arrow IPC stream in the fill's hold file. */
struct lmn__receipt_hold {
    uint64_t position, bytes;
    uint64_t checksum; /* XXH3 of the bytes */
    struct lmn__pb_u64s column;
};

/*
 * Payloads of blobs in the fragment's pages file; the hold says which of them belongs to a row.
 * Those of results that were kept lie in what was granted to whoever kept them.
 */
struct lmn__receipt_payloads {
    uint64_t position, bytes; /* what was granted */
};

/* A cell that failed: its row, and a JSON object with type, message, traceback, inputs, attempts.
 */
struct lmn__receipt_error {
    uint64_t row; /* physical */
    struct lmn__span record;
};

struct lmn__receipt {
    uint64_t fragment_id;
    uint64_t layout;           /* of plan.h: the rows and inputs that it belongs to */
    struct lmn__pb_u64s first; /* ranges of physical rows, rising: first row ... */
    struct lmn__pb_u64s count; /* ... and number of rows of each */
    uint64_t row_count;        /* of all ranges */
    uint64_t failed_count;
    struct lmn__pb_list pages;    /* struct lmn__receipt_pages */
    struct lmn__pb_list holds;    /* struct lmn__receipt_hold; at most one */
    struct lmn__pb_list errors;   /* struct lmn__receipt_error */
    bool segments;                /* what was granted is in objects of its own; see sink.h */
    struct lmn__pb_list payloads; /* struct lmn__receipt_payloads */
    struct lmn__pb_list kept;     /* the same of results that were kept; see kept_blobs.h */
};
extern const struct lmn__pb_message lmn__receipt_message;

/*
 * Decode and check: ranges rise and do not overlap, counts add up, every column is below
 * `column_count` and has its rows exactly once. Views point into `bytes`.
 *
 * LMN_E_CORRUPT  it is no receipt, or contradicts itself
 */
LMN_MUST_USE enum lmn_status lmn__receipt_decode(struct lmn__span bytes, uint32_t column_count,
                                                 struct lmn__arena *arena,
                                                 struct lmn__receipt *receipt_out,
                                                 struct lmn_error *err);

/* Append the encoding to `buf`; failure shows in the buffer's status. */
void lmn__receipt_encode(const struct lmn__receipt *receipt, struct lmn__buf *buf);

#endif
