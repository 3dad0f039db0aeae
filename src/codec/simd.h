/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simd.h - how kernels ask for wider vectors.
 *
 * Kernels are plain loops over independent lanes; the compiler makes a second copy for AVX2 and
 * the loader picks one. Sanitizers do not like code that runs before they are ready, so their
 * builds take the plain copy.
 */
#ifndef LMN_CODEC_SIMD_H
#define LMN_CODEC_SIMD_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LMN__SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define LMN__SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && defined(__linux__) && !defined(LMN__SANITIZED)
#define LMN__KERNEL __attribute__((target_clones("avx2", "default")))
#else
#define LMN__KERNEL
#endif

#endif
