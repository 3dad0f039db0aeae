/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_gather.h - statistics of a column while it is written.
 *
 * Rows are looked at just after they were shredded, while they are in the processor's caches. A
 * gatherer belongs to one thread at a time.
 */
#ifndef LMN_FORMAT_STATS_GATHER_H
#define LMN_FORMAT_STATS_GATHER_H

#include "codec/shred.h"
#include "format/stats.h"

/* The zone that is open. */
struct lmn__gather_zone {
    uint32_t row_count;
    uint32_t null_count;
    uint64_t bytes;  /* of strings */
    bool has_bounds; /* of numbers: there was one that is not NaN */
    bool has_nan;
    bool max_cut; /* a string that begins with `max` goes on */
    uint32_t min_len, max_len;
    uint8_t min[LMN__STATS_BYTES_MAX],
        max[LMN__STATS_BYTES_MAX]; /* strings: their start; floats: keys */
};

struct lmn__stats_gather {
    struct lmn__stats_type type;
    struct lmn__gather_zone zone;
    uint64_t zone_count;   /* that are closed */
    struct lmn__buf zones; /* their bytes */
};

/* For a column whose statistics are of `type`; NONE gathers nothing. */
void lmn__stats_gather_init(struct lmn__stats_gather *gather, struct lmn_env *env,
                            struct lmn__stats_type type);
void lmn__stats_gather_deinit(struct lmn__stats_gather *gather);

/* Look at the entries of `shred` from number `first` on. Failures show in lmn__stats_encode(). */
void lmn__stats_gather_add(struct lmn__stats_gather *gather, const struct lmn__shred *shred,
                           uint64_t first);

/*
 * Close the open zones and append the statistics of all columns to `out`; gather[i] belongs to
 * column column[i] of the file.
 */
LMN_MUST_USE enum lmn_status lmn__stats_encode(struct lmn__stats_gather *const *gather,
                                               const uint32_t *column, uint32_t count,
                                               struct lmn__buf *out, struct lmn_error *err);

#endif
