/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cut.h - take slots back from a builder.
 */
#ifndef LMN_ARROW_CUT_H
#define LMN_ARROW_CUT_H

#include "arrow/builder.h"

/*
 * Cut a builder down to its first `length` slots; one that has no more stays as it is. The slots
 * behind may be half filled: slots without values, values without slots, children that differ.
 */
void lmn__builder_cut(struct lmn__builder *builder, uint64_t length);

#endif
