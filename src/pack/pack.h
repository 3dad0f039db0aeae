/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pack.h - a plan of what is shipped, as the files of this layer share it.
 */
#ifndef LMN_PACK_PACK_H
#define LMN_PACK_PACK_H

#include "pack/split.h"

struct lmn_pack {
    struct lmn_env *env; /* counted */
    struct lmn__arena arena;
    struct lmn__tree *tree;
    size_t tree_count;
    struct lmn__archives archives; /* tree by tree */
    uint64_t bytes, bytes_max;
    uint64_t file_count;
    uint64_t hashed_count, hashed_bytes;
    uint64_t scan_ns, hash_ns;
    uint32_t threads;
};

#endif
