/* SPDX-License-Identifier: Apache-2.0 */
/*
 * syntax.h - the tree that the text of an expression stands for, before any name is resolved.
 *
 * All of it lies in the arena given to the parser.
 */
#ifndef LMN_EXPR_SYNTAX_H
#define LMN_EXPR_SYNTAX_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/bytes.h"

enum lmn__syntax_kind {
    LMN__SYNTAX_NULL,
    LMN__SYNTAX_BOOL,   /* `flag` */
    LMN__SYNTAX_NUMBER, /* `text` as written; `flag`: a minus stands before it */
    LMN__SYNTAX_STRING, /* `text` without quotes */
    LMN__SYNTAX_BYTES,  /* `text` */
    LMN__SYNTAX_TYPED,  /* `text`, a value of the type named `name`: date '2024-01-01' */
    LMN__SYNTAX_LIST,   /* [child, ...] */
    LMN__SYNTAX_NAME,   /* `path` of `path_count` names */
    LMN__SYNTAX_FIELD,  /* child[0] . name */
    LMN__SYNTAX_ITEM,   /* child[0] [ child[1] ] */
    LMN__SYNTAX_CALL,   /* name(child, ...); operators are calls too: "+", "||" */
    LMN__SYNTAX_AND,
    LMN__SYNTAX_OR,
    LMN__SYNTAX_NOT,
    LMN__SYNTAX_COMPARE,  /* `compare` */
    LMN__SYNTAX_DISTINCT, /* child[0] IS [`flag`: NOT] DISTINCT FROM child[1] */
    LMN__SYNTAX_IS_NULL,  /* `flag`: IS NOT NULL */
    LMN__SYNTAX_IS_TRUE,  /* `flag`: IS NOT TRUE */
    LMN__SYNTAX_IS_FALSE,
    LMN__SYNTAX_IN,      /* child[0] [`flag`: NOT] IN (child[1], ...) */
    LMN__SYNTAX_BETWEEN, /* child[0] [`flag`: NOT] BETWEEN child[1] AND child[2] */
    LMN__SYNTAX_LIKE,    /* child[0] [`flag`: NOT] LIKE child[1]; `fold`: ILIKE; `escape` */
    LMN__SYNTAX_CASE,    /* (when, then) pairs, then else; `flag`: a subject stands first */
    LMN__SYNTAX_CAST     /* child[0] to the type named `name`; `flag`: TRY_CAST */
};

enum lmn__compare {
    LMN__COMPARE_EQ,
    LMN__COMPARE_NE,
    LMN__COMPARE_LT,
    LMN__COMPARE_LE,
    LMN__COMPARE_GT,
    LMN__COMPARE_GE
};

/* Why x -> ... is no argument, wherever that is noticed. */
#define LMN__NO_LAMBDA "functions of functions (x -> ...) are not evaluated; a UDF does it"

/* A type as written: int, timestamp(3), decimal(10, 2). */
struct lmn__type_name {
    const char *word; /* in lower case, words joined by one space */
    uint32_t place;
    uint32_t number_count;
    int32_t number[2];
};

struct lmn__syntax {
    enum lmn__syntax_kind kind;
    enum lmn__compare compare;
    bool flag;
    bool fold;
    uint8_t escape; /* LIKE: 0 without */
    uint32_t place;
    uint32_t depth;
    struct lmn__span text;
    const char *name; /* CALL in lower case; FIELD as written */
    struct lmn__type_name type;
    const char **path;
    uint32_t path_count;
    struct lmn__syntax **child;
    uint32_t child_count;
};

/* Nested deeper than this, an expression is refused; so is a longer text. */
enum { LMN__EXPR_DEPTH_MAX = 200, LMN__EXPR_BYTES_MAX = 16 << 20 };

/*
 * Parse `text`, which must live as long as the tree.
 *
 * LMN_E_INVALID  with the place and what stands there
 */
LMN_MUST_USE enum lmn_status lmn__syntax_parse(struct lmn__arena *arena, struct lmn__span text,
                                               struct lmn__syntax **root_out,
                                               struct lmn_error *err);

#endif
