/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zone.h - the clock of a time zone: how far it is ahead of UTC, and when.
 *
 * "UTC" and distances such as "+02:00" are known; names such as "Europe/Paris" are looked up among
 * the files that the system has for them: in the folder that the variable TZDIR names, else where
 * systems keep them. A zone does not change and lives as long as the arena it was made in.
 */
#ifndef LMN_EXPR_ZONE_H
#define LMN_EXPR_ZONE_H

#include "base/arena.h"
#include "base/bytes.h"
#include "expr/zone_rule.h"

struct lmn__zone {
    uint32_t change_count;
    const int64_t *change; /* seconds since 1970 in UTC, ascending */
    const int32_t *offset; /* seconds ahead of UTC from change[i] on */
    int32_t first;         /* ahead of UTC before all changes */
    bool has_rule;         /* `rule` holds after the last change */
    struct lmn__zone_rule rule;
};

/*
 * Find a zone by its name.
 *
 * LMN_E_UNSUPPORTED  the system has no files for zones, or none for this one, or one that counts
 *                    leap seconds
 * LMN_E_CORRUPT      its file does not decode
 */
LMN_MUST_USE enum lmn_status lmn__zone_find(const char *name, struct lmn__arena *arena,
                                            const struct lmn__zone **zone_out,
                                            struct lmn_error *err);

/*
 * Decode a file of RFC 8536 (TZif); `name` is for messages. Nothing of `bytes` is kept.
 *
 * LMN_E_UNSUPPORTED  it counts leap seconds
 * LMN_E_CORRUPT      it is no such file
 */
LMN_MUST_USE enum lmn_status lmn__zone_decode(struct lmn__span bytes, const char *name,
                                              struct lmn__arena *arena, struct lmn__zone *zone_out,
                                              struct lmn_error *err);

/* Is it UTC at all times? */
bool lmn__zone_is_utc(const struct lmn__zone *zone);

/* Seconds ahead of UTC at a moment, given in seconds since 1970. */
int64_t lmn__zone_offset_at(const struct lmn__zone *zone, int64_t seconds);

/*
 * The moment at which the zone's clock shows `local`, both in seconds since 1970. What it shows
 * twice, when it is set back, is taken for the second time; what it skips counts on from before.
 */
int64_t lmn__zone_to_utc(const struct lmn__zone *zone, int64_t local);

#endif
