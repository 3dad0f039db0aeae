/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed.h - structs whose fields, some of them variable, stand one after the other in a row.
 */
#ifndef LMN_CODEC_PACKED_H
#define LMN_CODEC_PACKED_H

#include "arrow/builder.h"
#include "codec/encoding.h"

/* Does a VARIABLE_PACKED encoding fit a struct of this layout? LMN_E_CORRUPT if not. */
LMN_MUST_USE enum lmn_status lmn__packed_check(const struct lmn__encoding *encoding,
                                               const struct lmn__layout *layout,
                                               struct lmn_error *err);

/* Append one row to the struct's children; the struct's own slot is counted by the caller. */
LMN_MUST_USE enum lmn_status lmn__packed_append(const struct lmn__encoding *encoding,
                                                struct lmn__span row, struct lmn__builder *builder,
                                                struct lmn_error *err);

#endif
