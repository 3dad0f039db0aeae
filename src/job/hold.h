/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hold.h - the rows of a receipt that are held, read back as arrays.
 */
#ifndef LMN_JOB_HOLD_H
#define LMN_JOB_HOLD_H

#include <leman/arrow_abi.h>

#include "job/receipt.h"
#include "store/store.h"

struct lmn__hold {
    struct lmn_env *env;      /* borrowed; NULL: not read */
    struct ArrowArray *batch; /* struct arrays of the columns that are held */
    uint64_t *start;          /* of each, in rows of the receipt; one more: the end */
    uint64_t batch_count;
    uint64_t bytes; /* of memory, about */
};

/*
 * Read the hold of `receipt`, which has one, from `file`, whose first byte has the position `base`.
 * `schema` is that of the fill. The caller frees *hold_out.
 *
 * LMN_E_CORRUPT  the bytes are not those that the receipt was given for
 */
LMN_MUST_USE enum lmn_status lmn__hold_read(struct lmn__store_file *file, uint64_t base,
                                            const struct lmn__receipt *receipt,
                                            const struct ArrowSchema *schema,
                                            struct lmn__hold *hold_out, struct lmn_error *err);
/* A zeroed one is allowed. */
void lmn__hold_free(struct lmn__hold *hold);

/* Number of the batch that has row `row` of the receipt. */
uint64_t lmn__hold_find(const struct lmn__hold *hold, uint64_t row);

#endif
