/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values are told apart by the format of their schema, as the Arrow C data interface spells it.
 */
#include "value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VIEW_BYTES = 16,
    VIEW_INLINE_MAX = 12,
    HEX_BYTES_MAX = 8,
    PEOPLE_BYTES_MAX = 400, /* of one value; more is never seen */
    DECIMAL_LIMBS = 8
};

struct bytes {
    const uint8_t *data;
    size_t len;
};

bool value_is_null(const struct ArrowArray *array, int64_t row)
{
    const uint8_t *validity = array->n_buffers > 0 ? array->buffers[0] : NULL;
    int64_t at = array->offset + row;

    if (array->n_buffers == 0)
        return array->null_count == array->length; /* the null type; unions have buffers */
    return array->null_count != 0 && validity != NULL && !(validity[at >> 3] >> (at & 7) & 1);
}

/* Is a character written as it is? Controls, also those of terminals beyond ASCII, are not. */
static bool is_plain(uint32_t code)
{
    return code >= 0x20 && code != '"' && code != '\\' && !(code >= 0x7f && code < 0xa0);
}

static void escape_put(struct text *text, uint32_t code)
{
    if (code == '"' || code == '\\')
        text_printf(text, "\\%c", (int)code);
    else if (code == '\n')
        text_put(text, "\\n", 2);
    else if (code == '\t')
        text_put(text, "\\t", 2);
    else if (code == '\r')
        text_put(text, "\\r", 2);
    else
        text_printf(text, "\\u%04x", code);
}

/* Quotes and backslashes stay as they are unless it is for JSON. */
static void put_escaped(struct text *text, const uint8_t *data, size_t len, bool json)
{
    size_t from = 0; /* what lies before it is written */

    for (size_t at = 0, taken; at < len; at += taken) {
        uint32_t code = data[at];
        int width = 1;

        taken = 1;
        if (code >= 0x80)
            taken = utf8_next(data + at, len - at, &code, &width);
        if (width >= 0 && (is_plain(code) || (!json && (code == '"' || code == '\\'))))
            continue;
        text_put(text, data + from, at - from);
        if (width < 0)
            text_put(text, "\xef\xbf\xbd", 3);
        else
            escape_put(text, code);
        from = at + taken;
    }
    text_put(text, data + from, len - from);
}

void json_put_string(struct text *text, const uint8_t *data, size_t len)
{
    text_put(text, "\"", 1);
    put_escaped(text, data, len, true);
    text_put(text, "\"", 1);
}

void people_put_string(struct text *text, const char *string)
{
    put_escaped(text, (const uint8_t *)string, strlen(string), false);
}

void people_put_lines(struct text *text, const char *string)
{
    size_t len = strcspn(string, "\n");

    put_escaped(text, (const uint8_t *)string, len, false);
    if (string[len] == '\n') {
        text_put(text, "\n", 1);
        people_put_lines(text, string + len + 1);
    }
}

const char *people_text(struct text *text, const char *string)
{
    return people_column(text, string, 0);
}

const char *people_column(struct text *text, const char *string, uint32_t width)
{
    uint32_t used;

    text->len = 0;
    people_put_string(text, string);
    used = text_width(text->data, text->len);
    text_printf(text, "%*s", used < width ? (int)(width - used) : 0, "");
    return text->data;
}

static int64_t load_int(const uint8_t *at, size_t width, bool is_signed)
{
    uint64_t value = 0;

    memcpy(&value, at, width);
    if (is_signed && width < 8)
        return (int64_t)(value << (64 - 8 * width)) >> (64 - 8 * width);
    return (int64_t)value;
}

static const uint8_t *fixed_at(const struct ArrowArray *array, int64_t row, size_t width)
{
    return (const uint8_t *)array->buffers[1] + (size_t)(array->offset + row) * width;
}

/* The width of integers and floats, by letter. */
static size_t letter_width(char letter)
{
    switch (letter) {
    case 'c':
    case 'C':
        return 1;
    case 's':
    case 'S':
    case 'e':
        return 2;
    case 'i':
    case 'I':
    case 'f':
        return 4;
    default:
        return 8;
    }
}

static double half_value(uint16_t half)
{
    int exponent = half >> 10 & 31;
    double fraction = half & 1023, sign = half >> 15 ? -1 : 1;

    if (exponent == 31)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent == 0 ? ldexp(fraction, -24) : ldexp(fraction + 1024, exponent - 25));
}

/* The shortest text that reads back as the same number. */
static void float_put(struct text *text, double value, bool is_single, enum value_form form)
{
    char digits[40];

    if (!isfinite(value)) {
        text_printf(text, "%s",
                    form == VALUE_JSON ? "null"
                    : isnan(value)     ? "nan"
                    : value > 0        ? "inf"
                                       : "-inf");
        return;
    }
    for (int precision = is_single ? 6 : 15;; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (precision == (is_single ? 9 : 17) || /* enough for every value */
            (is_single ? strtof(digits, NULL) == (float)value : strtod(digits, NULL) == value))
            break;
    }
    text_printf(text, "%s", digits);
    if (strpbrk(digits, ".e") == NULL)
        text_put(text, ".0", 2);
}

static void number_put(struct text *text, char letter, const struct ArrowArray *array, int64_t row,
                       enum value_form form)
{
    size_t width = letter_width(letter);
    const uint8_t *at = fixed_at(array, row, width);
    float single;
    double real;

    if (letter == 'e') {
        float_put(text, half_value((uint16_t)load_int(at, 2, false)), true, form);
    } else if (letter == 'f') {
        memcpy(&single, at, sizeof single);
        float_put(text, (double)single, true, form);
    } else if (letter == 'g') {
        memcpy(&real, at, sizeof real);
        float_put(text, real, false, form);
    } else if (letter == 'L') {
        text_printf(text, "%llu", (unsigned long long)load_int(at, 8, false));
    } else {
        text_printf(text, "%lld", (long long)load_int(at, width, strchr("csil", letter) != NULL));
    }
}

static struct bytes bytes_at(const char *format, const struct ArrowArray *array, int64_t row)
{
    int64_t at = array->offset + row;
    const uint8_t *view;
    size_t width, len;

    if (format[0] == 'w') {
        width = (size_t)atoi(format + 2);
        return (struct bytes){ fixed_at(array, row, width), width };
    }
    if (format[0] == 'v') {
        view = fixed_at(array, row, VIEW_BYTES);
        len = (size_t)load_int(view, 4, false);
        if (len <= VIEW_INLINE_MAX)
            return (struct bytes){ view + 4, len };
        return (struct bytes){ (const uint8_t *)array->buffers[2 + load_int(view + 8, 4, false)] +
                                   load_int(view + 12, 4, false),
                               len };
    }
    width = format[0] == 'u' || format[0] == 'z' ? 4 : 8;
    view = (const uint8_t *)array->buffers[1] + (size_t)at * width;
    return (struct bytes){ (const uint8_t *)array->buffers[2] + load_int(view, width, true),
                           (size_t)(load_int(view + width, width, true) -
                                    load_int(view, width, true)) };
}

static void base64_put(struct text *text, struct bytes bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    text_put(text, "\"", 1);
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t have = bytes.len - i < 3 ? bytes.len - i : 3;
        uint32_t word = (uint32_t)bytes.data[i] << 16;
        char quad[4];

        word |= have > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        word |= have > 2 ? bytes.data[i + 2] : 0;
        for (size_t k = 0; k < 4; k++)
            quad[k] = k <= have ? digits[word >> (18 - 6 * k) & 63] : '=';
        text_put(text, quad, sizeof quad);
    }
    text_put(text, "\"", 1);
}

static void binary_put(struct text *text, struct bytes bytes, enum value_form form)
{
    if (form == VALUE_JSON) {
        base64_put(text, bytes);
        return;
    }
    text_printf(text, "<%zu byte%s", bytes.len, bytes.len == 1 ? "" : "s");
    for (size_t i = 0; i < bytes.len && i < HEX_BYTES_MAX; i++)
        text_printf(text, "%s%02x", i == 0 ? ": " : "", bytes.data[i]);
    text_printf(text, "%s>", bytes.len > HEX_BYTES_MAX ? "..." : "");
}

static void string_put(struct text *text, struct bytes bytes, enum value_form form)
{
    if (form == VALUE_PEOPLE && bytes.len > PEOPLE_BYTES_MAX)
        bytes.len = PEOPLE_BYTES_MAX;
    json_put_string(text, bytes.data, bytes.len);
}

/* An integer of 32 to 256 bits with a point `scale` digits from its end. */
static void decimal_put(struct text *text, const char *format, const struct ArrowArray *array,
                        int64_t row, enum value_form form)
{
    const char *comma = strchr(format, ','),
               *second = comma != NULL ? strchr(comma + 1, ',') : NULL;
    int scale = comma != NULL ? atoi(comma + 1) : 0, bits = second != NULL ? atoi(second + 1) : 128;
    size_t width = (size_t)bits / 8, limbs = width / 4;
    const uint8_t *at = fixed_at(array, row, width);
    uint32_t limb[DECIMAL_LIMBS];
    char digits[96];
    int count = 0;
    bool negative = at[width - 1] >> 7 != 0, more = true;
    uint64_t carry = 1;

    memcpy(limb, at, width);
    for (size_t i = 0; negative && i < limbs; i++) {
        carry += (uint32_t)~limb[i];
        limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    while ((more || count <= scale) && count < (int)sizeof digits) {
        uint64_t rest = 0;

        more = false;
        for (size_t i = limbs; i-- > 0;) {
            rest = rest << 32 | limb[i];
            limb[i] = (uint32_t)(rest / 10);
            rest %= 10;
            more = more || limb[i] != 0;
        }
        digits[count++] = (char)('0' + rest);
    }
    text_printf(text, "%s%s", form == VALUE_JSON ? "\"" : "", negative ? "-" : "");
    while (count-- > 0) {
        text_put(text, &digits[count], 1);
        if (count == scale && scale > 0)
            text_put(text, ".", 1);
    }
    for (int i = scale; i < 0; i++)
        text_put(text, "0", 1);
    if (form == VALUE_JSON)
        text_put(text, "\"", 1);
}

/* Divide, rounding down. */
static int64_t floor_div(int64_t a, int64_t b, int64_t *rest_out)
{
    int64_t quotient = a / b - (a % b < 0);

    *rest_out = a - quotient * b;
    return quotient;
}

static void date_put(struct text *text, int64_t days)
{
    int64_t day_of_era, era = floor_div(days + 719468, 146097, &day_of_era);
    int64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    int64_t month = (5 * day_of_year + 2) / 153; /* from March */
    int64_t year = year_of_era + era * 400 + (month >= 10);

    text_printf(text, year > 9999 ? "+%lld-%02lld-%02lld" : "%04lld-%02lld-%02lld", (long long)year,
                (long long)(month < 10 ? month + 3 : month - 9),
                (long long)(day_of_year - (153 * month + 2) / 5 + 1));
}

/* A time of day in units of which a second has `per_second`. */
static void time_put(struct text *text, int64_t value, int64_t per_second)
{
    int64_t fraction, seconds = floor_div(value, per_second, &fraction);
    int digits = per_second == 1 ? 0 : per_second == 1000 ? 3 : per_second == 1000000 ? 6 : 9;

    text_printf(text, "%02lld:%02lld:%02lld", (long long)(seconds / 3600),
                (long long)(seconds / 60 % 60), (long long)(seconds % 60));
    if (digits != 0)
        text_printf(text, ".%0*lld", digits, (long long)fraction);
}

static int64_t per_second_of(char unit)
{
    return unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : 1000000000;
}

/* Dates, times, timestamps, durations. */
static void temporal_put(struct text *text, const char *format, const struct ArrowArray *array,
                         int64_t row, enum value_form form)
{
    bool narrow = strcmp(format, "tdD") == 0 || strcmp(format, "tts") == 0 ||
                  strcmp(format, "ttm") == 0;
    int64_t value = load_int(fixed_at(array, row, narrow ? 4 : 8), narrow ? 4 : 8, true);
    int64_t per_second = per_second_of(format[2]), rest;
    const char *quote = form == VALUE_JSON ? "\"" : "";

    if (format[1] == 'D') {
        text_printf(text, "%lld", (long long)value);
        if (form == VALUE_PEOPLE)
            text_printf(text, " %c%s", format[2], format[2] == 's' ? "" : "s");
        return;
    }
    text_printf(text, "%s", quote);
    if (format[1] == 'd') {
        date_put(text, format[2] == 'D' ? value : floor_div(value, 86400000, &rest));
    } else if (format[1] == 't') {
        time_put(text, value, per_second);
    } else {
        date_put(text, floor_div(value, 86400 * per_second, &rest));
        text_put(text, "T", 1);
        time_put(text, rest, per_second);
        if (format[3] == ':' && format[4] != '\0')
            text_put(text, "Z", 1); /* values of a zone are in UTC */
    }
    text_printf(text, "%s", quote);
}

/* Items [from, to) of the child of a list. */
static void items_put(struct text *text, const struct ArrowSchema *schema,
                      const struct ArrowArray *array, int64_t from, int64_t to,
                      enum value_form form)
{
    size_t start = text->len;

    text_put(text, "[", 1);
    for (int64_t i = from; i < to; i++) {
        if (i != from)
            text_put(text, form == VALUE_JSON ? "," : ", ", form == VALUE_JSON ? 1 : 2);
        if (form == VALUE_PEOPLE && text->len - start > PEOPLE_BYTES_MAX) {
            text_put(text, "...", 3);
            break;
        }
        value_put(text, schema->children[0], array->children[0], i, form);
    }
    text_put(text, "]", 1);
}

static void list_put(struct text *text, const struct ArrowSchema *schema,
                     const struct ArrowArray *array, int64_t row, enum value_form form)
{
    int64_t at = array->offset + row, items;
    size_t width = schema->format[1] == 'L' ? 8 : 4;
    const uint8_t *offset;

    if (schema->format[1] == 'w') {
        items = atoll(schema->format + 3);
        items_put(text, schema, array, at * items, (at + 1) * items, form);
        return;
    }
    offset = (const uint8_t *)array->buffers[1] + (size_t)at * width;
    items_put(text, schema, array, load_int(offset, width, true),
              load_int(offset + width, width, true), form);
}

static void struct_put(struct text *text, const struct ArrowSchema *schema,
                       const struct ArrowArray *array, int64_t row, enum value_form form)
{
    text_put(text, "{", 1);
    for (int64_t i = 0; i < schema->n_children; i++) {
        const char *name = schema->children[i]->name != NULL ? schema->children[i]->name : "";

        if (i != 0)
            text_put(text, form == VALUE_JSON ? "," : ", ", form == VALUE_JSON ? 1 : 2);
        if (form == VALUE_JSON)
            json_put_string(text, (const uint8_t *)name, strlen(name));
        else
            people_put_string(text, name);
        text_put(text, form == VALUE_JSON ? ":" : ": ", form == VALUE_JSON ? 1 : 2);
        value_put(text, schema->children[i], array->children[i], array->offset + row, form);
    }
    text_put(text, "}", 1);
}

void value_put(struct text *text, const struct ArrowSchema *schema, const struct ArrowArray *array,
               int64_t row, enum value_form form)
{
    const char *format = schema->format;

    if (value_is_null(array, row) || format[0] == 'n') {
        text_put(text, "null", 4);
    } else if (schema->dictionary != NULL) {
        size_t width = letter_width(format[0]);

        value_put(text, schema->dictionary, array->dictionary,
                  load_int(fixed_at(array, row, width), width, strchr("csil", format[0]) != NULL),
                  form);
    } else if (format[0] == 'b') {
        int64_t at = array->offset + row;

        text_printf(text, "%s",
                    ((const uint8_t *)array->buffers[1])[at >> 3] >> (at & 7) & 1 ? "true"
                                                                                  : "false");
    } else if (strlen(format) == 1 && strchr("cCsSiIlLefg", format[0]) != NULL) {
        number_put(text, format[0], array, row, form);
    } else if (format[0] == 'u' || format[0] == 'U' || strcmp(format, "vu") == 0) {
        string_put(text, bytes_at(format, array, row), form);
    } else if (format[0] == 'z' || format[0] == 'Z' || format[0] == 'v' || format[0] == 'w') {
        binary_put(text, bytes_at(format, array, row), form);
    } else if (format[0] == 'd') {
        decimal_put(text, format, array, row, form);
    } else if (format[0] == 't' && format[1] != 'i') {
        temporal_put(text, format, array, row, form);
    } else if (strcmp(format, "+s") == 0) {
        struct_put(text, schema, array, row, form);
    } else if (strncmp(format, "+l", 2) == 0 || strncmp(format, "+L", 2) == 0 ||
               strncmp(format, "+w", 2) == 0 || strncmp(format, "+m", 2) == 0) {
        list_put(text, schema, array, row, form);
    } else {
        text_printf(text, form == VALUE_JSON ? "null" : "?");
    }
}
