/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types are told apart by the format that the Arrow C data interface has for them. A value takes a
 * few hundred bytes at most: of long ones the beginning is shown and how long they are, lists and
 * structs show their first members, and nothing is shown below the third level.
 */
#include "arrow/show.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/view.h"

enum {
    CHARS_MAX = 200,  /* longer texts and binaries are cut ... */
    CHARS_SHOWN = 64, /* ... to this */
    ITEMS_SHOWN = 8,
    DEPTH_MAX = 3,
    REAL_BYTES = 40
};

static void show(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t i,
                 uint32_t depth, struct lmn__buf *buf);

/* Bytes of the character at the front; 0: this is no UTF-8. */
static size_t char_bytes(const uint8_t *at, size_t left)
{
    size_t bytes = *at < 0x80   ? 1
                   : *at < 0xc2 ? 0
                   : *at < 0xe0 ? 2
                   : *at < 0xf0 ? 3
                   : *at < 0xf5 ? 4
                                : 0;

    for (size_t i = 1; i < bytes; i++) {
        if (i >= left || (at[i] & 0xc0) != 0x80)
            return 0;
    }
    return bytes;
}

static void put_char(struct lmn__buf *buf, const uint8_t *at, size_t bytes)
{
    if (bytes > 1 || (*at >= 0x20 && *at < 0x7f && *at != '\'' && *at != '\\'))
        lmn__buf_put(buf, at, bytes > 0 ? bytes : 1);
    else if (*at == '\'' || *at == '\\')
        lmn__buf_printf(buf, "\\%c", *at);
    else if (*at == '\n')
        lmn__buf_put(buf, "\\n", 2);
    else
        lmn__buf_printf(buf, "\\x%02x", *at);
}

static void show_text(struct lmn__span text, struct lmn__buf *buf)
{
    size_t chars = 0, most;

    for (size_t at = 0; at < text.len; at++)
        chars += (text.data[at] & 0xc0) != 0x80;
    most = chars > CHARS_MAX ? CHARS_SHOWN : SIZE_MAX;
    lmn__buf_put_u8(buf, '\'');
    for (size_t at = 0, shown = 0; at < text.len && shown < most; shown++) {
        size_t bytes = char_bytes(text.data + at, text.len - at);

        put_char(buf, text.data + at, bytes);
        at += bytes > 0 ? bytes : 1;
    }
    lmn__buf_put_u8(buf, '\'');
    if (most != SIZE_MAX)
        lmn__buf_printf(buf, "… (%zu characters)", chars);
}

static void show_binary(struct lmn__span bytes, struct lmn__buf *buf)
{
    size_t shown = bytes.len > CHARS_MAX ? CHARS_SHOWN : bytes.len;

    lmn__buf_put(buf, "b'", 2);
    for (size_t at = 0; at < shown; at++)
        put_char(buf, bytes.data + at, bytes.data[at] < 0x80 ? 1 : 0);
    lmn__buf_put_u8(buf, '\'');
    if (shown < bytes.len)
        lmn__buf_printf(buf, "… (%zu bytes)", bytes.len);
}

/* The shortest spelling that gives the same number. */
static void show_real(double value, bool single, struct lmn__buf *buf)
{
    char text[REAL_BYTES];

    if (!isfinite(value)) {
        lmn__buf_printf(buf, "%s", isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
        return;
    }
    for (int digits = single ? FLT_DIG : DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (single ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value)
            break;
    }
    lmn__buf_printf(buf, "%s%s", text, strpbrk(text, ".e") == NULL ? ".0" : "");
}

static double half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double value = exponent == 0    ? ldexp(fraction, -24)
                   : exponent == 31 ? (fraction == 0 ? (double)INFINITY : (double)NAN)
                                    : ldexp(fraction + 1024, exponent - 25);

    return half >> 15 ? -value : value;
}

static const uint8_t *value_at(const struct ArrowArray *array, uint64_t i, size_t width)
{
    return (const uint8_t *)array->buffers[1] + ((uint64_t)array->offset + i) * width;
}

/* A number of a format of one letter. */
static void show_number(char format, const struct ArrowArray *array, uint64_t i,
                        struct lmn__buf *buf)
{
    float single;
    double real;

    switch (format) {
    case 'c':
        lmn__buf_printf(buf, "%d", (int8_t)*value_at(array, i, 1));
        break;
    case 'C':
        lmn__buf_printf(buf, "%u", *value_at(array, i, 1));
        break;
    case 's':
        lmn__buf_printf(buf, "%d", (int16_t)lmn__load_u16(value_at(array, i, 2)));
        break;
    case 'S':
        lmn__buf_printf(buf, "%u", lmn__load_u16(value_at(array, i, 2)));
        break;
    case 'i':
        lmn__buf_printf(buf, "%d", (int32_t)lmn__load_u32(value_at(array, i, 4)));
        break;
    case 'I':
        lmn__buf_printf(buf, "%u", lmn__load_u32(value_at(array, i, 4)));
        break;
    case 'l':
        lmn__buf_printf(buf, "%lld", (long long)lmn__load_u64(value_at(array, i, 8)));
        break;
    case 'L':
        lmn__buf_printf(buf, "%llu", (unsigned long long)lmn__load_u64(value_at(array, i, 8)));
        break;
    case 'e':
        show_real(half_value(lmn__load_u16(value_at(array, i, 2))), true, buf);
        break;
    case 'f':
        memcpy(&single, value_at(array, i, sizeof single), sizeof single);
        show_real((double)single, true, buf);
        break;
    default:
        memcpy(&real, value_at(array, i, sizeof real), sizeof real);
        show_real(real, false, buf);
    }
}

/* Dates, times and durations: a number of units, which the format's third letter names. */
static void show_time(const char *format, const struct ArrowArray *array, uint64_t i,
                      struct lmn__buf *buf)
{
    bool narrow = strcmp(format, "tdD") == 0 || strcmp(format, "tts") == 0 ||
                  strcmp(format, "ttm") == 0;

    show_number(narrow ? 'i' : 'l', array, i, buf);
    lmn__buf_printf(buf, " %s",
                    format[2] == 'D'   ? "days"
                    : format[2] == 's' ? "s"
                    : format[2] == 'u' ? "us"
                    : format[2] == 'n' ? "ns"
                                       : "ms");
}

/* Items [first, first + count) of a list. */
static void show_items(const struct ArrowSchema *schema, const struct ArrowArray *items,
                       uint64_t first, uint64_t count, uint32_t depth, struct lmn__buf *buf)
{
    lmn__buf_put_u8(buf, '[');
    for (uint64_t i = 0; i < count && i < ITEMS_SHOWN; i++) {
        lmn__buf_printf(buf, "%s", i > 0 ? ", " : "");
        show(schema->children[0], items, first + i, depth + 1, buf);
    }
    if (count > ITEMS_SHOWN)
        lmn__buf_printf(buf, ", … (%llu items)", (unsigned long long)count);
    lmn__buf_put_u8(buf, ']');
}

static void show_list(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t i,
                      uint32_t depth, struct lmn__buf *buf)
{
    const struct ArrowArray *items = array->children[0];
    uint32_t width = schema->format[1] == 'L' ? 8 : 4;
    uint64_t first, count;

    if (schema->format[1] == 'w') {
        count = strtoull(schema->format + 3, NULL, 10);
        first = ((uint64_t)array->offset + i) * count;
    } else {
        first = lmn__view_offset(array, width, i);
        count = lmn__view_offset(array, width, i + 1) - first;
    }
    show_items(schema, items, first, count, depth, buf);
}

static void show_struct(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        uint64_t i, uint32_t depth, struct lmn__buf *buf)
{
    lmn__buf_put_u8(buf, '{');
    for (int64_t k = 0; k < schema->n_children && k < ITEMS_SHOWN; k++) {
        lmn__buf_printf(buf, "%s'%.100s': ", k > 0 ? ", " : "", schema->children[k]->name);
        show(schema->children[k], array->children[k], (uint64_t)array->offset + i, depth + 1, buf);
    }
    lmn__buf_printf(buf, "%s}", schema->n_children > ITEMS_SHOWN ? ", …" : "");
}

/* A value of a dictionary is shown as itself. */
static void show_entry(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t i,
                       uint32_t depth, struct lmn__buf *buf)
{
    size_t width = strchr("cC", schema->format[0]) != NULL   ? 1
                   : strchr("sS", schema->format[0]) != NULL ? 2
                   : strchr("iI", schema->format[0]) != NULL ? 4
                                                             : 8;
    uint64_t index = 0;

    for (size_t k = 0; k < width; k++)
        index |= (uint64_t)value_at(array, i, width)[k] << 8 * k;
    show(schema->dictionary, array->dictionary, index, depth, buf);
}

static void show_bytes(const char *format, const struct ArrowArray *array, uint64_t i,
                       struct lmn__buf *buf)
{
    const struct lmn__layout layout = { .kind = LMN__LAYOUT_VARIABLE,
                                        .bits = strchr("UZ", format[0]) != NULL ? 64 : 32 };

    if (format[0] == 'w') {
        size_t width = strtoull(format + 2, NULL, 10);

        show_binary((struct lmn__span){ value_at(array, i, width), width }, buf);
    } else if (strchr("uU", format[0]) != NULL) {
        show_text(lmn__view_bytes(&layout, array, i), buf);
    } else {
        show_binary(lmn__view_bytes(&layout, array, i), buf);
    }
}

static void show(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t i,
                 uint32_t depth, struct lmn__buf *buf)
{
    const char *format = schema->format;

    if (format[0] == 'n' || lmn__view_is_null(array, i))
        lmn__buf_put(buf, "None", 4);
    else if (depth == DEPTH_MAX)
        lmn__buf_put(buf, "…", strlen("…"));
    else if (schema->dictionary != NULL)
        show_entry(schema, array, i, depth, buf);
    else if (format[0] == 'b')
        lmn__buf_printf(buf, "%s",
                        lmn__bit_get(array->buffers[1], (uint64_t)array->offset + i) ? "True"
                                                                                     : "False");
    else if (strchr("cCsSiIlLefg", format[0]) != NULL)
        show_number(format[0], array, i, buf);
    else if (strchr("uUzZw", format[0]) != NULL)
        show_bytes(format, array, i, buf);
    else if (format[0] == 't' && format[1] != 'i')
        show_time(format, array, i, buf);
    else if (strncmp(format, "+s", 2) == 0)
        show_struct(schema, array, i, depth, buf);
    else if (strncmp(format, "+w", 2) == 0 || strcmp(format, "+l") == 0 ||
             strcmp(format, "+L") == 0 || strcmp(format, "+m") == 0)
        show_list(schema, array, i, depth, buf);
    else
        lmn__buf_printf(buf, "<%.40s>", format);
}

void lmn__show_value(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t i,
                     struct lmn__buf *buf)
{
    show(schema, array, i, 0, buf);
}

void lmn__show_fields(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t i,
                      struct lmn__buf *buf)
{
    for (int64_t k = 0; k < schema->n_children; k++) {
        lmn__buf_printf(buf, "%s%.100s=", k > 0 ? ", " : "", schema->children[k]->name);
        show(schema->children[k], array->children[k], (uint64_t)array->offset + i, 0, buf);
    }
}
