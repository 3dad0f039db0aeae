/* SPDX-License-Identifier: Apache-2.0 */
/*
 * transaction.h - the record of what a version did, for writers that come after it.
 */
#ifndef LMN_TABLE_TRANSACTION_H
#define LMN_TABLE_TRANSACTION_H

#include "table/apply.h"

/*
 * Fill in next->transaction from its change, the fragments that lost rows and the ids of those that
 * are gone.
 */
LMN_MUST_USE enum lmn_status lmn__transaction_build(struct lmn__next *next,
                                                    struct lmn__pb_fragment *updated,
                                                    uint64_t updated_count, uint64_t *removed,
                                                    uint64_t removed_count, struct lmn_error *err);

#endif
