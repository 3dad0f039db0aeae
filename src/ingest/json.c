/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/json.h"

void lmn__json_init(struct lmn__json *json, struct lmn_env *env)
{
    *json = (struct lmn__json){ 0 };
    lmn__buf_init(&json->string, env, 0);
}

void lmn__json_deinit(struct lmn__json *json)
{
    lmn__buf_deinit(&json->string);
}

void lmn__json_start(struct lmn__json *json, struct lmn__span text)
{
    json->text = text;
    json->at = 0;
    json->depth = 0;
    json->problem = NULL;
}

static bool fail(struct lmn__json *json, const char *problem)
{
    json->problem = problem;
    return false;
}

/* The next byte, 0 at the end; 0 itself is no part of any JSON text. */
static uint8_t next(const struct lmn__json *json)
{
    return json->at < json->text.len ? json->text.data[json->at] : 0;
}

static void skip_space(struct lmn__json *json)
{
    uint8_t c = next(json);

    while (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        json->at++;
        c = next(json);
    }
}

bool lmn__json_kind(struct lmn__json *json, enum lmn__json_kind *kind_out)
{
    uint8_t c;

    skip_space(json);
    c = next(json);
    switch (c) {
    case 'n':
        *kind_out = LMN__JSON_NULL;
        return true;
    case 't':
    case 'f':
        *kind_out = LMN__JSON_BOOL;
        return true;
    case '"':
        *kind_out = LMN__JSON_STRING;
        return true;
    case '[':
        *kind_out = LMN__JSON_ARRAY;
        return true;
    case '{':
        *kind_out = LMN__JSON_OBJECT;
        return true;
    default:
        *kind_out = LMN__JSON_NUMBER;
        if (c == '-' || (c >= '0' && c <= '9'))
            return true;
        return fail(json, json->at == json->text.len ? "the JSON text ends too early"
                                                     : "a character that starts no JSON value");
    }
}

static bool take_digits(struct lmn__json *json)
{
    size_t from = json->at;

    while (next(json) >= '0' && next(json) <= '9')
        json->at++;
    return json->at != from;
}

static bool take_number(struct lmn__json *json)
{
    json->at += next(json) == '-';
    if (next(json) == '0')
        json->at++;
    else if (!take_digits(json))
        return fail(json, "a number without digits");
    if (next(json) == '.') {
        json->at++;
        if (!take_digits(json))
            return fail(json, "a number without digits behind its point");
    }
    if (next(json) == 'e' || next(json) == 'E') {
        json->at++;
        json->at += next(json) == '-' || next(json) == '+';
        if (!take_digits(json))
            return fail(json, "a number without digits in its exponent");
    }
    return true;
}

static bool take_word(struct lmn__json *json, const char *word)
{
    size_t len = strlen(word);

    if (json->text.len - json->at < len || memcmp(json->text.data + json->at, word, len) != 0)
        return fail(json, "a word that is not true, false or null");
    json->at += len;
    return true;
}

/* Four hexadecimal digits. */
static bool take_hex(struct lmn__json *json, uint32_t *code_out)
{
    *code_out = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        uint8_t c = next(json);
        uint32_t digit;

        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (uint32_t)((c | 32) - 'a' + 10);
        else
            return fail(json, "an escape \\u without four digits");
        *code_out = *code_out << 4 | digit;
    }
    return true;
}

static void put_character(struct lmn__buf *buf, uint32_t code)
{
    if (code < 0x80) {
        lmn__buf_put_u8(buf, (uint8_t)code);
    } else if (code < 0x800) {
        lmn__buf_put_u8(buf, (uint8_t)(0xc0 | code >> 6));
        lmn__buf_put_u8(buf, (uint8_t)(0x80 | (code & 63)));
    } else if (code < 0x10000) {
        lmn__buf_put_u8(buf, (uint8_t)(0xe0 | code >> 12));
        lmn__buf_put_u8(buf, (uint8_t)(0x80 | (code >> 6 & 63)));
        lmn__buf_put_u8(buf, (uint8_t)(0x80 | (code & 63)));
    } else {
        lmn__buf_put_u8(buf, (uint8_t)(0xf0 | code >> 18));
        lmn__buf_put_u8(buf, (uint8_t)(0x80 | (code >> 12 & 63)));
        lmn__buf_put_u8(buf, (uint8_t)(0x80 | (code >> 6 & 63)));
        lmn__buf_put_u8(buf, (uint8_t)(0x80 | (code & 63)));
    }
}

/* The four digits of \u, and of the second half of a pair of surrogates. */
static bool take_unicode(struct lmn__json *json)
{
    uint32_t code, low;

    if (!take_hex(json, &code))
        return false;
    if (code >= 0xdc00 && code < 0xe000)
        return fail(json, "half of a surrogate pair");
    if (code >= 0xd800 && code < 0xdc00) {
        if (next(json) != '\\' || json->at + 1 >= json->text.len ||
            json->text.data[json->at + 1] != 'u')
            return fail(json, "half of a surrogate pair");
        json->at += 2;
        if (!take_hex(json, &low))
            return false;
        if (low < 0xdc00 || low >= 0xe000)
            return fail(json, "half of a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    put_character(&json->string, code);
    return true;
}

static bool take_escape(struct lmn__json *json)
{
    static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    uint8_t c = next(json);
    const char *at = c != 0 ? strchr(letters, c) : NULL;

    json->at++;
    if (c == 'u')
        return take_unicode(json);
    if (at == NULL)
        return fail(json, "an unknown escape");
    lmn__buf_put_u8(&json->string, (uint8_t)meanings[at - letters]);
    return true;
}

/* A string; without escapes it is handed out as it lies there. */
static bool take_string(struct lmn__json *json, struct lmn__span *text_out)
{
    const uint8_t *data = json->text.data;
    bool escaped = false;
    size_t from = ++json->at;

    lmn__buf_reset(&json->string);
    for (;;) {
        uint8_t c = next(json);

        if (c == '"')
            break;
        if (c < 0x20)
            return fail(json, json->at < json->text.len ? "a control character in a string"
                                                        : "a string that is not closed");
        if (c != '\\') {
            json->at++;
            continue;
        }
        lmn__buf_put(&json->string, data + from, json->at - from);
        escaped = true;
        json->at++;
        if (!take_escape(json))
            return false;
        from = json->at;
    }
    *text_out = (struct lmn__span){ data + from, json->at - from };
    json->at++;
    if (!escaped)
        return true;
    lmn__buf_put(&json->string, text_out->data, text_out->len);
    if (json->string.failed)
        return fail(json, "no memory for a string");
    *text_out = (struct lmn__span){ json->string.data, json->string.len };
    return true;
}

bool lmn__json_scalar(struct lmn__json *json, struct lmn__span *text_out)
{
    enum lmn__json_kind kind;
    size_t from;
    bool good;

    if (!lmn__json_kind(json, &kind))
        return false;
    from = json->at;
    if (kind == LMN__JSON_STRING)
        return take_string(json, text_out);
    if (kind == LMN__JSON_NUMBER)
        good = take_number(json);
    else
        good = take_word(json, next(json) == 'n' ? "null" : next(json) == 't' ? "true" : "false");
    *text_out = (struct lmn__span){ json->text.data + from, json->at - from };
    return good;
}

bool lmn__json_enter(struct lmn__json *json)
{
    if (json->depth == LMN__JSON_DEPTH_MAX)
        return fail(json, "lists and objects nest deeper than 58");
    json->depth++;
    json->at++;
    return true;
}

bool lmn__json_item(struct lmn__json *json, enum lmn__json_kind kind, bool first, bool *more_out)
{
    uint8_t close = kind == LMN__JSON_ARRAY ? ']' : '}', c;

    *more_out = false;
    skip_space(json);
    c = next(json);
    if (c == close) {
        json->at++;
        json->depth--;
        return true;
    }
    if (!first) {
        if (c != ',')
            return fail(json, "no comma between two values");
        json->at++;
        skip_space(json);
        if (next(json) == close)
            return fail(json, "a comma without a value behind it");
    }
    *more_out = true;
    return true;
}

bool lmn__json_name(struct lmn__json *json, struct lmn__span *name_out)
{
    skip_space(json);
    if (next(json) != '"')
        return fail(json, "a name that is not a string");
    if (!take_string(json, name_out))
        return false;
    if (memchr(name_out->data, '\0', name_out->len) != NULL)
        return fail(json, "a name with a NUL character");
    skip_space(json);
    if (next(json) != ':')
        return fail(json, "no colon behind a name");
    json->at++;
    return true;
}

bool lmn__json_skip(struct lmn__json *json)
{
    enum lmn__json_kind kind;
    struct lmn__span text;
    bool more, first = true;

    if (!lmn__json_kind(json, &kind))
        return false;
    if (kind < LMN__JSON_ARRAY)
        return lmn__json_scalar(json, &text);
    if (!lmn__json_enter(json))
        return false;
    while (lmn__json_item(json, kind, first, &more)) {
        if (!more)
            return true;
        first = false;
        if (kind == LMN__JSON_OBJECT && !lmn__json_name(json, &text))
            return false;
        if (!lmn__json_skip(json))
            return false;
    }
    return false;
}

bool lmn__json_end(struct lmn__json *json)
{
    skip_space(json);
    return json->at == json->text.len || fail(json, "something behind the JSON value");
}
