/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { ESCAPE_CHARS = 4 };

static bool follows(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

/* The second byte has a narrower range after those first bytes that could start a longer form. */
static bool second_fits(uint8_t first, uint8_t second)
{
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

    return second >= low && second <= high;
}

/* Bytes of the character in front; 0: there is none. */
static size_t first_character(const uint8_t *at, size_t left)
{
    uint8_t first = at[0];

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    if (first < 0xe0)
        return left >= 2 && follows(at[1]) ? 2 : 0;
    if (first < 0xf0)
        return left >= 3 && second_fits(first, at[1]) && follows(at[2]) ? 3 : 0;
    return left >= 4 && second_fits(first, at[1]) && follows(at[2]) && follows(at[3]) ? 4 : 0;
}

/* Bytes from the front that are ASCII, of those that are eight together. */
static size_t ascii_bytes(const uint8_t *at, size_t left)
{
    size_t bytes = 0;

    for (; left - bytes >= 8; bytes += 8) {
        uint64_t high = lmn__load_u64(at + bytes) & 0x8080808080808080;

        if (high != 0)
            return bytes + (size_t)__builtin_ctzll(high) / 8;
    }
    return bytes;
}

size_t lmn__utf8_bytes(struct lmn__span text)
{
    size_t at = 0;

    while (at < text.len) {
        size_t bytes = text.data[at] < 0x80 ? ascii_bytes(text.data + at, text.len - at) : 0;

        if (bytes == 0)
            bytes = first_character(text.data + at, text.len - at);
        if (bytes == 0)
            break;
        at += bytes;
    }
    return at;
}

bool lmn__utf8_valid(struct lmn__span text)
{
    return lmn__utf8_bytes(text) == text.len &&
           (text.len == 0 || memchr(text.data, '\0', text.len) == NULL);
}

void lmn__utf8_show(struct lmn__span text, char shown[LMN__UTF8_SHOWN_BYTES])
{
    size_t used = 0, at = 0;

    while (at < text.len && used + ESCAPE_CHARS < LMN__UTF8_SHOWN_BYTES) {
        size_t bytes = first_character(text.data + at, text.len - at);

        if (bytes == 0)
            used += (size_t)snprintf(shown + used, LMN__UTF8_SHOWN_BYTES - used, "\\x%02x",
                                     text.data[at]);
        else
            memcpy(shown + used, text.data + at, bytes);
        used += bytes;
        at += bytes != 0 ? bytes : 1;
    }
    shown[used] = '\0';
}

enum lmn_status lmn__utf8_check(struct lmn__span text, const char *what, struct lmn_error *err)
{
    char shown[LMN__UTF8_SHOWN_BYTES];

    if (lmn__utf8_bytes(text) == text.len)
        return LMN_OK;
    lmn__utf8_show(text, shown);
    return lmn_fail(err, LMN_E_INVALID, "%s is not UTF-8: \"%s\"", what, shown);
}
