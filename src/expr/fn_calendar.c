/* SPDX-License-Identifier: Apache-2.0 */
/* Dates out of numbers, and moments put into bins. */
#include "expr/calendar.h"
#include "expr/function.h"
#include "expr/interval.h"

enum { YEAR_MAX = 999999 };

static const int64_t day_nanos = 86400ll * 1000000000;

/* make_date(year, month, day) */
static enum lmn_status date_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    int32_t *days;
    uint8_t *bad;
    uint32_t row;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I32, rows, &days);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U8, rows, &bad);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++) {
        int64_t part[3];

        for (int k = 0; k < 3; k++)
            part[k] = ((const int64_t *)arg[k].values)[lmn__vector_at(&arg[k], i)];
        bad[i] = part[0] < -YEAR_MAX || part[0] > YEAR_MAX || part[1] < 1 || part[1] > 12 ||
                 part[2] < 1 || part[2] > lmn__month_days(part[0], (uint32_t)part[1]);
        days[i] = bad[i] ? 0
                         : (int32_t)lmn__days_from_civil(part[0], (uint32_t)part[1],
                                                         (uint32_t)part[2]);
    }
    out->values = days;
    row = lmn__frame_first_bad(frame, out, bad, rows);
    return row == rows ? LMN_OK : lmn__frame_fail(frame, term, row, "there is no such date");
}

static enum lmn_status bind_date(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    const struct lmn__type day = lmn__type_plain(LMN__KIND_DATE32);
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = LMN_OK;

    (void)choice;
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        if (!lmn__type_is_integer(&arg[i]->type) && arg[i]->type.kind != LMN__KIND_NULL)
            return lmn__bind_fail(binder, arg[i]->place, LMN_E_INVALID,
                                  "make_date() takes whole numbers, not a value of type %s",
                                  lmn__type_text(&arg[i]->type, text));
        st = lmn__bind_convert(binder, &arg[i], &whole, LMN__CONVERT_CAST);
    }
    return st == LMN_OK ? lmn__bind_call(binder, place, date_kernel, &day, arg, count, term_out)
                        : st;
}

/* A bin's width and where one begins, in units of the timestamps. */
struct bins {
    int64_t width, origin;
};

static enum lmn_status bin_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t rows,
                                  struct lmn__vector *out)
{
    const struct bins *bins = term->data;
    int64_t *values;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &values);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        int64_t value = ((const int64_t *)arg->values)[i], rest, start;

        rest = lmn__floor_rest(value, bins->width) - bins->origin;
        rest += rest < 0 ? bins->width : 0;
        values[i] = __builtin_sub_overflow(value, rest, &start) ? value : start;
    }
    out->values = values;
    return st;
}

/* Nanoseconds of a constant interval without months; 0 for anything else. */
static int64_t width_of(const struct lmn__term *term)
{
    const struct lmn__interval *interval = term->constant.values;
    int64_t nanos;

    if (term->op != LMN__OP_CONSTANT || term->type.kind != LMN__KIND_INTERVAL ||
        lmn__term_is_null(term) || interval->months != 0 ||
        __builtin_mul_overflow(interval->days, day_nanos, &nanos) ||
        __builtin_add_overflow(nanos, interval->nanos, &nanos))
        return 0;
    return nanos > 0 ? nanos : 0;
}

/* date_bin(width, timestamp [, origin]): down to the start of its bin. */
static enum lmn_status bind_bin(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                struct lmn__term **arg, uint32_t count, struct lmn__term **term_out)
{
    struct lmn__type stamp = { .kind = LMN__KIND_TIMESTAMP, .unit = LMN__UNIT_NS };
    struct bins *bins = lmn__arena_alloc(binder->arena, sizeof *bins);
    int64_t nanos = width_of(arg[0]), unit;
    enum lmn_status st;

    (void)choice;
    if (bins == NULL)
        return lmn__bind_no_memory(binder);
    if (nanos == 0)
        return lmn__bind_fail(binder, arg[0]->place, LMN_E_INVALID,
                              "the width of bins is a constant interval of days or less, such as "
                              "interval '15 minutes'");
    if (arg[1]->type.kind == LMN__KIND_TIMESTAMP)
        stamp = arg[1]->type;
    unit = 1000000000 / lmn__unit_rate(stamp.unit);
    if (nanos % unit != 0)
        return lmn__bind_fail(binder, arg[0]->place, LMN_E_INVALID,
                              "bins are finer than the timestamps");
    bins->width = nanos / unit;
    st = lmn__bind_convert(binder, &arg[1], &stamp, LMN__CONVERT_CAST);
    if (st == LMN_OK && count > 2)
        st = lmn__bind_convert(binder, &arg[2], &stamp, LMN__CONVERT_CAST);
    if (st == LMN_OK && count > 2) {
        if (arg[2]->op != LMN__OP_CONSTANT || lmn__term_is_null(arg[2]))
            return lmn__bind_fail(binder, arg[2]->place, LMN_E_INVALID,
                                  "the origin of bins is a constant timestamp");
        bins->origin = lmn__floor_rest(*(const int64_t *)arg[2]->constant.values, bins->width);
    }
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, bin_kernel, &stamp, &arg[1], 1, term_out);
    if (st == LMN_OK)
        (*term_out)->data = bins;
    return st;
}

const struct lmn__function lmn__calendar_functions[] = {
    LMN__BOUND_FUNCTION("make_date", 3, 3, bind_date, 0),
    LMN__BOUND_FUNCTION("date_bin", 2, 3, bind_bin, 0),
    { 0 },
};
