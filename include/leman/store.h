/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - where files live: a directory of this machine, or memory.
 *
 * Paths inside a store are relative, separated by '/', without "." or ".." parts. A store is
 * counted and may be used from many threads.
 */
#ifndef LEMAN_STORE_H
#define LEMAN_STORE_H

#include <leman/env.h>

struct lmn_store;

/*
 * Open the directory `root` as a store; "file://" may stand in front of its path. The directory
 * need not exist yet: it is made when the first file is written.
 *
 * `env` may be NULL. The caller releases *store_out; it is NULL on failure.
 *
 * LMN_E_INVALID      `root` is empty
 * LMN_E_UNSUPPORTED  it is a place of another kind: s3://...
 * LMN_E_NO_MEMORY    the heap is exhausted
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_store_open_local(struct lmn_env *env, const char *root,
                                                          struct lmn_store **store_out,
                                                          struct lmn_error *err);

/* Open an empty store in memory; it is gone with its last reference. */
LMN_API LMN_MUST_USE enum lmn_status lmn_store_open_memory(struct lmn_env *env,
                                                           struct lmn_store **store_out,
                                                           struct lmn_error *err);

/* One more reference. */
LMN_API struct lmn_store *lmn_store_acquire(struct lmn_store *store);

/* Give a reference back. NULL is ignored. */
LMN_API void lmn_store_release(struct lmn_store *store);

#endif
