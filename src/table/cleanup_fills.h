/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cleanup_fills.h - what fills have left in a table, and nobody can go on with.
 */
#ifndef LMN_TABLE_CLEANUP_FILLS_H
#define LMN_TABLE_CLEANUP_FILLS_H

#include <leman/table_versions.h>

#include "table/manifest.h"

/*
 * Remove the directories of fills whose column is not in `manifest`, the newest version, and that
 * nobody drives. They go when nothing in them has changed since `since_ns`. What goes is added to
 * *result.
 */
LMN_MUST_USE enum lmn_status lmn__cleanup_fills(struct lmn_store *store,
                                                const struct lmn__manifest *manifest,
                                                int64_t since_ns, bool dry_run,
                                                struct lmn_cleanup_result *result,
                                                struct lmn_error *err);

#endif
