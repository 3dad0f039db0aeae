/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leaf_reader.h - rows of one leaf's column (file versions 2.1 and 2.2).
 */
#ifndef LMN_FORMAT_LEAF_READER_H
#define LMN_FORMAT_LEAF_READER_H

#include "format/reader.h"

/*
 * Tell the store of the first of several ranges, so that their bytes are on their way while other
 * leaves are read. *told_out is the number of ranges that it was told of.
 */
LMN_MUST_USE enum lmn_status lmn__leaf_look_ahead(const struct lmn__reader *reader,
                                                  const struct lmn__leaf_plan *plan,
                                                  struct lmn__scratch *scratch,
                                                  const struct lmn__row_range *range,
                                                  uint64_t range_count, uint64_t *told_out,
                                                  struct lmn_error *err);

/*
 * Append ranges of rows to the builders that `plan` names below `root`.
 *
 * Pages are opened through the file's cache; bytes of neighbouring ranges are fetched together. The
 * store was told of the first `told` ranges already.
 */
LMN_MUST_USE enum lmn_status lmn__leaf_read(const struct lmn__reader *reader,
                                            const struct lmn__leaf_plan *plan,
                                            struct lmn__scratch *scratch,
                                            const struct lmn__row_range *range,
                                            uint64_t range_count, uint64_t told,
                                            struct lmn__builder *root, struct lmn_error *err);

#endif
