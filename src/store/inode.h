/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inode.h - the bytes of a file in memory, apart from its names.
 *
 * An inode is counted. Many threads may read and write it at once.
 */
#ifndef LMN_STORE_INODE_H
#define LMN_STORE_INODE_H

#include <stdbool.h>

#include "base/env.h"

struct lmn__inode;

/* Make an empty one with one reference; the environment is borrowed. */
LMN_MUST_USE enum lmn_status lmn__inode_new(struct lmn_env *env, struct lmn__inode **inode_out,
                                            struct lmn_error *err);
struct lmn__inode *lmn__inode_acquire(struct lmn__inode *inode);

/* Give a reference back; NULL is ignored. */
void lmn__inode_release(struct lmn__inode *inode);

uint64_t lmn__inode_bytes(struct lmn__inode *inode);

/* When it was made or last written to, in nanoseconds since 1970. */
int64_t lmn__inode_modified_ns(struct lmn__inode *inode);

/* Take the lock for `owner`; false when another has it. */
bool lmn__inode_lock(struct lmn__inode *inode, const void *owner);

/* Give the lock back, if `owner` has it. */
void lmn__inode_unlock(struct lmn__inode *inode, const void *owner);

/*
 * Read exactly `len` bytes. `name` is for the message.
 *
 * LMN_E_CORRUPT  the range ends past the last byte
 */
LMN_MUST_USE enum lmn_status lmn__inode_read(struct lmn__inode *inode, const char *name,
                                             uint64_t offset, void *data, size_t len,
                                             struct lmn_error *err);

/*
 * Write, filling a gap before `offset` with zeros. On failure nothing is changed.
 *
 * LMN_E_NO_MEMORY  the heap is exhausted
 */
LMN_MUST_USE enum lmn_status lmn__inode_write(struct lmn__inode *inode, uint64_t offset,
                                              const void *data, size_t len, struct lmn_error *err);

#endif
