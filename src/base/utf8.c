/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

/* The number of bytes that a first byte asks for; 0: it cannot be first. */
static size_t character_bytes(uint8_t first)
{
    if (first < 0x80)
        return first != 0;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
}

/* The second byte has a narrower range after those first bytes that could start a longer form. */
static bool second_fits(uint8_t first, uint8_t second)
{
    uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;

    return second >= low && second <= high;
}

bool lmn__utf8_valid(struct lmn__span text)
{
    size_t at = 0;

    while (at < text.len) {
        size_t bytes = character_bytes(text.data[at]);

        if (bytes == 0 || bytes > text.len - at ||
            (bytes > 1 && !second_fits(text.data[at], text.data[at + 1])))
            return false;
        for (size_t i = 2; i < bytes; i++) {
            if ((text.data[at + i] & 0xc0) != 0x80)
                return false;
        }
        at += bytes;
    }
    return true;
}
