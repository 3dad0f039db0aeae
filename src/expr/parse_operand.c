/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands: literals, names, calls, CASE, CAST, parentheses; and what may follow one: .name,
 * [item],
 * ::type. A word is a keyword only where it can stand for one, so columns may be called "date".
 */
#include "expr/interval.h"
#include "expr/parser.h"

static enum lmn_status no_memory(struct lmn__parser *parser)
{
    return lmn__arena_fail(parser->arena, "an expression", parser->err);
}

/* Words that cannot be a column unless they are quoted. */
static bool is_reserved(const struct lmn__token *token)
{
    static const char *const words[] = { "and",    "or",   "not",  "in",      "is",
                                         "like",   "then", "else", "between", "ilike",
                                         "escape", "when", "end",  "as",      "distinct" };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (lmn__token_is(token, words[i]))
            return true;
    }
    return false;
}

static enum lmn_status parse_literal(struct lmn__parser *parser, enum lmn__syntax_kind kind,
                                     struct lmn__syntax **node_out)
{
    struct lmn__token token = parser->token;
    enum lmn_status st = lmn__parser_node(parser, kind, token.place, NULL, 0, node_out);
    const char *text;
    size_t len;

    if (st != LMN_OK)
        return st;
    (*node_out)->text = token.text;
    if (kind == LMN__SYNTAX_STRING) {
        text = lmn__parser_unquote(parser, &token, &len);
        if (text == NULL)
            return no_memory(parser);
        (*node_out)->text = (struct lmn__span){ (const uint8_t *)text, len };
    }
    return lmn__parser_next(parser);
}

static uint8_t hex_value(uint8_t c)
{
    return (uint8_t)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
}

/* X'00ff' */
static enum lmn_status parse_bytes(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    struct lmn__span hex = { parser->token.text.data + 2, parser->token.text.len - 3 };
    enum lmn_status st;
    uint8_t *bytes = lmn__arena_alloc(parser->arena, hex.len / 2 + 1);

    if (bytes == NULL)
        return no_memory(parser);
    for (size_t i = 0; i < hex.len; i++) {
        uint8_t c = hex.data[i];

        if (hex.len % 2 != 0 ||
            !((c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')))
            return lmn__parser_expected(parser, "pairs of hexadecimal digits in X'...'");
        bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | hex_value(c));
    }
    st = parse_literal(parser, LMN__SYNTAX_BYTES, node_out);
    if (st == LMN_OK)
        (*node_out)->text = (struct lmn__span){ bytes, hex.len / 2 };
    return st;
}

/* Expressions up to `close`, which is taken too. */
static enum lmn_status parse_items(struct lmn__parser *parser, uint32_t close,
                                   struct lmn__syntax_list *list)
{
    enum lmn_status st = LMN_OK;
    bool more = !lmn__parser_at(parser, close);

    while (st == LMN_OK && more) {
        struct lmn__syntax *item;

        st = lmn__parse_expression(parser, &item);
        if (st == LMN_OK)
            st = lmn__parser_collect(parser, list, item);
        if (st == LMN_OK)
            st = lmn__parser_accept(parser, ',', &more);
    }
    return st == LMN_OK ? lmn__parser_need(parser, close) : st;
}

/* The part of EXTRACT(part FROM x), as the string that date_part takes first. */
static enum lmn_status parse_extract(struct lmn__parser *parser, struct lmn__syntax_list *list)
{
    struct lmn__syntax *item;
    enum lmn_status st;

    if (parser->token.kind != LMN__TOKEN_NAME && parser->token.kind != LMN__TOKEN_STRING)
        return lmn__parser_expected(parser, "a part of a time, such as YEAR");
    st = parser->token.kind == LMN__TOKEN_STRING ? parse_literal(parser, LMN__SYNTAX_STRING, &item)
                                                 : parse_literal(parser, LMN__SYNTAX_NULL, &item);
    if (st != LMN_OK)
        return st;
    item->kind = LMN__SYNTAX_STRING;
    st = lmn__parser_need_word(parser, "from");
    if (st == LMN_OK)
        st = lmn__parser_collect(parser, list, item);
    if (st == LMN_OK)
        st = lmn__parse_expression(parser, &item);
    if (st == LMN_OK)
        st = lmn__parser_collect(parser, list, item);
    return st == LMN_OK ? lmn__parser_need(parser, ')') : st;
}

/* Behind the '(' of name(. */
static enum lmn_status parse_call(struct lmn__parser *parser, const struct lmn__token *name,
                                  struct lmn__syntax **node_out)
{
    struct lmn__syntax_list list = { 0 };
    bool extract = lmn__token_is(name, "extract");
    enum lmn_status st = extract ? parse_extract(parser, &list) : parse_items(parser, ')', &list);

    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_CALL, name->place, list.item, list.count,
                              node_out);
    if (st != LMN_OK)
        return st;
    (*node_out)->name = extract ? "date_part" : lmn__parser_lower(parser, name->text);
    return (*node_out)->name == NULL ? no_memory(parser) : LMN_OK;
}

/* Behind the '(' of CAST( or TRY_CAST(. */
static enum lmn_status parse_cast(struct lmn__parser *parser, const struct lmn__token *name,
                                  struct lmn__syntax **node_out)
{
    struct lmn__syntax *child;
    struct lmn__type_name type;
    enum lmn_status st = lmn__parse_expression(parser, &child);

    if (st == LMN_OK)
        st = lmn__parser_need_word(parser, "as");
    if (st == LMN_OK)
        st = lmn__parse_type(parser, &type);
    if (st == LMN_OK)
        st = lmn__parser_need(parser, ')');
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_CAST, name->place, &child, 1, node_out);
    if (st != LMN_OK)
        return st;
    (*node_out)->type = type;
    (*node_out)->flag = lmn__token_is(name, "try_cast");
    return LMN_OK;
}

/* Behind CASE. */
static enum lmn_status parse_case(struct lmn__parser *parser, uint32_t place,
                                  struct lmn__syntax **node_out)
{
    struct lmn__syntax_list list = { 0 };
    struct lmn__syntax *item = NULL;
    bool subject = !lmn__token_is(&parser->token, "when"), more = true, other = false;
    enum lmn_status st = LMN_OK;

    if (subject) {
        st = lmn__parse_expression(parser, &item);
        if (st == LMN_OK)
            st = lmn__parser_collect(parser, &list, item);
    }
    while (st == LMN_OK && more) {
        static const char *const words[] = { "when", "then" };

        for (int i = 0; st == LMN_OK && i < 2; i++) {
            st = lmn__parser_need_word(parser, words[i]);
            if (st == LMN_OK)
                st = lmn__parse_expression(parser, &item);
            if (st == LMN_OK)
                st = lmn__parser_collect(parser, &list, item);
        }
        more = lmn__token_is(&parser->token, "when");
    }
    if (st == LMN_OK)
        st = lmn__parser_accept_word(parser, "else", &other);
    if (st == LMN_OK)
        st = other ? lmn__parse_expression(parser, &item)
                   : lmn__parser_node(parser, LMN__SYNTAX_NULL, place, NULL, 0, &item);
    if (st == LMN_OK)
        st = lmn__parser_collect(parser, &list, item);
    if (st == LMN_OK)
        st = lmn__parser_need_word(parser, "end");
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_CASE, place, list.item, list.count, node_out);
    if (st == LMN_OK)
        (*node_out)->flag = subject;
    return st;
}

/* A name, as far as its dots go. */
static enum lmn_status parse_name(struct lmn__parser *parser, struct lmn__token first,
                                  struct lmn__syntax **node_out)
{
    enum lmn_status st = lmn__parser_node(parser, LMN__SYNTAX_NAME, first.place, NULL, 0, node_out);
    struct lmn__token token = first;

    while (st == LMN_OK) {
        struct lmn__syntax *node = *node_out;
        const char **path = lmn__arena_array(parser->arena, node->path_count + 1, sizeof *path);
        size_t len;
        bool more;

        if (path == NULL)
            return no_memory(parser);
        if (node->path_count != 0)
            memcpy(path, node->path, node->path_count * sizeof *path);
        path[node->path_count] = token.kind == LMN__TOKEN_QUOTED
                                     ? lmn__parser_unquote(parser, &token, &len)
                                     : lmn__arena_strndup(parser->arena, token.text.data,
                                                          token.text.len);
        if (path[node->path_count] == NULL)
            return no_memory(parser);
        node->path = path;
        if (++node->path_count > LMN__EXPR_DEPTH_MAX)
            return lmn__parser_expected(parser, "fewer names in a path");
        st = lmn__parser_accept(parser, '.', &more);
        if (st != LMN_OK || !more)
            return st;
        token = parser->token;
        if (token.kind != LMN__TOKEN_NAME && token.kind != LMN__TOKEN_QUOTED)
            return lmn__parser_expected(parser, "the name of a field");
        st = lmn__parser_next(parser);
    }
    return st;
}

/* date '2024-01-01'; the word has been taken. */
static enum lmn_status parse_typed(struct lmn__parser *parser, const struct lmn__token *word,
                                   struct lmn__syntax **node_out)
{
    bool is_number = parser->token.kind == LMN__TOKEN_NUMBER;
    enum lmn_status st = parse_literal(parser, is_number ? LMN__SYNTAX_NUMBER : LMN__SYNTAX_STRING,
                                       node_out);

    if (st != LMN_OK)
        return st;
    (*node_out)->kind = LMN__SYNTAX_TYPED;
    (*node_out)->place = word->place;
    (*node_out)->type = (struct lmn__type_name){ .word = lmn__parser_lower(parser, word->text),
                                                 .place = word->place };
    return (*node_out)->type.word == NULL ? no_memory(parser) : LMN_OK;
}

/* decimal(8, 3) '1.500': what was read as a call is the type of the string that follows. */
static enum lmn_status parse_sized(struct lmn__parser *parser, const struct lmn__token *word,
                                   struct lmn__syntax **node)
{
    const struct lmn__syntax *call = *node;
    struct lmn__type_name type = { .word = call->name,
                                   .place = call->place,
                                   .number_count = call->child_count };
    enum lmn_status st;

    for (uint32_t i = 0; i < call->child_count; i++) {
        const struct lmn__syntax *number = call->child[i];

        if (i == 2 || number->kind != LMN__SYNTAX_NUMBER || number->text.len > 3)
            return lmn__parser_expected(parser, "an operator");
        for (size_t k = 0; k < number->text.len; k++) {
            uint8_t c = number->text.data[k];

            if (c < '0' || c > '9')
                return lmn__parser_expected(parser, "an operator");
            type.number[i] = type.number[i] * 10 + (c - '0');
        }
    }
    st = parse_typed(parser, word, node);
    if (st == LMN_OK)
        (*node)->type = type;
    return st;
}

/* interval '7' day and interval 7 day are interval '7 day'; the word has been taken. */
static enum lmn_status parse_interval(struct lmn__parser *parser, const struct lmn__token *word,
                                      struct lmn__syntax **node_out)
{
    struct lmn__token unit;
    struct lmn__span text;
    uint8_t *joined;
    enum lmn_status st = parse_typed(parser, word, node_out);

    unit = parser->token;
    if (st != LMN_OK || unit.kind != LMN__TOKEN_NAME || !lmn__interval_is_unit(unit.text))
        return st;
    text = (*node_out)->text;
    joined = lmn__arena_alloc(parser->arena, text.len + 1 + unit.text.len + 1);
    if (joined == NULL)
        return no_memory(parser);
    memcpy(joined, text.data, text.len);
    joined[text.len] = ' ';
    memcpy(joined + text.len + 1, unit.text.data, unit.text.len);
    (*node_out)->text = (struct lmn__span){ joined, text.len + 1 + unit.text.len };
    return lmn__parser_next(parser);
}

/* The items of a list up to `close`. */
static enum lmn_status parse_list(struct lmn__parser *parser, uint32_t place, uint32_t close,
                                  struct lmn__syntax **node_out)
{
    struct lmn__syntax_list list = { 0 };
    enum lmn_status st = parse_items(parser, close, &list);

    if (st != LMN_OK)
        return st;
    return lmn__parser_node(parser, LMN__SYNTAX_LIST, place, list.item, list.count, node_out);
}

/* current_date and its kin stand without parentheses, too. */
static bool is_clock(const struct lmn__token *word)
{
    return lmn__token_is(word, "current_date") || lmn__token_is(word, "current_timestamp");
}

static enum lmn_status parse_clock(struct lmn__parser *parser, const struct lmn__token *word,
                                   struct lmn__syntax **node_out)
{
    enum lmn_status st = lmn__parser_node(parser, LMN__SYNTAX_CALL, word->place, NULL, 0, node_out);

    if (st != LMN_OK)
        return st;
    (*node_out)->name = lmn__parser_lower(parser, word->text);
    return (*node_out)->name == NULL ? no_memory(parser) : LMN_OK;
}

static enum lmn_status parse_word(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    struct lmn__token word = parser->token;
    enum lmn_status st;
    bool call, is_true = lmn__token_is(&word, "true");

    if (is_reserved(&word))
        return lmn__parser_expected(parser, "a value");
    st = lmn__parser_next(parser);
    if (st != LMN_OK)
        return st;
    if (lmn__token_is(&word, "null"))
        return lmn__parser_node(parser, LMN__SYNTAX_NULL, word.place, NULL, 0, node_out);
    if (is_true || lmn__token_is(&word, "false")) {
        st = lmn__parser_node(parser, LMN__SYNTAX_BOOL, word.place, NULL, 0, node_out);
        if (st == LMN_OK)
            (*node_out)->flag = is_true;
        return st;
    }
    if (lmn__token_is(&word, "case") && !lmn__parser_at(parser, '.'))
        return parse_case(parser, word.place, node_out);
    if (lmn__token_is(&word, "interval") &&
        (parser->token.kind == LMN__TOKEN_STRING || parser->token.kind == LMN__TOKEN_NUMBER))
        return parse_interval(parser, &word, node_out);
    if (parser->token.kind == LMN__TOKEN_STRING)
        return parse_typed(parser, &word, node_out);
    if (lmn__token_is(&word, "array")) {
        st = lmn__parser_accept(parser, '[', &call);
        if (st != LMN_OK || call)
            return st != LMN_OK ? st : parse_list(parser, word.place, ']', node_out);
    }
    st = lmn__parser_accept(parser, '(', &call);
    if (st == LMN_OK && !call && is_clock(&word) && !lmn__parser_at(parser, '.'))
        return parse_clock(parser, &word, node_out);
    if (st != LMN_OK || !call)
        return st != LMN_OK ? st : parse_name(parser, word, node_out);
    if (lmn__token_is(&word, "cast") || lmn__token_is(&word, "try_cast"))
        return parse_cast(parser, &word, node_out);
    if (lmn__token_is(&word, "make_array") || lmn__token_is(&word, "make_list"))
        return parse_list(parser, word.place, ')', node_out);
    st = parse_call(parser, &word, node_out);
    if (st == LMN_OK && parser->token.kind == LMN__TOKEN_STRING)
        return parse_sized(parser, &word, node_out);
    return st;
}

static enum lmn_status parse_primary(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    struct lmn__token token = parser->token;
    enum lmn_status st;
    bool there;

    switch (token.kind) {
    case LMN__TOKEN_NUMBER:
        return parse_literal(parser, LMN__SYNTAX_NUMBER, node_out);
    case LMN__TOKEN_STRING:
        return parse_literal(parser, LMN__SYNTAX_STRING, node_out);
    case LMN__TOKEN_BYTES:
        return parse_bytes(parser, node_out);
    case LMN__TOKEN_NAME:
        return parse_word(parser, node_out);
    case LMN__TOKEN_QUOTED:
        st = lmn__parser_next(parser);
        return st != LMN_OK ? st : parse_name(parser, token, node_out);
    default:
        break;
    }
    st = lmn__parser_accept(parser, '(', &there);
    if (st == LMN_OK && there) {
        st = lmn__parse_expression(parser, node_out);
        return st == LMN_OK ? lmn__parser_need(parser, ')') : st;
    }
    if (st == LMN_OK)
        st = lmn__parser_accept(parser, '[', &there);
    if (st != LMN_OK || !there)
        return st != LMN_OK ? st : lmn__parser_expected(parser, "a value");
    return parse_list(parser, token.place, ']', node_out);
}

/* .name behind an operand that is no name itself. */
static enum lmn_status parse_field(struct lmn__parser *parser, uint32_t place,
                                   struct lmn__syntax **node)
{
    struct lmn__syntax *child = *node;
    struct lmn__token token = parser->token;
    enum lmn_status st;
    size_t len;

    if (token.kind != LMN__TOKEN_NAME && token.kind != LMN__TOKEN_QUOTED)
        return lmn__parser_expected(parser, "the name of a field");
    st = lmn__parser_node(parser, LMN__SYNTAX_FIELD, place, &child, 1, node);
    if (st != LMN_OK)
        return st;
    (*node)->name = token.kind == LMN__TOKEN_QUOTED
                        ? lmn__parser_unquote(parser, &token, &len)
                        : lmn__arena_strndup(parser->arena, token.text.data, token.text.len);
    return (*node)->name == NULL ? no_memory(parser) : lmn__parser_next(parser);
}

/* Behind '['. A string names a field, anything else an item of a list. */
static enum lmn_status parse_subscript(struct lmn__parser *parser, uint32_t place,
                                       struct lmn__syntax **node)
{
    struct lmn__syntax *pair[2] = { *node, NULL };
    enum lmn_status st = lmn__parse_expression(parser, &pair[1]);

    if (st == LMN_OK)
        st = lmn__parser_need(parser, ']');
    if (st != LMN_OK)
        return st;
    if (pair[1]->kind != LMN__SYNTAX_STRING)
        return lmn__parser_node(parser, LMN__SYNTAX_ITEM, place, pair, 2, node);
    st = lmn__parser_node(parser, LMN__SYNTAX_FIELD, place, pair, 1, node);
    if (st == LMN_OK)
        (*node)->name = (const char *)pair[1]->text.data;
    return st;
}

enum lmn_status lmn__parse_operand(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    enum lmn_status st = parse_primary(parser, node_out);

    while (st == LMN_OK) {
        struct lmn__syntax *child = *node_out;
        uint32_t place = parser->token.place;
        bool field, item = false, cast = false;

        st = lmn__parser_accept(parser, '.', &field);
        if (st == LMN_OK && !field)
            st = lmn__parser_accept(parser, '[', &item);
        if (st == LMN_OK && !field && !item)
            st = lmn__parser_accept(parser, LMN__SYMBOL2(':', ':'), &cast);
        if (st != LMN_OK || !(field || item || cast))
            return st;
        if (field)
            st = parse_field(parser, place, node_out);
        else if (item)
            st = parse_subscript(parser, place, node_out);
        else {
            struct lmn__type_name type;

            st = lmn__parse_type(parser, &type);
            if (st == LMN_OK)
                st = lmn__parser_node(parser, LMN__SYNTAX_CAST, place, &child, 1, node_out);
            if (st == LMN_OK)
                (*node_out)->type = type;
        }
    }
    return st;
}
