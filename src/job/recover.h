/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recover.h - files that were published for a fill and are in no version.
 */
#ifndef LMN_JOB_RECOVER_H
#define LMN_JOB_RECOVER_H

#include "job/journal.h"

/*
 * Take a file that no version names out of data/ again: a pages file goes back to where it was
 * made, another one is removed. What is not there is fine.
 */
LMN_MUST_USE enum lmn_status lmn__published_take_back(struct lmn_store *store,
                                                      const struct lmn__journal *journal,
                                                      const struct lmn__published *published,
                                                      struct lmn_error *err);

/*
 * Remove the segments of a fragment whose receipts are retired. What cannot be removed stays, and
 * so do all of them where results are kept, which may name them.
 */
void lmn__segment_files_remove(struct lmn_store *store, const struct lmn__journal *journal,
                               uint64_t fragment_id, uint64_t layout);

#endif
