/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compact_plan.h - which fragments of a version are worth writing again, and which together.
 */
#ifndef LMN_TABLE_COMPACT_PLAN_H
#define LMN_TABLE_COMPACT_PLAN_H

#include "table/snapshot.h"

/* Fragments number [first, first + count) of the version. */
struct lmn__compact_range {
    uint64_t first;
    uint64_t count;
};

struct lmn__compact_plan {
    struct lmn__compact_range *range; /* rising; in the arena */
    uint64_t count;
};

/*
 * Plan: neighbours that together have at most `target_rows` live rows are joined; a fragment that
 * has lost more than `deleted_share` of its rows is written again also when it stands alone.
 * Fragments whose number is set in `taken` are left out.
 *
 * Where row ids are stable, fragments are joined only if the same indices cover them: what takes
 * their place is then covered, too.
 */
LMN_MUST_USE enum lmn_status lmn__compact_plan_make(const struct lmn__snapshot *snapshot,
                                                    uint64_t target_rows, double deleted_share,
                                                    const bool *taken, struct lmn__arena *arena,
                                                    struct lmn__compact_plan *plan_out,
                                                    struct lmn_error *err);

#endif
