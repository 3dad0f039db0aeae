/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_blobs.h - the pages of a blob column of a fragment: they say where payloads are, so they are
 * made when the file is completed.
 *
 * Payloads that workers wrote stay where they are; those that the table keeps are copied.
 */
#ifndef LMN_JOB_UNIT_BLOBS_H
#define LMN_JOB_UNIT_BLOBS_H

#include <leman/page.h>

#include "format/write_plan.h"
#include "job/payload.h"
#include "job/unit_rows.h"

struct lmn__unit_blobs {
    struct lmn_store *store;
    struct lmn__unit_rows *rows;
    const struct lmn__write_plan *plan;
    uint32_t column;
    uint64_t row_count;
    const struct lmn__payload_ops *ops; /* where payloads that are copied go */
    /* Takes pages that are to be placed and written. */
    enum lmn_status (*put)(void *context, struct lmn_pages *pages, struct lmn_error *err);
    void *context; /* of both */
};

/* Make all pages of the column. */
LMN_MUST_USE enum lmn_status lmn__unit_blobs_write(const struct lmn__unit_blobs *blobs,
                                                   struct lmn_error *err);

#endif
