/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "expr/calendar.h"
#include "expr/cast.h"
#include "expr/interval.h"
#include "expr/wide.h"

enum { DAY_SECONDS = 86400, TEXT_SHOWN = 90 };

/* Without blanks around it. */
static struct lmn__span trimmed(struct lmn__span text)
{
    while (text.len != 0 && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (struct lmn__span){ text.data + 1, text.len - 1 };
    while (text.len != 0 && (text.data[text.len - 1] == ' ' || text.data[text.len - 1] == '\t'))
        text.len--;
    return text;
}

static bool is_word(struct lmn__span text, const char *word)
{
    size_t len = strlen(word);

    if (text.len != len)
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((text.data[i] | 0x20) != (uint8_t)word[i])
            return false;
    }
    return true;
}

static bool parse_bool(struct lmn__span text, bool *out)
{
    static const char *const yes[] = { "true", "t", "yes", "y", "on" };
    static const char *const no[] = { "false", "f", "no", "n", "off" };

    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        *out = is_word(text, yes[i]);
        if (*out || is_word(text, no[i]))
            return true;
    }
    *out = text.len == 1 && text.data[0] == '1';
    return *out || (text.len == 1 && text.data[0] == '0');
}

/* What strtod() takes, less its hexadecimal numbers and whatever follows. */
static bool parse_double(struct lmn__span text, double *out)
{
    char copy[400];
    char *end;

    if (text.len == 0 || text.len >= sizeof copy)
        return false;
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    for (size_t i = 0; i < text.len; i++) {
        if ((copy[i] | 0x20) == 'x' || copy[i] == '(' || copy[i] == '\0')
            return false;
    }
    *out = strtod(copy, &end);
    return end == copy + text.len;
}

/* The moment in the clock of the target: UTC for one with a zone. */
static bool parse_moment(const struct lmn__cast *cast, struct lmn__span text, int64_t *out)
{
    const struct lmn__type *to = cast->to;
    struct lmn__moment moment;
    bool cut;

    if (!lmn__moment_parse(text, &moment))
        return false;
    if (to->kind == LMN__KIND_DATE32 || to->kind == LMN__KIND_DATE64) {
        *out = to->kind == LMN__KIND_DATE32 ? moment.days : moment.days * DAY_SECONDS * 1000;
        return !(cast->exact && (moment.seconds != 0 || moment.nanos != 0));
    }
    if (cast->zone != NULL && !moment.has_zone) {
        moment.seconds = lmn__zone_to_utc(cast->zone, moment.days * DAY_SECONDS + moment.seconds);
        moment.days = 0;
    }
    return lmn__moment_to_units(&moment, to->unit, out, &cut) && !(cast->exact && cut);
}

static bool parse_clock(struct lmn__span text, const struct lmn__type *to, int64_t *out)
{
    int64_t seconds, nanos, rate = lmn__unit_rate(to->unit);

    if (!lmn__clock_parse(text, &seconds, &nanos))
        return false;
    *out = seconds * rate + nanos / (1000000000 / rate);
    return true;
}

/* One text as a value of a type counted in whole numbers. */
static bool parse_integer(const struct lmn__cast *cast, struct lmn__span text,
                          struct lmn__wide *out)
{
    int64_t value;
    bool rounded;

    switch (cast->to->kind) {
    case LMN__KIND_DATE32:
    case LMN__KIND_DATE64:
    case LMN__KIND_TIMESTAMP:
        if (!parse_moment(cast, text, &value))
            return false;
        break;
    case LMN__KIND_TIME32:
    case LMN__KIND_TIME64:
        if (!parse_clock(text, cast->to, &value))
            return false;
        break;
    default:
        return lmn__wide_parse((const char *)text.data, text.len, 0, out, &rounded) && !rounded &&
               memchr(text.data, '.', text.len) == NULL;
    }
    *out = lmn__wide_from_i64(value);
    return true;
}

/* Does a 256-bit number fit the form? Stores it when it does. */
static bool store_integer(enum lmn__form form, const struct lmn__wide *wide, void *values,
                          uint32_t i)
{
    int64_t value = 0;

    if (form == LMN__FORM_U64)
        return lmn__wide_to_u64(wide, (uint64_t *)values + i);
    if (!lmn__wide_to_i64(wide, &value))
        return false;
    switch (form) {
#define STORE(FORM, T)                                                                             \
    case LMN__FORM_##FORM:                                                                         \
        ((T *)values)[i] = (T)value;                                                               \
        return (int64_t)(T)value == value && (LMN__IS_SIGNED(T) || value >= 0);
        LMN__INTEGER_FORMS(STORE)
    default:
        return false;
    }
}

static bool cast_one(struct lmn__cast *cast, struct lmn__span text, uint32_t i)
{
    enum lmn__form form = lmn__type_form(cast->to);
    struct lmn__wide wide;
    bool flag, rounded;
    double value;

    switch (form) {
    case LMN__FORM_BITS:
        if (!parse_bool(text, &flag))
            return false;
        lmn__bit_put(cast->values, i, flag);
        return true;
    case LMN__FORM_F32:
    case LMN__FORM_F64:
        if (!parse_double(text, &value))
            return false;
        if (form == LMN__FORM_F32)
            ((float *)cast->values)[i] = (float)value;
        else
            ((double *)cast->values)[i] = value;
        return true;
    case LMN__FORM_WIDE:
        if (!lmn__wide_parse((const char *)text.data, text.len, cast->to->scale, &wide, &rounded) ||
            !lmn__wide_fits(&wide, cast->to->precision) || (rounded && cast->exact))
            return false;
        ((struct lmn__wide *)cast->values)[i] = wide;
        return true;
    case LMN__FORM_INTERVAL:
        return lmn__interval_parse(text, (struct lmn__interval *)cast->values + i);
    default:
        return parse_integer(cast, text, &wide) && store_integer(form, &wide, cast->values, i);
    }
}

void lmn__cast_from_text(struct lmn__cast *cast)
{
    const struct lmn__span *spans = cast->arg->values;
    enum lmn__form form = lmn__type_form(cast->to);

    memset(cast->values, 0,
           form == LMN__FORM_BITS ? lmn__bits_bytes(cast->rows)
                                  : (size_t)cast->rows * lmn__form_bytes(form));
    for (uint32_t i = 0; i < cast->rows; i++) {
        struct lmn__span text = trimmed(spans[i]);

        cast->bad[i] = text.len == 0 || !cast_one(cast, text, i);
    }
}

/* The shortest digits that read back as the same number. */
static size_t print_float(double value, bool single, char *text_out)
{
    int len = 0, most = single ? 9 : 17;

    if (isnan(value))
        return (size_t)snprintf(text_out, LMN__VALUE_TEXT_BYTES, "NaN");
    if (isinf(value))
        return (size_t)snprintf(text_out, LMN__VALUE_TEXT_BYTES, value < 0 ? "-inf" : "inf");
    for (int digits = single ? 6 : 15; digits <= most; digits++) {
        double back;

        len = snprintf(text_out, LMN__VALUE_TEXT_BYTES, "%.*g", digits, value);
        back = strtod(text_out, NULL);
        if (single ? (float)back == (float)value : back == value)
            break;
    }
    if (strpbrk(text_out, ".e") == NULL)
        len += snprintf(text_out + len, (size_t)(LMN__VALUE_TEXT_BYTES - len), ".0");
    return (size_t)len;
}

/* On a clock that is `offset` seconds ahead of UTC; a type without a zone has no distance. */
static size_t print_stamp(const struct lmn__type *type, int64_t value, int64_t offset,
                          char *text_out)
{
    int64_t rate = lmn__unit_rate(type->unit), shown;
    int ahead = (int)llabs(offset);
    size_t len;

    if (__builtin_add_overflow(value, offset * rate, &shown))
        shown = value;
    len = lmn__timestamp_print(shown, type->unit, text_out);
    if (type->zone == NULL)
        return len;
    if (offset == 0)
        return len + (size_t)snprintf(text_out + len, 8, "Z");
    len += (size_t)snprintf(text_out + len, 16, "%c%02d:%02d", offset < 0 ? '-' : '+', ahead / 3600,
                            ahead / 60 % 60);
    return ahead % 60 == 0 ? len : len + (size_t)snprintf(text_out + len, 8, ":%02d", ahead % 60);
}

static size_t print_integer(const struct lmn__type *type, int64_t value, char *text_out)
{
    int64_t offset = 0;

    switch (type->kind) {
    case LMN__KIND_DATE32:
        return lmn__date_print(value, text_out);
    case LMN__KIND_DATE64:
        return lmn__date_print(lmn__floor_div(value, 86400000), text_out);
    case LMN__KIND_TIME32:
    case LMN__KIND_TIME64:
        return lmn__clock_print(value, type->unit, text_out);
    case LMN__KIND_TIMESTAMP:
        if (type->zone != NULL)
            (void)lmn__zone_offset(type->zone, &offset);
        return print_stamp(type, value, offset, text_out);
    default:
        return (size_t)snprintf(text_out, LMN__VALUE_TEXT_BYTES, "%lld", (long long)value);
    }
}

/* The beginning of a long text, up to a whole character. */
static size_t print_text(struct lmn__span text, char text_out[LMN__VALUE_TEXT_BYTES])
{
    size_t len = text.len < TEXT_SHOWN ? text.len : TEXT_SHOWN;

    for (int i = 0; i < 3 && len != 0 && len < text.len && (text.data[len] & 0xc0) == 0x80; i++)
        len--;
    return (size_t)snprintf(text_out, LMN__VALUE_TEXT_BYTES, "'%.*s%s'", (int)len,
                            len != 0 ? (const char *)text.data : "", len < text.len ? "..." : "");
}

size_t lmn__value_print(const struct lmn__type *type, const void *values, uint32_t i,
                        char text_out[LMN__VALUE_TEXT_BYTES])
{
    switch (lmn__type_form(type)) {
    case LMN__FORM_BITS:
        return (size_t)snprintf(text_out, LMN__VALUE_TEXT_BYTES,
                                lmn__bit_get(values, i) ? "true" : "false");
    case LMN__FORM_U64:
        return (size_t)snprintf(text_out, LMN__VALUE_TEXT_BYTES, "%llu",
                                (unsigned long long)((const uint64_t *)values)[i]);
    case LMN__FORM_F32:
        return print_float((double)((const float *)values)[i], true, text_out);
    case LMN__FORM_F64:
        return print_float(((const double *)values)[i], false, text_out);
    case LMN__FORM_WIDE:
        return lmn__wide_print((const struct lmn__wide *)values + i, type->scale, text_out);
    case LMN__FORM_SPAN:
        return print_text(((const struct lmn__span *)values)[i], text_out);
    case LMN__FORM_INTERVAL:
        return lmn__interval_print((const struct lmn__interval *)values + i, text_out);
#define PRINT(FORM, T)                                                                             \
    case LMN__FORM_##FORM:                                                                         \
        return print_integer(type, (int64_t)((const T *)values)[i], text_out);
        PRINT(I8, int8_t)
        PRINT(I16, int16_t)
        PRINT(I32, int32_t)
        PRINT(I64, int64_t)
        PRINT(U8, uint8_t)
        PRINT(U16, uint16_t)
        PRINT(U32, uint32_t)
    default:
        return (size_t)snprintf(text_out, LMN__VALUE_TEXT_BYTES, "null");
    }
}

/* Digits of a whole number from the end of `text` backwards; returns the first. */
static uint8_t *print_digits(int64_t value, uint8_t *end)
{
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do {
        *--end = (uint8_t)('0' + left % 10);
        left /= 10;
    } while (left != 0);
    if (value < 0)
        *--end = '-';
    return end;
}

enum { DIGITS_MAX = 20 };

/* Whole numbers, which are printed often, without the detour of formats. */
static enum lmn_status integers_to_text(struct lmn__cast *cast, struct lmn__span *spans)
{
    enum lmn__form form = lmn__type_form(cast->from);
    uint8_t *text, *end;
    enum lmn_status st = lmn__slate_take(cast->frame->slate, (uint64_t)cast->rows * DIGITS_MAX,
                                         &text, cast->frame->err);

    if (st != LMN_OK)
        return st;
    end = text;
    for (uint32_t i = 0; i < cast->rows; i++) {
        int64_t value = 0;
        uint8_t *first;

        switch (form) {
#define WIDEN(FORM, T)                                                                             \
    case LMN__FORM_##FORM:                                                                         \
        value = (int64_t)((const T *)cast->arg->values)[i];                                        \
        break;
            LMN__INTEGER_FORMS(WIDEN)
        default:
            break;
        }
        end += DIGITS_MAX;
        first = print_digits(value, end);
        spans[i] = (struct lmn__span){ first, (size_t)(end - first) };
    }
    return LMN_OK;
}

enum lmn_status lmn__cast_to_text(struct lmn__cast *cast)
{
    struct lmn__span *spans = cast->values;
    char text[LMN__VALUE_TEXT_BYTES];

    memset(cast->bad, 0, cast->rows);
    if (lmn__type_is_integer(cast->from) && cast->from->kind != LMN__KIND_U64)
        return integers_to_text(cast, spans);
    for (uint32_t i = 0; i < cast->rows; i++) {
        uint8_t *copy;
        size_t len;
        enum lmn_status st;

        spans[i] = LMN__NO_TEXT;
        if (lmn__vector_is_null(cast->arg, i))
            continue;
        if (cast->zone != NULL) {
            int64_t value = ((const int64_t *)cast->arg->values)[i];
            int64_t seconds = lmn__floor_div(value, lmn__unit_rate(cast->from->unit));

            len = print_stamp(cast->from, value, lmn__zone_offset_at(cast->zone, seconds), text);
        } else {
            len = lmn__value_print(cast->from, cast->arg->values, i, text);
        }
        st = lmn__slate_take(cast->frame->slate, len, &copy, cast->frame->err);
        if (st != LMN_OK)
            return st;
        memcpy(copy, text, len);
        spans[i] = (struct lmn__span){ copy, len };
    }
    return LMN_OK;
}
