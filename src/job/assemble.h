/* SPDX-License-Identifier: Apache-2.0 */
/*
 * assemble.h - receipts become data files, data files become a version.
 *
 * For a fragment whose planned rows all have receipts: pages that are in place stay there, held
 * rows and rows that keep their old value are cut into full pages behind them, the tail ends the
 * file, and it takes its name in `data/`. One commit then puts the files of many fragments into
 * the table.
 *
 * Others may have committed meanwhile. Deleted rows stay in the file. A fragment that was replaced
 * (compaction, an update that moved rows) is told to the caller with where its rows are now; the
 * results are carried to the fragments that took its place.
 */
#ifndef LMN_JOB_ASSEMBLE_H
#define LMN_JOB_ASSEMBLE_H

#include "job/journal.h"
#include "job/plan.h"

struct lmn__assemble_options {
    struct lmn_table *table;
    struct lmn__journal *journal;
    const char *const *output; /* the columns of the fill, without ledgers */
    uint32_t output_count;
    const struct lmn__manifest *named; /* where they have these names; NULL: in any version */
    bool unsynced;
};

/*
 * After lmn__journal_open(), before a plan is made: settle what a driver that died left between the
 * publishing of files and their commit. What is in a version is retired; what is not goes back to
 * where it can be assembled again.
 */
LMN_MUST_USE enum lmn_status lmn__assemble_recover(const struct lmn__assemble_options *options,
                                                   struct lmn_error *err);

/*
 * Assemble the given fragments of a plan and commit them in one version.
 *
 * *moved_out is set when fragments of the list are no longer in the table; nothing is committed
 * then, and lmn__assemble_rebase() has to be called.
 *
 * LMN_E_NOT_FOUND  a column of the fill was dropped meanwhile
 * LMN_E_CONFLICT   a commit of others that cannot be fitted; it is named
 */
LMN_MUST_USE enum lmn_status lmn__assemble_commit(const struct lmn__assemble_options *options,
                                                  const struct lmn__plan *plan,
                                                  const uint64_t *fragment_id, uint64_t count,
                                                  bool *moved_out, struct lmn_error *err);

/*
 * Carry the results of fragments that are gone, of whatever job, to those that hold their rows in
 * the newest version, to which the table is moved: by row id where these are stable, by the records
 * of rewrites otherwise. They are committed at once, so that nothing is computed again; rows that
 * nobody can find any more are. The plan is to be made again afterwards.
 *
 * To be called, too, after lmn__assemble_recover(), for fragments that went while no job ran.
 */
LMN_MUST_USE enum lmn_status lmn__assemble_rebase(const struct lmn__assemble_options *options,
                                                  struct lmn_error *err);

#endif
