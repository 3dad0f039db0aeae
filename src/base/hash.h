/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - XXH3, for tables in memory and checksums on disk. */
#ifndef LMN_BASE_HASH_H
#define LMN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* The 64-bit XXH3 of `len` bytes. */
uint64_t lmn__hash64(const void *data, size_t len);

/* The same with a seed, of which 0 gives lmn__hash64(). */
uint64_t lmn__hash64_seeded(const void *data, size_t len, uint64_t seed);

#endif
