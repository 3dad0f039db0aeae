/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage.h - what loads have written and not committed, as texts.
 */
#ifndef LMN_INGEST_STAGE_H
#define LMN_INGEST_STAGE_H

#include "ingest/load.h"
#include "table/table_pb.h"

/* Append the text of fragments that were written for a version of their table. */
LMN_MUST_USE enum lmn_status lmn__stage_put(uint64_t version, struct lmn__pb_fragment *fragment,
                                            uint64_t count, struct lmn__buf *text,
                                            struct lmn_error *err);

/*
 * Read it back: stage_out->append has the fragments, each with one file in the table's own folder.
 *
 * LMN_E_INVALID  it is no such text
 */
LMN_MUST_USE enum lmn_status lmn__stage_decode(const char *text, struct lmn__arena *arena,
                                               struct lmn__pb_transaction *stage_out,
                                               struct lmn_error *err);

#endif
