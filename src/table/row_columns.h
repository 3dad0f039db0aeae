/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_columns.h - the columns that say which row it is: "_rowid" and "_rowaddr".
 */
#ifndef LMN_TABLE_ROW_COLUMNS_H
#define LMN_TABLE_ROW_COLUMNS_H

#include "table/fragment_reader.h"

#define LMN__ROW_ID_NAME      "_rowid"
#define LMN__ROW_ADDRESS_NAME "_rowaddr"

struct lmn__row_columns {
    bool id;
    bool address;
};

static inline uint32_t lmn__row_columns_count(struct lmn__row_columns which)
{
    return (uint32_t)which.id + (uint32_t)which.address;
}

/* The address of a row. */
static inline uint64_t lmn__row_address(uint64_t fragment_id, uint64_t row)
{
    return fragment_id << 32 | row;
}

/* The layout of each of them. */
extern const struct lmn__layout lmn__row_column_layout;

/* The type of `projection` with the columns behind the others. The caller releases it. */
LMN_MUST_USE enum lmn_status lmn__row_columns_schema(const struct lmn__projection *projection,
                                                     struct lmn__row_columns which,
                                                     struct ArrowSchema *schema_out,
                                                     struct lmn_error *err);

/*
 * The columns for ranges of rows of a fragment, into array_out[0 .. count). They lie in the memory
 * of `place`; NULL: of the reader.
 */
LMN_MUST_USE enum lmn_status lmn__row_columns_make(
    const struct lmn__fragment_reader *reader, struct lmn_env *place, struct lmn__row_columns which,
    const struct lmn__row_range *range, uint64_t range_count, struct ArrowArray *const *array_out,
    struct lmn_error *err);

/* Put the columns behind those of *array, a struct array of these rows. */
LMN_MUST_USE enum lmn_status lmn__row_columns_add(const struct lmn__fragment_reader *reader,
                                                  struct lmn_env *place,
                                                  struct lmn__row_columns which,
                                                  const struct lmn__row_range *range,
                                                  uint64_t range_count, struct ArrowArray *array,
                                                  struct lmn_error *err);

#endif
