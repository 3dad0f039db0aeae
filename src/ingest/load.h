/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.h - a load, for those who begin one.
 */
#ifndef LMN_INGEST_LOAD_H
#define LMN_INGEST_LOAD_H

#include <leman/load.h>

#include "base/buf.h"

/*
 * lmn_table_load(); the last commit notes `begun` as in struct lmn__load_note, unless it is NULL.
 * With `staged` nothing is committed, and it gets what stage.h says; the options ask for one
 * commit.
 */
LMN_MUST_USE enum lmn_status lmn__load_run(struct lmn_table *table,
                                           const struct lmn_load_source *source,
                                           const struct lmn_load_options *options,
                                           const char *begun, struct lmn__buf *staged,
                                           struct lmn_load_progress *result_out,
                                           struct lmn_error *err);

#endif
