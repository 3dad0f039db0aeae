/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_write.h - make and change tables.
 *
 * Every call is one commit: all of it is seen, or nothing. It is durable when the call returns
 * LMN_OK. A call that meets commits of others is made to fit them where that is sound, or made
 * again on the newest version; LMN_E_CONFLICT is what is left. On failure the table is as it was.
 *
 * Streams are consumed and released, also on failure. Their batches are valid arrays; see
 * arrow_abi.h.
 */
#ifndef LEMAN_TABLE_WRITE_H
#define LEMAN_TABLE_WRITE_H

#include <leman/page.h>
#include <leman/table.h>

/* A zeroed struct asks for the defaults. */
struct lmn_write_options {
    struct lmn_encode_options encode; /* the version counts for new tables only */
    uint64_t fragment_rows_max;       /* default 1,048,576 */
    uint64_t fragment_bytes_max;      /* of a data file; default 90 GiB */
    bool unstable_row_ids;            /* new tables: row ids are addresses */
    const char *const *primary_key;   /* new tables: names of columns, in order; without nulls */
    uint32_t primary_key_count;
    const char *message; /* kept with the version; UTF-8 */
    bool unsynced;       /* do not wait for the device: for scratch tables */
};

/*
 * Make a table of the rows of `stream` in the root of `store`. `options` may be NULL.
 *
 * The caller releases *table_out.
 *
 * LMN_E_EXISTS       there is a table already
 * LMN_E_UNSUPPORTED  a type that the file version has no place for
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_create(struct lmn_store *store,
                                                      struct ArrowArrayStream *stream,
                                                      const struct lmn_write_options *options,
                                                      struct lmn_table **table_out,
                                                      struct lmn_error *err);

/* Replace rows and schema by those of `stream`, as a new version of the same table. */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_overwrite(struct lmn_table *table,
                                                         struct ArrowArrayStream *stream,
                                                         const struct lmn_write_options *options,
                                                         struct lmn_error *err);

/*
 * Append the rows of `stream`. Columns are matched by name; nullable ones may be missing.
 *
 * LMN_E_INVALID      a column is missing, unknown, or of another type; it is named
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_append(struct lmn_table *table,
                                                      struct ArrowArrayStream *stream,
                                                      const struct lmn_write_options *options,
                                                      struct lmn_error *err);

/*
 * Delete the rows that match; "true" matches all. *count_out (may be NULL) is their number; 0
 * commits nothing.
 *
 * LMN_E_INVALID  a wrong expression, or none
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_delete(struct lmn_table *table, const char *where,
                                                      uint64_t *count_out, struct lmn_error *err);

/* One assignment of an update: a column on top level and an expression over the row. */
struct lmn_assignment {
    const char *column;
    const char *expression;
};

/*
 * Set columns of the rows that match; `where` NULL is all of them. *count_out as above.
 *
 * Rows are written anew, whole; or, where that writes less by a MiB or more, the columns that are
 * set are written for all rows of the fragments that have some, and no other column is. Blobs that
 * are set are always written with their rows.
 *
 * LMN_E_INVALID  a wrong expression, or one whose type does not fit the column
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_update(struct lmn_table *table, const char *where,
                                                      const struct lmn_assignment *assignment,
                                                      uint32_t assignment_count,
                                                      uint64_t *count_out, struct lmn_error *err);

/* What lmn_table_merge() does with a row of the stream, or of the table. */
enum lmn_merge_action {
    LMN_MERGE_SKIP,   /* leave the row as it is; not insert it */
    LMN_MERGE_UPDATE, /* matched: take the stream's row */
    LMN_MERGE_INSERT, /* not matched: insert it */
    LMN_MERGE_DELETE, /* delete the table's row */
    LMN_MERGE_FAIL    /* fail the call, naming the key */
};

/* How to join a stream to a table. */
struct lmn_merge_options {
    const char *const *on; /* key columns */
    uint32_t on_count;
    enum lmn_merge_action matched;       /* SKIP, UPDATE, DELETE or FAIL */
    const char *matched_where;           /* UPDATE or DELETE only where this holds: columns of the
                                            table are "target.x", of the stream "source.x" */
    enum lmn_merge_action not_matched;   /* SKIP, INSERT or FAIL */
    enum lmn_merge_action not_in_source; /* rows of the table without a match: SKIP or DELETE */
    const char *not_in_source_where;     /* DELETE only these */
    struct lmn_write_options write;
};

/*
 * Rows of the table that were inserted, updated and deleted; and skipped: rows of the table that a
 * match left as they are, and rows of the stream without a match that were not inserted.
 */
struct lmn_merge_result {
    uint64_t inserted, updated, deleted, skipped;
};

/*
 * Join the rows of `stream` to the table by key and insert, update or delete as the options say.
 * Null keys match nothing. Columns that the stream does not have stay as they are in updated rows
 * and are null in inserted ones.
 *
 * LMN_E_INVALID  a key stands in the stream twice, a column does not fit, an action is not one for
 *                its rows, or a condition is given for rows that are neither updated nor deleted
 * LMN_E_EXISTS   LMN_MERGE_FAIL met a key that is there
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_merge(struct lmn_table *table,
                                                     struct ArrowArrayStream *stream,
                                                     const struct lmn_merge_options *options,
                                                     struct lmn_merge_result *result_out,
                                                     struct lmn_error *err);

#endif
