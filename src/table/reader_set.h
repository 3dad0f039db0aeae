/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reader_set.h - the fragments of one version, read through one projection: readers that stay open
 * from one take to the next, up to a number.
 *
 * Counted; usable from many threads.
 */
#ifndef LMN_TABLE_READER_SET_H
#define LMN_TABLE_READER_SET_H

#include <leman/table_scan.h>

#include "table/fragment_reader.h"
#include "table/snapshot.h"

struct lmn__reader_set;

/*
 * The readers of `snapshot` for what `options` select, from earlier takes if they are still there.
 * The caller releases *set_out.
 *
 * LMN_E_NOT_FOUND  a column is not in the table
 */
LMN_MUST_USE enum lmn_status lmn__reader_set_open(struct lmn__snapshot *snapshot,
                                                  const struct lmn_scan_options *options,
                                                  struct lmn__reader_set **set_out,
                                                  struct lmn_error *err);
/* NULL is ignored. */
void lmn__reader_set_release(struct lmn__reader_set *set);

const struct lmn__projection *lmn__reader_set_projection(const struct lmn__reader_set *set);

/* The reader of fragment number `index`, opened if it is not; the caller gives it back. */
LMN_MUST_USE enum lmn_status lmn__reader_set_get(struct lmn__reader_set *set, uint64_t index,
                                                 struct lmn__fragment_reader **reader_out,
                                                 struct lmn_error *err);
void lmn__reader_set_put(struct lmn__reader_set *set, uint64_t index);

#endif
