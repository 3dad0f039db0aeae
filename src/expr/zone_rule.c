/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule   := name offset [name [offset] "," day "," day]
 * name   := letters, three at least, or anything in "<" ">"
 * offset := [sign] hours [":" minutes [":" seconds]], ahead of UTC when negative
 * day    := ("J" number | number | "M" month "." week "." weekday) ["/" offset]
 */
#include "expr/zone_rule.h"

#include "expr/calendar.h"

enum { DAY_SECONDS = 86400, HOURS_MAX = 167, SUMMER_SECONDS = 3600, TURN_SECONDS = 7200 };

struct reader {
    const uint8_t *at, *end;
};

static bool read_char(struct reader *reader, char c)
{
    if (reader->at == reader->end || *reader->at != (uint8_t)c)
        return false;
    reader->at++;
    return true;
}

static bool read_number(struct reader *reader, int32_t least, int32_t most, int32_t *out)
{
    const uint8_t *start = reader->at;

    *out = 0;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' &&
           reader->at - start < 4)
        *out = *out * 10 + (*reader->at++ - '0');
    return reader->at != start && *out >= least && *out <= most;
}

static bool is_letter(uint8_t c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool read_name(struct reader *reader)
{
    const uint8_t *start = reader->at;

    if (read_char(reader, '<')) {
        while (reader->at < reader->end && *reader->at != '>')
            reader->at++;
        return read_char(reader, '>');
    }
    while (reader->at < reader->end && is_letter(*reader->at))
        reader->at++;
    return reader->at - start >= 3;
}

static bool read_offset(struct reader *reader, int32_t *seconds_out)
{
    bool negative = read_char(reader, '-');
    int32_t hours, minutes = 0, seconds = 0;

    if (!negative)
        (void)read_char(reader, '+');
    if (!read_number(reader, 0, HOURS_MAX, &hours))
        return false;
    if (read_char(reader, ':')) {
        if (!read_number(reader, 0, 59, &minutes))
            return false;
        if (read_char(reader, ':') && !read_number(reader, 0, 59, &seconds))
            return false;
    }
    seconds += hours * 3600 + minutes * 60;
    *seconds_out = negative ? -seconds : seconds;
    return true;
}

/* Ahead of UTC, and within a day and two hours as zones are. */
static bool read_distance(struct reader *reader, int32_t *ahead_out)
{
    int32_t behind;

    if (!read_offset(reader, &behind))
        return false;
    *ahead_out = -behind;
    return behind > -26 * 3600 && behind < 26 * 3600;
}

static bool read_day(struct reader *reader, struct lmn__zone_day *day)
{
    bool fine;

    if (read_char(reader, 'M')) {
        day->kind = LMN__ZONE_DAY_OF_WEEK;
        fine = read_number(reader, 1, 12, &day->month) && read_char(reader, '.') &&
               read_number(reader, 1, 5, &day->week) && read_char(reader, '.') &&
               read_number(reader, 0, 6, &day->day);
    } else if (read_char(reader, 'J')) {
        day->kind = LMN__ZONE_DAY_WITHOUT_LEAP;
        fine = read_number(reader, 1, 365, &day->day);
    } else {
        day->kind = LMN__ZONE_DAY_OF_YEAR;
        fine = read_number(reader, 0, 365, &day->day);
    }
    day->seconds = TURN_SECONDS;
    return fine && (!read_char(reader, '/') || read_offset(reader, &day->seconds));
}

bool lmn__zone_rule_parse(struct lmn__span text, struct lmn__zone_rule *rule_out)
{
    struct reader reader = { text.data, text.data + text.len };
    struct lmn__zone_rule *rule = rule_out;

    *rule = (struct lmn__zone_rule){ 0 };
    if (text.len == 0 || !read_name(&reader) || !read_distance(&reader, &rule->standard))
        return false;
    if (reader.at == reader.end)
        return true;
    rule->has_summer = true;
    rule->summer = rule->standard + SUMMER_SECONDS;
    if (!read_name(&reader))
        return false;
    if (!read_char(&reader, ',') &&
        (!read_distance(&reader, &rule->summer) || !read_char(&reader, ',')))
        return false;
    return read_day(&reader, &rule->start) && read_char(&reader, ',') &&
           read_day(&reader, &rule->end) && reader.at == reader.end;
}

/* The day in a year, since 1970. */
static int64_t day_in(const struct lmn__zone_day *day, int64_t year)
{
    int64_t first = lmn__days_from_civil(year, 1, 1);
    int32_t of_month, weekday;

    switch (day->kind) {
    case LMN__ZONE_DAY_OF_YEAR:
        return first + day->day;
    case LMN__ZONE_DAY_WITHOUT_LEAP:
        return first + day->day - 1 + (day->day >= 60 && lmn__month_days(year, 2) == 29);
    default:
        break;
    }
    first = lmn__days_from_civil(year, (uint32_t)day->month, 1);
    weekday = (int32_t)lmn__floor_rest(first + 4, 7);
    of_month = (day->day - weekday + 7) % 7 + (day->week - 1) * 7;
    if (of_month >= (int32_t)lmn__month_days(year, (uint32_t)day->month))
        of_month -= 7;
    return first + of_month;
}

int32_t lmn__zone_rule_offset(const struct lmn__zone_rule *rule, int64_t seconds)
{
    int64_t local, start, end, year;

    if (!rule->has_summer || __builtin_add_overflow(seconds, rule->standard, &local))
        return rule->standard;
    year = lmn__civil_from_days(lmn__floor_div(local, DAY_SECONDS)).year;
    start = day_in(&rule->start, year) * DAY_SECONDS + rule->start.seconds - rule->standard;
    end = day_in(&rule->end, year) * DAY_SECONDS + rule->end.seconds - rule->summer;
    /* South of the equator summer begins in one year and ends in the next. */
    if (start < end)
        return seconds >= start && seconds < end ? rule->summer : rule->standard;
    return seconds >= end && seconds < start ? rule->standard : rule->summer;
}
