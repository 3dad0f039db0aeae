/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <string.h>

#include "base/math.h"

enum { DEPTH_MAX = 32 };

struct cursor {
    const uint8_t *at, *end;
};

static void skip_space(struct cursor *cursor)
{
    while (cursor->at < cursor->end && strchr(" \t\r\n", *cursor->at) != NULL && *cursor->at != 0)
        cursor->at++;
}

static bool skip_char(struct cursor *cursor, char c)
{
    skip_space(cursor);
    if (cursor->at == cursor->end || *cursor->at != (uint8_t)c)
        return false;
    cursor->at++;
    return true;
}

static bool skip_string(struct cursor *cursor)
{
    if (!skip_char(cursor, '"'))
        return false;
    for (; cursor->at < cursor->end; cursor->at++) {
        if (*cursor->at == '"') {
            cursor->at++;
            return true;
        }
        if (*cursor->at == '\\' && ++cursor->at == cursor->end)
            return false;
    }
    return false;
}

static bool is_word(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '+' || c == '.';
}

static bool skip_value(struct cursor *cursor, int depth)
{
    bool object;
    char close;

    skip_space(cursor);
    if (cursor->at == cursor->end || depth > DEPTH_MAX)
        return false;
    if (*cursor->at == '"')
        return skip_string(cursor);
    if (*cursor->at != '{' && *cursor->at != '[') {
        const uint8_t *start = cursor->at;

        while (cursor->at < cursor->end && is_word(*cursor->at))
            cursor->at++;
        return cursor->at != start;
    }
    object = *cursor->at++ == '{';
    close = object ? '}' : ']';
    if (skip_char(cursor, close))
        return true;
    do {
        if (object && (!skip_string(cursor) || !skip_char(cursor, ':')))
            return false;
        if (!skip_value(cursor, depth + 1))
            return false;
    } while (skip_char(cursor, ','));
    return skip_char(cursor, close);
}

/* One member; *value_out is set when it is the one that is looked for. */
static bool read_member(struct cursor *cursor, const char *key, struct lmn__span *value_out)
{
    size_t key_len = strlen(key), name_len;
    const uint8_t *name, *value;

    skip_space(cursor);
    name = cursor->at;
    if (!skip_string(cursor))
        return false;
    name_len = (size_t)(cursor->at - name) - 2; /* without the quotes */
    if (!skip_char(cursor, ':'))
        return false;
    skip_space(cursor);
    value = cursor->at;
    if (!skip_value(cursor, 0))
        return false;
    if (name_len == key_len && memcmp(name + 1, key, key_len) == 0)
        *value_out = (struct lmn__span){ value, (size_t)(cursor->at - value) };
    return true;
}

enum lmn_status lmn__json_member(struct lmn__span text, const char *key,
                                 struct lmn__span *value_out, struct lmn_error *err)
{
    struct cursor cursor = { text.data, text.data + text.len };
    bool good = skip_char(&cursor, '{');

    *value_out = (struct lmn__span){ NULL, 0 };
    if (good && !skip_char(&cursor, '}')) {
        do {
            good = read_member(&cursor, key, value_out);
        } while (good && skip_char(&cursor, ','));
        good = good && skip_char(&cursor, '}');
    }
    skip_space(&cursor);
    if (!good || cursor.at != cursor.end)
        return lmn_fail(err, LMN_E_CORRUPT, "no JSON object: it breaks at byte %zu of %zu",
                        (size_t)(cursor.at - text.data), text.len);
    return LMN_OK;
}

bool lmn__json_next_item(struct lmn__span *rest, struct lmn__span *value_out)
{
    struct cursor cursor;
    const uint8_t *start;

    *value_out = (struct lmn__span){ NULL, 0 };
    if (rest->len == 0)
        return false;
    cursor = (struct cursor){ rest->data, rest->data + rest->len };
    if (!skip_char(&cursor, '[') && !skip_char(&cursor, ','))
        return false;
    skip_space(&cursor);
    start = cursor.at;
    if (!skip_value(&cursor, 0))
        return false;
    *value_out = (struct lmn__span){ start, (size_t)(cursor.at - start) };
    *rest = (struct lmn__span){ cursor.at, (size_t)(cursor.end - cursor.at) };
    return true;
}

bool lmn__json_to_u64(struct lmn__span value, uint64_t *number_out)
{
    uint64_t number = 0;

    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9' || !lmn__mul_u64(number, 10, &number) ||
            !lmn__add_u64(number, (uint64_t)(value.data[i] - '0'), &number))
            return false;
    }
    *number_out = number;
    return value.len != 0;
}

bool lmn__json_to_text(struct lmn__span value, char *text_out, size_t text_bytes)
{
    size_t len = 0;

    text_out[0] = '\0';
    if (value.len < 2 || value.data[0] != '"')
        return false;
    for (size_t i = 1; i + 1 < value.len; i++) {
        if (value.data[i] == '\\' &&
            (value.data[i + 1] == 0 || strchr("\"\\/", value.data[i + 1]) == NULL))
            return false;
        i += value.data[i] == '\\';
        if (len + 1 >= text_bytes)
            return false;
        text_out[len++] = (char)value.data[i];
    }
    text_out[len] = '\0';
    return true;
}

/* Four hex digits; false when they are none. */
static bool read_hex(const uint8_t *at, const uint8_t *end, uint32_t *number_out)
{
    *number_out = 0;
    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        int c = at[i] >= 'A' && at[i] <= 'F' ? at[i] - 'A' + 'a' : at[i];
        const char *digit = c != 0 ? strchr(digits, c) : NULL;

        if (digit == NULL)
            return false;
        *number_out = *number_out << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

static void put_utf8(struct lmn__buf *buf, uint32_t c)
{
    if (c < 0x80) {
        lmn__buf_put_u8(buf, (uint8_t)c);
        return;
    }
    if (c < 0x800) {
        lmn__buf_put_u8(buf, (uint8_t)(0xc0 | c >> 6));
    } else {
        if (c < 0x10000) {
            lmn__buf_put_u8(buf, (uint8_t)(0xe0 | c >> 12));
        } else {
            lmn__buf_put_u8(buf, (uint8_t)(0xf0 | c >> 18));
            lmn__buf_put_u8(buf, (uint8_t)(0x80 | (c >> 12 & 0x3f)));
        }
        lmn__buf_put_u8(buf, (uint8_t)(0x80 | (c >> 6 & 0x3f)));
    }
    lmn__buf_put_u8(buf, (uint8_t)(0x80 | (c & 0x3f)));
}

/* A \u escape, and the second half of a pair; `cursor` is behind the u. */
static bool put_unicode(struct cursor *cursor, struct lmn__buf *buf)
{
    enum { HIGH = 0xd800, LOW = 0xdc00, END = 0xe000, REPLACEMENT = 0xfffd };
    uint32_t c, low;

    if (!read_hex(cursor->at, cursor->end, &c))
        return false;
    cursor->at += 4;
    if (c >= HIGH && c < LOW && cursor->end - cursor->at >= 6 && cursor->at[0] == '\\' &&
        cursor->at[1] == 'u' && read_hex(cursor->at + 2, cursor->end, &low) && low >= LOW &&
        low < END) {
        cursor->at += 6;
        c = 0x10000 + ((c - HIGH) << 10) + (low - LOW);
    } else if (c >= HIGH && c < END) {
        c = REPLACEMENT;
    }
    put_utf8(buf, c);
    return true;
}

bool lmn__json_unescape(struct lmn__span value, struct lmn__buf *buf)
{
    static const char escape[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    struct cursor cursor;

    if (value.len < 2 || value.data[0] != '"' || value.data[value.len - 1] != '"')
        return false;
    cursor = (struct cursor){ value.data + 1, value.data + value.len - 1 };
    while (cursor.at < cursor.end) {
        const uint8_t *stop = memchr(cursor.at, '\\', (size_t)(cursor.end - cursor.at));
        const char *which;

        stop = stop != NULL ? stop : cursor.end;
        lmn__buf_put(buf, cursor.at, (size_t)(stop - cursor.at));
        cursor.at = stop;
        if (stop == cursor.end)
            break;
        if (cursor.end - cursor.at < 2)
            return false;
        which = cursor.at[1] != 0 ? strchr(escape, cursor.at[1]) : NULL;
        cursor.at += 2;
        if (which != NULL)
            lmn__buf_put_u8(buf, (uint8_t)meaning[which - escape]);
        else if (cursor.at[-1] != 'u' || !put_unicode(&cursor, buf))
            return false;
    }
    return true;
}
