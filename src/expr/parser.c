/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/parser.h"

#include "base/utf8.h"

enum lmn_status lmn__parser_next(struct lmn__parser *parser)
{
    return lmn__lexer_next(&parser->lexer, &parser->token, parser->err);
}

enum lmn_status lmn__parser_expected(struct lmn__parser *parser, const char *what)
{
    return lmn__text_fail(parser->lexer.text, parser->token.place, parser->err, LMN_E_INVALID,
                          "expected %s", what);
}

bool lmn__parser_at(const struct lmn__parser *parser, uint32_t symbol)
{
    return parser->token.kind == LMN__TOKEN_SYMBOL && parser->token.symbol == symbol;
}

enum lmn_status lmn__parser_accept(struct lmn__parser *parser, uint32_t symbol, bool *there_out)
{
    *there_out = lmn__parser_at(parser, symbol);
    return *there_out ? lmn__parser_next(parser) : LMN_OK;
}

enum lmn_status lmn__parser_accept_word(struct lmn__parser *parser, const char *word,
                                        bool *there_out)
{
    *there_out = lmn__token_is(&parser->token, word);
    return *there_out ? lmn__parser_next(parser) : LMN_OK;
}

enum lmn_status lmn__parser_need(struct lmn__parser *parser, uint32_t symbol)
{
    const char what[] = { '\'', (char)symbol, '\'', '\0' };

    if (!lmn__parser_at(parser, symbol))
        return lmn__parser_expected(parser, what);
    return lmn__parser_next(parser);
}

enum lmn_status lmn__parser_need_word(struct lmn__parser *parser, const char *word)
{
    if (!lmn__token_is(&parser->token, word))
        return lmn__parser_expected(parser, word);
    return lmn__parser_next(parser);
}

enum lmn_status lmn__parser_node(struct lmn__parser *parser, enum lmn__syntax_kind kind,
                                 uint32_t place, struct lmn__syntax *const *child, uint32_t count,
                                 struct lmn__syntax **node_out)
{
    struct lmn__syntax *node = lmn__arena_alloc(parser->arena, sizeof *node);

    *node_out = NULL;
    if (node == NULL)
        return lmn__arena_fail(parser->arena, "an expression", parser->err);
    node->kind = kind;
    node->place = place;
    node->child_count = count;
    if (count != 0) {
        node->child = lmn__arena_array(parser->arena, count, sizeof(struct lmn__syntax *));
        if (node->child == NULL)
            return lmn__arena_fail(parser->arena, "an expression", parser->err);
    }
    for (uint32_t i = 0; i < count; i++) {
        node->child[i] = child[i];
        if (child[i]->depth >= node->depth)
            node->depth = child[i]->depth + 1;
    }
    if (node->depth > LMN__EXPR_DEPTH_MAX)
        return lmn__text_fail(parser->lexer.text, place, parser->err, LMN_E_INVALID,
                              "an expression nests deeper than %d", LMN__EXPR_DEPTH_MAX);
    *node_out = node;
    return LMN_OK;
}

enum lmn_status lmn__parser_collect(struct lmn__parser *parser, struct lmn__syntax_list *list,
                                    struct lmn__syntax *item)
{
    if (list->count == list->room) {
        uint32_t room = list->room != 0 ? list->room * 2 : 4;
        struct lmn__syntax **grown = lmn__arena_array(parser->arena, room, sizeof *grown);

        if (grown == NULL)
            return lmn__arena_fail(parser->arena, "an expression", parser->err);
        if (list->count != 0)
            memcpy(grown, list->item, list->count * sizeof *grown);
        list->item = grown;
        list->room = room;
    }
    list->item[list->count++] = item;
    return LMN_OK;
}

enum lmn_status lmn__parser_enter(struct lmn__parser *parser)
{
    if (++parser->depth > LMN__EXPR_DEPTH_MAX)
        return lmn__text_fail(parser->lexer.text, parser->token.place, parser->err, LMN_E_INVALID,
                              "an expression nests deeper than %d", LMN__EXPR_DEPTH_MAX);
    return LMN_OK;
}

const char *lmn__parser_unquote(struct lmn__parser *parser, const struct lmn__token *token,
                                size_t *len_out)
{
    const uint8_t *from = token->text.data + 1;
    size_t len = token->text.len - 2, used = 0;
    uint8_t quote = token->text.data[0];
    char *made = lmn__arena_alloc(parser->arena, len + 1);

    *len_out = 0;
    if (made == NULL)
        return NULL;
    for (size_t i = 0; i < len; i++) {
        made[used++] = (char)from[i];
        i += from[i] == quote; /* inside, it stands there twice */
    }
    *len_out = used;
    return made;
}

char *lmn__parser_lower(struct lmn__parser *parser, struct lmn__span text)
{
    char *made = lmn__arena_strndup(parser->arena, text.data, text.len);

    for (size_t i = 0; made != NULL && i < text.len; i++) {
        if (made[i] >= 'A' && made[i] <= 'Z')
            made[i] = (char)(made[i] | 0x20);
    }
    return made;
}

enum lmn_status lmn__syntax_parse(struct lmn__arena *arena, struct lmn__span text,
                                  struct lmn__syntax **root_out, struct lmn_error *err)
{
    struct lmn__parser parser = { .arena = arena, .lexer = { .text = text }, .err = err };
    enum lmn_status st;

    *root_out = NULL;
    if (text.len > LMN__EXPR_BYTES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "an expression of %zu bytes; the limit is %d", text.len,
                        LMN__EXPR_BYTES_MAX);
    if (!lmn__utf8_valid(text))
        return lmn_fail(err, LMN_E_INVALID, "an expression that is not UTF-8");
    st = lmn__parser_next(&parser);
    if (st == LMN_OK && parser.token.kind == LMN__TOKEN_END)
        return lmn_fail(err, LMN_E_INVALID, "an empty expression");
    if (st == LMN_OK)
        st = lmn__parse_expression(&parser, root_out);
    if (st == LMN_OK && parser.token.kind != LMN__TOKEN_END)
        st = lmn__parser_expected(&parser, "an operator or the end");
    if (st != LMN_OK)
        *root_out = NULL;
    return st;
}
