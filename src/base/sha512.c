/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FIPS 180-4. The constants are its own: the fractions of cube roots of primes.
 */
#include "base/sha512.h"

#include <string.h>

enum { BLOCK_BYTES = 128, ROUNDS = 80, LENGTH_AT = 112 };

static const uint64_t constant[ROUNDS] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc,
    0x3956c25bf348b538, 0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118,
    0xd807aa98a3030242, 0x12835b0145706fbe, 0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235, 0xc19bf174cf692694,
    0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5,
    0x983e5152ee66dfab, 0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2, 0xd5a79147930aa725, 0x06ca6351e003826f, 0x142929670a0e6e70,
    0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed, 0x53380d139d95b3df,
    0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30,
    0xd192e819d6ef5218, 0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8, 0x1e376c085141ab53, 0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373, 0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b,
    0xca273eceea26619c, 0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178,
    0x06f067aa72176fba, 0x0a637dc5a2c898a6, 0x113f9804bef90dae, 0x1b710b35131c471b,
    0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc, 0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

static uint64_t turn(uint64_t x, unsigned by)
{
    return x >> by | x << (64 - by);
}

static void spread(uint64_t word[ROUNDS], const uint8_t *block)
{
    for (int i = 0; i < 16; i++) {
        word[i] = 0;
        for (int k = 0; k < 8; k++)
            word[i] = word[i] << 8 | block[8 * i + k];
    }
    for (int i = 16; i < ROUNDS; i++) {
        uint64_t a = word[i - 15], b = word[i - 2];

        word[i] = word[i - 16] + (turn(a, 1) ^ turn(a, 8) ^ a >> 7) + word[i - 7] +
                  (turn(b, 19) ^ turn(b, 61) ^ b >> 6);
    }
}

static void mix(uint64_t state[8], const uint8_t *block)
{
    uint64_t word[ROUNDS], s[8];

    spread(word, block);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint64_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint64_t t1 = s[7] + (turn(s[4], 14) ^ turn(s[4], 18) ^ turn(s[4], 41)) + choice +
                      constant[i] + word[i];
        uint64_t t2 = (turn(s[0], 28) ^ turn(s[0], 34) ^ turn(s[0], 39)) + majority;

        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

static void hash(uint64_t state[8], const void *data, size_t len, uint8_t *hash_out, int hash_bytes)
{
    uint8_t tail[2 * BLOCK_BYTES] = { 0 };
    size_t whole = len / BLOCK_BYTES * BLOCK_BYTES, rest = len - whole;
    size_t tail_len = rest < LENGTH_AT ? BLOCK_BYTES : 2 * BLOCK_BYTES;
    const uint8_t *bytes = data;

    for (size_t at = 0; at < whole; at += BLOCK_BYTES)
        mix(state, bytes + at);
    if (rest != 0)
        memcpy(tail, bytes + whole, rest);
    tail[rest] = 0x80;
    for (int i = 0; i < 9; i++)
        tail[tail_len - 1 - (size_t)i] = (uint8_t)(i < 8 ? (uint64_t)len << 3 >> (8 * i)
                                                         : (uint64_t)len >> 61);
    for (size_t at = 0; at < tail_len; at += BLOCK_BYTES)
        mix(state, tail + at);
    for (int i = 0; i < hash_bytes; i++)
        hash_out[i] = (uint8_t)(state[i / 8] >> (56 - 8 * (i % 8)));
}

void lmn__sha512(const void *data, size_t len, uint8_t hash_out[LMN__SHA512_BYTES])
{
    uint64_t state[8] = {
        0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
        0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
    };

    hash(state, data, len, hash_out, LMN__SHA512_BYTES);
}

void lmn__sha384(const void *data, size_t len, uint8_t hash_out[LMN__SHA384_BYTES])
{
    uint64_t state[8] = {
        0xcbbb9d5dc1059ed8, 0x629a292a367cd507, 0x9159015a3070dd17, 0x152fecd8f70e5939,
        0x67332667ffc00b31, 0x8eb44a8768581511, 0xdb0c2e0d64f98fa7, 0x47b5481dbefa4fa4,
    };

    hash(state, data, len, hash_out, LMN__SHA384_BYTES);
}
