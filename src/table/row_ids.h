/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_ids.h - the stable ids of a fragment's rows, and the versions that made and changed them.
 *
 * A sequence gives a number to every physical row of a fragment, in order. It is kept as runs of
 * neighbours { first number, count }, which is small for tables that were appended to; ids that are
 * all over the place are runs of one.
 */
#ifndef LMN_TABLE_ROW_IDS_H
#define LMN_TABLE_ROW_IDS_H

#include "table/table_pb.h"

/* Rows [row, row + count) have the ids id, id + 1, ... */
struct lmn__id_run {
    uint64_t row;
    uint64_t id;
    uint64_t count;
};

struct lmn__row_ids {
    struct lmn__id_run *run; /* by rising row */
    uint64_t run_count;
    uint64_t row_count;
};

/*
 * Decode a RowIdSequence of `row_count` rows into the arena.
 *
 * LMN_E_CORRUPT  it does not decode, or has another number of rows
 */
LMN_MUST_USE enum lmn_status lmn__row_ids_read(struct lmn__span bytes, uint64_t row_count,
                                               struct lmn__arena *arena,
                                               struct lmn__row_ids *ids_out, struct lmn_error *err);

/* The id of a row; `row` is below row_count. */
uint64_t lmn__row_ids_get(const struct lmn__row_ids *ids, uint64_t row);

/* The ids of rows [first, first + count). */
void lmn__row_ids_copy(const struct lmn__row_ids *ids, uint64_t first, uint64_t count,
                       uint64_t *id_out);

/*
 * Append the encoded RowIdSequence of `count` ids to `buf`, in the smallest of the forms that other
 * readers know. Failure shows in `buf`.
 */
void lmn__row_ids_write(const uint64_t *id, uint64_t count, struct lmn__buf *buf);

/* The same for the ids start, start + 1, ... */
void lmn__row_ids_write_range(uint64_t start, uint64_t count, struct lmn__buf *buf);

/* The version of every row of a fragment, as runs. */
struct lmn__version_run {
    uint64_t row;
    uint64_t count;
    uint64_t version;
};

struct lmn__row_versions {
    struct lmn__version_run *run;
    uint64_t run_count;
    uint64_t row_count;
};

/* Decode a RowDatasetVersionSequence of `row_count` rows; LMN_E_CORRUPT as above. */
LMN_MUST_USE enum lmn_status lmn__row_versions_read(struct lmn__span bytes, uint64_t row_count,
                                                    struct lmn__arena *arena,
                                                    struct lmn__row_versions *versions_out,
                                                    struct lmn_error *err);

uint64_t lmn__row_versions_get(const struct lmn__row_versions *versions, uint64_t row);

/* Append the encoded sequence of `count` versions; failure shows in `buf`. */
void lmn__row_versions_write(const uint64_t *version, uint64_t count, struct lmn__buf *buf);

/* The same for `count` rows of one version. */
void lmn__row_versions_write_same(uint64_t version, uint64_t count, struct lmn__buf *buf);

#endif
