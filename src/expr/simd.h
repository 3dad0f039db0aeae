/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd.h - kernels in two versions: plain, and for AVX2 where lmn__processor_is_wide().
 *
 * A kernel is a plain loop over independent rows, inlined into both; the compiler vectorises it.
 */
#ifndef LMN_EXPR_SIMD_H
#define LMN_EXPR_SIMD_H

#define LMN__BODY static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define LMN__FOR_AVX2 __attribute__((target("avx2")))
#else
#define LMN__FOR_AVX2
#endif

#endif
