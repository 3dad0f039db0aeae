/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions that x86 processors have for SHA-256: four rounds and four words of the message
 * at a time. They keep the state as two vectors, named by the words of FIPS 180-4 from high to low:
 * ABEF and CDGH.
 */
#include "base/sha256_x86.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>

enum {
    BLOCK_BYTES = 64,
    GROUPS = 16, /* of four rounds */
    HAS_SSSE3 = 1 << 9,
    HAS_SSE41 = 1 << 19,
    HAS_SHA = 1 << 29
};

bool lmn__sha256_x86_can(void)
{
    unsigned a, b, c, d;

    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & HAS_SSSE3) == 0 || (c & HAS_SSE41) == 0)
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & HAS_SHA) != 0;
}

__attribute__((target("sha,sse4.1,ssse3"))) static void mix_block(__m128i *abef, __m128i *cdgh,
                                                                  const uint8_t *block,
                                                                  const uint32_t *constant)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    const __m128i abef_before = *abef, cdgh_before = *cdgh;
    __m128i word[4];

    for (int i = 0; i < 4; i++) {
        word[i] = _mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i));
        word[i] = _mm_shuffle_epi8(word[i], big_endian);
    }
#pragma GCC unroll 16
    for (int i = 0; i < GROUPS; i++) {
        __m128i *w0 = &word[i % 4], w1 = word[(i + 1) % 4], w2 = word[(i + 2) % 4];
        __m128i w3 = word[(i + 3) % 4];
        __m128i sum = _mm_add_epi32(
            *w0, _mm_loadu_si128((const __m128i *)(const void *)(constant + 4 * i)));

        *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
        *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0e));
        if (i < GROUPS - 4) {
            __m128i next = _mm_add_epi32(_mm_sha256msg1_epu32(*w0, w1), _mm_alignr_epi8(w3, w2, 4));

            *w0 = _mm_sha256msg2_epu32(next, w3);
        }
    }
    *abef = _mm_add_epi32(*abef, abef_before);
    *cdgh = _mm_add_epi32(*cdgh, cdgh_before);
}

__attribute__((target("sha,sse4.1,ssse3"))) void lmn__sha256_x86_mix(uint32_t state[8],
                                                                     const uint8_t *blocks,
                                                                     size_t count,
                                                                     const uint32_t *constant)
{
    __m128i abef = _mm_set_epi32((int)state[0], (int)state[1], (int)state[4], (int)state[5]);
    __m128i cdgh = _mm_set_epi32((int)state[2], (int)state[3], (int)state[6], (int)state[7]);

    for (size_t i = 0; i < count; i++)
        mix_block(&abef, &cdgh, blocks + BLOCK_BYTES * i, constant);
    state[0] = (uint32_t)_mm_extract_epi32(abef, 3);
    state[1] = (uint32_t)_mm_extract_epi32(abef, 2);
    state[4] = (uint32_t)_mm_extract_epi32(abef, 1);
    state[5] = (uint32_t)_mm_extract_epi32(abef, 0);
    state[2] = (uint32_t)_mm_extract_epi32(cdgh, 3);
    state[3] = (uint32_t)_mm_extract_epi32(cdgh, 2);
    state[6] = (uint32_t)_mm_extract_epi32(cdgh, 1);
    state[7] = (uint32_t)_mm_extract_epi32(cdgh, 0);
}

#else

bool lmn__sha256_x86_can(void)
{
    return false;
}

void lmn__sha256_x86_mix(uint32_t state[8], const uint8_t *blocks, size_t count,
                         const uint32_t *constant)
{
    (void)state;
    (void)blocks;
    (void)count;
    (void)constant;
}

#endif
