/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache.h - a directory that keeps pieces of files of a slower store.
 *
 * A cache is shared by all processes that name its directory and needs nobody to look after it: a
 * piece is written beside its place and renamed, so that a process may be killed at any time, and
 * carries a checksum, so that one that a power loss has damaged is read again. What is wrong with
 * the cache is never wrong with a read: the store answers then.
 *
 * Usable from many threads.
 */
#ifndef LMN_FEED_CACHE_H
#define LMN_FEED_CACHE_H

#include "store/store.h"

struct lmn__cache;
struct lmn__cached_file;

/*
 * Keep at most `bytes_max` bytes in `store`, whichever process puts them there, and what threads
 * are just putting: a piece each. The caller closes *cache_out, behind its files.
 *
 * LMN_E_INVALID  a piece has no room in `bytes_max`
 * LMN_E_IO       there is no cache in `store`, and none can be made
 */
LMN_MUST_USE enum lmn_status lmn__cache_open(struct lmn_store *store, uint64_t bytes_max,
                                             struct lmn__cache **cache_out, struct lmn_error *err);
/* NULL is ignored. */
void lmn__cache_close(struct lmn__cache *cache);

/* Bytes of the pieces in the cache, looked up now. */
uint64_t lmn__cache_bytes(struct lmn__cache *cache);

/* Bytes of the pieces that reads through `cache` have found there. */
uint64_t lmn__cache_found_bytes(struct lmn__cache *cache);

/* Has something had no room in it, and could none be made? */
bool lmn__cache_is_full(struct lmn__cache *cache);

/*
 * Keep pieces of the file `path` of `bytes` bytes in the place `root`. The caller closes
 * *file_out.
 */
LMN_MUST_USE enum lmn_status lmn__cached_file_open(struct lmn__cache *cache, const char *root,
                                                   const char *path, uint64_t bytes,
                                                   struct lmn__cached_file **file_out,
                                                   struct lmn_error *err);
/* NULL is ignored. */
void lmn__cached_file_close(struct lmn__cached_file *file);

/* A read of the file itself. */
typedef enum lmn_status (*lmn__cache_read_fn)(void *context, uint64_t offset, void *data,
                                              size_t len, struct lmn_error *err);

/*
 * Read [offset, offset + len), a range inside the file; what is not in the cache is read by `read`
 * and kept if there is room. Adds the time spent in `read` and the bytes that the cache had.
 */
LMN_MUST_USE enum lmn_status lmn__cached_file_read(struct lmn__cached_file *file, uint64_t offset,
                                                   void *data, size_t len, lmn__cache_read_fn read,
                                                   void *context, uint64_t *store_ns,
                                                   uint64_t *hit_bytes, struct lmn_error *err);

#endif
