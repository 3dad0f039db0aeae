/* SPDX-License-Identifier: Apache-2.0 */
/*
 * v20_reader.h - rows of files of version 2.0.
 *
 * Every node of the schema has a column of its own there: that of a list holds the ends of its
 * lists, that of its items their values; structs hold nothing and cannot be null.
 */
#ifndef LMN_FORMAT_V20_READER_H
#define LMN_FORMAT_V20_READER_H

#include "format/reader.h"

/* Do the columns of the projection fit together? LMN_E_CORRUPT if not. Adds up their bytes. */
LMN_MUST_USE enum lmn_status lmn__v20_open(struct lmn__reader *reader, struct lmn_error *err);

/* Append ranges of rows to the columns below `root`. */
LMN_MUST_USE enum lmn_status lmn__v20_read(const struct lmn__reader *reader,
                                           struct lmn__scratch *scratch,
                                           const struct lmn__row_range *range, uint64_t range_count,
                                           struct lmn__builder *root, struct lmn_error *err);

#endif
