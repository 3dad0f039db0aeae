/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kept.h - results of calls that are paid for: each durable before the next call, ahead of its
 * receipt.
 *
 * Beside the journal of a fill lie files `kept-<token>`, one for each thread of a worker that has
 * kept something: records of one row each, found by the id of the row and the fingerprint of its
 * inputs. Who computes a row looks there first. The files go with the fill; docs/format/fills.md
 * has the bytes.
 *
 * What is kept may be added and synced by different threads; looking and reading belong to one
 * thread, while nobody looks or reads besides.
 */
#ifndef LMN_JOB_KEPT_H
#define LMN_JOB_KEPT_H

#include <leman/arrow_abi.h>

#include "store/store.h"

struct lmn__kept;

struct lmn__kept_options {
    struct lmn_store *store;          /* the table's */
    const char *dir;                  /* of the fill */
    const struct ArrowSchema *schema; /* a struct of the values; borrowed as long as this lives */
    bool unsynced;
    bool again; /* finished rows are computed again: what was kept before that does not count */
};

/* Open what is kept for a fill, and learn what is there. The caller closes it. */
LMN_MUST_USE enum lmn_status lmn__kept_open(const struct lmn__kept_options *options,
                                            struct lmn__kept **kept_out, struct lmn_error *err);
/* NULL is ignored. */
void lmn__kept_close(struct lmn__kept *kept);

/* Learn what this and others have added since. */
LMN_MUST_USE enum lmn_status lmn__kept_look(struct lmn__kept *kept, struct lmn_error *err);

/* Is there a record for these inputs of this row? */
bool lmn__kept_has(const struct lmn__kept *kept, uint64_t row_id, uint64_t fingerprint);

/*
 * The values of a row, a struct array of one row that the caller releases. array_out->release is
 * NULL when there is no record, or one that was not written to its end or is of another type.
 */
LMN_MUST_USE enum lmn_status lmn__kept_read(struct lmn__kept *kept, uint64_t row_id,
                                            uint64_t fingerprint, struct ArrowArray *array_out,
                                            struct lmn_error *err);

/* Add the values of a row, a struct array of one row, which stays the caller's. It is durable after
 * the next lmn__kept_sync(). */
LMN_MUST_USE enum lmn_status lmn__kept_add(struct lmn__kept *kept, uint64_t row_id,
                                           uint64_t fingerprint, const struct ArrowArray *values,
                                           struct lmn_error *err);

/* Make everything added durable. */
LMN_MUST_USE enum lmn_status lmn__kept_sync(struct lmn__kept *kept, struct lmn_error *err);

#endif
