/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zipped.h - one value of a fixed size, as it stands by itself in a full-zip page or a packed
 * struct: plain bytes, or a fixed list with the validity bits of its items before them.
 */
#ifndef LMN_CODEC_ZIPPED_H
#define LMN_CODEC_ZIPPED_H

#include "arrow/builder.h"
#include "codec/encoding.h"

struct lmn__zipped {
    const struct lmn__encoding *encoding;
    uint64_t bytes; /* of a value, validity included */
    bool plain;     /* they are the column's bytes as they are */
};

/*
 * Match `encoding` with the layout of the values: a chain of fixed lists that ends in flat values
 * of the layout's width, or in nothing because all items are null.
 *
 * LMN_E_CORRUPT  they do not fit
 */
LMN_MUST_USE enum lmn_status lmn__zipped_init(struct lmn__zipped *zipped,
                                              const struct lmn__encoding *encoding,
                                              const struct lmn__layout *layout,
                                              struct lmn_error *err);

/* Append one value to the builder, whose last slot is the value's and counted already. */
LMN_MUST_USE enum lmn_status lmn__zipped_append(const struct lmn__zipped *zipped,
                                                const uint8_t *value, struct lmn__builder *builder,
                                                struct lmn_error *err);

#endif
