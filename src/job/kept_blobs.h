/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept_blobs.h - blobs of results that are kept (kept.h): their bytes go to the place in the pages
 * file that they will have in the table, and what is kept says where that is.
 *
 * Who finds such a result later takes the payload as it lies there, if it is in the pages file of
 * the fragment that the row is in; otherwise the fragment has changed, and the payload is copied.
 */
#ifndef LMN_JOB_KEPT_BLOBS_H
#define LMN_JOB_KEPT_BLOBS_H

#include "job/kept.h"
#include "job/sink.h"

/* The values of a fill as they are kept: of blobs, where they are. The caller releases *kept_out.
 */
LMN_MUST_USE enum lmn_status lmn__kept_schema(const struct ArrowSchema *values,
                                              struct ArrowSchema *kept_out, struct lmn_error *err);

/*
 * Write blobs that are bytes of `values`, a struct array of the fill's values, and let their
 * columns be of numbers (payload_column.h) from here on. Others stay as they are.
 */
LMN_MUST_USE enum lmn_status lmn__kept_blobs_place(struct lmn__page_sink *sink,
                                                   struct ArrowArray *values,
                                                   struct lmn_error *err);

/*
 * lmn__kept_add() of one row whose blobs are numbers: the payloads are made durable first, together
 * with all others that the sink has.
 */
LMN_MUST_USE enum lmn_status lmn__kept_blobs_add(struct lmn__kept *kept,
                                                 struct lmn__page_sink *sink, uint64_t row_id,
                                                 uint64_t fingerprint,
                                                 const struct ArrowArray *values,
                                                 struct lmn_error *err);

/*
 * lmn__kept_read() for the fragment that the sink writes to: blobs are numbers of its payloads.
 * `from`: what was granted for that fragment below is not in its pages file any more. A row whose
 * payload is nowhere has no record.
 */
LMN_MUST_USE enum lmn_status lmn__kept_blobs_read(struct lmn__kept *kept,
                                                  struct lmn__page_sink *sink, uint64_t row_id,
                                                  uint64_t fingerprint, uint64_t from,
                                                  struct ArrowArray *array_out,
                                                  struct lmn_error *err);

#endif
