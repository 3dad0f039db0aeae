/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FIPS 180-4. The constants are its own: the fractions of cube roots of primes.
 */
#include "base/sha256.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256_x86.h"

enum { BLOCK_BYTES = 64, ROUNDS = 64, LENGTH_AT = 56 };

static const uint32_t constant[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t turn(uint32_t x, unsigned by)
{
    return x >> by | x << (32 - by);
}

static uint32_t load_be(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void spread(uint32_t word[ROUNDS], const uint8_t *block)
{
    for (int i = 0; i < 16; i++)
        word[i] = load_be(block + 4 * i);
    for (int i = 16; i < ROUNDS; i++) {
        uint32_t a = word[i - 15], b = word[i - 2];

        word[i] = word[i - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + word[i - 7] +
                  (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
}

static void mix(uint32_t state[8], const uint8_t *block)
{
    uint32_t word[ROUNDS], s[8];

    spread(word, block);
    memcpy(s, state, sizeof s);
    for (int i = 0; i < ROUNDS; i++) {
        uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
        uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        uint32_t t1 = s[7] + (turn(s[4], 6) ^ turn(s[4], 11) ^ turn(s[4], 25)) + choice +
                      constant[i] + word[i];
        uint32_t t2 = (turn(s[0], 2) ^ turn(s[0], 13) ^ turn(s[0], 22)) + majority;

        memmove(s + 1, s, 7 * sizeof s[0]);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++)
        state[i] += s[i];
}

/* 0 until it is known, 1 without the processor's own instructions, 2 with them. */
static atomic_int way;

static void mix_blocks(uint32_t state[8], const uint8_t *blocks, size_t count)
{
    int known = atomic_load_explicit(&way, memory_order_relaxed);

    if (known == 0) {
        known = lmn__sha256_x86_can() ? 2 : 1;
        atomic_store_explicit(&way, known, memory_order_relaxed);
    }
    if (known == 2) {
        lmn__sha256_x86_mix(state, blocks, count, constant);
        return;
    }
    for (size_t i = 0; i < count; i++)
        mix(state, blocks + BLOCK_BYTES * i);
}

void lmn__sha256_without_x86(bool without)
{
    atomic_store_explicit(&way, without ? 1 : 0, memory_order_relaxed);
}

void lmn__sha256_start(struct lmn__sha256_state *state)
{
    *state = (struct lmn__sha256_state){ .word = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                                   0x510e527f, 0x9b05688c, 0x1f83d9ab,
                                                   0x5be0cd19 } };
}

void lmn__sha224(const void *data, size_t len, uint8_t hash_out[LMN__SHA224_BYTES])
{
    struct lmn__sha256_state state = { .word = {
                                           0xc1059ed8,
                                           0x367cd507,
                                           0x3070dd17,
                                           0xf70e5939,
                                           0xffc00b31,
                                           0x68581511,
                                           0x64f98fa7,
                                           0xbefa4fa4,
                                       } };
    uint8_t hash[LMN__SHA256_BYTES];

    lmn__sha256_add(&state, data, len);
    lmn__sha256_end(&state, hash);
    memcpy(hash_out, hash, LMN__SHA224_BYTES);
}

void lmn__sha256_add(struct lmn__sha256_state *state, const void *data, size_t len)
{
    size_t held = state->bytes % BLOCK_BYTES, room = BLOCK_BYTES - held;
    const uint8_t *bytes = data;

    if (len == 0)
        return; /* without bytes there may be no memory */
    state->bytes += len;
    if (held != 0 && len >= room) {
        memcpy(state->held + held, bytes, room);
        mix_blocks(state->word, state->held, 1);
        bytes += room;
        len -= room;
        held = 0;
    }
    if (held == 0) {
        mix_blocks(state->word, bytes, len / BLOCK_BYTES);
        bytes += len / BLOCK_BYTES * BLOCK_BYTES;
        len %= BLOCK_BYTES;
    }
    if (len != 0)
        memcpy(state->held + held, bytes, len);
}

void lmn__sha256_end(struct lmn__sha256_state *state, uint8_t hash_out[LMN__SHA256_BYTES])
{
    uint8_t tail[2 * BLOCK_BYTES] = { 0 };
    size_t rest = state->bytes % BLOCK_BYTES;
    size_t tail_len = rest < LENGTH_AT ? BLOCK_BYTES : 2 * BLOCK_BYTES;

    if (rest != 0)
        memcpy(tail, state->held, rest);
    tail[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        tail[tail_len - 1 - (size_t)i] = (uint8_t)(state->bytes * 8 >> (8 * i));
    mix_blocks(state->word, tail, tail_len / BLOCK_BYTES);
    for (int i = 0; i < LMN__SHA256_BYTES; i++)
        hash_out[i] = (uint8_t)(state->word[i / 4] >> (24 - 8 * (i % 4)));
}

void lmn__sha256_digits(const uint8_t hash[LMN__SHA256_BYTES], char hex_out[LMN__SHA256_HEX])
{
    for (int i = 0; i < LMN__SHA256_BYTES; i++)
        snprintf(hex_out + 2 * i, 3, "%02x", hash[i]);
}

void lmn__sha256(const void *data, size_t len, uint8_t hash_out[LMN__SHA256_BYTES])
{
    struct lmn__sha256_state state;

    lmn__sha256_start(&state);
    lmn__sha256_add(&state, data, len);
    lmn__sha256_end(&state, hash_out);
}

void lmn__sha256_hex(const void *data, size_t len, char hex_out[LMN__SHA256_HEX])
{
    uint8_t hash[LMN__SHA256_BYTES];

    lmn__sha256(data, len, hash);
    lmn__sha256_digits(hash, hex_out);
}
