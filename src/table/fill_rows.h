/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fill_rows.h - the rows of one fragment, with the columns that a fill computes for them.
 */
#ifndef LMN_TABLE_FILL_ROWS_H
#define LMN_TABLE_FILL_ROWS_H

#include "arrow/layout.h"
#include "table/fill.h"

/*
 * Write the columns for fragment number `index` to a data file of its own, which *file_out
 * describes in the arena. `layout` is that of fill->schema; `threads` as in
 * struct lmn_file_writer_options.
 */
LMN_MUST_USE enum lmn_status lmn__fill_fragment(const struct lmn__fill *fill, uint64_t index,
                                                const struct lmn__layout *layout, uint32_t threads,
                                                struct lmn__arena *arena,
                                                struct lmn__pb_data_file *file_out,
                                                struct lmn_error *err);

#endif
