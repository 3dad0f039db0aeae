/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The types of arithmetic. Two whole numbers give the wider type, signed if one is; a float makes a
 * float; decimals grow by the digits that the result may need. Times: a timestamp and a duration
 * give a timestamp, two timestamps a duration; a date moves by whole days.
 */
#include "expr/arithmetic.h"
#include "expr/function.h"

enum lmn_status lmn__operator_refuse(struct lmn__binder *binder, uint32_t place, int32_t op,
                                     struct lmn__term **arg)
{
    char a[LMN__TYPE_TEXT_BYTES], b[LMN__TYPE_TEXT_BYTES];

    return lmn__bind_mismatch(binder, place, NULL, "there is no %s %c %s",
                              lmn__type_text(&arg[0]->type, a), op,
                              lmn__type_text(&arg[1]->type, b));
}

/* A constant that an unsigned 64-bit number can hold takes its type. */
static enum lmn_status integer_types(struct lmn__binder *binder, struct lmn__term **arg,
                                     struct lmn__type *type)
{
    int rank[2], wider;
    bool is_unsigned[2], done;

    for (int i = 0; i < 2; i++) {
        const struct lmn__type *other = &arg[1 - i]->type;
        enum lmn_status st = LMN_OK;

        if (arg[i]->op == LMN__OP_CONSTANT && other->kind == LMN__KIND_U64)
            st = lmn__bind_adapt(binder, &arg[i], other, &done);
        if (st != LMN_OK)
            return st;
    }
    for (int i = 0; i < 2; i++) {
        is_unsigned[i] = lmn__type_is_unsigned(&arg[i]->type);
        rank[i] = (int)arg[i]->type.kind - (int)(is_unsigned[i] ? LMN__KIND_U8 : LMN__KIND_I8);
    }
    wider = rank[0] > rank[1] ? rank[0] : rank[1];
    if (is_unsigned[0] == is_unsigned[1]) {
        *type = lmn__type_plain(
            (enum lmn__kind)((int)(is_unsigned[0] ? LMN__KIND_U8 : LMN__KIND_I8) + wider));
        return LMN_OK;
    }
    if (rank[is_unsigned[0] ? 0 : 1] >= rank[is_unsigned[0] ? 1 : 0])
        wider = rank[is_unsigned[0] ? 0 : 1] + 1;
    *type = lmn__type_plain((enum lmn__kind)((int)LMN__KIND_I8 + (wider > 3 ? 3 : wider)));
    return LMN_OK;
}

static struct lmn__type decimal_of(const struct lmn__type *type)
{
    static const int32_t digits[] = { 3, 5, 10, 19, 3, 5, 10, 20 };

    if (type->kind == LMN__KIND_DECIMAL)
        return *type;
    return (struct lmn__type){ .kind = LMN__KIND_DECIMAL,
                               .precision = digits[type->kind - LMN__KIND_I8],
                               .width = 16 };
}

/* Digits behind the point that a quotient has beyond those of its dividend. */
enum { DIVISION_DIGITS = 4 };

static enum lmn_status bind_decimals(struct lmn__binder *binder, uint32_t place, int32_t op,
                                     struct lmn__term **arg, struct lmn__type *type)
{
    struct lmn__type a = decimal_of(&arg[0]->type), b = decimal_of(&arg[1]->type);
    int32_t front, most = a.width == 32 || b.width == 32 ? 76 : 38;
    enum lmn_status st;

    *type = a;
    if (op == '/') {
        type->scale = a.scale + DIVISION_DIGITS;
        type->precision = a.precision + b.scale + DIVISION_DIGITS;
        a.scale = type->scale + b.scale; /* so that the quotient has the scale of the result */
        a.precision = 76;
        a.width = 32;
    } else if (op == '*') {
        type->scale = a.scale + b.scale;
        type->precision = a.precision + b.precision + 1;
    } else {
        front = a.precision - a.scale > b.precision - b.scale ? a.precision - a.scale
                                                              : b.precision - b.scale;
        type->scale = a.scale > b.scale ? a.scale : b.scale;
        type->precision = front + type->scale + 1;
        a.scale = b.scale = type->scale;
        a.precision = b.precision = 76;
        a.width = b.width = 32;
    }
    type->precision = type->precision < most ? type->precision : most;
    type->width = most == 76 ? 32 : 16;
    if (type->scale > most || a.scale > 76)
        return lmn__bind_fail(binder, place, LMN_E_INVALID,
                              "decimals with %d digits behind the point",
                              a.scale > type->scale ? a.scale : type->scale);
    st = lmn__bind_convert(binder, &arg[0], &a, LMN__CONVERT_CAST);
    return st == LMN_OK ? lmn__bind_convert(binder, &arg[1], &b, LMN__CONVERT_CAST) : st;
}

static enum lmn_status bind_numbers(struct lmn__binder *binder, uint32_t place, int32_t op,
                                    struct lmn__term **arg, struct lmn__type *type)
{
    const struct lmn__type *a = &arg[0]->type, *b = &arg[1]->type;
    enum lmn_status st = LMN_OK;

    if (lmn__type_is_float(a) || lmn__type_is_float(b)) {
        bool wide = a->kind == LMN__KIND_F64 || b->kind == LMN__KIND_F64 ||
                    a->kind == LMN__KIND_DECIMAL || b->kind == LMN__KIND_DECIMAL;

        *type = lmn__type_plain(wide ? LMN__KIND_F64 : LMN__KIND_F32);
    } else if (a->kind == LMN__KIND_DECIMAL || b->kind == LMN__KIND_DECIMAL) {
        return bind_decimals(binder, place, op, arg, type);
    } else {
        st = integer_types(binder, arg, type);
    }
    for (int i = 0; st == LMN_OK && i < 2; i++)
        st = lmn__bind_convert(binder, &arg[i], type, LMN__CONVERT_CAST);
    return st;
}

/* date + 1, 1 + date, date - 1, date - date */
static enum lmn_status bind_days(struct lmn__binder *binder, uint32_t place, int32_t op,
                                 struct lmn__term **arg, struct lmn__type *type)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I32);
    bool a_day = arg[0]->type.kind == LMN__KIND_DATE32;
    bool b_day = arg[1]->type.kind == LMN__KIND_DATE32;
    struct lmn__term **number = a_day ? &arg[1] : &arg[0];

    if (a_day && b_day && op == '-') {
        enum lmn_status st = LMN_OK;

        *type = lmn__type_plain(LMN__KIND_I64);
        for (int i = 0; st == LMN_OK && i < 2; i++)
            st = lmn__bind_convert(binder, &arg[i], type, LMN__CONVERT_CAST);
        return st;
    }
    if ((a_day && b_day) || !lmn__type_is_integer(&(*number)->type) ||
        !(op == '+' || (op == '-' && a_day)))
        return lmn__operator_refuse(binder, place, op, arg);
    *type = lmn__type_plain(LMN__KIND_DATE32);
    return lmn__bind_convert(binder, number, &whole, LMN__CONVERT_CAST);
}

static enum lmn_status bind_times(struct lmn__binder *binder, uint32_t place, int32_t op,
                                  struct lmn__term **arg, struct lmn__type *type)
{
    struct lmn__type a = arg[0]->type, b = arg[1]->type;
    bool a_stamp = a.kind == LMN__KIND_TIMESTAMP, b_stamp = b.kind == LMN__KIND_TIMESTAMP;
    bool a_span = a.kind == LMN__KIND_DURATION, b_span = b.kind == LMN__KIND_DURATION;
    enum lmn__unit unit = a.unit > b.unit ? a.unit : b.unit;
    bool fits = (a_stamp && b_stamp && op == '-') || (a_stamp && b_span && op != '*') ||
                (a_span && b_stamp && op == '+') || (a_span && b_span);
    enum lmn_status st;

    if (a.kind == LMN__KIND_DATE32 || b.kind == LMN__KIND_DATE32)
        return bind_days(binder, place, op, arg, type);
    if (!fits || (op != '+' && op != '-'))
        return lmn__operator_refuse(binder, place, op, arg);
    a.unit = b.unit = unit;
    if (a_stamp && b_stamp && a.zone == NULL)
        a.zone = b.zone;
    if (a_stamp && b_stamp)
        b.zone = a.zone;
    st = lmn__bind_convert(binder, &arg[0], &a, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_convert(binder, &arg[1], &b, LMN__CONVERT_CAST);
    *type = a_stamp ? a : b;
    if (a_stamp && b_stamp)
        *type = (struct lmn__type){ .kind = LMN__KIND_DURATION, .unit = unit };
    return st;
}

/* -x: of unsigned numbers it is signed. */
static enum lmn_status bind_minus(struct lmn__binder *binder, uint32_t place,
                                  struct lmn__term **arg, struct lmn__term **term_out)
{
    struct lmn__type type = arg[0]->type;
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st;

    if (type.kind == LMN__KIND_NULL)
        type = lmn__type_plain(LMN__KIND_I64);
    if (!lmn__type_is_number(&type) && type.kind != LMN__KIND_DURATION)
        return lmn__bind_fail(binder, place, LMN_E_INVALID, "a value of type %s has no sign",
                              lmn__type_text(&type, text));
    if (lmn__type_is_unsigned(&type))
        type = lmn__type_plain((enum lmn__kind)(
            type.kind == LMN__KIND_U64 ? LMN__KIND_I64
                                       : (int)LMN__KIND_I16 + (int)type.kind - (int)LMN__KIND_U8));
    st = lmn__bind_convert(binder, &arg[0], &type, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, lmn__arithmetic_kernel, &type, arg, 1, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = '-';
    return st;
}

static enum lmn_status bind_operator(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                     struct lmn__term **arg, uint32_t count,
                                     struct lmn__term **term_out)
{
    struct lmn__type type;
    enum lmn_status st;

    if (arg[0]->type.kind == LMN__KIND_INTERVAL || arg[count - 1]->type.kind == LMN__KIND_INTERVAL)
        return lmn__interval_bind(binder, place, choice, arg, count, term_out);
    if (count == 1)
        return choice == '-' ? bind_minus(binder, place, arg, term_out)
                             : lmn__bind_fail(binder, place, LMN_E_INVALID,
                                              "'%c' stands between two values", choice);
    for (int i = 0; i < 2; i++) {
        if (arg[i]->type.kind != LMN__KIND_NULL)
            continue;
        type = arg[1 - i]->type.kind == LMN__KIND_NULL ? lmn__type_plain(LMN__KIND_I64)
                                                       : arg[1 - i]->type;
        st = lmn__bind_convert(binder, &arg[i], &type, LMN__CONVERT_CAST);
        if (st != LMN_OK)
            return st;
    }
    if (lmn__type_is_number(&arg[0]->type) && lmn__type_is_number(&arg[1]->type))
        st = bind_numbers(binder, place, choice, arg, &type);
    else if (lmn__type_is_time(&arg[0]->type) || lmn__type_is_time(&arg[1]->type))
        st = bind_times(binder, place, choice, arg, &type);
    else
        st = lmn__operator_refuse(binder, place, choice, arg);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, lmn__arithmetic_kernel, &type, arg, 2, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = choice;
    return st;
}

const struct lmn__function lmn__operator_functions[] = {
    LMN__BOUND_FUNCTION("+", 2, 2, bind_operator, '+'),
    LMN__BOUND_FUNCTION("-", 1, 2, bind_operator, '-'),
    LMN__BOUND_FUNCTION("*", 2, 2, bind_operator, '*'),
    LMN__BOUND_FUNCTION("/", 2, 2, bind_operator, '/'),
    LMN__BOUND_FUNCTION("%", 2, 2, bind_operator, '%'),
    { 0 },
};
