/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dates, times and timestamps all count something: a source is brought to (count, per second) and
 * converted to the rate of its target. A timestamp with a zone counts from UTC; without, from the
 * same moment on a local clock, so going from one to the other needs the zone's distance from UTC.
 */
#include "expr/calendar.h"
#include "expr/cast.h"
#include "expr/interval.h"

enum { DAY_SECONDS = 86400 };

/* Counts per second; a date32 counts 1 per DAY_SECONDS and gives -1. */
static int64_t rate_of(const struct lmn__type *type)
{
    switch (type->kind) {
    case LMN__KIND_DATE32:
        return -1;
    case LMN__KIND_DATE64:
        return 1000;
    default:
        return lmn__unit_rate(type->unit);
    }
}

static int64_t load(const struct lmn__cast *cast, uint32_t i)
{
    switch (lmn__type_form(cast->from)) {
    case LMN__FORM_I32:
        return ((const int32_t *)cast->arg->values)[i];
    default:
        return ((const int64_t *)cast->arg->values)[i];
    }
}

static void store(struct lmn__cast *cast, uint32_t i, int64_t value)
{
    if (lmn__type_form(cast->to) == LMN__FORM_I32) {
        ((int32_t *)cast->values)[i] = (int32_t)value;
        cast->bad[i] = (uint8_t)(cast->bad[i] | ((int32_t)value != value));
    } else {
        ((int64_t *)cast->values)[i] = value;
    }
}

/* A count at one rate as a count at another; false when it does not fit. */
static bool convert(int64_t value, int64_t from, int64_t to, int64_t *out, bool *cut_out)
{
    int64_t step;

    *cut_out = false;
    if (from < 0)
        return !__builtin_mul_overflow(value, DAY_SECONDS, &value) &&
               !__builtin_mul_overflow(value, to < 0 ? 1 : to, out);
    if (to < 0)
        step = from * DAY_SECONDS;
    else if (to >= from)
        return !__builtin_mul_overflow(value, to / from, out);
    else
        step = from / to;
    *out = lmn__floor_div(value, step);
    *cut_out = lmn__floor_rest(value, step) != 0;
    return true;
}

/* A count of UTC as the zone's clock shows it, or back: the zone is taken off, or put on. */
static bool shift(const struct lmn__cast *cast, int64_t rate, int64_t *value)
{
    bool off = cast->from->kind == LMN__KIND_TIMESTAMP && cast->from->zone != NULL;
    int64_t seconds = lmn__floor_div(*value, rate), distance;

    distance = off ? lmn__zone_offset_at(cast->zone, seconds)
                   : lmn__zone_to_utc(cast->zone, seconds) - seconds;
    return !__builtin_add_overflow(*value, distance * rate, value);
}

static void convert_all(struct lmn__cast *cast)
{
    int64_t from = rate_of(cast->from), to = rate_of(cast->to);
    bool clock = cast->to->kind == LMN__KIND_TIME32 || cast->to->kind == LMN__KIND_TIME64;
    bool from_stamp = cast->from->kind == LMN__KIND_TIMESTAMP;

    for (uint32_t i = 0; i < cast->rows; i++) {
        int64_t value = load(cast, i);
        bool cut = false, fits = cast->zone == NULL || from < 0 || shift(cast, from, &value);

        if (from == to && from < 0) {
            store(cast, i, value);
            continue;
        }
        if (clock && from_stamp)
            value = lmn__floor_rest(value, from * DAY_SECONDS);
        fits = fits && convert(value, from, to, &value, &cut);
        /* A date has no clock before it is a timestamp. */
        if (fits && cast->zone != NULL && from < 0)
            fits = shift(cast, to, &value);
        /* A date64 counts milliseconds, of whole days. */
        if (fits && cast->to->kind == LMN__KIND_DATE64) {
            int64_t rest = lmn__floor_rest(value, DAY_SECONDS * 1000ll);

            value -= rest;
            cut = cut || rest != 0;
        }
        cast->bad[i] = !fits || (cut && cast->exact);
        store(cast, i, value);
    }
}

/* Numbers and times share their counts. */
static void as_integers(struct lmn__cast *cast)
{
    struct lmn__type from = *cast->from, to = *cast->to;
    struct lmn__cast numbers = *cast;

    if (lmn__type_is_time(&from))
        from = lmn__type_plain(lmn__type_form(&from) == LMN__FORM_I32 ? LMN__KIND_I32
                                                                      : LMN__KIND_I64);
    if (lmn__type_is_time(&to))
        to = lmn__type_plain(lmn__type_form(&to) == LMN__FORM_I32 ? LMN__KIND_I32 : LMN__KIND_I64);
    numbers.from = &from;
    numbers.to = &to;
    lmn__cast_numbers(&numbers);
}

void lmn__cast_times(struct lmn__cast *cast)
{
    memset(cast->bad, 0, cast->rows);
    if (lmn__type_is_time(cast->from) && lmn__type_is_time(cast->to))
        convert_all(cast);
    else
        as_integers(cast);
}

void lmn__cast_intervals(struct lmn__cast *cast)
{
    const struct lmn__interval *from = cast->arg->values;
    struct lmn__interval *to = cast->values;

    for (uint32_t i = 0; i < cast->rows; i++) {
        bool cut = false, fits;
        int64_t nanos;

        if (cast->to->kind == LMN__KIND_INTERVAL) {
            to[i] = (struct lmn__interval){ 0 };
            cast->bad[i] = !convert(((const int64_t *)cast->arg->values)[i], rate_of(cast->from),
                                    1000000000, &to[i].nanos, &cut);
            continue;
        }
        fits = from[i].months == 0 &&
               !__builtin_mul_overflow(from[i].days, DAY_SECONDS * 1000000000ll, &nanos) &&
               !__builtin_add_overflow(nanos, from[i].nanos, &nanos) &&
               convert(nanos, 1000000000, rate_of(cast->to), (int64_t *)cast->values + i, &cut);
        cast->bad[i] = !fits || (cut && cast->exact);
    }
}
