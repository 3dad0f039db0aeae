/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four lanes of 64 bits in each of four vectors. A packet of 32 bytes is added and multiplied into
 * them, and the bytes of neighbouring lanes are mixed; what is left at the end is packed into one
 * more packet, and four rounds without input spread it over all bits.
 */
#include "ingest/highway.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/bytes.h"
#include "os/processor.h"

enum { LANES = 4, PACKET = 32, ROUNDS = 4 };

struct state {
    uint64_t v0[LANES], v1[LANES], mul0[LANES], mul1[LANES];
};

static const uint64_t key[LANES] = { 0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952,
                                     0x0a7364726f636572 };
static const uint64_t start0[LANES] = { 0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344,
                                        0x243f6a8885a308d3 };
static const uint64_t start1[LANES] = { 0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c,
                                        0x452821e638d01377 };

static void reset(struct state *s)
{
    for (int i = 0; i < LANES; i++) {
        s->mul0[i] = start0[i];
        s->mul1[i] = start1[i];
        s->v0[i] = start0[i] ^ key[i];
        s->v1[i] = start1[i] ^ (key[i] >> 32 | key[i] << 32);
    }
}

/* The bytes of a pair of lanes, `high` and `low`, in another order, added to the pair `to`. */
static inline void zip(uint64_t high, uint64_t low, uint64_t *to)
{
    to[0] += ((low & 0xff000000) | (high & 0xff00000000)) >> 24 |
             ((low & 0xff0000000000) | (high & 0xff000000000000)) >> 16 | (low & 0xff0000) |
             (low & 0xff00) << 32 | (high & 0xff00000000000000) >> 8 | low << 56;
    to[1] += ((high & 0xff000000) | (low & 0xff00000000)) >> 24 | (high & 0xff0000) |
             (high & 0xff0000000000) >> 16 | (high & 0xff00) << 24 | (low & 0xff000000000000) >> 8 |
             (high & 0xff) << 48 | (low & 0xff00000000000000);
}

static inline void update(struct state *s, const uint64_t *lane)
{
    for (int i = 0; i < LANES; i++) {
        s->v1[i] += s->mul0[i] + lane[i];
        s->mul0[i] ^= (s->v1[i] & 0xffffffff) * (s->v0[i] >> 32);
        s->v0[i] += s->mul1[i];
        s->mul1[i] ^= (s->v0[i] & 0xffffffff) * (s->v1[i] >> 32);
    }
    zip(s->v1[1], s->v1[0], &s->v0[0]);
    zip(s->v1[3], s->v1[2], &s->v0[2]);
    zip(s->v0[1], s->v0[0], &s->v1[0]);
    zip(s->v0[3], s->v0[2], &s->v1[2]);
}

static inline void update_packet(struct state *s, const uint8_t *at)
{
    uint64_t lane[LANES];

    memcpy(lane, at, PACKET);
    update(s, lane);
}

#if defined(__x86_64__)

/* The same for whole packets with vectors of 256 bits; zip() is one shuffle there. */
__attribute__((target("avx2"))) static void update_wide(struct state *s, const uint8_t *at,
                                                        size_t packets)
{
    const __m256i order = _mm256_set_epi64x(0x070806090d0a040b, 0x000f010e05020c03,
                                            0x070806090d0a040b, 0x000f010e05020c03);
    __m256i v0 = _mm256_loadu_si256((const __m256i *)s->v0);
    __m256i v1 = _mm256_loadu_si256((const __m256i *)s->v1);
    __m256i mul0 = _mm256_loadu_si256((const __m256i *)s->mul0);
    __m256i mul1 = _mm256_loadu_si256((const __m256i *)s->mul1);

    for (; packets != 0; packets--, at += PACKET) {
        __m256i packet = _mm256_loadu_si256((const __m256i *)at);

        v1 = _mm256_add_epi64(v1, _mm256_add_epi64(mul0, packet));
        mul0 = _mm256_xor_si256(mul0, _mm256_mul_epu32(v1, _mm256_srli_epi64(v0, 32)));
        v0 = _mm256_add_epi64(v0, mul1);
        mul1 = _mm256_xor_si256(mul1, _mm256_mul_epu32(v0, _mm256_srli_epi64(v1, 32)));
        v0 = _mm256_add_epi64(v0, _mm256_shuffle_epi8(v1, order));
        v1 = _mm256_add_epi64(v1, _mm256_shuffle_epi8(v0, order));
    }
    _mm256_storeu_si256((__m256i *)s->v0, v0);
    _mm256_storeu_si256((__m256i *)s->v1, v1);
    _mm256_storeu_si256((__m256i *)s->mul0, mul0);
    _mm256_storeu_si256((__m256i *)s->mul1, mul1);
}

#endif

static void update_packets(struct state *s, const uint8_t *at, size_t packets)
{
#if defined(__x86_64__)
    if (lmn__processor_is_wide()) {
        update_wide(s, at, packets);
        return;
    }
#endif
    for (; packets != 0; packets--, at += PACKET)
        update_packet(s, at);
}

static uint32_t rotate(uint32_t half, uint32_t count)
{
    return half << count | half >> (32 - count);
}

/* The last `len` bytes, fewer than a packet and more than none. */
static void update_rest(struct state *s, const uint8_t *at, uint32_t len)
{
    uint8_t packet[PACKET] = { 0 };
    const uint8_t *tail = at + (len & ~3u);
    uint32_t odd = len & 3;

    for (int i = 0; i < LANES; i++) {
        s->v0[i] += ((uint64_t)len << 32) + len;
        s->v1[i] = rotate((uint32_t)s->v1[i], len) |
                   (uint64_t)rotate((uint32_t)(s->v1[i] >> 32), len) << 32;
    }
    memcpy(packet, at, len & ~3u);
    if ((len & 16) != 0) {
        memcpy(packet + 28, tail + odd - 4, 4);
    } else if (odd != 0) {
        packet[16] = tail[0];
        packet[17] = tail[odd >> 1];
        packet[18] = tail[odd - 1];
    }
    update_packet(s, packet);
}

/* Add bytes to the packet that is not full; how many were taken. */
static size_t fill_packet(struct state *s, uint8_t *packet, size_t *held, const uint8_t *at,
                          size_t len)
{
    size_t n = len < PACKET - *held ? len : PACKET - *held;

    if (n != 0)
        memcpy(packet + *held, at, n);
    *held += n;
    if (*held == PACKET) {
        update_packet(s, packet);
        *held = 0;
    }
    return n;
}

uint64_t lmn__highway_hash_spans(const struct lmn__span *span, size_t count)
{
    uint8_t packet[PACKET];
    size_t held = 0;
    struct state s;

    reset(&s);
    for (size_t i = 0; i < count; i++) {
        const uint8_t *at = span[i].data;
        size_t len = span[i].len, n = held != 0 ? fill_packet(&s, packet, &held, at, len) : 0;

        if (n == len)
            continue;
        at += n;
        len -= n;
        update_packets(&s, at, len / PACKET);
        fill_packet(&s, packet, &held, at + len / PACKET * PACKET, len % PACKET);
    }
    if (held != 0)
        update_rest(&s, packet, (uint32_t)held);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t lane[LANES] = { s.v0[2] >> 32 | s.v0[2] << 32, s.v0[3] >> 32 | s.v0[3] << 32,
                                 s.v0[0] >> 32 | s.v0[0] << 32, s.v0[1] >> 32 | s.v0[1] << 32 };

        update(&s, lane);
    }
    return s.v0[0] + s.v1[0] + s.mul0[0] + s.mul1[0];
}

uint64_t lmn__highway_hash(const void *data, size_t len)
{
    struct lmn__span span = { data, len };

    return lmn__highway_hash_spans(&span, 1);
}
