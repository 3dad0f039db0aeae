/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/text.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { FLOAT_TEXT_MAX = 400, EXACT_POWER_MAX = 22, DECIMAL_DIGITS_MAX = 38 };

static bool is_digit(uint8_t c)
{
    return c >= '0' && c <= '9';
}

struct lmn__span lmn__text_trim(struct lmn__span text)
{
    while (text.len != 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (struct lmn__span){ text.data + 1, text.len - 1 };
    while (text.len != 0 && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
        text.len--;
    return text;
}

bool lmn__text_uint(struct lmn__span text, uint64_t *value_out)
{
    uint64_t value = 0;

    if (text.len == 0 || (text.len > 1 && text.data[0] == '0'))
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_digit(text.data[i]) || __builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(text.data[i] - '0'), &value))
            return false;
    }
    *value_out = value;
    return true;
}

bool lmn__text_int(struct lmn__span text, int64_t *value_out)
{
    bool negative = text.len != 0 && text.data[0] == '-';
    uint64_t value;

    if (negative)
        text = (struct lmn__span){ text.data + 1, text.len - 1 };
    if (!lmn__text_uint(text, &value) || value > (uint64_t)INT64_MAX + negative)
        return false;
    *value_out = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

static bool same_word(struct lmn__span text, const char *word)
{
    size_t len = strlen(word);

    if (text.len != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        uint8_t c = text.data[i];

        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != word[i])
            return false;
    }
    return true;
}

bool lmn__text_bool(struct lmn__span text, bool *value_out)
{
    *value_out = same_word(text, "true");
    return *value_out || same_word(text, "false");
}

static bool float_word(struct lmn__span text, double *value_out)
{
    bool negative = text.len != 0 && text.data[0] == '-';

    if (negative)
        text = (struct lmn__span){ text.data + 1, text.len - 1 };
    if (same_word(text, "nan"))
        *value_out = NAN;
    else if (same_word(text, "inf") || same_word(text, "infinity"))
        *value_out = negative ? -INFINITY : INFINITY;
    else
        return false;
    return true;
}

/* What a decimal number is made of. */
struct decimal {
    bool negative;
    uint64_t digits; /* as one integer, while they fit */
    bool exact;      /* they do */
    int64_t exponent;
};

static bool decimal_scan(struct lmn__span text, struct decimal *decimal)
{
    size_t at = 0, whole, fraction = 0, count;
    int64_t exponent = 0;

    *decimal = (struct decimal){ .exact = true };
    if (at < text.len && text.data[at] == '-')
        at++;
    decimal->negative = at != 0;
    whole = at;
    for (; at < text.len && (is_digit(text.data[at]) || (fraction == 0 && text.data[at] == '.'));
         at++) {
        if (text.data[at] == '.') {
            fraction = at + 1;
            continue;
        }
        decimal->exact = decimal->exact &&
                         !__builtin_mul_overflow(decimal->digits, 10, &decimal->digits) &&
                         !__builtin_add_overflow(decimal->digits, (uint64_t)(text.data[at] - '0'),
                                                 &decimal->digits);
    }
    /* A digit, on whichever side of a point, and no zeros in front. */
    count = at - whole - (fraction != 0);
    if (count == 0 || (text.data[whole] == '0' && at - whole > 1 && fraction != whole + 2))
        return false;
    decimal->exponent = fraction != 0 ? (int64_t)fraction - (int64_t)at : 0;
    if (at < text.len && (text.data[at] == 'e' || text.data[at] == 'E')) {
        bool negative = ++at < text.len && text.data[at] == '-';

        at += at < text.len && (text.data[at] == '-' || text.data[at] == '+');
        if (at == text.len)
            return false;
        for (; at < text.len && is_digit(text.data[at]); at++)
            exponent = exponent < 100000 ? exponent * 10 + (text.data[at] - '0') : exponent;
        decimal->exponent += negative ? -exponent : exponent;
    }
    return at == text.len;
}

bool lmn__text_whole(struct lmn__span text, int64_t *value_out)
{
    struct decimal decimal;

    if (!decimal_scan(text, &decimal) || !decimal.exact)
        return false;
    for (; decimal.digits != 0 && decimal.exponent < 0; decimal.exponent++) {
        if (decimal.digits % 10 != 0)
            return false;
        decimal.digits /= 10;
    }
    for (; decimal.digits != 0 && decimal.exponent > 0; decimal.exponent--) {
        if (__builtin_mul_overflow(decimal.digits, 10, &decimal.digits))
            return false;
    }
    if (decimal.digits > INT64_MAX)
        return false;
    *value_out = decimal.negative ? -(int64_t)decimal.digits : (int64_t)decimal.digits;
    return true;
}

/* The C library reads the rest; it wants the decimal point of the locale. */
static bool float_slow(struct lmn__span text, double *value_out)
{
    const char *point = localeconv()->decimal_point;
    char copy[FLOAT_TEXT_MAX + 16];
    size_t len = 0;
    char *end;

    if (text.len > FLOAT_TEXT_MAX || strlen(point) > 8)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '.') {
            memcpy(copy + len, point, strlen(point));
            len += strlen(point);
        } else {
            copy[len++] = (char)text.data[i];
        }
    }
    copy[len] = '\0';
    *value_out = strtod(copy, &end);
    return end == copy + len && isfinite(*value_out);
}

bool lmn__text_float(struct lmn__span text, double *value_out)
{
    static const double power[EXACT_POWER_MAX + 1] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
                                                       1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                       1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
                                                       1e18, 1e19, 1e20, 1e21, 1e22 };
    struct decimal decimal;
    double value;

    if (float_word(text, value_out))
        return true;
    if (!decimal_scan(text, &decimal))
        return false;
    /* Two exact doubles and one rounding give the nearest double. */
    if (!decimal.exact || decimal.digits > (uint64_t)1 << DBL_MANT_DIG ||
        decimal.exponent > EXACT_POWER_MAX || decimal.exponent < -EXACT_POWER_MAX)
        return float_slow(text, value_out);
    value = (double)decimal.digits;
    value = decimal.exponent < 0 ? value / power[-decimal.exponent]
                                 : value * power[decimal.exponent];
    *value_out = decimal.negative ? -value : value;
    return true;
}

/*
 * The digits of a number in front of its exponent, as one integer without the zeros at its end,
 * which are counted. False when there are too many.
 */
static bool decimal_digits(struct lmn__span text, unsigned __int128 *value_out, int64_t *count_out,
                           int64_t *zeros_out)
{
    *value_out = 0;
    *count_out = *zeros_out = 0;
    for (size_t i = 0; i < text.len && text.data[i] != 'e' && text.data[i] != 'E'; i++) {
        if (!is_digit(text.data[i]))
            continue;
        if (text.data[i] == '0') {
            *zeros_out += *value_out != 0;
            continue;
        }
        *count_out += *zeros_out + 1;
        if (*count_out > DECIMAL_DIGITS_MAX)
            return false;
        for (; *zeros_out > 0; --*zeros_out)
            *value_out *= 10;
        *value_out = *value_out * 10 + (unsigned)(text.data[i] - '0');
    }
    return true;
}

bool lmn__text_decimal(struct lmn__span text, int32_t precision, int32_t scale, __int128 *value_out)
{
    unsigned __int128 value;
    struct decimal decimal;
    int64_t digits, zeros;

    if (scale < 0 || !decimal_scan(text, &decimal) ||
        !decimal_digits(text, &value, &digits, &zeros))
        return false;
    zeros += decimal.exponent + scale;
    if (value != 0 && (zeros < 0 || digits + zeros > precision))
        return false;
    for (; value != 0 && zeros > 0; zeros--)
        value *= 10;
    *value_out = decimal.negative ? -(__int128)value : (__int128)value;
    return true;
}

/* `count` digits at `at`. */
static bool take_digits(struct lmn__span text, size_t at, size_t count, uint32_t *value_out)
{
    *value_out = 0;
    if (at + count > text.len)
        return false;
    for (size_t i = at; i < at + count; i++) {
        if (!is_digit(text.data[i]))
            return false;
        *value_out = *value_out * 10 + (uint32_t)(text.data[i] - '0');
    }
    return true;
}

static bool has(struct lmn__span text, size_t at, char c)
{
    return at < text.len && text.data[at] == (uint8_t)c;
}

static bool is_leap(uint32_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Days since 1970-01-01 in the Gregorian calendar: years are counted from March. */
static int32_t days_of(uint32_t year, uint32_t month, uint32_t day)
{
    int32_t y = (int32_t)year - (month <= 2);
    int32_t era = (y >= 0 ? y : y - 399) / 400;
    int32_t year_of_era = y - era * 400;
    int32_t day_of_year = (int32_t)((153 * (month + (month > 2 ? (uint32_t)-3 : 9)) + 2) / 5 + day -
                                    1);

    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

bool lmn__text_date(struct lmn__span text, int32_t *days_out)
{
    static const uint8_t month_days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    uint32_t year, month, day;

    if (text.len != 10 || !take_digits(text, 0, 4, &year) || !has(text, 4, '-') ||
        !take_digits(text, 5, 2, &month) || !has(text, 7, '-') || !take_digits(text, 8, 2, &day))
        return false;
    if (month < 1 || month > 12 || day < 1 ||
        day > month_days[month - 1] + (uint32_t)(month == 2 && is_leap(year)))
        return false;
    *days_out = days_of(year, month, day);
    return true;
}

/* HH:MM[:SS[.fraction]] at *at, which moves behind it. */
static bool take_time(struct lmn__span text, size_t *at, struct lmn__moment *moment)
{
    uint32_t hour, minute, second = 0;

    if (!take_digits(text, *at, 2, &hour) || !has(text, *at + 2, ':') ||
        !take_digits(text, *at + 3, 2, &minute))
        return false;
    *at += 5;
    if (has(text, *at, ':')) {
        if (!take_digits(text, *at + 1, 2, &second))
            return false;
        *at += 3;
        if (has(text, *at, '.')) {
            uint32_t unit = 1000000000;

            for (++*at; *at < text.len && is_digit(text.data[*at]); ++*at) {
                unit /= 10;
                moment->nanos += unit * (uint32_t)(text.data[*at] - '0');
                moment->digits++;
            }
            if (moment->digits == 0 || moment->digits > 9)
                return false;
        }
    }
    moment->seconds += hour * 3600 + minute * 60 + second;
    return hour < 24 && minute < 60 && second < 60;
}

bool lmn__text_moment(struct lmn__span text, struct lmn__moment *moment_out)
{
    size_t at = 11;
    uint32_t hour, minute;
    int32_t days;

    *moment_out = (struct lmn__moment){ 0 };
    if (text.len < 16 || !lmn__text_date((struct lmn__span){ text.data, 10 }, &days) ||
        (text.data[10] != 'T' && text.data[10] != ' ') || !take_time(text, &at, moment_out))
        return false;
    moment_out->seconds += (int64_t)days * 86400;
    if (at == text.len)
        return true;
    moment_out->zoned = true;
    if (has(text, at, 'Z'))
        return at + 1 == text.len;
    if ((!has(text, at, '+') && !has(text, at, '-')) || !take_digits(text, at + 1, 2, &hour) ||
        hour > 23)
        return false;
    minute = 0;
    if (at + 3 != text.len && (!take_digits(text, at + 3 + has(text, at + 3, ':'), 2, &minute) ||
                               minute > 59 || at + 5 + has(text, at + 3, ':') != text.len))
        return false;
    moment_out->seconds -= (text.data[at] == '-' ? -1 : 1) * (int64_t)(hour * 3600 + minute * 60);
    return true;
}

bool lmn__text_time(struct lmn__span text, int64_t *nanos_out)
{
    struct lmn__moment moment = { 0 };
    size_t at = 0;

    if (!take_time(text, &at, &moment) || at != text.len)
        return false;
    *nanos_out = moment.seconds * 1000000000 + moment.nanos;
    return true;
}
