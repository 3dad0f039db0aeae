/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tap.h - a store around another one that counts what is read through it, and reads data files
 * through a cache if there is one.
 */
#ifndef LMN_FEED_TAP_H
#define LMN_FEED_TAP_H

#include "store/store.h"

struct lmn__cache;

struct lmn__tap_counts {
    atomic_uint_fast64_t store_requests, store_bytes, store_ns;
    atomic_uint_fast64_t cache_hit_bytes, cache_ns;
};

/*
 * Open a store over `inner`, of which it takes a reference. `cache` may be NULL; it and `counts`
 * outlive the store. The caller releases *store_out.
 */
LMN_MUST_USE enum lmn_status lmn__store_open_tap(struct lmn_store *inner, struct lmn__cache *cache,
                                                 struct lmn__tap_counts *counts,
                                                 struct lmn_store **store_out,
                                                 struct lmn_error *err);

#endif
