/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.h - the manifest that a change makes out of the newest one.
 */
#ifndef LMN_TABLE_APPLY_H
#define LMN_TABLE_APPLY_H

#include "table/change.h"
#include "table/file_set.h"

/* A version in the making. */
struct lmn__next {
    struct lmn_env *env;
    struct lmn_store *store;
    struct lmn__file_set *files; /* NULL: the table is made by this change */
    struct lmn__arena *arena;
    const struct lmn__manifest *base;     /* the newest version; NULL: there is none */
    const struct lmn__manifest *read;     /* the version the change was made against */
    const struct lmn__manifest *restored; /* RESTORE */
    const struct lmn__change *change;
    bool merged; /* others have added columns since the version that was read */

    struct lmn__pb_manifest pb;
    struct lmn__pb_transaction transaction;
    struct lmn__span index_section;
    bool again;          /* the change has to be made again */
    bool may_stand;      /* the manifest may be there though putting it failed */
    char (*written)[64]; /* deletion files of this attempt */
    uint64_t written_count;
    const char *transaction_path; /* of this attempt's transaction, if it has a file */
};

/*
 * Fill in pb, transaction and index_section. Deletion files are written here.
 *
 * LMN_E_CONFLICT  others have changed what the change is about; see again
 */
LMN_MUST_USE enum lmn_status lmn__next_build(struct lmn__next *next, struct lmn_error *err);

/* Remove the files that an attempt wrote which came to nothing: deletions, a transaction. */
void lmn__next_undo(struct lmn__next *next);

/* Append the bytes of the manifest's file to `buf`. */
LMN_MUST_USE enum lmn_status lmn__next_encode(struct lmn__next *next, struct lmn__buf *buf,
                                              struct lmn_error *err);

#endif
