/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.h - whether a version that was made stands in the history of its table.
 *
 * While a writer waits for its place, others may make that version and further ones, and clean it
 * up; then the name is free, and a manifest under it stands in a gap, where nobody reads it. Nor
 * does it count in a table that was made anew.
 */
#ifndef LMN_TABLE_PLACE_H
#define LMN_TABLE_PLACE_H

#include "table/table.h"

enum lmn__place {
    LMN__PLACE_IN_HISTORY, /* or all that it did has come about otherwise */
    LMN__PLACE_IN_A_GAP,
    LMN__PLACE_NOT_KNOWN /* the versions that would tell are cleaned up */
};

/* `made` (NULL: it could not be kept) was made on top of `base`. */
LMN_MUST_USE enum lmn_status lmn__place_find(struct lmn_table *table,
                                             const struct lmn__manifest *base,
                                             const struct lmn__manifest *made,
                                             enum lmn__place *place_out, struct lmn_error *err);

#endif
