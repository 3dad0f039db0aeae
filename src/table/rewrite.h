/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rewrite.h - the live rows of some fragments, written again into others.
 *
 * Every column of the table is copied, hidden ones and blobs included; what files hold beside the
 * table's schema is left behind. Where row ids are stable, rows keep their ids and the versions
 * that made and changed them.
 */
#ifndef LMN_TABLE_REWRITE_H
#define LMN_TABLE_REWRITE_H

#include <leman/table_write.h>

#include "table/change.h"

/* What to write. */
struct lmn__rewrite {
    struct lmn_table *pinned; /* stands at the version that is read, and stays there */
    const uint64_t *id;       /* of the fragments, in the order of the table */
    uint64_t count;
    uint32_t minor; /* files are written as 2.`minor` */
    const struct lmn_write_options *options;
};

/*
 * Write the rows. Both lists of *group_out lie in the arena; `before` borrows from the manifest of
 * the version. Nobody sees the files before a commit names them: the caller removes them
 * (lmn__fragments_remove) if that does not come.
 *
 * LMN_E_NOT_FOUND  the version has no such fragment
 */
LMN_MUST_USE enum lmn_status lmn__rewrite_fragments(const struct lmn__rewrite *rewrite,
                                                    struct lmn__arena *arena,
                                                    struct lmn__rewrite_group *group_out,
                                                    uint64_t *row_count_out, struct lmn_error *err);

#endif
