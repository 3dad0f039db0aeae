/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_scan.h - read the rows of a table.
 *
 * A read pins the version its handle stood at; later commits do not change what it returns.
 */
#ifndef LEMAN_TABLE_SCAN_H
#define LEMAN_TABLE_SCAN_H

#include <leman/file.h>
#include <leman/table.h>

/* What to read. A zeroed struct reads every row and column. */
struct lmn_scan_options {
    const char *const *column; /* names and paths; NULL: all, without hidden ones */
    uint32_t column_count;
    const char *where; /* an expression; NULL: every row */
    bool limited;      /* at most `limit` rows */
    uint64_t limit;
    uint64_t offset;       /* matching rows to leave out first */
    bool with_row_id;      /* a column "_rowid" behind the others */
    bool with_row_address; /* a column "_rowaddr": fragment id << 32 | row */
    enum lmn_blob_mode blobs;
    uint32_t batch_rows_max;     /* default 8192 */
    uint64_t batch_bytes_max;    /* default 32 MiB */
    uint64_t prefetch_bytes_max; /* default 256 MiB */
    uint32_t threads;            /* 0: the environment's; 1: all work in the caller's thread */
    const uint64_t *fragment;    /* ids; NULL: all fragments */
    uint64_t fragment_count;
};

/*
 * Read rows in order, as a stream of batches. `options` may be NULL.
 *
 * The stream keeps what it needs alive and may be used from one thread at a time. Batches may have
 * fewer rows than asked for. With several threads it belongs to the process that opened it: in a
 * fork its batches fail with LMN_E_UNSUPPORTED, and to release it does nothing.
 *
 * LMN_E_NOT_FOUND    a column or fragment is not in the table; or the expression names a column or
 *                    function that is not there
 * LMN_E_INVALID      the expression is wrong, and the message points at the place; or a column is
 *                    asked for twice. From the stream: a row for which the expression has no result
 * LMN_E_CORRUPT      the manifest does not decode; from the stream: a file or a page
 * LMN_E_UNSUPPORTED  the expression has a type or function that is not evaluated; from the stream:
 *                    an encoding that is not known, or a blob that cannot be read from here
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_scan(struct lmn_table *table,
                                                    const struct lmn_scan_options *options,
                                                    struct ArrowArrayStream *stream_out,
                                                    struct lmn_error *err);

/* The next batch of any stream, with a status: lmn_file_scan_next() by another name. */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_scan_next(struct ArrowArrayStream *stream,
                                                         struct ArrowArray *array_out,
                                                         struct lmn_error *err);

/*
 * Read rows by their position in the table (deleted rows do not count), in the order given;
 * positions may repeat. Of the options, columns, row ids and blobs count.
 *
 * The caller releases *schema_out and *array_out.
 *
 * LMN_E_INVALID    a position is not below the number of rows, or a column is asked for twice
 * LMN_E_NOT_FOUND  a column is not in the table
 * and what the stream of lmn_table_scan() answers
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_take(struct lmn_table *table,
                                                    const uint64_t *position, uint64_t count,
                                                    const struct lmn_scan_options *options,
                                                    struct ArrowSchema *schema_out,
                                                    struct ArrowArray *array_out,
                                                    struct lmn_error *err);

/*
 * The same by row id.
 *
 * LMN_E_NOT_FOUND  no live row has one of the ids; it is named; or a column is not in the table
 * and what lmn_table_take() answers
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_take_ids(struct lmn_table *table, const uint64_t *id,
                                                        uint64_t count,
                                                        const struct lmn_scan_options *options,
                                                        struct ArrowSchema *schema_out,
                                                        struct ArrowArray *array_out,
                                                        struct lmn_error *err);

/*
 * How many rows match `where`; NULL counts all, without reading data.
 *
 * Answers as lmn_table_scan() and its stream.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_count(struct lmn_table *table, const char *where,
                                                     uint64_t *count_out, struct lmn_error *err);

#endif
