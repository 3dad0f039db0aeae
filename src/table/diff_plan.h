/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_plan.h - which rows were inserted, updated and deleted between two versions.
 *
 * Works on manifests and deletion files alone; no data is read.
 */
#ifndef LMN_TABLE_DIFF_PLAN_H
#define LMN_TABLE_DIFF_PLAN_H

#include "table/id_set.h"
#include "table/table.h"

struct lmn__diff_plan {
    struct lmn__id_set inserted;
    struct lmn__id_set updated;
    struct lmn__id_set deleted;
    bool *shared; /* per node of the newer schema: has the older version this field? */
    struct lmn_env *env;
};

/*
 * Compare two versions of a table with stable row ids, `from` the older one. The caller frees the
 * plan, also on failure.
 */
LMN_MUST_USE enum lmn_status lmn__diff_plan_make(struct lmn_table *table,
                                                 struct lmn__manifest *from,
                                                 struct lmn__manifest *to,
                                                 struct lmn__diff_plan *plan_out,
                                                 struct lmn_error *err);
void lmn__diff_plan_deinit(struct lmn__diff_plan *plan);

/* The fragments of a version, to be found by their encoded bytes. */
struct lmn__fragment_table {
    const struct lmn__manifest *manifest; /* borrowed */
    struct lmn__fragment_key *key;        /* by rising hash */
};

LMN_MUST_USE enum lmn_status lmn__fragment_table_init(struct lmn__fragment_table *table,
                                                      const struct lmn__manifest *manifest,
                                                      struct lmn_error *err);
void lmn__fragment_table_deinit(struct lmn__fragment_table *table);

/*
 * Has the version this fragment, to the byte? Then a plan of it and the version that the bytes come
 * from has none of the fragment's rows.
 */
bool lmn__fragment_table_has(const struct lmn__fragment_table *table, struct lmn__span bytes);

#endif
