/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RFC 1321. The constants are its own: the sines of 1 to 64, times 2^32.
 */
#include "base/md5.h"

#include <string.h>

enum { BLOCK_BYTES = 64, ROUNDS = 64, LENGTH_AT = 56 };

static const uint32_t constant[ROUNDS] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static uint32_t load_le(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static void mix(uint32_t state[4], const uint8_t *block)
{
    static const uint8_t turns[4][4] = {
        { 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 }, { 6, 10, 15, 21 }
    };
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

    for (uint32_t i = 0; i < ROUNDS; i++) {
        const uint32_t mixed[4] = { (b & c) | (~b & d), (d & b) | (~d & c), b ^ c ^ d,
                                    c ^ (b | ~d) };
        const uint32_t word[4] = { i, 5 * i + 1, 3 * i + 5, 7 * i };
        unsigned by = turns[i / 16][i % 4];
        uint32_t sum = a + mixed[i / 16] + constant[i] + load_le(block + 4 * (word[i / 16] % 16));

        a = d;
        d = c;
        c = b;
        b += sum << by | sum >> (32 - by);
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void lmn__md5(const void *data, size_t len, uint8_t hash_out[LMN__MD5_BYTES])
{
    uint32_t state[4] = { 0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476 };
    uint8_t tail[2 * BLOCK_BYTES] = { 0 };
    size_t whole = len / BLOCK_BYTES * BLOCK_BYTES, rest = len - whole;
    size_t tail_len = rest < LENGTH_AT ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    const uint8_t *bytes = data;

    for (size_t at = 0; at < whole; at += BLOCK_BYTES)
        mix(state, bytes + at);
    if (rest != 0)
        memcpy(tail, bytes + whole, rest);
    tail[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        tail[tail_len - 8 + (size_t)i] = (uint8_t)((uint64_t)len << 3 >> (8 * i));
    for (size_t at = 0; at < tail_len; at += BLOCK_BYTES)
        mix(state, tail + at);
    for (int i = 0; i < LMN__MD5_BYTES; i++)
        hash_out[i] = (uint8_t)(state[i / 4] >> (8 * (i % 4)));
}
