/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staleness.h - finished cells whose inputs have other values than those they were computed from.
 *
 * Suspects are found without reading data; only their inputs are read, and fingerprints decide. A
 * small object in the table, `_leman/stats/fresh-<field id>.json`, remembers up to which version
 * no cell was stale. Without it all finished cells are suspects.
 */
#ifndef LMN_TABLE_STALENESS_H
#define LMN_TABLE_STALENESS_H

#include "table/touched.h"

/* What is asked. All of it is borrowed. */
struct lmn__stale_query {
    struct lmn_table *table;
    struct lmn__manifest *manifest;
    const struct lmn__node *column, *ledger;
    const char *const *input; /* names and paths of what the function reads */
    uint32_t input_count;
    bool note; /* remember it when no cell is stale; a failure to do so is none */
};

/*
 * Add the rows whose cells are stale to `stale`, a set of the manifest's rows.
 *
 * LMN_E_NOT_FOUND  an input is not there
 */
LMN_MUST_USE enum lmn_status lmn__stale_find(const struct lmn__stale_query *query,
                                             struct lmn__touched_set *stale, struct lmn_error *err);

#endif
