/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/interval.h"

#include <stdio.h>

#include "expr/bind.h"

enum {
    FRACTION_DIGITS = 9,
    DIGITS_MAX = 18,
    SECOND_NANOS = 1000000000,
    DAY_SECONDS = 86400,
    MONTH_DAYS = 30
};

/* A unit is a number of months or of nanoseconds; days and weeks are kept apart as days. */
struct unit {
    const char *name, *other[4];
    int32_t months, days;
    int64_t nanos;
};

static const struct unit units[] = {
    { "year", { "years", "yr", "yrs", "y" }, 12, 0, 0 },
    { "quarter", { "quarters" }, 3, 0, 0 },
    { "month", { "months", "mon", "mons" }, 1, 0, 0 },
    { "week", { "weeks", "w" }, 0, 7, 604800ll * SECOND_NANOS },
    { "day", { "days", "d" }, 0, 1, 86400ll * SECOND_NANOS },
    { "hour", { "hours", "hr", "hrs", "h" }, 0, 0, 3600ll * SECOND_NANOS },
    { "minute", { "minutes", "min", "mins", "m" }, 0, 0, 60ll * SECOND_NANOS },
    { "second", { "seconds", "sec", "secs", "s" }, 0, 0, SECOND_NANOS },
    { "millisecond", { "milliseconds", "msec", "msecs", "ms" }, 0, 0, 1000000 },
    { "microsecond", { "microseconds", "usec", "usecs", "us" }, 0, 0, 1000 },
    { "nanosecond", { "nanoseconds", "nsec", "nsecs", "ns" }, 0, 0, 1 },
};

/* What is left of a text. */
struct reader {
    const uint8_t *at, *end;
};

static bool is_digit(const struct reader *reader)
{
    return reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9';
}

static bool is_letter(const struct reader *reader)
{
    return reader->at < reader->end && (*reader->at | 0x20) >= 'a' && (*reader->at | 0x20) <= 'z';
}

static void skip_spaces(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\t'))
        reader->at++;
}

static bool names(const char *name, struct lmn__span word)
{
    char text[16] = { 0 };

    if (name == NULL || word.len >= sizeof text)
        return false;
    memcpy(text, word.data, word.len);
    return lmn__names_agree(name, text);
}

static const struct unit *find_unit(struct lmn__span word)
{
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (names(units[i].name, word))
            return &units[i];
        for (int k = 0; k < 4; k++) {
            if (names(units[i].other[k], word))
                return &units[i];
        }
    }
    return NULL;
}

bool lmn__interval_is_unit(struct lmn__span word)
{
    return word.len != 0 && find_unit(word) != NULL;
}

static bool read_whole(struct reader *reader, int64_t *out)
{
    const uint8_t *start = reader->at;

    *out = 0;
    while (is_digit(reader) && reader->at - start < DIGITS_MAX)
        *out = *out * 10 + (*reader->at++ - '0');
    return reader->at != start && !is_digit(reader);
}

/* Digits behind a point, as billionths. */
static bool read_fraction(struct reader *reader, int64_t *billionths_out)
{
    int digits = 0;

    *billionths_out = 0;
    if (reader->at == reader->end || *reader->at != '.')
        return true;
    reader->at++;
    for (; is_digit(reader) && digits < FRACTION_DIGITS; digits++)
        *billionths_out = *billionths_out * 10 + (*reader->at++ - '0');
    if (digits == 0 || is_digit(reader))
        return false;
    for (; digits < FRACTION_DIGITS; digits++)
        *billionths_out *= 10;
    return true;
}

/* sum += count * step, within the type of the sum. */
static bool add32(int32_t *sum, int64_t count, int32_t step)
{
    int64_t product;

    return !__builtin_mul_overflow(count, step, &product) &&
           !__builtin_add_overflow(*sum, product, sum);
}

static bool add64(int64_t *sum, int64_t count, int64_t step)
{
    int64_t product;

    return !__builtin_mul_overflow(count, step, &product) &&
           !__builtin_add_overflow(*sum, product, sum);
}

/* Behind the number of "1.5 hours". */
static bool read_unit(struct reader *reader, bool negative, int64_t whole, int64_t billionths,
                      struct lmn__interval *interval)
{
    struct lmn__span word = { reader->at, 0 };
    const struct unit *unit;
    int64_t part;

    while (is_letter(reader))
        reader->at++;
    word.len = (size_t)(reader->at - word.data);
    unit = find_unit(word);
    if (unit == NULL || (billionths != 0 && unit->months != 0))
        return false;
    /* Of long units the nanoseconds are whole seconds, of short ones they divide a second. */
    part = unit->nanos >= SECOND_NANOS ? billionths * (unit->nanos / SECOND_NANOS)
                                       : billionths / (SECOND_NANOS / (unit->nanos + !unit->nanos));
    whole = negative ? -whole : whole;
    part = negative ? -part : part;
    if (unit->months != 0)
        return add32(&interval->months, whole, unit->months);
    if (unit->days != 0)
        return add32(&interval->days, whole, unit->days) && add64(&interval->nanos, part, 1);
    return add64(&interval->nanos, whole, unit->nanos) && add64(&interval->nanos, part, 1);
}

/* Behind the hours of "04:05:06.7". */
static bool read_clock(struct reader *reader, bool negative, int64_t hours,
                       struct lmn__interval *interval)
{
    int64_t minutes, seconds = 0, billionths = 0, sign = negative ? -1 : 1;

    reader->at++;
    if (!read_whole(reader, &minutes) || minutes > 59)
        return false;
    if (reader->at < reader->end && *reader->at == ':') {
        reader->at++;
        if (!read_whole(reader, &seconds) || seconds > 59 || !read_fraction(reader, &billionths))
            return false;
    }
    return add64(&interval->nanos, sign * hours, 3600ll * SECOND_NANOS) &&
           add64(&interval->nanos, sign * (minutes * 60 + seconds), SECOND_NANOS) &&
           add64(&interval->nanos, sign * billionths, 1);
}

bool lmn__interval_parse(struct lmn__span text, struct lmn__interval *interval_out)
{
    struct reader reader = { text.data, text.data + text.len };

    *interval_out = (struct lmn__interval){ 0 };
    if (text.len == 0)
        return false;
    skip_spaces(&reader);
    do {
        bool negative = reader.at < reader.end && *reader.at == '-';
        int64_t whole, billionths;

        if (negative || (reader.at < reader.end && *reader.at == '+'))
            reader.at++;
        if (!read_whole(&reader, &whole))
            return false;
        if (reader.at < reader.end && *reader.at == ':') {
            if (!read_clock(&reader, negative, whole, interval_out))
                return false;
        } else {
            if (!read_fraction(&reader, &billionths))
                return false;
            skip_spaces(&reader);
            if (!read_unit(&reader, negative, whole, billionths, interval_out))
                return false;
        }
        skip_spaces(&reader);
    } while (reader.at < reader.end);
    return true;
}

static size_t print_count(char *text, size_t used, int32_t count, const char *unit)
{
    if (count == 0)
        return used;
    return used + (size_t)snprintf(text + used, LMN__INTERVAL_TEXT_BYTES - used, "%s%d %s%s",
                                   used != 0 ? " " : "", count, unit,
                                   count == 1 || count == -1 ? "" : "s");
}

size_t lmn__interval_print(const struct lmn__interval *interval,
                           char text_out[LMN__INTERVAL_TEXT_BYTES])
{
    uint64_t nanos = interval->nanos < 0 ? 0 - (uint64_t)interval->nanos
                                         : (uint64_t)interval->nanos;
    uint64_t seconds = nanos / SECOND_NANOS, part = nanos % SECOND_NANOS;
    size_t used = print_count(text_out, 0, interval->months, "month");
    int digits = FRACTION_DIGITS;

    used = print_count(text_out, used, interval->days, "day");
    if (nanos == 0 && used != 0)
        return used;
    used += (size_t)snprintf(
        text_out + used, LMN__INTERVAL_TEXT_BYTES - used, "%s%s%02llu:%02llu:%02llu",
        used != 0 ? " " : "", interval->nanos < 0 ? "-" : "", (unsigned long long)seconds / 3600,
        (unsigned long long)seconds / 60 % 60, (unsigned long long)seconds % 60);
    if (part == 0)
        return used;
    for (; part % 10 == 0; digits--)
        part /= 10;
    return used + (size_t)snprintf(text_out + used, LMN__INTERVAL_TEXT_BYTES - used, ".%0*llu",
                                   digits, (unsigned long long)part);
}

typedef __int128 int128_t;

static int128_t nanos_of(const struct lmn__interval *interval)
{
    int128_t days = (int128_t)interval->months * MONTH_DAYS + interval->days;

    return days * DAY_SECONDS * SECOND_NANOS + interval->nanos;
}

int lmn__interval_compare(const struct lmn__interval *a, const struct lmn__interval *b)
{
    int128_t x = nanos_of(a), y = nanos_of(b);

    return (x > y) - (x < y);
}

uint64_t lmn__interval_hash(const struct lmn__interval *interval)
{
    return (uint64_t)nanos_of(interval) * 0x9e3779b97f4a7c15ull;
}

bool lmn__interval_opposite(const struct lmn__interval *interval, struct lmn__interval *out)
{
    return !__builtin_sub_overflow(0, interval->months, &out->months) &&
           !__builtin_sub_overflow(0, interval->days, &out->days) &&
           !__builtin_sub_overflow(0, interval->nanos, &out->nanos);
}
