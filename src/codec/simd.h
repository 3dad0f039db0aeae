/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd.h - how kernels ask for wider vectors.
 *
 * A kernel is a plain loop over independent lanes, inlined into two functions: a LMN__WIDE one that
 * the compiler vectorises for AVX2, called where lmn__processor_is_wide(), and a plain one.
 */
#ifndef LMN_CODEC_SIMD_H
#define LMN_CODEC_SIMD_H

#define LMN__KERNEL static inline __attribute__((always_inline))

#if defined(__x86_64__)
#define LMN__WIDE __attribute__((target("avx2")))
#else
#define LMN__WIDE
#endif

#endif
