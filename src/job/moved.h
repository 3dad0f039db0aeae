/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moved.h - where payloads are that results name which were kept, once their pages file has become
 * a data file of the table.
 *
 * A note, `<fragment>-<layout>.moved.<end>` in the folder of the fill, holds the path of a file:
 * what was granted for the fragment below `end`, and not below the end of another note, lies there
 * at its position. Positions are granted once, so a note stays true. Without one, it lies in the
 * pages file.
 *
 * Notes are made where results are kept, and go with the fill.
 */
#ifndef LMN_JOB_MOVED_H
#define LMN_JOB_MOVED_H

#include "job/journal.h"

enum { LMN__MOVED_PATH_BYTES = 160 };

/* Are results kept in the folder of the fill? */
LMN_MUST_USE enum lmn_status lmn__moved_matters(struct lmn_store *store, const char *dir,
                                                bool *matters_out, struct lmn_error *err);

/*
 * Note where the pages files of fragments have gone, whose receipts are about to be retired; those
 * that were not published are where they were. Durable afterwards.
 */
LMN_MUST_USE enum lmn_status lmn__moved_note(struct lmn__journal *journal,
                                             const uint64_t *fragment_id, const uint64_t *layout,
                                             uint64_t count, struct lmn_error *err);

/* The same for a pages file that is nowhere. */
LMN_MUST_USE enum lmn_status lmn__moved_lost(struct lmn__journal *journal, uint64_t fragment_id,
                                             uint64_t layout, struct lmn_error *err);

/* The file that has what was granted at `position` for a fragment; "": none has. */
LMN_MUST_USE enum lmn_status lmn__moved_find(struct lmn_store *store, const char *dir,
                                             uint64_t fragment_id, uint64_t layout,
                                             uint64_t position,
                                             char path_out[LMN__MOVED_PATH_BYTES],
                                             struct lmn_error *err);

#endif
