/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_blob.h - one blob of a table, read piece by piece.
 *
 * Nothing of it is read before it is asked for. A blob keeps what it needs alive, also when the
 * table's handle is closed or moves on, and may be read from any number of threads.
 */
#ifndef LEMAN_TABLE_BLOB_H
#define LEMAN_TABLE_BLOB_H

#include <leman/table.h>

struct lmn_table_blob;

/*
 * Open the blob of a row, by its id, or with `by_position` by its position in the table. `column`
 * is a blob column on top level. *blob_out is NULL where the row has none. The caller closes it.
 *
 * LMN_E_NOT_FOUND  there is no such column, or no row of that id
 * LMN_E_INVALID    the column holds no blobs, or the position is not below the number of rows
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_blob_open(struct lmn_table *table,
                                                         const char *column, uint64_t row,
                                                         bool by_position,
                                                         struct lmn_table_blob **blob_out,
                                                         struct lmn_error *err);

/* NULL is ignored. */
LMN_API void lmn_table_blob_close(struct lmn_table_blob *blob);

/* Its size in bytes. */
LMN_API uint64_t lmn_table_blob_bytes(const struct lmn_table_blob *blob);

/*
 * Read bytes [offset, offset + len) into `data`.
 *
 * LMN_E_INVALID      the range leaves the blob
 * LMN_E_UNSUPPORTED  it lies outside of the table, and not in a file of this machine
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_blob_read(const struct lmn_table_blob *blob,
                                                         uint64_t offset, void *data, size_t len,
                                                         struct lmn_error *err);

#endif
