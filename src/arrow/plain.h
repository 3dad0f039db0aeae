/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plain.h - rows without Arrow's views of strings and binaries, which other libraries hand in and
 * this one does not keep.
 */
#ifndef LMN_ARROW_PLAIN_H
#define LMN_ARROW_PLAIN_H

#include "arrow/layout.h"

struct lmn__plain {
    struct lmn_env *env; /* borrowed */
    struct lmn__arena arena;
    const struct lmn__layout *given; /* of the batches that come in */
    struct ArrowSchema schema;       /* of those that come out: strings where views were */
    bool has_views;
};

/*
 * Prepare for batches of type `given`, a struct of columns. The caller frees it.
 *
 * LMN_E_INVALID      it is no struct
 * LMN_E_UNSUPPORTED  a type that the library does not hold
 */
LMN_MUST_USE enum lmn_status lmn__plain_init(struct lmn__plain *plain, struct lmn_env *env,
                                             const struct ArrowSchema *given,
                                             struct lmn_error *err);
/* A zeroed one is fine. */
void lmn__plain_deinit(struct lmn__plain *plain);

/*
 * Replace the batch by one without views, if there are any. On failure it stays as it is.
 *
 * LMN_E_INVALID  columns are missing, or rows of one
 */
LMN_MUST_USE enum lmn_status lmn__plain_batch(const struct lmn__plain *plain,
                                              struct ArrowArray *batch, struct lmn_error *err);

#endif
