/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash_cache.h - the hashes of a tree's files, kept from plan to plan.
 *
 * It may be lost, damaged or of another tree at any time: then files are read again.
 */
#ifndef LMN_PACK_HASH_CACHE_H
#define LMN_PACK_HASH_CACHE_H

#include "base/buf.h"
#include "pack/tree.h"

/*
 * Give the files of `tree` the hashes that `bytes` has for them: those whose path, size and time
 * are the same.
 *
 * LMN_E_CORRUPT  it is no cache, not of this tree's root, or damaged; files that were given a hash
 *                before that was found have none again
 */
LMN_MUST_USE enum lmn_status lmn__hash_cache_apply(struct lmn__tree *tree, struct lmn__span bytes,
                                                   struct lmn_error *err);

/*
 * Append the hashes of `tree` to `buf`. A file that was modified less than a moment before
 * `started_ns` is left out: it may be modified again within the same tick of the clock.
 */
LMN_MUST_USE enum lmn_status lmn__hash_cache_write(const struct lmn__tree *tree, int64_t started_ns,
                                                   struct lmn__buf *buf, struct lmn_error *err);

/* Read and write the cache of a tree in a folder; what fails is done without. */
void lmn__hash_cache_load(struct lmn_env *env, const char *folder, struct lmn__tree *tree);
void lmn__hash_cache_save(struct lmn_env *env, const char *folder, const struct lmn__tree *tree,
                          int64_t started_ns);

#endif
