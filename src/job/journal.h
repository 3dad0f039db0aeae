/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal.h - the durable memory of a fill: who drives it, what space is given away, which rows
 * have results.
 *
 * A fill is (field id of its first column, version of its function). It has a directory in the
 * table, `_leman/fills/<field id>-<16 hex digits of the version>/`:
 *
 *   journal              records, each with length and checksum; the first bad one ends it
 *   hold                 Arrow bytes of results that are too small for pages of their own
 *   <fragment>-<layout>.pages   a data file in the making: pages in their final place
 *
 * Beside the directory lies `<key>.lock`, a file without content that stays.
 *
 * One driver at a time: it holds an exclusive lock on that file and begins with a record of a
 * new epoch. Space in a file is granted once, below a water mark that is durable before anything
 * is granted under it; a new epoch grants above the mark only, so that what a worker of an older
 * driver still writes harms nobody.
 *
 * A journal belongs to one thread at a time.
 */
#ifndef LMN_JOB_JOURNAL_H
#define LMN_JOB_JOURNAL_H

#include "job/receipt.h"
#include "store/store.h"

struct lmn__journal;

/*
 * The layout of receipts that were carried from fragments that are gone. They count from the next
 * retirement on, which is that of the receipts they came from; those that a driver leaves before
 * that are forgotten. A hash is as good as never that number.
 */
enum { LMN__LAYOUT_CARRIED = 0 };

/* Which fill it is. */
struct lmn__fill_key {
    int32_t field_id;      /* of the first column */
    uint64_t version;      /* first 8 bytes of the function's version hash */
    uint32_t column_count; /* with ledgers */
};

/*
 * Open the journal of a fill in the table whose directory is the root of `store`, making it where
 * there is none, and begin an epoch in the name of `job_id`.
 *
 * LMN_E_UNAVAILABLE  another driver holds it; the message names its job, process and host
 * LMN_E_CORRUPT      it is the journal of another fill
 */
LMN_MUST_USE enum lmn_status lmn__journal_open(struct lmn_store *store,
                                               const struct lmn__fill_key *key, const char *job_id,
                                               struct lmn__journal **journal_out,
                                               struct lmn_error *err);
/*
 * Look at the journal of a fill beside whoever drives it: what it says now. Nothing may be entered.
 * *journal_out is NULL when there is none.
 */
LMN_MUST_USE enum lmn_status lmn__journal_view(struct lmn_store *store,
                                               const struct lmn__fill_key *key,
                                               struct lmn__journal **journal_out,
                                               struct lmn_error *err);
/* NULL is ignored. What was not synced is lost. */
void lmn__journal_close(struct lmn__journal *journal);

/* The directory of the fill, relative to the store. Lives as long as the journal. */
const char *lmn__journal_dir(const struct lmn__journal *journal);

/* Which fill it is of, and in the name of which job it was opened. They live as the journal does.
 */
const struct lmn__fill_key *lmn__journal_key(const struct lmn__journal *journal);
const char *lmn__journal_job(const struct lmn__journal *journal);

/* The file that a grant is for. */
enum lmn__grant_file { LMN__GRANT_HOLD, LMN__GRANT_PAGES };

/*
 * Give away `bytes` bytes of a file, at a multiple of 64. `fragment_id` and `layout` name the pages
 * file and do not count for the hold file.
 */
LMN_MUST_USE enum lmn_status lmn__journal_grant(struct lmn__journal *journal,
                                                enum lmn__grant_file file, uint64_t fragment_id,
                                                uint64_t layout, uint64_t bytes,
                                                uint64_t *position_out, struct lmn_error *err);

/* What was granted of a pages file below this position went away with the receipts of the fragment.
 */
uint64_t lmn__journal_since(const struct lmn__journal *journal, uint64_t fragment_id,
                            uint64_t layout);

/*
 * Enter a receipt. It is durable after the next lmn__journal_sync().
 *
 * LMN_E_INVALID  its bytes lie outside of what was granted, or one of its rows has a receipt
 */
LMN_MUST_USE enum lmn_status lmn__journal_add(struct lmn__journal *journal,
                                              struct lmn__span receipt, struct lmn_error *err);

/* Make everything entered durable. A failure is final: what was entered since the last good one is
 * forgotten, and the journal can only be closed. */
LMN_MUST_USE enum lmn_status lmn__journal_sync(struct lmn__journal *journal, struct lmn_error *err);

/*
 * The receipts for a fragment with this layout, in order of their rows. *receipt_out lives until
 * the journal changes.
 */
LMN_MUST_USE enum lmn_status lmn__journal_receipts(struct lmn__journal *journal,
                                                   uint64_t fragment_id, uint64_t layout,
                                                   const struct lmn__receipt **receipt_out,
                                                   uint64_t *count_out, struct lmn_error *err);

/* Fragments (with layouts) that have receipts: number `index`, false behind the last. */
bool lmn__journal_fragment(const struct lmn__journal *journal, uint64_t index,
                           uint64_t *fragment_id_out, uint64_t *layout_out);

/* A file that was about to be published, in a version behind `version`, and was not retired. */
struct lmn__published {
    uint64_t fragment_id, layout;
    uint64_t version;
    struct lmn__span path; /* inside of data/; lives as long as the journal */
    bool direct;           /* it was the pages file */
};

/*
 * Note that the file published->path is about to be published for the fragment; it takes the place
 * of an earlier such note. Durable after the next lmn__journal_sync(). The path is copied.
 */
LMN_MUST_USE enum lmn_status lmn__journal_publish(struct lmn__journal *journal,
                                                  const struct lmn__published *published,
                                                  struct lmn_error *err);

/* Note number `index` of those that are not retired; false behind the last. */
bool lmn__journal_published(const struct lmn__journal *journal, uint64_t index,
                            struct lmn__published *published_out);

/*
 * The receipts for a fragment have served: they are in a version, or moved to other fragments. So
 * has the note of its file. Durable after the next lmn__journal_sync().
 */
LMN_MUST_USE enum lmn_status lmn__journal_retire(struct lmn__journal *journal, uint64_t fragment_id,
                                                 uint64_t layout, struct lmn_error *err);

/* The same for many fragments: a crash leaves all of them retired, or none. */
LMN_MUST_USE enum lmn_status lmn__journal_retire_all(struct lmn__journal *journal,
                                                     const uint64_t *fragment_id,
                                                     const uint64_t *layout, uint64_t count,
                                                     struct lmn_error *err);

/*
 * Close the journal and remove the fill's directory, if no receipt is left in it or `force` is set.
 */
LMN_MUST_USE enum lmn_status lmn__journal_remove(struct lmn__journal *journal, bool force,
                                                 struct lmn_error *err);

#endif
