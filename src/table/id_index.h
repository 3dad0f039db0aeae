/* SPDX-License-Identifier: Apache-2.0 */
/*
 * id_index.h - where the live rows of one version are, by stable id.
 *
 * Does not change once it is made.
 */
#ifndef LMN_TABLE_ID_INDEX_H
#define LMN_TABLE_ID_INDEX_H

#include "table/snapshot.h"

struct lmn__id_index;

/* The index of a snapshot, made at its first use; it lives as long as the snapshot. */
LMN_MUST_USE enum lmn_status lmn__id_index_of(struct lmn__snapshot *snapshot,
                                              const struct lmn__id_index **index_out,
                                              struct lmn_error *err);
/* NULL is ignored. */
void lmn__id_index_free(struct lmn__id_index *index, struct lmn_env *env);

/* Number of the fragment and the row in it; false when no live row has the id. */
bool lmn__id_index_find(const struct lmn__id_index *index, uint64_t id, uint64_t *fragment_out,
                        uint64_t *row_out);

#endif
