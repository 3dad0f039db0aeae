/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relocate.h - where the rows of a fragment that is gone are now.
 */
#ifndef LMN_JOB_RELOCATE_H
#define LMN_JOB_RELOCATE_H

#include "job/receipt.h"
#include "table/snapshot.h"

/* Rows [source, source + count) of the fragment that is gone are rows [row, ...) of another. */
struct lmn__move {
    uint64_t source;
    uint64_t fragment_id, row;
    uint64_t count;
};

struct lmn__moves {
    struct lmn_env *env; /* borrowed */
    struct lmn__move *item;
    uint64_t count, cap;
};

static inline void lmn__moves_init(struct lmn__moves *moves, struct lmn_env *env)
{
    *moves = (struct lmn__moves){ .env = env };
}

void lmn__moves_deinit(struct lmn__moves *moves);

/*
 * The last version that has the fragment, up to that of the snapshot, and the fragment's number in
 * it. The caller releases *manifest_out, which is NULL when no version that is there has it.
 */
LMN_MUST_USE enum lmn_status lmn__relocate_find(struct lmn_table *table,
                                                struct lmn__snapshot *snapshot,
                                                uint64_t fragment_id,
                                                struct lmn__manifest **manifest_out,
                                                uint64_t *index_out, struct lmn_error *err);

/*
 * Find the rows of the receipts, which are of fragment number `index` of `manifest`, in the
 * snapshot: by their ids where these are stable, by the records of rewrites otherwise. Rows that
 * are deleted are left out. The moves are by rising fragment and row.
 */
LMN_MUST_USE enum lmn_status lmn__relocate_rows(struct lmn_table *table,
                                                struct lmn__snapshot *snapshot,
                                                struct lmn__manifest *manifest, uint64_t index,
                                                const struct lmn__receipt *receipt,
                                                uint64_t receipt_count, struct lmn__moves *moves,
                                                struct lmn_error *err);

#endif
