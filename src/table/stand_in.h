/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in.h - what to do where the manifest of the newest version is damaged.
 *
 * Nothing reads or changes the table then, but for an earlier version that is asked for, and a
 * restore of it, which makes a newest one that can be read again.
 */
#ifndef LMN_TABLE_STAND_IN_H
#define LMN_TABLE_STAND_IN_H

#include "table/table.h"

/*
 * The newest version below `version` that can be read; the caller releases it.
 *
 * LMN_E_NOT_FOUND  there is none
 */
LMN_MUST_USE enum lmn_status lmn__readable_below(struct lmn_store *store, uint64_t version,
                                                 struct lmn__manifest **manifest_out,
                                                 struct lmn_error *err);

/*
 * Say in the error about version `version`, the newest, how the table is read and repaired. Returns
 * LMN_E_CORRUPT.
 */
enum lmn_status lmn__newest_damaged(struct lmn_store *store, uint64_t version,
                                    struct lmn_error *err);

/*
 * What a version that replaces all of the table is built on: the newest one, or in the place of a
 * damaged one the newest that can be read, under the number of that. Ids that are given from it on
 * are none that the damaged one has given. The caller releases it.
 */
LMN_MUST_USE enum lmn_status lmn__table_stand_in(struct lmn_table *table,
                                                 struct lmn__manifest **manifest_out,
                                                 struct lmn_error *err);

#endif
