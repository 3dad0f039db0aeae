/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/bind.h"

#include <nanoarrow/nanoarrow.h>
#include <stdarg.h>
#include <stdio.h>

#include "expr/like.h"
#include "expr/list.h"
#include "expr/list_value.h"
#include "expr/logic.h"
#include "expr/named.h"
#include "expr/token.h"

enum lmn_status lmn__bind_fail(const struct lmn__binder *binder, uint32_t place,
                               enum lmn_status status, const char *fmt, ...)
{
    char message[300];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    return lmn__text_fail(binder->expr->text, place, binder->err, status, "%s", message);
}

enum lmn_status lmn__bind_mismatch(const struct lmn__binder *binder, uint32_t place,
                                   const struct lmn__term *term, const char *fmt, ...)
{
    struct lmn__named named = { 0 };
    char message[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    if (term != NULL)
        lmn__named_types(&named, term);
    for (uint32_t i = 0; i < binder->meeting.count; i++)
        lmn__named_types(&named, binder->meeting.term[i]);
    return lmn__bind_fail(binder, place, LMN_E_INVALID, named.count != 0 ? "%s (%s)" : "%s",
                          message, named.text);
}

enum lmn_status lmn__bind_no_memory(const struct lmn__binder *binder)
{
    return lmn__arena_fail(binder->arena, "an expression", binder->err);
}

enum lmn_status lmn__bind_term(struct lmn__binder *binder, enum lmn__op op, uint32_t place,
                               struct lmn__term *const *child, uint32_t count,
                               struct lmn__term **term_out)
{
    struct lmn__term *term = lmn__arena_alloc(binder->arena, sizeof *term);

    *term_out = NULL;
    if (term == NULL)
        return lmn__bind_no_memory(binder);
    term->op = op;
    term->place = place;
    term->child_count = count;
    if (count != 0) {
        term->child = lmn__arena_array(binder->arena, count, sizeof(struct lmn__term *));
        if (term->child == NULL)
            return lmn__bind_no_memory(binder);
        memcpy(term->child, child, count * sizeof(struct lmn__term *));
    }
    *term_out = term;
    return LMN_OK;
}

enum lmn_status lmn__bind_call(struct lmn__binder *binder, uint32_t place, lmn__kernel_fn kernel,
                               const struct lmn__type *type, struct lmn__term *const *child,
                               uint32_t count, struct lmn__term **term_out)
{
    enum lmn_status st = lmn__bind_term(binder, LMN__OP_CALL, place, child, count, term_out);

    if (st != LMN_OK)
        return st;
    (*term_out)->kernel = kernel;
    (*term_out)->type = *type;
    return LMN_OK;
}

/* regexp_match(...) */
static bool is_match(const struct lmn__syntax *syntax)
{
    return syntax->kind == LMN__SYNTAX_CALL && strcmp(syntax->name, "regexp_match") == 0;
}

enum lmn_status lmn__bind_condition(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                    struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    struct lmn__syntax like = *syntax;
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st;

    /* What matched is a list; whether it did is the condition. */
    if (is_match(syntax))
        like.name = "regexp_like";
    st = lmn__bind_syntax(binder, &like, term_out);
    if (st != LMN_OK)
        return st;
    if ((*term_out)->type.kind == LMN__KIND_NULL)
        return lmn__bind_convert(binder, term_out, &condition, LMN__CONVERT_CAST);
    if ((*term_out)->type.kind != LMN__KIND_BOOL)
        return lmn__bind_fail(binder, syntax->place, LMN_E_INVALID,
                              "expected a condition, not a value of type %s",
                              lmn__type_text(&(*term_out)->type, text));
    return LMN_OK;
}

static enum lmn_status bind_chain(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                  struct lmn__term **term_out)
{
    enum lmn__op op = syntax->kind == LMN__SYNTAX_AND ? LMN__OP_AND : LMN__OP_OR;
    struct lmn__term **child = lmn__arena_array(binder->arena, syntax->child_count, sizeof *child);
    enum lmn_status st = LMN_OK;

    if (child == NULL)
        return lmn__bind_no_memory(binder);
    for (uint32_t i = 0; st == LMN_OK && i < syntax->child_count; i++)
        st = lmn__bind_condition(binder, syntax->child[i], &child[i]);
    if (st == LMN_OK)
        st = lmn__bind_term(binder, op, syntax->place, child, syntax->child_count, term_out);
    if (st == LMN_OK)
        (*term_out)->type = lmn__type_plain(LMN__KIND_BOOL);
    return st;
}

/* NOT and IS ...: one argument, a boolean out. */
static enum lmn_status bind_test(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                 struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    /* The match is null where there is none: to ask for null is to ask whether it matches. */
    bool matches = syntax->kind == LMN__SYNTAX_IS_NULL && is_match(syntax->child[0]);
    bool is_null = syntax->kind == LMN__SYNTAX_IS_NULL && !matches;
    bool is_not = syntax->kind == LMN__SYNTAX_NOT;
    lmn__kernel_fn kernel = is_null ? lmn__logic_is_null : is_not ? lmn__logic_not : lmn__logic_is;
    struct lmn__term *child;
    enum lmn_status st = is_null ? lmn__bind_syntax(binder, syntax->child[0], &child)
                                 : lmn__bind_condition(binder, syntax->child[0], &child);

    if (st == LMN_OK)
        st = lmn__list_settle(binder, &child);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, syntax->place, kernel, &condition, &child, 1, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->own_nulls = !is_not;
    (*term_out)->negated = syntax->flag != matches;
    (*term_out)->choice = syntax->kind == LMN__SYNTAX_IS_TRUE || matches;
    return lmn__bind_fold(binder, term_out);
}

static enum lmn_status bind_cast(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                 struct lmn__term **term_out)
{
    struct lmn__type type;
    enum lmn_status st = lmn__bind_syntax(binder, syntax->child[0], term_out);

    if (st != LMN_OK)
        return st;
    if (!lmn__type_from_name(&syntax->type, &type))
        return lmn__bind_fail(binder, syntax->type.place, LMN_E_INVALID, "there is no type %.60s",
                              syntax->type.word);
    (*term_out)->place = syntax->place;
    return lmn__bind_convert(binder, term_out, &type,
                             syntax->flag ? LMN__CONVERT_TRY : LMN__CONVERT_CAST);
}

/* Nested values of several arrays cannot stand in one vector. */
static enum lmn_status refuse_nested(struct lmn__binder *binder, uint32_t place,
                                     const struct lmn__type *type)
{
    char text[LMN__TYPE_TEXT_BYTES];

    if (lmn__type_form(type) != LMN__FORM_SLOT)
        return LMN_OK;
    return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED, "a choice between values of type %s",
                          lmn__type_text(type, text));
}

/* CASE subject WHEN value: each condition is a comparison with the subject. */
static enum lmn_status bind_when(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                 const struct lmn__syntax *when, struct lmn__term **term_out)
{
    struct lmn__syntax *pair[2] = { syntax->child[0], (struct lmn__syntax *)when };
    struct lmn__syntax equal = { .kind = LMN__SYNTAX_COMPARE,
                                 .compare = LMN__COMPARE_EQ,
                                 .place = when->place,
                                 .child = pair,
                                 .child_count = 2 };

    if (!syntax->flag)
        return lmn__bind_condition(binder, when, term_out);
    return lmn__bind_comparison(binder, &equal, term_out);
}

static enum lmn_status bind_case(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                 struct lmn__term **term_out)
{
    uint32_t first = syntax->flag ? 1 : 0, count = syntax->child_count - first;
    uint32_t values = count / 2 + 1;
    struct lmn__term **child = lmn__arena_array(binder->arena, count, sizeof *child);
    struct lmn__term **value = lmn__arena_array(binder->arena, values, sizeof *value);
    enum lmn_status st = LMN_OK;

    if (child == NULL || value == NULL)
        return lmn__bind_no_memory(binder);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        if (i % 2 == 0 && i + 1 < count)
            st = bind_when(binder, syntax, syntax->child[first + i], &child[i]);
        else
            st = lmn__bind_syntax(binder, syntax->child[first + i], &value[i / 2]);
    }
    if (st == LMN_OK)
        st = lmn__bind_unify(binder, syntax->place, "choose between", value, values);
    for (uint32_t i = 1; st == LMN_OK && i < count; i += 2)
        child[i] = value[i / 2];
    if (st != LMN_OK)
        return st;
    child[count - 1] = value[values - 1];
    st = lmn__bind_term(binder, LMN__OP_CASE, syntax->place, child, count, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->type = value[0]->type;
    return refuse_nested(binder, syntax->place, &(*term_out)->type);
}

enum lmn_status lmn__bind_syntax(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                 struct lmn__term **term_out)
{
    *term_out = NULL;
    switch (syntax->kind) {
    case LMN__SYNTAX_NULL:
    case LMN__SYNTAX_BOOL:
    case LMN__SYNTAX_NUMBER:
    case LMN__SYNTAX_STRING:
    case LMN__SYNTAX_BYTES:
    case LMN__SYNTAX_TYPED:
        return lmn__bind_literal(binder, syntax, term_out);
    case LMN__SYNTAX_NAME:
    case LMN__SYNTAX_FIELD:
        return lmn__bind_name(binder, syntax, term_out);
    case LMN__SYNTAX_LIST:
    case LMN__SYNTAX_ITEM:
        return lmn__bind_list(binder, syntax, term_out);
    case LMN__SYNTAX_CALL:
        return lmn__bind_function(binder, syntax, term_out);
    case LMN__SYNTAX_AND:
    case LMN__SYNTAX_OR:
        return bind_chain(binder, syntax, term_out);
    case LMN__SYNTAX_NOT:
    case LMN__SYNTAX_IS_NULL:
    case LMN__SYNTAX_IS_TRUE:
    case LMN__SYNTAX_IS_FALSE:
        return bind_test(binder, syntax, term_out);
    case LMN__SYNTAX_COMPARE:
    case LMN__SYNTAX_DISTINCT:
    case LMN__SYNTAX_IN:
    case LMN__SYNTAX_BETWEEN:
        return lmn__bind_comparison(binder, syntax, term_out);
    case LMN__SYNTAX_LIKE:
        return lmn__bind_like(binder, syntax, term_out);
    case LMN__SYNTAX_CASE:
        return bind_case(binder, syntax, term_out);
    case LMN__SYNTAX_CAST:
        return bind_cast(binder, syntax, term_out);
    }
    return lmn__bind_fail(binder, syntax->place, LMN_E_UNSUPPORTED, "an unknown expression");
}
