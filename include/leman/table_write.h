/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_write.h - make and change tables.
 *
 * Every call is one commit: all of it is seen, or nothing. It is durable when the call returns
 * LMN_OK. A call that meets commits of others is made to fit them where that is sound, or made
 * again on the newest version. On failure the table is as it was, but for one: the system may fail
 * when the version has its name already, or it cannot be seen whether the version stands. Then the
 * status is LMN_E_IO, and the version may be there; look before making the call again.
 *
 * What every call may answer, beside what stands at it:
 *
 * LMN_E_NOT_FOUND    the table is gone
 * LMN_E_CONFLICT     others have changed the same; the message names what
 * LMN_E_CORRUPT      the manifest, or a file that is read, does not decode
 * LMN_E_UNSUPPORTED  the table has a feature that writers must know and this library does not, or
 *                    the handle is one of a branch, which is only read
 * LMN_E_IO           the store failed
 * LMN_E_NO_MEMORY    the environment's limits do not allow it
 *
 * Streams are consumed and released, also on failure; what they answer is passed on. Their batches
 * are valid arrays; see arrow_abi.h.
 */
#ifndef LEMAN_TABLE_WRITE_H
#define LEMAN_TABLE_WRITE_H

#include <leman/page.h>
#include <leman/table.h>

/* A zeroed struct asks for the defaults. */
struct lmn_write_options {
    struct lmn_encode_options encode; /* the version counts for create and overwrite */
    uint64_t fragment_rows_max;       /* default 1,048,576 */
    uint64_t fragment_bytes_max;      /* of a data file; default 90 GiB */
    bool unstable_row_ids;            /* create: row ids are addresses */
    const char *const *primary_key;   /* create and overwrite: names of columns, in order; they have
                                         no nulls */
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
 * LMN_E_INVALID      options out of range; a name that is not UTF-8, is there twice, is empty, has
 *                    a dot or is one of Lance's own; or nulls where there may be none
 * LMN_E_NOT_FOUND    a column of the primary key is not there
 * LMN_E_UNSUPPORTED  a type that the file version, or a primary key, has no place for
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_create(struct lmn_store *store,
                                                      struct ArrowArrayStream *stream,
                                                      const struct lmn_write_options *options,
                                                      struct lmn_table **table_out,
                                                      struct lmn_error *err);

/*
 * Replace rows and schema by those of `stream`, as a new version of the same table. `options` may
 * be NULL: then it has no primary key.
 *
 * LMN_E_INVALID, LMN_E_NOT_FOUND, LMN_E_UNSUPPORTED  as lmn_table_create()
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_overwrite(struct lmn_table *table,
                                                         struct ArrowArrayStream *stream,
                                                         const struct lmn_write_options *options,
                                                         struct lmn_error *err);

/*
 * Append the rows of `stream`. Columns are matched by name; nullable ones may be missing. No rows
 * make no version. `options` may be NULL.
 *
 * LMN_E_INVALID      a column is missing, unknown, there twice, or of another type; it is named; or
 *                    nulls where there may be none
 * LMN_E_UNSUPPORTED  values that the table's file version has no place for
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_append(struct lmn_table *table,
                                                      struct ArrowArrayStream *stream,
                                                      const struct lmn_write_options *options,
                                                      struct lmn_error *err);

/*
 * Delete the rows that match; "true" matches all. *count_out (may be NULL) is their number; 0
 * commits nothing.
 *
 * LMN_E_INVALID      a wrong expression, or none, or a row for which it has no result
 * LMN_E_NOT_FOUND    it names a column or function that is not there
 * LMN_E_UNSUPPORTED  it has a type or function that is not evaluated
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
 * LMN_E_INVALID      a wrong expression, or one whose type or value does not fit the column;
 *                    nothing is set, or a column twice
 * LMN_E_NOT_FOUND    a column that is set, or that an expression names, is not there; or a function
 * LMN_E_UNSUPPORTED  a field inside of a column, which is set as a whole; or as lmn_table_delete()
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
 * and are null in inserted ones. *result_out may be NULL.
 *
 * LMN_E_INVALID      a key stands in the stream twice, a column does not fit, there are no key
 *                    columns, a wrong expression, an action that is none for its rows, or a
 *                    condition for rows that are neither updated nor deleted
 * LMN_E_NOT_FOUND    the stream lacks a key column; an expression names a column or function that
 *                    is not there; or LMN_MERGE_FAIL met a key that is not there
 * LMN_E_EXISTS       LMN_MERGE_FAIL met a key that is there
 * LMN_E_UNSUPPORTED  a key of lists or structs, more than 4 billion rows, or as lmn_table_append()
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_merge(struct lmn_table *table,
                                                     struct ArrowArrayStream *stream,
                                                     const struct lmn_merge_options *options,
                                                     struct lmn_merge_result *result_out,
                                                     struct lmn_error *err);

#endif
