/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access.h - a handle of a table's version of its own, whose reads are counted and may be cached.
 */
#ifndef LMN_FEED_ACCESS_H
#define LMN_FEED_ACCESS_H

#include "feed/cache.h"
#include "feed/tap.h"
#include "table/table.h"

struct lmn__access {
    struct lmn__cache *cache; /* NULL: none */
    struct lmn__tap_counts counts;
    struct lmn_table *table;
};

/*
 * Open the version that `table` stands at, through a cache in the directory `cache_dir` of at most
 * `cache_bytes_max` bytes (0: 64 GiB), if that is not NULL. The access stays where it is until the
 * caller closes it, also after a failure.
 */
LMN_MUST_USE enum lmn_status lmn__access_open(struct lmn__access *access, struct lmn_table *table,
                                              const char *cache_dir, uint64_t cache_bytes_max,
                                              struct lmn_error *err);
void lmn__access_close(struct lmn__access *access);

#endif
