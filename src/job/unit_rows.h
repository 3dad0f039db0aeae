/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_rows.h - the rows of a fragment as a fill leaves them, put together from what is held, from
 * the values that the table has, and from nulls.
 *
 * Every physical row comes from one place: a receipt that has it; the table, where no receipt does
 * and the row is alive; otherwise it is null. Belongs to one thread at a time.
 */
#ifndef LMN_JOB_UNIT_ROWS_H
#define LMN_JOB_UNIT_ROWS_H

#include "job/columns.h"
#include "job/receipt.h"
#include "table/fragment_reader.h"
#include "table/table.h"

struct lmn__unit_rows;

/*
 * The rows of fragment number `index` of columns->manifest with these receipts, which are in order
 * of their rows. `dir` is that of the fill. All but `dir` lives on. The caller closes *rows_out.
 *
 * LMN_E_CORRUPT  receipts of rows that the fragment does not have
 */
LMN_MUST_USE enum lmn_status lmn__unit_rows_open(
    struct lmn_table *table, const struct lmn__fill_columns *columns, uint64_t index,
    const char *dir, const struct lmn__receipt *receipt, uint64_t receipt_count,
    struct lmn__unit_rows **rows_out, struct lmn_error *err);
/* NULL is ignored. */
void lmn__unit_rows_close(struct lmn__unit_rows *rows);

/* The fragment, its deleted rows and its row ids. */
const struct lmn__fragment_reader *lmn__unit_rows_reader(const struct lmn__unit_rows *rows);

/*
 * Takes rows: a struct array of the columns that were asked for. A borrowed one has no release and
 * lives until lmn__unit_rows_trim() or the end; another may be moved out, and is released if not.
 */
typedef enum lmn_status (*lmn__rows_fn)(void *context, struct ArrowArray *array, bool borrowed,
                                        struct lmn_error *err);

enum { LMN__ALL_COLUMNS = 0xffffffff };

/* So much of what is held stays in memory, for the next column. */
enum { LMN__HELD_BYTES_MAX = 256 << 20 };

/*
 * Give physical rows [first, first + count) of one column, or of all, to `fn` one part after the
 * other. The columns are held in every receipt of these rows. A column of blobs is asked for by
 * itself; what is held of it is a column of positions and sizes (payload_column.h), what is kept
 * one of bytes.
 */
LMN_MUST_USE enum lmn_status lmn__unit_rows_read(struct lmn__unit_rows *rows, uint32_t column,
                                                 uint64_t first, uint64_t count, lmn__rows_fn fn,
                                                 void *context, struct lmn_error *err);

/*
 * Nothing that was borrowed is in use: what is held of rows that were read with all columns goes,
 * and of others what takes more than `bytes_max` bytes of memory. Those may be read again.
 */
void lmn__unit_rows_trim(struct lmn__unit_rows *rows, uint64_t bytes_max);

#endif
