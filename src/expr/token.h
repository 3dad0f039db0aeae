/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token.h - the text of an expression cut into words.
 *
 * A lexer belongs to one parse. Tokens point into the text.
 */
#ifndef LMN_EXPR_TOKEN_H
#define LMN_EXPR_TOKEN_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/env.h"

enum lmn__token_kind {
    LMN__TOKEN_END,
    LMN__TOKEN_NAME,   /* unquoted: a keyword, a column or a function */
    LMN__TOKEN_QUOTED, /* in double or back quotes, which `text` still holds */
    LMN__TOKEN_NUMBER,
    LMN__TOKEN_STRING, /* in single quotes, which `text` still holds */
    LMN__TOKEN_BYTES,  /* X'00ff', from the X on */
    LMN__TOKEN_SYMBOL  /* `symbol` holds its characters, the first in the lowest byte */
};

struct lmn__token {
    enum lmn__token_kind kind;
    uint32_t place; /* byte offset in the text */
    uint32_t symbol;
    struct lmn__span text;
};

struct lmn__lexer {
    struct lmn__span text;
    size_t at;
};

#define LMN__SYMBOL2(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)

/* The next token; END for ever at the end. */
LMN_MUST_USE enum lmn_status lmn__lexer_next(struct lmn__lexer *lexer, struct lmn__token *token_out,
                                             struct lmn_error *err);

/* Is it the unquoted word `word`, given in lower case? */
bool lmn__token_is(const struct lmn__token *token, const char *word);

/*
 * A failure at byte `place` of an expression: "<message>, at character N near '...'".
 *
 * Character N counts from 1; a text of several lines gets line and column instead.
 */
LMN_PRINTF(5, 6)
enum lmn_status lmn__text_fail(struct lmn__span text, uint32_t place, struct lmn_error *err,
                               enum lmn_status status, const char *fmt, ...);

#endif
