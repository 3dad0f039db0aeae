/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parser.h - what the files of the parser share.
 */
#ifndef LMN_EXPR_PARSER_H
#define LMN_EXPR_PARSER_H

#include "expr/syntax.h"
#include "expr/token.h"

struct lmn__parser {
    struct lmn__arena *arena;
    struct lmn__lexer lexer;
    struct lmn__token token; /* the one that is looked at */
    uint32_t depth;          /* of calls that nest as the text does */
    struct lmn_error *err;
};

/* Children while they are collected. */
struct lmn__syntax_list {
    struct lmn__syntax **item;
    uint32_t count;
    uint32_t room;
};

LMN_MUST_USE enum lmn_status lmn__parser_next(struct lmn__parser *parser);

/* "expected <what>" at the token that is looked at. */
enum lmn_status lmn__parser_expected(struct lmn__parser *parser, const char *what);

bool lmn__parser_at(const struct lmn__parser *parser, uint32_t symbol);

/* Go on behind `symbol`, or behind the word `word`, when it is there. */
LMN_MUST_USE enum lmn_status lmn__parser_accept(struct lmn__parser *parser, uint32_t symbol,
                                                bool *there_out);
LMN_MUST_USE enum lmn_status lmn__parser_accept_word(struct lmn__parser *parser, const char *word,
                                                     bool *there_out);
LMN_MUST_USE enum lmn_status lmn__parser_need(struct lmn__parser *parser, uint32_t symbol);
LMN_MUST_USE enum lmn_status lmn__parser_need_word(struct lmn__parser *parser, const char *word);

/* A node with the given children, which are copied. */
LMN_MUST_USE enum lmn_status lmn__parser_node(struct lmn__parser *parser,
                                              enum lmn__syntax_kind kind, uint32_t place,
                                              struct lmn__syntax *const *child, uint32_t count,
                                              struct lmn__syntax **node_out);

LMN_MUST_USE enum lmn_status lmn__parser_collect(struct lmn__parser *parser,
                                                 struct lmn__syntax_list *list,
                                                 struct lmn__syntax *item);

/* One more level of nesting; the caller takes it back from parser->depth. */
LMN_MUST_USE enum lmn_status lmn__parser_enter(struct lmn__parser *parser);

/* A copy in lower case, as far as letters are ASCII; NULL without memory. */
char *lmn__parser_lower(struct lmn__parser *parser, struct lmn__span text);

/* The content of a quoted token, quotes taken off and undoubled. NULL: no memory. */
const char *lmn__parser_unquote(struct lmn__parser *parser, const struct lmn__token *token,
                                size_t *len_out);

/* A whole expression; one operand with what follows it; a type. */
LMN_MUST_USE enum lmn_status lmn__parse_expression(struct lmn__parser *parser,
                                                   struct lmn__syntax **node_out);
LMN_MUST_USE enum lmn_status lmn__parse_operand(struct lmn__parser *parser,
                                                struct lmn__syntax **node_out);
LMN_MUST_USE enum lmn_status lmn__parse_type(struct lmn__parser *parser,
                                             struct lmn__type_name *type_out);

#endif
