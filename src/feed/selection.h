/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selection.h - the rows of a version that a condition chooses, counted through: where the n-th of
 * them is.
 *
 * One bit for each row of the version, deleted ones included, and a directory over them. It does
 * not change once it is made.
 */
#ifndef LMN_FEED_SELECTION_H
#define LMN_FEED_SELECTION_H

#include "table/snapshot.h"

struct lmn__cache;

struct lmn__selection {
    struct lmn_env *env; /* borrowed */
    uint64_t count;      /* rows that are chosen */
    uint64_t fragment_count;
    uint64_t *first; /* of fragment number i: the number of its first bit; one more at the end */
    uint64_t *directory; /* chosen rows before each piece of bits */
    uint64_t piece_count;
    uint8_t *bits;
};

/* Make a selection for `snapshot` of which nothing is chosen yet. The caller calls deinit. */
LMN_MUST_USE enum lmn_status lmn__selection_init(struct lmn__selection *selection,
                                                 const struct lmn__snapshot *snapshot,
                                                 struct lmn_error *err);
/* A zeroed selection may be given too. */
void lmn__selection_deinit(struct lmn__selection *selection);

/* Choose the rows of `table`, which stands at the snapshot's version, that match `where`. */
LMN_MUST_USE enum lmn_status lmn__selection_scan(struct lmn__selection *selection,
                                                 const struct lmn__snapshot *snapshot,
                                                 struct lmn_table *table, const char *where,
                                                 struct lmn_error *err);

/*
 * The same, with the answer kept in a cache: of the same version and condition it is not looked up
 * again. `cache` may be NULL.
 *
 * LMN_E_INVALID  the condition depends on the time at which it is looked up
 */
LMN_MUST_USE enum lmn_status lmn__selection_choose(struct lmn__selection *selection,
                                                   const struct lmn__snapshot *snapshot,
                                                   struct lmn_table *table, const char *where,
                                                   struct lmn__cache *cache, struct lmn_error *err);

/* Where chosen row number `index` is, which is below the count: number of fragment, and its row. */
void lmn__selection_find(const struct lmn__selection *selection, uint64_t index,
                         uint64_t *fragment_out, uint64_t *row_out);

#endif
