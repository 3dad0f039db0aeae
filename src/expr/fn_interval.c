/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic with intervals. To subtract is to add the opposite. */
#include "expr/function.h"
#include "expr/mover.h"

static enum lmn_status settle(struct lmn__frame *frame, const struct lmn__term *term,
                              const struct lmn__vector *out, const uint8_t *bad, uint32_t rows)
{
    uint32_t row = lmn__frame_first_bad(frame, out, bad, rows);
    char text[LMN__TYPE_TEXT_BYTES];

    if (row == rows)
        return LMN_OK;
    return lmn__frame_fail(frame, term, row, "the result of '%c' does not fit %s", term->choice,
                           lmn__type_text(&term->type, text));
}

/* arg[0] is a date or timestamp, arg[1] an interval. */
static enum lmn_status move_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    const struct lmn__mover *mover = term->data;
    enum lmn__form form = lmn__type_form(&term->type);
    const struct lmn__interval *by = arg[1].values;
    void *values;
    uint8_t *bad;
    enum lmn_status st = lmn__frame_take(frame, form, rows, &values);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U8, rows, &bad);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t at = lmn__vector_at(&arg[0], i);
        int64_t value = form == LMN__FORM_I32 ? ((const int32_t *)arg[0].values)[at]
                                              : ((const int64_t *)arg[0].values)[at];

        bad[i] = !lmn__mover_move(mover, value, &by[lmn__vector_at(&arg[1], i)], &value);
        if (form == LMN__FORM_I32) {
            bad[i] = bad[i] || (int32_t)value != value;
            ((int32_t *)values)[i] = (int32_t)value;
        } else {
            ((int64_t *)values)[i] = value;
        }
    }
    out->values = values;
    return settle(frame, term, out, bad, rows);
}

/* Two intervals: '+' or '-', part by part. False: it does not fit. */
static bool add_parts(const struct lmn__interval *x, struct lmn__interval y, bool minus,
                      struct lmn__interval *out)
{
    return (!minus || lmn__interval_opposite(&y, &y)) &&
           !__builtin_add_overflow(x->months, y.months, &out->months) &&
           !__builtin_add_overflow(x->days, y.days, &out->days) &&
           !__builtin_add_overflow(x->nanos, y.nanos, &out->nanos);
}

static bool multiply_parts(const struct lmn__interval *x, int64_t n, struct lmn__interval *out)
{
    return !__builtin_mul_overflow(x->months, n, &out->months) &&
           !__builtin_mul_overflow(x->days, n, &out->days) &&
           !__builtin_mul_overflow(x->nanos, n, &out->nanos);
}

/* An interval and another one, or '*' a whole number of 64 bits. */
static enum lmn_status parts_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    struct lmn__interval *values;
    uint8_t *bad;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_INTERVAL, rows, &values);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U8, rows, &bad);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++) {
        const struct lmn__interval *x = (const struct lmn__interval *)arg[0].values +
                                        lmn__vector_at(&arg[0], i);
        uint32_t at = lmn__vector_at(&arg[1], i);

        if (term->choice == '*')
            bad[i] = !multiply_parts(x, ((const int64_t *)arg[1].values)[at], &values[i]);
        else
            bad[i] = !add_parts(x, ((const struct lmn__interval *)arg[1].values)[at],
                                term->choice == '-', &values[i]);
    }
    out->values = values;
    return settle(frame, term, out, bad, rows);
}

/*
 * The type that holds what comes of it: dates stay dates where the interval is a constant without
 * hours, timestamps get a unit as fine as the constant.
 */
static struct lmn__type moved_type(const struct lmn__type *from, const struct lmn__term *by)
{
    struct lmn__type type = *from;
    const struct lmn__interval *interval = by->constant.values;
    bool is_known = by->op == LMN__OP_CONSTANT && !lmn__term_is_null(by);

    if (from->kind != LMN__KIND_TIMESTAMP) {
        type = lmn__type_plain(LMN__KIND_DATE32);
        if (by->op == LMN__OP_CONSTANT && (!is_known || interval->nanos == 0))
            return type;
        type = (struct lmn__type){ .kind = LMN__KIND_TIMESTAMP, .unit = LMN__UNIT_US };
    }
    while (is_known && type.unit < LMN__UNIT_NS &&
           interval->nanos % (1000000000 / lmn__unit_rate(type.unit)) != 0)
        type.unit = (enum lmn__unit)(type.unit + 1);
    return type;
}

static enum lmn_status bind_move(struct lmn__binder *binder, uint32_t place, int32_t op,
                                 struct lmn__term **arg, struct lmn__term **term_out)
{
    struct lmn__type type = moved_type(&arg[0]->type, arg[1]);
    struct lmn__mover *mover = lmn__arena_alloc(binder->arena, sizeof *mover);
    enum lmn_status st;

    if (mover == NULL)
        return lmn__bind_no_memory(binder);
    mover->rate = type.kind == LMN__KIND_DATE32 ? 0 : lmn__unit_rate(type.unit);
    mover->sign = op == '-' ? -1 : 1;
    st = lmn__bind_convert(binder, &arg[0], &type, LMN__CONVERT_CAST);
    if (st == LMN_OK && type.zone != NULL)
        st = lmn__bind_zone(binder, place, type.zone, &mover->zone);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, move_kernel, &type, arg, 2, term_out);
    if (st == LMN_OK)
        (*term_out)->data = mover;
    return st;
}

static enum lmn_status bind_product(struct lmn__binder *binder, uint32_t place,
                                    struct lmn__term **arg, struct lmn__term **term_out)
{
    const struct lmn__type interval = lmn__type_plain(LMN__KIND_INTERVAL);
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    enum lmn_status st = lmn__bind_convert(binder, &arg[1], &whole, LMN__CONVERT_CAST);

    return st == LMN_OK ? lmn__bind_call(binder, place, parts_kernel, &interval, arg, 2, term_out)
                        : st;
}

static bool is_movable(const struct lmn__type *type)
{
    return type->kind == LMN__KIND_TIMESTAMP || type->kind == LMN__KIND_DATE32 ||
           type->kind == LMN__KIND_DATE64;
}

static bool is_span(const struct lmn__type *type)
{
    return type->kind == LMN__KIND_INTERVAL || type->kind == LMN__KIND_DURATION;
}

static enum lmn_status bind_pair(struct lmn__binder *binder, uint32_t place, int32_t op,
                                 struct lmn__term **arg, struct lmn__term **term_out)
{
    const struct lmn__type interval = lmn__type_plain(LMN__KIND_INTERVAL);
    struct lmn__term *swapped[2] = { arg[1], arg[0] };
    bool is_sum = op == '+' || op == '-';
    enum lmn_status st = LMN_OK;

    if (is_movable(&arg[0]->type) && is_sum)
        return bind_move(binder, place, op, arg, term_out);
    if (is_movable(&arg[1]->type) && op == '+')
        return bind_move(binder, place, op, swapped, term_out);
    if (op == '*' && lmn__type_is_integer(&arg[1]->type))
        return bind_product(binder, place, arg, term_out);
    if (op == '*' && lmn__type_is_integer(&arg[0]->type))
        return bind_product(binder, place, swapped, term_out);
    if (!is_sum || !is_span(&arg[0]->type) || !is_span(&arg[1]->type))
        return lmn__operator_refuse(binder, place, op, arg);
    for (int i = 0; st == LMN_OK && i < 2; i++)
        st = lmn__bind_convert(binder, &arg[i], &interval, LMN__CONVERT_CAST);
    return st == LMN_OK ? lmn__bind_call(binder, place, parts_kernel, &interval, arg, 2, term_out)
                        : st;
}

enum lmn_status lmn__interval_bind(struct lmn__binder *binder, uint32_t place, int32_t op,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    const int64_t minus_one = -1;
    struct lmn__term *pair[2] = { arg[0], NULL };
    enum lmn_status st;

    if (count == 2) {
        st = bind_pair(binder, place, op, arg, term_out);
    } else {
        op = '*';
        st = lmn__bind_constant(binder, place, &whole, &minus_one, &pair[1]);
        if (st == LMN_OK)
            st = bind_product(binder, place, pair, term_out);
    }
    if (st == LMN_OK)
        (*term_out)->choice = op;
    return st;
}
