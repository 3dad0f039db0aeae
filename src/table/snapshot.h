/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h - one version of a table as its reads see it: how many rows each fragment has, and
 * what is worth keeping from one read to the next.
 *
 * A snapshot is made at the first read of a version and kept by the table's handle until the handle
 * moves on. It is counted and may be used from many threads; while it is used, the table is held.
 */
#ifndef LMN_TABLE_SNAPSHOT_H
#define LMN_TABLE_SNAPSHOT_H

#include "os/thread.h"
#include "table/table.h"

struct lmn__id_index;
struct lmn__reader_set;

/* A fragment, as far as every read has to know it. */
struct lmn__fragment_info {
    uint64_t id;
    uint64_t row_count;   /* deleted ones included */
    uint64_t live_before; /* live rows of the fragments before it */
    uint64_t live_count;
    uint64_t bytes; /* of its data files; 0: not known */
    bool is_old;    /* some of them are of version 2.0 */
};

enum { LMN__READER_SETS_MAX = 4 };

struct lmn__snapshot {
    atomic_uint_fast64_t reference_count;
    struct lmn_env *env;            /* counted */
    struct lmn__manifest *manifest; /* counted */
    struct lmn__file_set *files;    /* the table's */
    uint64_t fragment_count;
    struct lmn__fragment_info *fragment; /* by number */
    uint64_t row_count;                  /* live ones */
    struct lmn__mutex mutex;
    struct {
        struct lmn__id_index *ids;                             /* made at its first use */
        struct lmn__reader_set *readers[LMN__READER_SETS_MAX]; /* counted; last used first */
    } locked;
};

/* The snapshot of the version that the table is at. The caller releases it. */
LMN_MUST_USE enum lmn_status lmn__snapshot_open(struct lmn_table *table,
                                                struct lmn__snapshot **snapshot_out,
                                                struct lmn_error *err);
struct lmn__snapshot *lmn__snapshot_acquire(struct lmn__snapshot *snapshot);
/* NULL is ignored. */
void lmn__snapshot_release(struct lmn__snapshot *snapshot);

/* Number of the fragment with this id; false when there is none. */
bool lmn__snapshot_find(const struct lmn__snapshot *snapshot, uint64_t id, uint64_t *index_out);

/* Number of the fragment that holds live row `position` of the table, which is below row_count. */
uint64_t lmn__snapshot_fragment_of(const struct lmn__snapshot *snapshot, uint64_t position);

#endif
