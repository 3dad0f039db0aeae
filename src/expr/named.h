/* SPDX-License-Identifier: Apache-2.0 */
/*
 * named.h - the columns that an error is about: " where a is 1 and b is null", "a is int64".
 */
#ifndef LMN_EXPR_NAMED_H
#define LMN_EXPR_NAMED_H

#include "expr/term.h"

enum { LMN__NAMED_MAX = 4 };

/* As many columns as there is room for, each once. Begins zeroed. */
struct lmn__named {
    char text[200];
    size_t len;
    const char *path[LMN__NAMED_MAX];
    uint32_t count;
    uint32_t seen; /* terms; one that stands in several places is seen as often */
};

/* What the columns hold in a row that `term` reads. */
void lmn__named_values(struct lmn__named *named, const struct lmn__frame *frame,
                       const struct lmn__term *term, uint32_t row);

/* Of which types the columns are that `term` reads. */
void lmn__named_types(struct lmn__named *named, const struct lmn__term *term);

#endif
