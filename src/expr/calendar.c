/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Years are counted from March, so that the leap day is a year's last, in eras of 400 years, which
 * all have 146,097 days.
 */
#include "expr/calendar.h"

#include <stdio.h>
#include <string.h>

enum { ERA_YEARS = 400, ERA_DAYS = 146097, EPOCH_DAYS = 719468, DAY_SECONDS = 86400 };

int64_t lmn__days_from_civil(int64_t year, uint32_t month, uint32_t day)
{
    int64_t y = year - (month <= 2), era = lmn__floor_div(y, ERA_YEARS);
    int64_t of_era = y - era * ERA_YEARS;
    int64_t from_march = month > 2 ? (int64_t)month - 3 : (int64_t)month + 9;
    int64_t of_year = (153 * from_march + 2) / 5 + (int64_t)day - 1;

    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS;
}

struct lmn__civil lmn__civil_from_days(int64_t days)
{
    int64_t shifted = days + EPOCH_DAYS, era = lmn__floor_div(shifted, ERA_DAYS);
    int64_t of_era = shifted - era * ERA_DAYS;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t from_march = (5 * of_year + 2) / 153;
    int64_t month = from_march < 10 ? from_march + 3 : from_march - 9;

    return (struct lmn__civil){ .year = era * ERA_YEARS + year + (month <= 2),
                                .month = (uint32_t)month,
                                .day = (uint32_t)(of_year - (153 * from_march + 2) / 5 + 1) };
}

uint32_t lmn__month_days(int64_t year, uint32_t month)
{
    static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    return (uint32_t)days[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/* What is left of a text. */
struct reader {
    const uint8_t *at, *end;
};

/* A number of `least` to `most` digits. */
static bool read_digits(struct reader *reader, int least, int most, int64_t *out)
{
    int count = 0;

    *out = 0;
    while (count < most && reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
        *out = *out * 10 + (*reader->at++ - '0');
        count++;
    }
    return count >= least;
}

static bool read_char(struct reader *reader, char c)
{
    if (reader->at == reader->end || *reader->at != (uint8_t)c)
        return false;
    reader->at++;
    return true;
}

static bool read_date(struct reader *reader, int64_t *days_out)
{
    int64_t year, month, day;
    bool negative = read_char(reader, '-');

    if (!read_digits(reader, 4, 6, &year) || !read_char(reader, '-') ||
        !read_digits(reader, 1, 2, &month) || !read_char(reader, '-') ||
        !read_digits(reader, 1, 2, &day))
        return false;
    if (negative)
        year = -year;
    if (month < 1 || month > 12 || day < 1 || day > lmn__month_days(year, (uint32_t)month))
        return false;
    *days_out = lmn__days_from_civil(year, (uint32_t)month, (uint32_t)day);
    return true;
}

static bool read_clock(struct reader *reader, int64_t *seconds_out, int64_t *nanos_out)
{
    int64_t hour, minute, second = 0, nanos = 0;

    if (!read_digits(reader, 1, 2, &hour) || !read_char(reader, ':') ||
        !read_digits(reader, 2, 2, &minute))
        return false;
    if (read_char(reader, ':')) {
        if (!read_digits(reader, 2, 2, &second))
            return false;
        if (read_char(reader, '.')) {
            const uint8_t *start = reader->at;

            if (!read_digits(reader, 1, 9, &nanos))
                return false;
            for (int64_t digits = reader->at - start; digits < 9; digits++)
                nanos *= 10;
        }
    }
    *seconds_out = hour * 3600 + minute * 60 + second;
    *nanos_out = nanos;
    return hour < 24 && minute < 60 && second < 60;
}

/* +02:00, -0330, +02 */
static bool read_offset(struct reader *reader, int64_t *seconds_out)
{
    bool negative = read_char(reader, '-');
    int64_t hours, minutes = 0;

    if ((!negative && !read_char(reader, '+')) || !read_digits(reader, 2, 2, &hours))
        return false;
    if (read_char(reader, ':') || reader->at < reader->end) {
        if (!read_digits(reader, 2, 2, &minutes))
            return false;
    }
    if (hours > 23 || minutes > 59)
        return false;
    *seconds_out = (hours * 3600 + minutes * 60) * (negative ? -1 : 1);
    return true;
}

bool lmn__zone_offset(const char *zone, int64_t *seconds_out)
{
    static const char *const zeros[] = {
        "UTC", "Z", "z", "GMT", "Etc/UTC", "Etc/GMT", "Zulu", "utc"
    };
    struct reader reader = { (const uint8_t *)zone, (const uint8_t *)zone + strlen(zone) };

    *seconds_out = 0;
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
        if (strcmp(zone, zeros[i]) == 0)
            return true;
    }
    return read_offset(&reader, seconds_out) && reader.at == reader.end;
}

/* What follows the time of day. */
static bool read_zone(struct reader *reader, struct lmn__moment *moment)
{
    char zone[16] = { 0 };
    size_t len;
    int64_t offset;

    if (reader->at < reader->end && *reader->at == ' ')
        reader->at++;
    len = (size_t)(reader->end - reader->at);
    if (len == 0)
        return true;
    if (len >= sizeof zone)
        return false;
    memcpy(zone, reader->at, len);
    if (!lmn__zone_offset(zone, &offset))
        return false;
    moment->has_zone = true;
    moment->seconds -= offset;
    moment->days += lmn__floor_div(moment->seconds, DAY_SECONDS);
    moment->seconds = lmn__floor_rest(moment->seconds, DAY_SECONDS);
    return true;
}

static struct reader trimmed(struct lmn__span text)
{
    struct reader reader = { text.data, text.data + text.len };

    while (reader.at < reader.end && *reader.at == ' ')
        reader.at++;
    while (reader.at < reader.end && reader.end[-1] == ' ')
        reader.end--;
    return reader;
}

bool lmn__moment_parse(struct lmn__span text, struct lmn__moment *moment_out)
{
    struct reader reader;

    *moment_out = (struct lmn__moment){ 0 };
    if (text.len == 0)
        return false;
    reader = trimmed(text);
    if (!read_date(&reader, &moment_out->days))
        return false;
    if (reader.at == reader.end)
        return true;
    if (!read_char(&reader, 'T') && !read_char(&reader, 't') && !read_char(&reader, ' '))
        return false;
    moment_out->has_time = true;
    return read_clock(&reader, &moment_out->seconds, &moment_out->nanos) &&
           read_zone(&reader, moment_out);
}

bool lmn__clock_parse(struct lmn__span text, int64_t *seconds_out, int64_t *nanos_out)
{
    struct reader reader;

    *seconds_out = *nanos_out = 0;
    if (text.len == 0)
        return false;
    reader = trimmed(text);
    return read_clock(&reader, seconds_out, nanos_out) && reader.at == reader.end;
}

bool lmn__moment_to_units(const struct lmn__moment *moment, enum lmn__unit unit, int64_t *units_out,
                          bool *cut_out)
{
    int64_t rate = lmn__unit_rate(unit), seconds = moment->days * DAY_SECONDS + moment->seconds;
    int64_t part = moment->nanos / (1000000000 / rate);

    *cut_out = moment->nanos % (1000000000 / rate) != 0;
    /* The least nanosecond lies in a second whose start does not fit. */
    if (seconds < 0 && part != 0) {
        seconds++;
        part -= rate;
    }
    return !__builtin_mul_overflow(seconds, rate, units_out) &&
           !__builtin_add_overflow(*units_out, part, units_out);
}

size_t lmn__date_print(int64_t days, char *text_out)
{
    struct lmn__civil civil = lmn__civil_from_days(days);

    return (size_t)snprintf(text_out, LMN__MOMENT_TEXT_BYTES, "%04lld-%02u-%02u",
                            (long long)civil.year, civil.month, civil.day);
}

size_t lmn__clock_print(int64_t units, enum lmn__unit unit, char *text_out)
{
    int64_t rate = lmn__unit_rate(unit), seconds = units / rate, part = units % rate;
    int len = snprintf(text_out, LMN__MOMENT_TEXT_BYTES, "%02lld:%02lld:%02lld",
                       (long long)(seconds / 3600), (long long)(seconds / 60 % 60),
                       (long long)(seconds % 60));

    /* Digits in groups of three, as many groups as are needed. */
    if (part != 0) {
        int digits = (int)unit * 3;

        while (part % 1000 == 0) {
            part /= 1000;
            digits -= 3;
        }
        len += snprintf(text_out + len, (size_t)(LMN__MOMENT_TEXT_BYTES - len), ".%0*lld", digits,
                        (long long)part);
    }
    return (size_t)len;
}

size_t lmn__timestamp_print(int64_t units, enum lmn__unit unit, char *text_out)
{
    int64_t day = DAY_SECONDS * lmn__unit_rate(unit);
    char clock[LMN__MOMENT_TEXT_BYTES], date[LMN__MOMENT_TEXT_BYTES];

    lmn__date_print(lmn__floor_div(units, day), date);
    lmn__clock_print(lmn__floor_rest(units, day), unit, clock);
    return (size_t)snprintf(text_out, LMN__MOMENT_TEXT_BYTES, "%.30sT%.30s", date, clock);
}
