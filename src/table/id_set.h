/* SPDX-License-Identifier: Apache-2.0 */
/*
 * id_set.h - a set of row ids, kept as ranges of neighbours.
 */
#ifndef LMN_TABLE_ID_SET_H
#define LMN_TABLE_ID_SET_H

#include <stdbool.h>

#include "base/env.h"

struct lmn__id_range {
    uint64_t first;
    uint64_t count; /* at least 1 */
};

struct lmn__id_set {
    struct lmn_env *env; /* borrowed */
    struct lmn__id_range *range;
    uint64_t count, room;
};

static inline void lmn__id_set_init(struct lmn__id_set *set, struct lmn_env *env)
{
    *set = (struct lmn__id_set){ .env = env };
}

void lmn__id_set_deinit(struct lmn__id_set *set);

/* Add ids, in any order; lmn__id_set_sort() comes before anything is looked up. */
LMN_MUST_USE enum lmn_status lmn__id_set_add(struct lmn__id_set *set, uint64_t first,
                                             uint64_t count, struct lmn_error *err);

/* Put the ranges in order and join those that touch or overlap. */
void lmn__id_set_sort(struct lmn__id_set *set);

/*
 * The first ids of [first, first + count) that are all in the set, or all not in it: how many there
 * are, and which of both. `count` is at least 1.
 */
uint64_t lmn__id_set_run(const struct lmn__id_set *set, uint64_t first, uint64_t count,
                         bool *inside_out);

/* Number of ids; the set is sorted. */
uint64_t lmn__id_set_size(const struct lmn__id_set *set);

#endif
