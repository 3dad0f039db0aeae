/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conflict.h - may a change be committed after another one that it has not seen?
 */
#ifndef LMN_TABLE_CONFLICT_H
#define LMN_TABLE_CONFLICT_H

#include "table/change.h"

/*
 * Read the transaction that made a version; it lives in the arena.
 *
 * LMN_E_NOT_FOUND  the version does not tell
 */
LMN_MUST_USE enum lmn_status lmn__transaction_read(struct lmn_store *store,
                                                   const struct lmn__manifest *manifest,
                                                   struct lmn__arena *arena,
                                                   struct lmn__pb_transaction *transaction_out,
                                                   struct lmn_error *err);

/* What a transaction did, in a word: "append", "delete", ... "unknown". */
const char *lmn__transaction_name(const struct lmn__pb_transaction *transaction);

/*
 * Compare a change with the transaction of version `version` that was committed in between.
 *
 * LMN_OK          the change still fits, as far as can be told without looking at fragments
 * LMN_E_CONFLICT  *again_out says whether making it again helps
 */
LMN_MUST_USE enum lmn_status lmn__conflict_check(const struct lmn__change *change,
                                                 const struct lmn__pb_transaction *other,
                                                 uint64_t version, bool *again_out,
                                                 struct lmn_error *err);

#endif
