/* SPDX-License-Identifier: Apache-2.0 */
/* Dates and times out of strings, numbers and the clock. */
#include "expr/arithmetic.h"
#include "expr/calendar.h"
#include "expr/function.h"
#include "expr/text_rows.h"

enum { DAY_SECONDS = 86400 };

/* Seconds with fractions as nanoseconds. */
static enum lmn_status scale_seconds(struct lmn__binder *binder, uint32_t place,
                                     struct lmn__term **term)
{
    const struct lmn__type real = lmn__type_plain(LMN__KIND_F64);
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    const double rate = 1e9;
    struct lmn__term *pair[2] = { *term, NULL };
    enum lmn_status st = lmn__bind_convert(binder, &pair[0], &real, LMN__CONVERT_CAST);

    if (st == LMN_OK)
        st = lmn__bind_constant(binder, place, &real, &rate, &pair[1]);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, lmn__arithmetic_kernel, &real, pair, 2, term);
    if (st != LMN_OK)
        return st;
    (*term)->choice = '*';
    st = lmn__bind_fold(binder, term);
    return st == LMN_OK ? lmn__bind_convert(binder, term, &whole, LMN__CONVERT_CAST) : st;
}

/* to_timestamp(x) and its kin: numbers count seconds, or the unit of the name. */
static enum lmn_status bind_to(struct lmn__binder *binder, uint32_t place, int32_t choice,
                               struct lmn__term **arg, uint32_t count, struct lmn__term **term_out)
{
    struct lmn__type counted = { .kind = LMN__KIND_TIMESTAMP, .unit = (enum lmn__unit)choice };
    const struct lmn__type stamp = { .kind = LMN__KIND_TIMESTAMP,
                                     .unit = choice == LMN__UNIT_S ? LMN__UNIT_NS
                                                                   : (enum lmn__unit)choice };
    enum lmn_status st = LMN_OK;

    if (count > 1)
        return lmn__bind_time_read(binder, place, stamp.unit, arg, count, term_out);
    *term_out = arg[0];
    (*term_out)->place = place;
    if (lmn__type_is_float(&arg[0]->type) && choice == LMN__UNIT_S) {
        st = scale_seconds(binder, place, term_out);
        counted.unit = LMN__UNIT_NS;
    }
    if (st == LMN_OK && lmn__type_is_integer(&(*term_out)->type))
        st = lmn__bind_convert(binder, term_out, &counted, LMN__CONVERT_CAST);
    return st == LMN_OK ? lmn__bind_convert(binder, term_out, &stamp, LMN__CONVERT_CAST) : st;
}

static enum lmn_status bind_to_date(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    const struct lmn__type day = lmn__type_plain(LMN__KIND_DATE32);
    enum lmn_status st = LMN_OK;

    (void)choice;
    *term_out = arg[0];
    (*term_out)->place = place;
    if (count > 1)
        st = lmn__bind_time_read(binder, place, LMN__UNIT_S, arg, count, term_out);
    return st == LMN_OK ? lmn__bind_convert(binder, term_out, &day, LMN__CONVERT_CAST) : st;
}

enum { NOW, DAY_NOW, TIME_NOW };

/* now(), current_date(), current_time(): the time of the binding, in UTC. */
static enum lmn_status bind_now(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                struct lmn__term **arg, uint32_t count, struct lmn__term **term_out)
{
    const struct lmn__type stamp = { .kind = LMN__KIND_TIMESTAMP,
                                     .unit = LMN__UNIT_NS,
                                     .zone = "UTC" };
    const struct lmn__type day = lmn__type_plain(LMN__KIND_DATE32);
    const struct lmn__type time = { .kind = LMN__KIND_TIME64, .unit = LMN__UNIT_NS };
    int32_t days = (int32_t)lmn__floor_div(binder->now_ns, DAY_SECONDS * 1000000000ll);
    int64_t nanos = lmn__floor_rest(binder->now_ns, DAY_SECONDS * 1000000000ll);

    (void)arg;
    (void)count;
    if (choice == TIME_NOW)
        return lmn__bind_constant(binder, place, &time, &nanos, term_out);
    if (choice == DAY_NOW)
        return lmn__bind_constant(binder, place, &day, &days, term_out);
    return lmn__bind_constant(binder, place, &stamp, &binder->now_ns, term_out);
}

/* from_unixtime(n [, zone]) */
static enum lmn_status bind_from_unix(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                      struct lmn__term **arg, uint32_t count,
                                      struct lmn__term **term_out)
{
    const struct lmn__type utc = { .kind = LMN__KIND_TIMESTAMP,
                                   .unit = LMN__UNIT_NS,
                                   .zone = "UTC" };
    const struct lmn__span *zone = count > 1 ? arg[1]->constant.values : NULL;
    const struct lmn__zone *known;
    enum lmn_status st = bind_to(binder, place, choice, arg, 1, term_out);

    if (st != LMN_OK || count == 1)
        return st;
    if (arg[1]->op != LMN__OP_CONSTANT || arg[1]->type.kind != LMN__KIND_STRING ||
        lmn__term_is_null(arg[1]))
        return lmn__bind_fail(binder, arg[1]->place, LMN_E_INVALID,
                              "a time zone is a constant string such as 'Europe/Paris'");
    st = lmn__bind_convert(binder, term_out, &utc, LMN__CONVERT_CAST);
    if (st != LMN_OK)
        return st;
    /* Moments are the same in all zones. */
    (*term_out)->type.zone = lmn__arena_strndup(binder->arena, (const char *)zone->data, zone->len);
    if ((*term_out)->type.zone == NULL)
        return lmn__bind_no_memory(binder);
    return lmn__bind_zone(binder, arg[1]->place, (*term_out)->type.zone, &known);
}

/* to_unixtime(t [, format, ...]): seconds since 1970, without fractions. */
static enum lmn_status bind_to_unix(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    struct lmn__type stamp = { .kind = LMN__KIND_TIMESTAMP, .unit = LMN__UNIT_S };
    enum lmn_status st = LMN_OK;

    (void)choice;
    if (arg[0]->type.kind == LMN__KIND_TIMESTAMP)
        stamp.zone = arg[0]->type.zone;
    *term_out = arg[0];
    if (count > 1)
        st = lmn__bind_time_read(binder, place, LMN__UNIT_S, arg, count, term_out);
    (*term_out)->place = place;
    if (st == LMN_OK)
        st = lmn__bind_convert(binder, term_out, &stamp, LMN__CONVERT_CAST);
    return st == LMN_OK ? lmn__bind_convert(binder, term_out, &whole, LMN__CONVERT_CAST) : st;
}

/* What the clock of its zone shows, without the zone. */
static enum lmn_status bind_local(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                  struct lmn__term **arg, uint32_t count,
                                  struct lmn__term **term_out)
{
    struct lmn__type local = arg[0]->type;
    char text[LMN__TYPE_TEXT_BYTES];

    (void)choice;
    (void)count;
    if (local.kind != LMN__KIND_TIMESTAMP)
        return lmn__bind_fail(binder, place, LMN_E_INVALID,
                              "expected a timestamp, not a value of type %s",
                              lmn__type_text(&local, text));
    local.zone = NULL;
    local.schema = NULL;
    *term_out = arg[0];
    return lmn__bind_convert(binder, term_out, &local, LMN__CONVERT_CAST);
}

/* to_time(s): a time of day. */
static enum lmn_status bind_to_time(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    const struct lmn__type time = { .kind = LMN__KIND_TIME64, .unit = LMN__UNIT_NS };

    (void)choice;
    (void)count;
    *term_out = arg[0];
    (*term_out)->place = place;
    return lmn__bind_convert(binder, term_out, &time, LMN__CONVERT_CAST);
}

/* make_time(hour, minute, second) */
static enum lmn_status time_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    int32_t *seconds;
    uint8_t *bad;
    uint32_t row;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I32, rows, &seconds);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U8, rows, &bad);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++) {
        int64_t hour = lmn__vector_i64(&arg[0], i), minute = lmn__vector_i64(&arg[1], i);
        int64_t second = lmn__vector_i64(&arg[2], i);

        bad[i] = hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59;
        seconds[i] = bad[i] ? 0 : (int32_t)(hour * 3600 + minute * 60 + second);
    }
    out->values = seconds;
    row = lmn__frame_first_bad(frame, out, bad, rows);
    return row == rows ? LMN_OK : lmn__frame_fail(frame, term, row, "there is no such time of day");
}

static enum lmn_status bind_time(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    const struct lmn__type time = { .kind = LMN__KIND_TIME32, .unit = LMN__UNIT_S };
    enum lmn_status st = LMN_OK;

    (void)choice;
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = lmn__bind_number(binder, &arg[i], "a part of a time of day");
    return st == LMN_OK ? lmn__bind_call(binder, place, time_kernel, &time, arg, count, term_out)
                        : st;
}

#define READS(NAME, BIND, CHOICE) LMN__BOUND_FUNCTION(NAME, 1, LMN__ARGUMENTS_MAX, BIND, CHOICE)
#define CLOCK(NAME, CHOICE)                                                                        \
    { .name = NAME, .bind = bind_now, .choice = CHOICE, .reads_clock = true }

const struct lmn__function lmn__time_make_functions[] = {
    READS("to_timestamp", bind_to, LMN__UNIT_S),
    READS("to_timestamp_seconds", bind_to, LMN__UNIT_S),
    READS("to_timestamp_millis", bind_to, LMN__UNIT_MS),
    READS("to_timestamp_micros", bind_to, LMN__UNIT_US),
    READS("to_timestamp_nanos", bind_to, LMN__UNIT_NS),
    READS("to_date", bind_to_date, 0),
    READS("to_unixtime", bind_to_unix, 0),
    LMN__BOUND_FUNCTION("from_unixtime", 1, 2, bind_from_unix, LMN__UNIT_S),
    LMN__BOUND_FUNCTION("to_local_time", 1, 1, bind_local, 0),
    LMN__BOUND_FUNCTION("to_time", 1, 1, bind_to_time, 0),
    LMN__BOUND_FUNCTION("make_time", 3, 3, bind_time, 0),
    CLOCK("now", NOW),
    CLOCK("current_timestamp", NOW),
    CLOCK("current_date", DAY_NOW),
    CLOCK("today", DAY_NOW),
    CLOCK("current_time", TIME_NOW),
    { 0 },
};
