/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touched.h - gather rows by their addresses, fragment by fragment.
 */
#ifndef LMN_TABLE_TOUCHED_H
#define LMN_TABLE_TOUCHED_H

#include "table/change.h"

struct lmn__touched_set {
    struct lmn_env *env; /* borrowed */
    const struct lmn__manifest *manifest;
    struct lmn__touched *item;
    uint64_t count, room;
    uint64_t *slot;     /* 2 * room of them: where fragments are among the items */
    uint64_t row_count; /* of all of them */
};

/* `manifest` lives on. The caller frees the set. */
void lmn__touched_init(struct lmn__touched_set *set, struct lmn_env *env,
                       const struct lmn__manifest *manifest);
void lmn__touched_deinit(struct lmn__touched_set *set);

/*
 * Add rows by address, fragment id << 32 | row, in any order. A row that is there already counts
 * once.
 *
 * LMN_E_NOT_FOUND  the manifest has no such fragment
 */
LMN_MUST_USE enum lmn_status lmn__touched_add(struct lmn__touched_set *set, const uint64_t *address,
                                              uint64_t count, struct lmn_error *err);

/*
 * Add the rows of a table that match `where`; NULL: all. `table` stands at the set's version.
 */
LMN_MUST_USE enum lmn_status lmn__touched_find(struct lmn__touched_set *set,
                                               struct lmn_table *table, const char *where,
                                               struct lmn_error *err);

/* Is a row in the set? */
bool lmn__touched_has(const struct lmn__touched_set *set, uint64_t address);

/* Where a fragment stands among the items; `count` when it is not there. */
uint64_t lmn__touched_number(const struct lmn__touched_set *set, uint64_t id);

#endif
