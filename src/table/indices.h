/* SPDX-License-Identifier: Apache-2.0 */
/*
 * indices.h - what a change does to the indices that other programs have built on a table.
 *
 * An index names its fields and the fragments that it covers; rows of other fragments are found by
 * scanning. So it is enough to keep these two true. All else in the section is carried as it is.
 */
#ifndef LMN_TABLE_INDICES_H
#define LMN_TABLE_INDICES_H

#include "table/apply.h"

/* Drop indices on fields that next->pb does not have. */
LMN_MUST_USE enum lmn_status lmn__indices_drop_fields(struct lmn__next *next,
                                                      struct lmn_error *err);

/* Indices on any of `fields` no longer cover the fragments `id`. */
LMN_MUST_USE enum lmn_status lmn__indices_uncover(struct lmn__next *next,
                                                  const struct lmn__pb_u64s *fields,
                                                  const uint64_t *id, uint64_t count,
                                                  struct lmn_error *err);

/*
 * Fragments are replaced as next->change->group says. An index that knows rows by stable ids covers
 * what takes the place of fragments that it covered; any other no longer covers their rows.
 */
LMN_MUST_USE enum lmn_status lmn__indices_rewrite(struct lmn__next *next, struct lmn_error *err);

#endif
