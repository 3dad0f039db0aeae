/* SPDX-License-Identifier: Apache-2.0 */
/*
 * permutation.h - a keyed permutation of [0, count), each value of which is computed by itself.
 *
 * docs/format/feed.md defines it: a cursor means the same rows wherever it is read.
 */
#ifndef LMN_FEED_PERMUTATION_H
#define LMN_FEED_PERMUTATION_H

#include <stdint.h>

enum { LMN__PERMUTATION_ROUNDS = 8 };

struct lmn__permutation {
    uint64_t count;
    uint32_t low_bits, high_bits; /* of the two halves */
    uint64_t key[LMN__PERMUTATION_ROUNDS];
};

/* A bijection of 64 bits that mixes well. */
uint64_t lmn__mix64(uint64_t x);

/* `count` is at most 2^62. */
void lmn__permutation_init(struct lmn__permutation *permutation, uint64_t count, uint64_t key);

/* Where `index` goes, and what goes to `index`; both are below the count. */
uint64_t lmn__permutation_at(const struct lmn__permutation *permutation, uint64_t index);
uint64_t lmn__permutation_inverse(const struct lmn__permutation *permutation, uint64_t index);

#endif
