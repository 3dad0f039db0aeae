/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error_file.h - the records of failed cells, as they are kept beside the table.
 *
 * A file `_leman/errors/<field id>/<name>.jsonl` has one JSON object per line: what the worker said
 * of the cell, with the id of its row, the job, the time and the function's version. Files are
 * written before the commit that they belong to, and are never changed.
 */
#ifndef LMN_JOB_ERROR_FILE_H
#define LMN_JOB_ERROR_FILE_H

#include "job/journal.h"
#include "table/row_ids.h"

struct lmn__error_file {
    struct lmn__buf lines; /* empty: nothing failed */
    char time[40];
};

void lmn__error_file_init(struct lmn__error_file *file, struct lmn_env *env);
void lmn__error_file_deinit(struct lmn__error_file *file);

/* Add the failed cells of receipts of one fragment, whose rows have the ids `ids`. */
LMN_MUST_USE enum lmn_status lmn__error_file_add(struct lmn__error_file *file,
                                                 const struct lmn__journal *journal,
                                                 const struct lmn__receipt *receipt, uint64_t count,
                                                 const struct lmn__row_ids *ids,
                                                 struct lmn_error *err);

/* Put the lines, if there are any, durably under `name` for each of the fields. */
LMN_MUST_USE enum lmn_status lmn__error_file_put(const struct lmn__error_file *file,
                                                 struct lmn_store *store, const int32_t *field_id,
                                                 uint32_t count, const char *name,
                                                 struct lmn_error *err);

#endif
