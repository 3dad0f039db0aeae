/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peek.h - values of a fill that are checkpointed and in no version yet.
 *
 * The journal is read beside its driver, without the lock: what is seen is what was written when it
 * was looked at.
 */
#ifndef LMN_JOB_PEEK_H
#define LMN_JOB_PEEK_H

#include "format/reader.h"
#include "job/columns.h"
#include "job/journal.h"
#include "table/table.h"

/*
 * Up to `rows_max` rows: a struct array of the columns `output` of the fill and, behind them,
 * "_rowid". A fill that computes the columns again, in their refills, is shown by the names of the
 * columns. Rows that are deleted, or whose fragment others have replaced, are left out. The caller
 * releases both.
 *
 * LMN_E_NOT_FOUND    a column was dropped, or nothing fills it
 * LMN_E_UNSUPPORTED  a column whose values lie neither in pages nor in the hold
 */
LMN_MUST_USE enum lmn_status lmn__peek(struct lmn_table *table, const struct lmn__fill_key *key,
                                       const char *const *output, uint32_t output_count,
                                       uint64_t rows_max, struct ArrowSchema *schema_out,
                                       struct ArrowArray *array_out, struct lmn_error *err);

/*
 * The first `row_count` rows of pages of one column of type `schema`, which lie at pages->position
 * - base of `file`: a struct array of that column. `version` is that of the file that they are made
 * for. The caller releases it.
 *
 * LMN_E_CORRUPT  the bytes are not those of the pages
 */
LMN_MUST_USE enum lmn_status lmn__peek_pages(struct lmn__store_file *file, uint64_t base,
                                             const struct lmn__receipt_pages *pages,
                                             const struct ArrowSchema *schema, const char *version,
                                             uint64_t row_count, struct ArrowArray *array_out,
                                             struct lmn_error *err);

#endif
