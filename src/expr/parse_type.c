/* SPDX-License-Identifier: Apache-2.0 */
/* type := word [word] ["(" number ["," number] ")"] */
#include "expr/parser.h"

/* "double precision" and "bigint unsigned" have two words. */
static enum lmn_status type_words(struct lmn__parser *parser, struct lmn__type_name *type)
{
    char joined[64];
    size_t used = 0;
    enum lmn_status st = LMN_OK;

    for (int i = 0; st == LMN_OK && i < 2; i++) {
        struct lmn__span word = parser->token.text;

        if (i == 1 && !lmn__token_is(&parser->token, "precision") &&
            !lmn__token_is(&parser->token, "unsigned") && !lmn__token_is(&parser->token, "varying"))
            break;
        if (used + word.len + 2 > sizeof joined)
            return lmn__parser_expected(parser, "the name of a type");
        if (i == 1)
            joined[used++] = ' ';
        memcpy(joined + used, word.data, word.len);
        used += word.len;
        st = lmn__parser_next(parser);
    }
    type->word = lmn__parser_lower(parser, (struct lmn__span){ (const uint8_t *)joined, used });
    return st == LMN_OK && type->word == NULL
               ? lmn__arena_fail(parser->arena, "an expression", parser->err)
               : st;
}

/* A small whole number. */
static enum lmn_status type_number(struct lmn__parser *parser, int32_t *number_out)
{
    bool minus;
    enum lmn_status st = lmn__parser_accept(parser, '-', &minus);
    int32_t value = 0;

    if (st != LMN_OK)
        return st;
    if (parser->token.kind != LMN__TOKEN_NUMBER || parser->token.text.len > 6)
        return lmn__parser_expected(parser, "a number");
    for (size_t i = 0; i < parser->token.text.len; i++) {
        uint8_t c = parser->token.text.data[i];

        if (c < '0' || c > '9')
            return lmn__parser_expected(parser, "a whole number");
        value = value * 10 + (c - '0');
    }
    *number_out = minus ? -value : value;
    return lmn__parser_next(parser);
}

enum lmn_status lmn__parse_type(struct lmn__parser *parser, struct lmn__type_name *type_out)
{
    enum lmn_status st;
    bool more;

    *type_out = (struct lmn__type_name){ .place = parser->token.place };
    if (parser->token.kind != LMN__TOKEN_NAME)
        return lmn__parser_expected(parser, "the name of a type");
    st = type_words(parser, type_out);
    if (st == LMN_OK)
        st = lmn__parser_accept(parser, '(', &more);
    if (st != LMN_OK || !more)
        return st;
    while (st == LMN_OK && more) {
        if (type_out->number_count == 2)
            return lmn__parser_expected(parser, "')'");
        st = type_number(parser, &type_out->number[type_out->number_count++]);
        if (st == LMN_OK)
            st = lmn__parser_accept(parser, ',', &more);
    }
    return st == LMN_OK ? lmn__parser_need(parser, ')') : st;
}
