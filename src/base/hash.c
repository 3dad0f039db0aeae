/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t lmn__hash64(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}

uint64_t lmn__hash64_seeded(const void *data, size_t len, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, len, seed);
}
