/* SPDX-License-Identifier: Apache-2.0 */
/*
 * internal.h - the insides of struct lmn__expr, for the files that build and run it.
 */
#ifndef LMN_EXPR_INTERNAL_H
#define LMN_EXPR_INTERNAL_H

#include "arrow/layout.h"
#include "expr/expr.h"
#include "expr/term.h"

/* The type of a list that is written out, in the arena `bound`. */
struct lmn__made_schema {
    struct lmn__made_schema *next;
    struct ArrowSchema schema;
};

struct lmn__expr {
    struct lmn_env *env;      /* counted */
    struct lmn__arena parsed; /* text and syntax */
    struct lmn__span text;
    struct lmn__syntax *syntax;

    struct lmn__arena bound; /* terms and what they prepared */
    struct ArrowSchema schema;
    struct ArrowSchema target; /* released: NULL release */
    struct lmn__made_schema *made;
    struct lmn__term *root; /* NULL: not bound */
    struct ArrowSchema type;
    const struct lmn__layout *layout;  /* of `type` */
    const struct lmn__layout *encoded; /* of a target that is a dictionary of such values */
    const char **path;
    uint32_t path_count;
};

#endif
