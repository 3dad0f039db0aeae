/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_columns.h - add, drop, rename and widen columns of a table.
 *
 * Columns that a call is not about are not rewritten. Every call is one commit; see table_write.h
 * for that, and for what every call may answer.
 */
#ifndef LEMAN_TABLE_COLUMNS_H
#define LEMAN_TABLE_COLUMNS_H

#include <leman/table_write.h>

/*
 * Add columns of type `schema`, a struct of them, that are null in every row. Nothing but the
 * schema changes.
 *
 * LMN_E_EXISTS       a column of that name is there
 * LMN_E_INVALID      a column that is declared to have no nulls, a name as lmn_table_create()
 *                    refuses it, or no columns
 * LMN_E_UNSUPPORTED  a type that the table's file version has no place for
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_add_null_columns(struct lmn_table *table,
                                                                const struct ArrowSchema *schema,
                                                                struct lmn_error *err);

/*
 * Add columns computed from the row by expressions.
 *
 * LMN_E_EXISTS       a column of that name is there
 * LMN_E_INVALID      a wrong expression, or a row for which it has no result; a name as
 *                    lmn_table_create() refuses it; or no columns
 * LMN_E_NOT_FOUND    an expression names a column or function that is not there
 * LMN_E_UNSUPPORTED  a type that is not evaluated, or that the file version has no place for
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_add_columns(struct lmn_table *table,
                                                           const struct lmn_assignment *column,
                                                           uint32_t count, struct lmn_error *err);

/*
 * Add the columns of `stream`, whose rows are joined to those of the table: by the key columns
 * `on`, or with `on_count` 0 by position. Rows of the table without a match get nulls.
 *
 * LMN_E_EXISTS       a column of that name is there
 * LMN_E_INVALID      a key is there twice, or of another type than the table's; a name as
 *                    lmn_table_create() refuses it; no columns; by position: another number of rows
 * LMN_E_NOT_FOUND    the table or the stream lacks a key column
 * LMN_E_UNSUPPORTED  a key of lists or structs, or a type that the file version has no place for
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_join_columns(struct lmn_table *table,
                                                            struct ArrowArrayStream *stream,
                                                            const char *const *on,
                                                            uint32_t on_count,
                                                            struct lmn_error *err);

/*
 * Drop columns, or fields of structs by path.
 *
 * LMN_E_INVALID    none would be left; none is named; a path names what a list consists of; or the
 *                  function of a column that stays reads one of them, or fills it together with
 *                  that column
 * LMN_E_NOT_FOUND  a column or field is not there
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_drop_columns(struct lmn_table *table,
                                                            const char *const *column,
                                                            uint32_t count, struct lmn_error *err);

/*
 * Give a column, or a field of a struct, another name.
 *
 * LMN_E_EXISTS     that is taken
 * LMN_E_INVALID    it is not UTF-8, is empty, has a dot or is one of Lance's own; or the path names
 *                  what a list consists of
 * LMN_E_NOT_FOUND  the column or field is not there
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_rename_column(struct lmn_table *table,
                                                             const char *column, const char *name,
                                                             struct lmn_error *err);

/*
 * Give a column a wider type, e.g. int32 to int64, or what a path names inside of it: a field of a
 * struct, "boxes.x" of a list's structs, "tags.item" for the items of a list. Structs, lists and
 * maps are wider when something in them is, and what has nothing but nulls (Arrow's type "null")
 * takes any type. Only the column on top level is rewritten; indices on any field of that go.
 *
 * LMN_E_INVALID      the type cannot hold every value of the column, or is that which it has; or a
 *                    moment lies beyond what a finer unit holds
 * LMN_E_NOT_FOUND    the column or field is not there
 * LMN_E_UNSUPPORTED  it is in a packed struct, blobs are beside it in its column, or the file
 *                    version has no place for the type
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_widen_column(struct lmn_table *table,
                                                            const char *column,
                                                            const struct ArrowSchema *type,
                                                            struct lmn_error *err);

/*
 * Note on columns how many rows of them a feed reads together. No data changes; columns that have
 * it noted stay as they are.
 *
 * LMN_E_INVALID    `rows` is 0, or a path names what is inside of a column
 * LMN_E_NOT_FOUND  a column is not there
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_set_read_group(struct lmn_table *table,
                                                              const char *const *column,
                                                              uint32_t count, uint32_t rows,
                                                              struct lmn_error *err);

#endif
