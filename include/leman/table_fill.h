/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_fill.h - columns that functions fill, and what is known of each of their cells.
 *
 * Beside a filled column stands its ledger, a hidden column that says for every row whether the
 * cell was computed, by which function, from which inputs; see docs/format/ledger.md.
 */
#ifndef LEMAN_TABLE_FILL_H
#define LEMAN_TABLE_FILL_H

#include <leman/table_write.h>
#include <leman/text.h>

/*
 * Add columns of type `schema`, a struct of them, to be filled by a function, each with its ledger,
 * in one commit. `function` is kept in the columns' metadata: a JSON object of at most 1 KiB with
 * name, version, hash and inputs.
 *
 * LMN_E_EXISTS   a column of that name is there
 * LMN_E_INVALID  a column that is declared to have no nulls, or too long a text
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_add_function_columns(
    struct lmn_table *table, const struct ArrowSchema *schema, const char *function,
    struct lmn_error *err);

/* Record another function for a filled column; no data changes. */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_set_function(struct lmn_table *table,
                                                            const char *column,
                                                            const char *function,
                                                            struct lmn_error *err);

/*
 * What was recorded for a column; the caller frees *function_out with lmn_text_free(). NULL when no
 * function fills it.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_function(struct lmn_table *table, const char *column,
                                                        char **function_out, struct lmn_error *err);

/* Cells of a filled column by state; stale ones are not counted as ok. */
struct lmn_cell_counts {
    uint64_t pending, ok, failed, stale;
};

/*
 * Count the cells of a column.
 *
 * LMN_E_NOT_FOUND  no such column, or no function fills it
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_cells(struct lmn_table *table, const char *column,
                                                     struct lmn_cell_counts *counts_out,
                                                     struct lmn_error *err);

/* Store an object of functions by content: `_leman/functions/<64 hex digits>`; hash_out has 65. */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_put_function(struct lmn_table *table,
                                                            const void *code, uint64_t len,
                                                            char *hash_out, struct lmn_error *err);

/*
 * Read it back; the caller frees *code_out with lmn_text_free().
 *
 * LMN_E_NOT_FOUND  it is not stored
 * LMN_E_CORRUPT    its bytes have another hash
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_get_function(struct lmn_table *table,
                                                            const char *hash, char **code_out,
                                                            uint64_t *len_out,
                                                            struct lmn_error *err);

/*
 * The failed cells of a column as a stream, by rising row id: row_id, type, message, traceback,
 * inputs, attempts, job, time, function, repeat (a line of Python that calls the function for the
 * row again). Of each cell the newest record is shown; members that it
 * does not have, and all but the row id where a record is lost, are null. Cells that were computed
 * since are left out. The stream is as one of lmn_table_scan(); the caller releases it.
 *
 * LMN_E_NOT_FOUND  no such column, or no function fills it
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_errors(struct lmn_table *table, const char *column,
                                                      struct ArrowArrayStream *stream_out,
                                                      struct lmn_error *err);

#endif
