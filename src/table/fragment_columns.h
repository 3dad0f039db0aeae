/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragment_columns.h - the columns that a projection selects, in the data files of one fragment.
 *
 * A field is found in the file that lists its id, whatever its name is there; one that no file
 * lists is null in every row. Does not change once it is open: any number of threads may read.
 */
#ifndef LMN_TABLE_FRAGMENT_COLUMNS_H
#define LMN_TABLE_FRAGMENT_COLUMNS_H

#include "format/reader.h"
#include "table/file_set.h"

struct lmn__fragment_columns;

/*
 * Open the files of `fragment` that hold something of `projection`, which selects from the schema
 * of `manifest` and lives on, as `fragment` does. The caller closes *columns_out.
 *
 * LMN_E_CORRUPT      a file has another number of rows than the fragment, or columns of other types
 * LMN_E_UNSUPPORTED  the fragment has overlays
 */
LMN_MUST_USE enum lmn_status lmn__fragment_columns_open(struct lmn__file_set *files,
                                                        const struct lmn__manifest *manifest,
                                                        const struct lmn__pb_fragment *fragment,
                                                        const struct lmn__projection *projection,
                                                        struct lmn__fragment_columns **columns_out,
                                                        struct lmn_error *err);
/* NULL is ignored. */
void lmn__fragment_columns_close(struct lmn__fragment_columns *columns);

/*
 * Read ranges of physical rows that rise, do not overlap and lie in the fragment. The caller
 * releases *array_out, a struct array of the projection's type.
 */
LMN_MUST_USE enum lmn_status lmn__fragment_columns_read(const struct lmn__fragment_columns *columns,
                                                        struct lmn__scratch *scratch,
                                                        const struct lmn__row_range *range,
                                                        uint64_t range_count,
                                                        struct ArrowArray *array_out,
                                                        struct lmn_error *err);

/* Bytes that an average row takes in the files; at least 1. */
uint64_t lmn__fragment_columns_row_bytes(const struct lmn__fragment_columns *columns);

/* Bytes of the blobs that are read with a row; see lmn__reader_blob_bytes(). */
LMN_MUST_USE enum lmn_status lmn__fragment_columns_blob_bytes(
    const struct lmn__fragment_columns *columns, uint64_t *bytes_out, struct lmn_error *err);

#endif
