/* SPDX-License-Identifier: Apache-2.0 */
/*
 * math.h - arithmetic on numbers that came from outside, and the few roundings of the format.
 *
 * The checked functions return false when the true result does not fit; then *out is undefined.
 */
#ifndef LMN_BASE_MATH_H
#define LMN_BASE_MATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool lmn__add_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static inline bool lmn__mul_u64(uint64_t a, uint64_t b, uint64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Does [offset, offset + bytes) lie inside [0, limit)? */
static inline bool lmn__range_fits(uint64_t offset, uint64_t bytes, uint64_t limit)
{
    return offset <= limit && bytes <= limit - offset;
}

/* `align` is a power of two; the caller knows that `n` is far from the top of its range. */
static inline uint64_t lmn__align_up(uint64_t n, uint64_t align)
{
    return (n + align - 1) & ~(align - 1);
}

static inline uint64_t lmn__div_up(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

static inline uint64_t lmn__min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t lmn__max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Bits needed to hold `n`: 0 for 0, 64 for the largest. */
static inline uint32_t lmn__bit_width(uint64_t n)
{
    return n == 0 ? 0 : 64u - (uint32_t)__builtin_clzll(n);
}

#endif
