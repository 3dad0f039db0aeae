/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan_prune.h - what the statistics of a fragment's files say about the condition of a scan.
 *
 * Fields are found in the files by their ids, as the fragment's columns are. Does not change once
 * it is made: any number of threads may ask.
 */
#ifndef LMN_TABLE_SCAN_PRUNE_H
#define LMN_TABLE_SCAN_PRUNE_H

#include "table/file_set.h"
#include "table/row_list.h"
#include "table/scan_filter.h"

struct lmn__scan_prune;

/*
 * Read the statistics of the columns that `filter` reads from the files of `fragment`. *prune_out
 * is NULL where there are none, or the condition does not depend on them. The caller frees it;
 * `filter` lives on.
 *
 * LMN_E_CORRUPT  statistics do not decode
 */
LMN_MUST_USE enum lmn_status lmn__scan_prune_new(struct lmn__file_set *files,
                                                 const struct lmn__manifest *manifest,
                                                 const struct lmn__pb_fragment *fragment,
                                                 const struct lmn__scan_filter *filter,
                                                 struct lmn__scan_prune **prune_out,
                                                 struct lmn_error *err);
/* NULL is ignored. */
void lmn__scan_prune_free(struct lmn__scan_prune *prune);

/*
 * Add those rows of [first, first + count) that are alive and that the condition may hold for.
 * *all_out says that it holds for all of them. Without statistics (NULL) every row may match.
 */
LMN_MUST_USE enum lmn_status lmn__scan_prune_rows(const struct lmn__scan_prune *prune,
                                                  const struct lmn__deletion *deletion,
                                                  uint64_t first, uint64_t count,
                                                  struct lmn__row_list *rows, bool *all_out,
                                                  struct lmn_error *err);

#endif
