/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products and quotients are computed of magnitudes; the sign is put back at the end. The magnitude
 * of the least number, 2^255, is the one that has no positive counterpart: it is handled as an
 * unsigned number throughout and refused only where a result would need it.
 */
#include "expr/wide.h"

#include <math.h>

typedef unsigned __int128 u128;

static const uint64_t ten_powers[] = { 1ull,
                                       10ull,
                                       100ull,
                                       1000ull,
                                       10000ull,
                                       100000ull,
                                       1000000ull,
                                       10000000ull,
                                       100000000ull,
                                       1000000000ull,
                                       10000000000ull,
                                       100000000000ull,
                                       1000000000000ull,
                                       10000000000000ull,
                                       100000000000000ull,
                                       1000000000000000ull,
                                       10000000000000000ull,
                                       100000000000000000ull,
                                       1000000000000000000ull };

enum { TEN_POWER_MAX = 18, DIGITS_MAX = 77 };

static struct lmn__wide plus(const struct lmn__wide *a, const struct lmn__wide *b)
{
    struct lmn__wide out;
    u128 carry = 0;

    for (int i = 0; i < 4; i++) {
        carry += (u128)a->word[i] + b->word[i];
        out.word[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return out;
}

static struct lmn__wide minus(const struct lmn__wide *a)
{
    struct lmn__wide flipped, one = { { 1, 0, 0, 0 } };

    for (int i = 0; i < 4; i++)
        flipped.word[i] = ~a->word[i];
    return plus(&flipped, &one);
}

static struct lmn__wide magnitude(const struct lmn__wide *a)
{
    return lmn__wide_is_negative(a) ? minus(a) : *a;
}

/* An unsigned magnitude with a sign; false when it does not fit. */
static bool with_sign(const struct lmn__wide *a, bool negative, struct lmn__wide *out)
{
    *out = negative ? minus(a) : *a;
    return lmn__wide_is_negative(out) == negative ||
           (a->word[0] | a->word[1] | a->word[2] | a->word[3]) == 0;
}

/* a *= by, unsigned; false on overflow. */
static bool multiply_word(struct lmn__wide *a, uint64_t by)
{
    u128 carry = 0;

    for (int i = 0; i < 4; i++) {
        carry += (u128)a->word[i] * by;
        a->word[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}

/* a /= by, unsigned; returns the rest. */
static uint64_t divide_word(struct lmn__wide *a, uint64_t by)
{
    u128 rest = 0;

    for (int i = 3; i >= 0; i--) {
        rest = rest << 64 | a->word[i];
        a->word[i] = (uint64_t)(rest / by);
        rest %= by;
    }
    return (uint64_t)rest;
}

bool lmn__wide_add(const struct lmn__wide *a, const struct lmn__wide *b, struct lmn__wide *out)
{
    bool a_negative = lmn__wide_is_negative(a), b_negative = lmn__wide_is_negative(b);

    *out = plus(a, b);
    return a_negative != b_negative || lmn__wide_is_negative(out) == a_negative;
}

bool lmn__wide_subtract(const struct lmn__wide *a, const struct lmn__wide *b, struct lmn__wide *out)
{
    struct lmn__wide opposite = minus(b);
    bool a_negative = lmn__wide_is_negative(a), b_negative = lmn__wide_is_negative(b);

    *out = plus(a, &opposite);
    return a_negative == b_negative || lmn__wide_is_negative(out) == a_negative;
}

bool lmn__wide_negate(const struct lmn__wide *a, struct lmn__wide *out)
{
    struct lmn__wide zero = { { 0 } };

    return lmn__wide_subtract(&zero, a, out);
}

static bool is_less(const struct lmn__wide *a, const struct lmn__wide *b)
{
    int i = 3;

    while (i > 0 && a->word[i] == b->word[i])
        i--;
    return a->word[i] < b->word[i];
}

/* The next bit of a number that is shifted in from below. */
static void shift_in(struct lmn__wide *a, uint64_t bit)
{
    for (int i = 3; i > 0; i--)
        a->word[i] = a->word[i] << 1 | a->word[i - 1] >> 63;
    a->word[0] = a->word[0] << 1 | bit;
}

/* Magnitudes, bit by bit; the rest stays below b, which is at most 2^255, so nothing is lost. */
static struct lmn__wide divide_bits(const struct lmn__wide *a, const struct lmn__wide *b,
                                    struct lmn__wide *rest)
{
    struct lmn__wide quotient = { { 0 } }, less = minus(b);

    *rest = (struct lmn__wide){ { 0 } };
    for (int i = 255; i >= 0; i--) {
        shift_in(rest, a->word[i / 64] >> i % 64 & 1);
        if (is_less(rest, b))
            continue;
        *rest = plus(rest, &less);
        quotient.word[i / 64] |= 1ull << i % 64;
    }
    return quotient;
}

bool lmn__wide_divide(const struct lmn__wide *a, const struct lmn__wide *b, struct lmn__wide *out,
                      struct lmn__wide *rest_out)
{
    struct lmn__wide x = magnitude(a), y = magnitude(b), rest = { { 0 } };
    bool a_negative = lmn__wide_is_negative(a), b_negative = lmn__wide_is_negative(b);

    if ((y.word[1] | y.word[2] | y.word[3]) == 0)
        rest.word[0] = divide_word(&x, y.word[0]);
    else
        x = divide_bits(&x, &y, &rest);
    *rest_out = a_negative ? minus(&rest) : rest;
    return with_sign(&x, a_negative != b_negative, out);
}

bool lmn__wide_multiply(const struct lmn__wide *a, const struct lmn__wide *b, struct lmn__wide *out)
{
    struct lmn__wide x = magnitude(a), y = magnitude(b), sum = { { 0 } };
    bool fits = true;

    for (int i = 0; i < 4; i++) {
        u128 carry = 0;

        for (int k = 0; k < 4; k++) {
            if (i + k >= 4) {
                fits = fits && (x.word[i] == 0 || y.word[k] == 0);
                continue;
            }
            carry += (u128)x.word[i] * y.word[k] + sum.word[i + k];
            sum.word[i + k] = (uint64_t)carry;
            carry >>= 64;
        }
        fits = fits && carry == 0;
    }
    return with_sign(&sum, lmn__wide_is_negative(a) != lmn__wide_is_negative(b), out) && fits;
}

static bool scale_up(struct lmn__wide *a, uint32_t power)
{
    bool fits = true;

    if ((a->word[0] | a->word[1] | a->word[2] | a->word[3]) == 0)
        return true;
    while (fits && power != 0) {
        uint32_t step = power < TEN_POWER_MAX ? power : TEN_POWER_MAX;

        fits = multiply_word(a, ten_powers[step]);
        power -= step;
    }
    return fits;
}

bool lmn__wide_scale(const struct lmn__wide *a, int32_t power, struct lmn__wide *out,
                     bool *rounded_out)
{
    bool negative = lmn__wide_is_negative(a), rounded = false;
    struct lmn__wide value = magnitude(a);
    uint64_t last = 0;
    struct lmn__wide one = { { 1, 0, 0, 0 } };

    if (rounded_out != NULL)
        *rounded_out = false;
    if (power >= 0)
        return scale_up(&value, (uint32_t)power) && with_sign(&value, negative, out);
    /* Digit by digit, so that the last one cut decides the rounding. */
    for (int32_t i = power < -DIGITS_MAX - 1 ? -DIGITS_MAX - 1 : power; i < 0; i++) {
        last = divide_word(&value, 10);
        rounded = rounded || last != 0;
    }
    if (power < -DIGITS_MAX - 1)
        last = 0;
    if (last >= 5)
        value = plus(&value, &one);
    if (rounded_out != NULL)
        *rounded_out = rounded;
    return with_sign(&value, negative, out);
}

bool lmn__wide_scale_down(const struct lmn__wide *a, uint32_t power, struct lmn__wide *out)
{
    struct lmn__wide value = magnitude(a);

    for (uint32_t i = 0; i < power && i <= DIGITS_MAX; i++)
        divide_word(&value, 10);
    return with_sign(&value, lmn__wide_is_negative(a), out);
}

bool lmn__wide_fits(const struct lmn__wide *a, int32_t precision)
{
    struct lmn__wide value = magnitude(a), limit = { { 1, 0, 0, 0 } };

    if (precision >= DIGITS_MAX || !scale_up(&limit, (uint32_t)precision))
        return true;
    return !lmn__wide_is_negative(&value) && lmn__wide_compare(&value, &limit) < 0;
}

bool lmn__wide_to_i64(const struct lmn__wide *a, int64_t *out)
{
    uint64_t sign = (int64_t)a->word[0] < 0 ? UINT64_MAX : 0;

    *out = (int64_t)a->word[0];
    return a->word[1] == sign && a->word[2] == sign && a->word[3] == sign;
}

bool lmn__wide_to_u64(const struct lmn__wide *a, uint64_t *out)
{
    *out = a->word[0];
    return (a->word[1] | a->word[2] | a->word[3]) == 0;
}

double lmn__wide_to_double(const struct lmn__wide *a, int32_t scale)
{
    struct lmn__wide value = magnitude(a);
    double out = 0;

    for (int i = 3; i >= 0; i--)
        out = ldexp(out, 64) + (double)value.word[i];
    if (lmn__wide_is_negative(a))
        out = -out;
    return scale == 0 ? out : scale > 0 ? out / pow(10, scale) : out * pow(10, -scale);
}

bool lmn__wide_from_double(double value, struct lmn__wide *out)
{
    double rest = round(fabs(value));
    struct lmn__wide made;

    if (!(rest < ldexp(1, 255)))
        return false;
    for (int i = 3; i >= 0; i--) {
        double unit = ldexp(1, 64 * i), whole = floor(rest / unit);

        made.word[i] = (uint64_t)whole;
        rest -= whole * unit;
    }
    return with_sign(&made, value < 0, out);
}

/* The exponent of a number as written. Large ones are cut: the number is then 0 or too large. */
static bool parse_exponent(const char *text, size_t len, size_t at, int32_t *exponent_out)
{
    bool negative = at < len && text[at] == '-';
    int32_t value = 0;

    at += at < len && (text[at] == '-' || text[at] == '+');
    if (at == len)
        return false;
    for (; at < len; at++) {
        if (text[at] < '0' || text[at] > '9')
            return false;
        if (value < 100000)
            value = value * 10 + (text[at] - '0');
    }
    *exponent_out = negative ? -value : value;
    return true;
}

bool lmn__wide_parse(const char *text, size_t len, int32_t scale, struct lmn__wide *out,
                     bool *rounded_out)
{
    struct lmn__wide value = { { 0 } };
    bool negative = len != 0 && text[0] == '-', point = false, digits = false, fits = true;
    size_t at = len != 0 && (text[0] == '-' || text[0] == '+');
    int32_t exponent = 0, behind = 0;

    for (; at < len && (text[at] | 0x20) != 'e'; at++) {
        struct lmn__wide digit = { { 0 } };

        if (text[at] == '.' && !point) {
            point = true;
            continue;
        }
        if (text[at] < '0' || text[at] > '9')
            return false;
        digits = true;
        digit.word[0] = (uint64_t)(text[at] - '0');
        fits = fits && value.word[3] <= UINT64_MAX / 10 - 1 && multiply_word(&value, 10);
        value = plus(&value, &digit);
        behind += point;
    }
    if (!digits || (at < len && !parse_exponent(text, len, at + 1, &exponent)) || behind > 1000)
        return false;
    if (!with_sign(&value, negative, &value) || !fits)
        return false;
    return lmn__wide_scale(&value, exponent - behind + scale, out, rounded_out);
}

size_t lmn__wide_print(const struct lmn__wide *a, int32_t scale,
                       char text_out[LMN__WIDE_TEXT_BYTES])
{
    struct lmn__wide value = magnitude(a);
    char digits[DIGITS_MAX + 2];
    size_t used = 0;
    int32_t count = 0;

    do {
        digits[count++] = (char)('0' + divide_word(&value, 10));
    } while ((value.word[0] | value.word[1] | value.word[2] | value.word[3]) != 0);
    if (lmn__wide_is_negative(a))
        text_out[used++] = '-';
    if (scale >= count)
        text_out[used++] = '0';
    for (int32_t i = count - 1; i >= scale && i >= 0; i--)
        text_out[used++] = digits[i];
    for (int32_t i = 0; i > scale; i--)
        text_out[used++] = '0';
    if (scale > 0)
        text_out[used++] = '.';
    for (int32_t i = scale - 1; i >= 0; i--)
        text_out[used++] = i < count ? digits[i] : '0';
    text_out[used] = '\0';
    return used;
}
