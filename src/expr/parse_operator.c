/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators, weakest first, each level calling the next:
 *
 *     OR   AND   NOT   predicates (= < IS IN LIKE BETWEEN ...)   ||   & | << >>   + -   * / % sign
 *
 * OR and AND take all their operands in one node, so that a long chain is not a deep tree.
 */
#include "expr/parser.h"

typedef enum lmn_status (*level_fn)(struct lmn__parser *parser, struct lmn__syntax **node_out);

static enum lmn_status parse_sign(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    uint32_t place = parser->token.place;
    struct lmn__syntax *child;
    enum lmn_status st;
    bool minus = lmn__parser_at(parser, '-');

    if (!minus && !lmn__parser_at(parser, '+'))
        return lmn__parse_operand(parser, node_out);
    st = lmn__parser_enter(parser);
    if (st == LMN_OK)
        st = lmn__parser_next(parser);
    if (st == LMN_OK)
        st = parse_sign(parser, &child);
    parser->depth--;
    if (st != LMN_OK)
        return st;
    *node_out = child;
    if (!minus)
        return LMN_OK;
    if (child->kind == LMN__SYNTAX_NUMBER) {
        child->flag = !child->flag;
        return LMN_OK;
    }
    st = lmn__parser_node(parser, LMN__SYNTAX_CALL, place, &child, 1, node_out);
    if (st == LMN_OK)
        (*node_out)->name = "-";
    return st;
}

/* The operator that stands here, if it is one of `names`, which ends with NULL. */
static const char *operator_name(const struct lmn__parser *parser, const char *const *names)
{
    for (; *names != NULL; names++) {
        const char *name = *names;
        uint32_t symbol = name[1] == 0 ? (uint32_t)name[0] : LMN__SYMBOL2(name[0], name[1]);

        if (lmn__parser_at(parser, symbol))
            return name;
    }
    return NULL;
}

/* Operators of one level, from left to right. */
static enum lmn_status parse_binary(struct lmn__parser *parser, const char *const *names,
                                    level_fn next, struct lmn__syntax **node_out)
{
    enum lmn_status st = next(parser, node_out);
    const char *name;

    while (st == LMN_OK && (name = operator_name(parser, names)) != NULL) {
        struct lmn__syntax *pair[2] = { *node_out, NULL };
        uint32_t place = parser->token.place;

        st = lmn__parser_next(parser);
        if (st == LMN_OK && *name == '-' && lmn__parser_at(parser, '>'))
            st = lmn__text_fail(parser->lexer.text, place, parser->err, LMN_E_UNSUPPORTED,
                                LMN__NO_LAMBDA);
        if (st == LMN_OK)
            st = next(parser, &pair[1]);
        if (st == LMN_OK)
            st = lmn__parser_node(parser, LMN__SYNTAX_CALL, place, pair, 2, node_out);
        if (st == LMN_OK)
            (*node_out)->name = name;
    }
    return st;
}

static enum lmn_status parse_product(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    static const char *const names[] = { "*", "/", "%", NULL };

    return parse_binary(parser, names, parse_sign, node_out);
}

static enum lmn_status parse_sum(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    static const char *const names[] = { "+", "-", NULL };

    return parse_binary(parser, names, parse_product, node_out);
}

static enum lmn_status parse_bits(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    static const char *const names[] = { "&", "|", "<<", ">>", NULL };

    return parse_binary(parser, names, parse_sum, node_out);
}

/* a || b || c is one call. */
static enum lmn_status parse_concat(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    uint32_t place = parser->token.place;
    struct lmn__syntax_list list = { 0 };
    enum lmn_status st = parse_bits(parser, node_out);
    bool more = false;

    if (st == LMN_OK && lmn__parser_at(parser, LMN__SYMBOL2('|', '|'))) {
        st = lmn__parser_collect(parser, &list, *node_out);
        more = true;
    }
    while (st == LMN_OK && more) {
        struct lmn__syntax *item;

        st = lmn__parser_accept(parser, LMN__SYMBOL2('|', '|'), &more);
        if (st != LMN_OK || !more)
            break;
        st = parse_bits(parser, &item);
        if (st == LMN_OK)
            st = lmn__parser_collect(parser, &list, item);
    }
    if (st == LMN_OK && list.count != 0) {
        st = lmn__parser_node(parser, LMN__SYNTAX_CALL, place, list.item, list.count, node_out);
        if (st == LMN_OK)
            (*node_out)->name = "||";
    }
    return st;
}

/* Behind IS. */
static enum lmn_status parse_is(struct lmn__parser *parser, uint32_t place,
                                struct lmn__syntax **node)
{
    static const struct {
        const char *word;
        enum lmn__syntax_kind kind;
    } tests[] = { { "null", LMN__SYNTAX_IS_NULL },
                  { "unknown", LMN__SYNTAX_IS_NULL },
                  { "true", LMN__SYNTAX_IS_TRUE },
                  { "false", LMN__SYNTAX_IS_FALSE } };
    struct lmn__syntax *pair[2] = { *node, NULL };
    bool negated, there = false;
    enum lmn_status st = lmn__parser_accept_word(parser, "not", &negated);

    for (size_t i = 0; st == LMN_OK && i < sizeof tests / sizeof tests[0]; i++) {
        st = lmn__parser_accept_word(parser, tests[i].word, &there);
        if (st != LMN_OK || !there)
            continue;
        st = lmn__parser_node(parser, tests[i].kind, place, pair, 1, node);
        if (st == LMN_OK)
            (*node)->flag = negated;
        return st;
    }
    if (st == LMN_OK)
        st = lmn__parser_accept_word(parser, "distinct", &there);
    if (st == LMN_OK && !there)
        return lmn__parser_expected(parser, "NULL, TRUE, FALSE or DISTINCT FROM");
    if (st == LMN_OK)
        st = lmn__parser_need_word(parser, "from");
    if (st == LMN_OK)
        st = parse_concat(parser, &pair[1]);
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_DISTINCT, place, pair, 2, node);
    if (st == LMN_OK)
        (*node)->flag = negated;
    return st;
}

/* x IN list, without parentheses: CASE WHEN x IS NOT NULL THEN array_has(list, x) END. */
static enum lmn_status parse_in_list(struct lmn__parser *parser, uint32_t place,
                                     struct lmn__syntax **node)
{
    struct lmn__syntax *pair[2] = { NULL, *node }, *part[3];
    enum lmn_status st = parse_concat(parser, &pair[0]);

    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_IS_NULL, place, &pair[1], 1, &part[0]);
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_CALL, place, pair, 2, &part[1]);
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_NULL, place, NULL, 0, &part[2]);
    if (st != LMN_OK)
        return st;
    part[0]->flag = true;
    part[1]->name = "array_has";
    return lmn__parser_node(parser, LMN__SYNTAX_CASE, place, part, 3, node);
}

static enum lmn_status parse_in(struct lmn__parser *parser, uint32_t place,
                                struct lmn__syntax **node)
{
    struct lmn__syntax_list list = { 0 };
    struct lmn__syntax *item;
    enum lmn_status st = lmn__parser_collect(parser, &list, *node);
    bool more = true;

    if (st == LMN_OK)
        st = lmn__parser_need(parser, '(');
    while (st == LMN_OK && more) {
        st = lmn__parse_expression(parser, &item);
        if (st == LMN_OK)
            st = lmn__parser_collect(parser, &list, item);
        if (st == LMN_OK)
            st = lmn__parser_accept(parser, ',', &more);
    }
    if (st == LMN_OK)
        st = lmn__parser_need(parser, ')');
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_IN, place, list.item, list.count, node);
    return st;
}

static enum lmn_status parse_between(struct lmn__parser *parser, uint32_t place,
                                     struct lmn__syntax **node)
{
    struct lmn__syntax *part[3] = { *node, NULL, NULL };
    enum lmn_status st = parse_concat(parser, &part[1]);

    if (st == LMN_OK)
        st = lmn__parser_need_word(parser, "and");
    if (st == LMN_OK)
        st = parse_concat(parser, &part[2]);
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_BETWEEN, place, part, 3, node);
    return st;
}

static enum lmn_status parse_like(struct lmn__parser *parser, uint32_t place, bool fold,
                                  struct lmn__syntax **node)
{
    struct lmn__syntax *pair[2] = { *node, NULL };
    uint8_t escape = 0;
    bool there = false;
    enum lmn_status st = parse_concat(parser, &pair[1]);

    if (st == LMN_OK)
        st = lmn__parser_accept_word(parser, "escape", &there);
    if (st == LMN_OK && there) {
        /* One character in quotes; a quote stands there twice. */
        if (parser->token.kind != LMN__TOKEN_STRING ||
            parser->token.text.len != (parser->token.text.data[1] == '\'' ? 4 : 3) ||
            parser->token.text.data[1] >= 0x80)
            return lmn__parser_expected(parser, "one character in quotes");
        escape = parser->token.text.data[1];
        st = lmn__parser_next(parser);
    }
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_LIKE, place, pair, 2, node);
    if (st == LMN_OK) {
        (*node)->fold = fold;
        (*node)->escape = escape;
    }
    return st;
}

static bool compare_of(const struct lmn__parser *parser, enum lmn__compare *compare_out)
{
    static const struct {
        uint32_t symbol;
        enum lmn__compare compare;
    } symbols[] = {
        { '=', LMN__COMPARE_EQ },
        { LMN__SYMBOL2('=', '='), LMN__COMPARE_EQ },
        { LMN__SYMBOL2('!', '='), LMN__COMPARE_NE },
        { LMN__SYMBOL2('<', '>'), LMN__COMPARE_NE },
        { '<', LMN__COMPARE_LT },
        { LMN__SYMBOL2('<', '='), LMN__COMPARE_LE },
        { '>', LMN__COMPARE_GT },
        { LMN__SYMBOL2('>', '='), LMN__COMPARE_GE },
    };

    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        if (lmn__parser_at(parser, symbols[i].symbol)) {
            *compare_out = symbols[i].compare;
            return true;
        }
    }
    return false;
}

static enum lmn_status parse_compare(struct lmn__parser *parser, enum lmn__compare compare,
                                     struct lmn__syntax **node)
{
    struct lmn__syntax *pair[2] = { *node, NULL };
    uint32_t place = parser->token.place;
    enum lmn_status st = lmn__parser_next(parser);

    if (st == LMN_OK)
        st = parse_concat(parser, &pair[1]);
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_COMPARE, place, pair, 2, node);
    if (st == LMN_OK)
        (*node)->compare = compare;
    return st;
}

/* [NOT] IN, BETWEEN, LIKE, ILIKE. *done_out: none of them stands here. */
static enum lmn_status parse_negatable(struct lmn__parser *parser, struct lmn__syntax **node,
                                       bool *done_out)
{
    uint32_t place = parser->token.place;
    bool negated, in = false, between = false, like = false, ilike = false;
    struct lmn__syntax *has;
    enum lmn_status st = lmn__parser_accept_word(parser, "not", &negated);

    if (st == LMN_OK)
        st = lmn__parser_accept_word(parser, "in", &in);
    if (st == LMN_OK && !in)
        st = lmn__parser_accept_word(parser, "between", &between);
    if (st == LMN_OK && !in && !between)
        st = lmn__parser_accept_word(parser, "like", &like);
    if (st == LMN_OK && !in && !between && !like)
        st = lmn__parser_accept_word(parser, "ilike", &ilike);
    if (st != LMN_OK)
        return st;
    *done_out = !in && !between && !like && !ilike;
    if (*done_out)
        return negated ? lmn__parser_expected(parser, "IN, BETWEEN, LIKE or ILIKE") : LMN_OK;
    if (in && !lmn__parser_at(parser, '(')) {
        st = parse_in_list(parser, place, node);
        has = *node;
        return st == LMN_OK && negated
                   ? lmn__parser_node(parser, LMN__SYNTAX_NOT, place, &has, 1, node)
                   : st;
    }
    st = in        ? parse_in(parser, place, node)
         : between ? parse_between(parser, place, node)
                   : parse_like(parser, place, ilike, node);
    if (st == LMN_OK)
        (*node)->flag = negated;
    return st;
}

static enum lmn_status parse_predicate(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    enum lmn_status st = parse_concat(parser, node_out);
    bool done = false;

    while (st == LMN_OK && !done) {
        uint32_t place = parser->token.place;
        enum lmn__compare compare;
        bool is;

        st = lmn__parser_accept_word(parser, "is", &is);
        if (st != LMN_OK)
            return st;
        if (is)
            st = parse_is(parser, place, node_out);
        else if (compare_of(parser, &compare))
            st = parse_compare(parser, compare, node_out);
        else
            st = parse_negatable(parser, node_out, &done);
    }
    return st;
}

static enum lmn_status parse_not(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    uint32_t place = parser->token.place;
    struct lmn__syntax *child;
    enum lmn_status st;
    bool negated;

    st = lmn__parser_accept_word(parser, "not", &negated);
    if (st != LMN_OK || !negated)
        return st != LMN_OK ? st : parse_predicate(parser, node_out);
    st = lmn__parser_enter(parser);
    if (st == LMN_OK)
        st = parse_not(parser, &child);
    parser->depth--;
    if (st == LMN_OK)
        st = lmn__parser_node(parser, LMN__SYNTAX_NOT, place, &child, 1, node_out);
    return st;
}

/* Operands of AND or OR in one node. */
static enum lmn_status parse_chain(struct lmn__parser *parser, const char *word,
                                   enum lmn__syntax_kind kind, level_fn next,
                                   struct lmn__syntax **node_out)
{
    uint32_t place = parser->token.place;
    struct lmn__syntax_list list = { 0 };
    enum lmn_status st;
    bool more;

    do {
        struct lmn__syntax *item;

        st = next(parser, &item);
        if (st == LMN_OK)
            st = lmn__parser_collect(parser, &list, item);
        if (st == LMN_OK)
            st = lmn__parser_accept_word(parser, word, &more);
    } while (st == LMN_OK && more);
    if (st != LMN_OK)
        return st;
    if (list.count == 1) {
        *node_out = list.item[0];
        return LMN_OK;
    }
    return lmn__parser_node(parser, kind, place, list.item, list.count, node_out);
}

static enum lmn_status parse_and(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    return parse_chain(parser, "and", LMN__SYNTAX_AND, parse_not, node_out);
}

enum lmn_status lmn__parse_expression(struct lmn__parser *parser, struct lmn__syntax **node_out)
{
    enum lmn_status st = lmn__parser_enter(parser);

    *node_out = NULL;
    if (st == LMN_OK)
        st = parse_chain(parser, "or", LMN__SYNTAX_OR, parse_and, node_out);
    parser->depth--;
    return st;
}
