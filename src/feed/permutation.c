/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Feistel network over the smallest number of bits that hold the count, but at least WIDTH_MIN.
 * A result that is not below the count is put through it again until it is; since the network is a
 * permutation of its whole domain, that walk ends, and after less than two rounds on average where
 * the width is not the minimum.
 */
#include "feed/permutation.h"

#include "base/math.h"

/* Halves of less than four bits leave too few keys for a good order. */
enum { WIDTH_MIN = 8 };

static const uint64_t golden = 0x9e3779b97f4a7c15u;

uint64_t lmn__mix64(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void lmn__permutation_init(struct lmn__permutation *permutation, uint64_t count, uint64_t key)
{
    uint64_t width = lmn__max_u64(lmn__bit_width(count == 0 ? 0 : count - 1), WIDTH_MIN);

    permutation->count = count;
    permutation->low_bits = (uint32_t)width / 2;
    permutation->high_bits = (uint32_t)width - permutation->low_bits;
    for (uint64_t i = 0; i < LMN__PERMUTATION_ROUNDS; i++)
        permutation->key[i] = lmn__mix64(key + (i + 1) * golden);
}

/* One round; it is its own inverse. Even rounds change the high half, odd ones the low half. */
static void turn(const struct lmn__permutation *permutation, int round, uint64_t *high,
                 uint64_t *low)
{
    uint64_t key = permutation->key[round];

    if (round % 2 == 0)
        *high ^= lmn__mix64(*low ^ key) >> (64 - permutation->high_bits);
    else
        *low ^= lmn__mix64(*high ^ key) >> (64 - permutation->low_bits);
}

uint64_t lmn__permutation_at(const struct lmn__permutation *permutation, uint64_t index)
{
    uint64_t mask = ((uint64_t)1 << permutation->low_bits) - 1;

    do {
        uint64_t high = index >> permutation->low_bits, low = index & mask;

        for (int i = 0; i < LMN__PERMUTATION_ROUNDS; i++)
            turn(permutation, i, &high, &low);
        index = high << permutation->low_bits | low;
    } while (index >= permutation->count);
    return index;
}

uint64_t lmn__permutation_inverse(const struct lmn__permutation *permutation, uint64_t index)
{
    uint64_t mask = ((uint64_t)1 << permutation->low_bits) - 1;

    do {
        uint64_t high = index >> permutation->low_bits, low = index & mask;

        for (int i = LMN__PERMUTATION_ROUNDS; i-- > 0;)
            turn(permutation, i, &high, &low);
        index = high << permutation->low_bits | low;
    } while (index >= permutation->count);
    return index;
}
