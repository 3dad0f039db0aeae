/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_writer.h - a blob column while its file is written.
 *
 * Payloads are written as they come: into the data file (version 2.1: all; 2.2: up to 64 KiB),
 * several to a side file (up to 4 MiB), or each to a side file of its own. Their descriptors are
 * gathered and become the column's pages. A blob writer belongs to the thread of its file writer.
 */
#ifndef LMN_FORMAT_BLOB_WRITER_H
#define LMN_FORMAT_BLOB_WRITER_H

#include "format/writer.h"

/* For one column of `writer`, which outlives it. The caller frees it. */
LMN_MUST_USE enum lmn_status lmn__blob_writer_new(struct lmn_file_writer *writer,
                                                  const struct lmn__write_leaf *leaf,
                                                  struct lmn__blob_writer **blob_out,
                                                  struct lmn_error *err);

/* Write rows [first, first + count) of a column of large binaries. */
LMN_MUST_USE enum lmn_status lmn__blob_writer_write(struct lmn__blob_writer *blob,
                                                    const struct ArrowArray *column, uint64_t first,
                                                    uint64_t count, struct lmn_error *err);

/* Write what is left: payloads, descriptors, and the names of side files. */
LMN_MUST_USE enum lmn_status lmn__blob_writer_finish(struct lmn__blob_writer *blob,
                                                     struct lmn_error *err);

/* NULL is ignored. A side file that has no name yet goes with it. */
void lmn__blob_writer_free(struct lmn__blob_writer *blob);

/* Remove the side files of all columns that have their names already. */
void lmn__blob_remove_sides(struct lmn_file_writer *writer);

#endif
