/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragment_reader.h - rows of one fragment, put together from its data files.
 *
 * A field is found in the file that lists its id; one that no file lists is null in every row. A
 * reader does not change once it is made; any number of threads may read through it.
 */
#ifndef LMN_TABLE_FRAGMENT_READER_H
#define LMN_TABLE_FRAGMENT_READER_H

#include "format/reader.h"
#include "table/deletion.h"
#include "table/file_set.h"
#include "table/row_ids.h"

struct lmn__fragment_reader;

/*
 * Open the files of fragment number `index` of `manifest` that hold what `projection` selects: a
 * projection of the manifest's schema, which lives on. Deletions and row ids are read, too.
 */
LMN_MUST_USE enum lmn_status lmn__fragment_reader_open(struct lmn__file_set *files,
                                                       struct lmn__manifest *manifest,
                                                       uint64_t index,
                                                       const struct lmn__projection *projection,
                                                       struct lmn__fragment_reader **reader_out,
                                                       struct lmn_error *err);
/* NULL is ignored. */
void lmn__fragment_reader_close(struct lmn__fragment_reader *reader);

/*
 * Read ranges of physical rows, as lmn__reader_read() does. The caller releases *array_out, a
 * struct array of the projection's type.
 */
LMN_MUST_USE enum lmn_status lmn__fragment_reader_read(const struct lmn__fragment_reader *reader,
                                                       struct lmn__scratch *scratch,
                                                       const struct lmn__row_range *range,
                                                       uint64_t range_count,
                                                       struct ArrowArray *array_out,
                                                       struct lmn_error *err);

struct lmn_env *lmn__fragment_reader_env(const struct lmn__fragment_reader *reader);

/* The fragment's message, its deleted rows, and the ids of its rows (addresses, if not stable). */
const struct lmn__pb_fragment *lmn__fragment_reader_fragment(
    const struct lmn__fragment_reader *reader);
const struct lmn__deletion *lmn__fragment_reader_deletion(
    const struct lmn__fragment_reader *reader);
const struct lmn__row_ids *lmn__fragment_reader_ids(const struct lmn__fragment_reader *reader);

/* How many rows are alive; and the physical row of live row number `position`, which is below. */
uint64_t lmn__fragment_reader_live_count(const struct lmn__fragment_reader *reader);
uint64_t lmn__fragment_reader_live_row(const struct lmn__fragment_reader *reader,
                                       uint64_t position);

/* Bytes that an average row takes in the files; at least 1. */
uint64_t lmn__fragment_reader_row_bytes(const struct lmn__fragment_reader *reader);

/* Bytes of the blobs that are read with a row; see lmn__reader_blob_bytes(). */
LMN_MUST_USE enum lmn_status lmn__fragment_reader_blob_bytes(
    const struct lmn__fragment_reader *reader, uint64_t *bytes_out, struct lmn_error *err);

#endif
