/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A text is read piece by piece; what the pieces say is put together at the end. Blanks of a format
 * stand for any blanks, names count without regard to case. A day is given by year, month and day,
 * by year and day of the year, or by seconds since 1970.
 */
#include <string.h>

#include "expr/time_format.h"

enum { YEAR_MAX = 262142, DAY_SECONDS = 86400 };

struct reading {
    struct lmn__span text;
    size_t at;
    int64_t year, month, day, year_day, hour, minute, second, nanos, moment, ahead;
    bool has_year, has_month, has_day, has_year_day, has_moment, has_zone, has_time;
    bool twelve, afternoon; /* hours count to 12; it is behind noon */
};

static uint8_t peek(const struct reading *reading)
{
    return reading->at < reading->text.len ? reading->text.data[reading->at] : 0;
}

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void skip_blanks(struct reading *reading)
{
    while (is_blank(peek(reading)))
        reading->at++;
}

/* One to `digits` digits, a number from `least` to `most`. */
static bool read_number(struct reading *reading, int digits, int64_t least, int64_t most,
                        int64_t *out)
{
    size_t from = reading->at;

    for (*out = 0; digits > 0 && is_digit(peek(reading)); digits--)
        *out = *out * 10 + (reading->text.data[reading->at++] - '0');
    return reading->at != from && *out >= least && *out <= most;
}

static bool read_signed(struct reading *reading, int digits, int64_t most, int64_t *out)
{
    bool minus = peek(reading) == '-';

    reading->at += minus || peek(reading) == '+';
    if (!read_number(reading, digits, 0, most, out))
        return false;
    *out = minus ? -*out : *out;
    return true;
}

/* Does the text go on with `word`, whatever its case? */
static bool take_word(struct reading *reading, const char *word, size_t len)
{
    if (reading->text.len - reading->at < len)
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((reading->text.data[reading->at + i] | 32) != ((uint8_t)word[i] | 32))
            return false;
    }
    reading->at += len;
    return true;
}

/* One of the names, whole or its first three letters; its number from 0. */
static bool read_name(struct reading *reading, const char *const *names, int count, int64_t *out)
{
    for (int i = 0; i < count; i++) {
        if (take_word(reading, names[i], strlen(names[i])) || take_word(reading, names[i], 3)) {
            *out = i;
            return true;
        }
    }
    return false;
}

/* ".789" with a point, else whole nanoseconds or as many digits as it says. */
static bool read_fraction(struct reading *reading, const struct lmn__time_piece *piece)
{
    int64_t scale = 1000000000;
    size_t from;

    if (piece->point && peek(reading) != '.')
        return piece->digits == 0;
    if (!piece->point && piece->digits == 0)
        return read_number(reading, 9, 0, 999999999, &reading->nanos);
    reading->at += piece->point;
    from = reading->at;
    for (; is_digit(peek(reading)) && (piece->digits == 0 || reading->at - from < piece->digits);
         reading->at++) {
        scale /= 10;
        reading->nanos += (reading->text.data[reading->at] - '0') * scale;
    }
    return reading->at != from && (piece->digits == 0 || reading->at - from == piece->digits);
}

/* "+02:00", "+0200", "Z" */
static bool read_zone(struct reading *reading)
{
    int64_t hours, minutes;
    bool minus;

    skip_blanks(reading);
    reading->has_zone = true;
    if (take_word(reading, "Z", 1))
        return true;
    minus = peek(reading) == '-';
    if (!minus && peek(reading) != '+')
        return false;
    reading->at++;
    if (!read_number(reading, 2, 0, 23, &hours))
        return false;
    reading->at += peek(reading) == ':';
    if (!read_number(reading, 2, 0, 59, &minutes))
        return false;
    reading->ahead = (hours * 60 + minutes) * (minus ? -60 : 60);
    return true;
}

/* Pieces of a day. */
static bool read_day(struct reading *reading, char letter, bool *known)
{
    int64_t name;
    int digits;

    *known = true;
    switch (letter) {
    case 'Y':
        reading->has_year = true;
        digits = peek(reading) == '-' || peek(reading) == '+' ? 6 : 4; /* more are of the month */
        return read_signed(reading, digits, YEAR_MAX, &reading->year);
    case 'y':
        reading->has_year = true;
        if (!read_number(reading, 2, 0, 99, &reading->year))
            return false;
        reading->year += reading->year < 70 ? 2000 : 1900;
        return true;
    case 'm':
        reading->has_month = true;
        return read_number(reading, 2, 1, 12, &reading->month);
    case 'b':
    case 'h':
    case 'B':
        reading->has_month = true;
        if (!read_name(reading, lmn__month_names, 12, &reading->month))
            return false;
        reading->month++;
        return true;
    case 'd':
    case 'e':
        skip_blanks(reading);
        reading->has_day = true;
        return read_number(reading, 2, 1, 31, &reading->day);
    case 'j':
        reading->has_year_day = true;
        return read_number(reading, 3, 1, 366, &reading->year_day);
    case 'a':
    case 'A':
        return read_name(reading, lmn__day_names, 7, &name);
    default:
        *known = false;
        return false;
    }
}

static bool read_time(struct reading *reading, const struct lmn__time_piece *piece)
{
    reading->has_time = true;
    switch (piece->letter) {
    case 'H':
    case 'k':
        skip_blanks(reading);
        return read_number(reading, 2, 0, 23, &reading->hour);
    case 'I':
    case 'l':
        skip_blanks(reading);
        reading->twelve = true;
        return read_number(reading, 2, 1, 12, &reading->hour);
    case 'M':
        return read_number(reading, 2, 0, 59, &reading->minute);
    case 'S':
        return read_number(reading, 2, 0, 59, &reading->second);
    case 'f':
        return read_fraction(reading, piece);
    case 'p':
    case 'P':
        reading->afternoon = take_word(reading, "PM", 2);
        return reading->afternoon || take_word(reading, "AM", 2);
    case 's':
        reading->has_moment = true;
        return read_signed(reading, 12, INT64_MAX, &reading->moment);
    case 'z':
        return read_zone(reading);
    default:
        return false;
    }
}

static bool read_format(struct reading *reading, struct lmn__span format)
{
    for (size_t i = 0; i < format.len; i++) {
        struct lmn__time_piece piece;
        const char *whole;
        bool known;

        if (is_blank(format.data[i])) {
            skip_blanks(reading);
            continue;
        }
        if (format.data[i] != '%') {
            if (reading->at >= reading->text.len || peek(reading) != format.data[i])
                return false;
            reading->at++;
            continue;
        }
        if (!lmn__time_piece_read(format, &i, &piece))
            return false;
        whole = lmn__time_piece_long(piece.letter);
        if (whole != NULL) {
            if (!read_format(reading, (struct lmn__span){ (const uint8_t *)whole, strlen(whole) }))
                return false;
        } else if (strchr("nt", piece.letter) != NULL) {
            skip_blanks(reading);
        } else if (piece.letter == '%') {
            if (peek(reading) != '%')
                return false;
            reading->at++;
        } else if (!read_day(reading, piece.letter, &known) &&
                   (known || !read_time(reading, &piece))) {
            return false;
        }
    }
    return true;
}

bool lmn__time_read(struct lmn__span text, struct lmn__span format, struct lmn__moment *moment_out)
{
    struct reading reading = { .text = text };

    *moment_out = (struct lmn__moment){ 0 };
    if (!read_format(&reading, format) || reading.at != text.len)
        return false;
    moment_out->nanos = reading.nanos;
    moment_out->has_time = reading.has_time;
    moment_out->has_zone = reading.has_zone;
    if (reading.has_moment) {
        moment_out->days = lmn__floor_div(reading.moment, DAY_SECONDS);
        moment_out->seconds = lmn__floor_rest(reading.moment, DAY_SECONDS);
        return true;
    }
    if (reading.twelve)
        reading.hour = reading.hour % 12 + (reading.afternoon ? 12 : 0);
    moment_out->seconds = reading.hour * 3600 + reading.minute * 60 + reading.second -
                          reading.ahead;
    if (reading.has_year && reading.has_year_day) {
        moment_out->days = lmn__days_from_civil(reading.year, 1, 1) + reading.year_day - 1;
        return reading.year_day <= 365 || lmn__month_days(reading.year, 2) == 29;
    }
    if (!reading.has_year || !reading.has_month || !reading.has_day ||
        reading.day > lmn__month_days(reading.year, (uint32_t)reading.month))
        return false;
    moment_out->days = lmn__days_from_civil(reading.year, (uint32_t)reading.month,
                                            (uint32_t)reading.day);
    return true;
}
