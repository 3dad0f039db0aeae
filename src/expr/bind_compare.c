/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types that meet. Constants give way first: they take the type of the other side where that loses
 * nothing, so that a column is compared as it is stored. Otherwise both sides are converted to a
 * type that holds all values of both.
 */
#include "expr/bind.h"
#include "expr/calendar.h"
#include "expr/compare.h"
#include "expr/compare_nested.h"
#include "expr/in_set.h"
#include "expr/logic.h"

/* The digits in front of the point, and behind. */
static bool decimal_shape(const struct lmn__type *type, int32_t *front, int32_t *behind)
{
    static const int32_t digits[] = { 3, 5, 10, 19, 3, 5, 10, 20 };

    if (type->kind == LMN__KIND_DECIMAL) {
        *front = type->precision - type->scale;
        *behind = type->scale;
        return true;
    }
    if (!lmn__type_is_integer(type))
        return false;
    *front = digits[type->kind - LMN__KIND_I8];
    *behind = 0;
    return true;
}

static bool common_decimal(const struct lmn__type *a, const struct lmn__type *b,
                           struct lmn__type *out)
{
    int32_t front_a, front_b, behind_a, behind_b, front, behind;

    if (!decimal_shape(a, &front_a, &behind_a) || !decimal_shape(b, &front_b, &behind_b))
        return false;
    front = front_a > front_b ? front_a : front_b;
    behind = behind_a > behind_b ? behind_a : behind_b;
    if (front + behind > 76)
        behind = 76 - front;
    *out = (struct lmn__type){ .kind = LMN__KIND_DECIMAL,
                               .precision = front + behind > 0 ? front + behind : 1,
                               .scale = behind,
                               .width = front + behind > 38 ? 32 : 16 };
    return true;
}

/* 8, 16, 32 or 64 bits as 0 to 3. */
static int rank_of(const struct lmn__type *type)
{
    return lmn__type_is_unsigned(type) ? (int)(type->kind - LMN__KIND_U8)
                                       : (int)(type->kind - LMN__KIND_I8);
}

static bool common_number(const struct lmn__type *a, const struct lmn__type *b,
                          struct lmn__type *out)
{
    bool a_unsigned = lmn__type_is_unsigned(a), b_unsigned = lmn__type_is_unsigned(b);
    int a_rank, b_rank, rank;

    if (lmn__type_is_float(a) || lmn__type_is_float(b)) {
        bool half = a->kind == LMN__KIND_F16 || b->kind == LMN__KIND_F16;
        bool single = a->kind <= LMN__KIND_F32 && b->kind <= LMN__KIND_F32 &&
                      lmn__type_is_float(a) && lmn__type_is_float(b);

        *out = lmn__type_plain(single && (half || a->kind == LMN__KIND_F32) ? LMN__KIND_F32
                                                                            : LMN__KIND_F64);
        return true;
    }
    if (a->kind == LMN__KIND_DECIMAL || b->kind == LMN__KIND_DECIMAL)
        return common_decimal(a, b, out);
    a_rank = rank_of(a);
    b_rank = rank_of(b);
    rank = a_rank > b_rank ? a_rank : b_rank;
    if (a_unsigned == b_unsigned) {
        *out = lmn__type_plain((enum lmn__kind)((a_unsigned ? LMN__KIND_U8 : LMN__KIND_I8) + rank));
        return true;
    }
    /* A signed type of more bits than the unsigned one. */
    rank = a_unsigned ? a_rank + 1 : b_rank + 1;
    rank = rank > a_rank ? rank : a_rank;
    rank = rank > b_rank ? rank : b_rank;
    if (rank > 3)
        return common_decimal(a, b, out);
    *out = lmn__type_plain((enum lmn__kind)(LMN__KIND_I8 + rank));
    return true;
}

static bool common_time(const struct lmn__type *a, const struct lmn__type *b, struct lmn__type *out)
{
    const struct lmn__type *finer = a->unit >= b->unit ? a : b;
    bool a_stamp = a->kind == LMN__KIND_TIMESTAMP, b_stamp = b->kind == LMN__KIND_TIMESTAMP;
    bool a_day = a->kind == LMN__KIND_DATE32 || a->kind == LMN__KIND_DATE64;
    bool b_day = b->kind == LMN__KIND_DATE32 || b->kind == LMN__KIND_DATE64;

    if (a_stamp && b_stamp) {
        *out = *finer;
        out->zone = a->zone != NULL ? a->zone : b->zone;
        return true;
    }
    if ((a_stamp && b_day) || (a_day && b_stamp)) {
        *out = a_stamp ? *a : *b;
        return true;
    }
    if (a_day && b_day) {
        *out = lmn__type_plain(LMN__KIND_DATE64);
        return true;
    }
    *out = *finer;
    if (a->kind == LMN__KIND_DURATION || b->kind == LMN__KIND_DURATION)
        return a->kind == b->kind;
    return !a_stamp && !b_stamp && !a_day && !b_day;
}

bool lmn__bind_common(const struct lmn__type *a, const struct lmn__type *b, struct lmn__type *out)
{
    *out = *a;
    if (lmn__type_same(a, b) || b->kind == LMN__KIND_NULL)
        return true;
    if (a->kind == LMN__KIND_NULL) {
        *out = *b;
        return true;
    }
    if (lmn__type_is_number(a) && lmn__type_is_number(b))
        return common_number(a, b, out);
    if (lmn__type_is_time(a) && lmn__type_is_time(b))
        return common_time(a, b, out);
    if ((a->kind == LMN__KIND_INTERVAL && b->kind == LMN__KIND_DURATION) ||
        (a->kind == LMN__KIND_DURATION && b->kind == LMN__KIND_INTERVAL)) {
        *out = lmn__type_plain(LMN__KIND_INTERVAL);
        return true;
    }
    if (lmn__type_is_bytes(a) && lmn__type_is_bytes(b)) {
        *out = lmn__type_plain(LMN__KIND_BINARY);
        return true;
    }
    return false;
}

static enum lmn_status no_common(struct lmn__binder *binder, uint32_t place, const char *what,
                                 const struct lmn__type *a, const struct lmn__term *b)
{
    char a_text[LMN__TYPE_TEXT_BYTES], b_text[LMN__TYPE_TEXT_BYTES];

    return lmn__bind_mismatch(binder, place, b, "cannot %s %s and %s without a cast", what,
                              lmn__type_text(a, a_text), lmn__type_text(&b->type, b_text));
}

/* Widen `type` by the types of the terms that are constants, or of those that are not. */
static enum lmn_status widen(struct lmn__binder *binder, uint32_t place, const char *what,
                             struct lmn__term **term, uint32_t count, bool constants,
                             struct lmn__type *type)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct lmn__type before = *type;
        bool done = false;
        enum lmn_status st = LMN_OK;

        if ((term[i]->op == LMN__OP_CONSTANT) != constants)
            continue;
        if (constants && before.kind != LMN__KIND_NULL)
            st = lmn__bind_adapt(binder, &term[i], &before, &done);
        if (st != LMN_OK)
            return st;
        if (!done && !lmn__bind_common(&before, &term[i]->type, type))
            return no_common(binder, place, what, &before, term[i]);
    }
    return LMN_OK;
}

enum lmn_status lmn__bind_unify(struct lmn__binder *binder, uint32_t place, const char *what,
                                struct lmn__term **term, uint32_t count)
{
    const struct lmn__meeting around = binder->meeting;
    struct lmn__type type = lmn__type_plain(LMN__KIND_NULL);
    enum lmn_status st;

    binder->meeting = (struct lmn__meeting){ term, count };
    st = widen(binder, place, what, term, count, false, &type);
    if (st == LMN_OK)
        st = widen(binder, place, what, term, count, true, &type);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = lmn__bind_convert(binder, &term[i], &type, LMN__CONVERT_CAST);
    binder->meeting = around;
    return st;
}

/*
 * A timestamp that is finer than those it is compared with gives up what they do not have, so that
 * a column is compared as it is stored: t < 1.5 s is t <= 1 s.
 */
static enum lmn_status coarsen(struct lmn__binder *binder, struct lmn__term **pair,
                               enum lmn__compare *compare)
{
    int at = pair[0]->op == LMN__OP_CONSTANT ? 0 : 1;
    const struct lmn__type *column = &pair[1 - at]->type, *from = &pair[at]->type;
    struct lmn__term *made = pair[at];
    int64_t offset;
    bool done;
    enum lmn_status st;

    if (*compare == LMN__COMPARE_EQ || *compare == LMN__COMPARE_NE ||
        made->op != LMN__OP_CONSTANT || pair[1 - at]->op == LMN__OP_CONSTANT ||
        lmn__term_is_null(made) || from->kind != LMN__KIND_TIMESTAMP ||
        column->kind != LMN__KIND_TIMESTAMP || from->unit <= column->unit)
        return LMN_OK;
    /* Clocks that are set forward and back do not keep the order of moments. */
    if ((from->zone == NULL) != (column->zone == NULL) &&
        !lmn__zone_offset(from->zone != NULL ? from->zone : column->zone, &offset))
        return LMN_OK;
    st = lmn__bind_adapt(binder, &made, column, &done);
    if (st == LMN_OK && !done)
        st = lmn__bind_convert(binder, &made, column, LMN__CONVERT_CAST);
    if (st != LMN_OK || made->op != LMN__OP_CONSTANT)
        return st;
    pair[at] = made;
    if (!done && at == 1)
        *compare = *compare <= LMN__COMPARE_LE ? LMN__COMPARE_LE : LMN__COMPARE_GT;
    else if (!done)
        *compare = *compare <= LMN__COMPARE_LE ? LMN__COMPARE_LT : LMN__COMPARE_GE;
    return LMN_OK;
}

/* a `compare` b */
static enum lmn_status bind_pair(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                 const struct lmn__syntax *a, const struct lmn__syntax *b,
                                 enum lmn__compare compare, struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    bool distinct = syntax->kind == LMN__SYNTAX_DISTINCT;
    lmn__kernel_fn kernel = distinct ? lmn__compare_distinct : lmn__compare_kernel;
    const struct lmn__meeting around = binder->meeting;
    struct lmn__term *pair[2];
    enum lmn_status st = lmn__bind_syntax(binder, a, &pair[0]);

    if (st == LMN_OK)
        st = lmn__bind_syntax(binder, b, &pair[1]);
    binder->meeting = (struct lmn__meeting){ pair, 2 };
    if (st == LMN_OK)
        st = lmn__bind_nested(binder, pair);
    if (st == LMN_OK && !distinct)
        st = coarsen(binder, pair, &compare);
    binder->meeting = around;
    if (st == LMN_OK)
        st = lmn__bind_unify(binder, syntax->place, "compare", pair, 2);
    if (st != LMN_OK)
        return st;
    if (lmn__type_form(&pair[0]->type) == LMN__FORM_SLOT)
        kernel = distinct ? lmn__compare_nested_distinct : lmn__compare_nested;
    st = lmn__bind_call(binder, syntax->place, kernel, &condition, pair, 2, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->compare = compare;
    (*term_out)->own_nulls = distinct;
    (*term_out)->negated = distinct && syntax->flag;
    return lmn__bind_fold(binder, term_out);
}

/* x BETWEEN a AND b is x >= a AND x <= b; NOT BETWEEN is x < a OR x > b. */
static enum lmn_status bind_between(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                    struct lmn__term **term_out)
{
    struct lmn__syntax *const *part = syntax->child;
    struct lmn__term *pair[2];
    enum lmn_status st = bind_pair(binder, syntax, part[0], part[1],
                                   syntax->flag ? LMN__COMPARE_LT : LMN__COMPARE_GE, &pair[0]);

    if (st == LMN_OK)
        st = bind_pair(binder, syntax, part[0], part[2],
                       syntax->flag ? LMN__COMPARE_GT : LMN__COMPARE_LE, &pair[1]);
    if (st == LMN_OK)
        st = lmn__bind_term(binder, syntax->flag ? LMN__OP_OR : LMN__OP_AND, syntax->place, pair, 2,
                            term_out);
    if (st == LMN_OK)
        (*term_out)->type = lmn__type_plain(LMN__KIND_BOOL);
    return st;
}

/* Lists and structs: x IN (a, b) is x = a OR x = b. */
static enum lmn_status bind_in_nested(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                      struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    uint32_t count = syntax->child_count - 1;
    struct lmn__term **equal = lmn__arena_array(binder->arena, count, sizeof *equal), *either;
    enum lmn_status st = equal == NULL ? lmn__bind_no_memory(binder) : LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = bind_pair(binder, syntax, syntax->child[0], syntax->child[i + 1], LMN__COMPARE_EQ,
                       &equal[i]);
    if (st == LMN_OK)
        st = lmn__bind_term(binder, LMN__OP_OR, syntax->place, equal, count, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->type = condition;
    either = *term_out;
    return syntax->flag ? lmn__bind_call(binder, syntax->place, lmn__logic_not, &condition, &either,
                                         1, term_out)
                        : LMN_OK;
}

static enum lmn_status bind_in(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                               struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    uint32_t count = syntax->child_count;
    struct lmn__term **child = lmn__arena_array(binder->arena, count, sizeof *child);
    enum lmn_status st = LMN_OK;

    if (child == NULL)
        return lmn__bind_no_memory(binder);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = lmn__bind_syntax(binder, syntax->child[i], &child[i]);
    if (st == LMN_OK && lmn__type_form(&child[0]->type) == LMN__FORM_SLOT)
        return bind_in_nested(binder, syntax, term_out);
    if (st == LMN_OK)
        st = lmn__bind_unify(binder, syntax->place, "compare", child, count);
    if (st != LMN_OK)
        return st;
    st = lmn__bind_call(binder, syntax->place, lmn__in_kernel, &condition, child, count, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->own_nulls = true;
    (*term_out)->negated = syntax->flag;
    st = lmn__in_set_prepare(binder, *term_out);
    return st == LMN_OK ? lmn__bind_fold(binder, term_out) : st;
}

enum lmn_status lmn__bind_comparison(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                     struct lmn__term **term_out)
{
    switch (syntax->kind) {
    case LMN__SYNTAX_BETWEEN:
        return bind_between(binder, syntax, term_out);
    case LMN__SYNTAX_IN:
        return bind_in(binder, syntax, term_out);
    default:
        return bind_pair(binder, syntax, syntax->child[0], syntax->child[1], syntax->compare,
                         term_out);
    }
}
