/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal_record.h - the records of a fill's journal, as bytes.
 *
 * A record is the length of its message in 32 bits, a checksum in 64 bits, and the message. The
 * checksum is the XXH3 of the checksum before it (0 at the start) and the message: so a record that
 * a crash left behind a torn one never counts, wherever later records end.
 */
#ifndef LMN_JOB_JOURNAL_RECORD_H
#define LMN_JOB_JOURNAL_RECORD_H

#include "base/proto.h"

enum { LMN__JOURNAL_FORMAT = 1 };

/* The first record: which fill it is. */
struct lmn__record_fill {
    uint32_t format;
    int32_t field_id;
    uint64_t version;
    uint32_t column_count;
};

/* A driver begins. */
struct lmn__record_epoch {
    uint64_t number;
    struct lmn__span job;
    uint64_t process;
    struct lmn__span host;
    int64_t time_ns;
};

/* Space below `position` of a file may be granted from here on. */
struct lmn__record_mark {
    uint32_t file; /* enum lmn__grant_file */
    uint64_t fragment_id, layout;
    uint64_t position;
};

struct lmn__record_publish {
    uint64_t fragment_id, layout;
    uint64_t version;
    struct lmn__span path;
    bool direct;
};

/* Fragments, each with its layout, whose receipts have served: all of them at once. */
struct lmn__record_retire {
    struct lmn__pb_u64s fragment_id, layout;
};

/* One of them is there. */
struct lmn__record {
    struct lmn__record_fill *fill;
    struct lmn__record_epoch *epoch;
    struct lmn__record_mark *mark;
    struct lmn__span receipt; /* struct lmn__receipt, encoded */
    struct lmn__record_publish *publish;
    struct lmn__record_retire *retire;
};

/* Append a record to `buf` and move *chain on; failure shows in the buffer's status. */
void lmn__record_put(struct lmn__buf *buf, const struct lmn__record *record, uint64_t *chain);

/*
 * The record at *at of `bytes`; *at and *chain move behind it. *more_out is false where the records
 * end: at the end of the bytes, or at something that is no record of this chain.
 *
 * LMN_E_CORRUPT  a record whose checksum is right and whose message does not decode
 */
LMN_MUST_USE enum lmn_status lmn__record_next(struct lmn__span bytes, size_t *at, uint64_t *chain,
                                              struct lmn__arena *arena,
                                              struct lmn__record *record_out, bool *more_out,
                                              struct lmn_error *err);

#endif
