/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats.h - statistics of a file's columns, as they lie in a global buffer: for each zone, a run of
 * rows, how many are null and between which bounds the others are. docs/format/statistics.md has
 * the bytes.
 *
 * Only columns of plain values and strings have them, on top or inside structs.
 */
#ifndef LMN_FORMAT_STATS_H
#define LMN_FORMAT_STATS_H

#include "base/arena.h"
#include "base/buf.h"
#include "format/schema.h"

enum lmn__stats_kind {
    LMN__STATS_NONE,     /* no statistics */
    LMN__STATS_SIGNED,   /* of 1, 2, 4, 8 or 16 bytes */
    LMN__STATS_UNSIGNED, /* of 1, 2, 4 or 8 bytes */
    LMN__STATS_FLOAT,    /* of 2, 4 or 8 bytes */
    LMN__STATS_BOOL,     /* a byte, 0 or 1 */
    LMN__STATS_BYTES     /* strings and binaries, as far as LMN__STATS_BYTES_MAX bytes */
};

enum { LMN__STATS_BYTES_MAX = 32 };

/* How the bounds of a column are written. */
struct lmn__stats_type {
    enum lmn__stats_kind kind;
    uint32_t width; /* of a value; BYTES: 0 */
};

/* What is known of the rows before `row_end` and behind the zone before. */
struct lmn__stats_zone {
    uint64_t row_end;
    uint32_t row_count;
    uint32_t null_count;
    struct lmn__span min, max; /* .data is NULL: not known */
};

struct lmn__stats_column {
    uint64_t zone_count;
    struct lmn__stats_zone *zone;
};

/* The statistics of a file, parsed column by column as they are asked for. */
struct lmn__stats;

/* Which statistics a column of the file has. */
struct lmn__stats_type lmn__stats_type_of(const struct lmn__node *node);

/*
 * Have `bytes` bytes, of which the directory lies in `front`, the form of statistics of a file of
 * so many columns, without the hash of such? One of a later version has the hash; one without it
 * that does not begin as statistics do had another beginning.
 */
bool lmn__stats_mark_is_damaged(struct lmn__span front, uint64_t bytes, uint32_t column_count);

/*
 * Read the directory of `bytes`, which live on, for a file of `row_count` rows whose columns have
 * the types `type`. *stats_out is NULL when they are something else, or of a later version. The
 * caller frees it.
 *
 * LMN_E_CORRUPT  they are damaged, or those of another file
 */
LMN_MUST_USE enum lmn_status lmn__stats_parse(struct lmn_env *env, struct lmn__span bytes,
                                              const struct lmn__stats_type *type,
                                              uint32_t column_count, uint64_t row_count,
                                              struct lmn__stats **stats_out, struct lmn_error *err);
/* NULL is ignored. */
void lmn__stats_free(struct lmn__stats *stats);

/*
 * The zones of a column of the file; *column_out is NULL when it has none. It lives as long as
 * `stats`.
 *
 * LMN_E_CORRUPT  they are damaged
 */
LMN_MUST_USE enum lmn_status lmn__stats_column(struct lmn__stats *stats, uint32_t column,
                                               const struct lmn__stats_column **column_out,
                                               struct lmn_error *err);

/* How many zones a column has by the directory; 0 when it has no statistics. */
uint64_t lmn__stats_zone_count(const struct lmn__stats *stats, uint32_t column);

/* The first zone that ends behind `row`, which lies in the file. */
uint64_t lmn__stats_find_zone(const struct lmn__stats_column *column, uint64_t row);

#endif
