/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t lmn__hash64(const void *data, size_t len)
{
    return XXH3_64bits(data, len);
}
