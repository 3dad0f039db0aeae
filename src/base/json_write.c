/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_write.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"

static void put_char(struct lmn__buf *buf, uint8_t c)
{
    switch (c) {
    case '"':
    case '\\':
        lmn__buf_put_u8(buf, '\\');
        lmn__buf_put_u8(buf, c);
        break;
    case '\n':
        lmn__buf_put(buf, "\\n", 2);
        break;
    case '\t':
        lmn__buf_put(buf, "\\t", 2);
        break;
    default:
        if (c < 0x20)
            lmn__buf_printf(buf, "\\u%04x", c);
        else
            lmn__buf_put_u8(buf, c);
    }
}

/* Bytes of the character that starts at `at`; 0 when none does. */
static size_t char_bytes(const uint8_t *at, size_t left)
{
    size_t most = left < 4 ? left : 4;

    for (size_t bytes = 1; bytes <= most; bytes++) {
        if (lmn__utf8_valid((struct lmn__span){ at, bytes }))
            return bytes;
    }
    return 0;
}

void lmn__json_put_quoted(struct lmn__buf *buf, const char *text, size_t len)
{
    const uint8_t *at = (const uint8_t *)text, *end = at + len;

    lmn__buf_put_u8(buf, '"');
    while (at < end) {
        size_t bytes;

        if (*at < 0x80) {
            put_char(buf, *at++);
            continue;
        }
        bytes = char_bytes(at, (size_t)(end - at));
        if (bytes > 0)
            lmn__buf_put(buf, at, bytes);
        else
            lmn__buf_put(buf, "\\ufffd", 6);
        at += bytes > 0 ? bytes : 1;
    }
    lmn__buf_put_u8(buf, '"');
}

static void put_key(struct lmn__json_writer *writer, const char *key)
{
    if (writer->follows)
        lmn__buf_put(writer->buf, ", ", 2);
    writer->follows = true;
    if (key == NULL)
        return;
    lmn__json_put_quoted(writer->buf, key, strlen(key));
    lmn__buf_put(writer->buf, ": ", 2);
}

void lmn__json_open(struct lmn__json_writer *writer, const char *key, char bracket)
{
    put_key(writer, key);
    lmn__buf_put_u8(writer->buf, (uint8_t)bracket);
    writer->follows = false;
}

void lmn__json_close(struct lmn__json_writer *writer, char bracket)
{
    lmn__buf_put_u8(writer->buf, (uint8_t)bracket);
    writer->follows = true;
}

void lmn__json_text(struct lmn__json_writer *writer, const char *key, const char *value)
{
    put_key(writer, key);
    lmn__json_put_quoted(writer->buf, value, strlen(value));
}

void lmn__json_number(struct lmn__json_writer *writer, const char *key, uint64_t value)
{
    put_key(writer, key);
    lmn__buf_printf(writer->buf, "%llu", (unsigned long long)value);
}

void lmn__json_real(struct lmn__json_writer *writer, const char *key, double value)
{
    put_key(writer, key);
    if (isfinite(value))
        lmn__buf_printf(writer->buf, "%.10g", value);
    else
        lmn__buf_put(writer->buf, "null", 4);
}

void lmn__json_bool(struct lmn__json_writer *writer, const char *key, bool value)
{
    put_key(writer, key);
    lmn__buf_printf(writer->buf, "%s", value ? "true" : "false");
}

void lmn__json_null(struct lmn__json_writer *writer, const char *key)
{
    put_key(writer, key);
    lmn__buf_put(writer->buf, "null", 4);
}

void lmn__json_raw(struct lmn__json_writer *writer, const char *key, const char *json, size_t len)
{
    put_key(writer, key);
    lmn__buf_put(writer->buf, json, len);
}
