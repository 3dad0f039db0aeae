/* SPDX-License-Identifier: Apache-2.0 */
/*
 * payload_column.h - a blob column as a fill holds it: a struct of position and size for each row,
 * while the bytes are in the pages file.
 *
 * A function gives such a column as large binaries, or, where it has written the payloads itself,
 * as a struct of the numbers (payload.h) and sizes that it got for them.
 */
#ifndef LMN_JOB_PAYLOAD_COLUMN_H
#define LMN_JOB_PAYLOAD_COLUMN_H

#include <leman/arrow_abi.h>

#include "job/payload.h"

/* The columns of a fill as they are held: blobs are structs. The caller releases *held_out. */
LMN_MUST_USE enum lmn_status lmn__payload_schema(const struct ArrowSchema *schema,
                                                 struct ArrowSchema *held_out,
                                                 struct lmn_error *err);

/* Is it a column of positions and sizes, rather than of bytes? */
static inline bool lmn__payload_is_placed(const struct ArrowArray *column)
{
    return column->n_children == 2;
}

/* One slot that is not null, counted without the array's own offset. */
struct lmn__payload lmn__payload_at(const struct ArrowArray *column, uint64_t slot);

/* `count` slots, all null. The caller releases *array_out. */
LMN_MUST_USE enum lmn_status lmn__payload_column_new(struct lmn_env *env, uint64_t count,
                                                     struct ArrowArray *array_out,
                                                     struct lmn_error *err);

/* Let a slot of a column that was made here be a payload. */
void lmn__payload_column_set(struct ArrowArray *array, uint64_t slot, struct lmn__payload payload);

/*
 * Make slots [0, first + count) of a blob column a column of numbers and sizes; those before
 * `first` are null. Bytes are written. The caller releases *array_out.
 */
LMN_MUST_USE enum lmn_status lmn__payload_column_write(struct lmn__payloads *payloads,
                                                       const struct ArrowArray *column,
                                                       uint64_t first, uint64_t count,
                                                       struct ArrowArray *array_out,
                                                       struct lmn_error *err);

/* The payloads are settled: let the column hold positions instead of numbers. */
LMN_MUST_USE enum lmn_status lmn__payload_column_settle(const struct lmn__payloads *payloads,
                                                        struct ArrowArray *array,
                                                        struct lmn_error *err);

#endif
