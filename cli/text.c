/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* wcwidth */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "value.h"

enum { PRINTED_BYTES = 64 };

static void reserve(struct text *text, size_t more)
{
    size_t need = text->len + more + 1;
    char *data;

    if (need <= text->cap)
        return;
    if (need < 2 * text->cap)
        need = 2 * text->cap;
    data = realloc(text->data, need);
    if (data == NULL) {
        fputs("leman: out of memory\n", stderr);
        exit(1);
    }
    text->data = data;
    text->cap = need;
}

void text_put(struct text *text, const void *data, size_t len)
{
    reserve(text, len);
    if (len != 0)
        memcpy(text->data + text->len, data, len);
    text->len += len;
    text->data[text->len] = '\0';
}

void text_printf(struct text *text, const char *fmt, ...)
{
    va_list args;
    size_t room;
    int len;

    reserve(text, PRINTED_BYTES); /* most texts fit, and are made once */
    room = text->cap - text->len;
    va_start(args, fmt);
    len = vsnprintf(text->data + text->len, room, fmt, args);
    va_end(args);
    if (len < 0)
        return;
    if ((size_t)len >= room) {
        reserve(text, (size_t)len);
        va_start(args, fmt);
        vsnprintf(text->data + text->len, (size_t)len + 1, fmt, args);
        va_end(args);
    }
    text->len += (size_t)len;
}

void text_free(struct text *text)
{
    free(text->data);
    *text = (struct text){ 0 };
}

/*
 * Columns of a character: 0 for those that join the one before, 2 for wide ones. The C library
 * knows all, where it has a locale of UTF-8; the table has the most frequent.
 */
static int width_of(uint32_t code)
{
    static const struct {
        uint32_t first, last;
        int width;
    } ranges[] = {
        { 0x0300, 0x036f, 0 },   { 0x0591, 0x05bd, 0 },   { 0x0610, 0x061a, 0 },
        { 0x064b, 0x065f, 0 },   { 0x1100, 0x115f, 2 },   { 0x1ab0, 0x1aff, 0 },
        { 0x1dc0, 0x1dff, 0 },   { 0x200b, 0x200f, 0 },   { 0x20d0, 0x20ff, 0 },
        { 0x2e80, 0xa4cf, 2 },   { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },
        { 0xfe00, 0xfe0f, 0 },   { 0xfe20, 0xfe2f, 0 },   { 0xfe30, 0xfe6f, 2 },
        { 0xff00, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },   { 0x1f300, 0x1f64f, 2 },
        { 0x1f900, 0x1f9ff, 2 }, { 0x20000, 0x3fffd, 2 }, { 0xe0100, 0xe01ef, 0 },
    };

    int known = wcwidth((wchar_t)code);

    if (known >= 0)
        return known;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (code >= ranges[i].first && code <= ranges[i].last)
            return ranges[i].width;
    }
    return 1;
}

size_t utf8_next(const uint8_t *data, size_t len, uint32_t *code_out, int *width_out)
{
    static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    uint8_t c = data[0];
    size_t bytes = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    uint32_t code = bytes == 1 ? c : bytes == 0 ? 0 : c & (0x7fu >> bytes);

    *width_out = -1;
    *code_out = 0xfffd;
    if (bytes == 0 || bytes > len)
        return 1;
    for (size_t i = 1; i < bytes; i++) {
        if (data[i] >> 6 != 2)
            return 1;
        code = code << 6 | (data[i] & 63u);
    }
    if (code < smallest[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return 1;
    *code_out = code;
    *width_out = width_of(code);
    return bytes;
}

uint32_t text_width(const char *data, size_t len)
{
    uint32_t width = 0, code;
    int one;

    for (size_t at = 0; at < len;) {
        at += utf8_next((const uint8_t *)data + at, len - at, &code, &one);
        width += one >= 0 ? (uint32_t)one : 1;
    }
    return width;
}
