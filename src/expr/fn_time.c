/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of dates and timestamps. A timestamp with a zone shows the clock of that zone. */
#include "expr/calendar.h"
#include "expr/function.h"
#include "expr/zone.h"

enum { DAY_SECONDS = 86400 };

enum part {
    PART_YEAR,
    PART_QUARTER,
    PART_MONTH,
    PART_WEEK,
    PART_DAY,
    PART_HOUR,
    PART_MINUTE,
    PART_SECOND,
    PART_MILLISECOND,
    PART_MICROSECOND,
    PART_NANOSECOND,
    PART_WEEKDAY,
    PART_ISO_WEEKDAY,
    PART_YEAR_DAY,
    PART_ISO_YEAR,
    PART_EPOCH
};

static const struct {
    const char *name;
    enum part part;
} parts[] = {
    { "year", PART_YEAR },
    { "quarter", PART_QUARTER },
    { "month", PART_MONTH },
    { "week", PART_WEEK },
    { "day", PART_DAY },
    { "hour", PART_HOUR },
    { "minute", PART_MINUTE },
    { "second", PART_SECOND },
    { "millisecond", PART_MILLISECOND },
    { "milliseconds", PART_MILLISECOND },
    { "microsecond", PART_MICROSECOND },
    { "microseconds", PART_MICROSECOND },
    { "nanosecond", PART_NANOSECOND },
    { "nanoseconds", PART_NANOSECOND },
    { "dow", PART_WEEKDAY },
    { "isodow", PART_ISO_WEEKDAY },
    { "doy", PART_YEAR_DAY },
    { "isoyear", PART_ISO_YEAR },
    { "epoch", PART_EPOCH },
};

/* A moment on the clock of its zone: the day, and what the clock counted since it began. */
struct moment {
    int64_t days, counts;
};

/* What a kernel knows of its argument. */
struct clock {
    enum part part;
    int64_t rate;                 /* counts per second; 0: days */
    const struct lmn__zone *zone; /* NULL: UTC */
    bool is_time;                 /* a time of day */
};

/* Counts that the zone's clock is ahead of UTC. */
static int64_t ahead(const struct clock *clock, int64_t value)
{
    if (clock->zone == NULL)
        return 0;
    return lmn__zone_offset_at(clock->zone, lmn__floor_div(value, clock->rate)) * clock->rate;
}

static struct moment moment_of(const struct clock *clock, int64_t value)
{
    struct moment moment = { .days = value };
    int64_t day = clock->rate * DAY_SECONDS, offset;

    if (clock->rate == 0)
        return moment;
    offset = ahead(clock, value);
    if (__builtin_add_overflow(value, offset, &value))
        value = offset > 0 ? INT64_MAX : INT64_MIN;
    moment.days = lmn__floor_div(value, day);
    moment.counts = lmn__floor_rest(value, day);
    return moment;
}

/* The week that ISO 8601 counts: that of the year which holds its Thursday. */
static int64_t iso_week(int64_t days, int64_t *year_out)
{
    int64_t thursday = days - lmn__floor_rest(days + 3, 7) + 3;

    *year_out = lmn__civil_from_days(thursday).year;
    return (thursday - lmn__days_from_civil(*year_out, 1, 1)) / 7 + 1;
}

/* A part of the date. */
static int64_t day_part(enum part part, int64_t days)
{
    int64_t year, week;

    switch (part) {
    case PART_YEAR:
        return lmn__civil_from_days(days).year;
    case PART_QUARTER:
        return (lmn__civil_from_days(days).month - 1) / 3 + 1;
    case PART_MONTH:
        return lmn__civil_from_days(days).month;
    case PART_DAY:
        return lmn__civil_from_days(days).day;
    case PART_WEEKDAY:
        return lmn__floor_rest(days + 4, 7);
    case PART_ISO_WEEKDAY:
        return lmn__floor_rest(days + 3, 7) + 1;
    case PART_YEAR_DAY:
        return days - lmn__days_from_civil(lmn__civil_from_days(days).year, 1, 1) + 1;
    default:
        week = iso_week(days, &year);
        return part == PART_WEEK ? week : year;
    }
}

/* A part of the time of day, which is `counts` of `rate` per second. */
static int64_t clock_part(enum part part, int64_t counts, int64_t rate)
{
    switch (part) {
    case PART_HOUR:
        return counts / (3600 * rate);
    case PART_MINUTE:
        return counts / (60 * rate) % 60;
    case PART_SECOND:
        return counts / rate % 60;
    case PART_MILLISECOND:
        return counts % (60 * rate) * (1000000000 / rate) / 1000000;
    case PART_MICROSECOND:
        return counts % (60 * rate) * (1000000000 / rate) / 1000;
    default:
        return counts % (60 * rate) * (1000000000 / rate);
    }
}

static int64_t count_at(const struct lmn__term *term, const struct lmn__vector *arg, uint32_t i)
{
    return lmn__type_form(&term->child[0]->type) == LMN__FORM_I32
               ? ((const int32_t *)arg->values)[i]
               : ((const int64_t *)arg->values)[i];
}

static enum lmn_status part_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    const struct clock *clock = term->data;
    bool of_clock = clock->part >= PART_HOUR && clock->part <= PART_NANOSECOND;
    int64_t rate = clock->rate != 0 ? clock->rate : 1; /* the clock of a date is at zero */
    int64_t *values;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &values);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct moment moment = moment_of(clock, count_at(term, arg, i));

        values[i] = of_clock ? clock_part(clock->part, moment.counts, rate)
                             : day_part(clock->part, moment.days);
    }
    out->values = values;
    return st;
}

/* Seconds since 1970, whatever the zone. */
static enum lmn_status epoch_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    const struct clock *clock = term->data;
    double *values;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_F64, rows, &values);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        double count = (double)count_at(term, arg, i);

        values[i] = clock->rate == 0 ? count * (double)DAY_SECONDS : count / (double)clock->rate;
    }
    out->values = values;
    return st;
}

/* The start of the day that a year, quarter, month or week begins with. */
static int64_t truncated_day(enum part part, int64_t days)
{
    struct lmn__civil civil = lmn__civil_from_days(days);

    switch (part) {
    case PART_YEAR:
        return lmn__days_from_civil(civil.year, 1, 1);
    case PART_QUARTER:
        return lmn__days_from_civil(civil.year, (civil.month - 1) / 3 * 3 + 1, 1);
    case PART_MONTH:
        return lmn__days_from_civil(civil.year, civil.month, 1);
    case PART_WEEK:
        return days - lmn__floor_rest(days + 3, 7);
    default:
        return days;
    }
}

static int64_t truncated(const struct clock *clock, int64_t value)
{
    static const int64_t seconds[] = { [PART_HOUR] = 3600, [PART_MINUTE] = 60, [PART_SECOND] = 1 };
    struct moment moment = moment_of(clock, value);
    int64_t step, start;

    if (clock->rate == 0)
        return truncated_day(clock->part, value);
    if (clock->part <= PART_DAY) {
        if (__builtin_mul_overflow(truncated_day(clock->part, moment.days), DAY_SECONDS, &start))
            return value;
        if (clock->zone != NULL)
            start = lmn__zone_to_utc(clock->zone, start);
        return __builtin_mul_overflow(start, clock->rate, &start) ? value : start;
    }
    if (clock->part <= PART_SECOND)
        step = seconds[clock->part] * clock->rate;
    else
        step = clock->rate / (clock->part == PART_MILLISECOND ? 1000 : 1000000);
    if (step <= 1 || __builtin_add_overflow(value, ahead(clock, value), &start))
        return value;
    return __builtin_sub_overflow(value, lmn__floor_rest(start, step), &start) ? value : start;
}

static enum lmn_status trunc_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    enum lmn__form form = lmn__type_form(&term->type);
    void *values;
    enum lmn_status st = lmn__frame_take(frame, form, rows, &values);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        int64_t value = truncated(term->data, count_at(term, arg, i));

        if (form == LMN__FORM_I32)
            ((int32_t *)values)[i] = (int32_t)value;
        else
            ((int64_t *)values)[i] = value;
    }
    out->values = values;
    return st;
}

/* The part that a constant string names. */
static enum lmn_status named_part(struct lmn__binder *binder, const struct lmn__term *term,
                                  enum part *part_out)
{
    const struct lmn__span *text = term->constant.values;
    char name[32] = { 0 };

    *part_out = PART_YEAR;
    if (term->op != LMN__OP_CONSTANT || term->type.kind != LMN__KIND_STRING ||
        lmn__term_is_null(term))
        return lmn__bind_fail(binder, term->place, LMN_E_INVALID,
                              "the part of a time is named by a string, such as 'year'");
    memcpy(name, text->data, text->len < sizeof name - 1 ? text->len : sizeof name - 1);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (lmn__names_agree(parts[i].name, name)) {
            *part_out = parts[i].part;
            return LMN_OK;
        }
    }
    return lmn__bind_fail(binder, term->place, LMN_E_INVALID, "a time has no part '%s'", name);
}

/* A string is taken for the timestamp it spells. */
static enum lmn_status make_clock(struct lmn__binder *binder, struct lmn__term **arg,
                                  enum part part, struct clock **clock_out)
{
    const struct lmn__type stamp = { .kind = LMN__KIND_TIMESTAMP, .unit = LMN__UNIT_NS };
    struct clock *clock = lmn__arena_alloc(binder->arena, sizeof *clock);
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = LMN_OK;

    *clock_out = NULL;
    if (clock == NULL)
        return lmn__bind_no_memory(binder);
    if ((*arg)->type.kind == LMN__KIND_STRING || (*arg)->type.kind == LMN__KIND_NULL)
        st = lmn__bind_convert(binder, arg, &stamp, LMN__CONVERT_CAST);
    if (st != LMN_OK)
        return st;
    if (!lmn__type_is_time(&(*arg)->type) || (*arg)->type.kind == LMN__KIND_DURATION)
        return lmn__bind_fail(binder, (*arg)->place, LMN_E_INVALID,
                              "expected a date or a timestamp, not a value of type %s",
                              lmn__type_text(&(*arg)->type, text));
    clock->part = part;
    clock->is_time = (*arg)->type.kind == LMN__KIND_TIME32 || (*arg)->type.kind == LMN__KIND_TIME64;
    clock->rate = (*arg)->type.kind == LMN__KIND_DATE32   ? 0
                  : (*arg)->type.kind == LMN__KIND_DATE64 ? 1000
                                                          : lmn__unit_rate((*arg)->type.unit);
    if ((*arg)->type.kind == LMN__KIND_TIMESTAMP && (*arg)->type.zone != NULL && part != PART_EPOCH)
        st = lmn__bind_zone(binder, (*arg)->place, (*arg)->type.zone, &clock->zone);
    *clock_out = clock;
    return st;
}

static enum lmn_status bind_part_of(struct lmn__binder *binder, uint32_t place, enum part part,
                                    struct lmn__term *arg, struct lmn__term **term_out)
{
    struct lmn__type type = lmn__type_plain(part == PART_EPOCH ? LMN__KIND_F64 : LMN__KIND_I64);
    struct clock *clock;
    enum lmn_status st = make_clock(binder, &arg, part, &clock);

    if (st != LMN_OK)
        return st;
    if (clock->is_time && (part < PART_HOUR || part > PART_NANOSECOND))
        return lmn__bind_fail(binder, place, LMN_E_INVALID, "a time of day has no such part");
    st = lmn__bind_call(binder, place, part == PART_EPOCH ? epoch_kernel : part_kernel, &type, &arg,
                        1, term_out);
    if (st == LMN_OK)
        (*term_out)->data = clock;
    return st;
}

/* date_part('year', x) */
static enum lmn_status bind_date_part(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                      struct lmn__term **arg, uint32_t count,
                                      struct lmn__term **term_out)
{
    enum part part;
    enum lmn_status st = named_part(binder, arg[0], &part);

    (void)choice;
    (void)count;
    return st == LMN_OK ? bind_part_of(binder, place, part, arg[1], term_out) : st;
}

/* year(x), whose part is `choice`. */
static enum lmn_status bind_part(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    (void)count;
    return bind_part_of(binder, place, (enum part)choice, arg[0], term_out);
}

static enum lmn_status bind_trunc(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                  struct lmn__term **arg, uint32_t count,
                                  struct lmn__term **term_out)
{
    struct clock *clock;
    enum part part;
    enum lmn_status st = named_part(binder, arg[0], &part);

    (void)choice;
    (void)count;
    if (st == LMN_OK && part > PART_MICROSECOND)
        return lmn__bind_fail(binder, place, LMN_E_INVALID, "a time cannot be cut to that part");
    if (st == LMN_OK)
        st = make_clock(binder, &arg[1], part, &clock);
    if (st == LMN_OK && clock->is_time)
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED, "a time of day is not cut");
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, trunc_kernel, &arg[1]->type, &arg[1], 1, term_out);
    if (st == LMN_OK)
        (*term_out)->data = clock;
    return st;
}

#define BOUND(NAME, COUNT, BIND, CHOICE) LMN__BOUND_FUNCTION(NAME, COUNT, COUNT, BIND, CHOICE)

const struct lmn__function lmn__time_functions[] = {
    BOUND("date_part", 2, bind_date_part, 0),   BOUND("datepart", 2, bind_date_part, 0),
    BOUND("date_trunc", 2, bind_trunc, 0),      BOUND("datetrunc", 2, bind_trunc, 0),
    BOUND("year", 1, bind_part, PART_YEAR),     BOUND("quarter", 1, bind_part, PART_QUARTER),
    BOUND("month", 1, bind_part, PART_MONTH),   BOUND("week", 1, bind_part, PART_WEEK),
    BOUND("day", 1, bind_part, PART_DAY),       BOUND("hour", 1, bind_part, PART_HOUR),
    BOUND("minute", 1, bind_part, PART_MINUTE), BOUND("second", 1, bind_part, PART_SECOND),
    BOUND("epoch", 1, bind_part, PART_EPOCH),   { 0 },
};
