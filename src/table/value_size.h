/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value_size.h - how many bytes the values of a column have, one by one.
 *
 * What counts is the value itself: the bytes of a string, the items of a list, the content of a
 * blob; neither offsets nor validity. A null has none, but in a type of fixed width it takes its
 * place like any other value.
 */
#ifndef LMN_TABLE_VALUE_SIZE_H
#define LMN_TABLE_VALUE_SIZE_H

#include <leman/table.h>

#include "arrow/layout.h"
#include "format/schema.h"

/*
 * Bytes of every value of a column, in *bytes_out; false when they differ from value to value.
 * `layout` is how the column is read, its blobs as descriptors.
 */
bool lmn__value_size_fixed(const struct lmn__node *column, const struct lmn__layout *layout,
                           uint64_t *bytes_out);

/* Bytes of the values of a column. */
struct lmn__value_sizes {
    uint64_t largest;    /* 0 without rows */
    uint64_t blobs;      /* of all blobs that the table's files hold */
    uint64_t side_files; /* of those, what is not in the data file */
};

/*
 * The sizes of the values of the live rows of a fragment. Reads the column, of blobs the
 * descriptors only.
 *
 * Fails as lmn_table_scan() does.
 */
LMN_MUST_USE enum lmn_status lmn__value_size_scan(
    struct lmn_table *table, const struct lmn__node *column, const struct lmn__layout *layout,
    uint64_t fragment_id, struct lmn__value_sizes *sizes_out, struct lmn_error *err);

#endif
