/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calendar.h - days and seconds as people write them: the Gregorian calendar, before its time too.
 */
#ifndef LMN_EXPR_CALENDAR_H
#define LMN_EXPR_CALENDAR_H

#include <stdbool.h>

#include "base/bytes.h"
#include "expr/type.h"

struct lmn__civil {
    int64_t year;
    uint32_t month, day; /* from 1 */
};

/* Days since 1970-01-01. */
int64_t lmn__days_from_civil(int64_t year, uint32_t month, uint32_t day);
struct lmn__civil lmn__civil_from_days(int64_t days);

uint32_t lmn__month_days(int64_t year, uint32_t month);

/* A point in time as written. */
struct lmn__moment {
    int64_t days;
    int64_t seconds; /* of the day */
    int64_t nanos;
    bool has_time;
    bool has_zone; /* days and seconds are those of UTC then */
};

/* "2024-01-31", optionally with " 12:34[:56[.789]]" (or T) and "Z", "+02:00", " UTC". */
bool lmn__moment_parse(struct lmn__span text, struct lmn__moment *moment_out);

/* "12:34[:56[.789]]" */
bool lmn__clock_parse(struct lmn__span text, int64_t *seconds_out, int64_t *nanos_out);

/* In units since 1970; false when that does not fit. *cut_out: digits behind the unit are lost. */
bool lmn__moment_to_units(const struct lmn__moment *moment, enum lmn__unit unit, int64_t *units_out,
                          bool *cut_out);

enum { LMN__MOMENT_TEXT_BYTES = 64 };

/* Each returns the length of what it wrote. */
size_t lmn__date_print(int64_t days, char *text_out);
size_t lmn__clock_print(int64_t units, enum lmn__unit unit, char *text_out);
size_t lmn__timestamp_print(int64_t units, enum lmn__unit unit, char *text_out);

/*
 * The distance of a zone from UTC in seconds, for zones where it never changes: "UTC", "Z",
 * "+02:00", "-0330". False for any other: zones that have names are those of zone.h.
 */
bool lmn__zone_offset(const char *zone, int64_t *seconds_out);

/* Division that rounds towards minus infinity, and its rest. */
static inline int64_t lmn__floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static inline int64_t lmn__floor_rest(int64_t a, int64_t b)
{
    int64_t rest = a % b;

    return rest < 0 ? rest + b : rest;
}

#endif
